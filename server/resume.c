#include "server/resume.h"
#include "model/base/file.h"
#include "server/base/clock.h"
#include "server/decode/parameters.h"
#include "server/models/manifest.h"
#include "server/outfile.h"
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- shares ---- */

static int fail_reading(struct error *err) {
    return error_set(err, ERROR_FILE, "cannot read the input: %s", strerror(errno));
}

/* at: the beginning of the first line at or after the beginning of the index-th of count parts of the size. */
static int find_line(FILE *file, uint64_t size, size_t index, size_t count, uint64_t *at, struct error *err) {
    int byte = '\n';
    *at = size / count * index + size % count * index / count; /* computed without overflow */
    if (*at == 0 || *at == size)
        return 0;
    if (fseeko(file, (off_t)*at - 1, SEEK_SET) != 0)
        return fail_reading(err);
    for (*at -= 1; (byte = getc(file)) != EOF; *at += 1) {
        if (byte == '\n') {
            *at += 1;
            return 0;
        }
    }
    return ferror(file) ? fail_reading(err) : 0;
}

int share_find(FILE *file, size_t index, size_t count, struct share *share, struct error *err) {
    assert(index < count);
    struct share found = {.lines = 0};
    struct stat status;
    if (fstat(fileno(file), &status) != 0)
        return fail_reading(err);
    if (!S_ISREG(status.st_mode))
        return error_set(err, ERROR_INPUT, "the input must be a file (< FILE), not a pipe: --shard and --checkpoint seek in it");
    uint64_t size = (uint64_t)status.st_size;
    if (find_line(file, size, index, count, &found.begin, err) != 0 ||
        find_line(file, size, index + 1, count, &found.end, err) != 0)
        return -1;
    if (fseeko(file, 0, SEEK_SET) != 0)
        return fail_reading(err);
    for (uint64_t left = found.begin; left > 0;) {
        char buffer[1 << 16];
        size_t length = fread(buffer, 1, left < sizeof buffer ? (size_t)left : sizeof buffer, file);
        if (length == 0)
            return ferror(file) ? fail_reading(err) : error_set(err, ERROR_FILE, "the input became shorter while it was read");
        for (const char *at = buffer; (at = memchr(at, '\n', (size_t)(buffer + length - at))) != NULL; at++)
            found.lines++;
        left -= length;
    }
    *share = found;
    return 0;
}

/* ---- progress ---- */

static const double least_seconds = 1; /* an earlier estimate would be a guess */

void headway_say(const struct headway *headway, char line[HEADWAY_BYTES]) {
    memset(line, 0, HEADWAY_BYTES);
    FILE *out = fmemopen(line, HEADWAY_BYTES - 1, "w");
    if (!out)
        return;
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%zu", headway->lines);
    for (int i = 0; i < length; i++) /* 1,234,567 */
        fprintf(out, "%s%c", i > 0 && (length - i) % 3 == 0 ? "," : "", digits[i]);
    fputs(" lines", out);
    if (headway->seconds >= least_seconds)
        fprintf(out, ", %.0f per second", (double)headway->lines / headway->seconds);
    if (headway->of_bytes > 0) {
        double share = (double)headway->done / (double)headway->of_bytes;
        share = share > 1 ? 1 : share; /* the input has grown */
        fprintf(out, ", %.0f%%", 100 * share);
        if (headway->done > 0 && headway->seconds >= least_seconds) { /* 2:05, 2:02:05 */
            unsigned long long left = (unsigned long long)(headway->seconds / share * (1 - share) + 0.5);
            unsigned long long hours = left / 3600, minutes = left / 60 % 60;
            if (hours > 0)
                fprintf(out, ", %llu:%02llu:%02llu left", hours, minutes, left % 60);
            else
                fprintf(out, ", %llu:%02llu left", minutes, left % 60);
        }
    }
    fclose(out);
}

/* ---- checkpoints ---- */

enum { MORE_BYTES = 1 << 20 }; /* room for the head and for longer conditions, which are refused */

#define HEAD                                                                                                                       \
    "alignd checkpoint 1\nlines %zu\nskipped %zu\ninput_bytes %" PRIu64 "\ninput_hash %016" PRIx64 "\noutput_bytes %" PRIu64 "\n"
