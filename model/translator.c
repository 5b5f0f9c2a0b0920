/* This file hides how a folder becomes a translator: which files it may have, how they are checked
 * against each other, what is known before it is loaded, and how the list of target ids of a
 * language is chosen. */
#include "model/translator.h"
#include "model/base/task.h"
#include "model/base/utf8.h"
#include "model/compute/matrix.h"
#include "model/glossary.h"
#include "model/model.h"
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Writes FOLDER/FILE to buffer. */
static int path_in(const char *folder, const char *file, char *buffer, size_t bytes,
                   struct error *err) {
    int length = snprintf(buffer, bytes, "%s/%s", folder, file);
    if (length < 0 || (size_t)length >= bytes)
        return error_set(err, ERROR_FILE, "%s: the path is too long", folder);
    return 0;
}

/* Returns whether both sides have the same vocabulary, in one file or two, and read it in the same
 * way. */
static bool same_sides(const struct model_config *c, const char *folder) {
    const struct tokenizer_side *source = &c->tokenizer.source, *target = &c->tokenizer.target;
    enum { MAX_BYTES = 1 << 26 };
    char path[4096], other[4096];
    return strcmp(source->pieces, target->pieces) == 0 && source->lowercase == target->lowercase &&
           source->punctuation == target->punctuation &&
           path_in(folder, source->file, path, sizeof path, NULL) == 0 &&
           path_in(folder, target->file, other, sizeof other, NULL) == 0 &&
           file_same(path, other, MAX_BYTES);
}

static size_t file_bytes(const char *folder, const char *file) {
    char path[4096];
    struct stat status;
    bool there = config_has_file(file) && path_in(folder, file, path, sizeof path, NULL) == 0 &&
                 stat(path, &status) == 0;
    return there ? (size_t)status.st_size : 0;
}

/* Estimates the memory of a SentencePiece model: its pieces, a map of them and a trie take 5 to 9
 * times the file. */
static size_t tokenizer_bytes(const struct model_config *c, const char *folder, bool shared) {
    enum { FACTOR = 8 };
    size_t target = shared ? 0 : file_bytes(folder, c->tokenizer.target.file);
    return FACTOR * (file_bytes(folder, c->tokenizer.source.file) + target);
}

static struct tokenizer *open_tokenizer(const char *folder, const char *kind, const char *file,
                                        const struct tokenizer_side *side, struct error *err) {
    char path[4096], pieces[4096];
    struct tokenizer_options options = {.prepared = side->prepared,
                                        .lowers = side->lowers,
                                        .lowercase = side->lowercase,
                                        .punctuation = side->punctuation};
    if (config_has_file(side->pieces))
        options.pieces = pieces;
    if (path_in(folder, file, path, sizeof path, err) != 0 ||
        path_in(folder, side->pieces, pieces, sizeof pieces, err) != 0)
        return NULL;
    return tokenizer_open(kind, path, &options, err);
}

/* Opens the target's vocabulary. */
static struct tokenizer *open_target(const char *folder, const struct model_config *config,
                                     struct error *err) {
    const struct tokenizer_side *side = &config->tokenizer.target;
    return open_tokenizer(folder, config->tokenizer.type, side->file, side, err);
}

/* Vocabularies that are opened on a thread of their own: a large one of SentencePiece takes as long
 * to load as the network. */
struct opening {
    struct translator *t;
    const char *folder;
    struct task task;
    int result;
    struct error error;
};

static void run_open_target(void *context) {
    struct opening *opening = context;
    opening->t->target = open_target(opening->folder, &opening->t->config, &opening->error);
}

/* Opens the vocabularies of both sides, which are one if they are the same. */
static int open_sides(struct translator *t, const char *folder, struct error *err) {
    const struct model_config *c = &t->config;
    const struct tokenizer_side *source = &c->tokenizer.source, *target = &c->tokenizer.target;
    const struct tokenizer_options shared_options = {.prepared = target->prepared,
                                                     .lowers = target->lowers};
    bool shared = same_sides(c, folder);
    t->tokenizer_bytes = tokenizer_bytes(c, folder, shared);
    struct opening other = {.t = t, .folder = folder};
    if (!shared)
        task_start(&other.task, run_open_target, &other);
    t->source = open_tokenizer(folder, c->tokenizer.type, source->file, source, err);
    if (!shared)
        task_wait(&other.task);
    else if (t->source)
        t->target = tokenizer_share(t->source, &shared_options, err);
    if (t->source && other.error.code != ERROR_NONE)
        *err = other.error;
    return t->source && t->target ? 0 : -1;
}

