#include "tests/http/work.h"
#include "tests/check.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* Up to 100 texts have the same length, and so the same work. fields: what stands before the texts.
 */
static char *texts_body(size_t texts, const char *fields) {
    char *body = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&body, &length);
    ck_assert_ptr_nonnull(out);
    fprintf(out, "{%s, 'text': [", fields);
    for (size_t i = 0; i < texts; i++)
        fprintf(out, "%s'Text number %02zu goes here.'", i == 0 ? "" : ", ", i);
    fputs("]}", out);
    ck_assert_int_eq(fclose(out), 0);
    return body;
}

char *work_body(size_t texts, size_t beam_size, size_t tokens) {
    char fields[100];
    snprintf(fields, sizeof fields, "'beam_size': %zu, 'min_length': %zu, 'max_length': %zu",
             beam_size, tokens, tokens);
    return texts_body(texts, fields);
}

char *work_endless(size_t texts, size_t beam_size) {
    char fields[100];
    snprintf(fields, sizeof fields, "'strategy': 'exact', 'beam_size': %zu, 'max_length': 1000",
             beam_size);
    return texts_body(texts, fields);
}

char *work_unread_request(bool beams, bool stream, size_t texts) {
    char fields[200], *request = NULL;
    snprintf(fields, sizeof fields,
             "%s, 'min_length': %d, 'max_length': %d, 'include': ['attention'], "
             "'verbatim': true, 'stream': %s",
             beams ? "'beam_size': 32, 'n_best': 32" : "'strategy': 'greedy'", WORK_UNREAD_LENGTH,
             WORK_UNREAD_LENGTH, stream ? "true" : "false");
    char *body = texts_body(texts, fields);
    for (char *at = body; (at = strchr(at, '\'')) != NULL;)
        *at = '"';
    ck_assert_int_gt(
        asprintf(&request,
                 "POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: %zu\r\n\r\n%s",
                 strlen(body), body),
        0);
    free(body);
    return request;
}

static int send_unread(const struct daemon *daemon, bool beams, bool stream, size_t texts) {
    char *request = work_unread_request(beams, stream, texts);
    int connection = raw_open(daemon), small = WORK_UNREAD_BUFFER;
    ck_assert_int_eq(setsockopt(connection, SOL_SOCKET, SO_RCVBUF, &small, sizeof small), 0);
    raw_write(connection, request, strlen(request));
    free(request);
    return connection;
}

int work_unread(const struct daemon *daemon, bool stream, size_t texts) {
    return send_unread(daemon, false, stream, texts);
}

int work_unread_beams(const struct daemon *daemon, size_t texts) {
    return send_unread(daemon, true, true, texts);
}
