/* This file decides whether a translation that is the text itself, such as "Done" for "Done", is
 * one. Names and words that both languages share are. Models take a word with a capital letter for
 * a name if they have seen it so rarely that it is cut into pieces; in small letters they know it.
 */
#include "model/base/utf8.h"
#include "model/glossary.h"
#include "model/model.h"
#include "model/rendering.h"
#include <string.h>

enum { SCRATCH_BYTES = 4 * 1024 };

static bool has_letter(const char *text, size_t begin, size_t end) {
    while (begin < end)
        if (character_is_letter(character_next(text, end, &begin)))
            return true;
    return false;
}

/* Returns whether the best translation begins with another letter than a text, by its first piece:
 * then it need not be written. */
static bool begins_otherwise(const struct sentence *sentence, const char *text, size_t length) {
    const struct tokenizer *target = sentence->translator->target;
    const struct hypothesis *best = &sentence->hypotheses[0];
    if (best->length == 0 || (size_t)best->tokens[0] >= tokenizer_size(target) ||
        !tokenizer_is_text(target, best->tokens[0]))
        return false;
    const char *piece = tokenizer_piece(target, best->tokens[0]), *mark = tokenizer_mark(target);
    piece += strncmp(piece, mark, strlen(mark)) == 0 ? strlen(mark) : 0;
    size_t at = 0, other = 0, end = strlen(piece);
    int32_t first = end > 0 ? character_next(piece, end, &other) : ' ';
    return character_is_letter(first) && length > 0 &&
           character_lower(first) != character_lower(character_next(text, length, &at));
}

/* Returns whether the best translation has the same characters as a text, small letters and
 * capitals apart if `folds`. */
static bool comes_back(const struct sentence *sentence, const char *text, size_t length, bool folds,
                       struct arena *scratch) {
    struct rendering rendering;
    if (begins_otherwise(sentence, text, length))
        return false;
    if (rendering_make(sentence, &sentence->hypotheses[0], scratch, &rendering, NULL) != 0)
        return true;
    size_t at = 0, other = 0, end = strlen(rendering.text);
    while (at < length && other < end) {
        int32_t a = character_next(text, length, &at),
                b = character_next(rendering.text, end, &other);
        if (folds ? character_lower(a) != character_lower(b) : a != b)
            return false;
    }
    return at == length && other == end;
}

/* Returns a copy in small letters, or NULL if it has none other than the text or not as many bytes.
 */
static char *lower(const char *text, size_t length, struct arena *arena) {
    char *copy = arena_copy(arena, text, length), one[4];
    bool differs = false;
    for (size_t at = 0, next = 0; copy && at < length; at = next) {
        int32_t c = character_next(text, length, &next), small = character_lower(c);
        if (small == c)
            continue;
        if (character_put(small, one) != next - at)
            return NULL;
        memcpy(copy + at, one, next - at);
        differs = true;
    }
    return differs ? copy : NULL;
}

/* Returns whether the vocabulary has each word of the text in small letters whole, and no word with
 * a capital letter: a name is the other way round. */
static bool has_only_common_words(const struct sentence *capital, const struct sentence *small) {
    const char *text = small->text;
    bool letters = false;
    for (size_t i = 0, k = 0; i < small->length; i++) {
        const struct token *word = &small->tokens[i];
        size_t before = word->begin, after = word->end;
        if (!has_letter(text, word->begin, word->end))
            continue;
        letters = true;
        if (word->id == tokenizer_unknown(small->translator->source) ||
            (before > 0 && character_is_letter(character_previous(text, &before))) ||
            (after < small->source.end &&
             character_is_letter(character_next(text, small->source.end, &after))))
            return false;
        while (k < capital->length && capital->tokens[k].end <= word->begin)
            k++;
        bool same = memcmp(text + word->begin, capital->text + capital->source.begin + word->begin,
                           word->end - word->begin) == 0;
        if (!same && (k == capital->length || capital->tokens[k].end >= word->end))
            return false;
    }
    return letters;
}

struct sentence *echo_try_again(const struct sentence *sentence, struct arena *arena) {
    const char *text = sentence->text + sentence->source.begin;
    size_t length = sentence->source.end - sentence->source.begin;
    struct sentence_list made;
    struct arena scratch;
    if (sentence->reading.lowered || sentence->reading.labels > 0 || sentence->held.count > 0 ||
        sentence->options.phrases.count > 0)
        return NULL;
    arena_init(&scratch, SCRATCH_BYTES);
    bool same = comes_back(sentence, text, length, false, &scratch);
    arena_done(&scratch);
    struct translator_text small = {.text = same ? lower(text, length, arena) : NULL,
                                    .length = length};
    if (!small.text || sentence_prepare(sentence->translator, &small, &sentence->check->options,
                                        arena, &made, NULL) != 0)
        return NULL;
    struct sentence *retry = made.all;
    struct glossary glossary;
    if (made.count == 1 && retry->source.begin == 0 && retry->source.end == length &&
        has_only_common_words(sentence, retry)) {
        retry->caller.cancelled = sentence->caller.cancelled;
        retry->caller.owner = sentence->caller.owner;
        glossary_init(&glossary, NULL, &retry->arena);
        if (glossary_constrain(retry, &glossary, NULL) == 0)
            return retry;
    }
    while (made.count > 0)
        sentence_done(&retry[--made.count]);
    return NULL;
}

bool echo_is_untranslated(const struct sentence *retry) {
    struct arena scratch;
    arena_init(&scratch, SCRATCH_BYTES);
    bool translated =
        retry->hypotheses && !comes_back(retry, retry->text, retry->source.end, true, &scratch);
    arena_done(&scratch);
    return translated;
}