/* Notes which pieces write signs. A byte may be a part of one. */
static int open_signs(struct translator *t, struct error *err) {
    enum { MOST = 256 }; /* bytes of a piece that are looked at */
    const char *mark = tokenizer_mark(t->target);
    size_t size = tokenizer_size(t->target), marked = strlen(mark);
    t->sign_rules = signs_rules(t->config.source, t->config.target);
    t->sign_rules.vocabularies[0] = t->source;
    t->sign_rules.vocabularies[1] = t->target;
    t->signs = calloc(size, sizeof *t->signs);
    t->marks = calloc(size, sizeof *t->marks);
    if (!t->signs || !t->marks)
        return error_memory(err);
    for (size_t id = 0; id < size; id++) {
        char text[MOST] = "a"; /* what an apostrophe without white space before it touches */
        const char *piece = tokenizer_piece(t->target, (int)id);
        bool apart = marked > 0 && strncmp(piece, mark, marked) == 0;
        size_t length = utf8_clip(piece + (apart ? marked : 0),
                                  strnlen(piece + (apart ? marked : 0), MOST - 1), MOST - 1);
        if (!tokenizer_is_text(t->target, (int)id) || tokenizer_byte(t->target, (int)id) >= 0) {
            t->signs[id] = tokenizer_byte(t->target, (int)id) >= 0;
            continue;
        }
        memcpy(text + 1, piece + (apart ? marked : 0), length);
        t->signs[id] = signs_any(&t->sign_rules, text + apart, length + !apart);
        t->marks[id] = signs_mark(&t->sign_rules, text + 1, length);
    }
    return 0;
}

static int open_vocabularies(struct translator *t, const char *folder, struct error *err) {
    const struct model_config *c = &t->config;
    const char *kind = c->tokenizer.type;
    bool spells = strcmp(c->output.type, "characters") == 0;
    if (open_sides(t, folder, err) != 0)
        return -1;
    if (spells)
        t->characters =
            open_tokenizer(folder, "characters", SPELLER_VOCABULARY, &c->tokenizer.target, err);
    if ((spells && !t->characters) || glossary_continues(t->target, &t->continues, err) != 0)
        return -1;

    size_t size = tokenizer_size(t->target), bytes = 0;
    t->bytes = calloc(size, sizeof *t->bytes);
    if (!t->bytes)
        return error_memory(err);
    for (size_t id = 0; id < size; id++) {
        t->bytes[id] = (short)tokenizer_byte(t->target, (int)id);
        bytes += t->bytes[id] >= 0;
    }
    if (bytes == 0) {
        free(t->bytes);
        t->bytes = NULL;
    }

    bool writes = strcmp(c->output.type, "pointer") != 0;
    t->holds = writes && tokenizer_unknown(t->source) >= 0 && tokenizer_unknown(t->target) >= 0;
    t->notations = NOTATION_PLACEHOLDERS;
    if (t->holds && !config_copies(c) && strcmp(kind, "sentencepiece") == 0 &&
        strcmp(c->task, "translation") == 0) {
        char opaque[4096];
        t->notations = NOTATION_ALL;
        if (path_in(folder, "opaque.json", opaque, sizeof opaque, err) != 0 ||
            readable_init(&t->readable, t->source, t->target, c->source, opaque, err) != 0)
            return -1;
    }
    if (strcmp(c->task, "translation") == 0 && open_signs(t, err) != 0)
        return -1;
    t->formality = formality_open(t->target, err);
    if (!t->formality)
        return -1;
    return labels_find(t->source, &t->variants, err);
}

static void run_open_vocabularies(void *context) {
    struct opening *opening = context;
    opening->result = open_vocabularies(opening->t, opening->folder, &opening->error);
}

/* Checks that the vocabularies have the ids that decoding needs. */
static int check_vocabularies(const struct translator *t, struct error *err) {
    if (tokenizer_end(t->target) < 0 || (t->config.encoder.eos && tokenizer_end(t->source) < 0))
        return error_set(err, ERROR_FORMAT, "tokenizer: the vocabulary has no </s>");
    if (t->config.encoder.bos && tokenizer_begin(t->source) < 0)
        return error_set(err, ERROR_FORMAT, "encoder.bos: the source vocabulary has no <s>");
    if (config_copies(&t->config) && tokenizer_unknown(t->target) < 0)
        return error_set(
            err, ERROR_FORMAT,
            "tokenizer: the model copies words, but the target vocabulary has no <unk>");
    if (t->config.decoder.first_input == FIRST_BOS && tokenizer_begin(t->target) < 0)
        return error_set(err, ERROR_FORMAT,
                         "tokenizer: first_input is bos, but the target vocabulary has no <s>");
    if (t->characters && (tokenizer_begin(t->characters) < 0 || tokenizer_end(t->characters) < 0))
        return error_set(err, ERROR_FORMAT,
                         "tokenizer: spelling a word needs <s> and </s>, but " SPELLER_VOCABULARY
                         " lacks one of them");
    size_t size = tokenizer_size(t->source), target = tokenizer_size(t->target);
    if (weights_check(t->weights, encoder_embedding(&t->config), size, t->config.encoder.embedding,
                      err) != 0 ||
        weights_check(t->weights, "decoder.embedding", target, t->config.decoder.embedding, err) !=
            0)
        return -1;
    bool same = size == target;
    for (size_t i = 0; t->config.encoder.embedding_shared && same && i < size; i++)
        same = strcmp(tokenizer_piece(t->source, (int)i), tokenizer_piece(t->target, (int)i)) == 0;
    if (t->config.encoder.embedding_shared && !same)
        return error_set(err, ERROR_FORMAT,
                         "encoder.embedding_shared: the vocabularies of source and target differ");
    return 0;
}

