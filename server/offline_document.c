#include "server/decode/loaded_model.h"
#include "server/decode/variant.h"
#include "server/document/document.h"
#include "server/document/key_globs.h"
#include "server/offline_modes.h"
#include <errno.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { READ_BYTES = 1 << 16 };

struct work {
    const struct options *options;
    struct document document; /* of bytes, once they are read */
    char *bytes;              /* malloc'ed, [length] */
    size_t length, room;
    char language[VARIANT_CODE_BYTES];
    struct key_globs *keys; /* NULL: none */
    struct document_notes notes;
    struct html html;
    struct request request;
    sem_t done;
};

/* ---- in ---- */

static int find_format(struct work *work, struct error *err) {
    const char *name = work->options->format, *file = work->options->file;
    char all[DOCUMENT_NAMES_BYTES];
    work->document.format = name ? document_find(name) : document_guess(file, NULL);
    if (work->document.format)
        return 0;
    document_names(all);
    return name ? error_set(err, ERROR_INPUT, "--format must be one of %s, got \"%.60s\"", all, name)
                : error_set(err, ERROR_INPUT, "--format is missing, and the name of the file tells no format: one of %s", all);
}

static int check_bilingual(const struct work *work, struct error *err) {
    const char *value = work->options->bilingual;
    if (value && strcmp(value, "below") != 0)
        return error_set(err, ERROR_INPUT, "--bilingual must be below, got \"%.60s\"", value);
    return !value || work->document.format->bilingual
               ? 0
               : error_set(err, ERROR_INPUT, "--bilingual is not possible in %s files", work->document.format->name);
}

static int find_keys(struct work *work, struct error *err) {
    const struct name_list *keys = &work->options->keys;
    struct error inner = {0};
    if (keys->count == 0)
        return 0;
    if (strcmp(work->document.format->name, "json") != 0)
        return error_set(err, ERROR_INPUT, "--keys selects values of JSON files only, and this file is %s",
                         work->document.format->name);
    work->keys = key_globs_parse((const char *const *)keys->names, keys->count, &work->request.arena, &inner);
    return work->keys ? 0 : error_set(err, inner.code, "--keys: %s", inner.message);
}

static int read_some(struct work *work, FILE *in, struct error *err) {
    if (work->room - work->length < READ_BYTES) {
        size_t room = 2 * work->room + READ_BYTES;
        if (work->length >= HTML_MAX_BYTES)
            return error_set(err, ERROR_LENGTH, "the document is too long");
        char *longer = realloc(work->bytes, room);
        if (!longer)
            return error_memory(err);
        work->bytes = longer;
        work->room = room;
    }
    work->length += fread(work->bytes + work->length, 1, READ_BYTES, in);
    return 0;
}

static int read_file(struct work *work, struct error *err) {
    const char *name = work->options->file ? work->options->file : "the input";
    FILE *in = work->options->file ? fopen(work->options->file, "re") : stdin;
    int result = in ? 0 : error_set(err, ERROR_FILE, "cannot open %s: %s", name, strerror(errno));
    while (result == 0 && !feof(in) && !ferror(in))
        result = read_some(work, in, err);
    if (result == 0 && ferror(in))
        result = error_set(err, ERROR_FILE, "cannot read %s: %s", name, strerror(errno));
    if (in && in != stdin)
        fclose(in);
    return result;
}

static int parse(struct work *work, const struct translator_info *info, struct error *err) {
    struct error inner = {0};
    const char *variant = offline_variant(work->options, info);
    variant_code(variant ? variant : info->target, work->language);
    work->document = (struct document){.format = work->document.format,
                                       .source = work->bytes,
                                       .length = work->length,
                                       .language = work->language,
                                       .bilingual = work->options->bilingual != NULL,
                                       .keys = work->keys,
                                       .notes = &work->notes};
    if (document_decode(&work->document, info->source, &work->request.arena, &inner) == 0 &&
        document_read(&work->document, &work->request.arena, &work->html, &inner) == 0) {
        work->html.language = work->language;
        work->html.from = info->source;
        return 0;
    }
    return error_set(err, inner.code, "%s: %s", work->options->file ? work->options->file : "the input", inner.message);
}

/* ---- decoded ---- */

static void finish(struct request *request) {
    struct work *work = request->owner;
    sem_post(&work->done);
}

static int ask(struct work *work, const struct offline *offline, struct error *err) {
    struct request *request = &work->request;
    struct loaded_model *model = offline->models[0];
    enum request_input input;
    request->loaded = loaded_model_acquire(model);
    request->variant = offline_variant(work->options, &model->info);
    offline_ask(offline, request);
    request->split = request->aligns = true;
    request->texts = arena_zalloc(&request->arena, work->html.count, sizeof *request->texts);
    if (!request->texts)
        return error_memory(err);
    for (size_t i = 0; i < work->html.count; i++) {
        request->texts[i].source = work->html.segments[i].text;
        request->texts[i].source_length = work->html.segments[i].length;
    }
    request->text_count = work->html.count;
    request->finish = finish;
    request->owner = work;
    return request_prepare(request, model->translator, &input, err);
}

static int decode(struct work *work, struct offline *offline, struct error *err) {
    if (work->request.job_count == 0)
        return 0;
    offline_submit(offline, &work->request);
    while (sem_wait(&work->done) != 0) /* interrupted */
        ;
    for (size_t i = 0; i < work->request.job_count; i++) {
        const struct error *error = &work->request.jobs[i].sentence->error;
        if (error->code != ERROR_NONE)
            return error_set(err, error->code, "%s", error->message);
    }
    return 0;
}

/* ---- out ---- */

static void print_notes(const struct work *work) {
    for (size_t i = 0; i < work->notes.count; i++)
        fprintf(stderr, "alignd: %s: line %zu: %s\n", work->options->file ? work->options->file : "the input",
                work->notes.all[i].line, work->notes.all[i].message);
}

static int print(struct work *work, FILE *out, struct error *err) {
    struct arena *arena = &work->request.arena;
    struct html_translation *translations = arena_zalloc(arena, work->html.count, sizeof *translations);
    size_t length;
    if (!translations)
        return error_memory(err);
    for (size_t i = 0; i < work->html.count; i++)
        if (document_translate(&work->request.texts[i], arena, &translations[i]) != 0)
            return error_memory(err);
    char *text = document_write(&work->document, &work->html, translations, arena, &length, err);
    if (!text)
        return -1;
    fwrite(text, 1, length, out);
    print_notes(work);
    return fflush(out) == 0 && !ferror(out) ? 0 : error_set(err, ERROR_FILE, "cannot write: %s", strerror(errno));
}

int offline_document(struct offline *offline, struct error *err) {
    struct work work = {.options = offline->options};
    sem_init(&work.done, 0, 0);
    request_init(&work.request);
    work.notes.arena = &work.request.arena;
    int result = find_format(&work, err) == 0 && check_bilingual(&work, err) == 0 && find_keys(&work, err) == 0 &&
                         read_file(&work, err) == 0 && parse(&work, &offline->models[0]->info, err) == 0 &&
                         ask(&work, offline, err) == 0 && decode(&work, offline, err) == 0
                     ? print(&work, offline->out, err)
                     : -1;
    request_done(&work.request);
    free(work.bytes);
    sem_destroy(&work.done);
    return result;
}
