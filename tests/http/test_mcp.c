/* POST /mcp and `alignd mcp`: what JSON-RPC and the protocol ask for. The tools themselves are
 * tried by the protocol's own client (tests/clients/mcp.mjs). */
#include "tests/http/client.h"
#include "tests/http/suites.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static struct daemon served;

static void setup(void) {
    daemon_start(&served, ARGUMENTS("--model", MODEL, "--workers", "1"));
}

static void teardown(void) {
    daemon_stop(&served);
}

static void send_message(const char *json, long status, struct reply *reply) {
    client_send(&served,
                &(struct call){.path = "/mcp",
                               .json = json,
                               .headers = {"Content-Type: application/json",
                                           "Accept: application/json, text/event-stream",
                                           "MCP-Protocol-Version: 2025-06-18"}},
                reply);
    ck_assert_msg(reply->status == status, "%s: %ld %s", json, reply->status, reply->body);
}

/* Messages with an id get it back, in its own type. */
START_TEST(answers) {
    static const struct {
        const char *json, *id;
        int code; /* 0: a result */
    } cases[] = {
        {"{'jsonrpc': '2.0', 'id': 7, 'method': 'ping'}", "7", 0},
        {"{'jsonrpc': '2.0', 'id': 'a \\u00e9', 'method': 'ping', 'params': {}}", "\"a \u00e9\"",
         0},
        {"{'jsonrpc': '2.0', 'id': 0, 'method': 'tools/list'}", "0", 0},
        {"{'jsonrpc': '2.0', 'id': 1, 'method': 'prompts/list'}", "1", -32601},
        {"{'jsonrpc': '2.0', 'id': 1, 'method': 'initialize'}", "1", -32602},
        {"{'jsonrpc': '2.0', 'id': 1, 'method': 'ping', 'params': [1]}", "1", -32602},
        {"{'jsonrpc': '2.0', 'id': 1, 'method': 'tools/call', 'params': {'name': 'x'}}", "1",
         -32602},
        {"{'jsonrpc': '2.0', 'id': 1, 'method': 'tools/call'}", "1", -32602},
        {"{'jsonrpc': '2.0', 'id': 1, 'method': 'tools/call', 'params': {'name': 'detect', "
         "'arguments': 'x'}}",
         "1", -32602},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct reply reply;
        send_message(cases[i].json, 200, &reply);
        char *id = json_dumps(json_at(reply.json, "id"), JSON_ENCODE_ANY);
        ck_assert_str_eq(id, cases[i].id);
        ck_assert_str_eq(text_at(reply.json, "jsonrpc"), "2.0");
        ck_assert_uint_eq(json_object_size(reply.json), 3);
        if (cases[i].code == 0)
            json_at(reply.json, "result");
        else
            ck_assert_int_eq((int)number_at(reply.json, "error.code"), cases[i].code);
        free(id);
        reply_done(&reply);
    }
}
END_TEST

START_TEST(negotiation) {
    static const struct {
        const char *asked, *given;
    } cases[] = {{"2025-06-18", "2025-06-18"},
                 {"2025-11-25", "2025-11-25"},
                 {"2025-03-26", "2025-06-18"},
                 {"2099-01-01", "2025-06-18"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char json[300];
        struct reply reply;
        snprintf(
            json, sizeof json,
            "{'jsonrpc': '2.0', 'id': 1, 'method': 'initialize', 'params': {'protocolVersion': "
            "'%s', 'capabilities': {}, 'clientInfo': {'name': 'x', 'version': '1'}}}",
            cases[i].asked);
        send_message(json, 200, &reply);
        ck_assert_str_eq(text_at(reply.json, "result.protocolVersion"), cases[i].given);
        ck_assert_str_eq(text_at(reply.json, "result.serverInfo.name"), "alignd");
        json_at(reply.json, "result.capabilities.tools");
        reply_done(&reply);
    }
}
END_TEST

/* What is not a request, and what is wrong beyond an answer with an id. */
START_TEST(other_messages) {
    static const struct {
        const char *json;
        long status;
    } cases[] = {
        {"{'jsonrpc': '2.0', 'method': 'notifications/initialized'}", 202},
        {"{'jsonrpc': '2.0', 'method': 'notifications/cancelled', 'params': {'requestId': 1}}",
         202},
        {"{'jsonrpc': '2.0', 'id': 1, 'result': {}}", 202},
        {"[{'jsonrpc': '2.0', 'id': 1, 'method': 'ping'}]", 400},
        {"[]", 400},
        {"{'id': 1, 'method': 'ping'}", 400},
        {"{'jsonrpc': '1.0', 'id': 1, 'method': 'ping'}", 400},
        {"{'jsonrpc': '2.0', 'id': 1}", 400},
        {"{'jsonrpc': '2.0', 'id': null, 'method': 'ping'}", 400},
        {"{'jsonrpc': '2.0', 'id': 1.5, 'method': 'ping'}", 400},
        {"{'jsonrpc': '2.0', 'id': 1, 'method': 5}", 400},
        {"{'jsonrpc'", 400},
        {"5", 400},
    };
    struct reply reply;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        send_message(cases[i].json, cases[i].status, &reply);
        if (cases[i].status == 202) {
            ck_assert_uint_eq(reply.length, 0);
        } else {
            ck_assert_uint_gt(strlen(text_at(reply.json, "error.message")), 0);
            ck_assert_ptr_null(json_object_get(reply.json, "id"));
        }
        reply_done(&reply);
    }
    client_send(&served, &(struct call){.path = "/mcp"}, &reply);
    ck_assert_int_eq(reply.status, 405);
    reply_done(&reply);
    client_send(&served,
                &(struct call){.path = "/mcp",
                               .json = "{'jsonrpc': '2.0', 'id': 1, 'method': 'ping'}",
                               .headers = {"Content-Type: application/json",
                                           "MCP-Protocol-Version: 2025-03-26"}},
                &reply);
    ck_assert_int_eq(reply.status, 400);
    reply_done(&reply);
}
END_TEST