/* A piece to look up by find_pieces; tokenizing a text need not produce it. */
struct wanted {
    const char *piece;
    int *id; /* -1: the vocabulary lacks it */
};

static int by_wanted(const void *a, const void *b) {
    return strcmp(((const struct wanted *)a)->piece, ((const struct wanted *)b)->piece);
}

/* Finds the ids of all wanted pieces in one pass, because the vocabulary may have 256,000 pieces.
 * Sorts the list. */
static void find_pieces(const struct tokenizer *tokenizer, struct wanted *wanted, size_t count) {
    for (size_t i = 0; i < count; i++)
        *wanted[i].id = -1;
    qsort(wanted, count, sizeof *wanted, by_wanted);
    for (size_t id = tokenizer_size(tokenizer);
         count > 0 && id-- > 0;) { /* backwards, so that the lowest of several remains */
        const struct wanted key = {tokenizer_piece(tokenizer, (int)id), NULL};
        const struct wanted *found = bsearch(&key, wanted, count, sizeof *wanted, by_wanted);
        while (found && found > wanted && by_wanted(found - 1, &key) == 0)
            found--;
        for (; found && found < wanted + count && by_wanted(found, &key) == 0; found++)
            *found->id = (int)id;
    }
}

/* Returns the decoder's first input. */
static int first_token(const struct translator *t) {
    switch (t->config.decoder.first_input) {
    case FIRST_ZERO:
        return DECODER_FIRST;
    case FIRST_EOS:
        return tokenizer_end(t->target);
    case FIRST_ID:
        return 0;
    default:
        return tokenizer_begin(t->target);
    }
}

/* Finds the tokens that translations begin with: the pieces of decoder.prefix, or those of the
 * model's languages, since a translation begins with its target language. */
static int open_opening(struct translator *t, struct error *err) {
    char pieces[CONFIG_NAME_BYTES], *rest = pieces, *piece;
    size_t count = t->languages.count;
    memcpy(pieces, t->config.decoder.prefix, sizeof pieces);
    bool prefixed = strcmp(pieces, "none") != 0;
    if (t->config.encoder.bos && (count > 0 || t->variants.count > 0))
        return error_set(err, ERROR_FORMAT,
                         "encoder.bos: the first token of a source is that of its language");
    if (count == 0) {
        t->opening = prefixed ? calloc(CONFIG_NAME_BYTES, sizeof *t->opening) : NULL;
        if (prefixed && !t->opening)
            return error_memory(err);
        while (prefixed && (piece = strsep(&rest, " ")) != NULL) {
            int id;
            find_pieces(t->target, &(struct wanted){piece, &id}, 1);
            if (id < 0)
                return error_set(err, ERROR_FORMAT,
                                 "decoder.prefix: the target vocabulary has no piece \"%s\"",
                                 piece);
            t->opening[t->opening_count++] = id;
        }
        return 0;
    }

    if (prefixed)
        return error_set(err, ERROR_FORMAT, "languages: cannot be there beside decoder.prefix");
    if (t->variants.count > 0)
        return error_set(
            err, ERROR_FORMAT,
            "languages: the vocabulary has labels of languages, too, such as >>%.60s<<",
            t->variants.names[0]);
    t->language_ids = calloc(count, sizeof *t->language_ids);
    struct wanted *wanted = calloc(count, sizeof *wanted);
    if (!t->language_ids || !wanted) {
        free(wanted);
        return error_memory(err);
    }
    for (size_t i = 0; i < count; i++)
        wanted[i] = (struct wanted){t->languages.all[i].source, &t->language_ids[i].source};
    find_pieces(t->source, wanted, count);
    for (size_t i = 0; i < count; i++)
        wanted[i] = (struct wanted){t->languages.all[i].target, &t->language_ids[i].target};
    find_pieces(t->target, wanted, count);
    free(wanted);
    for (size_t i = 0; i < count; i++) {
        const struct model_language *language = &t->languages.all[i];
        const struct language_ids *ids = &t->language_ids[i];
        if (ids->source < 0 || ids->target < 0)
            return error_set(err, ERROR_FORMAT, "languages.%s: the vocabulary has no piece \"%s\"",
                             language->code, ids->source < 0 ? language->source : language->target);
    }
    t->opening = &t->language_ids[0].target; /* until a sentence chooses another language */
    t->opening_count = 1;
    return 0;
}

/* Returns the size of the vocabulary that this embedding is for. It is known before the vocabulary,
 * which must then have it (check_vocabularies). An embedding that is missing or empty is reported
 * when it is loaded. */
