#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow" /* in C, arena_mark is the name of a struct and of a function */
extern "C" {
#include "model/base/arena.h"
#include "server/api/languages.h"
}
#pragma GCC diagnostic pop
#include <climits>
#include <cstdint>
#include <cstdio> /* cld2's header uses it and does not say so: this goes first */

#include <cld2/public/compact_lang_det.h>
#include <cld2/public/encodings.h>

int cld2_detect(const char *text, size_t length, bool markup, const char *expected, struct cld2_guess guesses[CLD2_GUESSES]) {
    CLD2::CLDHints hints = {expected, nullptr, CLD2::UNKNOWN_ENCODING, CLD2::UNKNOWN_LANGUAGE};
    CLD2::Language languages[CLD2_GUESSES];
    int percents[CLD2_GUESSES], text_bytes, valid_bytes, bytes = length > INT_MAX ? INT_MAX : static_cast<int>(length);
    double scores[CLD2_GUESSES];
    bool reliable;
    int count = 0;
    if (reserve_fill(nullptr) != 0) /* what it has made when it throws is never freed */
        return -1;
    try {
        CLD2::ExtDetectLanguageSummaryCheckUTF8(text, bytes, !markup, &hints, CLD2::kCLDFlagBestEffort, languages, percents, scores,
                                                nullptr, &text_bytes, &reliable, &valid_bytes);
        if (valid_bytes < bytes) /* a control character: what is before it must do */
            CLD2::ExtDetectLanguageSummaryCheckUTF8(text, valid_bytes, !markup, &hints, CLD2::kCLDFlagBestEffort, languages,
                                                    percents, scores, nullptr, &text_bytes, &reliable, &valid_bytes);
    } catch (...) { /* memory */
        return -1;
    }
    for (size_t i = 0; i < CLD2_GUESSES; i++) {
        if (percents[i] <= 0 || languages[i] == CLD2::UNKNOWN_LANGUAGE)
            continue;
        snprintf(guesses[count].code, CLD2_CODE_BYTES, "%s", CLD2::LanguageCode(languages[i]));
        guesses[count].score = scores[i];
        guesses[count++].percent = percents[i];
    }
    return count;
}

bool cld2_knows(const char *code) {
    return CLD2::GetLanguageFromName(code) != CLD2::UNKNOWN_LANGUAGE;
}

bool cld2_same(const char *a, const char *b) {
    return cld2_knows(a) && CLD2::GetLanguageFromName(a) == CLD2::GetLanguageFromName(b);
}
