#include "model/text/segmenter.h"
#include "model/base/reserve.h"
#include "model/text/character.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unicode/ubrk.h>
#include <unicode/uclean.h>
#include <unicode/uloc.h>
#include <unicode/utext.h>

/* An iterator belongs to one text at a time: this one is never given any, every call works with a clone. */
struct segmenter {
    UBreakIterator *iterator;
};

/* ICU's name for a language together with the wish for its abbreviations: "en" -> "en@ss=standard". */
static int locale_name(const char *language, char name[ULOC_FULLNAME_CAPACITY], struct error *err) {
    UErrorCode status = U_ZERO_ERROR;
    int32_t parsed = 0;
    uloc_forLanguageTag(language, name, ULOC_FULLNAME_CAPACITY, &parsed, &status);
    if (U_FAILURE(status) || parsed == 0 || (size_t)parsed != strlen(language))
        return error_set(err, ERROR_FORMAT, "not a BCP-47 language: %s", language);
    uloc_setKeywordValue("ss", "standard", name, ULOC_FULLNAME_CAPACITY, &status);
    if (U_FAILURE(status))
        return error_set(err, ERROR_FORMAT, "language %s: %s", language, u_errorName(status));
    return 0;
}

static void *icu_allocate(const void *context, size_t bytes) {
    (void)context;
    return reserve_alloc(bytes);
}

static void *reallocate(const void *context, void *block, size_t bytes) {
    (void)context;
    return reserve_realloc(block, bytes);
}

static void icu_release(const void *context, void *block) {
    (void)context;
    free(block);
}

/* ICU takes other functions at any time: these go with the ones it has. */
static void keep_reserve(void) {
    UErrorCode status = U_ZERO_ERROR;
    u_setMemoryFunctions(NULL, icu_allocate, reallocate, icu_release, &status);
}

struct segmenter *segmenter_open(const char *language, struct error *err) {
    char name[ULOC_FULLNAME_CAPACITY];
    keep_reserve();
    if (reserve_fill(err) != 0 || locale_name(language, name, err) != 0)
        return NULL;
    struct segmenter *segmenter = malloc(sizeof *segmenter);
    if (segmenter == NULL) {
        error_memory(err);
        return NULL;
    }
    UErrorCode status = U_ZERO_ERROR;
    segmenter->iterator = ubrk_open(UBRK_SENTENCE, name, NULL, 0, &status);
    if (U_FAILURE(status)) {
        error_set(err, status == U_MEMORY_ALLOCATION_ERROR ? ERROR_MEMORY : ERROR_FILE, "ICU's sentence rules for %s: %s", language,
                  u_errorName(status));
        segmenter_free(segmenter);
        return NULL;
    }
    return segmenter;
}

void segmenter_free(struct segmenter *segmenter) {
    if (segmenter == NULL)
        return;
    ubrk_close(segmenter->iterator);
    free(segmenter);
}

struct span segmenter_trim(const char *text, size_t length) {
    size_t begin = 0, end = length;
    for (size_t next = 0; begin < length && character_is_space(character_next(text, length, &next));)
        begin = next;
    for (size_t next = end; end > begin && character_is_space(character_previous(text, &next));)
        end = next;
    return (struct span){begin, end};
}

/* Visits the sentences, writing spans where there is room for them (NULL: only counts). */
static size_t visit(UBreakIterator *iterator, const char *text, struct span *spans) {
    size_t count = 0, begin = (size_t)ubrk_first(iterator);
    for (int32_t end = ubrk_next(iterator); end != UBRK_DONE; end = ubrk_next(iterator)) {
        struct span visible = segmenter_trim(text + begin, (size_t)end - begin);
        if (visible.begin < visible.end) {
            if (spans != NULL)
                spans[count] = (struct span){begin + visible.begin, begin + visible.end};
            count++;
        }
        begin = (size_t)end;
    }
    return count;
}

int segmenter_split(const struct segmenter *segmenter, const char *text, size_t length, struct arena *arena, struct span **spans,
                    size_t *count, struct error *err) {
    if (length > INT_MAX)
        return error_set(err, ERROR_LENGTH, "a text of %zu bytes is too long", length);
    if (reserve_fill(err) != 0)
        return -1;
    int result = -1;
    UErrorCode status = U_ZERO_ERROR;
    UText input = UTEXT_INITIALIZER;
    UBreakIterator *iterator = ubrk_clone(segmenter->iterator, &status);
    utext_openUTF8(&input, text, (int64_t)length, &status);
    if (U_SUCCESS(status)) /* otherwise there may be no iterator */
        ubrk_setUText(iterator, &input, &status);
    if (U_FAILURE(status)) { /* a clone and a view of bytes in memory: there is nothing else that can fail */
        error_memory(err);
        goto done;
    }
    size_t found = visit(iterator, text, NULL);
    struct span *sentences = arena_alloc(arena, found, sizeof *sentences);
    if (sentences == NULL) {
        error_memory(err);
        goto done;
    }
    *count = visit(iterator, text, sentences);
    *spans = sentences;
    result = 0;
done:
    utext_close(&input);
    ubrk_close(iterator);
    return result;
}