static size_t embedded(const struct translator *t, const char *embedding) {
    size_t rows = weights_rows(t->weights, embedding);
    return rows > 0 ? rows : 1;
}

/* Loads all but what depends on the vocabularies' pieces. */
static int load_network(struct translator *t, bool lists, struct error *err) {
    const struct loader loader = {t->weights, t->backend.kernels, &t->arena, err};
    t->source_size = embedded(t, encoder_embedding(&t->config));
    t->target_size = embedded(t, "decoder.embedding");
    return encoder_init(&t->encoder, &t->config, t->source_size, &loader) == 0 &&
                   decoder_init(&t->decoder, &t->config, t->target_size, &loader) == 0 &&
                   output_init(&t->output, &t->config, t->target_size, lists, &loader) == 0 &&
                   alignment_init(&t->alignment, &t->config, &loader) == 0
               ? 0
               : -1;
}

static void describe(struct translator *t) {
    const struct encoder_config *e = &t->config.encoder;
    const struct decoder_config *d = &t->config.decoder;
    bool joined = strcmp(e->stack, "joined") == 0;
    char width[32] = "", directions[48] = "", attention[64] = "fixed context", output[32] = "";
    if (e->width > 0)
        snprintf(width, sizeof width, " width %zu", e->width);
    if (e->bidirectional)
        snprintf(directions, sizeof directions, " bidirectional%s%.16s", joined ? "" : " ",
                 joined ? "" : e->stack);
    if (config_attends(&t->config))
        snprintf(attention, sizeof attention, "%.16s %.16s attention", d->style,
                 t->config.attention.score);
    if (d->blocks.heads > 0)
        snprintf(attention, sizeof attention, "%zu heads", d->blocks.heads);
    if (t->output.copies)
        snprintf(output, sizeof output, ", %.20s output", t->config.output.type);
    snprintf(t->architecture, sizeof t->architecture,
             "%.16s encoder %zux%zu%s%s%s, %s, %.16s decoder %zux%zu%s%s%s",
             *e->cell ? e->cell : e->type, e->layers, e->hidden, width, directions,
             e->residual ? " residual" : "", attention, *d->cell ? d->cell : d->mixer, d->layers,
             d->hidden, d->residual ? " residual" : "", d->input_feeding ? " input feeding" : "",
             output);
}

/* Replaces "model" (or NULL) with the type that the configuration names, and returns other names
 * unchanged. */
static const char *settle_compute(const struct model_config *config, enum stored stored,
                                  const char *name) {
    const char *own = config->defaults.compute;
    if (name && strcmp(name, "model") != 0)
        return name;
    if (strcmp(own, "stored") != 0)
        return own;
    return compute_name(stored == STORED_INT8 ? COMPUTE_INT8 : COMPUTE_FLOAT32);
}

/* "auto" is measured with a matrix as large as the decoder's recurrent one. */
static int choose_compute(struct translator *t, const char *asked, struct error *err) {
    const char *name = settle_compute(&t->config, weights_stored(t->weights), asked);
    for (enum compute compute = 0; compute < COMPUTE_TYPES; compute++)
        if (strcmp(compute_name(compute), name) == 0) {
            t->backend.compute = compute;
            return 0;
        }
    if (strcmp(name, "auto") != 0)
        return error_set(err, ERROR_INPUT, "compute type %s is not known", name);
    struct linear_source shape = {.out = 3 * t->config.decoder.hidden,
                                  .in = t->config.decoder.hidden,
                                  .stored = weights_stored(t->weights)};
    return compute_fastest(&t->backend, &shape, &t->backend.compute, err);
}

/* Opens the shortlist. Messages about its tensors begin with its name, because they do not name
 * their file. */
static int open_shortlist(struct translator *t, const char *folder, struct error *err) {
    char path[4096];
    struct error inner = {0};
    if (config_copies(&t->config))
        return error_set(err, ERROR_INPUT, "shortlist: not supported by a model that copies");
    if (path_in(folder, "shortlist.safetensors", path, sizeof path, err) != 0)
        return -1;
    t->shortlist = shortlist_open(path, tokenizer_size(t->source), tokenizer_size(t->target),
                                  tokenizer_end(t->target), &inner);
    bool good = t->shortlist != NULL;
    for (size_t i = 0; good && i < t->languages.count; i++)
        if (*t->languages.all[i].list)
            good = shortlist_named(t->shortlist, t->languages.all[i].list, &t->language_ids[i].list,
                                   &inner) == 0;
    if (good)
        return 0;
    const char *help = inner.code == ERROR_FILE ? "; weights/training/shortlist.py makes one" : "";
    return error_set(err, inner.code, "shortlist: %s%s", inner.message, help);
}

