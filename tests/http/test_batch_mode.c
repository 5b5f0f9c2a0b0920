/* `alignd translate` and `alignd attention`: lines in, lines out. */
#include "tests/http/client.h"
#include "tests/http/folder.h"
#include "tests/http/suites.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LONG_LINE                                                                                  \
    "a boy and a dog play in the snow, while the old man sleeps near the fire; nobody sees that "  \
    "the night has come and that the "                                                             \
    "wind"

static const char *const lines[] = {"A boy plays in the snow.",
                                    "",
                                    "Ça va, naïve 😀 friend?",
                                    "   ",
                                    "One. Two.  Three.",
                                    "  The dog runs. ",
                                    "x",
                                    "A <b>dog</b> runs &amp; `plays in` the snow.",
                                    "{n, plural, one {A dog runs.} other {# dogs run.}}",
                                    LONG_LINE,
                                    "",
                                    "Where is the train station?"};
enum { LINES = sizeof lines / sizeof *lines, REPEATS = 30 };

/* All lines, end to end, so many times. The caller frees it. */
static char *input_text(size_t repeats) {
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    ck_assert_ptr_nonnull(out);
    for (size_t i = 0; i < repeats * LINES; i++)
        fprintf(out, "%s\n", lines[i % LINES]);
    ck_assert_int_eq(fclose(out), 0);
    return text;
}

/* The same lines through the daemon. split: -1 leaves it to the daemon where the line is too long
 * for one sentence. */
static char *daemon_translation(const struct daemon *daemon, const char *line, bool split) {
    json_t *question =
        json_pack("{s:s, s:b, s:[]}", "text", line, "split_sentences", (int)split, "include");
    char *body = json_dumps(question, 0);
    struct reply reply;
    client_send(daemon, &(struct call){.path = "/translate", .body = body}, &reply);
    ck_assert_msg(reply.status == 200, "%s: %s", body, reply.body);
    char *text = strdup(text_at(reply.json, "translations.0.text"));
    reply_done(&reply);
    free(body);
    json_decref(question);
    return text;
}

/* Each line of the output must be the daemon's answer to the line of the input. A line that the
 * model cannot take at once is wrapped. */
static void check_translations(char *out, bool split) {
    struct daemon daemon;
    char *expected[LINES], *line = out;
    daemon_start(&daemon, ARGUMENTS("--model", MODEL));
    for (size_t i = 0; i < LINES; i++)
        expected[i] =
            daemon_translation(&daemon, lines[i], split || strcmp(lines[i], LONG_LINE) == 0);
    for (size_t i = 0; i < REPEATS * LINES; i++) {
        char *end = strchr(line, '\n');
        ck_assert_msg(end != NULL, "the output ends after %zu lines", i);
        *end = '\0';
        ck_assert_str_eq(line, expected[i % LINES]);
        line = end + 1;
    }
    ck_assert_str_eq(line, "");
    for (size_t i = 0; i < LINES; i++)
        free(expected[i]);
    daemon_stop(&daemon);
}

START_TEST(translate_keeps_count_and_order) {
    char *input = input_text(REPEATS);
    struct outcome outcome;
    program_run(ARGUMENTS("translate", "--model", MODEL, "--workers", "2", "--rows", "10"), input,
                &outcome);
    ck_assert_msg(outcome.status == 0, "%s", outcome.err);
    ck_assert_str_eq(outcome.err, "");
    check_translations(outcome.out, false);
    outcome_done(&outcome);
    free(input);
}
END_TEST

START_TEST(translate_splits_sentences) {
    char *input = input_text(REPEATS);
    struct outcome outcome;
    program_run(ARGUMENTS("translate", "--model", MODEL, "--split-sentences", "--workers", "1"),
                input, &outcome);
    ck_assert_msg(outcome.status == 0, "%s", outcome.err);
    check_translations(outcome.out, true);
    outcome_done(&outcome);
    free(input);
}
END_TEST

/* However many workers, the output is the same. */
START_TEST(translate_options) {
    static const char *const greedy[] = {"translate", "--model",   MODEL, "--strategy",
                                         "greedy",    "--workers", "1",   NULL};
    static const char *const beam[] = {"translate", "--model", MODEL,     "--beam-size", "1",
                                       "--workers", "2",       "--stats", NULL};
    char *input = input_text(2);
    struct outcome first, second;
    program_run(greedy, input, &first);
    program_run(beam, input, &second);
    ck_assert_int_eq(first.status, 0);
    ck_assert_int_eq(second.status, 0);
    ck_assert_str_eq(first.out, second.out);
    ck_assert_str_eq(first.err, "");
    ck_assert_int_eq(strncmp(second.err, "sentences=", 10), 0);
    ck_assert_ptr_nonnull(strstr(second.err, " tokens_per_second="));
    outcome_done(&first);
    outcome_done(&second);
    free(input);
}
END_TEST

