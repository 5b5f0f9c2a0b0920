/* The published fields of other services (server/dialects/fields.def): each is sent as its row
 * says, and is honoured, named in X-Alignd-Ignored, or refused in the service's own form of error.
 */
#include "tests/http/client.h"
#include "tests/http/suites.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JSON "Content-Type: application/json"

enum fate { HONOURED, IGNORED, REFUSED };

struct row {
    const char *name;
    enum fate fate;
    const char *usual, *example;
};
#define ROW(name, fate, usual, example) {name, fate, usual, example},

static const struct row deepl[] = {
#define DEEPL ROW
#include "server/dialects/fields.def"
};
static const struct row deepl_write[] = {
#define DEEPL_WRITE ROW
#include "server/dialects/fields.def"
};
static const struct row google_2[] = {
#define GOOGLE_2 ROW
#include "server/dialects/fields.def"
};
static const struct row google_3[] = {
#define GOOGLE_3 ROW
#include "server/dialects/fields.def"
};
static const struct row microsoft[] = {
#define MICROSOFT ROW
#include "server/dialects/fields.def"
};
static const struct row libre[] = {
#define LIBRETRANSLATE ROW
#include "server/dialects/fields.def"
};
static const struct row mtran[] = {
#define MTRANSERVER ROW
#include "server/dialects/fields.def"
};
static const struct row deeplx[] = {
#define DEEPLX ROW
#include "server/dialects/fields.def"
};
static const struct row nllb_serve[] = {
#define NLLB_SERVE ROW
#include "server/dialects/fields.def"
};
static const struct row nllb_api[] = {
#define NLLB_API ROW
#include "server/dialects/fields.def"
};
static const struct row hcfy[] = {
#define HCFY ROW
#include "server/dialects/fields.def"
};
static const struct row gtx[] = {
#define GTX ROW
#include "server/dialects/fields.def"
};
static const struct row immersive[] = {
#define IMMERSIVE ROW
#include "server/dialects/fields.def"
};
static const struct row kiss[] = {
#define KISS ROW
#include "server/dialects/fields.def"
};

/* A service's fields, a request to which each is added, and where its errors have their message.
 * json NULL: the request is a query string. */
static const struct service {
    const struct row *rows;
    size_t count;
    const char *path, *json, *message;
} services[] = {
#define SERVICE(rows) rows, sizeof(rows) / sizeof *(rows)
    {SERVICE(deepl), "/v2/translate", "{'text': 'It snows.', 'target_lang': 'FR'}", "message"},
    {SERVICE(deepl_write), "/v2/write/rephrase", "{'text': 'It snows.'}", "message"},
    {SERVICE(google_2), "/language/translate/v2", "{'q': 'It snows.', 'target': 'fr'}",
     "error.message"},
    {SERVICE(google_3), "/v3/projects/p:translateText",
     "{'contents': ['It snows.'], 'targetLanguageCode': 'fr'}", "error.message"},
    {SERVICE(microsoft), "/translate?api-version=2026-06-06",
     "{'inputs': [{'text': 'It snows.', 'targets': [{'language': 'fr'}]}]}", "error.message"},
    {SERVICE(libre), "/translate", "{'q': 'It snows.', 'source': 'en', 'target': 'fr'}", "error"},
    {SERVICE(mtran), "/translate", "{'text': 'It snows.', 'from': 'en', 'to': 'fr'}", "error"},
    {SERVICE(deeplx), "/translate",
     "{'text': 'It snows.', 'source_lang': 'EN', 'target_lang': 'FR'}", "message"},
    {SERVICE(nllb_serve), "/translate",
     "{'source': 'It snows.', 'src_lang': 'eng_Latn', 'tgt_lang': 'fra_Latn'}", "error"},
    {SERVICE(nllb_api), "/api/v4/translator",
     "{'text': 'It snows.', 'source': 'eng_Latn', 'target': 'fra_Latn'}", "error"},
    {SERVICE(nllb_api), "/api/v4/translator?text=x&source=eng_Latn&target=fra_Latn", NULL, "error"},
    {SERVICE(nllb_api), "/api/v4/language?text=x", NULL, "error"},
    {SERVICE(hcfy), "/hcfy", "{'text': 'It snows.', 'destination': ['fr']}", "error"},
    {SERVICE(gtx), "/translate_a/single?q=x&tl=fr&dt=t", NULL, "error.message"},
    {SERVICE(gtx), "/translate_a/t?q=x&tl=fr", NULL, "error.message"},
    {SERVICE(immersive), "/imme", "{'text_list': ['It snows.'], 'target_lang': 'fr'}", "error"},
    {SERVICE(kiss), "/kiss", "{'text': 'It snows.', 'to': 'fr'}", "error"},
};

