/* This module hides how language codes are compared with the labels of models: ICU and CLDR know the likely script and region of a
 * code. */
#include "server/models/variant.h"
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unicode/uloc.h>

/* A language with its likely script and region according to ICU. region: the code itself has the region. */
struct language {
    char language[ULOC_LANG_CAPACITY], script[ULOC_SCRIPT_CAPACITY], likely[ULOC_COUNTRY_CAPACITY];
    bool region;
};

/* Returns false if it is not a language code. */
static bool language_read(const char *code, struct language *out) {
    /* Labels may name languages that codes include in wider ones (CLDR's aliases). */
    static const struct {
        const char *label, *wide;
    } aliases[] = {{"arb", "ar"}, {"azj", "az"}, {"cmn", "zh"}, {"ekk", "et"}, {"khk", "mn"}, {"lvs", "lv"},
                   {"npi", "ne"}, {"pes", "fa"}, {"plt", "mg"}, {"swh", "sw"}, {"uzn", "uz"}, {"zsm", "ms"}};
    char plain[ULOC_FULLNAME_CAPACITY], own[ULOC_LANG_CAPACITY], likely[ULOC_FULLNAME_CAPACITY], region[ULOC_COUNTRY_CAPACITY];
    UErrorCode status = U_ZERO_ERROR;
    uloc_getLanguage(code, own, sizeof own, &status);
    uloc_getCountry(code, region, sizeof region, &status);
    if (U_FAILURE(status) || status == U_STRING_NOT_TERMINATED_WARNING || strlen(own) < 2 || strlen(own) > 3)
        return false;
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++) {
        if (strcmp(own, aliases[i].label) == 0)
            snprintf(own, sizeof own, "%s", aliases[i].wide);
    }
    snprintf(plain, sizeof plain, "%s%s", own, code + strcspn(code, "-_"));
    uloc_addLikelySubtags(plain, likely, sizeof likely, &status);
    uloc_getLanguage(likely, out->language, sizeof out->language, &status);
    uloc_getScript(likely, out->script, sizeof out->script, &status);
    uloc_getCountry(likely, out->likely, sizeof out->likely, &status);
    out->region = *region != '\0';
    return U_SUCCESS(status);
}

/* Returns 0 for another language, 1 if the label has the language and no region, 2 if it has the region, too. */
static int language_fits(const struct language *label, const struct language *asked) {
    if (strcmp(label->language, asked->language) != 0 || strcmp(label->script, asked->script) != 0)
        return 0;
    if (label->region)
        return strcmp(label->likely, asked->likely) == 0 ? 2 : 0;
    return 1;
}

/* Compares without regard to case; '-' and '_' are equal. */
static bool is_same(const char *a, const char *b) {
    for (; *a && *b; a++, b++)
        if (strncasecmp(a, b, 1) != 0 && !(strchr("-_", *a) && strchr("-_", *b)))
            return false;
    return *a == *b;
}

const char *variant_for(const struct translator_info *info, const char *code) {
    struct language asked, label;
    for (size_t i = 0; i < info->variant_count; i++)
        if (is_same(info->variants[i], code))
            return info->variants[i];
    const char *best = NULL;
    int most = 0;
    bool known = info->variant_count > 0 && language_read(code, &asked);
    for (size_t i = 0; known && i < info->variant_count; i++) {
        int fits = language_read(info->variants[i], &label) ? language_fits(&label, &asked) : 0;
        if (fits > most) {
            best = info->variants[i];
            most = fits;
        }
    }
    return best;
}

const char *variant_usual(const struct translator_info *info) {
    return variant_for(info, info->target);
}

bool variant_must_be(const struct translator_info *info) {
    return info->variant_count > 1;
}

void variant_code(const char *variant, char code[VARIANT_CODE_BYTES]) {
    struct language language;
    UErrorCode status = U_ZERO_ERROR;
    int32_t length = language_read(variant, &language) ? uloc_toLanguageTag(variant, code, VARIANT_CODE_BYTES, true, &status) : 0;
    if (length <= 0 || length >= VARIANT_CODE_BYTES || U_FAILURE(status))
        snprintf(code, VARIANT_CODE_BYTES, "%s", variant);
}