/* Reads quality.safetensors if the folder has it. */
static int open_quality(struct translator *t, const char *folder, struct error *err) {
    char path[4096];
    struct error inner = {0};
    if (path_in(folder, "quality.safetensors", path, sizeof path, err) != 0)
        return -1;
    if (access(path, F_OK) != 0 && errno == ENOENT)
        return 0;
    t->quality = calloc(1, sizeof *t->quality);
    if (!t->quality)
        return error_memory(err);
    return weights_read_quality(path, t->quality, &inner) == 0
               ? 0
               : error_set(err, inner.code, "quality: %s", inner.message);
}

/* ---- packed weights ---- */

static int packed_path(const struct translator *t, const char *folder, char *path, size_t bytes,
                       struct error *err) {
    char name[96];
    snprintf(name, sizeof name, "packed-%s-%s.bin", compute_name(t->backend.compute),
             t->backend.kernels->processor);
    return path_in(folder, name, path, bytes, err);
}

int translator_pack(const struct translator *translator, const char *folder, const char *sha256,
                    char *path, size_t bytes, struct error *err) {
    if (packed_path(translator, folder, path, bytes, err) != 0)
        return -1;
    return weights_pack(translator->weights, path, sha256, err);
}

void translator_setup(void) {
    if (kernels_choose()->wants_blas)
        blas_load();
}

static int open_config(struct translator *t, const char *folder, struct error *err) {
    char path[4096];
    return path_in(folder, "config.json", path, sizeof path, err) == 0 &&
                   config_read(path, &t->config, err) == 0 &&
                   model_languages_read(path, &t->languages, err) == 0
               ? 0
               : -1;
}

/* Opens what depends neither on the vocabularies nor on the type of computation. */
static int open_weights(struct translator *t, const char *folder, struct error *err) {
    bool translates = strcmp(t->config.task, "translation") ==
                      0; /* a logical form need not have its question's numbers */
    char path[4096];
    if (path_in(folder, "model.safetensors", path, sizeof path, err) != 0)
        return -1;
    t->segmenter = segmenter_open(t->config.source, err);
    t->weights = t->segmenter ? weights_open(path, err) : NULL;
    return t->weights &&
                   (!translates ||
                    (number_words_open(t->config.source, &t->source_numbers, err) == 0 &&
                     number_words_open(t->config.target, &t->target_numbers, err) == 0)) &&
                   open_quality(t, folder, err) == 0
               ? 0
               : -1;
}

/* Chooses the type of computation and maps the packed weights. A file that cannot be used is
 * ignored, and t->unmapped says why. */
static int open_packed(struct translator *t, const char *folder,
                       const struct translator_options *options, struct error *err) {
    char path[4096];
    struct error inner = {0};
    if (choose_compute(t, options->compute, err) != 0)
        return -1;
    t->backend.pages = &t->pages;
    t->backend.half_past = options->half_past == SWITCH_OF_MODEL
                               ? t->backend.compute != COMPUTE_FLOAT32
                               : options->half_past == SWITCH_ON;
    weights_use(t->weights, &t->backend);
    weights_stop(t->weights, options->stop);
    if (!options->pack && packed_path(t, folder, path, sizeof path, NULL) == 0 &&
        (access(path, F_OK) == 0 || errno != ENOENT) &&
        weights_map(t->weights, path, options->sha256, &inner) != 0)
        snprintf(t->unmapped, sizeof t->unmapped, "%.150s", inner.message);
    return 0;
}

/* Frees the vocabularies, which packing does not need. */
static void drop_vocabularies(struct translator *t) {
    tokenizer_free(t->target); /* it may have the source's vocabulary */
    tokenizer_free(t->source);
    t->source = t->target = NULL;
    malloc_trim(0);
}

/* Loads what depends on the vocabularies, and checks that nothing of the file is left. */
static int finish_network(struct translator *t, int first, struct error *err) {
    const struct loader loader = {t->weights, t->backend.kernels, &t->arena, err};
    if ((t->characters && speller_init(&t->speller, &t->config, t->characters, &loader) != 0) ||
        weights_all_used(t->weights, err) != 0)
        return -1;
    t->decoder.first = first;
    weights_rest(t->weights);
    struct weights_linears linears = weights_linears(t->weights);
    if (linears.file && linears.mapped < linears.packed)
        snprintf(t->unmapped, sizeof t->unmapped, "%zu of %zu matrices are missing or damaged",
                 linears.packed - linears.mapped, linears.packed);
    describe(t);
    return 0;
}