/* A page of another site cannot call tools; errors of tools are results. */
START_TEST(tools) {
    static const char call[] = "{'jsonrpc': '2.0', 'id': 1, 'method': 'tools/call', 'params': "
                               "{'name': 'translate', 'arguments': {'texts': ['A boy.', 'No.'], "
                               "'target': 'fr', 'source': 'en'}}}";
    struct reply reply;
    client_send(&served,
                &(struct call){.path = "/mcp",
                               .json = call,
                               .headers = {"Content-Type: application/json",
                                           "Origin: https://elsewhere.example"}},
                &reply);
    ck_assert_int_eq(reply.status, 403);
    reply_done(&reply);
    send_message(call, 200, &reply);
    const json_t *content = json_at(reply.json, "result.structuredContent");
    ck_assert_uint_eq(json_array_size(json_at(content, "translations")), 2);
    ck_assert(json_is_false(json_at(reply.json, "result.isError")));
    json_t *same = json_loads(text_at(reply.json, "result.content.0.text"), 0, NULL);
    ck_assert(json_equal(same, content));
    json_decref(same);
    reply_done(&reply);
    send_message("{'jsonrpc': '2.0', 'id': 1, 'method': 'tools/call', 'params': {'name': "
                 "'translate', 'arguments': {'texts': [5], 'target': 'fr'}}}",
                 200, &reply);
    ck_assert(json_is_true(json_at(reply.json, "result.isError")));
    ck_assert_ptr_null(json_object_get(json_at(reply.json, "result"), "structuredContent"));
    reply_done(&reply);
    /* without texts there is nothing to decode */
    send_message("{'jsonrpc': '2.0', 'id': 1, 'method': 'tools/call', 'params': {'name': "
                 "'translate', 'arguments': {'texts': [' '], 'target': 'fr', 'source': 'en'}}}",
                 200, &reply);
    ck_assert_str_eq(text_at(reply.json, "result.structuredContent.translations.0.text"), " ");
    reply_done(&reply);
}
END_TEST

/* Over stdio: each line gets at most one line; a line that is too long is an error, and the next
 * one is answered. */
START_TEST(lines) {
    enum { LONG = 200000 };
    char command[1024], *line = NULL, path[] = "/tmp/alignd-mcp-XXXXXX";
    size_t capacity = 0, count = 0;
    int file = mkstemp(path);
    ck_assert_int_ge(file, 0);
    FILE *in = fdopen(file, "w");
    fprintf(in, "\n{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n{\"x\":\"");
    for (size_t i = 0; i < LONG; i++)
        putc('x', in);
    fprintf(
        in,
        "\"}\n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":"
        "\"translate\",\"arguments\":{\"texts\":[\"A boy.\"],\"target\":\"fr\"}}}\n"
        "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\"}"); /* the end of the input ends it */
    ck_assert_int_eq(fclose(in), 0);
    snprintf(command, sizeof command,
             "%s mcp --model %s --workers 1 --max-body-bytes 10000 --document-bytes 10000 "
             "--log-level error < %s",
             program, MODEL, path);
    FILE *out = popen(command, "r");
    ck_assert_ptr_nonnull(out);
    while (getline(&line, &capacity, out) > 0) {
        json_t *root = json_loads(line, 0, NULL);
        ck_assert_ptr_nonnull(root);
        if (count == 0)
            ck_assert_ptr_nonnull(strstr(text_at(root, "error.message"), "at most"));
        else
            ck_assert_uint_eq((size_t)number_at(root, "id"), count + 1);
        if (count == 1)
            json_at(root, "result.structuredContent.translations.0.text");
        json_decref(root);
        count++;
    }
    ck_assert_uint_eq(count, 3);
    ck_assert_int_eq(WEXITSTATUS(pclose(out)), 0);
    free(line);
    remove(path);
}
END_TEST

Suite *mcp_suite(void) {
    Suite *suite = suite_create("mcp");
    TCase *tcase = tcase_create("mcp"), *stdio = tcase_create("stdio");
    tcase_add_unchecked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, TEST_TIMEOUT_S);
    tcase_add_test(tcase, answers);
    tcase_add_test(tcase, negotiation);
    tcase_add_test(tcase, other_messages);
    tcase_add_test(tcase, tools);
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(stdio, TEST_TIMEOUT_S);
    tcase_add_test(stdio, lines);
    suite_add_tcase(suite, stdio);
    return suite;
}
