/* Placeholders: found in text, and read by a tokenizer that hides them. */
#include "model/guard.h"
#include "model/text/tokenizer.h"
#include "tests/suites.h"
#include <stdio.h>
#include <string.h>

/* found: what is found, each in angle brackets. */
static const struct {
    const char *text, *found;
} texts[] = {
    {"", ""},
    {"A boy plays in the snow.", ""},
    {"Hello {name}!", "<{name}>"},
    {"{0}{1} {a.b:>8} {{count}} {{ count }}", "<{0}><{1}><{a.b:>8}><{{count}}><{{ count }}>"},
    {"${HOME} %{user} #{x} {\xc3\xa9t\xc3\xa9}", "<${HOME}><%{user}><#{x}><{\xc3\xa9t\xc3\xa9}>"},
    {"{} { a } {a b} {open {{a} {a\nb}", "<{a}>"},
    {"%s %d %-5.2f %1$s %lld %@ %% %(total)s %*d", "<%s><%d><%-5.2f><%1$s><%lld><%@><%%><%(total)s><%*d>"},
    {"50% discount, 50%discount, 100 % de %so %(a)b %y", ""},
    {"(%s) '%d' %s.", "<%s><%d><%s>"},
    {"[X12X] [ABC3] [12] [x1] [X] [1X]", "<[X12X]><[ABC3]>"},
    {"See https://example.com/a?b=c&d=%20#e. Then ftp://x.org!", "<https://example.com/a?b=c&d=%20#e><ftp://x.org>"},
    {"(http://en.wikipedia.org/wiki/A_(b)) www.example.com, <https://a.b>",
     "<http://en.wikipedia.org/wiki/A_(b)><www.example.com><https://a.b>"},
    {"http:// www. xhttp :// and/or a:b:// https://)), www.,", ""},
    {"((https://x.org/(a))). [see http://y.z/b[1]]", "<https://x.org/(a)><http://y.z/b[1]>"},
    {"https://x.org/\xc3\x89lan\xe3\x80\x82\xe5\xa5\xbd", "<https://x.org/\xc3\x89lan>"},
    {"Write to jane.doe+x@mail.example.org. Or a@b, @c, d@e.f", "<jane.doe+x@mail.example.org>"},
    {"https://user@example.com/{id}", "<https://user@example.com/{id}>"},
};

START_TEST(placeholders_are_found) {
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char found[256] = "";
        struct span span;
        size_t length = strlen(texts[i].text), end = 0;
        for (size_t at = 0; placeholder_next(texts[i].text, length, &at, &span); end = span.end) {
            ck_assert(span.begin >= end && span.end > span.begin && at == span.end);
            size_t used = strlen(found);
            snprintf(found + used, sizeof found - used, "<%.*s>", (int)(span.end - span.begin), texts[i].text + span.begin);
        }
        ck_assert_msg(strcmp(found, texts[i].found) == 0, "%s: %s, not %s", texts[i].text, found, texts[i].found);
    }
}
END_TEST

static const char *const vocabularies[][2] = {{"sentencepiece", "tests/data/tiny.en.spm"},
                                              {"words", "tests/data/tiny.en.words"},
                                              {"characters", "tests/data/tiny.en.characters"}};

/* Around its placeholders. */
static struct token *encode(const struct tokenizer *tokenizer, const char *text, struct arena *arena, size_t *count) {
    struct guard guard = {0};
    struct opaque_runs held;
    struct token *tokens;
    ck_assert_int_eq(guard_find(&guard, text, strlen(text), arena, &held, NULL), 0);
    ck_assert_int_eq(tokenizer_encode_around(tokenizer, text, strlen(text), &held, NULL, arena, &tokens, count, NULL), 0);
    return tokens;
}

/* Each placeholder is one unknown token with its own bytes; the others are in order, and all that is visible is in one. */
static void check_tokens(const struct tokenizer *tokenizer, const char *text, struct arena *arena) {
    struct span span;
    size_t count, next = 0, end = 0, at = 0, length = strlen(text);
    struct token *tokens = encode(tokenizer, text, arena, &count);
    while (placeholder_next(text, length, &at, &span)) {
        while (next < count && !(tokens[next].begin == span.begin && tokens[next].end == span.end))
            next++;
        ck_assert_msg(next < count, "%s: no token for [%zu, %zu)", text, span.begin, span.end);
        ck_assert_int_eq(tokens[next].id, tokenizer_unknown(tokenizer));
        next++;
    }
    for (size_t i = 0; i < count; i++) {
        ck_assert(tokens[i].begin >= end && tokens[i].end >= tokens[i].begin && tokens[i].end <= length);
        for (size_t j = end; j < tokens[i].begin; j++)
            ck_assert_msg(text[j] == ' ', "%s: '%c' is in no token", text, text[j]);
        end = tokens[i].end;
    }
    ck_assert_uint_eq(end, length);
}

