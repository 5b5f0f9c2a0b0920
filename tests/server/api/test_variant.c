/* Maps language codes to variants. */
#include "model/translator.h"
#include "server/api/pairs.h"
#include "tests/suites.h"
#include <string.h>

static const char *const labels[] = {"fra",      "pt_br",    "por",      "srp_Latn",
                                     "srp_Cyrl", "cmn_Hans", "cmn_Hant", "zho_Hans",
                                     "2mul",     "nob",      "ROMANCE",  "es_MX"};
enum { LABELS = sizeof labels / sizeof *labels };
static const struct translator_info many = {
    .target = "mul", .variants = labels, .variant_count = LABELS};

static const struct {
    const char *code, *variant; /* NULL: none */
} meant[] = {{"fra", "fra"},
             {"FRA", "fra"},
             {"fr", "fra"},
             {"fr-CA", "fra"},
             {"pt", "pt_br"},
             {"pt-BR", "pt_br"},
             {"pt_PT", "por"},
             {"por", "por"},
             {"sr", "srp_Cyrl"},
             {"sr-Latn", "srp_Latn"},
             {"srp-cyrl", "srp_Cyrl"},
             {"zh", "cmn_Hans"},
             {"zh-Hant", "cmn_Hant"},
             {"zh-TW", "cmn_Hant"},
             {"nb", "nob"},
             {"2mul", "2mul"},
             {"romance", "ROMANCE"},
             {"es-MX", "es_MX"},
             {"es", NULL},
             {"de", NULL},
             {"mul", NULL},
             {"", NULL},
             {"x", NULL},
             {"zxxx-0000-!!", NULL},
             {"fra<<", NULL}};

START_TEST(codes_mean_variants) {
    const char *found = pair_variant(&many, meant[_i].code);
    ck_assert_msg(!found == !meant[_i].variant, "%s: %s", meant[_i].code, found ? found : "none");
    if (found)
        ck_assert_str_eq(found, meant[_i].variant);
}
END_TEST

START_TEST(the_models_own_target) {
    static const struct translator_info portuguese = {.target = "pt-PT",
                                                      .variants = labels,
                                                      .variant_count = LABELS},
                                        one = {.target = "mul",
                                               .variants = labels,
                                               .variant_count = 1},
                                        none = {.target = "fr"};
    ck_assert_str_eq(pair_variant(&portuguese, portuguese.target), "por");
    ck_assert_ptr_null(pair_variant(&many, many.target));
    ck_assert(pair_needs_variant(&many) && !pair_needs_variant(&one) && !pair_needs_variant(&none));
    ck_assert_ptr_null(pair_variant(&none, none.target));
}
END_TEST

/* "mul" reads any language, farther than a model that names it; with labels, those of the labels.
 */
START_TEST(sources_of_many_languages) {
    static const struct translator_info english = {.source = "en", .target = "fr"},
                                        any = {.source = "mul", .target = "en"},
                                        listed = {.source = "mul",
                                                  .target = "mul",
                                                  .variants = labels,
                                                  .variant_count = LABELS};
    ck_assert_int_eq(pair_source_distance(&english, "en"), 0);
    ck_assert_int_eq(pair_source_distance(&english, "de"), LANGUAGE_FAR);
    ck_assert_int_eq(pair_source_distance(&any, "mul"), 0);
    ck_assert_int_eq(pair_source_distance(&any, "de"), LANGUAGE_FAR - 1);
    ck_assert_int_eq(pair_source_distance(&any, "x"), LANGUAGE_FAR);
    ck_assert_int_eq(pair_source_distance(&listed, "pt-BR"), LANGUAGE_FAR - 1);
    ck_assert_int_eq(pair_source_distance(&listed, "de"), LANGUAGE_FAR);
    ck_assert_str_eq(pair_source_variant(&listed, "pt-BR"), "pt_br");
    ck_assert_ptr_null(pair_source_variant(&any, "de"));
    ck_assert(pair_lists_sources(&listed) && !pair_lists_sources(&any));
}
END_TEST

START_TEST(codes_of_variants) {
    static const char *const codes[] = {"fr", "pt-BR", "pt", "sr-Latn", "sr-Cyrl"};
    char code[VARIANT_CODE_BYTES];
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        variant_code(labels[i], code);
        ck_assert_str_eq(code, codes[i]);
    }
    variant_code("ROMANCE", code);
    ck_assert_str_eq(code, "ROMANCE");
}
END_TEST

Suite *variant_suite(void) {
    Suite *suite = suite_create("variant");
    TCase *tests = tcase_create("variant");
    tcase_add_loop_test(tests, codes_mean_variants, 0, sizeof meant / sizeof *meant);
    tcase_add_test(tests, the_models_own_target);
    tcase_add_test(tests, sources_of_many_languages);
    tcase_add_test(tests, codes_of_variants);
    suite_add_tcase(suite, tests);
    return suite;
}
