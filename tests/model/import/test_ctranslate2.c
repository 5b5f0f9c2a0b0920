/* CTranslate2's folders and Argos's packages: every version of the format and every type of numbers
 * gives the same model, and what cannot be imported is refused by name. */
#include "model/import/ctranslate2.h"
#include "model/import/import.h"
#include "model/text/tokenizer.h"
#include "model/translator.h"
#include "model/weights/config.h"
#include "tests/model/import/making.h"
#include "tests/models.h"
#include "tests/scratch.h"
#include "tests/suites.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define COUNT(rows) ((int)(sizeof(rows) / sizeof *(rows)))

static struct folder folder;
static char *said;

static void setup(void) {
    scratch_setup();
    folder = folder_new();
}

static void teardown(void) {
    free(said);
    said = NULL;
    folder_drop(&folder);
    scratch_teardown();
}

/* ---- a small model: d 4, two heads, feed-forward 6, one layer on each side, nine tokens ---- */

enum { D = 4, F = 6, V = 9, MOST = 100 };
enum numbers { FLOAT32, INT8, INT16, FLOAT16 };

struct variable {
    char name[128];
    size_t dims, shape[2];
    bool flag, quantisable;
    int value; /* of a flag: int8 */
};

struct model {
    struct variable variables[MOST];
    size_t count;
    const char *spec;
    uint32_t version, revision;
    enum numbers numbers;
    bool shared; /* the source's embedding and the output are aliases of the target's embedding */
};

static struct variable *add(struct model *model, const char *name, size_t dims, size_t rows,
                            size_t columns) {
    struct variable *v = &model->variables[model->count++];
    *v = (struct variable){.dims = dims, .shape = {rows, columns}, .quantisable = dims == 2};
    snprintf(v->name, sizeof v->name, "%s", name);
    return v;
}

static void add_flag(struct model *model, const char *name, int value) {
    struct variable *v = add(model, name, 0, 0, 0);
    v->flag = true;
    v->value = value;
}

static void add_linear(struct model *model, const char *side, const char *part, size_t out,
                       size_t in) {
    add(model, tensors_named("%s/layer_0/%s/weight", side, part).text, 2, out, in);
    add(model, tensors_named("%s/layer_0/%s/bias", side, part).text, 1, out, 0);
}

static void add_norm(struct model *model, const char *name) {
    add(model, tensors_named("%s/%s", name, "gamma").text, 1, D, 0);
    add(model, tensors_named("%s/%s", name, "beta").text, 1, D, 0);
}

static struct model tiny(uint32_t version) {
    struct model model = {
        .spec = "TransformerSpec", .version = version, .revision = version == 1 ? 1 : 7};
    static const char *const sides[] = {"encoder", "decoder"};
    for (size_t s = 0; s < 2; s++) {
        add_linear(&model, sides[s], "self_attention/linear_0", 3 * D, D);
        add_linear(&model, sides[s], "self_attention/linear_1", D, D);
        add_norm(&model,
                 tensors_named("%s/%s", sides[s], "layer_0/self_attention/layer_norm").text);
        if (s == 1) {
            add_linear(&model, "decoder", "attention/linear_0", D, D);
            add_linear(&model, "decoder", "attention/linear_1", 2 * D, D);
            add_linear(&model, "decoder", "attention/linear_2", D, D);
            add_norm(&model, "decoder/layer_0/attention/layer_norm");
        }
        add_linear(&model, sides[s], "ffn/linear_0", F, D);
        add_linear(&model, sides[s], "ffn/linear_1", D, F);
        add_norm(&model, tensors_named("%s/%s", sides[s], "layer_0/ffn/layer_norm").text);
        add_norm(&model, tensors_named("%s/%s", sides[s], "layer_norm").text);
        if (version > 1)
            add_flag(&model, tensors_named("%s/%s", sides[s], "num_heads").text, 2);
    }
    add(&model, "encoder/embeddings_0/weight", 2, V, D);
    add(&model, "decoder/embeddings/weight", 2, V, D);
    add(&model, "decoder/projection/weight", 2, V, D);
    add(&model, "decoder/projection/bias", 1, V, 0);
    return model;
}

/* A whole number for each place of a variable. */
static int whole_of(const struct variable *v, size_t i) {
    unsigned seed = 0;
    for (const char *c = v->name; *c; c++)
        seed = seed * 31 + (unsigned char)*c;
    seed += (unsigned)i * 2654435761u;
    seed = (seed ^ seed >> 15) * 2246822519u;
    return (int)((seed ^ seed >> 13) % 201) - 100;
}

/* Rows have different scales, so that one that is taken from another row shows. */
static float scale_of(const struct variable *v, enum numbers numbers, size_t row) {
    return numbers == INT8 && v->dims == 2 ? ldexpf(64, (int)(row % 3)) : 128;
}

static void put_string(struct made_bytes *bytes, const char *text) {
    bytes_add(bytes, &(uint16_t){(uint16_t)(strlen(text) + 1)}, 2);
    bytes_add(bytes, text, strlen(text) + 1);
}

static void put_head(struct made_bytes *bytes, const struct model *model, const char *name,
                     size_t dims, const size_t *shape, uint8_t type, uint32_t item) {
    uint32_t count = 1;
    put_string(bytes, name);
    bytes_add(bytes, &(uint8_t){(uint8_t)dims}, 1);
    for (size_t d = 0; d < dims; d++) {
        bytes_add(bytes, &(uint32_t){(uint32_t)shape[d]}, 4);
        count *= (uint32_t)shape[d];
    }
    bytes_add(bytes, &(uint8_t){model->version >= 4 ? type : (uint8_t)item}, 1);
    bytes_add(bytes, &(uint32_t){model->version >= 4 ? count * item : count}, 4);
}

static void put_scales(struct made_bytes *bytes, const struct model *model,
                       const struct variable *v) {
    bool rows = model->numbers == INT8;
    put_head(bytes, model, tensors_named("%s%s", v->name, "_scale").text, rows, v->shape, 0, 4);
    for (size_t r = 0; r < (rows ? v->shape[0] : 1); r++)
        bytes_add(bytes, &(float){scale_of(v, model->numbers, r)}, 4);
}

