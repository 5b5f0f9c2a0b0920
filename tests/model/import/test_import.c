/* Importing: options, vocabularies, shortlists, the tensors that are made, and whole folders with
 * everything that must be refused.
 */
#include "model/base/file.h"
#include "model/import/conversion.h"
#include "model/import/import.h"
#include "model/text/tokenizer.h"
#include "model/weights/config.h"
#include "model/weights/safetensors.h"
#include "tests/model/import/making.h"
#include "tests/scratch.h"
#include "tests/suites.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COUNT(table) (int)(sizeof(table) / sizeof *(table))

static struct folder folder;

static void setup(void) {
    scratch_setup();
    folder = folder_new();
}

static void teardown(void) {
    folder_drop(&folder);
    scratch_teardown();
}

static void expect(int result, const char *message) {
    ck_assert_int_eq(result, -1);
    ck_assert_msg(strstr(err.message, message) != NULL, "\"%s\" is not in \"%s\"", message,
                  err.message);
    err = (struct error){0};
}

/* ---- options ---- */

static int read_options(const char *text, bool own, struct marian_options *out) {
    struct marian_options ignored;
    return marian_options_read(text, strlen(text), own, &arena, out ? out : &ignored, &err);
}

#define RECURRENT "type: s2s\ndim-emb: 5\ndim-rnn: 4\n"
#define TRANSFORMER                                                                                \
    "type: transformer\ndim-emb: 8\ndec-depth: 2\nversion: v1.12.43 0 2026-11-20 07:56:24 +0000\n"
#define PRE                                                                                        \
    "transformer-preprocess: n\ntransformer-postprocess: da\ntransformer-postprocess-top: n\n"
#define RNN "transformer-decoder-autoreg: rnn\ndec-cell: ssru\n"

static const char *const wrong_options[][2] = {
    {"dim-emb: 3\n", "option type: missing"},
    {"type: s2s\n", "option dim-emb: missing"},
    {"type: lm\ndim-emb: 3\n", "option type: lm is a language model, which cannot translate"},
    {"type: lm-transformer\ndim-emb: 3\n", "is a language model"},
    {"type: multi-s2s\ndim-emb: 3\n",
     "option type: multi-s2s is not supported: only recurrent models and transformers with one "
     "source can be converted (supported: s2s, amun, nematus, transformer)"},
    {RECURRENT "flash-attention: true\n",
     "option flash-attention: unknown, so its effect on the model is unknown"},
    {RECURRENT "enc-depth: 17\n",
     "option enc-depth: 17 is not supported: alignd has 16 layers at most (supported: 1 to 16)"},
    {RECURRENT "enc-depth: 0\n", "option enc-depth: 0 is not supported"},
    {RECURRENT "enc-depth: [1, 2]\n", "option enc-depth: [1, 2] is not supported"},
    {RECURRENT "skip: yes\n", "option skip: yes is not supported (supported: true, false)"},
    {RECURRENT "special-vocab: x\n", "option special-vocab: x is not supported: alignd has no "
                                     "special vocabulary (supported: none)"},
    {"type: s2s\ndim-emb: -4\ndim-rnn: 4\n",
     "option dim-emb: -4 is not supported (supported: a positive number)"},
    {"type: s2s\ndim-emb: 99999999999\ndim-rnn: 4\n",
     "option dim-emb: 99999999999 is not supported"},
    {RECURRENT "input-types: [sequence, class]\n",
     "option input-types: [sequence, class] is not supported: alignd reads sentences"},
    {RECURRENT "layer-normalization: true\nenc-cell: tanh\n", "is not supported with tanh cells"},
    {RECURRENT "layer-normalization: true\nenc-cell: gru-nematus\n", "not of type nematus"},
    {"type: nematus\ndim-emb: 5\ndim-rnn: 4\n",
     "option type: nematus supports only gru-nematus cells"},
    {TRANSFORMER "transformer-ffn-depth: 3\n",
     "option transformer-ffn-depth: 3 is not supported: alignd's feed-forward has two matrices "
     "(supported: 2)"},
    {TRANSFORMER "transformer-postprocess: danh\n",
     "option transformer-postprocess: danh is not supported"},
    {TRANSFORMER "transformer-postprocess: da\n", "are not supported together"},
    {TRANSFORMER PRE, "n is not supported with a decoder of self-attention"},
    {"type: transformer\ndim-emb: 8\nversion: v1.9.56 4cf7c7c5 2024-05-01 10:00:00 +0000\n" PRE RNN,
     "n is supported only of models of Marian v1.12"},
    {"type: transformer\ndim-emb: 8\nversion: v1.12.0 4cf7c7c5 2023-02-11 10:00:00 "
     "+0000\ntransformer-ffn-activation: gelu\n",
     "gelu is supported only"},
    {TRANSFORMER "transformer-decoder-autoreg: rnn\n",
     "option dec-cell: gru is not supported in a transformer's decoder"},
    {TRANSFORMER RNN "layer-normalization: true\n", "alignd's SSRU has no norm within"},
    {TRANSFORMER "transformer-guided-alignment-layer: 3\n",
     "option transformer-guided-alignment-layer: 3 is not supported: the decoder has 2 layers"},
    {TRANSFORMER "transformer-tied-layers: [1]\n",
     "option transformer-tied-layers: [1] is not supported: it needs one number from 1 to 2 for "
     "each of the 2 layers"},
    {TRANSFORMER "transformer-tied-layers: [1, 5]\n", "option transformer-tied-layers: [1, 5]"},
    {"{\"dim_word\": 5, \"dim\": 4, \"enc_depth\": 2}",
     "option enc_depth: 2 is not supported; Nematus's models are converted with 1"},
    {"{\"dim_word\": 5, \"dim\": 4, \"decoder\": \"gru\"}",
     "option decoder: \"gru\" is not supported"},
    {"{\"dim_word\": 5", "the options are not JSON: line 1"},
    {"a: {b: 1}", "the options: line 1: "},
};

