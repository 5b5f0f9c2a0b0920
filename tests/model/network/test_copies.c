/* Source words as target tokens, their share of a distribution, and how they are printed. */
#include "model/model.h"
#include "model/network/network.h"
#include "model/translator.h"
#include "tests/models.h"
#include "tests/numbers.h"
#include "tests/suites.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- distributions, against double precision ---- */

enum {
    VOCABULARY = 53,
    READOUT = 6,
    HIDDEN = 5,
    INPUT = 3,
    ANNOTATION = 4,
    LENGTH = 6,
    EXTRA = 2,
    ROWS = 3
};

#define VOCABULARY_TENSORS                                                                         \
    "\"output.bias\":{\"dtype\":\"F32\",\"shape\":[53],\"data_offsets\":[0,212]},"                 \
    "\"output.weight\":{\"dtype\":\"F32\",\"shape\":[53,6],\"data_offsets\":[212,1484]}"

#define INPUTS_GATE                                                                                \
    "\"output.gate.bias\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[1484,1488]},"         \
    "\"output.gate.weight\":{\"dtype\":\"F32\",\"shape\":[1,12],\"data_offsets\":[1488,1536]}"

#define READOUT_GATE                                                                               \
    "\"output.gate.bias\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[1484,1488]},"         \
    "\"output.gate.weight\":{\"dtype\":\"F32\",\"shape\":[1,6],\"data_offsets\":[1488,1512]}"

/* The parameters that a kind has, in this order: the vocabulary's 371 floats, the gate's 1 and 12
 * or 6, the key's 20 or 24. gate and pointer: NULL if it has none. */
static const struct kind {
    const char *name, *gate, *pointer, *header;
    size_t parameters;
    bool writes;
} kinds[] = {
    {"pointer", NULL, NULL,
     "{\"output.key.weight\":{\"dtype\":\"F32\",\"shape\":[5,4],\"data_offsets\":[0,80]}}", 20,
     false},
    {"copy", NULL, NULL,
     "{" VOCABULARY_TENSORS
     ",\"output.key.weight\":{\"dtype\":\"F32\",\"shape\":[5,4],\"data_offsets\":[1484,1564]}}",
     391, true},
    {"pointer_generator", "inputs", "attention", "{" VOCABULARY_TENSORS "," INPUTS_GATE "}", 384,
     true},
    {"pointer_generator", "readout", "attention", "{" VOCABULARY_TENSORS "," READOUT_GATE "}", 378,
     true},
    {"pointer_generator", "inputs", "readout",
     "{" VOCABULARY_TENSORS "," INPUTS_GATE
     ",\"output.key.weight\":{\"dtype\":\"F32\",\"shape\":[6,4],\"data_offsets\":[1536,1632]}}",
     408, true},
    {"pointer_generator", "readout", "readout",
     "{" VOCABULARY_TENSORS "," READOUT_GATE
     ",\"output.key.weight\":{\"dtype\":\"F32\",\"shape\":[6,4],\"data_offsets\":[1512,1608]}}",
     402, true},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* The inputs of the output layer. Word 7 and the temporary id V stand twice in the source. */
struct setting {
    const struct kind *kind;
    float *parameters, *annotations, *readouts, *states, *inputs, *attention;
};

static const int words[LENGTH] = {7, VOCABULARY, 7, VOCABULARY + 1, VOCABULARY, 2};

static double product(const float *x, const float *y, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)y[i];
    return sum;
}

/* logits [V]: exp of them, and their sum. */
static double write_words(const struct setting *s, size_t r, double *odds) {
    double sum = 0;
    for (size_t v = 0; s->kind->writes && v < VOCABULARY; v++) {
        odds[v] = exp((double)s->parameters[v] + product(s->parameters + VOCABULARY + v * READOUT,
                                                         s->readouts + r * READOUT, READOUT));
        sum += odds[v];
    }
    return sum;
}