START_TEST(placeholders_are_tokens) {
    static const char *const read[] = {"{a}",
                                       "A boy {name} plays.",
                                       "{a}{b} {c}, ({d})snow{e}x",
                                       "\xe6\xbc\xa2{a}\xe6\xbc\xa2",
                                       "\xee\x80\x80 {a} \xee\x80\x80",
                                       "Boy %s https://a.b/c?d=E."};
    struct error err = {0};
    struct arena arena;
    struct tokenizer *tokenizer = tokenizer_open(vocabularies[_i][0], vocabularies[_i][1], NULL, &err);
    ck_assert_msg(tokenizer != NULL, "%s", err.message);
    arena_init(&arena, 1024);
    for (size_t i = 0; i < sizeof read / sizeof *read; i++)
        check_tokens(tokenizer, read[i], &arena);
    arena_done(&arena);
    tokenizer_free(tokenizer);
}
END_TEST

/* Without placeholders a text is read as ever; with them so is what is around them. */
START_TEST(the_rest_is_read_as_ever) {
    struct error err = {0};
    struct arena arena;
    struct token *plain, *masked;
    size_t plain_count, masked_count;
    struct tokenizer *tokenizer = tokenizer_open("sentencepiece", vocabularies[0][1], NULL, &err);
    arena_init(&arena, 1024);
    ck_assert_int_eq(tokenizer_encode(tokenizer, "A boy plays", 11, NULL, &arena, &plain, &plain_count, &err), 0);
    masked = encode(tokenizer, "A boy plays {x}", &arena, &masked_count);
    ck_assert_uint_eq(masked_count, plain_count + 1);
    for (size_t i = 0; i < plain_count; i++)
        ck_assert_int_eq(plain[i].id, masked[i].id);
    ck_assert_str_eq(masked[plain_count].piece, "\xe2\x96\x81{x}");
    masked = encode(tokenizer, "A({x}", &arena, &masked_count);
    ck_assert_str_eq(masked[masked_count - 1].piece, "{x}");
    arena_done(&arena);
    tokenizer_free(tokenizer);
}
END_TEST

/* Of a part, and what goes across its edges is not within. */
START_TEST(parts_have_their_own) {
    struct span all[] = {{2, 5}, {5, 6}, {8, 12}, {20, 21}};
    const struct opaque_runs held = {all, 4};
    static const struct {
        struct span part;
        size_t count, first, last;
    } parts[] = {{{0, 30}, 4, 2, 21}, {{2, 12}, 3, 0, 10}, {{3, 12}, 2, 2, 9},   {{2, 11}, 2, 0, 4}, {{5, 6}, 1, 0, 1},
                 {{6, 8}, 0, 0, 0},   {{9, 11}, 0, 0, 0},  {{9, 30}, 1, 11, 12}, {{21, 30}, 0, 0, 0}};
    struct arena arena;
    arena_init(&arena, 1024);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        struct opaque_runs found;
        ck_assert_int_eq(placeholders_within(&held, parts[i].part, &arena, &found, NULL), 0);
        ck_assert_uint_eq(found.count, parts[i].count);
        if (found.count == 0)
            continue;
        ck_assert_uint_eq(found.all[0].begin, parts[i].first);
        ck_assert_uint_eq(found.all[found.count - 1].end, parts[i].last);
    }
    arena_done(&arena);
}
END_TEST

Suite *placeholder_suite(void) {
    Suite *suite = suite_create("placeholder");
    TCase *cases = tcase_create("all");
    tcase_add_test(cases, placeholders_are_found);
    tcase_add_loop_test(cases, placeholders_are_tokens, 0, 3);
    tcase_add_test(cases, the_rest_is_read_as_ever);
    tcase_add_test(cases, parts_have_their_own);
    suite_add_tcase(suite, cases);
    return suite;
}