START_TEST(options_are_refused_by_name) {
    expect(read_options(wrong_options[_i][0], true, NULL), wrong_options[_i][1]);
}
END_TEST

/* Each row of the table refuses what it does not name, in a sentence. */
START_TEST(every_option_is_checked) {
    static const char *const rows[][2] = {
#define COMMON                                      TRANSFORMER
#define OPTION(types, name, fallback, allowed, why) {#types, name},
#define IGNORED(types, name)
#include "model/import/marian_options.def"
#undef OPTION
#undef IGNORED
#undef COMMON
    };
    ck_assert_int_gt(COUNT(rows), 50);
    for (int i = 0; i < COUNT(rows); i++) {
        bool recurrent = strcmp(rows[i][0], "RECURRENT") == 0,
             given = strcmp(rows[i][1], "type") == 0 || strncmp(rows[i][1], "dim-", 4) == 0;
        const char *text = source_say(&arena, "%s%s: nonsense\n",
                                      given       ? ""
                                      : recurrent ? RECURRENT
                                                  : TRANSFORMER,
                                      rows[i][1]);
        if (given) /* only once */
            text = source_say(&arena, "%s%s%s%s", text,
                              strcmp(rows[i][1], "type") ? "type: s2s\n" : "",
                              strcmp(rows[i][1], "dim-emb") ? "dim-emb: 5\n" : "",
                              strcmp(rows[i][1], "dim-rnn") ? "dim-rnn: 4\n" : "");
        text = strcmp(rows[i][1], "dec-depth") == 0
                   ? "type: s2s\ndim-emb: 5\ndim-rnn: 4\ndec-depth: nonsense\n"
                   : text;
        expect(read_options(text, true, NULL),
               source_say(&arena, "option %s: nonsense is not supported", rows[i][1]));
    }
}
END_TEST

START_TEST(options_are_read) {
    struct marian_options options;
    ck_assert_int_eq(
        read_options(TRANSFORMER PRE RNN "transformer-tied-layers: [1, 1]\n", true, &options), 0);
    ck_assert(options.transformer);
    ck_assert_str_eq(options.norm, "pre");
    ck_assert_uint_eq(options.tied_layers[1], 1);
    ck_assert_str_eq(marian_options_value(&options, "transformer-ffn-activation"), "swish");
    ck_assert_int_eq(read_options(RECURRENT "learn-rate: 0.1\n", false, &options), 0);
    ck_assert_str_eq(options.ignored, "learn-rate");
    ck_assert_int_eq(read_options("{\"dim_word\": 5, \"dim\": 4, \"layer_normalisation\": true, "
                                  "\"enc_recurrence_transition_depth\": 4, \"lrate\": 1}",
                                  false, &options),
                     0);
    ck_assert_str_eq(marian_options_value(&options, "type"), "nematus");
    ck_assert_str_eq(marian_options_value(&options, "enc-cell-depth"), "4");
    ck_assert_str_eq(marian_options_value(&options, "layer-normalization"), "true");
    ck_assert(!marian_options_share_embedding(&options));
}
END_TEST

static int read_decoder(const char *text, struct marian_defaults *out) {
    struct mapping mapping;
    ck_assert_int_eq(source_mapping_read(text, strlen(text), &arena, &mapping, &err), 0);
    return conversion_marian_decoder_read(&mapping, &arena, out, &err);
}

START_TEST(a_decoders_options_become_defaults) {
    struct marian_defaults defaults;
    ck_assert_int_eq(
        read_decoder(
            "beam-size: 64\nnormalize: 0.6\nmax-length-factor: 2.5\nword-penalty: 1\nskip-cost: "
            "true\nallow-unk: true\nmodels: [a]\n",
            &defaults),
        0);
    ck_assert_int_eq(json_integer_value(json_object_get(defaults.section, "beam_size")), 32);
    ck_assert_double_eq(json_real_value(json_object_get(defaults.section, "length_penalty")), 0.6);
    ck_assert_double_eq(defaults.ratio, 2.5);
    ck_assert(defaults.unknowns);
    ck_assert_str_eq(
        defaults.said,
        "decoder option beam-size: 64 is out of alignd's range, 1 to 32; 32 is used instead\n"
        "decoder option word-penalty: 1 is not supported: searches go without\n"
        "decoder option skip-cost: alignd's beam sums log-probabilities instead of raw scores\n");
    json_decref(defaults.section);
    ck_assert_int_eq(read_decoder("normalize:\n", &defaults), 0); /* without a value it is 1 */
    ck_assert_double_eq(json_real_value(json_object_get(defaults.section, "length_penalty")), 1);
    json_decref(defaults.section);
    ck_assert_int_eq(read_decoder("models: [a]\n", &defaults), 0);
    ck_assert_uint_eq(json_object_size(defaults.section), 0);
    ck_assert(!defaults.compute && !defaults.lists && defaults.source_tokens == 0);
    json_decref(defaults.section);
    ck_assert_int_eq(
        read_decoder(
            "gemm-precision: int8shiftAll\nmax-length-break: 2000\nshortlist: [lex, false]\n",
            &defaults),
        0);
    ck_assert_str_eq(defaults.compute, "int8");
    ck_assert(defaults.lists && defaults.source_tokens == 1000);
    ck_assert_str_eq(defaults.said, "decoder option max-length-break: 2000 is out of alignd's "
                                    "range, 1 to 1000; 1000 is used instead\n");
    json_decref(defaults.section);
    ck_assert_int_eq(read_decoder("gemm-precision: int16\n", &defaults), 0);
    ck_assert_str_eq(defaults.compute, "float32");
    ck_assert_str_eq(
        defaults.said,
        "decoder option gemm-precision: int16 is not supported: products are of float32\n");
    json_decref(defaults.section);
    ck_assert_int_eq(read_decoder("gemm-precision: float32\n", &defaults), 0);
    ck_assert_str_eq(defaults.compute, "float32");
    json_decref(defaults.section);
    expect(read_decoder("beam-size: many\n", &defaults),
           "decoder option beam-size: many is not a number in its range");
    expect(read_decoder("normalize: -1\n", &defaults), "decoder option normalize: -1");
    expect(read_decoder("normalize: nan\n", &defaults), "decoder option normalize: nan");
}
END_TEST