/* P(copy) */
static double copying(const struct setting *s, size_t r) {
    const float *bias = s->parameters + VOCABULARY * (READOUT + 1), *gate = bias + 1,
                *a = s->attention + r * LENGTH;
    double g = (double)*bias;
    if (strcmp(s->kind->gate, "readout") == 0)
        return 1 / (1 + exp(-g - product(gate, s->readouts + r * READOUT, READOUT)));
    g += product(gate + ANNOTATION, s->states + r * HIDDEN, HIDDEN) +
         product(gate + ANNOTATION + HIDDEN, s->inputs + r * INPUT, INPUT);
    for (size_t j = 0; j < LENGTH; j++)
        g += (double)a[j] * product(gate, s->annotations + j * ANNOTATION, ANNOTATION);
    return 1 / (1 + exp(-g));
}

/* exp(e_j), e_j = h_j^T V q, q of this size, V at the end of the parameters. */
static double pointed(const struct setting *s, const float *q, size_t size, size_t j) {
    const float *key = s->parameters + s->kind->parameters - size * ANNOTATION;
    double e = 0;
    for (size_t i = 0; i < size; i++)
        e += (double)q[i] *
             product(key + i * ANNOTATION, s->annotations + j * ANNOTATION, ANNOTATION);
    return exp(e);
}

/* See et al. as they write it: both distributions, mixed. */
static void mix(const struct setting *s, size_t r, double sum, double *odds) {
    double copied = copying(s, r), shares[LENGTH], all = 0;
    bool own = strcmp(s->kind->pointer, "readout") == 0;
    for (size_t j = 0; j < LENGTH; j++) {
        shares[j] = own ? pointed(s, s->readouts + r * READOUT, READOUT, j)
                        : (double)s->attention[r * LENGTH + j];
        all += shares[j];
    }
    for (size_t v = 0; v < VOCABULARY; v++)
        odds[v] *= (1 - copied) / sum;
    for (size_t j = 0; j < LENGTH; j++)
        odds[words[j]] += copied * shares[j] / (own ? all : 1);
}

/* Beside the logits. */
static void point(const struct setting *s, size_t r, double *odds) {
    for (size_t j = 0; j < LENGTH; j++)
        odds[words[j]] += pointed(s, s->states + r * HIDDEN, HIDDEN, j);
}

static void check_row(const struct setting *s, size_t r, const struct distribution *found) {
    double odds[VOCABULARY + EXTRA] = {0}, written = write_words(s, r, odds), total = 0,
                             entropy = 0;
    if (s->kind->gate)
        mix(s, r, written, odds);
    else
        point(s, r, odds);
    ck_assert_uint_eq(found->size, VOCABULARY + EXTRA);
    for (size_t v = 0; v < found->size; v++)
        total += odds[v];
    for (size_t v = 0; v < found->size; v++) {
        double p = odds[v] / total;
        ck_assert_double_eq_tol(exp((double)(found->logits[v] - found->log_sum)), p, 1e-6);
        entropy -= p > 0 ? p * log(p) : 0;
    }
    ck_assert_double_eq_tol((double)found->entropy, entropy, 1e-5);
    for (size_t i = 0; i < found->top_count; i++)
        ck_assert(odds[found->top[i].token] > 0 &&
                  (i == 0 || found->top[i].logit <= found->top[i - 1].logit));
}

static void run(const struct setting *s, const struct kernels *kernels) {
    struct output output;
    struct error err = {0};
    struct model_config config = {.encoder = {.hidden = ANNOTATION},
                                  .decoder = {.readout = "tanh",
                                              .readout_size = READOUT,
                                              .hidden = HIDDEN,
                                              .embedding = INPUT},
                                  .limits = {.max_source_tokens = LENGTH}};
    strcpy(config.output.type, s->kind->name);
    strcpy(config.output.gate, s->kind->gate ? s->kind->gate : "inputs");
    strcpy(config.output.pointer, s->kind->pointer ? s->kind->pointer : "attention");
    struct weights *weights = parameters_open(s->kind->header, s->parameters, s->kind->parameters,
                                              (struct backend){.kernels = kernels});
    ck_assert_msg(output_init(&output, &config, VOCABULARY, false,
                              &(struct loader){weights, kernels, NULL, &err}) == 0,
                  "%s", err.message);
    ck_assert_int_eq(weights_all_used(weights, &err), 0);

    float *keys = calloc(LENGTH * output.key.out, sizeof *keys), gates[LENGTH];
    float *logits = guarded(ROWS * output.stride);
    output_keys(&output, s->annotations, LENGTH, keys, gates);
    const struct copies copies = {
        .words = words, .length = LENGTH, .count = EXTRA, .keys = keys, .gates = gates};
    enum { WANTED = 33 };
    static const size_t wanted[ROWS] = {0, 3, WANTED};
    struct distribution distributions[ROWS];
    struct row rows[ROWS];
    struct arena scratch;
    arena_init(&scratch, 1 << 12);
    for (size_t r = 0; r < ROWS; r++)
        rows[r] = (struct row){.copies = &copies,
                               .wanted = wanted[r],
                               .attention = s->attention + r * LENGTH,
                               .readout = s->readouts + r * READOUT,
                               .input = s->inputs + r * INPUT,
                               .top = s->states + r * HIDDEN,
                               .logits = logits + r * output.stride,
                               .distribution = &distributions[r]};
    ck_assert_int_eq(output_run(&output, rows, ROWS, &scratch, &err), 0);
    for (size_t r = 0; r < ROWS; r++)
        check_row(s, r, &distributions[r]);
    ck_assert_uint_eq(distributions[2].top_count,
                      s->kind->writes ? WANTED : 4); /* the source has four words */
    ck_assert(guards_intact(logits, ROWS * output.stride));
    arena_done(&scratch);
    guarded_free(logits);
    free(keys);
    parameters_close(weights);
}

