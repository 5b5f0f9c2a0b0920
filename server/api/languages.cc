/* This file provides facts about languages: ICU and CLDR have names and the likely script and
 * region of a code, CLD2 detects the language of a text, and a logistic model rates the guess. The
 * file is C++ because CLD2 is. */
#include <algorithm>
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored                                                                     \
    "-Wshadow" /* in C, arena_mark is the name of a struct and of a function */
extern "C" {
#include "model/base/arena.h"
#include "model/base/utf8.h"
#include "server/api/languages.h"
}
#pragma GCC diagnostic pop
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstdio> /* cld2's header needs this header but does not include it */
#include <cstring>

#include <cld2/public/compact_lang_det.h>
#include <cld2/public/encodings.h>
#include <unicode/uchar.h>
#include <unicode/uloc.h>
#include <unicode/ures.h>
#include <unicode/uscript.h>
#include <unicode/uset.h>
#include <unicode/ustring.h>
#include <unicode/utf8.h>

/* CLD2 accepts at most four expected languages. For a text of one or two words, expected languages
 * outweigh the words themselves: CLD2 then takes "Hello" for French. */
enum { MAX_EXPECTED = 4, SHORT_BYTES = 16, CODE_BYTES = 32 };

/* ---- names and codes ---- */

static char fold(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c == '_' ? '-' : c;
}

bool language_same(const char *a, const char *b) {
    while (*a && fold(*a) == fold(*b)) {
        a++;
        b++;
    }
    return *a == '\0' && *b == '\0';
}

bool language_known(const char *code) {
    return *uloc_getISO3Language(code) != '\0';
}

bool language_widen(char *code) {
    size_t end = strlen(code);
    while (end > 0 && fold(code[end]) != '-')
        end--;
    if (end == 0)
        return false;
    code[end] = '\0';
    return true;
}

/* Maps codes that ISO 639 has withdrawn, and those of LibreTranslate and other services, to the
 * codes that are used here. */
static const char *const aliases[][2] = {
    {"iw", "he"},         {"in", "id"},         {"ji", "yi"},         {"jw", "jv"},
    {"mo", "ro"},         {"no", "nb"},         {"tl", "fil"},        {"pb", "pt-BR"},
    {"zh-CN", "zh-Hans"}, {"zh-SG", "zh-Hans"}, {"zh-TW", "zh-Hant"}, {"zh-HK", "zh-Hant"},
    {"zt", "zh-Hant"}};

static const char *without_alias(const char *code) {
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++) {
        if (language_same(code, aliases[i][0]))
            return aliases[i][1];
    }
    return code;
}

/* Returns how often code must be widened until it equals other, or LANGUAGE_FAR. */
static int steps_to(const char *code, const char *other) {
    char wide[CODE_BYTES];
    int steps = 0;
    if (strlen(code) >= sizeof wide)
        return LANGUAGE_FAR;
    strcpy(wide, code);
    while (!language_same(without_alias(wide), other)) {
        if (!language_widen(wide))
            return LANGUAGE_FAR;
        steps++;
    }
    return steps;
}

int language_distance(const char *has, const char *asked) {
    const char *model = without_alias(has), *wanted = without_alias(asked);
    int wider = steps_to(wanted, model);
    if (wider < LANGUAGE_FAR)
        return wider;
    int narrower = steps_to(model, wanted);
    return narrower < LANGUAGE_FAR ? LANGUAGE_NARROWER + narrower : LANGUAGE_FAR;
}

void language_name_in(const char *code, const char *in, char name[LANGUAGE_NAME_BYTES]) {
    UChar wide[LANGUAGE_NAME_BYTES];
    UErrorCode status = U_ZERO_ERROR;
    int32_t length = uloc_getDisplayName(code, in, wide, LANGUAGE_NAME_BYTES, &status), bytes = 0;
    u_strToUTF8(name, LANGUAGE_NAME_BYTES, &bytes, wide, length, &status);
    if (U_FAILURE(status) || status == U_STRING_NOT_TERMINATED_WARNING || bytes == 0)
        snprintf(name, LANGUAGE_NAME_BYTES, "%s", code);
}

void language_name(const char *code, char name[LANGUAGE_NAME_BYTES]) {
    language_name_in(code, "en", name);
    for (const char *c = name; *c; c++) {
        if (*c < ' ' || *c > '~') { /* a name must be printable ASCII */
            snprintf(name, LANGUAGE_NAME_BYTES, "%s", code);
            return;
        }
    }
}