/* One seed gives one output, whatever the workers; lines sample on their own. */
START_TEST(samples_are_repeated) {
    static const char *const one[] = {"translate", "--model", MODEL,       "--strategy", "sample",
                                      "--seed",    "7",       "--workers", "1",          NULL};
    static const char *const two[] = {"translate", "--model", MODEL,       "--strategy", "sample",
                                      "--seed",    "7",       "--workers", "2",          NULL};
    static const char *const other[] = {"translate", "--model", MODEL, "--strategy",
                                        "sample",    "--seed",  "8",   NULL};
    static const char *const cold[] = {
        "translate",     "--model", MODEL,     "--strategy", "sample",     "--seed", "8",
        "--temperature", "2",       "--top-k", "1",          "--verbatim", NULL};
    static const char *const greedy[] = {"translate", "--model",    MODEL, "--strategy",
                                         "greedy",    "--verbatim", NULL};
    char *input = input_text(2);
    struct outcome outcomes[5];
    program_run(one, input, &outcomes[0]);
    program_run(two, input, &outcomes[1]);
    program_run(other, input, &outcomes[2]);
    program_run(cold, input, &outcomes[3]);
    program_run(greedy, input, &outcomes[4]);
    ck_assert_str_eq(outcomes[0].out, outcomes[1].out);
    ck_assert_str_ne(outcomes[0].out, outcomes[2].out);
    ck_assert_str_eq(outcomes[3].out, outcomes[4].out);
    for (size_t i = 0; i < 5; i++) {
        ck_assert_int_eq(outcomes[i].status, 0);
        outcome_done(&outcomes[i]);
    }
    free(input);
}
END_TEST

/* What the model itself wrote has no run of the source in it. */
START_TEST(unknowns_are_kept_verbatim) {
    static const char *const plain[] = {"translate", "--model", "weights/en-fr", NULL};
    static const char *const kept[] = {"translate", "--model", "weights/en-fr", "--keep-unknowns",
                                       NULL};
    struct outcome outcome;
    program_run(plain, "The cat \U0001f600 sleeps.\n", &outcome);
    ck_assert_ptr_nonnull(strstr(outcome.out, "\U0001f600"));
    outcome_done(&outcome);
    program_run(kept, "The cat \U0001f600 sleeps.\n", &outcome);
    ck_assert_int_eq(outcome.status, 0);
    ck_assert_ptr_null(strstr(outcome.out, "\U0001f600"));
    outcome_done(&outcome);
}
END_TEST

/* Each of these changes what comes out, and none fails. */
START_TEST(penalties_and_exact_search) {
    static const char *const plain[] = {"translate",  "--model", MODEL,
                                        "--strategy", "greedy",  NULL};
    static const char *const changed[][10] = {
        {"translate", "--model", MODEL, "--strategy", "greedy", "--no-repeat-ngram", "1", NULL},
        {"translate", "--model", MODEL, "--strategy", "greedy", "--repetition-penalty", "5", NULL},
        {"translate", "--model", MODEL, "--strategy", "exact", "--exact-steps", "200",
         "--length-penalty", "0", NULL},
    };
    char *input = input_text(1);
    struct outcome before, after;
    program_run(plain, input, &before);
    for (size_t i = 0; i < 3; i++) {
        program_run(changed[i], input, &after);
        ck_assert_int_eq(after.status, 0);
        ck_assert_str_ne(before.out, after.out);
        outcome_done(&after);
    }
    program_run(
        ARGUMENTS("translate", "--model", "tests/golden/fixed-gru", "--coverage-penalty", "1"),
        input, &after);
    ck_assert_int_eq(after.status, 1);
    ck_assert_str_eq(
        after.err, "alignd: --coverage-penalty must be 0: model \"fixed-gru\" has no attention\n");
    outcome_done(&after);
    outcome_done(&before);
    free(input);
}
END_TEST