START_TEST(shares_equal_double_precision) {
    const struct kind *kind = &kinds[_i % KINDS];
    const struct kernels *kernels = kernel_set(_i / KINDS);
    struct setting s = {.kind = kind,
                        .parameters = noise(kind->parameters, 2, 1),
                        .annotations = noise(LENGTH * ANNOTATION, 1, 2),
                        .readouts = noise(ROWS * READOUT, 1, 3),
                        .states = noise(ROWS * HIDDEN, 1, 4),
                        .inputs = noise(ROWS * INPUT, 1, 5),
                        .attention = noise(ROWS * LENGTH, 3, 6)};
    for (size_t r = 0; r < ROWS; r++)
        kernels->softmax(s.attention + r * LENGTH, LENGTH);
    run(&s, kernels);
    float *parts[] = {s.parameters, s.annotations, s.readouts, s.states, s.inputs, s.attention};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        free(parts[i]);
}
END_TEST

/* ---- words ---- */

static struct translator *translator;
static struct arena arena;

static void setup(void) {
    translator = model_open("tests/golden/pointer");
    arena_init(&arena, 1 << 16);
}

static void teardown(void) {
    arena_done(&arena);
    translator_free(translator);
}

static struct sentence *prepare(const char *text) {
    static const struct search_options greedy = {
        .strategy = &search_greedy, .beam_size = 1, .n_best = 1, .length_penalty = 1};
    return model_prepare(translator, text, &greedy, &arena);
}

/* The pieces of "here is here." are _here, _is, _here and ".": the first two are not in the target
 * vocabulary. */
START_TEST(words_that_the_target_lacks_get_temporary_ids) {
    struct sentence *sentence = prepare("here is here.");
    const struct copies *copies = sentence->copies;
    int vocabulary = (int)translator->decoder.vocabulary,
        stop = tokenizer_find(translator->target, ".");
    const int wanted[] = {vocabulary, vocabulary + 1, vocabulary, stop,
                          tokenizer_end(translator->target)};
    ck_assert_uint_eq(copies->length, sizeof wanted / sizeof *wanted);
    for (size_t j = 0; j < copies->length; j++)
        ck_assert_int_eq(copies->words[j], wanted[j]);
    ck_assert_uint_eq(copies->count, 2);
    ck_assert_int_eq(copies_input(copies, vocabulary + 1), tokenizer_unknown(translator->target));
    ck_assert_int_eq(copies_input(copies, stop), stop);
    ck_assert(copies_have(copies, stop) && !copies_have(copies, stop + 1));
    sentence_done(sentence);
}
END_TEST