static struct daemon served;

static void setup(void) {
    daemon_start(&served, ARGUMENTS("--model", "weights/en-fr", "--model", "weights/fr-en"));
}

static void teardown(void) {
    daemon_stop(&served);
}

/* Sets the member at a path, in the first element of each array on the way. */
static void set(json_t *root, const char *path, json_t *value) {
    char part[64];
    const char *dot = strchr(path, '.');
    while (json_is_array(root))
        root = json_array_get(root, 0);
    snprintf(part, sizeof part, "%.*s", (int)(dot ? dot - path : (long)strlen(path)), path);
    if (!dot) {
        json_object_set_new(root, part, value);
        return;
    }
    if (!json_object_get(root, part))
        json_object_set_new(root, part, json_object());
    set(json_object_get(root, part), dot + 1, value);
}

/* Writes the example, without quotation marks, as a parameter of a query string. */
static void write_parameter(const struct row *row, const char *example, size_t size, char *text) {
    size_t length = (size_t)snprintf(text, size, "&%s=", row->name);
    for (const char *at = example; *at && length + 4 < size; at++)
        if (!strchr("\"[]", *at))
            length +=
                (size_t)snprintf(text + length, size - length,
                                 isalnum((unsigned char)*at) ? "%c" : "%%%02X", (unsigned char)*at);
}

static void send_row(const struct service *service, const struct row *row, const char *example,
                     struct reply *reply) {
    char path[768], text[256];
    json_t *value = json_loads(example, JSON_DECODE_ANY, NULL);
    ck_assert_msg(value != NULL, "%s", example);
    write_parameter(row, example, sizeof text, text);
    if (!service->json) {
        snprintf(path, sizeof path, "%s%s", service->path, text);
        client_send(&served, &(struct call){.path = path}, reply);
        json_decref(value);
        return;
    }
    if (service->rows == microsoft && strncmp(row->name, "inputs.", 7) != 0) { /* version 3.0 */
        snprintf(path, sizeof path, "/translate?api-version=3.0%s%s",
                 strcmp(row->name, "to") == 0 ? "" : "&to=fr", text);
        client_send(
            &served,
            &(struct call){.path = path, .json = "[{'Text': 'It snows.'}]", .headers = {JSON}},
            reply);
        json_decref(value);
        return;
    }
    size_t length = strlen(service->json);
    for (size_t i = 0; i <= length; i++)
        text[i] = service->json[i] == '\'' ? '"' : service->json[i];
    json_t *root = json_loads(text, 0, NULL);
    set(root, row->name, value);
    char *body = json_dumps(root, 0);
    client_send(&served, &(struct call){.path = service->path, .body = body, .headers = {JSON}},
                reply);
    free(body);
    json_decref(root);
}

static void check_row(const struct service *service, const struct row *row) {
    struct reply reply;
    char ignored[HEADER_BYTES] = "", warnings[HEADER_BYTES] = "";
    send_row(service, row, row->example, &reply);
    ck_assert_msg(reply.status == (row->fate == REFUSED ? 400 : 200), "%s %s: %ld %s",
                  service->path, row->name, reply.status, reply.body);
    reply_header(&reply, "X-Alignd-Ignored", ignored);
    reply_header(&reply, "X-Alignd-Warnings", warnings);
    ck_assert_str_eq(ignored, row->fate == IGNORED ? row->name : "");
    ck_assert_int_eq(strstr(warnings, "ignored") != NULL, row->fate == IGNORED);
    if (row->fate == REFUSED)
        ck_assert_ptr_nonnull(strstr(text_at(reply.json, service->message), row->name));
    reply_done(&reply);
}