/* Of the folder, with int8. said: what the log must tell. The caller frees it. */
static char *translation_of(const char *folder, const char *input, const char *said) {
    struct outcome outcome;
    program_run(
        ARGUMENTS("translate", "--model", folder, "--compute", "int8", "--log-level", "info"),
        input, &outcome);
    ck_assert_msg(outcome.status == 0, "%s", outcome.err);
    ck_assert_msg(strstr(outcome.err, said) != NULL, "no %s in %s", said, outcome.err);
    ck_assert_int_eq(strstr(outcome.err, "packed_ignored") != NULL,
                     strstr(said, "packed_ignored") != NULL);
    char *out = strdup(outcome.out);
    outcome_done(&outcome);
    return out;
}

/* The name of the file in the folder, as alignd pack prints it. Returns how many matrices it has.
 */
static size_t pack(const char *folder, char *name) {
    size_t count = 0;
    struct outcome outcome;
    program_run(ARGUMENTS("pack", "--model", folder, "--compute", "int8"), NULL, &outcome);
    ck_assert_msg(outcome.status == 0, "%s", outcome.err);
    ck_assert_int_eq(strncmp(outcome.out, folder, strlen(folder)), 0);
    ck_assert_int_eq(sscanf(outcome.out + strlen(folder), "/%63[^:]: %zu matrices", name, &count),
                     2);
    ck_assert_int_eq(strncmp(name, "packed-int8-", 12), 0);
    outcome_done(&outcome);
    return count;
}

/* With a file of packed weights, without, and with half of one. */
START_TEST(packed_weights_change_nothing) {
    char folder[] = FOLDER_TEMPLATE, name[64], mapped[64], *input = input_text(1);
    folder_make(folder, "packed", "en", "fr");
    char *without = translation_of(folder, input, " mapped=0/");
    size_t count = pack(folder, name);
    ck_assert_uint_eq(pack(folder, name), count);
    snprintf(mapped, sizeof mapped, " mapped=%zu/%zu ", count, count);
    char *with = translation_of(folder, input, mapped);
    ck_assert_str_eq(with, without);
    folder_truncate(folder, name);
    char *half = translation_of(folder, input, "event=packed_ignored model=packed");
    ck_assert_str_eq(half, without);
    folder_lose(folder, "model.safetensors");
    struct outcome outcome;
    program_run(ARGUMENTS("pack", "--model", folder), NULL, &outcome);
    ck_assert_int_eq(outcome.status, 1);
    ck_assert_ptr_nonnull(strstr(outcome.err, "cannot pack /tmp/alignd-http-"));
    outcome_done(&outcome);
    folder_remove(folder);
    free(without);
    free(with);
    free(half);
    free(input);
}
END_TEST

/* Its digest is computed beside the loading; nothing is translated before both have ended. */
START_TEST(a_large_wrong_file_is_refused) {
    char folder[] = FOLDER_TEMPLATE;
    struct outcome outcome;
    folder_make(folder, "wrong", "en", "fr");
    folder_list(folder, "extra.bin", (1 << 20) + 1,
                "0000000000000000000000000000000000000000000000000000000000000000");
    program_run(ARGUMENTS("translate", "--model", folder), "A boy.\n", &outcome);
    ck_assert_int_eq(outcome.status, 1);
    ck_assert_str_eq(outcome.out, "");
    ck_assert_ptr_nonnull(
        strstr(outcome.err, ": extra.bin is not the file that manifest.json lists"));
    outcome_done(&outcome);
    folder_remove(folder);
}
END_TEST

START_TEST(translate_edges) {
    struct outcome outcome;
    program_run(ARGUMENTS("translate", "--model", MODEL), "", &outcome);
    ck_assert_int_eq(outcome.status, 0);
    ck_assert_str_eq(outcome.out, "");
    outcome_done(&outcome);
    program_run(ARGUMENTS("translate", "--model", MODEL), "\n\n", &outcome);
    ck_assert_int_eq(outcome.status, 0);
    ck_assert_str_eq(outcome.out, "\n\n");
    outcome_done(&outcome);
    struct outcome with, without; /* a last line without its line feed counts */
    program_run(ARGUMENTS("translate", "--model", MODEL), "x\nA boy.\n", &with);
    program_run(ARGUMENTS("translate", "--model", MODEL), "x\nA boy.", &without);
    ck_assert_str_eq(with.out, without.out);
    outcome_done(&with);
    outcome_done(&without);
}
END_TEST

