#include "tests/load/sentences.h"
#include "tests/load/tool.h"
#include <stdio.h>
#include <string.h>

enum { LINE_BYTES = 1024, BODY_BYTES = 2 * LINE_BYTES };

void sentences_read(struct message messages[SENTENCES], const char *fields) {
    char line[LINE_BYTES], body[BODY_BYTES];
    FILE *file = fopen("tests/bench/sentences.txt", "r");
    tool_check(file, "tests/bench/sentences.txt");
    for (size_t i = 0; i < SENTENCES; i++) {
        tool_check(fgets(line, sizeof line, file), "tests/bench/sentences.txt");
        snprintf(body, sizeof body, "{%s,\"text\":\"%.*s\"}", fields, (int)strcspn(line, "\"\\\n"),
                 line);
        messages[i] = message_post("/translate", "application/json", body);
    }
    fclose(file);
}

void sentences_done(struct message messages[SENTENCES]) {
    for (size_t i = 0; i < SENTENCES; i++)
        message_done(&messages[i]);
}