struct translator *translator_open(const char *folder, const struct translator_options *given,
                                   struct error *err) {
    static const struct translator_options defaults = {0};
    const struct translator_options *options = given ? given : &defaults;
    struct translator *t = calloc(1, sizeof *t);
    if (!t) {
        error_memory(err);
        return NULL;
    }
    arena_init(&t->arena, 1024);
    t->backend = backend_choose();
    if (open_config(t, folder, err) != 0)
        goto failed;
    bool lists = options->shortlist == SWITCH_OF_MODEL ? t->config.defaults.shortlist
                                                       : options->shortlist == SWITCH_ON;

    /* The vocabularies are opened beside the network, unless they shall not take memory at the same
     * time. */
    struct opening opening = {.t = t, .folder = folder};
    struct error error = {0};
    bool beside = !options->pack;
    task_start(&opening.task, run_open_vocabularies, &opening);
    bool good = open_weights(t, folder, &error) == 0 &&
                open_packed(t, folder, options, &error) == 0 &&
                (!beside || load_network(t, lists, &error) == 0);
    task_wait(&opening.task);
    const struct error *failure = opening.result != 0 ? &opening.error : good ? NULL : &error;
    if (failure) {
        error_set(err, failure->code, "%s", failure->message);
        goto failed;
    }

    if (check_vocabularies(t, err) != 0 || open_opening(t, err) != 0 ||
        (lists && open_shortlist(t, folder, err) != 0))
        goto failed;
    int first = first_token(t);
    if (!beside) {
        drop_vocabularies(t);
        good = load_network(t, lists, err) == 0;
    }
    if (good && finish_network(t, first, err) == 0)
        return t;
failed:
    translator_free(t);
    return NULL;
}

void translator_free(struct translator *translator) {
    if (!translator)
        return;
    arena_done(&translator->arena);
    pages_done(&translator->pages);
    weights_free(translator->weights);
    shortlist_free(translator->shortlist);
    segmenter_free(translator->segmenter);
    number_words_free(translator->source_numbers);
    number_words_free(translator->target_numbers);
    tokenizer_free(translator->target); /* it may have the source's vocabulary */
    tokenizer_free(translator->source);
    tokenizer_free(translator->characters);
    labels_done(&translator->variants);
    readable_done(&translator->readable);
    free(translator->quality);
    if (translator->languages.count == 0)
        free(translator->opening);
    free(translator->language_ids);
    model_languages_done(&translator->languages);
    free(translator->continues);
    free(translator->bytes);
    free(translator->signs);
    free(translator->marks);
    formality_free(translator->formality);
    free(translator);
}

/* Returns the facts that the configuration states. */
static struct translator_info info_of(const struct model_config *c, const struct labels *variants,
                                      const struct model_languages *languages) {
    bool many = languages->count > 0;
    return (struct translator_info){.name = c->name,
                                    .languages = many ? languages : NULL,
                                    .source = c->source,
                                    .target = c->target,
                                    .task = c->task,
                                    .max_source_tokens = c->limits.max_source_tokens,
                                    .max_target_ratio = c->limits.max_target_ratio,
                                    .variants = many ? languages->codes
                                                     : (const char *const *)variants->names,
                                    .variant_count = many ? languages->count : variants->count,
                                    .beam_size = c->defaults.beam_size,
                                    .length_penalty = c->defaults.length_penalty,
                                    .lists = c->defaults.shortlist,
                                    .source_end = c->encoder.eos,
                                    .style = c->decoder.style,
                                    .score = !config_attends(c)            ? ""
                                             : c->decoder.blocks.heads > 0 ? "scaled_dot"
                                                                           : c->attention.score,
                                    .attention_trained = c->decoder.alignment_trained};
}

const char *translator_language(const struct translator_info *info, const char *name) {
    const struct model_language *found = model_languages_find(info->languages, name);
    return found ? found->code : NULL;
}

struct translator_info translator_info(const struct translator *t) {
    struct translator_info info = info_of(&t->config, &t->variants, &t->languages);
    struct weights_linears linears = weights_linears(t->weights);
    info.architecture = t->architecture;
    info.compute = compute_name(t->backend.compute);
    info.storage = weights_storage(t->weights);
    info.parameters = weights_parameters(t->weights);
    info.source_vocabulary = t->source_size;
    info.target_vocabulary = t->target_size;
    info.heads = looks_there(t);
    info.quality = t->quality != NULL;
    info.shortlist = t->shortlist != NULL;
    info.attention = t->decoder.attends;
    info.alignment_head = t->alignment.query.out > 0;
    info.matrices = linears.packed;
    info.mapped = linears.mapped;
    info.unmapped = t->unmapped;
    return info;
}

size_t translator_bytes(const struct translator *translator) {
    return sizeof *translator + weights_bytes(translator->weights) + translator->tokenizer_bytes;
}

/* ---- before a folder is loaded ---- */

struct translator_card {
    struct model_config config;
    size_t parameters, tokenizer_bytes;
    const char *storage;
    enum stored stored;
    bool quality;
    struct labels variants;
    struct model_languages languages;
};

struct translator_card *translator_card_read(const char *folder, struct error *err) {
    char path[4096];
    struct translator_card *card = calloc(1, sizeof *card);
    if (!card) {
        error_memory(err);
        return NULL;
    }
    const struct model_config *c = &card->config;
    if (path_in(folder, "config.json", path, sizeof path, err) != 0 ||
        config_read(path, &card->config, err) != 0 ||
        model_languages_read(path, &card->languages, err) != 0 ||
        path_in(folder, "model.safetensors", path, sizeof path, err) != 0)
        goto failed;
    struct weights *weights = weights_open(path, err);
    if (!weights)
        goto failed;
    card->parameters = weights_parameters(weights);
    card->storage = weights_storage(weights);
    card->stored = weights_stored(weights);
    weights_free(weights);