START_TEST(translate_refuses_other_encodings) {
    struct outcome outcome;
    program_run(ARGUMENTS("translate", "--model", MODEL), "x\ncaf\xe9\nx\n", &outcome);
    ck_assert_int_eq(outcome.status, 1);
    ck_assert_str_eq(outcome.err, "alignd: line 2 is not valid UTF-8\n");
    outcome_done(&outcome);
}
END_TEST

/* ---- where the output goes ---- */

/* Runs `alignd translate` with this as its stdout. Returns the exit status and what is on stderr,
 * which the caller frees. */
static int translate_to(int out, char **err) {
    char *input = input_text(REPEATS);
    int in = memory_file(input), log = memory_file("");
    int status =
        program_wait(program_start(ARGUMENTS("translate", "--model", MODEL), in, out, log));
    *err = read_from_start(log);
    close(in);
    close(log);
    free(input);
    return status;
}

START_TEST(broken_pipe) {
    int ends[2];
    char *err;
    ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
    close(ends[0]);
    ck_assert_int_eq(translate_to(ends[1], &err), 1);
    ck_assert_str_eq(err, "alignd: cannot write: Broken pipe\n");
    close(ends[1]);
    free(err);
}
END_TEST

START_TEST(full_disk) {
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    char *err;
    ck_assert_int_ge(full, 0);
    ck_assert_int_eq(translate_to(full, &err), 1);
    ck_assert_str_eq(err, "alignd: cannot write: No space left on device\n");
    close(full);
    free(err);
}
END_TEST

/* A line is answered before the next one has come: a program at the other end may wait for it. */
START_TEST(lines_are_not_held_back) {
    int in[2], out[2], log = memory_file("");
    char answer[4096];
    ck_assert_int_eq(pipe2(in, O_CLOEXEC), 0);
    ck_assert_int_eq(pipe2(out, O_CLOEXEC), 0);
    pid_t pid = program_start(ARGUMENTS("translate", "--model", MODEL), in[0], out[1], log);
    close(in[0]);
    close(out[1]);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(write(in[1], "A boy.\n", 7), 7);
        ssize_t count = read(out[0], answer, sizeof answer);
        ck_assert_int_gt(count, 0);
        ck_assert_int_eq(answer[count - 1], '\n');
    }
    close(in[1]);
    ck_assert_int_eq(program_wait(pid), 0);
    close(out[0]);
    close(log);
}
END_TEST

/* ---- attention ---- */

/* Runs `alignd attention` with these flags and this file of targets. */
static void align_with(const char *const *flags, const char *source, const char *target,
                       struct outcome *outcome) {
    char path[64];
    const char *arguments[16] = {"attention"};
    size_t count = 1;
    int file = memory_file(target);
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getpid(), file);
    while (*flags)
        arguments[count++] = *flags++;
    arguments[count++] = "--target";
    arguments[count] = path;
    program_run(arguments, source, outcome);
    close(file);
}

static void align(const char *source, const char *target, struct outcome *outcome) {
    align_with(ARGUMENTS("--model", MODEL), source, target, outcome);
}

static size_t count_words(const char *line, size_t length) {
    size_t count = 0;
    for (size_t i = 0; i < length; i++)
        count += line[i] != ' ' && (i == 0 || line[i - 1] == ' ');
    return count;
}

/* "j-i" for each target word i in order, j a source word. */
static void check_pharaoh(const char *line, size_t length, size_t sources, size_t targets) {
    const char *end = line + length;
    for (size_t i = 0; i < targets; i++) {
        size_t source, target;
        int used;
        ck_assert_int_eq(sscanf(line, "%zu-%zu%n", &source, &target, &used), 2);
        ck_assert_uint_lt(source, sources);
        ck_assert_uint_eq(target, i);
        line += used;
        line += i + 1 < targets && *line == ' ';
    }
    ck_assert_ptr_eq(line, end);
}

START_TEST(attention_lines) {
    static const char source[] = "A boy plays in the snow.\n\nThe dog runs. It barks.\nx\n";
    static const char target[] =
        "Un garçon joue dans la neige .\n\nLe chien court. Il aboie.\nUn mot de trop\n";
    struct outcome outcome;
    align(source, target, &outcome);
    ck_assert_msg(outcome.status == 0, "%s", outcome.err);
    const char *s = source, *t = target, *out = outcome.out;
    for (int i = 0; i < 4; i++) {
        size_t s_length = strcspn(s, "\n"), t_length = strcspn(t, "\n"),
               length = strcspn(out, "\n");
        check_pharaoh(out, length, count_words(s, s_length), count_words(t, t_length));
        s += s_length + 1;
        t += t_length + 1;
        out += length + 1;
    }
    ck_assert_str_eq(out, "");
    outcome_done(&outcome);
}
END_TEST

