/* Vocabularies: the first byte chooses YAML, JSON, SentencePiece or one word a line; its third bit:
 * the file segments, and a list of words numbers. A vocabulary that is read is written for both
 * sides. */
#include "model/import/conversion.h"
#include "tests/fuzz/foreign.h"
#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct error error = {0};
    struct arena arena;
    arena_init(&arena, 1 << 16);
    static const char *const endings[] = {"yml", "json", "spm", "txt"};
    struct vocabulary made;
    struct ids ids;
    char path[96];
    snprintf(path, sizeof path, "%s/v.%s", foreign_work(), endings[size > 0 ? data[0] % 4 : 3]);
    FILE *file = fopen(path, "wb");
    FUZZ_CHECK(file && fwrite(data + (size > 0), 1, size - (size > 0), file) == size - (size > 0) &&
               fclose(file) == 0);
    const char *const words[] = {"</s>", "<unk>", "a", "b"};
    struct vocabulary list;
    struct tokenizer_files files;
    FUZZ_CHECK(vocabulary_of_words("v", words, 4, &arena, &list, NULL) == 0);
    int result = size > 0 && data[0] & 4 ? vocabulary_segmented(path, &list, &arena, &made, &error)
                                         : vocabulary_import(path, 4, &arena, &made, &error);
    FUZZ_CHECK(result == 0
                   ? made.size == 4 && conversion_ids_of(&made, &arena, &ids, &error) == 0 &&
                         ids.size == 4
                   : error.message[0] != 0);
    if (result == 0) {
        FUZZ_CHECK(conversion_tokenizer_files_of(&made, &made, &files, &error) == 0 &&
                   files.count > 0);
        json_decref(files.section);
        if (conversion_tokenizer_files_of(&made, &list, &files, &error) == 0)
            json_decref(files.section);
        else
            FUZZ_CHECK(made.sentencepiece && error.message[0] != 0);
    }
    arena_done(&arena);
    return 0;
}