/* the same for reading, with widths as maximums */
#define HEAD_READ                                                                                                                  \
    "alignd checkpoint 1\nlines %zu\nskipped %zu\ninput_bytes %" SCNu64 "\ninput_hash %16" SCNx64 "\noutput_bytes %" SCNu64 "%n"

uint64_t checkpoint_hash(uint64_t hash, const char *bytes, size_t length) {
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static int length_of(size_t length) {
    return (int)(length < 60 ? length : 60);
}

/* Reports the first line that differs. */
static int refuse(const char *path, const char *former, const char *conditions, struct error *err) {
    size_t was = strcspn(former, "\n"), is = strcspn(conditions, "\n");
    while (was > 0 && was == is && strncmp(former, conditions, was) == 0) {
        former += was + (former[was] != '\0');
        conditions += is + (conditions[is] != '\0');
        was = strcspn(former, "\n");
        is = strcspn(conditions, "\n");
    }
    size_t name = strcspn(former, " \n");
    if (is == 0)
        return error_set(err, ERROR_INPUT, "%.80s is from another run: this one lacks \"%.*s\"", path, length_of(was), former);
    if (was == 0)
        return error_set(err, ERROR_INPUT, "%.80s is from another run: it lacks \"%.*s\"", path, length_of(is), conditions);
    if (name >= was || name >= is || strncmp(former, conditions, name + 1) != 0)
        return error_set(err, ERROR_INPUT, "%.80s is from another run: it has \"%.*s\", and this one \"%.*s\"", path,
                         length_of(was), former, length_of(is), conditions);
    bool end = name == 2 && strncmp(former, "to", name) == 0;
    return error_set(err, ERROR_INPUT, "%.80s is from another run: %.*s was %.*s, now %.*s", path, end ? 20 : length_of(name),
                     end ? "the end of the input" : former, length_of(was - name - 1), former + name + 1, length_of(is - name - 1),
                     conditions + name + 1);
}

int checkpoint_read(const char *path, const char *conditions, struct checkpoint *checkpoint, struct error *err) {
    size_t size, most = strlen(conditions) + MORE_BYTES;
    char *text;
    if (access(path, F_OK) != 0 && errno == ENOENT) {
        *checkpoint = (struct checkpoint){.input_hash = CHECKPOINT_HASH};
        return 0;
    }
    if (file_read(path, most, &text, &size, err) != 0)
        return -1;
    struct checkpoint read;
    int length = 0, result = 0;
    int count =
        sscanf(text, HEAD_READ, &read.lines, &read.skipped, &read.input_bytes, &read.input_hash, &read.output_bytes, &length);
    if (count != 5 || text[length] != '\n')
        result = error_set(err, ERROR_FORMAT, "%.80s is not a checkpoint of alignd", path);
    else if (strcmp(text + length + 1, conditions) != 0)
        result = refuse(path, text + length + 1, conditions, err);
    else
        *checkpoint = read;
    free(text);
    return result;
}

int checkpoint_write(const char *path, const char *conditions, const struct checkpoint *checkpoint, struct error *err) {
    struct outfile output;
    if (outfile_open(&output, path, err) != 0)
        return -1;
    fprintf(output.file, HEAD, checkpoint->lines, checkpoint->skipped, checkpoint->input_bytes, checkpoint->input_hash,
            checkpoint->output_bytes);
    fputs(conditions, output.file);
    return outfile_close(&output, true, err);
}

/* ---- the conditions of a run ---- */

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

/* Puts each text on its own line, whatever it contains. */
static void put_texts(FILE *out, const char *name, const struct name_list *texts) {
    for (size_t i = 0; i < texts->count; i++) {
        fprintf(out, "%s ", name);
        for (const char *c = texts->names[i]; *c; c++)
            fprintf(out, *c == '\n' || *c == '\\' ? "\\%02x" : "%c", *c);
        putc('\n', out);
    }
}

/* Returns all conditions on which the output depends, except for the lines themselves; NULL with err. */
static char *make_conditions(const struct resume_run *run, struct error *err) {
    const struct options *options = run->options;
    const struct parameter *p;
    struct search_options search = options->search;
    char *text = NULL, sha256[SHA256_DIGITS + 1];
    size_t length;
    if (manifest_digest_weights(options->models.names[0], sha256, err) != 0)
        return NULL;
    FILE *out = open_memstream(&text, &length);
    if (!out) {
        error_memory(err);
        return NULL;
    }
    fprintf(out, "alignd " ALIGND_VERSION "\nmodel %s\nweights %s\n", run->info->name, sha256);
    fprintf(out, "shard %zu/%zu\nfrom %" PRIu64 "\nto %" PRIu64 "\n", options->shard.index,
            options->shard.count > 0 ? options->shard.count : 1, run->share->begin, run->share->end);
    fprintf(out, "compute %s\nshortlist %d\nhalf_past %d\nrows %zu\nvariant %s\n", run->info->compute, run->info->shortlist,
            options->half_past, options->rows, run->variant ? run->variant : "");
    fprintf(out, "split_sentences %d\nkeep_unknowns %d\nverbatim %d\n", options->split_sentences, options->keep_unknowns,
            options->verbatim);
    put_texts(out, "protect", &options->protect);
    put_texts(out, "protect_pattern", &options->protect_patterns);
    parameters_settle(&search, run->info, options->rows); /* the model's own values for options that were not given */
    for (size_t i = 0; (p = parameters_nth(i)) != NULL; i++)
        if (p->setters & PARAMETER_LINES)
            put_parameter(out, p, &search);
    bool written = !ferror(out);
    if (fclose(out) == 0 && text && written)
        return text;
    free(text);
    error_memory(err);
    return NULL;
}

/* ---- a run with a checkpoint ---- */

/* Reads the lines that have been translated, and checks that they have not changed. */
static int pass_input(const struct checkpoint *at, const struct resume_run *run, struct error *err) {
    char buffer[1 << 16];
    uint64_t hash = CHECKPOINT_HASH;
    for (uint64_t left = at->input_bytes; left > 0;) {
        size_t count = fread(buffer, 1, left < sizeof buffer ? (size_t)left : sizeof buffer, run->in);
        if (count == 0)
            return error_set(err, ERROR_FILE, "cannot read the input: %s", ferror(run->in) ? strerror(errno) : "it ends too early");
        hash = checkpoint_hash(hash, buffer, count);
        left -= count;
    }
    if (hash == at->input_hash && at->input_bytes <= run->share->end - run->share->begin)
        return 0;
    return error_set(err, ERROR_INPUT, "the input has changed: its first %zu lines are not those that were translated", at->lines);
}

/* Truncates the output to its length at the checkpoint. */
static int cut_output(const struct checkpoint *at, const struct resume_run *run, struct error *err) {
    struct stat status;
    int fd = fileno(run->out);
    const char *path = run->options->output;
    if (fstat(fd, &status) != 0)
        return error_set(err, ERROR_FILE, "cannot read %s: %s", path, strerror(errno));
    if ((uint64_t)status.st_size < at->output_bytes)
        return error_set(err, ERROR_INPUT, "%s has %lld bytes, but had %" PRIu64 " at the checkpoint", path,
                         (long long)status.st_size, at->output_bytes);
    if (ftruncate(fd, (off_t)at->output_bytes) != 0 || fseeko(run->out, (off_t)at->output_bytes, SEEK_SET) != 0)
        return error_set(err, ERROR_FILE, "cannot truncate %s: %s", path, strerror(errno));
    return 0;
}

int resume_begin(struct resume *resume, const struct resume_run *run, struct error *err) {
    const struct options *options = run->options;
    *resume = (struct resume){.path = options->checkpoint, .interval_us = (int64_t)options->checkpoint_s * 1000000};
    if (!resume->path)
        return 0;
    resume->conditions = make_conditions(run, err);
    if (!resume->conditions || checkpoint_read(resume->path, resume->conditions, &resume->at, err) != 0 ||
        pass_input(&resume->at, run, err) != 0 || cut_output(&resume->at, run, err) != 0)
        return -1;
    resume->saved_us = clock_us();
    return 0;
}

void resume_done(struct resume *resume) {
    free(resume->conditions);
    resume->conditions = NULL;
}

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