/* The lines agree with the word alignment of POST /attention, where white space stands between all
 * words. */
START_TEST(attention_equals_the_daemon) {
    struct daemon daemon;
    struct reply reply;
    struct outcome outcome;
    char expected[256] = "", *end = expected;
    align("A boy plays in the snow\n", "Un garçon joue\n", &outcome);
    daemon_start(&daemon, ARGUMENTS("--model", MODEL));
    client_post(&daemon, "/attention",
                "{'text': 'A boy plays in the snow', 'translation': 'Un garçon joue', 'include': "
                "['words']}",
                200, &reply);
    const json_t *pairs = json_at(reply.json, "results.0.sentences.0.words.alignment");
    for (size_t i = 0; i < json_array_size(pairs); i++) {
        const json_t *pair = json_array_get(pairs, i);
        end += sprintf(end, "%s%lld-%lld", i == 0 ? "" : " ",
                       (long long)json_integer_value(json_array_get(pair, 0)),
                       (long long)json_integer_value(json_array_get(pair, 1)));
    }
    strcpy(end, "\n");
    ck_assert_str_eq(outcome.out, expected);
    reply_done(&reply);
    outcome_done(&outcome);
    daemon_stop(&daemon);
}
END_TEST

/* Characters that the vocabularies lack stay part of their words, on both sides; L’homme is The as
 * well as man. */
START_TEST(attention_of_two_models) {
    static const char source[] = "The man sees a dog\u2663\u2663s .\n\nyes\n",
                      target[] = "L\u2019homme voit un chien\u2663\u2663s .\noui\n\n";
    struct outcome one, both;
    align_with(ARGUMENTS("--model", "weights/en-fr", "--links", "balanced"), source, target, &one);
    align_with(
        ARGUMENTS("--model", "weights/en-fr", "--model", "weights/fr-en", "--links", "balanced"),
        source, target, &both);
    ck_assert_str_eq(one.out, "0-0 2-1 3-2 4-3\n\n\n");
    ck_assert_str_eq(both.out, "0-0 2-1 3-2 4-3 5-4\n\n\n");
    ck_assert_int_eq(one.status | both.status, 0);
    outcome_done(&one);
    outcome_done(&both);
}
END_TEST

/* A compound has the links of both its words, of one model or of two. */
START_TEST(attention_with_several_links) {
    static const char source[] = "The orange juice is cold .\n",
                      target[] = "Der Orangensaft ist kalt .\n";
    struct outcome best, one, both;
    align_with(ARGUMENTS("--model", "weights/en-de"), source, target, &best);
    align_with(ARGUMENTS("--model", "weights/en-de", "--links", "several"), source, target, &one);
    align_with(
        ARGUMENTS("--model", "weights/en-de", "--model", "weights/de-en", "--links", "several"),
        source, target, &both);
    ck_assert_str_eq(best.out, "0-0 2-1 3-2 4-3 5-4\n");
    ck_assert_str_eq(one.out, "0-0 1-1 2-1 3-2 4-3 5-4\n");
    ck_assert_str_eq(both.out, one.out);
    outcome_done(&best);
    outcome_done(&one);
    outcome_done(&both);
}
END_TEST

START_TEST(attention_needs_opposite_directions) {
    struct outcome outcome;
    align_with(ARGUMENTS("--model", "weights/en-fr", "--model", MODEL), "", "", &outcome);
    ck_assert_int_eq(outcome.status, 1);
    ck_assert_str_eq(outcome.err, "alignd: --model: the second model must translate in the "
                                  "opposite direction, fr to en, not en to fr\n");
    outcome_done(&outcome);
}
END_TEST

START_TEST(attention_needs_a_model_with_attention) {
    struct outcome outcome;
    program_run(
        ARGUMENTS("attention", "--model", "tests/golden/fixed-gru", "--target", "/dev/null"), "",
        &outcome);
    ck_assert_int_eq(outcome.status, 1);
    ck_assert_str_eq(outcome.err,
                     "alignd: model \"fixed-gru\" has no attention, which aligning words needs\n");
    outcome_done(&outcome);
}
END_TEST