void language_preferred(const char *header, char code[LANGUAGE_CODE_BYTES]) {
    size_t length =
        header ? strspn(header, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-")
               : 0;
    bool usable = length > 0 && length < LANGUAGE_CODE_BYTES && strchr(",; \t", header[length]);
    snprintf(code, LANGUAGE_CODE_BYTES, "%.*s", usable ? (int)length : 2, usable ? header : "en");
}

bool language_is_rtl(const char *code) {
    return uloc_isRightToLeft(code);
}

/* ---- variants ---- */

/* Describes a language with its likely script and region according to ICU. region is true if the
 * code itself has a region. */
struct language {
    char language[ULOC_LANG_CAPACITY], script[ULOC_SCRIPT_CAPACITY], likely[ULOC_COUNTRY_CAPACITY];
    bool region;
};

/* Returns false if code is not a language code. */
static bool language_read(const char *code, struct language *out) {
    /* A label may name a language for which codes use its macrolanguage (CLDR's aliases). */
    static const struct {
        const char *label, *wide;
    } labels[] = {{"arb", "ar"}, {"azj", "az"}, {"cmn", "zh"}, {"ekk", "et"},
                  {"khk", "mn"}, {"lvs", "lv"}, {"npi", "ne"}, {"pes", "fa"},
                  {"plt", "mg"}, {"swh", "sw"}, {"uzn", "uz"}, {"zsm", "ms"}};
    char plain[ULOC_FULLNAME_CAPACITY], own[ULOC_LANG_CAPACITY], likely[ULOC_FULLNAME_CAPACITY],
        region[ULOC_COUNTRY_CAPACITY];
    UErrorCode status = U_ZERO_ERROR;
    uloc_getLanguage(code, own, sizeof own, &status);
    uloc_getCountry(code, region, sizeof region, &status);
    if (U_FAILURE(status) || status == U_STRING_NOT_TERMINATED_WARNING || strlen(own) < 2 ||
        strlen(own) > 3)
        return false;
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
        if (strcmp(own, labels[i].label) == 0)
            snprintf(own, sizeof own, "%s", labels[i].wide);
    }
    snprintf(plain, sizeof plain, "%s%s", own, code + strcspn(code, "-_"));
    uloc_addLikelySubtags(plain, likely, sizeof likely, &status);
    uloc_getLanguage(likely, out->language, sizeof out->language, &status);
    uloc_getScript(likely, out->script, sizeof out->script, &status);
    uloc_getCountry(likely, out->likely, sizeof out->likely, &status);
    out->region = *region != '\0';
    return U_SUCCESS(status);
}

const char *language_among(const char *const *labels, size_t count, const char *code) {
    struct language asked, label;
    for (size_t i = 0; i < count; i++)
        if (language_same(labels[i], code))
            return labels[i];
    const char *best = NULL;
    int most = 0;
    bool known = count > 0 && language_read(code, &asked);
    for (size_t i = 0; known && i < count; i++) {
        /* fits is 0 if the label does not match, 1 if the label has no region, and 2 if the region
         * matches, too */
        int fits = 0;
        if (language_read(labels[i], &label) && strcmp(label.language, asked.language) == 0 &&
            strcmp(label.script, asked.script) == 0)
            fits = !label.region ? 1 : strcmp(label.likely, asked.likely) == 0 ? 2 : 0;
        if (fits > most) {
            best = labels[i];
            most = fits;
        }
    }
    return best;
}

void variant_code(const char *variant, char code[VARIANT_CODE_BYTES]) {
    struct language language;
    UErrorCode status = U_ZERO_ERROR;
    int32_t length = language_read(variant, &language)
                         ? uloc_toLanguageTag(variant, code, VARIANT_CODE_BYTES, true, &status)
                         : 0;
    if (length <= 0 || length >= VARIANT_CODE_BYTES || U_FAILURE(status))
        snprintf(code, VARIANT_CODE_BYTES, "%s", variant);
}

void language_flores(const char *code, char flores[VARIANT_CODE_BYTES]) {
    struct language language;
    const char *three = uloc_getISO3Language(code);
    if (*three && language_read(code, &language))
        snprintf(flores, VARIANT_CODE_BYTES, "%s_%s", three, language.script);
    else
        snprintf(flores, VARIANT_CODE_BYTES, "%s", code);
}

