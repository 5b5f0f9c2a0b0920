#include "server/models.h"
#include "server/clock.h"
#include "server/log.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WARM_UP_TOKENS = 8, ARENA_BLOCK_BYTES = 4096 };

static int decode_all(const struct translator *translator, struct sentence *sentences, size_t count, struct error *err) {
    struct sentence *done[1];
    struct batch *batch = batch_create(translator, 1, err);
    if (!batch)
        return -1;
    for (size_t i = 0; i < count; i++) {
        struct sentence *sentence = &sentences[i];
        batch_admit(batch, &sentence, 1);
        while (batch_step(batch, done) == 0) {
        }
        if (sentence->error.code != ERROR_NONE)
            error_set(err, sentence->error.code, "%s", sentence->error.message);
        sentence_done(sentence);
    }
    batch_free(batch);
    return 0;
}

/* Touches the weights that a decode touches: pages of the file come in before anybody waits. */
static int warm_up(const struct translator *translator, struct error *err) {
    static const char text[] = "one two three";
    struct search_options options = {.strategy = "greedy", .beam_size = 1, .n_best = 1, .max_length = WARM_UP_TOKENS};
    struct arena arena;
    arena_init(&arena, ARENA_BLOCK_BYTES);
    struct sentence *sentences;
    size_t count;
    int result = translator_prepare(translator, text, sizeof text - 1, false, &options, &arena, &sentences, &count, err);
    if (result == 0)
        result = decode_all(translator, sentences, count, err);
    arena_done(&arena);
    return result;
}

/* Two models of one name could not be told apart. */
static int check_name(const struct models *models, const char *name, struct error *err) {
    for (size_t i = 0; i < models->count; i++) {
        if (strcmp(models->infos[i].name, name) == 0)
            return error_set(err, ERROR_INPUT, "a model of the name \"%s\" is already loaded", name);
    }
    return 0;
}

/* Appends `key="value"`, with a comma before it unless it is the first, escaped as Prometheus asks. */
static void write_label(FILE *out, const char *key, const char *value) {
    fprintf(out, "%s%s=\"", ftell(out) > 0 ? "," : "", key);
    for (; *value; value++) {
        if (*value == '\n')
            fputs("\\n", out);
        else
            fprintf(out, "%s%c", *value == '"' || *value == '\\' ? "\\" : "", *value);
    }
    fputc('"', out);
}

static int publish(struct metrics *metrics, size_t index, const struct translator_info *info, int64_t duration_us,
                   struct error *err) {
    char *labels = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&labels, &length);
    if (!out)
        return error_memory(err);
    write_label(out, "model", info->name);
    write_label(out, "source", info->source);
    write_label(out, "target", info->target);
    write_label(out, "architecture", info->architecture);
    write_label(out, "compute", info->compute);
    write_label(out, "storage", info->storage);
    bool written = !ferror(out);
    written &= fclose(out) == 0 && labels; /* glibc leaves it NULL, and says nothing, where it never had room */
    int result = written ? metrics_model_loaded(metrics, index, info->name, labels, duration_us, err) : error_memory(err);
    free(labels);
    return result;
}

static struct translator *open_translator(const char *folder, const struct options *options, struct error *err) {
    return translator_open(folder, &(struct translator_options){.compute = options->compute, .shortlist = options->shortlist}, err);
}

static int load(struct models *models, const char *folder, const struct options *options, struct metrics *metrics,
                struct error *err) {
    int64_t began_us = clock_us();
    struct translator *translator = open_translator(folder, options, err);
    if (!translator)
        return -1;
    struct translator_info info = translator_info(translator);
    if (check_name(models, info.name, err) != 0 || warm_up(translator, err) != 0) {
        translator_free(translator);
        return -1;
    }
    int64_t duration_us = clock_us() - began_us;
    size_t index = models->count++;
    models->translators[index] = translator;
    models->infos[index] = info;
    log_event(LOG_INFO, "model_loaded", "model=%s folder=%s parameters=%zu compute=%s duration_ms=%lld", info.name, folder,
              info.parameters, info.compute, (long long)(duration_us / 1000));
    return metrics ? publish(metrics, index, &info, duration_us, err) : 0;
}

int models_load(struct models *models, const struct options *options, struct metrics *metrics, struct error *err) {
    for (size_t i = 0; i < options->models.count; i++) {
        const char *folder = options->models.names[i];
        struct error inner = {0};
        if (load(models, folder, options, metrics, &inner) != 0)
            return error_set(err, inner.code, "cannot load %s: %s", folder, inner.message);
    }
    return 0;
}

void models_free(struct models *models) {
    for (size_t i = 0; i < models->count; i++)
        translator_free(models->translators[i]);
    models->count = 0;
}