START_TEST(each_field_as_its_row_says) {
    size_t count = 0;
    for (size_t i = 0; i < sizeof services / sizeof *services; i++)
        for (size_t k = 0; k < services[i].count; k++)
            if (*services[i].rows[k].example) {
                check_row(&services[i], &services[i].rows[k]);
                count++;
            }
    ck_assert_uint_gt(count, 130);
}
END_TEST

/* A value that asks for nothing is neither ignored nor refused. */
START_TEST(usual_values_are_not_mentioned) {
    for (size_t i = 0; i < sizeof services / sizeof *services; i++)
        for (size_t k = 0; k < services[i].count; k++) {
            const struct row *row = &services[i].rows[k];
            struct reply reply;
            char ignored[HEADER_BYTES] = "", example[64];
            if (!*row->example)
                continue;
            bool word = *row->usual && strcmp(row->usual, "true") != 0 &&
                        strncmp(row->usual, "false", 5) != 0;
            snprintf(example, sizeof example, word ? "\"%.*s\"" : "%.*s",
                     (int)strcspn(row->usual, " "), row->usual);
            if (row->fate == HONOURED)
                continue;
            send_row(&services[i], row, *row->usual ? example : "\"\"", &reply);
            ck_assert_msg(reply.status == 200, "%s: %s", row->name, reply.body);
            reply_header(&reply, "X-Alignd-Ignored", ignored);
            ck_assert_str_eq(ignored, "");
            reply_done(&reply);
        }
}
END_TEST

/* Several are listed in the order of the table; those of an error are not. */
START_TEST(ignored_fields_are_listed) {
    struct reply reply;
    char ignored[HEADER_BYTES] = "";
    client_send(&served,
                &(struct call){.path = "/v2/translate",
                               .body = "text=x&target_lang=FR&style_id=a&context=b",
                               .headers = {"Content-Type: application/x-www-form-urlencoded"}},
                &reply);
    ck_assert(reply_header(&reply, "X-Alignd-Ignored", ignored));
    ck_assert_str_eq(ignored, "context, style_id");
    reply_done(&reply);
    client_post(&served, "/v2/translate", "{'text': 'x', 'context': 'b'}", 400, &reply);
    ck_assert(!reply_header(&reply, "X-Alignd-Ignored", ignored));
    reply_done(&reply);
}
END_TEST

/* A field that a query string repeats is named if one of its values is ignored; lists of languages
 * name what they ignore, too. */
START_TEST(query_strings) {
    static const struct {
        const char *path, *ignored;
    } rows[] = {
        {"/translate_a/single?client=gtx&sl=en&tl=fr&dt=t&dt=bd&dt=rm&q=x", "dt"},
        {"/translate_a/single?client=gtx&sl=en&tl=fr&dt=t&q=x", ""},
        {"/v3/projects/p/supportedLanguages?model=m", "model"},
        {"/language/translate/v2/languages?model=base", ""},
        {"/language/translate/v2/languages?model=m", "model"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct reply reply;
        char ignored[HEADER_BYTES] = "";
        client_send(&served, &(struct call){.path = rows[i].path}, &reply);
        ck_assert_msg(reply.status == 200, "%s: %s", rows[i].path, reply.body);
        reply_header(&reply, "X-Alignd-Ignored", ignored);
        ck_assert_str_eq(ignored, rows[i].ignored);
        reply_done(&reply);
    }
}
END_TEST

Suite *dialect_fields_suite(void) {
    Suite *suite = suite_create("dialect_fields");
    TCase *cases = tcase_create("all");
    tcase_set_timeout(cases, TEST_TIMEOUT_S);
    tcase_add_unchecked_fixture(cases, setup, teardown);
    tcase_add_test(cases, each_field_as_its_row_says);
    tcase_add_test(cases, usual_values_are_not_mentioned);
    tcase_add_test(cases, ignored_fields_are_listed);
    tcase_add_test(cases, query_strings);
    suite_add_tcase(suite, cases);
    return suite;
}
