/* Glossaries: the first byte chooses TSV, CSV or the file that keeps several, the rest is the text.
 * A glossary that was read can be written and read again without changes. */
#include "server/glossaries/glossaries.h"
#include "tests/fuzz/fuzz.h"
#include <stdlib.h>
#include <string.h>

static void check_file(const struct glossary_list *list) {
    struct glossary_list again = {0};
    size_t length;
    char *text = glossaries_write_file(list, &length);
    FUZZ_CHECK(text && glossaries_read_file(text, length, &again, NULL) == 0 &&
               again.count == list->count);
    for (size_t i = 0; i < list->count; i++) {
        const struct lexicon *one = &list->all[i]->lexicon, *other = &again.all[i]->lexicon;
        FUZZ_CHECK(one->count == other->count &&
                   strcmp(list->all[i]->about.name, again.all[i]->about.name) == 0);
        for (size_t j = 0; j < one->count; j++)
            FUZZ_CHECK(strcmp(one->entries[j].source, other->entries[j].source) == 0 &&
                       strcmp(one->entries[j].target, other->entries[j].target) == 0);
    }
    glossaries_list_done(&again);
    free(text);
}

/* Every source phrase is found in itself. */
static void check_lookup(const struct lexicon *lexicon) {
    for (size_t i = 0; i < lexicon->count; i++) {
        const char *source = lexicon->entries[i].source;
        const struct glossary_entry *entry;
        struct span span;
        size_t at = 0;
        FUZZ_CHECK(lexicon_next(lexicon, source, strlen(source), &at, &span, &entry));
    }
}

static void try_entries(const char *text, size_t length, enum glossary_format format) {
    const struct glossary_about about = {.id = "id", .name = "name"};
    struct kept_glossary *glossary = kept_glossary_create(&about, text, length, format, NULL);
    struct glossary_list list = {0};
    if (!glossary)
        return;
    check_lookup(&glossary->lexicon);
    if (glossaries_list_add(&list, glossary, NULL) == 0)
        check_file(&list);
    glossaries_list_done(&list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct glossary_list list = {0};
    if (size == 0)
        return 0;
    const char *text = (const char *)data + 1;
    if (data[0] % 3 < 2) {
        try_entries(text, size - 1, data[0] % 3 == 0 ? GLOSSARY_TSV : GLOSSARY_CSV);
    } else {
        if (glossaries_read_file(text, size - 1, &list, NULL) == 0)
            check_file(&list);
        glossaries_list_done(&list);
    }
    return 0;
}
