/* model/tokenizer, model/sentencepiece and model/spm_file, with two vocabularies of 200 pieces and
 * with files made by hand. */
#include "model/base/utf8.h"
#include "model/text/tokenizer.h"
#include "tests/files.h"
#include "tests/suites.h"
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENGLISH "tests/data/tiny.en.spm"
#define FRENCH  "tests/data/tiny.fr.spm"

static struct tokenizer *english, *french;
static struct arena arena;
static struct error err;

static void open_both(void) {
    err = (struct error){0};
    english = tokenizer_open("sentencepiece", ENGLISH, NULL, &err);
    ck_assert_msg(english != NULL, "%s", err.message);
    french = tokenizer_open("sentencepiece", FRENCH, NULL, &err);
    ck_assert_msg(french != NULL, "%s", err.message);
    arena_init(&arena, 1 << 16);
}

static void close_both(void) {
    tokenizer_free(english);
    tokenizer_free(french);
    arena_done(&arena);
}

static struct token *encode(const struct tokenizer *tokenizer, const char *text, size_t length,
                            size_t *count) {
    struct token_list list = {0};
    ck_assert_msg(
        tokenizer_encode(tokenizer, (struct bytes){text, length}, NULL, &arena, &list, &err) == 0,
        "%s", err.message);
    *count = list.count;
    return list.all;
}

static char *decode(const struct tokenizer *tokenizer, const struct token *source, size_t count,
                    struct token **tokens) {
    *tokens = arena_zalloc(&arena, count, sizeof **tokens);
    for (size_t i = 0; i < count; i++)
        (*tokens)[i].id = source[i].id;
    char *text = NULL;
    ck_assert_msg(tokenizer_decode(tokenizer, *tokens, count, &arena, &text, &err) == 0, "%s",
                  err.message);
    return text;
}

static void check_only_space(const char *text, size_t begin, size_t end) {
    while (begin < end)
        ck_assert(character_is_space(character_next(text, end, &begin)));
}

static bool at_boundary(const char *text, size_t length, size_t at) {
    return at == length || ((unsigned char)text[at] & 0xc0) != 0x80;
}

/* Tokens rise, do not overlap, lie on character boundaries, neither begin nor end with white space,
 * and leave nothing else out. */
static void check_tiling(const char *text, size_t length, const struct token *tokens,
                         size_t count) {
    size_t end = 0;
    for (size_t i = 0; i < count; i++) {
        ck_assert_uint_le(end, tokens[i].begin);
        ck_assert_uint_le(tokens[i].begin, tokens[i].end);
        ck_assert_uint_le(tokens[i].end, length);
        ck_assert(at_boundary(text, length, tokens[i].begin) &&
                  at_boundary(text, length, tokens[i].end));
        check_only_space(text, end, tokens[i].begin);
        end = tokens[i].end;
        if (tokens[i].begin == end)
            continue;
        size_t first = tokens[i].begin, last = end;
        ck_assert(!character_is_space(character_next(text, length, &first)));
        ck_assert(!character_is_space(character_previous(text, &last)));
    }
    check_only_space(text, end, length);
}

/* The text, and what normalisation (nmt_nfkc) makes of it. */
static const struct {
    const char *text, *normalised;
} known[] = {
    {"Tom is here.", "Tom is here."},
    {"", ""},
    {" \t\n \u00a0\u3000", ""},
    {"  Tom   is\there. \n", "Tom is here."},
    {"\u00a0Tom\u00a0 is", "Tom is"},
    {"the \ufb01re", "the fire"},
    {"\uff34\uff4f\uff4d\u3000is", "Tom is"},
    {"wait\u2026", "wait..."},
    {"\u2026", "..."},
    {"a\u200bn", "a n"},
};

START_TEST(decoding_gives_the_normalised_text) {
    size_t count;
    struct token *tokens = encode(english, known[_i].text, strlen(known[_i].text), &count),
                 *decoded;
    check_tiling(known[_i].text, strlen(known[_i].text), tokens, count);
    const char *text = decode(english, tokens, count, &decoded);
    ck_assert_str_eq(text, known[_i].normalised);
    check_tiling(text, strlen(text), decoded, count);
}
END_TEST

START_TEST(accents_compose) {
    size_t count, plain_count;
    const char *text = "Il a e\u0301te\u0301 arrache\u0301, c\u0327a va ?";
    struct token *tokens = encode(french, text, strlen(text), &count), *decoded;
    check_tiling(text, strlen(text), tokens, count);
    const char *plain = decode(french, tokens, count, &decoded);
    ck_assert_str_eq(plain, "Il a été arraché, ça va ?");
    struct token *same = encode(french, plain, strlen(plain), &plain_count);
    ck_assert_uint_eq(count, plain_count);
    for (size_t i = 0; i < count; i++)
        ck_assert_int_eq(tokens[i].id, same[i].id);
}
END_TEST

