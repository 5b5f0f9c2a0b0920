/* Finding a glossary's phrases in a text, and sentences with phrases beside others. */
#include "model/glossary.h"
#include "tests/models.h"
#include "tests/suites.h"
#include <stdio.h>
#include <string.h>

static const struct glossary_entry entries[] = {
    {"snow", "1"},
    {"the snow", "2"},
    {"New York", "3"},
    {"C++", "4"},
    {"\xc3\xa9t\xc3\xa9", "5"},
    {"\xe7\x8c\xab", "6"},
    {"a b", "7"},
    {"b c", "8"},
    {"Polish", "9"},
    {"polish", "A"},
};

/* found: the entries' targets, in the order of the text. */
static const struct {
    const char *text, *found;
} texts[] = {
    {"", ""},
    {"snow", "1"},
    {"Snow, sNow and SNOW", "1"},                     /* the case of the first letter alone */
    {"snowman, unsnow, snow1, _snow_, snow's", "11"}, /* digits are of a word, marks are not */
    {"The snow of the snow", "22"},                   /* the longest */
    {"the  snow", "1"},                               /* as it is written */
    {"new York New York new york", "33"},             /* "new York": the first letter again */
    {"I like C++ and C++.", "44"},
    {"\xc3\x89t\xc3\xa9, \xc3\xa9t\xc3\xa9s, l'\xc3\xa9t\xc3\xa9", "55"},
    {"\xe9\xbb\x92\xe7\x8c\xab\xe3\x81\xa8\xe7\x99\xbd\xe7\x8c\xab",
     "66"},                  /* no spaces in Japanese */
    {"a b c", "7"},          /* the first */
    {"Polish polish", "9A"}, /* each as it is written */
    {"a", ""},
    {"e\xcc\x81t\xc3\xa9 te\xcc\x81", "5"}, /* canonically equivalent, and as a word */
    {"the\xc2\xa0snow", "2"},               /* any space */
    {"DEEP SNOW, THE SNOW, SNOW", "121"},   /* among capitals */
    {"new york POLISH NEW YORK", "93"},     /* five letters */
    {"The snowy snow and", "1"},            /* a phrase that goes on otherwise */
};

START_TEST(source_phrases_are_found) {
    struct arena arena;
    struct lexicon lexicon;
    arena_init(&arena, 1 << 12);
    ck_assert_int_eq(
        lexicon_init(&lexicon, entries, sizeof entries / sizeof *entries, &arena, NULL), 0);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char found[64] = "";
        const struct glossary_entry *entry;
        struct span span;
        size_t length = strlen(texts[i].text), end = 0;
        for (size_t at = 0; lexicon_next(&lexicon, texts[i].text, length, &at, &span, &entry);
             end = span.end) {
            ck_assert(span.begin >= end && span.end > span.begin && at == span.end);
            strcat(found, entry->target);
        }
        ck_assert_msg(strcmp(found, texts[i].found) == 0, "%s: %s", texts[i].text, found);
    }
    arena_done(&arena);
}
END_TEST

/* A glossary of the sentences to come, in the arena. */
static void make(struct glossary *glossary, const struct glossary_entry *own, size_t count,
                 struct arena *arena) {
    struct lexicon *lexicon = arena_alloc(arena, 1, sizeof *lexicon);
    ck_assert_int_eq(lexicon_init(lexicon, own, count, arena, NULL), 0);
    glossary_init(glossary, lexicon, arena);
}

/* ---- in company ---- */

enum { SENTENCES = 6, ROWS = 128 };

static const char *const company[SENTENCES] = {
    "A boy plays in the snow.", "Hello {name}, how are you?",
    "I live in the city.",      "The file [X12X] was not found.",
    "{name} saw %s.",           "My father likes snow."};

static void prepare(const struct translator *t, size_t i, struct arena *arena,
                    struct sentence **sentence) {
    static const struct glossary_entry own[] = {{"snow", "poudreuse"}, {"father", "cher papa"}};
    struct search_options options = {.strategy = i == 3 ? &search_greedy : &search_beam,
                                     .beam_size = 4,
                                     .n_best = 1,
                                     .length_penalty = 1,
                                     .max_rows = 12};
    *sentence = model_prepare(t, company[i], &options, arena);
    struct glossary phrases;
    make(&phrases, own, 2, arena);
    ck_assert_int_eq(glossary_constrain(*sentence, &phrases, NULL), 0);
}

