/* This file hides which plural forms languages have: categories by ICU, gettext's forms by a table.
 */
#include "server/documents/plurals.h"
#include "server/base/bytes.h"
#include <string.h>
#include <unicode/uenum.h>
#include <unicode/upluralrules.h>

/* ---- categories ---- */

static const char *const names[PLURAL_CATEGORIES] = {"zero", "one", "two", "few", "many", "other"};

const char *plurals_name(size_t category) {
    return names[category];
}

size_t plurals_category(struct bytes name) {
    size_t category = 0;
    while (category < PLURAL_CATEGORIES && !bytes_are(name, names[category]))
        category++;
    return category;
}

unsigned plurals_of(const char *language, bool ordinal) {
    UErrorCode status = U_ZERO_ERROR;
    UPluralRules *rules = uplrules_openForType(
        language, ordinal ? UPLURAL_TYPE_ORDINAL : UPLURAL_TYPE_CARDINAL, &status);
    UEnumeration *keywords = U_SUCCESS(status) ? uplrules_getKeywords(rules, &status) : NULL;
    unsigned found = 1U << PLURAL_OTHER;
    const char *name;
    int32_t length;
    while (keywords && U_SUCCESS(status) && (name = uenum_next(keywords, &length, &status))) {
        size_t category = plurals_category((struct bytes){name, (size_t)length});
        found |= category < PLURAL_CATEGORIES ? 1U << category : 0;
    }
    uenum_close(keywords);
    uplrules_close(rules);
    return found;
}

void plurals_put(struct bytes_buffer *out, const struct plural_branch *branch, const char *language,
                 struct bytes written) {
    unsigned missing = plurals_of(language, false) & ~branch->present;
    size_t before = (size_t)(branch->name.start - branch->begin),
           after = before + branch->name.length;
    for (size_t i = 0; i < PLURAL_OTHER; i++) {
        if (!(missing & 1U << i))
            continue;
        bytes_put(out, written.start, before);
        bytes_put_string(out, branch->lead ? branch->lead : "");
        bytes_put_string(out, names[i]);
        bytes_put(out, written.start + after, written.length - after);
        bytes_put_string(out, branch->separator ? branch->separator : "");
    }
}

/* ---- gettext's forms ---- */

/* The rules are those of GNU gettext's manual, "Plural forms", and of its table of languages
 * (plural-table.c). */
static const struct {
    const char *languages; /* separated by spaces */
    struct plural_forms plurals;
} table[] = {
    {"ja zh ko vi th id ms lo my km", {1, 0, "nplurals=1; plural=0;"}},
    {"fr pt-br pt_br oc", {2, 0, "nplurals=2; plural=(n > 1);"}},
    {"lv", {3, 0, "nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : n != 0 ? 1 : 2);"}},
    {"ga", {3, 0, "nplurals=3; plural=n==1 ? 0 : n==2 ? 1 : 2;"}},
    {"ro", {3, 0, "nplurals=3; plural=n==1 ? 0 : (n==0 || (n%100 > 0 && n%100 < 20)) ? 1 : 2;"}},
    {"lt",
     {3, 0,
      "nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : n%10>=2 && (n%100<10 || n%100>=20) ? 1 : "
      "2);"}},
    {"ru uk be sr hr bs",
     {3, 0,
      "nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || "
      "n%100>=20) ? 1 : 2);"}},
    {"cs sk", {3, 0, "nplurals=3; plural=(n==1) ? 0 : (n>=2 && n<=4) ? 1 : 2;"}},
    {"pl",
     {3, 0,
      "nplurals=3; plural=(n==1 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20) ? 1 : 2);"}},
    {"sl",
     {4, 0, "nplurals=4; plural=(n%100==1 ? 0 : n%100==2 ? 1 : n%100==3 || n%100==4 ? 2 : 3);"}},
    {"ar",
     {6, 1,
      "nplurals=6; plural=n==0 ? 0 : n==1 ? 1 : n==2 ? 2 : n%100>=3 && n%100<=10 ? 3 : n%100>=11 ? "
      "4 : 5;"}},
};
static const struct plural_forms usual = {2, 0, "nplurals=2; plural=(n != 1);"};

const struct plural_forms *plurals_forms(const char *language) {
    size_t lengths[] = {strlen(language), strcspn(language, "-_@")};
    for (size_t whole = 0; whole < 2; whole++)
        for (size_t i = 0; i < sizeof table / sizeof *table; i++)
            if (bytes_among_any_case((struct bytes){language, lengths[whole]}, table[i].languages))
                return &table[i].plurals;
    return &usual;
}
