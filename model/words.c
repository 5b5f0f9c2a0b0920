#include "model/words.h"
#include "model/model.h"
#include "model/text/character.h"

/* Words between white space; words NULL: only counts. */
static size_t find_spaced(const char *text, size_t length, struct span *words) {
    size_t count = 0, begin = 0;
    bool inside = false;
    for (size_t at = 0, next = 0; at <= length; at = next) {
        bool space = at == length || character_is_space(character_next(text, length, &next));
        if (inside && space && words)
            words[count] = (struct span){begin, at};
        count += inside && space;
        begin = inside ? begin : at;
        inside = !space;
        next += at == length;
    }
    return count;
}

int translator_words(const struct translator *translator, enum word_kind kind, const char *text, size_t length, struct arena *arena,
                     struct span **words, size_t *count, struct error *err) {
    if (kind == WORDS_UNICODE)
        return segmenter_words(translator->segmenter, text, length, arena, words, count, err);
    struct span *found = arena_alloc(arena, find_spaced(text, length, NULL), sizeof *found);
    if (!found)
        return error_memory(err);
    *count = find_spaced(text, length, found);
    *words = found;
    return 0;
}

/* The first word that ends behind this byte; count: none. */
static size_t word_behind(const struct span *words, size_t count, size_t byte) {
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (words[middle].end > byte)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

void words_of_tokens(const char *text, const struct token *tokens, size_t count, const struct span *words, size_t word_count,
                     struct word_range *ranges) {
    for (size_t i = 0; i < count; i++) {
        struct span inner = segmenter_trim(text + tokens[i].begin, tokens[i].end - tokens[i].begin);
        size_t begin = tokens[i].begin + inner.begin, end = tokens[i].begin + inner.end;
        size_t first = word_behind(words, word_count, begin), behind = first + (first < word_count);
        while (behind < word_count && words[behind].begin < end)
            behind++;
        ranges[i] = (struct word_range){first, behind};
    }
}