START_TEST(copies_are_printed_as_words) {
    struct sentence *sentence = prepare("here is here.");
    const int v = (int)translator->decoder.vocabulary,
              tokens[] = {v + 1, v, sentence->copies->words[3]};
    const struct hypothesis hypothesis = {.tokens = tokens, .length = 3};
    static const size_t begins[] = {0, 3, 7}, ends[] = {2, 7, 8};
    struct rendering rendering;
    ck_assert_int_eq(rendering_make(sentence, &hypothesis, &arena, &rendering, NULL), 0);
    ck_assert_str_eq(rendering.text, "is here.");
    for (size_t i = 0; i < 3; i++) {
        ck_assert_uint_eq(rendering.tokens[i].begin, begins[i]);
        ck_assert_uint_eq(rendering.tokens[i].end, ends[i]);
    }
    ck_assert_str_eq(rendering.tokens[1].piece, "\u2581here");
    sentence_done(sentence);
}
END_TEST

/* <unk>, printed as the word that it looked at, and that word copied: one text, but not the same
 * tokens. */
START_TEST(an_unknown_is_told_from_the_copy_of_its_word) {
    struct sentence *sentence = prepare("here is here.");
    const int v = (int)translator->decoder.vocabulary,
              unknown = tokenizer_unknown(translator->target);
    const float looks[] = {0, 1, 0, 0, 0}, *attention[] = {looks};
    const struct hypothesis copied = {.tokens = (const int[]){v + 1},
                                      .length = 1,
                                      .attention = attention},
                            replaced = {.tokens = &unknown, .length = 1, .attention = attention};
    struct rendering of_copy, of_unknown;
    sentence->caller.replace_unknowns = true;
    sentence->search.setting.source_length = sentence->length;
    ck_assert_int_eq(rendering_make(sentence, &copied, &arena, &of_copy, NULL), 0);
    ck_assert_int_eq(rendering_make(sentence, &replaced, &arena, &of_unknown, NULL), 0);
    ck_assert_str_eq(of_copy.text, "is");
    ck_assert_str_eq(of_unknown.text, "is");
    ck_assert_str_eq(of_copy.tokens[0].piece, "\u2581is");
    ck_assert_str_eq(of_unknown.tokens[0].piece, "<unk>");
    sentence_done(sentence);
}
END_TEST

/* A pointer has no words but the source's: any other has no probability, and no logarithm of it. */
START_TEST(a_pointer_refuses_targets_that_it_cannot_produce) {
    struct sentence *sentence = prepare("here is here.");
    struct error err = {0};
    ck_assert_int_eq(sentence_force(sentence, "C.", 2, &err), -1);
    ck_assert_int_eq(err.code, ERROR_INPUT);
    ck_assert_ptr_nonnull(strstr(err.message, "the text has no "));
    sentence_done(sentence);
}
END_TEST

/* One character that normalisation makes 18 of: it cannot be split, and there is no room for that
 * many copies. */
START_TEST(what_cannot_be_cut_is_refused) {
    static const char text[] = "\uFDFA";
    struct search_options options = {
        .strategy = &search_greedy, .beam_size = 1, .n_best = 1, .length_penalty = 1};
    struct translator_text whole = {.text = text, .length = sizeof text - 1, .split = true};
    struct sentence_list list;
    struct error err = {0};
    translator->config.limits.max_source_tokens = 5;
    ck_assert_int_eq(model_sentences(translator, whole, &options, &arena, &list, &err), -1);
    ck_assert_int_eq(err.code, ERROR_LENGTH);
    ck_assert_str_eq(err.message, "the text has a part of more than 5 tokens that cannot be split");
}
END_TEST

START_TEST(the_architecture_names_the_output) {
    const char *architecture = translator_info(translator).architecture;
    ck_assert_ptr_nonnull(strstr(architecture, ", pointer output"));
}
END_TEST

Suite *copies_suite(void) {
    Suite *suite = suite_create("copies");
    TCase *shares = tcase_create("shares"), *cases = tcase_create("words");
    tcase_add_loop_test(shares, shares_equal_double_precision, 0, KINDS * kernel_sets());
    suite_add_tcase(suite, shares);
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, words_that_the_target_lacks_get_temporary_ids);
    tcase_add_test(cases, copies_are_printed_as_words);
    tcase_add_test(cases, an_unknown_is_told_from_the_copy_of_its_word);
    tcase_add_test(cases, a_pointer_refuses_targets_that_it_cannot_produce);
    tcase_add_test(cases, what_cannot_be_cut_is_refused);
    tcase_add_test(cases, the_architecture_names_the_output);
    suite_add_tcase(suite, cases);
    return suite;
}