    /* the vocabulary has the labels of variants */
    if (strcmp(c->tokenizer.type, "sentencepiece") == 0 &&
        !config_has_file(c->tokenizer.source.pieces)) {
        if (path_in(folder, c->tokenizer.source.file, path, sizeof path, err) != 0 ||
            labels_read(path, &card->variants, err) != 0)
            goto failed;
    } else {
        struct tokenizer *source = open_tokenizer(
            folder, c->tokenizer.type, c->tokenizer.source.file, &c->tokenizer.source, err);
        int result = source ? labels_find(source, &card->variants, err) : -1;
        tokenizer_free(source);
        if (result != 0)
            goto failed;
    }
    card->tokenizer_bytes = tokenizer_bytes(c, folder, same_sides(c, folder));
    card->quality = file_bytes(folder, "quality.safetensors") > 0;
    return card;
failed:
    translator_card_free(card);
    return NULL;
}

void translator_card_free(struct translator_card *card) {
    if (card) {
        labels_done(&card->variants);
        model_languages_done(&card->languages);
    }
    free(card);
}

struct translator_info translator_card_info(const struct translator_card *card) {
    const struct model_config *c = &card->config;
    struct translator_info info = info_of(c, &card->variants, &card->languages);
    info.storage = card->storage;
    info.parameters = card->parameters;
    info.quality = card->quality;
    info.attention = config_attends(c);
    info.heads = c->encoder.blocks.heads > 0 || c->decoder.blocks.heads > 0;
    info.alignment_head = c->alignment.size > 0;
    return info;
}

const char *translator_card_compute(const struct translator_card *card, const char *compute) {
    const char *settled = settle_compute(&card->config, card->stored, compute);
    return strcmp(settled, "auto") == 0 ? NULL : settled;
}

size_t translator_card_bytes(const struct translator_card *card, const char *asked) {
    const char *compute = translator_card_compute(card, asked);
    bool halves = card->stored == STORED_FLOAT16 || card->stored == STORED_BFLOAT16;
    size_t each = halves ? 2 : 4;
    if (compute && strcmp(compute, "bfloat16") == 0)
        each = 2;
    else if (compute && strcmp(compute, "int8") == 0)
        each = 1;
    return card->parameters * each + card->tokenizer_bytes;
}

/* ---- the list of a language: its most frequent pieces, and those that can spell any word ---- */

/* A script counts as used if at least one character in SCRIPT_SHARE has it. */
enum { SCRIPT_SHARE = 100 };

struct pieces {
    struct model_config config;
    struct model_languages languages;
    const struct model_language *language;
    struct tokenizer *target;
    struct arena arena; /* for one text */
    size_t size;
    uint64_t *counts; /* [size] */
};

struct pieces *pieces_open(const char *folder, const char *language, struct error *err) {
    char path[4096];
    struct pieces *pieces = calloc(1, sizeof *pieces);
    if (!pieces) {
        error_memory(err);
        return NULL;
    }
    arena_init(&pieces->arena, 64 * 1024);
    if (path_in(folder, "config.json", path, sizeof path, err) != 0 ||
        config_read(path, &pieces->config, err) != 0 ||
        model_languages_read(path, &pieces->languages, err) != 0)
        goto failed;
    if (pieces->languages.count == 0) {
        error_set(err, ERROR_INPUT,
                  "model \"%.60s\" has no languages: only a model of many languages has a list of "
                  "pieces for each",
                  pieces->config.name);
        goto failed;
    }
    pieces->language = model_languages_find(&pieces->languages, language);
    if (!pieces->language) {
        error_set(err, ERROR_INPUT, "model \"%.60s\" has no language \"%.60s\"",
                  pieces->config.name, language);
        goto failed;
    }
    pieces->target = open_target(folder, &pieces->config, err);
    if (!pieces->target)
        goto failed;
    if (tokenizer_end(pieces->target) < 0) {
        error_set(err, ERROR_FORMAT, "tokenizer: the vocabulary has no </s>");
        goto failed;
    }
    pieces->size = tokenizer_size(pieces->target);
    pieces->counts = calloc(pieces->size, sizeof *pieces->counts);
    if (pieces->counts)
        return pieces;
    error_memory(err);
failed:
    pieces_free(pieces);
    return NULL;
}

void pieces_free(struct pieces *pieces) {
    if (!pieces)
        return;
    tokenizer_free(pieces->target);
    model_languages_done(&pieces->languages);
    arena_done(&pieces->arena);
    free(pieces->counts);
    free(pieces);
}

const char *pieces_language(const struct pieces *pieces) {
    return pieces->language->code;
}