static const char *const strange[] = {
    "\u4f60\u597d\uff0c\u4e16\u754c\u3002 Tom",
    "\U0001f600\U0001f600 is \U0001f468\u200d\U0001f469\u200d\U0001f467!",
    "\ufdfa",
    "\u00bd \u338f \u2122 \u212b",
    "x\u0323\u0307\u0301\u0302 y\u0301",
    "Tom\u2581 \u2581is",
    "<unk> <s> </s>",
    "\u0635\u0644\u0649 \u0627\u0644\u0644\u0647",
    "\u1112\u1161\u11ab\uae00",
};

START_TEST(strange_characters_keep_their_bytes) {
    size_t count;
    struct token *tokens = encode(english, strange[_i], strlen(strange[_i]), &count), *decoded;
    ck_assert_uint_gt(count, 0);
    check_tiling(strange[_i], strlen(strange[_i]), tokens, count);
    const char *text = decode(english, tokens, count, &decoded);
    check_tiling(text, strlen(text), decoded, count);
}
END_TEST

static void check_token(const struct token *token, const char *piece, size_t begin, size_t end) {
    ck_assert_str_eq(token->piece, piece);
    ck_assert_uint_eq(token->begin, begin);
    ck_assert_uint_eq(token->end, end);
}

START_TEST(offsets_leave_white_space_out) {
    size_t count;
    const char *text = "  a \u00a0to you ";
    struct token *tokens = encode(english, text, strlen(text), &count);
    ck_assert_uint_eq(count, 3);
    check_token(&tokens[0], "▁a", 2, 3);
    check_token(&tokens[1], "▁to", 6, 8);
    check_token(&tokens[2], "▁you", 9, 12);
}
END_TEST

START_TEST(unknown_pieces_are_the_text) {
    size_t count;
    const char *text = "to \u4f60\u597d.";
    struct token *tokens = encode(english, text, strlen(text), &count), *decoded;
    ck_assert_uint_eq(count, 4);
    check_token(&tokens[0], "▁to", 0, 2);
    check_token(&tokens[1], "▁", 3, 3);
    check_token(&tokens[2], "\u4f60\u597d", 3, 9);
    check_token(&tokens[3], ".", 9, 10);
    ck_assert_int_eq(tokens[2].id, tokenizer_unknown(english));
    ck_assert_str_eq(decode(english, tokens, count, &decoded), "to  \u2047 .");
    check_token(&decoded[2], "<unk>", 4, 7);
    check_token(&decoded[3], ".", 8, 9);
}
END_TEST

START_TEST(one_character_of_many_pieces) {
    size_t count;
    struct token *tokens = encode(english, "\u2026", 3, &count);
    ck_assert_uint_eq(count, 4);
    check_token(&tokens[0], "▁", 0, 0);
    check_token(&tokens[1], ".", 0, 0);
    check_token(&tokens[2], ".", 0, 0);
    check_token(&tokens[3], ".", 0, 3);
}
END_TEST

START_TEST(a_character_that_normalises_to_nothing_gives_no_token) {
    size_t count;
    encode(english, "\u200b", 3, &count);
    ck_assert_uint_eq(count, 0);
    struct token *tokens = encode(english, "\u2581to\u200b", 8, &count);
    ck_assert_uint_eq(count, 1);
    check_token(&tokens[0], "▁to", 3, 5);
}
END_TEST

START_TEST(nul_is_a_character) {
    size_t count;
    static const char text[] = "to\0to you";
    struct token *tokens = encode(english, text, sizeof text - 1, &count);
    check_tiling(text, sizeof text - 1, tokens, count);
    ck_assert_uint_eq(tokens[count - 1].end, sizeof text - 1);
    ck_assert_str_eq(tokens[count - 1].piece, "▁you");
}
END_TEST

START_TEST(ill_formed_text_is_survived) {
    static const char *const texts[] = {"\xff\xfe to", "\xc3", "to\xed\xa0\x80", "\xf0\x9f\x98",
                                        "\x80\x80\x80\x80\x80\x80"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        size_t count;
        struct token *tokens = encode(english, texts[i], strlen(texts[i]), &count);
        ck_assert(count == 0 || tokens[count - 1].end <= strlen(texts[i]));
    }
}
END_TEST

