#include "server/documents/key_globs.h"
#include <string.h>

/* One name of a glob: what stands before its star, and behind. */
struct name_glob {
    char *text; /* [head + tail] without the star */
    size_t head, tail;
    bool star, any; /* any: ** */
};

struct glob {
    struct name_glob names[KEY_GLOB_NAMES];
    size_t count;
    bool excludes;
};

struct key_globs {
    struct glob all[KEY_GLOBS_MOST];
    size_t count;
    bool includes; /* one of them does */
};

/* ---- reading ---- */

static int refuse(const char *text, size_t length, const char *why, struct error *err) {
    return error_set(err, ERROR_INPUT, "\"%.*s\" is not a path glob: %s", (int)(length < 60 ? length : 60), text, why);
}

/* text: a glob without blanks around it. */
static int read_glob(const char *text, size_t length, struct arena *arena, struct glob *out, struct error *err) {
    const char *at = text, *end = text + length;
    *out = (struct glob){.excludes = *at == '!'};
    at += out->excludes;
    if (length > KEY_GLOB_BYTES)
        return refuse(text, length, "it is longer than 256 bytes", err);
    do {
        if (out->count == KEY_GLOB_NAMES)
            return refuse(text, length, "it has more than 16 names", err);
        struct name_glob *name = &out->names[out->count++];
        size_t stars = 0, bytes = 0;
        if (!(name->text = arena_alloc(arena, (size_t)(end - at) + 1, 1)))
            return error_memory(err);
        for (; at < end && *at != '.'; at++) {
            bool escaped = *at == '\\' && at + 1 < end;
            if (*at == '*') {
                stars++;
                name->head = bytes;
                continue;
            }
            at += escaped;
            name->text[bytes++] = *at;
        }
        name->star = stars > 0;
        name->any = stars == 2 && bytes == 0;
        name->tail = name->star ? bytes - name->head : 0;
        name->head = name->star ? name->head : bytes;
        if (stars > 1 && !name->any)
            return refuse(text, length, "a name has at most one *", err);
        if (stars == 0 && bytes == 0)
            return refuse(text, length, "a name is empty", err);
    } while (at < end && *at++ == '.');
    return 0;
}

/* The next glob up to a comma without a backslash, without blanks around it; length 0: an empty one. */
static const char *next_glob(const char **rest, size_t *length) {
    const char *begin = *rest, *end = begin;
    while (*end && *end != ',')
        end += *end == '\\' && end[1] ? 2 : 1;
    *rest = *end ? end + 1 : end;
    begin += strspn(begin, " \t\r\n");
    while (end > begin && strchr(" \t\r\n", end[-1]))
        end--;
    *length = end > begin ? (size_t)(end - begin) : 0;
    return begin;
}

struct key_globs *key_globs_parse(const char *const *texts, size_t count, struct arena *arena, struct error *err) {
    struct key_globs *globs = arena_zalloc(arena, 1, sizeof *globs);
    if (!globs) {
        error_memory(err);
        return NULL;
    }
    for (size_t i = 0; i < count; i++)
        for (const char *rest = texts[i]; *rest;) {
            size_t length;
            const char *glob = next_glob(&rest, &length);
            if (length == 0)
                continue;
            if (globs->count == KEY_GLOBS_MOST) {
                error_set(err, ERROR_INPUT, "there are more than %d path globs", KEY_GLOBS_MOST);
                return NULL;
            }
            struct glob *out = &globs->all[globs->count++];
            if (read_glob(glob, length, arena, out, err) != 0)
                return NULL;
            globs->includes |= !out->excludes;
        }
    return globs;
}

/* ---- matching ---- */

static bool name_matches(const struct name_glob *glob, const char *name, size_t length) {
    if (!glob->star)
        return length == glob->head && memcmp(name, glob->text, length) == 0;
    return length >= glob->head + glob->tail && memcmp(name, glob->text, glob->head) == 0 &&
           memcmp(name + length - glob->tail, glob->text + glob->head, glob->tail) == 0;
}

/* "**" may match no name: what is matched before it is matched behind it, too. */
static unsigned closed(const struct glob *glob, unsigned matched) {
    for (size_t i = 0; i < glob->count; i++)
        if (glob->names[i].any && (matched >> i & 1))
            matched |= 1u << (i + 1);
    return matched;
}

void key_globs_begin(const struct key_globs *globs, struct key_state *out) {
    for (size_t g = 0; g < globs->count; g++)
        out->matched[g] = closed(&globs->all[g], 1);
}

void key_globs_step(const struct key_globs *globs, const struct key_state *before, const char *name, size_t length,
                    struct key_state *out) {
    for (size_t g = 0; g < globs->count; g++) {
        const struct glob *glob = &globs->all[g];
        unsigned matched = 0;
        for (size_t i = 0; i < glob->count; i++) {
            if (!(before->matched[g] >> i & 1))
                continue;
            if (glob->names[i].any)
                matched |= 1u << i;
            else if (name_matches(&glob->names[i], name, length))
                matched |= 1u << (i + 1);
        }
        out->matched[g] = closed(glob, matched);
    }
}

enum key_choice key_globs_choose(const struct key_globs *globs, const struct key_state *state) {
    bool in = !globs->includes, asked_for = false;
    for (size_t g = 0; g < globs->count; g++) {
        const struct glob *glob = &globs->all[g];
        if (!(state->matched[g] >> glob->count & 1))
            continue;
        if (glob->excludes)
            return KEY_LEFT_OUT;
        in = asked_for = true;
    }
    return !in ? KEY_LEFT_OUT : asked_for ? KEY_ASKED_FOR : KEY_IN;
}
