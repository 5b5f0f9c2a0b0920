/* What a search looked at, as JSON: the best tokens of each step and the tree. Hundreds of small objects a sentence, so they are
 * written without jansson, which would take a fourth of a beam's throughput. */
#include "server/api/api_json.h"
#include "server/base/decimal.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Text that grows in an arena. */
struct writer {
    struct arena *arena;
    char *text;
    size_t length, room;
    bool failed; /* memory is out, or a number is none */
};

/* Room for so many bytes more, and a NUL. */
static char *reserve(struct writer *w, size_t bytes) {
    if (w->room - w->length <= bytes) {
        size_t room = 2 * w->room + bytes + 1024;
        char *text = arena_alloc(w->arena, room, 1);
        if (!text) {
            w->failed = true;
            return NULL;
        }
        if (w->length > 0)
            memcpy(text, w->text, w->length);
        w->text = text;
        w->room = room;
    }
    return w->text + w->length;
}

static void write_text(struct writer *w, const char *text) {
    size_t bytes = strlen(text);
    char *out = reserve(w, bytes);
    if (!out)
        return;
    memcpy(out, text, bytes + 1);
    w->length += bytes;
}

static void write_number(struct writer *w, const char *key, double number) {
    write_text(w, key);
    char *out = reserve(w, DECIMAL_BYTES);
    if (!isfinite((float)number))
        w->failed = true;
    else if (out)
        w->length = (size_t)(decimal_write(out, (double)(float)number) - w->text);
}

static void write_integer(struct writer *w, const char *key, size_t number) {
    write_text(w, key);
    char digits[24];
    snprintf(digits, sizeof digits, "%zu", number);
    write_text(w, digits);
}

static void write_string(struct writer *w, const char *key, const char *string) {
    write_text(w, key);
    write_text(w, "\"");
    char *out = reserve(w, 6 * strlen(string));
    for (const char *c = string; out && *c; c++) {
        if ((unsigned char)*c < 0x20) {
            out += sprintf(out, "\\u%04x", (unsigned)*c);
            continue;
        }
        if (*c == '"' || *c == '\\')
            *out++ = '\\';
        *out++ = *c;
    }
    if (out)
        w->length = (size_t)(out - w->text);
    write_text(w, "\"");
}

static json_t *finish(struct writer *w, struct splices *splices) {
    write_text(w, "]");
    return w->failed ? NULL : splice_text(splices, w->text, w->length);
}

static void write_alternatives(struct writer *w, const struct sentence *sentence, const struct alternatives *step) {
    write_text(w, "[");
    for (size_t i = 0; i < step->count; i++) {
        write_string(w, i > 0 ? ",{\"token\":" : "{\"token\":", translator_piece(sentence, step->tokens[i]));
        write_number(w, ",\"log_prob\":", (double)step->log_probs[i]);
        write_text(w, "}");
    }
    write_text(w, "]");
}

json_t *api_top_k(const struct sentence *sentence, const struct hypothesis *hypothesis, size_t rows, struct splices *splices) {
    struct writer w = {.arena = splices->arena};
    write_text(&w, "[");
    for (size_t i = 0; i < rows; i++) {
        write_text(&w, i > 0 ? "," : "");
        write_alternatives(&w, sentence, hypothesis->alternatives[i]);
    }
    return finish(&w, splices);
}

static void write_branch(struct writer *w, const struct sentence *sentence, size_t id) {
    static const char *const states[] = {[BRANCH_KEPT] = "kept", [BRANCH_PRUNED] = "pruned", [BRANCH_FINISHED] = "finished"};
    const struct branch *b = &sentence->search.tree.branches[id];
    write_integer(w, id > 0 ? ",{\"id\":" : "{\"id\":", id);
    if (b->parent == SIZE_MAX)
        write_text(w, ",\"parent\":null");
    else
        write_integer(w, ",\"parent\":", b->parent);
    write_integer(w, ",\"step\":", b->step);
    write_string(w, ",\"token\":", translator_piece(sentence, b->token));
    write_number(w, ",\"log_prob\":", (double)b->log_prob);
    write_number(w, ",\"score\":", b->score);
    write_string(w, ",\"state\":", states[b->state]);
    write_text(w, "}");
}

json_t *api_tree(const struct sentence *sentence, struct splices *splices) {
    struct writer w = {.arena = splices->arena};
    write_text(&w, "[");
    for (size_t id = 0; id < sentence->search.tree.count; id++)
        write_branch(&w, sentence, id);
    return finish(&w, splices);
}