/* 100 kB of one text again and again. */
static char *repeat(const char *text, size_t *length) {
    size_t once = strlen(text);
    *length = 100000 / once * once;
    char *all = arena_alloc(&arena, *length, 1);
    for (size_t at = 0; at < *length; at += once)
        memcpy(all + at, text, once);
    return all;
}

START_TEST(a_long_text_is_as_many_short_ones) {
    size_t length, once, count;
    char *text = repeat("Tom is here. ", &length);
    struct token *single = encode(english, "Tom is here. ", 13, &once),
                 *tokens = encode(english, text, length, &count), *decoded;
    check_tiling(text, length, tokens, count);
    ck_assert_uint_eq(count, length / 13 * once);
    for (size_t i = 0; i < count; i++) {
        ck_assert_int_eq(tokens[i].id, single[i % once].id);
        ck_assert_uint_eq(tokens[i].begin, i / once * 13 + single[i % once].begin);
    }
    const char *back = decode(english, tokens, count, &decoded);
    ck_assert_uint_eq(strlen(back), length - 1);
    ck_assert_mem_eq(back, text, length - 1);
}
END_TEST

/* The library alone takes time in the square of the length for the second one. */
START_TEST(a_long_word_is_not_slow) {
    static const char *const words[] = {"abcdefgh", "\u4f60", "\u2026"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t length, count;
        char *text = repeat(words[i], &length);
        struct token *tokens = encode(english, text, length, &count);
        check_tiling(text, length, tokens, count);
    }
}
END_TEST

START_TEST(special_pieces) {
    ck_assert_uint_eq(tokenizer_size(english), 200);
    ck_assert_int_eq(tokenizer_unknown(english), 0);
    ck_assert_int_eq(tokenizer_begin(english), 1);
    ck_assert_int_eq(tokenizer_end(english), 2);
    ck_assert_str_eq(tokenizer_piece(english, 0), "<unk>");
    ck_assert_str_eq(tokenizer_piece(english, 1), "<s>");
    ck_assert_str_eq(tokenizer_piece(english, 2), "</s>");
}
END_TEST

START_TEST(pieces_are_found) {
    for (int id = 3; id < 200; id++)
        ck_assert_int_eq(tokenizer_find(english, tokenizer_piece(english, id)), id);
    for (int id = 0; id < 3; id++)
        ck_assert_int_eq(tokenizer_find(english, tokenizer_piece(english, id)), -1);
    ck_assert_int_eq(tokenizer_find(english, "\u4f60"), -1);
    ck_assert_int_eq(tokenizer_find(english, ""), -1);
}
END_TEST

START_TEST(decoding_nothing_and_special_pieces) {
    char *text;
    struct token tokens[] = {{.id = 1}, {.id = 2}}, strange_token = {.id = 200};
    ck_assert_int_eq(tokenizer_decode(english, NULL, 0, &arena, &text, &err), 0);
    ck_assert_str_eq(text, "");
    ck_assert_int_eq(tokenizer_decode(english, tokens, 2, &arena, &text, &err), 0);
    ck_assert_str_eq(text, "");
    ck_assert_uint_eq(tokens[1].end, 0);
    ck_assert_int_eq(tokenizer_decode(english, &strange_token, 1, &arena, &text, &err), -1);
    ck_assert_int_eq(err.code, ERROR_INPUT);
}
END_TEST

START_TEST(a_text_too_long_is_refused) {
    struct token_list tokens = {NULL, 7, false};
    ck_assert_int_eq(
        tokenizer_encode(english, (struct bytes){"", (size_t)1 << 31}, NULL, &arena, &tokens, &err),
        -1);
    ck_assert_int_eq(err.code, ERROR_LENGTH);
    ck_assert_str_eq(err.message, "a text of 2147483648 bytes is too long");
    ck_assert(tokens.all == NULL && tokens.count == 7);
}
END_TEST

static void check_refused(const char *kind, const char *path, enum error_code code,
                          const char *message) {
    struct error refused = {0};
    ck_assert_ptr_null(tokenizer_open(kind, path, NULL, &refused));
    ck_assert_int_eq(refused.code, code);
    ck_assert_str_eq(refused.message, message);
}

START_TEST(files_that_cannot_be_read) {
    check_refused("sentencepiece", "/nowhere/x.spm", ERROR_FILE,
                  "cannot open /nowhere/x.spm: No such file or directory");
    check_refused("sentencepiece", "tests", ERROR_FILE, "cannot read tests: not a regular file");
    check_refused("letters", ENGLISH, ERROR_FORMAT, "tokenizer.type: letters is not known");
    tokenizer_free(NULL);
}
END_TEST