/* ---- vocabularies ---- */

static const char *words_of(const char *name, const char *text, size_t size) {
    struct vocabulary made;
    ck_assert_int_eq(
        vocabulary_import(put_text(folder.path, name, text), size, &arena, &made, &err), 0);
    ck_assert_uint_eq(made.size, size);
    return made.content;
}

START_TEST(vocabularies_are_read) {
    ck_assert_str_eq(words_of("v.yml", "</s>: 0\n<unk>: 1\non: 2\n\"00\": 3\nmore: 4\n", 4),
                     "</s>\n<unk>\non\n00\n");
    ck_assert_str_eq(words_of("v.json", "{\"eos\": 0, \"UNK\": 1, \"a\": 2, \"eosx\": 3}", 4),
                     "</s>\n<unk>\na\neosx\n");
    ck_assert_str_eq(words_of("v.txt", "<unk>\r\n</s>\r\na\r\n", 3), "<unk>\n</s>\na\n");
}
END_TEST

static const struct {
    const char *name, *text, *message;
} wrong_words[] = {
    {"v.yml", "</s>: 0\n<unk>: 1\na: 3\nb: 4\n",
     "v.yml: the model has 4 words, but the id 2 is missing here"},
    {"v.yml", "</s>: 0\n<unk>: 0\n", "v.yml: '<unk>' has the same id 0 as another word"},
    {"v.yml", "</s>: x\n", "v.yml: '</s>' has the id x, which is not a number"},
    {"v.yml", "</s>: -1\n", "has the id -1, which is not a number"},
    {"v.yml", "</s>: 99999999999999999999\n", "which is not a number"},
    {"v.yml", "a b: 0\n</s>: 1\n<unk>: 2\nc: 3\n", "v.yml: line 1 contains white space"},
    {"v.yml", "'': 0\n</s>: 1\n<unk>: 2\nc: 3\n", "v.yml: line 1 is empty"},
    {"v.yml", "a: 0\n</s>: 1\nb: 2\nc: 3\n", "v.yml: <unk> is missing"},
    {"v.yml", "a: 0\n<unk>: 1\nb: 2\nc: 3\n", "v.yml: </s> is missing"},
    {"v.txt", "a\n<unk>\n</s>\na\n", "v.txt: lines 1 and 4 are the same"},
    {"v.txt", "a\xff\n", "v.txt: not valid UTF-8"},
    {"v.json", "{", "v.json: line 1: "},
    {"v.json", "[1]", "v.json: is not an object of words and ids"},
    {"v.json", "{\"</s>\": true}", "has the id true, which is not a number"},
    {"v.spm", "no model", "v.spm: not a SentencePiece model"},
};

START_TEST(wrong_vocabularies_are_refused) {
    struct vocabulary made;
    expect(vocabulary_import(put_text(folder.path, wrong_words[_i].name, wrong_words[_i].text), 4,
                             &arena, &made, &err),
           wrong_words[_i].message);
}
END_TEST

START_TEST(sentencepiece_is_read) {
    struct vocabulary file, list, both;
    struct tokenizer_files files;
    struct ids ids;
    uint32_t id;
    ck_assert_int_eq(vocabulary_import("tests/data/tiny.en.spm", 200, &arena, &file, &err), 0);
    ck_assert_int_eq(conversion_ids_of(&file, &arena, &ids, &err), 0);
    ck_assert_uint_eq(ids.size, 200);
    ck_assert(conversion_ids_find(&ids, "<unk>", 5, &id) && id == 0);
    ck_assert(!conversion_ids_find(&ids, "<unk", 4, &id));
    expect(vocabulary_import("tests/data/tiny.en.spm", 201, &arena, &both, &err),
           "has 200 pieces, the model 201");
    ck_assert_int_eq(vocabulary_of_words("v", (const char *const[]){"</s>", "<unk>", "a"}, 3,
                                         &arena, &list, &err),
                     0);
    expect(conversion_tokenizer_files_of(&file, &list, &files, &err),
           "the source's vocabulary is sentencepiece, the target's words");
    ck_assert_int_eq(vocabulary_segmented("tests/data/tiny.en.spm", &list, &arena, &both, &err), 0);
    ck_assert_int_eq(conversion_tokenizer_files_of(&both, &both, &files, &err), 0);
    ck_assert_uint_eq(files.count, 2);
    ck_assert_str_eq(files.files[1].name, "joint.vocab");
    ck_assert(files.one_list);
    json_decref(files.section);
    expect(vocabulary_segmented("tests/data/tiny.en.spm", &file, &arena, &both, &err),
           "segments text, and so does the vocabulary beside it");
}
END_TEST