static void put_variable(struct made_bytes *bytes, const struct model *model,
                         const struct variable *v) {
    enum numbers numbers = v->flag                                       ? INT8
                           : v->quantisable || model->numbers == FLOAT16 ? model->numbers
                                                                         : FLOAT32;
    static const uint8_t types[] = {[FLOAT32] = 0, [INT8] = 1, [INT16] = 2, [FLOAT16] = 4};
    static const uint32_t items[] = {[FLOAT32] = 4, [INT8] = 1, [INT16] = 2, [FLOAT16] = 2};
    size_t count = 1, columns = v->dims == 2 ? v->shape[1] : 1;
    for (size_t d = 0; d < v->dims; d++)
        count *= v->shape[d];
    put_head(bytes, model, v->name, v->dims, v->shape, types[numbers], items[numbers]);
    for (size_t i = 0; i < count; i++) {
        int whole = v->flag ? v->value : whole_of(v, i);
        float number = (float)whole / scale_of(v, model->numbers, i / columns);
        int8_t small = (int8_t)whole;
        int16_t middle = (int16_t)whole;
        uint16_t half = tensors_half(number);
        bytes_add(bytes,
                  numbers == FLOAT32 ? (const void *)&number
                  : numbers == INT8  ? (const void *)&small
                  : numbers == INT16 ? (const void *)&middle
                                     : (const void *)&half,
                  items[numbers]);
    }
    if (v->quantisable && (numbers == INT8 || numbers == INT16))
        put_scales(bytes, model, v);
}

static bool is_alias(const struct model *model, const char *name) {
    return model->shared && (strcmp(name, "encoder/embeddings_0/weight") == 0 ||
                             strcmp(name, "decoder/projection/weight") == 0);
}

static struct made_bytes bytes_of(const struct model *model) {
    struct made_bytes bytes = {NULL, 0};
    uint32_t count = 0;
    bytes_add(&bytes, &model->version, 4);
    if (model->version >= 2) {
        put_string(&bytes, model->spec);
        bytes_add(&bytes, &model->revision, 4);
    }
    for (size_t i = 0; i < model->count; i++)
        if (!is_alias(model, model->variables[i].name))
            count += model->variables[i].quantisable &&
                             (model->numbers == INT8 || model->numbers == INT16)
                         ? 2
                         : 1;
    bytes_add(&bytes, &count, 4);
    for (size_t i = 0; i < model->count; i++)
        if (!is_alias(model, model->variables[i].name))
            put_variable(&bytes, model, &model->variables[i]);
    if (model->version >= 3) {
        bytes_add(&bytes, &(uint32_t){model->shared ? 2 : 0}, 4);
        for (size_t i = 0; model->shared && i < 2; i++) {
            put_string(&bytes,
                       i == 0 ? "encoder/embeddings_0/weight" : "decoder/projection/weight");
            put_string(&bytes, "decoder/embeddings/weight");
        }
    }
    return bytes;
}

static const char words[] = "<blank>\n<s>\n</s>\na\nb\nc\nd\ne\n"; /* <unk> is the ninth */

static const char *make_folder(const char *name) {
    const char *path = source_say(&arena, "%s/%s", folder.path, name);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    return path;
}

static const char *put_model(const char *name, const struct model *model) {
    const char *in = make_folder(name);
    struct made_bytes bytes = bytes_of(model);
    put_file(in, "model.bin", bytes.at, bytes.count);
    bytes_done(&bytes);
    put_text(in, "source_vocabulary.txt", words);
    put_text(in, "target_vocabulary.txt", words);
    return in;
}

static int import_into(const char *path, const char *name, const char *storage) {
    const char *const paths[] = {path};
    const struct import_options options = {.paths = paths,
                                           .path_count = 1,
                                           .into = source_say(&arena, "%s/models", folder.path),
                                           .name = name,
                                           .storage = storage};
    free(said);
    said = NULL;
    return import_run(&options, &said, &err);
}

static void expect(int result, const char *message) {
    ck_assert_int_eq(result, -1);
    ck_assert_msg(strstr(err.message, message) != NULL, "\"%s\" is not in \"%s\"", message,
                  err.message);
    err = (struct error){0};
}

static struct translator *open_model(const char *name) {
    const struct translator_options options = {.compute = "float32"};
    struct translator *t =
        translator_open(source_say(&arena, "%s/models/%s", folder.path, name), &options, &err);
    ck_assert_msg(t != NULL, "%s", err.message);
    return t;
}

/* Log-probability of a given translation. */
static double scored(const struct translator *t, const char *text, const char *target) {
    struct search_options options = {
        .strategy = search_find("greedy"), .n_best = 1, .length_penalty = 1};
    struct sentence *sentences = model_prepare(t, text, &options, &arena), *done[1];
    struct batch *batch = batch_create(t, 1, &err);
    ck_assert_int_eq(sentence_force(sentences, target, strlen(target), &err), 0);
    batch_admit(batch, &(struct sentence *){sentences}, 1);
    size_t steps = 0;
    while (batch_step(batch, done) == 0)
        ck_assert_uint_lt(++steps, 100);
    ck_assert_msg(!done[0]->error, "%s", done[0]->error->message);
    double log_prob = done[0]->hypotheses[0].log_prob;
    sentence_done(done[0]);
    batch_free(batch);
    return log_prob;
}

/* ---- what is read ---- */

static const struct {
    uint32_t version;
    enum numbers numbers;
    bool shared;
} kinds[] = {{6, FLOAT32, false}, {2, FLOAT32, false}, {3, FLOAT32, false}, {4, INT16, false},
             {2, INT16, false},   {6, FLOAT16, false}, {5, FLOAT32, false}, {6, FLOAT32, true},
             {6, INT8, false},    {2, INT8, false},    {6, INT8, true}};

