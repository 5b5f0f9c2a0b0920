/* What a translation must have: the numbers of its text, as a sentence in which they differ is
 * decoded again, and the form of address that is asked for. */
#include "tests/http/client.h"
#include "tests/http/suites.h"
#include <stdio.h>
#include <string.h>

#define SHIPPED "weights/en-fr"

static struct daemon served;

static void setup(void) {
    daemon_start(&served, ARGUMENTS("--model", SHIPPED, "--workers", "2"));
}

static void teardown(void) {
    daemon_stop(&served);
}

static const char *const sentences[] = {
    "It costs £20.",
    "The house was sold for $1,250,000.",
    "She paid €341 and he paid €18.50.",
    "We need about 3,400 dollars to repair it.",
    "The bank lost $5 million and won 7% of it back.",
    "They have 17,345 cows, 2,128 sheep and 87 houses.",
};
enum { SENTENCES = sizeof sentences / sizeof *sentences };

/* Amounts that each translation must contain; a space matches any no-break space. */
static const char *const wanted[SENTENCES][3] = {
    {"20", "£"},    {"1 250 000", "$"},    {"341", "18,50", "€"},
    {"3400|3 400"}, {"5", "7", "million"}, {"17 345", "2128|2 128", "87"},
};

/* The text with plain spaces in the place of others. */
static void make_plain(const char *text, char *out, size_t size) {
    size_t used = 0;
    for (const char *c = text; *c && used + 1 < size; c++) {
        size_t special = strncmp(c, "\u202f", 3) == 0 ? 3 : strncmp(c, "\u00a0", 2) == 0 ? 2 : 0;
        out[used++] = special ? ' ' : *c;
        c += special ? special - 1 : 0;
    }
    out[used] = '\0';
}

static bool has_one_of(const char *text, const char *forms) {
    char form[64];
    for (size_t length; *forms; forms += length + (forms[length] == '|')) {
        length = strcspn(forms, "|");
        snprintf(form, sizeof form, "%.*s", (int)length, forms);
        if (strstr(text, form))
            return true;
    }
    return false;
}

static void check_translation(size_t i, const char *text) {
    char plain[512];
    make_plain(text, plain, sizeof plain);
    for (size_t j = 0; j < 3 && wanted[i][j]; j++)
        ck_assert_msg(has_one_of(plain, wanted[i][j]), "%s became %s, without %s", sentences[i],
                      text, wanted[i][j]);
}

START_TEST(values_and_signs_come_through) {
    for (size_t i = 0; i < SENTENCES; i++) {
        struct reply reply;
        client_ask(&served, "/translate", sentences[i], "'include': []", 200, &reply);
        check_translation(i, text_at(reply.json, "translations.0.text"));
        ck_assert_ptr_null(json_object_get(json_at(reply.json, "translations.0"), "warnings"));
        reply_done(&reply);
    }
}
END_TEST

/* The same translation alone, among others, and in a stream. */
START_TEST(the_same_in_company) {
    char all[2048] = "{'include': [], 'text': [";
    struct reply alone, together;
    for (size_t i = 0; i < SENTENCES; i++)
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s'%s'", i ? ", " : "",
                 sentences[i]);
    strcat(all, "]}");
    client_post(&served, "/translate", all, 200, &together);
    for (size_t i = 0; i < SENTENCES; i++) {
        char path[64];
        snprintf(path, sizeof path, "translations.%zu.text", i);
        client_ask(&served, "/translate", sentences[i], "'include': []", 200, &alone);
        ck_assert_str_eq(text_at(alone.json, "translations.0.text"), text_at(together.json, path));
        reply_done(&alone);
    }
    reply_done(&together);
}
END_TEST

START_TEST(libre) {
    struct reply reply;
    char value[HEADER_BYTES];
    client_send(&served,
                &(struct call){.path = "/translate",
                               .json = "{'q': 'It costs £20.', 'source': 'en', 'target': 'fr'}"},
                &reply);
    ck_assert_int_eq(reply.status, 200);
    check_translation(0, text_at(reply.json, "translatedText"));
    ck_assert(!reply_header(&reply, "X-Alignd-Warnings", value));
    reply_done(&reply);
}
END_TEST

/* The spaces beside a run are those of the source, and a sign between two words has a word on each
 * side. */