/* What no tokenizer can be opened from is not imported either. */
START_TEST(damaged_sentencepiece_is_refused) {
    static const char charsmap[] = "\x1a\x04\x12\x02zz",
                      score[] = "\x0a\x08\x0a\x01z\x15\0\0\xc0\x7f", nul[] = "\x0a\x04\x0a\x02z\0";
    const struct {
        const char *bytes;
        size_t count, size;
    } tails[] = {{charsmap, sizeof charsmap - 1, 200},
                 {score, sizeof score - 1, 201},
                 {nul, sizeof nul - 1, 201}};
    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
        struct vocabulary made;
        static char bytes[1 << 19];
        FILE *file = fopen("tests/data/tiny.en.spm", "rb");
        size_t count = fread(bytes, 1, sizeof bytes - tails[i].count, file);
        ck_assert(feof(file) && fclose(file) == 0);
        memcpy(bytes + count, tails[i].bytes, tails[i].count);
        const char *path = put_file(folder.path, "v.spm", bytes, count + tails[i].count);
        ck_assert_ptr_null(tokenizer_open("sentencepiece", path, NULL, NULL));
        expect(vocabulary_import(path, tails[i].size, &arena, &made, &err), "SentencePiece model");
    }
}
END_TEST

/* ---- shortlists ---- */

static struct ids five;

static int read_list(const char *path, bool one, size_t first, size_t best,
                     struct conversion_import_shortlist *out) {
    struct vocabulary list;
    struct conversion_import_shortlist ignored;
    const char *const words[] = {"</s>", "<unk>", "a", "b", "c"};
    ck_assert_int_eq(vocabulary_of_words("v", words, 5, &arena, &list, &err), 0);
    ck_assert_int_eq(conversion_ids_of(&list, &arena, &five, &err), 0);
    return conversion_import_shortlist(path,
                                       &(struct shortlist_options){&five, &five, one, first, best},
                                       &arena, out ? out : &ignored, &err);
}

/* The offsets, a bar, the targets. */
static const char *shown(const struct conversion_import_shortlist *list) {
    char *text = source_say(&arena, "%s", "");
    for (size_t i = 0; i < list->offset_count; i++)
        text = source_say(&arena, "%s%d ", text, list->offsets[i]);
    text = source_say(&arena, "%s|", text);
    for (size_t i = 0; i < list->target_count; i++)
        text = source_say(&arena, "%s %d", text, list->targets[i]);
    return text;
}

struct list {
    uint64_t first, words, count, offsets[6];
    uint32_t targets[4];
};
static const struct list good = {2, 6, 4, {0, 1, 1, 3, 3, 4}, {4, 2, 3, 4}};

static const char *put_list(struct list list, uint64_t magic, bool broken) {
    struct made_bytes bytes = {NULL, 0};
    uint64_t h = 0, word;
    bytes_u64(&bytes, magic);
    bytes_u64(&bytes, 0);
    bytes_u64(&bytes, list.first);
    bytes_u64(&bytes, 50);
    bytes_u64(&bytes, list.words);
    bytes_u64(&bytes, list.count);
    bytes_add(&bytes, list.offsets, sizeof list.offsets);
    bytes_add(&bytes, list.targets, sizeof list.targets);
    for (size_t i = 16; i + 8 <= bytes.count; i += 8) {
        memcpy(&word, bytes.at + i, 8);
        h ^= word + 0x9e3779b9 + (h << 6) + (h >> 2);
    }
    h ^= broken;
    memcpy(bytes.at + 8, &h, 8);
    const char *path = put_file(folder.path, "lex.s2t.bin", bytes.at, bytes.count);
    bytes_done(&bytes);
    return path;
}

START_TEST(binary_shortlists) {
    static const uint64_t magic = UINT64_C(0xF11A48D5013417F5);
    struct conversion_import_shortlist list;
    ck_assert_int_eq(read_list(put_list(good, magic, false), false, 0, 0, &list), 0);
    ck_assert_uint_eq(list.always_count, 2);
    ck_assert_str_eq(shown(&list), "0 1 1 3 3 4 | 4 2 3 4");
    ck_assert_int_eq(read_list(put_list(good, magic, false), true, 0, 0, &list), 0);
    ck_assert_str_eq(shown(&list),
                     "0 2 3 5 6 7 | 0 4 1 2 3 3 4"); /* each word is on its own list */
    expect(read_list(put_list(good, 1, false), false, 0, 0, NULL),
           "is not a binary shortlist of Marian");
    expect(read_list(put_list(good, magic, true), false, 0, 0, NULL), "its checksum is wrong");
    expect(read_list(put_text(folder.path, "lex.bin", "short"), false, 0, 0, NULL),
           "a shortlist has at least 48 bytes");
    struct list wrong = good;
    wrong.count = UINT64_C(1) << 60;
    expect(read_list(put_list(wrong, magic, false), false, 0, 0, NULL),
           "its size does not match its");
    wrong = good;
    wrong.words = 4;
    wrong.count = 8;
    expect(read_list(put_list(wrong, magic, false), false, 0, 0, NULL),
           "has 3 source words, the model 5");
    wrong = good;
    wrong.first = 6;
    expect(read_list(put_list(wrong, magic, false), false, 0, 0, NULL),
           "puts 6 ids on every list, but the model has 5");
    for (size_t i = 0; i < 6; i += 5) {
        wrong = good;
        wrong.offsets[i] = 1;
        expect(read_list(put_list(wrong, magic, false), false, 0, 0, NULL),
               "its offsets do not rise from 0 to 4");
    }
    wrong = good;
    wrong.targets[2] = 5;
    expect(read_list(put_list(wrong, magic, false), false, 0, 0, NULL),
           "has the target 5, but the model has 5");
}
END_TEST

/* The best of each source word; of equals the larger id; the last of a pair; unknown words are
 * <unk>; NULL is skipped. */