/* Whole numbers of up to 100, over powers of two, are exact in every type. */
START_TEST(all_kinds_are_one_model) {
    double first[2][2] = {
        {0}}; /* by the scales, which int8 has of its own; by whether embeddings are shared */
    for (int i = 0; i < COUNT(kinds); i++) {
        struct model model = tiny(kinds[i].version);
        model.numbers = kinds[i].numbers;
        model.shared = kinds[i].shared;
        const char *name = source_say(&arena, "kind-%d", i), *in = put_model(name, &model);
        ck_assert_msg(import_into(in, name, NULL) == 0, "%s", err.message);
        struct translator *t = open_model(name);
        ck_assert_str_eq(translator_info(t).storage, kinds[i].numbers == INT8 ? "int8" : "float32");
        double log_prob = scored(t, "a b c", "d e"),
               *before = &first[kinds[i].numbers == INT8][kinds[i].shared];
        ck_assert(isfinite(log_prob) && log_prob < -0.01);
        *before = *before != 0 ? *before : log_prob;
        ck_assert_double_eq_tol(log_prob, *before, 1e-5);
        ck_assert_msg(!kinds[i].shared ||
                          fabs(log_prob - first[kinds[i].numbers == INT8][0]) > 1e-3,
                      "%g", log_prob);
        translator_free(t);
    }
}
END_TEST

/* int8 stays as it is, with the scale of each row. */
START_TEST(rows_keep_their_scales) {
    struct model model = tiny(6);
    model.numbers = INT8;
    const char *in = put_model("in", &model);
    ck_assert_msg(import_into(in, "m", NULL) == 0, "%s", err.message);
    struct container made = {.file = -1};
    ck_assert_int_eq(
        tensors_open_safetensors(source_say(&arena, "%s/models/m/model.safetensors", folder.path),
                                 &arena, &made, &err),
        0);
    const struct stored_tensor *value =
        tensors_find_stored(&made, "decoder.layers.0.cross.value.weight");
    const struct stored_tensor *scale =
        tensors_find_stored(&made, "decoder.layers.0.cross.value.weight.scale");
    int8_t got[D * D];
    float scales[D];
    ck_assert(value && scale);
    ck_assert_int_eq(tensors_bytes(value, 0, D * D, got, &err), 0);
    ck_assert_int_eq(tensors_numbers(scale, 0, D, scales, &err), 0);
    struct variable both = {
        .name = "decoder/layer_0/attention/linear_1/weight", .dims = 2, .shape = {2 * D, D}};
    for (size_t i = 0; i < D * D; i++)
        ck_assert_int_eq(got[i], whole_of(&both, D * D + i)); /* key comes first */
    for (size_t r = 0; r < D; r++)
        ck_assert_double_eq((double)scales[r], 1 / (double)scale_of(&both, INT8, D + r));
    tensors_close(&made);

    struct translator *small = open_model("m");
    ck_assert_int_eq(import_into(in, "f", "float32"), 0);
    struct translator *large = open_model("f");
    ck_assert_double_eq_tol(scored(small, "a b", "c"), scored(large, "a b", "c"), 1e-5);
    translator_free(small);
    translator_free(large);
}
END_TEST

static const char *config_of(const char *name) {
    char *text;
    size_t size;
    const char *path = source_say(&arena, "%s/models/%s/config.json", folder.path, name);
    ck_assert_int_eq(source_read(path, 1 << 20, &arena, &text, &size, &err), 0);
    return text;
}

static void has_all(const char *text, const char *const *wanted, size_t count) {
    for (size_t i = 0; i < count; i++)
        ck_assert_msg(strstr(text, wanted[i]) != NULL, "%s is not in %s", wanted[i], text);
}

/* Returns the float32 numbers of a matrix [D, D] of the model that was imported as m. */
static void read_square(const char *name, float out[D * D]) {
    struct container made = {.file = -1};
    const char *path = source_say(&arena, "%s/models/m/model.safetensors", folder.path);
    ck_assert_int_eq(tensors_open_safetensors(path, &arena, &made, &err), 0);
    const struct stored_tensor *found = tensors_find_stored(&made, name);
    ck_assert_msg(found != NULL, "%s", name);
    ck_assert_int_eq(tensors_numbers(found, 0, D * D, out, &err), 0);
    tensors_close(&made);
}

/* Turns a tiny model into one of quickmt-train's kind: norms by the root mean square, gates, and
 * one key and value for both heads. */
static void modernise(struct model *model) {
    static const char *const sides[] = {"encoder", "decoder"};
    size_t kept = 0;
    for (size_t i = 0; i < model->count; i++)
        if (!source_ends(model->variables[i].name, "layer_norm/beta"))
            model->variables[kept++] = model->variables[i];
    model->count = kept;
    for (size_t i = 0; i < model->count; i++) {
        struct variable *v = &model->variables[i];
        bool own = strstr(v->name, "self_attention/linear_0"),
             cross = strstr(v->name, "/attention/linear_1");
        v->shape[0] = own ? D + 2 * D / 2 : cross ? 2 * D / 2 : v->shape[0];
    }
    for (size_t s = 0; s < 2; s++) {
        add_linear(model, sides[s], "ffn/linear_0_noact", F, D);
        add_flag(model, tensors_named("%s/layer_0/self_attention/num_heads_kv", sides[s]).text, 1);
        add_flag(model, tensors_named("%s/multi_query_attention", sides[s]).text, 1);
    }
}

/* Heads that share a key and a value become heads with equal ones. */
START_TEST(models_of_quickmt) {
    static const char *const wanted[] = {"\"norm_type\": \"rms\"", "\"gated\": true",
                                         "\"bos\": true", "\"embedding_norm\": true"};
    struct model model = tiny(6);
    modernise(&model);
    add(&model, "encoder/layernorm_embedding/gamma", 1, D, 0);
    const char *in = put_model("in", &model);
    put_text(in, "config.json", "{\"add_source_bos\": true, \"add_source_eos\": true}");
    ck_assert_msg(import_into(in, "m", NULL) == 0, "%s", err.message);
    has_all(config_of("m"), wanted, sizeof wanted / sizeof *wanted);
    static const struct {
        const char *theirs, *ours;
        size_t rows, first;
    } shared[] = {
        {"encoder/layer_0/self_attention/linear_0", "encoder.layers.0.self.key", 2 * D, D},
        {"encoder/layer_0/self_attention/linear_0", "encoder.layers.0.self.value", 2 * D,
         D + D / 2},
        {"decoder/layer_0/attention/linear_1", "decoder.layers.0.cross.key", D, 0},
        {"decoder/layer_0/attention/linear_1", "decoder.layers.0.cross.value", D, D / 2}};
    for (int i = 0; i < COUNT(shared); i++) {
        float got[D * D];
        struct variable theirs = {.dims = 2, .shape = {shared[i].rows, D}};
        snprintf(theirs.name, sizeof theirs.name, "%s/weight", shared[i].theirs);
        read_square(source_say(&arena, "%s.weight", shared[i].ours), got);
        for (size_t k = 0; k < D * D; k++)
            ck_assert_double_eq((double)got[k],
                                whole_of(&theirs, shared[i].first * D + k % (2 * D)) /
                                    (double)scale_of(&theirs, FLOAT32, 0));
    }
    struct translator *t = open_model("m");
    ck_assert(isfinite(scored(t, "a b c", "d e")));
    translator_free(t);

    model.numbers = INT8;
    ck_assert_msg(import_into(put_model("small", &model), "small", NULL) == 0, "%s", err.message);
    translator_free(open_model("small"));
}
END_TEST