START_TEST(attention_needs_as_many_lines) {
    struct outcome outcome;
    align("x\ny\n", "x\n", &outcome);
    ck_assert_int_eq(outcome.status, 1);
    ck_assert_ptr_nonnull(strstr(outcome.err, " has fewer lines than the source\n"));
    outcome_done(&outcome);
    align("x\n", "x\ny\n", &outcome);
    ck_assert_int_eq(outcome.status, 1);
    ck_assert_ptr_nonnull(strstr(outcome.err, " has more lines than the source\n"));
    outcome_done(&outcome);
    program_run(ARGUMENTS("attention", "--model", MODEL, "--target", "/nonexistent"), "x\n",
                &outcome);
    ck_assert_int_eq(outcome.status, 1);
    ck_assert_str_eq(outcome.err, "alignd: cannot open /nonexistent: No such file or directory\n");
    outcome_done(&outcome);
}
END_TEST

#define TOO_LONG                                                                                   \
    "the text has more than 40 tokens, the most that the model reads at once: skipped\n"

/* A line that is too long stays empty, is reported and counted; the other lines are translated. */
START_TEST(attention_skips_long_lines) {
    struct outcome whole, outcome;
    align("x\ny\nz\n", "x\ny\nz\n", &whole);
    ck_assert_int_eq(whole.status, 0);
    align("x\n" LONG_LINE "\ny\n" LONG_LINE "\nz\n", "x\nx\ny\ny\nz\n", &outcome);
    ck_assert_int_eq(outcome.status, 3);
    ck_assert_str_eq(outcome.err, "alignd: line 2: " TOO_LONG "alignd: line 4: " TOO_LONG
                                  "alignd: 2 of 5 lines were skipped\n");
    char *line[3], *rest = whole.out, expected[256];
    for (size_t i = 0; i < 3; i++)
        line[i] = strsep(&rest, "\n");
    snprintf(expected, sizeof expected, "%s\n\n%s\n\n%s\n", line[0], line[1], line[2]);
    ck_assert_str_eq(outcome.out, expected);
    outcome_done(&outcome);
    outcome_done(&whole);
}
END_TEST

/* All of them, more than there is room for at once. */
START_TEST(attention_skips_every_line) {
    enum { MANY = 3000 };
    struct outcome outcome;
    char *source = malloc(MANY * sizeof LONG_LINE "\n"), *target = malloc(MANY * 2 + 1),
         *to = source;
    for (size_t i = 0; i < MANY; i++) {
        to = stpcpy(to, LONG_LINE "\n");
        memcpy(target + 2 * i, "x\n", 3);
    }
    align(source, target, &outcome);
    ck_assert_int_eq(outcome.status, 3);
    ck_assert_uint_eq(strspn(outcome.out, "\n"), MANY);
    ck_assert_ptr_nonnull(strstr(outcome.err, "alignd: 3000 of 3000 lines were skipped\n"));
    outcome_done(&outcome);
    free(source);
    free(target);
}
END_TEST

Suite *batch_mode_suite(void) {
    Suite *suite = suite_create("batch_mode");
    TCase *tcase = tcase_create("batch_mode");
    tcase_set_timeout(tcase, TEST_TIMEOUT_S);
    tcase_add_test(tcase, translate_keeps_count_and_order);
    tcase_add_test(tcase, translate_splits_sentences);
    tcase_add_test(tcase, translate_options);
    tcase_add_test(tcase, samples_are_repeated);
    tcase_add_test(tcase, unknowns_are_kept_verbatim);
    tcase_add_test(tcase, penalties_and_exact_search);
    tcase_add_test(tcase, a_large_wrong_file_is_refused);
    tcase_add_test(tcase, translate_edges);
    tcase_add_test(tcase, packed_weights_change_nothing);
    tcase_add_test(tcase, translate_refuses_other_encodings);
    tcase_add_test(tcase, broken_pipe);
    tcase_add_test(tcase, full_disk);
    tcase_add_test(tcase, lines_are_not_held_back);
    tcase_add_test(tcase, attention_lines);
    tcase_add_test(tcase, attention_equals_the_daemon);
    tcase_add_test(tcase, attention_of_two_models);
    tcase_add_test(tcase, attention_with_several_links);
    tcase_add_test(tcase, attention_needs_opposite_directions);
    tcase_add_test(tcase, attention_needs_a_model_with_attention);
    tcase_add_test(tcase, attention_needs_as_many_lines);
    tcase_add_test(tcase, attention_skips_long_lines);
    tcase_add_test(tcase, attention_skips_every_line);
    suite_add_tcase(suite, tcase);
    return suite;
}