START_TEST(text_shortlists) {
    struct conversion_import_shortlist list;
    const char *path = put_text(
        folder.path, "lex.s2t",
        "a b 0.1\nb a 0.2\nc a 0.2\n</s> a 0.05\nNULL a 0.9\nzzz c 0.5\nb c 0.4\nb c 0.1\n");
    ck_assert_int_eq(read_list(path, false, 1, 2, &list), 0);
    ck_assert_str_eq(shown(&list), "0 0 0 2 3 5 | 3 4 2 1 3");
    ck_assert_int_eq(
        read_list(put_text(folder.path, "lex.s2t", "a b 0\nb a 0.5\nb a 0\n"), false, 9, 2, &list),
        0);
    ck_assert_str_eq(shown(&list), "0 0 0 0 0 0 |"); /* Marian's threshold: more than nothing */
    ck_assert_uint_eq(list.always_count, 5);
    ck_assert_int_eq(read_list(put_text(folder.path, "lex.s2t", ""), true, 1, 2, &list), 0);
    ck_assert_str_eq(shown(&list), "0 1 2 3 4 5 | 0 1 2 3 4");
    static const char *const wrong[][2] = {
        {"a b\n", "line 1 is not a target, a source and a probability"},
        {"a b 0.1\na b much\n", "line 2 is not"},
        {"a b nan\n", "line 1 is not"},
        {"a b inf\n", "line 1 is not"},
        {"a \xff 0.1\n", "not valid UTF-8"}};
    for (int i = 0; i < COUNT(wrong); i++)
        expect(read_list(put_text(folder.path, "lex.s2t", wrong[i][0]), false, 1, 2, NULL),
               wrong[i][1]);
}
END_TEST

START_TEST(quality_models) {
    float weights[QUALITY_WEIGHTS], numbers[13] = {2, 1, 1, 1, 3, 0, 0, 0, 4, 0, 0, 0, 5};
    struct made_bytes bytes = {NULL, 0};
    bytes_u64(&bytes, UINT64_C(0x78CC336F1D54B180));
    bytes_u64(&bytes, 4);
    bytes_add(&bytes, numbers, sizeof numbers);
    const char *path = put_file(folder.path, "q.bin", bytes.at, bytes.count);
    ck_assert_int_eq(conversion_import_quality(path, &arena, weights, &err), 0);
    ck_assert_float_eq(weights[0], -2);
    ck_assert_float_eq(weights[4], 1); /* -5 - (-2 * 3) */
    expect(conversion_import_quality(put_file(folder.path, "q.bin", bytes.at, 60), &arena, weights,
                                     &err),
           "q.bin: has 60 bytes, not 68");
    bytes.at[8] = 5;
    expect(conversion_import_quality(put_file(folder.path, "q.bin", bytes.at, bytes.count), &arena,
                                     weights, &err),
           "has 5 features, not 4");
    bytes.at[0] ^= 1;
    expect(conversion_import_quality(put_file(folder.path, "q.bin", bytes.at, bytes.count), &arena,
                                     weights, &err),
           "is not a quality model of Bergamot");
    bytes_done(&bytes);
}
END_TEST

/* ---- numbers ---- */

START_TEST(halves_are_rounded_to_the_nearest_even) {
    for (uint32_t half = 0; half < 0x10000; half++) {
        float value = half_to_float((uint16_t)half);
        if (!isnan(value))
            ck_assert_uint_eq(tensors_half(value), half);
    }
    ck_assert_uint_eq(tensors_half(1 + 1 / 2048.F), 0x3c00); /* between two: the even one */
    ck_assert_uint_eq(tensors_half(1 + 3 / 2048.F), 0x3c02);
    ck_assert_uint_eq(tensors_half(1 + 1.01F / 2048), 0x3c01);
    ck_assert_uint_eq(tensors_half(65519.99F), 0x7bff);
    ck_assert_uint_eq(tensors_half(65520), 0x7c00);
    ck_assert_uint_eq(tensors_half(0x1p-25F), 0);
    ck_assert_uint_eq(tensors_half(0x1.8p-24F), 2);
    ck_assert_uint_eq(tensors_half(-0x1p-24F), 0x8001);
}
END_TEST

/* A 2 x 3 matrix a and a vector v, made into what the patches say. */
START_TEST(tensors_are_put_together) {
    struct tensors tensors;
    struct container container;
    struct made_bytes a = npy_of("(2, 3)", 6, (const float[]){1, 2, 3, 4, 5, 6}),
                      v = npy_of("(1, 4)", 4, (const float[]){10, 20, 30, 40});
    const struct member members[] = {{"a.npy", a.at, a.count, NULL},
                                     {"v.npy", v.at, v.count, NULL}};
    const char *path = put_archive(folder.path, "x.npz", "zip", "", members, 2),
               *out = source_say(&arena, "%s/out", folder.path);
    uint64_t bytes;
    ck_assert_int_eq(tensors_open_npz(path, folder.path, &arena, NULL, &container, &err), 0);
    ck_assert_int_eq(tensors_init(&tensors, &container, &arena, &err), 0);
    const struct stored_tensor *matrix = tensors_matrix(&tensors, "a", 2, 3),
                               *vector = tensors_vector(&tensors, "v", 4);
    tensors_transpose(&tensors, "flipped", matrix, 2, 3);
    struct made *both = tensors_make(&tensors, "two.columns", 3,
                                     2); /* the columns in the other order, one below the other */
    tensors_patch(
        &tensors, both,
        (struct patch){
            .from = matrix, .flip = true, .column = 2, .to_row = 0, .rows = 1, .columns = 2});
    tensors_patch(
        &tensors, both,
        (struct patch){
            .from = matrix, .flip = true, .column = 0, .to_row = 1, .rows = 2, .columns = 2});
    struct made *sum = tensors_make_vector(&tensors, "sum", 2);
    tensors_patch(
        &tensors, sum,
        (struct patch){.from = vector, .column = 2, .rows = 1, .columns = 2, .add = true});
    tensors_patch(&tensors, sum,
                  (struct patch){.from = vector, .rows = 1, .columns = 2, .add = true});
    tensors_make(&tensors, "one", 2, 2)->identity = true;
    tensors_copy(&tensors, "first.row", matrix, 1, 3);
    tensors_check_left(&tensors, "unknown");
    ck_assert_int_eq(tensors_write(&tensors, &(struct tensors_file){out, STORAGE_FLOAT32, "x"},
                                   NULL, &bytes, &err),
                     0);
    struct safetensors *file = safetensors_open(out, &err);
    ck_assert_ptr_nonnull(file);
    static const struct {
        const char *name;
        float numbers[6];
    } wanted[] = {{"flipped", {1, 4, 2, 5, 3, 6}},
                  {"two.columns", {3, 6, 1, 4, 2, 5}},
                  {"sum", {40, 60}},
                  {"one", {1, 0, 0, 1}},
                  {"first.row", {1, 2, 3}}};
    for (int i = 0; i < COUNT(wanted); i++) {
        const struct tensor *tensor = safetensors_find(file, wanted[i].name);
        ck_assert_ptr_nonnull(tensor);
        ck_assert_mem_eq(tensor->data, wanted[i].numbers, tensor->bytes);
    }
    safetensors_free(file);
    tensors_close(&container);
    bytes_done(&a);
    bytes_done(&v);
}
END_TEST