/* Positions rotate: the score depends on the order of words, and on the pairs of columns. */
START_TEST(positions_that_rotate) {
    static const char *const wanted[] = {"\"positions\": \"rotary\"",
                                         "\"rotary_pairs\": \"neighbours\""};
    static const char *const sides[] = {"encoder", "decoder"};
    struct model model = tiny(6);
    for (size_t s = 0; s < 2; s++)
        add_flag(&model, tensors_named("%s/layer_0/self_attention/rotary_dim", sides[s]).text, 0);
    ck_assert_msg(import_into(put_model("in", &model), "m", NULL) == 0, "%s", err.message);
    has_all(config_of("m"), wanted, sizeof wanted / sizeof *wanted);
    struct translator *t = open_model("m");
    ck_assert(fabs(scored(t, "a b c", "d e") - scored(t, "c b a", "d e")) > 1e-6);
    translator_free(t);
}
END_TEST

/* <s> before a source is a token that the encoder reads and that belongs to no word. */
START_TEST(sources_begin_with_a_token) {
    const struct search_options options = {.strategy = search_find("greedy"), .n_best = 1};
    struct model model = tiny(6);
    const char *in = put_model("in", &model);
    put_text(in, "config.json", "{\"add_source_bos\": true, \"add_source_eos\": true}");
    ck_assert_msg(import_into(in, "m", NULL) == 0, "%s", err.message);
    struct translator *t = open_model("m");
    struct sentence *sentence = model_prepare(t, "a b c", &options, &arena);
    ck_assert_uint_eq(sentence->length, 5);
    ck_assert_str_eq(sentence->tokens[0].piece, "<s>");
    ck_assert_str_eq(sentence->tokens[4].piece, "</s>");
    ck_assert_uint_eq(sentence_own(sentence).begin, 1);
    ck_assert_uint_eq(sentence_own(sentence).end, 4);
    sentence_done(sentence);
    translator_free(t);
}
END_TEST

/* Scopes and suffixes as OpenNMT-tf writes them. */
START_TEST(names_of_the_first_revision) {
    static const char *const pairs[][2] = {
        {"layer_norm/", "LayerNorm/"},   {"linear_0/", "conv1d/"},
        {"linear_1/", "conv1d_1/"},      {"linear_2/", "conv1d_2/"},
        {"projection/", "dense/"},       {"embeddings_0/weight", "w_embs"},
        {"embeddings/weight", "w_embs"}, {"weight", "kernel"}};
    double log_prob[2];
    for (int pass = 0; pass < 2; pass++) {
        struct model model = tiny(pass == 0 ? 2 : 1);
        if (pass == 0)
            model.revision = 2;
        model.spec = "TransformerBase";
        for (size_t i = 0; i < model.count;
             i++) { /* both have eight heads, which do not divide 4: one flag sets them */
            struct variable *v = &model.variables[i];
            for (size_t p = 0; pass == 1 && p < sizeof pairs / sizeof *pairs; p++) {
                char *at = strstr(v->name, pairs[p][0]);
                if (at && !v->flag) {
                    char rest[96];
                    snprintf(rest, sizeof rest, "%s", at + strlen(pairs[p][0]));
                    snprintf(at, (size_t)(v->name + sizeof v->name - at), "%s%s", pairs[p][1],
                             rest);
                }
            }
            const char *inner[][2] = {
                {"decoder/layer_0/self_attention", "decoder/layer_0/masked_multi_head"},
                {"decoder/layer_0/attention", "decoder/layer_0/multi_head"},
                {"encoder/layer_0/self_attention", "encoder/layer_0/multi_head"}};
            for (size_t p = 0; pass == 1 && p < 3; p++)
                if (strncmp(v->name, inner[p][0], strlen(inner[p][0])) == 0) {
                    char rest[96];
                    snprintf(rest, sizeof rest, "%s", v->name + strlen(inner[p][0]));
                    snprintf(v->name, sizeof v->name, "%s%s", inner[p][1], rest);
                }
        }
        if (pass == 1) {
            for (size_t i = 0; i < model.count; i++) {
                char own[96];
                snprintf(own, sizeof own, "%s", model.variables[i].name);
                snprintf(model.variables[i].name, sizeof own, "transformer/%.70s:0", own);
            }
            add_flag(&model, "num_heads", 2);
        } else {
            for (size_t i = 0; i < model.count; i++)
                if (model.variables[i].flag)
                    snprintf(model.variables[i].name, sizeof model.variables[i].name, "%s",
                             i < model.count / 2 ? "num_heads" : "pre_norm");
        }
        const char *name = source_say(&arena, "revision-%d", pass), *in = put_model(name, &model);
        ck_assert_msg(import_into(in, name, NULL) == 0, "%s", err.message);
        struct translator *t = open_model(name);
        log_prob[pass] = scored(t, "a b c", "d e");
        ck_assert(isfinite(log_prob[pass]) && log_prob[pass] < -0.01);
        translator_free(t);
    }
}
END_TEST