/* Their texts and scores. */
static void decode(const struct translator *t, size_t first, size_t end, char out[SENTENCES][160]) {
    struct sentence *sentences[SENTENCES], *done[ROWS];
    struct arena arena;
    arena_init(&arena, 1 << 16);
    struct batch *batch = batch_create(t, ROWS, NULL);
    for (size_t i = first; i < end; i++)
        prepare(t, i, &arena, &sentences[i]);
    batch_admit(batch, sentences + first, end - first);
    while (batch_sentences(batch) > 0)
        batch_step(batch, done);
    for (size_t i = first; i < end; i++) {
        struct rendering rendering;
        ck_assert_uint_eq(sentences[i]->count, 1);
        ck_assert_int_eq(
            rendering_make(sentences[i], sentences[i]->hypotheses, &arena, &rendering, NULL), 0);
        snprintf(out[i], 160, "%s %a", rendering.text, sentences[i]->hypotheses->score);
        sentence_done(sentences[i]);
    }
    batch_free(batch);
    arena_done(&arena);
}

START_TEST(company_changes_nothing) {
    char together[SENTENCES][160], alone[SENTENCES][160];
    struct translator *t = model_open_with("weights/en-fr", exact_compute());
    decode(t, 0, SENTENCES, together);
    for (size_t i = 0; i < SENTENCES; i++) {
        decode(t, i, i + 1, alone);
        ck_assert_str_eq(alone[i], together[i]);
    }
    translator_free(t);
}
END_TEST

/* The resulting options of a sentence; a sentence without phrases does not change. */
START_TEST(what_a_sentence_is_made_to_hold) {
    struct translator *t = model_open("weights/en-fr");
    struct arena arena;
    struct sentence *sentence;
    arena_init(&arena, 1 << 16);
    prepare(t, 0, &arena, &sentence);
    ck_assert_ptr_eq(sentence->options.strategy, &search_constrained);
    ck_assert_uint_eq(sentence->options.phrases.count, 1);
    ck_assert_uint_gt(sentence->options.phrases.list[0].count, 0);
    sentence_done(sentence);
    prepare(t, 1, &arena, &sentence);
    ck_assert_uint_eq(sentence->options.phrases.list[0].length, 1);
    ck_assert_uint_eq(sentence->reading.unknown, 0);
    ck_assert_str_eq(rendering_piece(sentence, sentence->options.phrases.list[0].tokens[0]),
                     "\xe2\x96\x81{name}");
    sentence_done(sentence);
    prepare(t, 2, &arena, &sentence);
    ck_assert_ptr_eq(sentence->options.strategy, &search_beam);
    ck_assert_ptr_null(sentence->copies);
    sentence_done(sentence);
    prepare(t, 3, &arena, &sentence);
    ck_assert_uint_eq(sentence->options.beam_size, 1);
    sentence_done(sentence);
    arena_done(&arena);
    translator_free(t);
}
END_TEST

/* Constrains a text; the sentences are in the arena, and an error is returned. */
static int constrain(const struct translator *t, const char *text, struct glossary *phrases,
                     struct arena *arena, struct sentence **sentences, size_t *count,
                     struct error *err) {
    struct search_options options = {
        .strategy = &search_beam, .beam_size = 4, .n_best = 1, .length_penalty = 1, .max_rows = 12};
    const struct translator_text whole = {.text = text, .length = strlen(text), .split = true};
    struct sentence_list list;
    int result = 0;
    ck_assert_int_eq(model_sentences(t, whole, &options, arena, &list, NULL), 0);
    *sentences = list.all;
    *count = list.count;
    for (size_t i = 0; i < *count && result == 0; i++)
        result = glossary_constrain(&(*sentences)[i], phrases, err);
    return result;
}

/* However often an entry is found, in one sentence or in many, its tokens are made once. One that
 * the vocabulary cannot write: its piece. */