START_TEST(foreign_tensors_are_refused_by_name) {
    static const struct stored_tensor entries[] = {
        {.name = "a", .kind = STORED_F32, .dims = 2, .shape = {2, 3}},
        {.name = "i", .kind = STORED_I8, .dims = 1, .shape = {2}},
        {.name = "s", .kind = STORED_F32, .dims = 0}};
    const struct container container = {
        .entries = (struct stored_tensor *)(uintptr_t)entries, .count = 3, .file = -1};
    struct tensors tensors;
#define REFUSES(call, message)                                                                     \
    do {                                                                                           \
        ck_assert_int_eq(tensors_init(&tensors, &container, &arena, &err), 0);                     \
        call;                                                                                      \
        expect(tensors.failed ? -1 : 0, message);                                                  \
    } while (0)
    REFUSES(tensors_matrix(&tensors, "b", 1, 1), "b: missing from the file");
    REFUSES(tensors_matrix(&tensors, "a", 3, 2), "a: shape (2, 3), expected (3, 2)");
    REFUSES(tensors_vector(&tensors, "a", 6), "a: shape (2, 3), expected (6,)");
    REFUSES(tensors_vector(&tensors, "i", 2), "i: holds int8; only models of floating-point "
                                              "numbers, or of int8 with a scale, can be converted");
    REFUSES(tensors_rows(&tensors, "s"), "s: shape (), expected a matrix");
    REFUSES(tensors_check_left(&tensors, "unknown"), "a: unknown");
}
END_TEST

/* ---- what the names of files say ---- */

START_TEST(attention_that_was_trained_to_align) {
    static const struct {
        const char *model, *training, *card;
        bool bergamot, guided;
    } rows[] = {{"opus.spm32k-spm32k.transformer-align.model1.npz.best-perplexity.npz", NULL, "",
                 false, true},
                {"opus.transformer.model1.npz", NULL, "", false, false},
                {"model.npz", "train.align", "", false, true},
                {"opus.transformer-align.npz", "none", "", false, false},
                {"model.npz", NULL, "* model: transformer-align\n", false, true},
                {"model.npz", NULL, "* model: transformer-tiny11-align\n", false, true},
                {"model.npz", NULL, "* model: transformer\n", false, false},
                {"model.bin", NULL, "", true, true}};
    for (int i = 0; i < COUNT(rows); i++) {
        struct mapping_pair pair = {.key = "guided-alignment", .value = rows[i].training};
        const struct mapping training = {&pair, rows[i].training ? 1 : 0};
        ck_assert_int_eq(
            conversion_origin_guided(rows[i].model, rows[i].bergamot, &training, rows[i].card),
            rows[i].guided);
    }
}
END_TEST

START_TEST(languages_by_name) {
    static const char *const rows[][3] = {{"model.enfr.intgemm.alphas.bin", "en", "fr"},
                                          {"opus-mt-de-en", "de", "en"},
                                          {"opus-mt-tc-big-deu-ukr", "deu", "ukr"},
                                          {"en-fr", "en", "fr"},
                                          {"model.npz", NULL, NULL},
                                          {"some", NULL, NULL},
                                          {"opus-2020-02-26", NULL, NULL}};
    for (int i = 0; i < COUNT(rows); i++) {
        const char *source = NULL, *target = NULL;
        ck_assert_int_eq(conversion_origin_languages(rows[i][0], &arena, &source, &target),
                         rows[i][1] != NULL);
        ck_assert_pstr_eq(source, rows[i][1]);
        ck_assert_pstr_eq(target, rows[i][2]);
    }
}
END_TEST

/* ---- whole imports ---- */

static const char tiny_vocabulary[] =
    "</s>: 0\n<unk>: 1\na: 2\nb: 3\nc: 4\nd: 5\ne: 6\nf: 7\ng: 8\n";
static char *said;

static int import_one(const char *path, const char *name) {
    const char *const paths[] = {path};
    const struct import_options options = {.paths = paths,
                                           .path_count = 1,
                                           .into = source_say(&arena, "%s/models", folder.path),
                                           .name = name};
    free(said);
    said = NULL;
    return import_run(&options, &said, &err);
}

static void nothing_is_written(void) {
    ck_assert(!source_exists(source_say(&arena, "%s/models", folder.path)));
}

static const char *make_in(const char *name) {
    const char *path = source_say(&arena, "%s/%s", folder.path, name);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    return path;
}

static const char *read_file(const char *name) {
    char *text;
    size_t size;
    ck_assert_int_eq(source_read(source_say(&arena, "%s/models/%s", folder.path, name), 1 << 20,
                                 &arena, &text, &size, &err),
                     0);
    return text;
}