/* What the file and config.json say becomes keys of alignd's config.json. */
START_TEST(what_the_files_say_is_kept) {
    static const char *const usual[] = {"\"positions\": \"sinusoidal\"",
                                        "\"position_offset\": 1",
                                        "\"epsilon\": 1e-5",
                                        "\"eos\": false",
                                        "\"first_input\": \"bos\"",
                                        "\"norm\": \"pre\"",
                                        "\"finished\": \"replaced\""};
    static const char *const others[] = {
        "\"positions\": \"stored\"", "\"epsilon\": 0.001",        "\"eos\": true",
        "\"first_input\": \"eos\"",  "\"activation\": \"swish\"", "\"embedding_scale\": false"};
    struct model model = tiny(6);
    ck_assert_msg(import_into(put_model("usual", &model), "usual", NULL) == 0, "%s", err.message);
    has_all(config_of("usual"), usual, sizeof usual / sizeof *usual);
    static const char *const sides[] = {"encoder", "decoder"};
    for (size_t s = 0; s < 2; s++) {
        add(&model, tensors_named("%s/%s", sides[s], "position_encodings/encodings").text, 2, 1500,
            D)
            ->quantisable = false;
        add_flag(&model, tensors_named("%s/%s", sides[s], "activation").text, 2);
        add_flag(&model, tensors_named("%s/%s", sides[s], "scale_embeddings").text, 0);
    }
    const char *in = put_model("other", &model);
    put_text(in, "config.json",
             "{\"add_source_eos\": true, \"decoder_start_token\": \"</s>\", "
             "\"layer_norm_epsilon\": 0.001}");
    ck_assert_msg(import_into(in, "other", NULL) == 0, "%s", err.message);
    has_all(config_of("other"), others, sizeof others / sizeof *others);
    struct translator *t = open_model("other");
    ck_assert(isfinite(scored(t, "a b c", "d e")));
    translator_free(t);
}
END_TEST

/* JSON comes before lines; tokens that alignd's lists cannot hold are spelled otherwise, and keep
 * their numbers. */
START_TEST(vocabularies_of_all_kinds) {
    struct model model = tiny(6);
    model.shared = true;
    const char *in = put_model("in", &model);
    char *text;
    size_t size;
    put_text(in, "shared_vocabulary.json",
             "[\"<pad>\", \"[BOS]\", \"[EOS]\", \"[UNK]\", \"a\", \"a b\", \"a\", \"\", \"</s>\"]");
    put_text(in, "config.json",
             "{\"unk_token\": \"[UNK]\", \"bos_token\": \"[BOS]\", \"eos_token\": \"[EOS]\"}");
    ck_assert_msg(import_into(in, "m", NULL) == 0, "%s", err.message);
    const char *path = source_say(&arena, "%s/models/m/joint.vocab", folder.path);
    ck_assert_int_eq(source_read(path, 1 << 20, &arena, &text, &size, &err), 0);
    ck_assert_str_eq(text,
                     "<pad>\n<s>\n</s>\n<unk>\na\n<token:5>\n<token:6>\n<token:7>\n<token:8>\n");
    put_text(in, "shared_vocabulary.json", "[\"<s>\", \"</s>\"]");
    expect(import_into(in, "n", NULL), "shared_vocabulary.json: has 3 tokens, the model 9");
    ck_assert_int_eq(remove(source_say(&arena, "%s/shared_vocabulary.json", in)), 0);
    put_text(in, "config.json", "{}");
    put_text(in, "shared_vocabulary.txt", "<blank>\r\n<s>\r\n</s>\r\na\r\nb\r\nc\r\nd\r\ne\r\n");
    ck_assert_msg(import_into(in, "o", NULL) == 0, "%s", err.message);
    path = source_say(&arena, "%s/models/o/joint.vocab", folder.path);
    ck_assert_int_eq(source_read(path, 1 << 20, &arena, &text, &size, &err), 0);
    ck_assert_str_eq(text, "<blank>\n<s>\n</s>\na\nb\nc\nd\ne\n<unk>\n");
}
END_TEST

static struct made_bytes sentencepiece_of(void) {
    struct made_bytes bytes = {NULL, 0};
    FILE *file = fopen("tests/data/tiny.en.spm", "rb");
    char part[4096];
    size_t got;
    ck_assert_ptr_nonnull(file);
    while ((got = fread(part, 1, sizeof part, file)) > 0)
        bytes_add(&bytes, part, got);
    fclose(file);
    return bytes;
}

/* A model whose vocabulary is that of a SentencePiece file. */
static const char *pieces_of(const char *spm, size_t *count) {
    struct tokenizer *t = tokenizer_open("sentencepiece", spm, NULL, &err);
    ck_assert_ptr_nonnull(t);
    const char *text = "";
    *count = tokenizer_size(t);
    for (size_t i = 0; i < *count; i++)
        text = source_say(&arena, "%s%s\n", text, tokenizer_piece(t, (int)i));
    tokenizer_free(t);
    return text;
}

/* From the package to an answer that begins with a piece that nobody sees. */
START_TEST(packages_of_argos) {
    static const char *const wanted[] = {"\"source\": \"zh-Hant\"", "\"target\": \"pt-BR\"",
                                         "\"beam_size\": 4", "\"length_penalty\": 0.2",
                                         "\"type\": \"sentencepiece\""};
    size_t count;
    const char *pieces = pieces_of("tests/data/tiny.en.spm", &count);
    struct model model = tiny(6);
    model.numbers = INT8;
    for (size_t i = 0; i < model.count; i++)
        if (model.variables[i].shape[0] == V)
            model.variables[i].shape[0] = count;
    struct made_bytes bytes = bytes_of(&model), spm = sentencepiece_of();
    static const char metadata[] =
        "{\"from_code\": \"zt\", \"to_code\": \"pb\", \"type\": \"translate\"%s}";
    const char *prefixes[] = {"", ", \"target_prefix\": \"\xe2\x96\x81I\""};
    double log_probs[2];
    for (size_t i = 0; i < 2; i++) {
        const char *text = source_say(&arena, metadata, prefixes[i]);
        const struct member members[] = {
            {"translate-zt_pb/metadata.json", text, strlen(text), NULL},
            {"translate-zt_pb/sentencepiece.model", spm.at, spm.count, NULL},
            {"translate-zt_pb/model/model.bin", bytes.at, bytes.count, NULL},
            {"translate-zt_pb/model/shared_vocabulary.txt", pieces, strlen(pieces), NULL}};
        const char *archive = put_archive(folder.path, "zt_pb.argosmodel", "zip", "", members, 4),
                   *name = i == 0 ? "zh-Hant-pt-BR" : "p";
        ck_assert_msg(import_into(archive, i == 0 ? NULL : "p", NULL) == 0, "%s", err.message);
        has_all(config_of(name), wanted, sizeof wanted / sizeof *wanted);
        ck_assert_int_eq(strstr(config_of(name), "\"prefix\": \"\xe2\x96\x81I\"") != NULL, i == 1);
        struct translator *t = open_model(name);
        log_probs[i] = scored(t, "This is mine.", "Stop!");
        translator_free(t);
    }
    ck_assert(fabs(log_probs[0] - log_probs[1]) > 1e-3); /* the decoder has read it */
    bytes_done(&bytes);
    bytes_done(&spm);
}
END_TEST