/* ---- detection ---- */

enum { CLD2_GUESSES = 3, CLD2_CODE_BYTES = 16 };

struct cld2_guess {
    char code[CLD2_CODE_BYTES];
    int percent;  /* percent of the text */
    double score; /* score of the letters per kB, about 1,000 for typical text */
};

/* Writes the likeliest languages of a text of any bytes, best first. Prefers the codes in expected,
 * which are separated by commas; expected may be NULL. Returns the number of guesses, or -1 if
 * memory runs out. */
static int detect(const char *text, size_t length, bool markup, const char *expected,
                  struct cld2_guess guesses[CLD2_GUESSES]) {
    CLD2::CLDHints hints = {expected, nullptr, CLD2::UNKNOWN_ENCODING, CLD2::UNKNOWN_LANGUAGE};
    CLD2::Language languages[CLD2_GUESSES];
    int percents[CLD2_GUESSES], text_bytes, valid_bytes,
        bytes = length > INT_MAX ? INT_MAX : static_cast<int>(length);
    double scores[CLD2_GUESSES];
    bool reliable;
    int count = 0;
    if (reserve_fill(nullptr) != 0) /* CLD2 leaks its memory if it throws */
        return -1;
    try {
        CLD2::ExtDetectLanguageSummaryCheckUTF8(
            text, bytes, !markup, &hints, CLD2::kCLDFlagBestEffort, languages, percents, scores,
            nullptr, &text_bytes, &reliable, &valid_bytes);
        if (valid_bytes < bytes) /* retry with the text before the first control character */
            CLD2::ExtDetectLanguageSummaryCheckUTF8(
                text, valid_bytes, !markup, &hints, CLD2::kCLDFlagBestEffort, languages, percents,
                scores, nullptr, &text_bytes, &reliable, &valid_bytes);
    } catch (...) { /* CLD2 ran out of memory */
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

/* Returns true if the detector knows the language of this BCP-47 code. */
static bool is_known(const char *code) {
    return CLD2::GetLanguageFromName(code) != CLD2::UNKNOWN_LANGUAGE;
}

/* Returns true if both codes mean the same language and the detector knows it: "nb" and "no", "he"
 * and "iw". */
static bool is_synonym(const char *a, const char *b) {
    return is_known(a) && CLD2::GetLanguageFromName(a) == CLD2::GetLanguageFromName(b);
}

/* Returns true if the codes match: "en" from the detector matches "en-GB" of a model. */
static bool is_language(const char *code, const char *detected) {
    char wide[CODE_BYTES];
    snprintf(wide, sizeof wide, "%s", code);
    do {
        if (language_same(wide, detected))
            return true;
    } while (language_widen(wide));
    return false;
}

/* Sets best from the result of detect. Returns true if a guess is one of the codes [count], or if
 * detect failed. */
static bool language_choose(const struct cld2_guess *guesses, int guess_count,
                            const char *const *codes, size_t count, struct language_guess *best) {
    best->failed = guess_count < 0;
    for (int i = 0; i < guess_count; i++) {
        for (size_t j = 0; j < count; j++) {
            if (is_language(codes[j], guesses[i].code)) {
                best->index = j;
                return true;
            }
        }
    }
    return best->failed;
}

/* The confidence of a guess depends on CLD2's score, the agreement of its two answers, and the
 * letters. It does not depend on CLD2's percentage, which is 96% English for an Italian sentence
 * with one English word. The weights were fitted once to messages of Debian's programs. python3 -m
 * weights.evaluation.detection prints how often guesses of each confidence are right. With --fit it
 * fits new weights, which differ from these, since some inputs are nearly redundant and many
 * weights fit equally well. */
enum { CONFIDENCE_BYTES = 4096, MOST_LETTERS = 60 };
static const double MOST_SCORE = 1.6; /* thousands */
static const double weights[LANGUAGE_FEATURES] = {-1.696, 0.765,  0.243,   0.067, -0.536, 2.601,
                                                  -1.057, -1.508, -10.413, 1.635, 1.197};

/* Returns the set of letters that a language uses, or NULL if it is unknown. The caller closes the
 * set with uset_close. */
static USet *letters_of(const char *code) {
    UErrorCode status = U_ZERO_ERROR;
    UResourceBundle *data = ures_open(NULL, code, &status);
    bool known = U_SUCCESS(status) && status != U_USING_DEFAULT_WARNING;
    int32_t length = 0;
    const UChar *pattern =
        known ? ures_getStringByKey(data, "ExemplarCharacters", &length, &status) : NULL;
    USet *set = pattern && U_SUCCESS(status) ? uset_openPattern(pattern, length, &status) : NULL;
    ures_close(data);
    if (U_SUCCESS(status))
        return set;
    uset_close(set);
    return NULL;
}

/* Sets the features and the confidence. top is the detector's best guess without expected
 * languages, or NULL. */
static void set_confidence(const char *text, size_t length, const char *const *codes, size_t count,
                           const struct cld2_guess *top, struct language_guess *guess) {
    /* count the letters, and those that the language does not use, except in capitalized words,
     * which are often names */
    USet *written = letters_of(codes[guess->index]);
    size_t letters = 0, foreign = 0, bytes = utf8_clip(text, length, CONFIDENCE_BYTES);
    bool name = false, inside = false;
    for (size_t i = 0; i < bytes;) {
        UChar32 c;
        U8_NEXT((const uint8_t *)text, i, bytes, c);
        bool letter = c > 0 && u_isalpha(c);
        name = letter && (inside ? name : u_isupper(c));
        inside = letter;
        letters += letter;
        foreign += letter && !name && c > 0x7f && written && !uset_contains(written, u_tolower(c));
    }
    uset_close(written);

    double *f = guess->features, sum = 0, score = top ? fmin(top->score / 1000, MOST_SCORE) : 0;
    bool same = top && is_language(codes[guess->index], top->code), known = false;
    for (size_t i = 0; top && i < count; i++)
        known |= is_language(codes[i], top->code);
    f[FEATURE_ONE] = 1;
    f[FEATURE_LETTERS] = log((double)std::clamp<size_t>(letters, 1, MOST_LETTERS));
    f[FEATURE_FOREIGN] = fmin(10 * (double)foreign / (double)std::max<size_t>(letters, 1), 1);
    if (same) {
        f[FEATURE_SAME] = 1;
        f[FEATURE_SAME_SCORE] = score;
        f[FEATURE_SAME_LETTERS] = f[FEATURE_LETTERS];
        f[FEATURE_SAME_FOREIGN] = score * f[FEATURE_FOREIGN];
        f[FEATURE_SAME_SCORE_LETTERS] = score * f[FEATURE_LETTERS];
    } else if (top && !known) {
        f[FEATURE_OTHER] = 1;
        f[FEATURE_OTHER_SCORE] = score;
        f[FEATURE_OTHER_LETTERS] = f[FEATURE_LETTERS];
    }
    for (size_t i = 0; i < LANGUAGE_FEATURES; i++)
        sum += weights[i] * f[i];
    guess->confidence = round(1000 / (1 + exp(-sum))) / 10;
}

/* Converts CLD2's code to BCP-47: "iw" to "he", and "xx-Runr", of which it knows only the script,
 * to "und". */
static void write_code(const char *guessed, char code[LANGUAGE_CODE_BYTES]) {
    UErrorCode status = U_ZERO_ERROR;
    if (strncmp(guessed, "xx-", 3) == 0)
        guessed = "und";
    int32_t bytes = uloc_toLanguageTag(guessed, code, LANGUAGE_CODE_BYTES, false, &status);
    if (U_FAILURE(status) || bytes >= LANGUAGE_CODE_BYTES)
        snprintf(code, LANGUAGE_CODE_BYTES, "%s", guessed);
}

/* Returns true if the language is written in this script, or in scripts that ICU does not know. */
static bool is_written_in(const char *code, UScriptCode script) {
    enum { MOST_SCRIPTS = 8 };
    UScriptCode scripts[MOST_SCRIPTS];
    UErrorCode status = U_ZERO_ERROR;
    int32_t count = uscript_getCode(code, scripts, MOST_SCRIPTS, &status);
    return U_FAILURE(status) || count <= 0 ||
           std::find(scripts, scripts + count, script) != scripts + count;
}

/* Returns the index of the first language that is written in a script of the text's letters: count
 * if there are letters, but no such language; 0 without letters. markup: tags have no letters. */
static size_t find_by_script(const char *text, size_t length, bool markup, const char *const *codes,
                             size_t count) {
    bool tag = false, letters = false, seen[USCRIPT_CODE_LIMIT] = {};
    for (size_t i = 0, bytes = utf8_clip(text, length, CONFIDENCE_BYTES); i < bytes;) {
        UChar32 c;
        UErrorCode status = U_ZERO_ERROR;
        U8_NEXT((const uint8_t *)text, i, bytes, c);
        tag = markup && (tag ? c != '>' : c == '<');
        UScriptCode script =
            !tag && c > 0 && u_isalpha(c) ? uscript_getScript(c, &status) : USCRIPT_COMMON;
        if (script == USCRIPT_COMMON || script < 0 || script >= USCRIPT_CODE_LIMIT || seen[script])
            continue;
        letters = seen[script] = true;
        for (size_t k = 0; k < count; k++)
            if (is_written_in(codes[k], script))
                return k;
    }
    return letters ? count : 0;
}

struct language_guess language_detect(const char *text, size_t length, bool markup,
                                      const char *const *codes, size_t count) {
    char expected[MAX_EXPECTED * CODE_BYTES];
    struct cld2_guess all[CLD2_GUESSES], guesses[CLD2_GUESSES];
    struct language_guess best = {};
    int all_count = detect(text, length, markup, NULL, all);
    bool found = (length < SHORT_BYTES || count > MAX_EXPECTED) &&
                 language_choose(all, all_count, codes, count, &best);
    for (size_t first = 0; !found && !best.failed && first < count;) {
        size_t at = 0, begin = first, last = std::min<size_t>(first + MAX_EXPECTED, count);
        for (; first < last; first++) /* list codes that can be expected together */
            at += (size_t)snprintf(expected + at, CODE_BYTES, "%s%.*s", first > begin ? "," : "",
                                   CODE_BYTES - 2, codes[first]);
        found = language_choose(guesses, detect(text, length, markup, expected, guesses), codes,
                                count, &best);
    }
    best.failed |= all_count < 0;
    if (!best.failed && !found)
        best.index = find_by_script(text, length, markup, codes, count);
    if (!best.failed && best.index == count) {
        best.index = 0;
        write_code(all_count > 0 ? all[0].code : "und", best.other);
    } else if (!best.failed && (found || all_count > 0)) {
        set_confidence(text, length, codes, count, all_count > 0 ? &all[0] : NULL, &best);
    }
    return best;
}

/* ---- texts in the wrong language ---- */

/* python3 -m weights.evaluation.warnings evaluates these thresholds (weights/EXPERIMENTS.md has its
 * table). CLD2 takes one in a hundred English texts shorter than CHECK_SHORT_BYTES for some other
 * language, but hardly any for French or German. A text with at least LEAST_SHARE percent of the
 * expected language passes, since names and titles are often in another language. */
enum { CHECK_BYTES = 4096, CHECK_SHORT_BYTES = 24, LEAST_SHARE = 33 };

/* Returns true if the codes mean the same language: "zh" of a model also matches the detector's
 * "zh-Hant". */
static bool is_same(const char *code, const char *detected) {
    char wide[CODE_BYTES];
    snprintf(wide, sizeof wide, "%s", detected);
    return is_language(code, detected) || is_synonym(code, detected) ||
           (language_widen(wide) && language_same(wide, code));
}

struct language_other language_check(const char *text, size_t length, const char *code,
                                     const char *const *likely, size_t count) {
    struct cld2_guess guesses[CLD2_GUESSES];
    struct language_other other = {};
    size_t bytes = utf8_clip(text, length, CHECK_BYTES);
    int guess_count = is_known(code) ? detect(text, bytes, false, code, guesses) : 0;
    other.failed = guess_count < 0;
    for (int i = 0; i < guess_count; i++) /* the first guess is the likeliest */
        if (is_same(code, guesses[i].code) && (i == 0 || guesses[i].percent >= LEAST_SHARE))
            return other;
    bool suspected = bytes >= CHECK_SHORT_BYTES;
    for (size_t i = 0; !suspected && i < bytes; i++) {
        /* suspect letters of non-Latin scripts, from Greek to Thai, Japanese and Hangul */
        unsigned char byte = (unsigned char)text[i];
        suspected = (byte >= 0xce && byte <= 0xe0) || (byte >= 0xe3 && byte <= 0xed);
    }
    for (size_t i = 0; guess_count > 0 && !suspected && i < count; i++)
        suspected = is_same(likely[i], guesses[0].code);
    if (guess_count <= 0 || !suspected)
        return other;

    write_code(guesses[0].code, other.code);
    return other;
}