START_TEST(a_model_is_imported) {
    struct model_config config;
    const char *in = make_in("en-fr");
    put_npz(in, "model.npz", tiny_tensors, tiny_count, tiny_options);
    put_text(in, "opus.src.vocab", tiny_words);
    put_text(in, "opus.trg.vocab", tiny_words);
    put_text(in, "decoder.yml", "beam-size: 6\nnormalize: 0.6\nmax-length-factor: 2.5\n");
    put_text(in, "LICENSE", "Attribution 4.0 International\n");
    ck_assert_msg(import_one(in, NULL) == 0, "%s", err.message);
    ck_assert(folder_holds(source_say(&arena, "%s/models", folder.path),
                           "en-fr")); /* the folder's name says its languages */
    ck_assert(folder_holds(
        source_say(&arena, "%s/models/en-fr", folder.path),
        "config.json model.safetensors joint.vocab LICENSE README.md manifest.json origin.json"));
    ck_assert_int_eq(
        config_read(source_say(&arena, "%s/models/en-fr/config.json", folder.path), &config, &err),
        0);
    ck_assert_str_eq(config.source, "en");
    ck_assert_str_eq(config.decoder.mixer, "ssru");
    ck_assert_uint_eq(config.defaults.beam_size, 6);
    ck_assert_double_eq(config.defaults.length_penalty, 0.6);
    ck_assert_double_eq(config.limits.max_target_ratio, 2.5);
    ck_assert(strstr(read_file("en-fr/config.json"), "\"length_penalty\": 0.6\n") != NULL);
    ck_assert(strstr(read_file("en-fr/README.md"),
                     "Licence: CC BY 4.0 (https://creativecommons.org/licenses/by/4.0/), whose "
                     "text is LICENSE.") != NULL);
    ck_assert(strstr(said, "dropped: special:model.yml, the options\n") == said);
    expect(import_one(in, NULL), "/models/en-fr: already exists");
    ck_assert(folder_holds(source_say(&arena, "%s/models", folder.path), "en-fr"));
    free(said);
    said = NULL;
}
END_TEST

START_TEST(archives_and_binaries_are_imported) {
    struct made_bytes bytes = bin_of(tiny_tensors, tiny_count, tiny_options, true);
    const struct member members[] = {
        {"top/model.bin", bytes.at, bytes.count, NULL},
        {"top/vocab.yml", tiny_vocabulary, sizeof tiny_vocabulary - 1, NULL}};
    const char *archive = put_archive(folder.path, "some.tar.zst", "gnutar", "zstd", members, 2);
    ck_assert_msg(import_one(archive, NULL) == 0, "%s", err.message);
    struct safetensors *file =
        safetensors_open(source_say(&arena, "%s/models/some/model.safetensors", folder.path), &err);
    ck_assert_ptr_nonnull(file);
    const struct tensor *weight = safetensors_find(file, "encoder.layers.0.self.query.weight");
    ck_assert_int_eq(weight->dtype, DTYPE_I8); /* int8 is kept as it is */
    for (size_t i = 0; i < 64; i++)
        ck_assert_uint_eq(weight->data[i], i);
    ck_assert_uint_eq(safetensors_find(file, "encoder.layers.0.self.query.weight.scale")->bytes, 4);
    safetensors_free(file);
    bytes_done(&bytes);
    archive = put_archive(folder.path, "bad.zip", "zip", "",
                          &(struct member){"top/readme", "x", 1, NULL}, 1);
    expect(import_one(archive, "bad"), source_say(&arena, "%s: has no model: neither .npz nor .bin",
                                                  archive)); /* not the folder it was unpacked in */
    free(said);
    said = NULL;
}
END_TEST

static const struct {
    const char *files[6]; /* name, content, name, content */
    const char *message;
} refused[] = {
    {{NULL}, "has no model: neither .npz nor .bin"},
    {{"a.npz", "", "b.npz", ""}, "has a.npz, b.npz: name the one to convert"},
    {{"a.npz", ""}, "has no vocabularies: neither SentencePiece files nor lists of words"},
    {{"a.npz", "", "vocab.a.spm", "", "vocab.b.spm", ""},
     "has vocab.a.spm, vocab.b.spm: keep only one of them, or name one"},
    {{"a.npz", "", "vocab.yml", "", "decoder.yml", "a: b: c\n"}, "decoder.yml: line 1: "},
    {{"a.bin", "\1", "vocab.spm.gz",
      "\x1f\x8b"
      "broken"},
     "vocab.spm.gz: cannot be unpacked"},
    {{"a.npz", "", "vocab.yml", "", "source.bpe", ""},
     "has source.bpe: models of BPE pieces cannot be converted"},
    {{"a.npz", "", "source.bpe", "", "target.bpe", ""},
     "has source.bpe: models of BPE pieces cannot be converted"},
    {{"model.bin", "", "shared_vocabulary.txt", ""},
     "model.bin: the file ends within its beginning"},
    {{"a.npz", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n", "vocab.yml",
      ""},
     "a.npz: is a Git LFS pointer"},
    {{"a.npz", "PK\x03\x04", "vocab.yml", ""}, "a.npz: not a whole .npz file"},
    {{"a.bin", "x", "vocab.yml", ""}, "a.bin: the file ends within its beginning"},
    {{"encoder_model.onnx", "", "decoder_model.onnx", "", "config.json", "{}"},
     "is a model of ONNX, which alignd does not read; copies of OPUS-MT in this form have an "
     "original: alignd get hf:Helsinki-NLP/"},
    {{"saved_model.pb", ""}, "is a model of TensorFlow (SavedModel)"},
    {{"model.ckpt-9.index", "", "model.ckpt-9.data-00000-of-00001", ""},
     "is a model of TensorFlow (a checkpoint)"},
    {{"params.best", "", "vocab.src.0.json", ""}, "is a model of Sockeye"},
    {{"checkpoint_best.pt", "", "dict.de.txt", "", "dict.en.txt", ""}, "is a model of fairseq"},
    {{"best.ckpt", "", "src_vocab.txt", ""}, "is a model of PyTorch (a checkpoint)"},
    {{"config.json", "{\"model_type\": \"fsmt\"}", "vocab.json", "{}"},
     "config.json: model_type \"fsmt\" is not supported: its original is fairseq's"},
    {{"config.json", "[", "vocab.json", "{}"}, "config.json: line 1: "},
    {{"config.json", "[]", "vocab.json", "{}"}, "config.json: is not an object"},
    {{"config.json", "{\"model_type\": \"bart\"}", "vocab.json", "{}"},
     "config.json: model_type \"bart\" is not supported: BART's vocabulary is one of bytes, "
     "which alignd does not"},
    {{"config.json", "{\"model_type\": \"marian\", \"normalize_before\": true}", "vocab.json",
      "{}"},
     "config.json: normalize_before true is not supported"},
    {{"config.json", "{\"model_type\": \"marian\", \"activation_function\": \"tanh\"}",
      "vocab.json", "{}"},
     "config.json: activation_function \"tanh\" is not supported"},
    {{"config.json",
      "{\"model_type\": \"marian\", \"activation_function\": \"relu\", \"d_model\": \"8\"}",
      "vocab.json", "{}"},
     "config.json: d_model must be a positive number, got \"8\""},
};