/* Translates between two of the model's languages; looks: with the weights of all heads. */
static struct sentence *between(const struct translator *t, const char *text, const char *source,
                                const char *target, bool looks, struct sentence **list) {
    struct search_options options = {.strategy = search_find("beam"),
                                     .beam_size = 3,
                                     .n_best = 3,
                                     .length_penalty = 1,
                                     .max_length = 5};
    struct sentence *done[1];
    size_t steps = 0;
    struct batch *batch = batch_create(t, 3, &err);
    *list = model_prepare(t, text, &options, &arena);
    ck_assert_msg(sentence_choose_languages(*list, source, target, &err) == 0, "%s", err.message);
    (*list)->caller.wants_looks = looks;
    batch_admit(batch, &(struct sentence *){*list}, 1);
    while (batch_step(batch, done) == 0)
        ck_assert_uint_lt(++steps, 100);
    ck_assert_msg(!done[0]->error, "%s", done[0]->error->message);
    batch_free(batch);
    return done[0];
}

/* The source begins with its language's token; that of the target's is read by the decoder, and
 * nobody sees it. */
START_TEST(models_of_many_languages) {
    static const char *const wanted[] = {"\"fr\": {", "\"source\": \"__fr__\"", "\"eos\": true",
                                         "\"first_input\": \"eos\""};
    struct model model = tiny(6);
    model.shared = true;
    const char *in = put_model("in", &model);
    put_text(in, "shared_vocabulary.json",
             "[\"<s>\", \"<pad>\", \"</s>\", \"<unk>\", \"a\", \"b\", \"__de__\", \"__en__\", "
             "\"__fr__\"]");
    put_text(in, "config.json", "{\"decoder_start_token\": \"</s>\"}");
    ck_assert_msg(import_into(in, "m", NULL) == 0, "%s", err.message);
    has_all(config_of("m"), wanted, sizeof wanted / sizeof *wanted);
    ck_assert(strstr(said, "it translates between 3 languages") != NULL);
    struct translator *t = open_model("m");
    struct translator_info info = translator_info(t);
    ck_assert_uint_eq(info.variant_count, 3);
    ck_assert_str_eq(translator_language(&info, "__FR__"), "fr");
    ck_assert_ptr_null(translator_language(&info, "es"));

    struct sentence *lists[3];
    const struct sentence *french = between(t, "a b", "en", "fr", true, &lists[0]);
    const struct sentence *german = between(t, "a b", "en", "de", false, &lists[1]);
    const struct sentence *other = between(t, "a b", "de", "fr", false, &lists[2]);
    ck_assert_uint_eq(french->length, 4); /* the language, a, b and </s> */
    ck_assert_str_eq(french->tokens[0].piece, "__en__");
    ck_assert_uint_eq(sentence_own(french).begin, 1);
    double log_prob = french->hypotheses[0].log_prob, sum = 0;
    ck_assert(log_prob < german->hypotheses[0].log_prob ||
              log_prob > german->hypotheses[0].log_prob);
    ck_assert(log_prob < other->hypotheses[0].log_prob || log_prob > other->hypotheses[0].log_prob);
    const struct hypothesis *best = &french->hypotheses[0];
    size_t steps = best->length + best->ended, columns;
    for (size_t i = 0; i < steps; i++)
        sum += (double)best->log_probs[i];
    ck_assert_double_eq_tol(sum, log_prob, 1e-5);
    ck_assert_double_eq_tol(best->score, sum / (double)(steps + 1),
                            1e-9); /* the token counts in the length */

    /* heads look at the opening, too, whose columns are left out */
    for (size_t i = 0; i < steps; i++) {
        const float *row = looks_row(french->looks, LOOKS_DECODER, 0, 0, i, &columns);
        double seen = 0;
        ck_assert_uint_eq(columns, i + 1);
        for (size_t c = 0; c < columns; c++)
            seen += (double)row[c];
        ck_assert(seen > 0 && seen < 1);
    }
    expect(sentence_choose_languages(lists[0], "en", "es", &err),
           "model \"m\" has no language \"es\"");
    for (size_t i = 0; i < 3; i++)
        sentence_done(lists[i]);
    translator_free(t);
}
END_TEST

static const struct {
    const char *languages, *message;
} wrong_languages[] = {
    {"[]", "languages: must be an object of 2 to 1000 languages"},
    {"{\"en\": {\"source\": \"a\", \"target\": \"a\"}}",
     "languages: must be an object of 2 to 1000 languages"},
    {"{\"en\": 1, \"fr\": 1}", "languages.en: must be an object"},
    {"{\"en\": {\"source\": \"a\"}, \"fr\": {}}",
     "languages.en.target: must be a string of 1 to 63 bytes"},
    {"{\"en\": {\"sauce\": \"a\"}, \"fr\": {}}", "languages.en.sauce: unknown key"},
    {"{\"en\": {\"source\": \"a\", \"target\": \"a\", \"aliases\": 1}, \"fr\": {}}",
     "languages.en.aliases: must be a list of at most 16"},
};

START_TEST(wrong_languages_are_refused) {
    struct model_languages languages;
    const char *path =
        put_text(folder.path, "config.json",
                 source_say(&arena, "{\"languages\": %s}", wrong_languages[_i].languages));
    expect(model_languages_read(path, &languages, &err), wrong_languages[_i].message);
}
END_TEST

