#include "server/offline_resume.h"
#include "server/base/clock.h"
#include "server/decode/parameters.h"
#include "server/models/loaded_model.h"
#include "server/models/manifest.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- conditions ---- */

static void put_parameter(FILE *out, const struct parameter *p, const struct search_options *search) {
    const char *place = (const char *)search + p->offset;
    fprintf(out, "%s ", p->name);
    switch (p->type) {
    case PARAMETER_STRATEGY:
        fputs(search_name(*(const struct search_kind *const *)(const void *)place), out);
        break;
    case PARAMETER_INTEGER:
        fprintf(out, "%zu", *(const size_t *)(const void *)place);
        break;
    case PARAMETER_REAL:
        fprintf(out, "%.17g", *(const double *)(const void *)place);
        break;
    case PARAMETER_SEED:
        fprintf(out, "%" PRIu64, *(const uint64_t *)(const void *)place);
        break;
    }
    putc('\n', out);
}

/* As the model's folder says where the options do not. */
static void put_search(FILE *out, const struct offline *offline) {
    const struct parameter *p;
    struct search_options search = offline->options->search;
    parameters_settle(&search, &offline->models[0]->info, offline->options->rows);
    for (size_t i = 0; (p = parameters_nth(i)) != NULL; i++)
        if (p->setters & PARAMETER_LINES)
            put_parameter(out, p, &search);
}

/* One a line, whatever is in it. */
static void put_texts(FILE *out, const char *name, const struct name_list *texts) {
    for (size_t i = 0; i < texts->count; i++) {
        fprintf(out, "%s ", name);
        for (const char *c = texts->names[i]; *c; c++)
            fprintf(out, *c == '\n' || *c == '\\' ? "\\%02x" : "%c", *c);
        putc('\n', out);
    }
}

static int put_weights(FILE *out, const char *folder, struct error *err) {
    char sha256[SHA256_DIGITS + 1];
    if (manifest_digest_weights(folder, sha256, err) != 0)
        return -1;
    fprintf(out, "weights %s\n", sha256);
    return 0;
}

/* All that the output depends on, but for the lines that are read. NULL: err. */
static char *make_conditions(const struct offline *offline, const struct share *share, struct error *err) {
    const struct options *options = offline->options;
    const struct translator_info *info = &offline->models[0]->info;
    const char *variant = offline_variant(options, info);
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    if (!out) {
        error_memory(err);
        return NULL;
    }
    fprintf(out, "alignd " ALIGND_VERSION "\nmodel %s\n", info->name);
    int result = put_weights(out, options->models.names[0], err);
    fprintf(out, "shard %zu/%zu\nfrom %" PRIu64 "\nto %" PRIu64 "\n", options->shard.index,
            options->shard.count > 0 ? options->shard.count : 1, share->begin, share->end);
    fprintf(out, "compute %s\nshortlist %d\nhalf_past %d\nrows %zu\nvariant %s\n", info->compute, options->shortlist,
            options->half_past, options->rows, variant ? variant : "");
    fprintf(out, "split_sentences %d\nkeep_unknowns %d\nverbatim %d\n", options->split_sentences, options->keep_unknowns,
            options->verbatim);
    put_texts(out, "protect", &options->protect);
    put_texts(out, "protect_pattern", &options->protect_patterns);
    put_search(out, offline);
    bool written = !ferror(out);
    if (fclose(out) == 0 && text && written && result == 0)
        return text;
    free(text);
    error_memory(err); /* unless there is another reason */
    return NULL;
}

/* ---- input and output as the checkpoint says ---- */

static int pass_input(const struct checkpoint *at, FILE *in, const struct share *share, struct error *err) {
    char buffer[1 << 16];
    uint64_t hash = CHECKPOINT_HASH;
    for (uint64_t left = at->input_bytes; left > 0;) {
        size_t count = fread(buffer, 1, left < sizeof buffer ? (size_t)left : sizeof buffer, in);
        if (count == 0)
            return error_set(err, ERROR_FILE, "cannot read the input: %s", ferror(in) ? strerror(errno) : "it ends too early");
        hash = checkpoint_hash(hash, buffer, count);
        left -= count;
    }
    if (hash == at->input_hash && at->input_bytes <= share->end - share->begin)
        return 0;
    return error_set(err, ERROR_INPUT, "the input is another one: its first %zu lines are not those that were translated",
                     at->lines);
}

static int cut_output(const struct checkpoint *at, const struct offline *offline, struct error *err) {
    struct stat status;
    int fd = fileno(offline->out);
    const char *path = offline->options->output;
    if (fstat(fd, &status) != 0)
        return error_set(err, ERROR_FILE, "cannot read %s: %s", path, strerror(errno));
    if ((uint64_t)status.st_size < at->output_bytes)
        return error_set(err, ERROR_INPUT, "%s has %lld bytes, and the checkpoint tells of %" PRIu64, path,
                         (long long)status.st_size, at->output_bytes);
    if (ftruncate(fd, (off_t)at->output_bytes) != 0 || fseeko(offline->out, (off_t)at->output_bytes, SEEK_SET) != 0)
        return error_set(err, ERROR_FILE, "cannot cut %s: %s", path, strerror(errno));
    return 0;
}

int resume_begin(struct resume *resume, const struct offline *offline, FILE *in, const struct share *share, struct error *err) {
    const struct options *options = offline->options;
    *resume = (struct resume){.path = options->checkpoint, .interval_us = (int64_t)options->checkpoint_s * 1000000};
    if (!resume->path)
        return 0;
    resume->conditions = make_conditions(offline, share, err);
    if (!resume->conditions || checkpoint_read(resume->path, resume->conditions, &resume->at, err) != 0 ||
        pass_input(&resume->at, in, share, err) != 0 || cut_output(&resume->at, offline, err) != 0)
        return -1;
    resume->saved_us = clock_us();
    return 0;
}

void resume_done(struct resume *resume) {
    free(resume->conditions);
    resume->conditions = NULL;
}

/* ---- going on ---- */

void resume_note(struct resume *resume, const char *source, size_t length, bool skipped) {
    if (!resume->path)
        return;
    resume->at.lines++;
    resume->at.skipped += skipped;
    resume->at.input_bytes += length;
    resume->at.input_hash = checkpoint_hash(resume->at.input_hash, source, length);
}

int resume_save(struct resume *resume, FILE *out, bool now, struct error *err) {
    if (!resume->path || (!now && clock_us() - resume->saved_us < resume->interval_us))
        return 0;
    off_t length = fflush(out) == 0 ? ftello(out) : -1;
    if (length < 0 || fdatasync(fileno(out)) != 0)
        return error_set(err, ERROR_FILE, "cannot write: %s", strerror(errno));
    resume->at.output_bytes = (uint64_t)length;
    resume->saved_us = clock_us();
    return checkpoint_write(resume->path, resume->conditions, &resume->at, err);
}