START_TEST(entries_are_read_once) {
    static const struct glossary_entry own[] = {{"snow", "poudreuse"}, {"rain", "\xef\xb7\xba"}};
    struct translator *t = model_open("weights/en-fr");
    struct arena arena;
    struct glossary phrases;
    struct sentence *sentences;
    size_t count;
    arena_init(&arena, 1 << 16);
    make(&phrases, own, 2, &arena);
    ck_assert_int_eq(constrain(t, "Snow, rain, snow. I like rain and snow.", &phrases, &arena,
                               &sentences, &count, NULL),
                     0);
    ck_assert_uint_eq(count, 2);
    const struct phrases *first = &sentences[0].options.phrases,
                         *second = &sentences[1].options.phrases;
    ck_assert_uint_eq(first->count, 3);
    ck_assert_uint_eq(second->count, 2);
    ck_assert_ptr_eq(first->list[0].tokens, first->list[2].tokens);
    ck_assert_ptr_eq(first->list[0].tokens, second->list[1].tokens);
    ck_assert_ptr_eq(rendering_piece(&sentences[0], first->list[1].tokens[0]),
                     rendering_piece(&sentences[1], second->list[0].tokens[0]));
    for (size_t i = 0; i < count; i++)
        sentence_done(&sentences[i]);
    arena_done(&arena);
    translator_free(t);
}
END_TEST

/* The model reads a stand-in for a term that is hidden, if the term has one phrase. */
START_TEST(terms_are_hidden) {
    static const struct glossary_entry own[] = {{"boy", "gamin"}, {"snow", "neige|poudreuse"}};
    const struct search_options options = {
        .strategy = &search_beam, .beam_size = 4, .n_best = 1, .length_penalty = 1, .max_rows = 12};
    const struct translator_text text = {.text = "A boy likes snow.", .length = 17};
    struct translator *t = model_open("weights/en-fr");
    struct arena arena;
    struct glossary phrases;
    struct sentence_list list;
    int ids[2][2];
    arena_init(&arena, 1 << 16);
    make(&phrases, own, 2, &arena);
    for (int hides = 0; hides < 2; hides++) {
        phrases.hides = hides;
        ck_assert_int_eq(sentence_prepare(t, &text, &options, &arena, &list, NULL), 0);
        struct sentence *sentence = list.all;
        ck_assert_int_eq(glossary_constrain(sentence, &phrases, NULL), 0);
        ids[hides][0] = sentence->tokens[1].id;
        ids[hides][1] = sentence->tokens[3].id;
        if (hides)
            ck_assert_str_eq(rendering_piece(sentence, sentence->options.phrases.list[0].tokens[0]),
                             "\xe2\x96\x81gamin");
        sentence_done(sentence);
    }
    ck_assert_int_ne(ids[0][0], ids[1][0]);
    ck_assert_int_eq(ids[0][1], ids[1][1]);
    arena_done(&arena);
    translator_free(t);
}
END_TEST

/* A translation must have room for its phrases. */
START_TEST(phrases_are_bounded) {
    char words[401] = "", text[101] = "";
    const struct glossary_entry own = {"a", words};
    struct translator *t = model_open("weights/en-fr");
    struct arena arena;
    struct glossary phrases;
    struct sentence *sentences;
    struct error error = {0};
    size_t count;
    for (size_t i = 0; i < 100; i++)
        strcat(words, "b c ");
    for (size_t i = 0; i < 50; i++)
        strcat(text, "a ");
    arena_init(&arena, 1 << 16);
    words[399] = '\0';
    make(&phrases, &own, 1, &arena);
    ck_assert_int_eq(constrain(t, "a", &phrases, &arena, &sentences, &count, &error), 0);
    sentence_done(sentences);
    ck_assert_int_eq(constrain(t, text, &phrases, &arena, &sentences, &count, &error), -1);
    ck_assert_int_eq(error.code, ERROR_LENGTH);
    ck_assert_str_eq(error.message,
                     "the target phrases of a sentence must have at most 1000 tokens");
    for (size_t i = 0; i < count; i++)
        sentence_done(&sentences[i]);
    arena_done(&arena);
    translator_free(t);
}
END_TEST

Suite *glossary_suite(void) {
    Suite *suite = suite_create("glossary");
    TCase *cases = tcase_create("all");
    tcase_set_timeout(cases, 60);
    tcase_add_test(cases, source_phrases_are_found);
    tcase_add_test(cases, company_changes_nothing);
    tcase_add_test(cases, what_a_sentence_is_made_to_hold);
    tcase_add_test(cases, entries_are_read_once);
    tcase_add_test(cases, terms_are_hidden);
    tcase_add_test(cases, phrases_are_bounded);
    suite_add_tcase(suite, cases);
    return suite;
}