/* The scripts that NLLB's codes have are left out where they are the usual ones. */
START_TEST(codes_of_nllb) {
    static const char *const wanted[] = {"\"fr\": {",      "\"ar\": {",       "\"zh-Hans\": {",
                                         "\"zh-Hant\": {", "\"ace-Arab\": {", "\"fra_Latn\""};
    struct model model = tiny(6);
    model.shared = true;
    for (size_t i = 0; i < model.count; i++)
        if (model.variables[i].shape[0] == V)
            model.variables[i].shape[0] = V + 1;
    const char *in = put_model("in", &model);
    put_text(in, "shared_vocabulary.txt",
             "<s>\n</s>\n<unk>\na\nb\nfra_Latn\narb_Arab\nzho_Hans\nzho_Hant\nace_Arab\n");
    ck_assert_msg(import_into(in, "m", NULL) == 0, "%s", err.message);
    has_all(config_of("m"), wanted, sizeof wanted / sizeof *wanted);
    translator_free(open_model("m"));
}
END_TEST

/* ---- what is refused ---- */

static const struct {
    const char *name; /* a flag or matrix that is added */
    int value;        /* of a flag */
    size_t dims;
    const char *message;
} lacking[] = {
    {"decoder/layer_0/self_attention/relative_position_keys", 0, 2,
     "relative_position_keys: the model has relative positions"},
    {"decoder/layer_0/self_attention/rotary_dim", 3, 0,
     "rotary_dim: 3 columns of heads of 2 with the base 10000 are not supported"},
    {"decoder/layer_0/self_attention/rotary_scaling_type", 1, 0,
     "rotary_scaling_type: the model has scaled rotary positions"},
    {"decoder/alibi", 1, 0, "decoder/alibi: the model has CTranslate2's ALiBi"},
    {"decoder/sliding_window", 4, 0, "a window of self-attention"},
    {"decoder/layer_0/self_attention/queries_scale", 1, 0, "another scale of queries"},
    {"decoder/scale_outputs", 2, 0,
     "decoder/scale_outputs: must be 1, or 1 by the root of the size"},
    {"encoder/embeddings_1/weight", 0, 2, "a source of several factors"},
    {"decoder/activation", 4, 0,
     "decoder/activation: gelu by sigmoid is not supported (supported: relu, swish, gelu, gelu by "
     "tanh)"},
    {"decoder/activation", 9, 0, "decoder/activation: an unknown one is not supported"},
    {"decoder/new_part", 0, 2,
     "decoder/new_part: unknown, so the model has a part that alignd does not have"},
};

START_TEST(what_alignd_lacks_is_refused_by_name) {
    struct model model = tiny(6);
    if (lacking[_i].dims == 0)
        add_flag(&model, lacking[_i].name, lacking[_i].value);
    else
        add(&model, lacking[_i].name, lacking[_i].dims, D, D)->quantisable = false;
    expect(import_into(put_model("in", &model), "m", NULL), lacking[_i].message);
    ck_assert(!source_exists(source_say(&arena, "%s/models", folder.path)));
}
END_TEST

/* Numbers that change nothing. */
START_TEST(harmless_flags_are_passed_over) {
    struct model model = tiny(6);
    add_flag(&model, "decoder/alibi", 0);
    add_flag(&model, "decoder/num_heads_kv", 2);
    add_flag(&model, "decoder/head_dim", 2);
    add_flag(&model, "decoder/scale_outputs", 1);
    add_flag(&model, "encoder/embeddings_merge", 1);
    ck_assert_msg(import_into(put_model("in", &model), "m", NULL) == 0, "%s", err.message);
}
END_TEST

/* A layer is any number in the file. */
START_TEST(layers_that_no_model_has) {
    static const char name[] = "decoder/alignment_layer";
    static const float values[] = {1e30f, -1e30f};
    size_t length;
    for (size_t i = 0; i < 2; i++) {
        struct model model = tiny(6);
        add(&model, name, 1, 1, 0)->quantisable = false;
        const char *in = put_model(i == 0 ? "in" : "out", &model),
                   *path = source_say(&arena, "%s/model.bin", in);
        char *bytes, *at;
        ck_assert_int_eq(source_read(path, 1 << 20, &arena, &bytes, &length, &err), 0);
        at = memmem(bytes, length, name, sizeof name);
        ck_assert_ptr_nonnull(at);
        at += sizeof name + 1 + 4 + 1 + 4; /* rank, shape, type, bytes */
        memcpy(at, &values[i], sizeof values[i]);
        FILE *out = fopen(path, "wb");
        ck_assert_uint_eq(fwrite(bytes, 1, length, out), length);
        fclose(out);
        ck_assert_msg(import_into(in, i == 0 ? "m" : "n", NULL) == 0, "%s", err.message);
        has_all(config_of(i == 0 ? "m" : "n"), (const char *const[]){"\"alignment_layer\": 0"}, 1);
    }
}
END_TEST

static const struct {
    const char *file, *content, *message;
} beside[] = {
    {"config.json", "{\"layer_norm_epsilon\": 1}",
     "layer_norm_epsilon must be between 1e-12 and 0.1, got 1"},
    {"config.json", "{\"decoder_start_token\": \"<pad>\"}",
     "decoder_start_token must be that of <s> or </s>"},
    {"config.json", "[", "config.json: line 1"},
    {"bpe.model", "x", "has bpe.model: models of BPE pieces cannot be converted"},
    {"target_vocabulary.txt", "<blank>\n<s>\n<e>\na\nb\nc\nd\ne\n",
     "target_vocabulary.txt: </s> is missing"},
    {"target_vocabulary.txt", "<blank>\n<s>\n</s>\n",
     "target_vocabulary.txt: has 4 tokens, the model 9"},
    {"target_vocabulary.json", "{}", "target_vocabulary.json: is not an array of strings"},
    {"target_vocabulary.json", "[1]", "target_vocabulary.json: element 0 is not a string"},
    {"sentencepiece.model", "\x0a\x04\x0a\x02zz", "sentencepiece.model: not a SentencePiece model"},
    {"sentencepiece.model",
     "\x0a\x09\x0a\x05<unk>\x18\x02" /* the unknown piece, others, and a normalizer */
     "\x0a\x04\x0a\x02zz\x0a\x04\x0a\x02yy\x0a\x04\x0a\x02xx\x1a\x03\x0a\x01n",
     "sentencepiece.model: is not of this model"},
};

START_TEST(files_beside_it_are_checked) {
    struct model model = tiny(6);
    const char *in = put_model("in", &model);
    put_text(in, beside[_i].file, beside[_i].content);
    expect(import_into(in, "m", NULL), beside[_i].message);
    ck_assert(!source_exists(source_say(&arena, "%s/models", folder.path)));
}
END_TEST