/* True if the bytes were refused, with ERROR_FORMAT; otherwise the tokenizer must work without
 * harm. */
static bool refuses(const void *data, size_t length) {
    struct error refused = {0};
    char *path = file_write(data, length);
    struct tokenizer *tokenizer = tokenizer_open("sentencepiece", path, NULL, &refused);
    if (tokenizer == NULL) {
        ck_assert_int_eq(refused.code, ERROR_FORMAT);
        ck_assert_msg(strncmp(refused.message, path, strlen(path)) == 0, "%s", refused.message);
    }
    for (size_t i = 0; tokenizer != NULL && i < sizeof strange / sizeof *strange; i++) {
        size_t count, end = 0;
        struct token *tokens = encode(tokenizer, strange[i], strlen(strange[i]), &count), *decoded;
        for (size_t k = 0; k < count; end = tokens[k++].end)
            ck_assert(end <= tokens[k].begin && tokens[k].begin <= tokens[k].end &&
                      tokens[k].end <= strlen(strange[i]));
        decode(tokenizer, tokens, count, &decoded);
    }
    tokenizer_free(tokenizer);
    file_remove(path);
    return tokenizer == NULL;
}

static char *read_english(size_t *length) {
    char *data = arena_alloc(&arena, 1 << 20, 1);
    FILE *stream = fopen(ENGLISH, "rb");
    ck_assert_ptr_nonnull(stream);
    *length = fread(data, 1, 1 << 20, stream);
    fclose(stream);
    return data;
}

START_TEST(a_file_cut_short_is_refused) {
    size_t length;
    char *data = read_english(&length);
    for (size_t cut = 0; cut < length; cut += cut < 6000 ? 23 : 4999)
        ck_assert_msg(refuses(data, cut), "cut to %zu bytes", cut);
    for (size_t cut = length - 40; cut < length; cut++)
        ck_assert_msg(refuses(data, cut), "cut to %zu bytes", cut);
}
END_TEST

START_TEST(a_damaged_file_is_refused_or_harmless) {
    size_t length, refused = 0;
    char *data = read_english(&length);
    uint32_t state = 12345;
    for (size_t i = 0; i < 200; i++) {
        state = state * 1664525 + 1013904223;
        size_t at = i % 2 ? (state >> 8) % length : (state >> 8) % 6000;
        data[at] ^= (char)(1 << i % 8);
        refused += refuses(data, length);
        data[at] ^= (char)(1 << i % 8);
    }
    ck_assert_uint_gt(refused, 20);
    ck_assert(!refuses(data, length));
}
END_TEST

/* A model by hand: <unk>, and one piece with its score; a normaliser with this charsmap. */
struct made {
    const char *piece;
    size_t piece_size;
    float score;
    const void *charsmap;
    size_t charsmap_size;
};

static size_t put_bytes(unsigned char *to, unsigned number, const void *data, size_t size) {
    to[0] = (unsigned char)(number << 3 | 2);
    to[1] = (unsigned char)(size | 0x80);
    to[2] = (unsigned char)(size >> 7);
    if (size > 0)
        memcpy(to + 3, data, size);
    return size + 3;
}

static bool refuses_made(const struct made *made) {
    unsigned char file[8192], part[4096];
    size_t size = put_bytes(file, 1, "\x0a\x05<unk>\x15\0\0\0\0\x18\x02", 14);
    size_t part_size = put_bytes(part, 1, made->piece, made->piece_size);
    part[part_size] = 0x15; /* field 2, 32 bits */
    memcpy(part + part_size + 1, &made->score, 4);
    size += put_bytes(file + size, 1, part, part_size + 5);
    part_size = put_bytes(part, 2, made->charsmap, made->charsmap_size);
    size += put_bytes(file + size, 3, part, part_size);
    return refuses(file, size);
}

START_TEST(pieces_that_break_things_are_refused) {
    ck_assert(!refuses_made(&(struct made){"\xe2\x96\x81", 3, -1, "", 0}));
    ck_assert(refuses_made(&(struct made){"\xe2\x96\x81", 3, NAN, "", 0}));
    ck_assert(refuses_made(&(struct made){"\xe2\x96\x81", 3, INFINITY, "", 0}));
    ck_assert(refuses_made(&(struct made){"a\0b", 3, -1, "", 0}));
    ck_assert(refuses_made(&(struct made){"\xe2\x96", 2, -1, "", 0}));
}
END_TEST

/* The size of the trie, 256 units, and a string. */
struct charsmap {
    uint32_t trie_bytes, units[256];
    char strings[2];
};