START_TEST(folders_are_refused_by_name) {
    const char *in = make_in("in");
    for (size_t i = 0; i + 1 < 6 && refused[_i].files[i]; i += 2)
        put_text(in, refused[_i].files[i], refused[_i].files[i + 1]);
    expect(import_one(in, "out"), refused[_i].message);
    nothing_is_written();
}
END_TEST

START_TEST(other_refusals_leave_nothing) {
    const char *in = make_in("in");
    expect(import_one("/nowhere/model.npz", "x"), "/nowhere/model.npz: does not exist");
    expect(import_one("ftp://example.org/model.zip", "x"),
           "is not a path: only http:// and https:// addresses are downloaded");
    expect(import_one(put_text(in, "notes.txt", "x"), "x"),
           "is not a model: neither .npz nor .bin");
    expect(import_one(put_text(in, "m.bin", "GGUF\3"), "x"), "m.bin: is a model of GGUF");
    expect(import_one(put_text(in, "m.keras", "PK\3\4"), "x"), "m.keras: is a model of Keras");
    expect(import_one(put_text(in, "weights", "\x89HDF\r\n\x1a\n"), "x"),
           "weights: is a model of Keras (HDF5)");
    remove(source_path_join(&arena, in, "m.bin"));
    put_npz(in, "model.npz", tiny_tensors, tiny_count - 1, tiny_options);
    const char *words = put_text(in, "vocab.yml", tiny_vocabulary);
    expect(import_one(in, "x"), "decoder_ff_logit_out_b: missing from the file");
    ck_assert_ptr_nonnull(words);
    put_npz(in, "model.npz", tiny_tensors, tiny_count,
            "type: transformer\ndim-emb: 8\ntransformer-heads: 3\ntransformer-dim-ffn: "
            "12\ntied-embeddings-all: true\n" RNN);
    expect(import_one(in, "x"),
           "the model's configuration: encoder.heads: must divide encoder.hidden");
    expect(import_one(in, "../x"), "../x: is not a valid name for a model folder");
    expect(import_one(in, ".x"), ".x: is not a valid name for a model folder");
    atomic_bool stop = true;
    const char *const paths[] = {in};
    const struct import_options options = {.paths = paths,
                                           .path_count = 1,
                                           .into = source_say(&arena, "%s/models", folder.path),
                                           .name = "x",
                                           .stop = &stop};
    char *unused;
    expect(import_run(&options, &unused, &err), "interrupted");
    nothing_is_written();
    const char *deep =
        source_say(&arena, "%s/%0200d", folder.path, 1); /* messages are not cut within a path */
    expect(import_one(deep, "x"), source_say(&arena, "%s: does not exist", deep));
}
END_TEST

Suite *import_suite(void) {
    Suite *suite = suite_create("import");
    TCase *tcase = tcase_create("import");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, options_are_refused_by_name, 0, COUNT(wrong_options));
    tcase_add_test(tcase, every_option_is_checked);
    tcase_add_test(tcase, options_are_read);
    tcase_add_test(tcase, a_decoders_options_become_defaults);
    tcase_add_test(tcase, vocabularies_are_read);
    tcase_add_loop_test(tcase, wrong_vocabularies_are_refused, 0, COUNT(wrong_words));
    tcase_add_test(tcase, sentencepiece_is_read);
    tcase_add_test(tcase, damaged_sentencepiece_is_refused);
    tcase_add_test(tcase, binary_shortlists);
    tcase_add_test(tcase, text_shortlists);
    tcase_add_test(tcase, quality_models);
    tcase_add_test(tcase, halves_are_rounded_to_the_nearest_even);
    tcase_add_test(tcase, tensors_are_put_together);
    tcase_add_test(tcase, foreign_tensors_are_refused_by_name);
    tcase_add_test(tcase, attention_that_was_trained_to_align);
    tcase_add_test(tcase, languages_by_name);
    tcase_add_test(tcase, a_model_is_imported);
    tcase_add_test(tcase, archives_and_binaries_are_imported);
    tcase_add_loop_test(tcase, folders_are_refused_by_name, 0, COUNT(refused));
    tcase_add_test(tcase, other_refusals_leave_nothing);
    suite_add_tcase(suite, tcase);
    return suite;
}