START_TEST(places_of_runs) {
    struct reply reply;
    client_ask(&served, "/translate", "The file  README.md  is here.", "'include': []", 200,
               &reply);
    ck_assert_ptr_nonnull(
        strstr(text_at(reply.json, "translations.0.text"), "fichier  README.md  est"));
    reply_done(&reply);
    client_ask(&served, "/translate", "The price is £3–£5.", "'include': []", 200, &reply);
    ck_assert_msg(!strstr(text_at(reply.json, "translations.0.text"), "- "), "%s", reply.body);
    reply_done(&reply);
    client_ask(&served, "/translate", "Terms & conditions", "'include': []", 200, &reply);
    const char *text = text_at(reply.json, "translations.0.text"), *sign = strchr(text, '&');
    ck_assert_msg(!sign || (sign > text + 1 && strlen(sign) > 2), "%s", text);
    reply_done(&reply);
}
END_TEST

/* The model's own output: nothing is held, compared or reported. */
START_TEST(verbatim) {
    struct reply reply;
    client_ask(&served, "/translate", "It costs £20 🎉.", "'include': [], 'verbatim': true", 200,
               &reply);
    ck_assert_ptr_null(strstr(text_at(reply.json, "translations.0.text"), "🎉"));
    ck_assert_ptr_null(json_object_get(json_at(reply.json, "translations.0"), "warnings"));
    reply_done(&reply);
}
END_TEST

/* A translation that is given is compared with nothing: it is scored as it stands. */
START_TEST(prefix) {
    struct reply reply;
    client_ask(&served, "/translate", "It costs 20 dollars.",
               "'include': [], 'prefix': 'Cela coûte 30'", 200, &reply);
    ck_assert_ptr_nonnull(strstr(text_at(reply.json, "translations.0.text"), "30"));
    reply_done(&reply);
}
END_TEST

START_TEST(formality) {
    static const struct {
        const char *form, *has;
    } rows[] = {{"more", "vous"}, {"less", "tu"}, {"prefer_more", "vous"}, {"prefer_less", "tu"}};
    struct reply reply;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char fields[64];
        snprintf(fields, sizeof fields, "'include': [], 'formality': '%s'", rows[i].form);
        client_ask(&served, "/translate", "Are you a teacher?", fields, 200, &reply);
        ck_assert_ptr_nonnull(strstr(text_at(reply.json, "translations.0.text"), rows[i].has));
        ck_assert_ptr_null(json_object_get(json_at(reply.json, "translations.0"), "warnings"));
        reply_done(&reply);
    }
    /* the beginning is given, and has the other form */
    client_ask(&served, "/translate", "You are a teacher.",
               "'include': [], 'formality': 'more', 'prefix': 'Tu es'", 200, &reply);
    ck_assert_str_eq(text_at(reply.json, "translations.0.warnings.0.code"), "formality");
    ck_assert_str_eq(text_at(reply.json, "translations.0.warnings.0.wanted"), "more");
    reply_done(&reply);
    client_ask(&served, "/translate", "You are a teacher.", "'formality': 'formal'", 400, &reply);
    ck_assert_str_eq(text_at(reply.json, "field"), "formality");
    reply_done(&reply);
}
END_TEST

/* English has no forms. */
START_TEST(formality_of_no_language) {
    struct daemon english;
    struct reply reply;
    daemon_start(&english, ARGUMENTS("--model", "weights/fr-en"));
    client_ask(&english, "/translate", "Tu es là.", "'formality': 'more'", 400, &reply);
    ck_assert_str_eq(text_at(reply.json, "field"), "formality");
    reply_done(&reply);
    client_ask(&english, "/translate", "Tu es là.", "'formality': 'prefer_more'", 200, &reply);
    reply_done(&reply);
    daemon_stop(&english);
}
END_TEST

Suite *amounts_suite(void) {
    Suite *suite = suite_create("amounts");
    TCase *tcase = tcase_create("amounts");
    tcase_set_timeout(tcase, TEST_TIMEOUT_S);
    tcase_add_unchecked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, values_and_signs_come_through);
    tcase_add_test(tcase, the_same_in_company);
    tcase_add_test(tcase, libre);
    tcase_add_test(tcase, places_of_runs);
    tcase_add_test(tcase, verbatim);
    tcase_add_test(tcase, prefix);
    tcase_add_test(tcase, formality);
    tcase_add_test(tcase, formality_of_no_language);
    suite_add_tcase(suite, tcase);
    return suite;
}