bool pieces_used(const struct pieces *pieces) {
    return pieces->config.defaults.shortlist;
}

int pieces_count(struct pieces *pieces, const char *text, size_t length, struct error *err) {
    struct token_list tokens;
    int result = tokenizer_encode(pieces->target, (struct bytes){text, length}, NULL,
                                  &pieces->arena, &tokens, err);
    for (size_t i = 0; result == 0 && i < tokens.count; i++)
        if (tokens.all[i].id >= 0)
            pieces->counts[tokens.all[i].id]++;
    arena_reset(&pieces->arena);
    return result;
}

/* Returns the piece without its mark of white space. */
static const char *text_of(const struct pieces *pieces, size_t id) {
    const char *piece = tokenizer_piece(pieces->target, (int)id),
               *mark = tokenizer_mark(pieces->target);
    return strncmp(piece, mark, strlen(mark)) == 0 ? piece + strlen(mark) : piece;
}

struct counted {
    size_t id;
    uint64_t count;
};

/* Puts frequent pieces first and, among equals, the lower id. */
static int by_count(const void *a, const void *b) {
    const struct counted *one = a, *other = b;
    if (one->count != other->count)
        return one->count > other->count ? -1 : 1;
    return one->id < other->id ? -1 : one->id > other->id;
}

/* Sets chosen [size] for the most frequent pieces, and out's counted and tokens. Returns -1 if
 * memory is out. */
static int choose_counted(const struct pieces *pieces, const struct pieces_wanted *wanted,
                          bool *chosen, struct pieces_list *out) {
    struct counted *found = calloc(pieces->size, sizeof *found);
    size_t count = 0;
    uint64_t covered = 0;
    if (!found)
        return -1;
    for (size_t id = 0; id < pieces->size; id++) {
        if (pieces->counts[id] == 0 || (int)id == tokenizer_unknown(pieces->target))
            continue;
        found[count++] = (struct counted){id, pieces->counts[id]};
        out->tokens += pieces->counts[id];
    }
    qsort(found, count, sizeof *found, by_count);
    double enough = wanted->share * (double)out->tokens;
    size_t most = wanted->most > 0 && wanted->most < count ? wanted->most : count;
    for (; out->counted < most && (double)covered < enough; out->counted++) {
        chosen[found[out->counted].id] = true;
        covered += found[out->counted].count;
    }
    free(found);
    return 0;
}

int pieces_choose(const struct pieces *pieces, const struct pieces_wanted *wanted,
                  struct pieces_list *out, struct error *err) {
    struct pieces_list list = {.ids = NULL};
    uint64_t counts[CHARACTER_SCRIPTS] = {0}, all = 0;
    bool used[CHARACTER_SCRIPTS];
    bool *chosen = calloc(pieces->size, sizeof *chosen);
    int unknown = tokenizer_unknown(pieces->target);
    list.ids = calloc(pieces->size, sizeof *list.ids);
    if (!chosen || !list.ids || choose_counted(pieces, wanted, chosen, &list) != 0) {
        free(chosen);
        free(list.ids);
        return error_memory(err);
    }

    /* finds the scripts that the text is written in */
    for (size_t id = 0; id < pieces->size; id++) {
        const char *text = text_of(pieces, id);
        size_t length = pieces->counts[id] > 0 && (int)id != unknown ? strlen(text) : 0;
        for (size_t next = 0; next < length;)
            counts[character_script(character_next(text, length, &next))] += pieces->counts[id];
    }
    for (size_t script = 1; script < CHARACTER_SCRIPTS; script++)
        all += counts[script];
    used[0] = true; /* characters without a script */
    for (size_t script = 1; script < CHARACTER_SCRIPTS; script++)
        used[script] = counts[script] > 0 && counts[script] >= all / SCRIPT_SHARE;

    chosen[tokenizer_end(pieces->target)] = true;
    if (unknown >= 0)
        chosen[unknown] = true;
    for (size_t id = 0; id < pieces->size; id++) {
        /* words are spelled with bytes, a mark alone, and pieces of one character of these scripts
         */
        const char *text = text_of(pieces, id);
        size_t length = strlen(text), next = 0;
        int32_t character = length > 0 ? character_next(text, length, &next) : -1;
        bool single = length > 0 && next == length && character >= 0 &&
                      (character < 0x80 || used[character_script(character)]);
        bool mark = length == 0 && *tokenizer_piece(pieces->target, (int)id) != '\0';
        if (!chosen[id] && !single && !mark && tokenizer_byte(pieces->target, (int)id) < 0)
            continue;
        list.ids[list.count++] = (int32_t)id;
        list.covered += (int)id == unknown ? 0 : pieces->counts[id];
    }
    free(chosen);
    if (list.tokens == 0) {
        free(list.ids);
        return error_set(err, ERROR_INPUT, "the text has no pieces of the vocabulary");
    }
    *out = list;
    return 0;
}
