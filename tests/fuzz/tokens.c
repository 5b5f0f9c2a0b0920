#include "tests/fuzz/tokens.h"
#include "model/text/tokenizer.h"
#include "tests/fuzz/fuzz.h"
#include <string.h>

static void check_text(const struct tokenizer *tokenizer, const char *text, struct arena *arena) {
    const struct tokenizer_reading how = {.lowers = true};
    const struct bytes bytes = {text, strlen(text)};
    struct token_list list;
    size_t length = bytes.length, at = 0;
    char *decoded;
    if (tokenizer_encode(tokenizer, bytes, &how, arena, &list, NULL) != 0)
        return;
    struct token *tokens = list.all;
    size_t count = list.count;
    for (size_t i = 0; i < count; i++) {
        FUZZ_CHECK(tokens[i].id >= 0 && (size_t)tokens[i].id < tokenizer_size(tokenizer));
        FUZZ_CHECK(tokens[i].begin >= at && tokens[i].begin <= tokens[i].end &&
                   tokens[i].end <= length);
        at = tokens[i].end;
    }
    if (tokenizer_decode(tokenizer, tokens, count, arena, &decoded, NULL) == 0)
        FUZZ_CHECK(count == 0 || tokens[count - 1].end <= strlen(decoded));
}

void fuzz_tokenizer(const char *kind, const uint8_t *data, size_t size) {
    static const char *const texts[] = {
        "",
        "A boy plays in the snow.",
        "\u00a0 ﬁne\u2026 \u200bna\u00efve\u0301 \u4e2d\u6587 \U0001f600!",
        "A BOY {x} \u0130S L\u00c0.",
        "\t{name} https://x.org/a \n",
        "aaaaaaaaaaaaaaaaaaaaaaaa \xef\xb7\xba"};
    struct error error = {0};
    struct tokenizer *tokenizer = tokenizer_open(
        kind, fuzz_file(data, size), &(struct tokenizer_options){.lowers = true}, &error);
    FUZZ_CHECK(tokenizer || error.message[0] != '\0');
    if (!tokenizer)
        return;
    struct arena arena;
    arena_init(&arena, 4096);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        check_text(tokenizer, texts[i], &arena);
    for (size_t i = 0; i < tokenizer_size(tokenizer); i++)
        FUZZ_CHECK(tokenizer_piece(tokenizer, (int)i));
    arena_done(&arena);
    tokenizer_free(tokenizer);
}