enum { CHARSMAP_BYTES = 4 + 1024 + 2 };

static bool refuses_charsmap(const struct charsmap *charsmap) {
    return refuses_made(&(struct made){"\xe2\x96\x81", 3, -1, charsmap, CHARSMAP_BYTES});
}

START_TEST(charsmaps_are_checked) {
    struct charsmap good = {.trie_bytes = 1024, .strings = "x"}, bad;
    ck_assert(!refuses_charsmap(&good));
    bad = good;
    bad.trie_bytes = 4000; /* past the end */
    ck_assert(refuses_charsmap(&bad));
    bad.trie_bytes = 0;
    ck_assert(refuses_charsmap(&bad));
    bad.trie_bytes = 1026; /* no strings */
    ck_assert(refuses_charsmap(&bad));
    bad = good;
    bad.strings[1] = 'y'; /* without an end */
    ck_assert(refuses_charsmap(&bad));
    bad = good;
    bad.units[17] = 1u << 18 | 17; /* to block 1: there is only block 0 */
    ck_assert(refuses_charsmap(&bad));
    bad = good;
    bad.units[17] =
        1u << 8 | 4u << 10 | 17; /* the end of a key; its string's place is unit 17 ^ 4 */
    bad.units[17 ^ 4] = 1u << 31 | 1;
    ck_assert(!refuses_charsmap(&bad));
    bad.units[17 ^ 4] = 1u << 31 | 2; /* past the strings */
    ck_assert(refuses_charsmap(&bad));
    bad = good;
    bad.units[0] =
        1u << 31 | 1u << 18; /* to block 1: marked as a place, but every walk begins here */
    ck_assert(refuses_charsmap(&bad));
}
END_TEST

/* One vocabulary read in two ways: each has its own options, and the one that is shared outlives
 * the other. */
START_TEST(a_vocabulary_is_shared) {
    static const char text[] =
        "A\xe3\x80\x82 B"; /* an ideographic full stop, which preparation makes ". " */
    size_t count, shared_count;
    struct tokenizer *shared =
        tokenizer_share(english, &(struct tokenizer_options){.prepared = true}, &err);
    ck_assert_ptr_nonnull(shared);
    ck_assert_uint_eq(tokenizer_size(shared), tokenizer_size(english));
    ck_assert_ptr_eq(tokenizer_piece(shared, 5), tokenizer_piece(english, 5));
    const struct token *own = encode(english, text, sizeof text - 1, &count),
                       *as_prepared = encode(shared, text, sizeof text - 1, &shared_count);
    bool same = count == shared_count;
    for (size_t i = 0; same && i < count; i++)
        same = own[i].id == as_prepared[i].id;
    ck_assert(!same);
    tokenizer_free(shared);
    ck_assert_uint_eq(tokenizer_size(english), 200);
}
END_TEST

Suite *tokenizer_suite(void) {
    Suite *suite = suite_create("tokenizer");
    TCase *tests = tcase_create("tokenizer");
    tcase_add_checked_fixture(tests, open_both, close_both);
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, decoding_gives_the_normalised_text, 0, sizeof known / sizeof *known);
    tcase_add_test(tests, a_vocabulary_is_shared);
    tcase_add_test(tests, accents_compose);
    tcase_add_loop_test(tests, strange_characters_keep_their_bytes, 0,
                        sizeof strange / sizeof *strange);
    tcase_add_test(tests, offsets_leave_white_space_out);
    tcase_add_test(tests, unknown_pieces_are_the_text);
    tcase_add_test(tests, one_character_of_many_pieces);
    tcase_add_test(tests, a_character_that_normalises_to_nothing_gives_no_token);
    tcase_add_test(tests, nul_is_a_character);
    tcase_add_test(tests, ill_formed_text_is_survived);
    tcase_add_test(tests, a_long_text_is_as_many_short_ones);
    tcase_add_test(tests, a_long_word_is_not_slow);
    tcase_add_test(tests, special_pieces);
    tcase_add_test(tests, pieces_are_found);
    tcase_add_test(tests, decoding_nothing_and_special_pieces);
    tcase_add_test(tests, a_text_too_long_is_refused);
    tcase_add_test(tests, files_that_cannot_be_read);
    tcase_add_test(tests, a_file_cut_short_is_refused);
    tcase_add_test(tests, a_damaged_file_is_refused_or_harmless);
    tcase_add_test(tests, pieces_that_break_things_are_refused);
    tcase_add_test(tests, charsmaps_are_checked);
    suite_add_tcase(suite, tests);
    return suite;
}