START_TEST(other_kinds_of_models) {
    static const struct {
        const char *spec, *message;
    } rows[] = {{"WhisperSpec", "is a model of the kind WhisperSpec"},
                {"TransformerDecoderSpec", "of the kind TransformerDecoderSpec"}};
    for (int i = 0; i < COUNT(rows); i++) {
        struct model model = tiny(6);
        model.spec = rows[i].spec;
        expect(import_into(put_model(rows[i].spec, &model), "m", NULL), rows[i].message);
    }
    struct model model = tiny(7);
    expect(import_into(put_model("seven", &model), "m", NULL), "its version must be 1 to 6, got 7");
    model = tiny(6);
    model.variables[0].shape[0]--;
    expect(import_into(put_model("small", &model), "m", NULL),
           "encoder/layer_0/self_attention/linear_0/weight: shape (11, 4), expected (12, 4)");
    model = tiny(6);
    model.count--;
    model.variables[4].name[0] = 'x';
    expect(import_into(put_model("missing", &model), "m", NULL),
           "encoder/layer_0/self_attention/layer_norm/gamma: missing");
    model = tiny(6);
    add(&model, "decoder/layer_0/ffn/linear_0/weight", 2, F, D);
    expect(import_into(put_model("twice", &model), "m", NULL),
           "decoder/layer_0/ffn/linear_0/weight: there twice");
}
END_TEST

/* A file that ends anywhere within is refused, and one with more bytes. */
START_TEST(files_that_are_cut_anywhere_are_refused) {
    for (uint32_t version = 1; version <= 6; version += 5) {
        struct model model = tiny(version);
        model.numbers = INT8;
        model.shared = version == 6;
        struct made_bytes bytes = bytes_of(&model);
        struct ctranslate2_head head;
        struct container container = {.file = -1};
        for (size_t size = 0; size < bytes.count;
             size += size < 300 || size + 300 > bytes.count ? 1 : 37) {
            const char *path = put_file(folder.path, "cut.bin", bytes.at, size);
            ck_assert_int_eq(ctranslate2_open(path, &arena, &container, &head, &err), -1);
            ck_assert_msg(strstr(err.message, "the file ends within") != NULL, "%s", err.message);
            err = (struct error){0};
        }
        bytes_add(&bytes, "x", 1);
        expect(ctranslate2_open(put_file(folder.path, "long.bin", bytes.at, bytes.count), &arena,
                                &container, &head, &err),
               "1 bytes follow the last variable");
        bytes_done(&bytes);
    }
}
END_TEST

static const struct {
    size_t at, count; /* bytes that change, from the beginning of the file's last variable on */
    const char *bytes, *message;
} damaged[] = {
    {0, 2, "\xff\xff", "a name has 65535 bytes"},
    {0, 2, "\1\0", "there is no text that ends with a NUL"},
    {4, 1, "\xff", "there is no text that ends with a NUL"},
    {4, 1, "\0", "there is no text that ends with a NUL"},
    {6, 1, "\x09", "has 9 dimensions"},
    {7, 4, "\xff\xff\xff\xff", "which is not what its shape (4294967295,) of float32 needs"},
    {11, 1, "\x07", "has the type 7"},
    {12, 4, "\xff\xff\xff\x7f", "which is not what its shape (2,) of float32 needs"},
    {16, 4, "\0\0\xc0\x7f", "has values that are not numbers"},
};

START_TEST(damaged_variables_are_refused) {
    static const char file[] =
        "\6\0\0\0\5\0Spec\0\1\0\0\0\1\0\0\0\4\0abc\0\1\2\0\0\0\0\x08\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
    enum { VARIABLE = 19, BYTES = VARIABLE + 28 };
    char bytes[BYTES];
    struct ctranslate2_head head;
    struct container container = {.file = -1};
    float numbers[2];
    memcpy(bytes, file, BYTES);
    ck_assert_msg(ctranslate2_open(put_file(folder.path, "good.bin", bytes, BYTES), &arena,
                                   &container, &head, &err) == 0,
                  "%s", err.message);
    ck_assert_str_eq(head.spec, "Spec");
    tensors_close(&container);
    memcpy(bytes + VARIABLE + damaged[_i].at, damaged[_i].bytes, damaged[_i].count);
    int result = ctranslate2_open(put_file(folder.path, "bad.bin", bytes, BYTES), &arena,
                                  &container, &head, &err);
    if (result == 0) {
        result = tensors_numbers(&container.entries[0], 0, 2, numbers, &err);
        tensors_close(&container);
    }
    expect(result, damaged[_i].message);
}
END_TEST

Suite *ctranslate2_suite(void) {
    Suite *suite = suite_create("ctranslate2");
    TCase *tcase = tcase_create("ctranslate2");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, all_kinds_are_one_model);
    tcase_add_test(tcase, rows_keep_their_scales);
    tcase_add_test(tcase, models_of_quickmt);
    tcase_add_test(tcase, positions_that_rotate);
    tcase_add_test(tcase, sources_begin_with_a_token);
    tcase_add_test(tcase, names_of_the_first_revision);
    tcase_add_test(tcase, what_the_files_say_is_kept);
    tcase_add_test(tcase, vocabularies_of_all_kinds);
    tcase_add_test(tcase, packages_of_argos);
    tcase_add_test(tcase, models_of_many_languages);
    tcase_add_loop_test(tcase, wrong_languages_are_refused, 0, COUNT(wrong_languages));
    tcase_add_test(tcase, codes_of_nllb);
    tcase_add_loop_test(tcase, what_alignd_lacks_is_refused_by_name, 0, COUNT(lacking));
    tcase_add_test(tcase, harmless_flags_are_passed_over);
    tcase_add_test(tcase, layers_that_no_model_has);
    tcase_add_loop_test(tcase, files_beside_it_are_checked, 0, COUNT(beside));
    tcase_add_test(tcase, other_kinds_of_models);
    tcase_add_test(tcase, files_that_are_cut_anywhere_are_refused);
    tcase_add_loop_test(tcase, damaged_variables_are_refused, 0, COUNT(damaged));
    suite_add_tcase(suite, tcase);
    return suite;
}
