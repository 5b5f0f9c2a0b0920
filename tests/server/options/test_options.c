/* server/options: precedence, ranges, and error messages. */
#include "server/options/options.h"
#include "tests/suites.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_ARGUMENTS = 16 };

static struct options options;
static struct error err;

/* words: the command line after the program's name, with single spaces. */
static int parse(const char *words) {
    static char line[512], program[] = "alignd";
    char *arguments[MAX_ARGUMENTS] = {program};
    int count = 1;
    strcpy(line, words);
    for (char *word = strtok(line, " "); word; word = strtok(NULL, " "))
        arguments[count++] = word;
    err = (struct error){0};
    return options_parse(&options, count, arguments, &err);
}

static void teardown(void) {
    options_done(&options);
    options = (struct options){0};
}

static void unset_variables(void) {
    static const char PREFIX[] = "ALIGND_";
    char name[64];
    for (char **variable = environ; *variable;)
        if (strncmp(*variable, PREFIX, strlen(PREFIX)) == 0) {
            snprintf(name, sizeof name, "%.*s", (int)strcspn(*variable, "="), *variable);
            unsetenv(name); /* moves the next one here */
        } else {
            variable++;
        }
}

START_TEST(defaults) {
    ck_assert_int_eq(parse(""), 0);
    ck_assert(options.models.count == 0 && !options.directory); /* the shipped ones */
    teardown();
    ck_assert_int_eq(parse("--model a"), 0);
    ck_assert_int_eq(options.command, COMMAND_SERVE);
    ck_assert_uint_eq(options.listen.count, 0);
    ck_assert_uint_eq(options.cors.count, 1);
    ck_assert_str_eq(options.cors.names[0], "*");
    ck_assert_uint_eq(options.socket_mode, 0660);
    ck_assert(!options.api_keys && !options.tls_cert && !options.tls_key);
    ck_assert_uint_ge(options.workers, 1);
    ck_assert_uint_eq(options.rows, 256);
    ck_assert_str_eq(options.compute, "model");
    ck_assert_int_eq(options.shortlist, SWITCH_OF_MODEL);
    ck_assert_uint_eq(options.step_ms, 40);
    ck_assert_uint_eq(options.queue, 1024);
    ck_assert_uint_eq(options.cache_bytes, 0);
    ck_assert_str_eq(options.log_format, "text");
    ck_assert_uint_eq(options.queue_work, 4000000);
    ck_assert(options.rate <= 0);
    ck_assert_uint_eq(options.burst, 100);
    ck_assert_uint_eq(options.read_timeout_ms, 30000);
    ck_assert_uint_eq(options.send_timeout_ms, 60000);
    ck_assert_uint_eq(options.connections, 0);
    ck_assert_uint_eq(options.connections_per_address, 0);
    ck_assert_ptr_null(options.client_header);
    ck_assert_uint_eq(options.max_body_bytes, 1048576);
    ck_assert_uint_eq(options.max_reply_bytes, 33554432);
    ck_assert_uint_eq(options.request_memory, 134217728);
    ck_assert_uint_eq(options.decode_memory, 268435456);
    ck_assert_uint_eq(options.reply_memory, 134217728);
    ck_assert_uint_eq(options.max_text_chars, 50000);
    ck_assert_uint_eq(options.deadline_ms, 10000);
    ck_assert_uint_eq(options.grace_ms, 30000);
}
END_TEST

START_TEST(batch_defaults) {
    ck_assert_int_eq(parse("translate --model a"), 0);
    ck_assert_int_eq(options.command, COMMAND_TRANSLATE);
    ck_assert_ptr_eq(options.search.strategy, &search_beam);
    ck_assert_uint_eq(options.search.beam_size, 0); /* the model's */
    ck_assert_double_eq(options.search.length_penalty, -1);
    ck_assert_double_eq(options.search.sampling.temperature, 1);
    ck_assert_double_eq(options.search.sampling.top_p, 1);
    ck_assert_double_eq(options.search.coverage_penalty, 0);
    ck_assert_double_eq(options.search.repetition_penalty, 1);
    ck_assert_uint_eq(options.search.max_steps, 5000);
    ck_assert(options.search.sampling.top_k == 0 && options.search.no_repeat_ngram == 0 &&
              options.search.sampling.seed == 0);
    ck_assert_str_eq(options.compute, "model");
    ck_assert(!options.stats && !options.split_sentences && !options.keep_unknowns &&
              options.shortlist == SWITCH_OF_MODEL);
}
END_TEST

START_TEST(flag_before_environment_before_default) {
    setenv("ALIGND_QUEUE", "7", 1);
    setenv("ALIGND_MAX_BODY_BYTES", "9", 1);
    ck_assert_int_eq(parse("--model a --queue 8"), 0);
    ck_assert_uint_eq(options.queue, 8);
    ck_assert_uint_eq(options.max_body_bytes, 9);
}
END_TEST

START_TEST(value_after_equals) {
    ck_assert_int_eq(parse("--model=a --queue=8"), 0);
    ck_assert_uint_eq(options.queue, 8);
    ck_assert_str_eq(options.models.names[0], "a");
}
END_TEST

START_TEST(models_add_up) {
    ck_assert_int_eq(parse("--model a --model b"), 0);
    ck_assert_uint_eq(options.models.count, 2);
    ck_assert_str_eq(options.models.names[0], "a");
    ck_assert_str_eq(options.models.names[1], "b");
}
END_TEST

START_TEST(models_of_the_environment) {
    setenv("ALIGND_MODEL", "a:b:c", 1);
    ck_assert_int_eq(parse(""), 0);
    ck_assert_uint_eq(options.models.count, 3);
    ck_assert_str_eq(options.models.names[2], "c");
}
END_TEST

START_TEST(model_flag_takes_the_place_of_the_environment) {
    setenv("ALIGND_MODEL", "a:b:c", 1);
    ck_assert_int_eq(parse("--model d --model e"), 0);
    ck_assert_uint_eq(options.models.count, 2);
    ck_assert_str_eq(options.models.names[0], "d");
}
END_TEST

START_TEST(several_addresses) {
    setenv("ALIGND_LISTEN", "127.0.0.1:1,[::1]:2,unix:/run/alignd:socket", 1);
    ck_assert_int_eq(parse("--model a"), 0);
    ck_assert_uint_eq(options.listen.count, 3);
    ck_assert_str_eq(options.listen.names[1], "[::1]:2");
    ck_assert_str_eq(options.listen.names[2], "unix:/run/alignd:socket");
    teardown();
    ck_assert_int_eq(parse("--model a --listen :3 --listen :4,:5"), 0);
    ck_assert_uint_eq(options.listen.count, 3);
    ck_assert_str_eq(options.listen.names[0], ":3");
    teardown();
    ck_assert_int_eq(parse("--model a --listen :3,"), -1);
    ck_assert_str_eq(err.message, "--listen needs an address");
}
END_TEST

START_TEST(origins) {
    setenv("ALIGND_CORS", "https://example.org,http://localhost:3000", 1);
    ck_assert_int_eq(parse("--model a"), 0);
    ck_assert_uint_eq(options.cors.count, 2);
    ck_assert_str_eq(options.cors.names[1], "http://localhost:3000");
    teardown();
    ck_assert_int_eq(parse("--model a --cors https://a.example"), 0);
    ck_assert_uint_eq(options.cors.count, 1);
    teardown();
    ck_assert_int_eq(parse("--model a --cors https://a.example,*"), -1);
    ck_assert_str_eq(err.message,
                     "--cors must be either * or a list of origins, got \"https://a.example,*\"");
    ck_assert_int_eq(parse("--model a --cors https://a.example/"), -1);
    ck_assert_str_eq(
        err.message,
        "--cors must contain origins such as https://example.org, got \"https://a.example/\"");
    ck_assert_int_eq(parse("--model a --cors example.org"), -1);
}
END_TEST

START_TEST(socket_modes) {
    static const char *const wrong[] = {
        "--model a --socket-mode 66", "--model a --socket-mode 0888",
        "--model a --socket-mode 1777", "--model a --socket-mode rw"};
    ck_assert_int_eq(parse("--model a --socket-mode 600"), 0);
    ck_assert_uint_eq(options.socket_mode, 0600);
    teardown();
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ck_assert_int_eq(parse(wrong[i]), -1);
    ck_assert_str_eq(err.message, "--socket-mode must be permissions such as 0660, got \"rw\"");
}
END_TEST

START_TEST(certificate_needs_its_key) {
    ck_assert_int_eq(parse("--model a --tls-cert c"), -1);
    ck_assert_str_eq(err.message, "--tls-cert and --tls-key must be given together");
    ck_assert_int_eq(parse("--model a --tls-key k"), -1);
    ck_assert_int_eq(parse("--model a --tls-key k --tls-cert c"), 0);
}
END_TEST

START_TEST(key_command) {
    ck_assert_int_eq(parse("key --name alice"), 0);
    ck_assert_int_eq(options.command, COMMAND_KEY);
    ck_assert_str_eq(options.role, "user");
    teardown();
    ck_assert_int_eq(parse("key"), -1);
    ck_assert_str_eq(err.message, "--name NAME is missing");
    ck_assert_int_eq(parse("key --name alice --role boss"), -1);
    ck_assert_str_eq(err.message, "--role must be user or admin, got \"boss\"");
    ck_assert_int_eq(parse("key --name alice --model a"), -1);
}
END_TEST

START_TEST(empty_variable_counts_as_unset) {
    setenv("ALIGND_QUEUE", "", 1);
    setenv("ALIGND_CORS", "", 1); /* but no origin at all can be wanted */
    ck_assert_int_eq(parse("--model a"), 0);
    ck_assert_uint_eq(options.queue, 1024);
    ck_assert_uint_eq(options.cors.count, 0);
}
END_TEST

START_TEST(switches) {
    setenv("ALIGND_SPLIT_SENTENCES", "true", 1);
    ck_assert_int_eq(parse("translate --model a --stats --keep-unknowns"), 0);
    ck_assert(options.stats && options.split_sentences && options.keep_unknowns);
}
END_TEST

START_TEST(compute_and_shortlist) {
    setenv("ALIGND_COMPUTE", "bfloat16", 1);
    setenv("ALIGND_SHORTLIST", "true", 1);
    ck_assert_int_eq(parse("attention --model a --target b"), 0);
    ck_assert_str_eq(options.compute, "bfloat16");
    ck_assert(options.shortlist == SWITCH_ON && options.half_past == SWITCH_OF_MODEL);
    teardown();
    ck_assert_int_eq(parse("--model a --compute int8 --shortlist=false --half-past"), 0);
    ck_assert_int_eq(options.half_past, SWITCH_ON);
    ck_assert_str_eq(options.compute, "int8");
    ck_assert_int_eq(options.shortlist, SWITCH_OFF);
    teardown();
    ck_assert_int_eq(parse("translate --model a --compute auto"), 0);
    ck_assert_str_eq(options.compute, "auto");
}
END_TEST

START_TEST(values_that_are_computed) {
    ck_assert_int_eq(parse("--model a"), 0);
    size_t bodies = options.body_memory;
    ck_assert_uint_eq(options.fetch_bytes, OPTION_AUTO);
    teardown();
    ck_assert_int_eq(parse("--model a --fetch-bytes 0 --body-memory auto"), 0);
    ck_assert_uint_eq(options.fetch_bytes, 0);
    ck_assert_uint_eq(options.body_memory, bodies);
    teardown();
    setenv("ALIGND_FETCH_BYTES", "2G", 1);
    ck_assert_int_eq(parse("--model a --fetch-bytes=auto"), 0);
    ck_assert_uint_eq(options.fetch_bytes, OPTION_AUTO);
}
END_TEST

START_TEST(links_of_one_model_or_two) {
    ck_assert_int_eq(parse("attention --model a --target b"), 0);
    ck_assert_str_eq(options.links, "best");
    teardown();
    ck_assert_int_eq(parse("attention --model a --model b --target c --links balanced"), 0);
    ck_assert_uint_eq(options.models.count, 2);
    ck_assert_str_eq(options.links, "balanced");
}
END_TEST

START_TEST(help_and_version_need_no_model) {
    ck_assert_int_eq(parse("--help"), 0);
    ck_assert(options.help);
    teardown();
    ck_assert_int_eq(parse("--version"), 0);
    ck_assert(options.version);
}
END_TEST

START_TEST(import_takes_several_paths) {
    ck_assert_int_eq(parse("import a b.spm --into models --name en-fr --from en --storage int8 "
                           "--preparation opus c"),
                     0);
    ck_assert_int_eq(options.command, COMMAND_IMPORT);
    ck_assert_uint_eq(options.paths.count, 3);
    ck_assert_str_eq(options.paths.names[2], "c");
    ck_assert_str_eq(options.from, "en");
    ck_assert_ptr_null(options.to);
    ck_assert_uint_eq(options.max_source_tokens, 0);
    teardown();
    ck_assert_int_eq(parse("import --into models"), -1);
    ck_assert_str_eq(err.message, "PATH is missing: a model's folder, archive or file, or a URL");
    ck_assert_int_eq(parse("import a --preparation some"), -1);
    ck_assert_str_eq(err.message, "--preparation must be none or opus, got \"some\"");
    ck_assert_int_eq(parse("import a --alignment some"), -1);
    ck_assert_str_eq(err.message, "--alignment must be trained or untrained, got \"some\"");
    ck_assert_int_eq(parse("import a --workers 2"), -1);
}
END_TEST

START_TEST(pack_takes_several_models) {
    ck_assert_int_eq(parse("pack --model a --model b --compute int8 --shortlist"), 0);
    ck_assert_int_eq(options.command, COMMAND_PACK);
    ck_assert_uint_eq(options.models.count, 2);
    ck_assert_str_eq(options.compute, "int8");
    ck_assert_int_eq(options.shortlist, SWITCH_ON);
    teardown();
    ck_assert_int_eq(parse("pack --model a"), 0);
    ck_assert_str_eq(options.compute, "model");
    teardown();
    ck_assert_int_eq(parse("pack"), -1);
    ck_assert_str_eq(err.message, "--model MODEL is missing");
    ck_assert_int_eq(parse("pack --model a --workers 2"), -1);
}
END_TEST

START_TEST(shortlist_takes_texts) {
    ck_assert_int_eq(parse("shortlist --model a --to fr one.txt two.txt --count 9"), 0);
    ck_assert_int_eq(options.command, COMMAND_SHORTLIST);
    ck_assert_str_eq(options.models.names[0], "a");
    ck_assert_str_eq(options.to, "fr");
    ck_assert_uint_eq(options.paths.count, 2);
    ck_assert_str_eq(options.paths.names[1], "two.txt");
    ck_assert_uint_eq(options.count, 9);
    ck_assert_double_eq(options.share, 0.9999);
    teardown();
    ck_assert_int_eq(parse("shortlist --to fr"), -1);
    ck_assert_str_eq(err.message, "--model MODEL is missing");
    ck_assert_int_eq(parse("shortlist --model a --model b --to fr"), -1);
    ck_assert_str_eq(err.message, "--model MODEL must be given once");
    ck_assert_int_eq(parse("shortlist --model a text"), -1);
    ck_assert_str_eq(err.message, "--to CODE is missing: the language of the text");
    ck_assert_int_eq(parse("shortlist --model a --to fr --share 1.5"), -1);
    ck_assert_int_eq(parse("shortlist --model a --to fr --from en"), -1);
}
END_TEST

START_TEST(align_head_takes_two_files) {
    ck_assert_int_eq(parse("align-head a --text t --translation u --size 64 --memory 2G"), 0);
    ck_assert_int_eq(options.command, COMMAND_ALIGN_HEAD);
    ck_assert_str_eq(options.models.names[0], "a");
    ck_assert_str_eq(options.file, "t");
    ck_assert_str_eq(options.target, "u");
    ck_assert_uint_eq(options.head_size, 64);
    ck_assert_uint_eq(options.head_epochs, 0);
    ck_assert_uint_eq(options.head_memory, (size_t)2 << 30);
    teardown();
    ck_assert_int_eq(parse("align-head --text t --translation u"), -1);
    ck_assert_str_eq(err.message, "MODEL is missing");
    ck_assert_int_eq(parse("align-head a b --text t --translation u"), -1);
    ck_assert_str_eq(err.message, "MODEL must be given once");
    ck_assert_int_eq(parse("align-head a --text t"), -1);
    ck_assert_str_eq(err.message, "--translation FILE is missing");
    ck_assert_int_eq(parse("align-head a --text t --translation u --workers 2"), -1);
}
END_TEST

START_TEST(health_asks_where_the_daemon_listens) {
    ck_assert_int_eq(parse("health"), 0);
    ck_assert_int_eq(options.command, COMMAND_HEALTH);
    ck_assert_str_eq(options.address, "127.0.0.1:8080");
    ck_assert_str_eq(options.path, "/ready");
    ck_assert_ptr_null(options.tls_cert);
    teardown();
    setenv("ALIGND_LISTEN", "0.0.0.0:99", 1); /* the daemon's own variables */
    setenv("ALIGND_TLS_CERT", "chain.pem", 1);
    ck_assert_int_eq(parse("health --path /health"), 0);
    ck_assert_str_eq(options.address, "0.0.0.0:99");
    ck_assert_str_eq(options.tls_cert, "chain.pem");
    ck_assert_str_eq(options.path, "/health");
}
END_TEST

START_TEST(help_names_every_option_and_variable) {
    char *help = options_help(COMMAND_SERVE);
    ck_assert_ptr_nonnull(help);
    ck_assert_ptr_nonnull(strstr(help, "--max-body-bytes SIZE"));
    ck_assert_ptr_nonnull(strstr(help, "--max-reply-bytes SIZE"));
    ck_assert_ptr_nonnull(strstr(help, "--request-memory SIZE"));
    ck_assert_ptr_nonnull(strstr(help, "--reply-memory SIZE"));
    ck_assert_ptr_nonnull(strstr(help, "[ALIGND_MAX_BODY_BYTES; default 1M]"));
    ck_assert_ptr_nonnull(strstr(help, "--length-penalty P"));
    free(help);
}
END_TEST

static const struct {
    const char *words, *message;
} wrong[] = {
    {"translate", "--model MODEL is missing, or --from CODE and --to CODE"},
    {"attention", "--model MODEL is missing, or --from CODE and --to CODE"},
    {"translate --from en", "--from and --to must be given together"},
    {"mcp --listen 127.0.0.1:80", "unknown argument \"--listen\": it is an option of the daemon"},
    {"--model", "--model needs a value"},
    {"--model a:", "--model needs a model folder, or the name of a model"},
    {"--model a --qeue 3", "unknown argument \"--qeue\": did you mean --queue?"},
    {"--model a --que 3", "unknown argument \"--que\": did you mean --queue?"},
    {"--lisen=x", "unknown argument \"--lisen\": did you mean --listen?"},
    {"--model a --zzzzzz 3", "unknown argument \"--zzzzzz\""},
    {"translate --model a --beamsize 3",
     "unknown argument \"--beamsize\": did you mean --beam-size?"},
    {"tranlsate --model a", "unknown argument \"tranlsate\": did you mean alignd translate?"},
    {"--model a b", "unknown argument \"b\""},
    {"--model a --beam-size 3",
     "unknown argument \"--beam-size\": it is an option of alignd translate"},
    {"--model a --queue x", "--queue must be a whole number, got \"x\""},
    {"--model a --queue -1", "--queue must be a whole number, got \"-1\""},
    {"--model a --queue=", "--queue must be a whole number, got \"\""},
    {"--model a --rate -1", "--rate must be between 0 and 1e+06, got -1"},
    {"--model a --burst 0", "--burst must be between 1 and 1000000, got 0"},
    {"--model a --read-timeout-ms 9", "--read-timeout-ms must be between 10 and 1000000000, got 9"},
    {"--model a --cache-bytes 2X",
     "--cache-bytes must be a whole number of bytes, such as 1000000, 64k, 512M or 2G, got \"2X\""},
    {"--model a --cache-bytes 0.3", "--cache-bytes must be a whole number of bytes, such as "
                                    "1000000, 64k, 512M or 2G, got \"0.3\""},
    {"--model a --cache-bytes 2T",
     "--cache-bytes must be between 0 and 1000000000000 bytes, got 2T"},
    {"--model a --deadline-ms 5x", "--deadline-ms must be a time, such as 500ms, 5s or 2min, or a "
                                   "whole number of ms, got \"5x\""},
    {"--model a --deadline-ms s",
     "--deadline-ms must be a time, such as 500ms, 5s or 2min, or a whole number of ms, got \"s\""},
    {"--model a --heartbeat-ms 1h", "--heartbeat-ms must be between 10 and 1000000 ms, got 1h"},
    {"--model a --idle-unload-s 1.5s", "--idle-unload-s must be a whole number of seconds, or a "
                                       "time such as 30s, 2min or 1h, got \"1.5s\""},
    {"--model a --queue 2k", "--queue must be a whole number, got \"2k\""},
    {"--model a --queue 0", "--queue must be between 1 and 1000000, got 0"},
    {"--model a --queue 99999999999999999999",
     "--queue must be between 1 and 1000000, got 99999999999999999999"},
    {"--model a --log-format xml", "--log-format must be text or json, got \"xml\""},
    {"--model a --cache-bytes -1",
     "--cache-bytes must be a whole number of bytes, such as 1000000, 64k, 512M or 2G, got \"-1\""},
    {"--model a --log-level loud", "--log-level must be error, warn, info or debug, got \"loud\""},
    {"--model a --fetch-bytes=much", "--fetch-bytes must be auto, or a whole number of bytes, such "
                                     "as 1000000, 64k, 512M or 2G, got \"much\""},
    {"--model a --compute int4",
     "--compute must be model, float32, bfloat16, int8 or auto, got \"int4\""},
    {"translate --model a --compute=",
     "--compute must be model, float32, bfloat16, int8 or auto, got \"\""},
    {"translate --model a --shortlist=some",
     "--shortlist must be true, false or model, got \"some\""},
    {"--model a --step-ms 1000001", "--step-ms must be between 0 and 1000000, got 1000001"},
    {"translate --model a --step-ms 5",
     "unknown argument \"--step-ms\": it is an option of the daemon"},
    {"translate --model a one two", "unknown argument \"two\""},
    {"attention --model a one", "unknown argument \"one\""},
    {"translate --model a --model b", "--model must be given only once in this mode"},
    {"translate --model a --strategy best",
     "--strategy must be greedy, beam, sample or exact, got \"best\""},
    {"translate --model a --strategy forced",
     "--strategy must be greedy, beam, sample or exact, got \"forced\""},
    {"translate --model a --temperature 0", "--temperature must be between 0.01 and 10, got 0"},
    {"translate --model a --temperature 11", "--temperature must be between 0.01 and 10, got 11"},
    {"translate --model a --top-k 1001", "--top-k must be between 0 and 1000, got 1001"},
    {"translate --model a --top-p 0", "--top-p must be between 0.01 and 1, got 0"},
    {"translate --model a --top-p 1.1", "--top-p must be between 0.01 and 1, got 1.1"},
    {"translate --model a --seed -1", "--seed must be a whole number, got \"-1\""},
    {"translate --model a --seed 9007199254740993",
     "--seed must be between 0 and 9007199254740991, got 9007199254740993"},
    {"translate --model a --exact-steps 0",
     "--exact-steps must be between 1 and 1000000000, got 0"},
    {"--model a --exact-steps 0", "--exact-steps must be between 1 and 1000000000, got 0"},
    {"--model a --seed 1", "unknown argument \"--seed\": it is an option of alignd translate"},
    {"translate --model a --coverage-penalty 2.1",
     "--coverage-penalty must be between 0 and 2, got 2.1"},
    {"translate --model a --no-repeat-ngram 21",
     "--no-repeat-ngram must be between 0 and 20, got 21"},
    {"translate --model a --repetition-penalty 0.9",
     "--repetition-penalty must be between 1 and 10, got 0.9"},
    {"translate --model a --length-penalty 3", "--length-penalty must be between 0 and 2, got 3"},
    {"translate --model a --length-penalty nan", "--length-penalty must be a number, got \"nan\""},
    {"translate --model a --stats=maybe", "--stats must be true or false, got \"maybe\""},
    {"--model a --reply-memory 2000 --max-reply-bytes 3000",
     "--max-reply-bytes must be at most --reply-memory (2000), got 3000"},
    {"translate --model a --rows 4 --beam-size 5", "--beam-size must be at most --rows (4), got 5"},
    {"translate --model a --rows 4 --strategy exact --beam-size 5",
     "--beam-size must be at most --rows (4), got 5"},
    {"translate --model a --beam-size 0", "--beam-size must be between 1 and 32, got 0"},
    {"translate --model a --length-penalty -1", "--length-penalty must be between 0 and 2, got -1"},
    {"translate --model a --min-length 5 --max-length 4",
     "--min-length must be at most --max-length (4), got 5"},
    {"attention --model a", "--target FILE is missing"},
    {"attention --model a --model b --model c --target d",
     "--model must be given at most twice in this mode, once for each direction"},
    {"attention --model a --target b --links all",
     "--links must be best, mutual, balanced or several, got \"all\""},
    {"translate --model a --links best",
     "unknown argument \"--links\": it is an option of alignd attention"},
};

START_TEST(wrong_command_line) {
    ck_assert_int_eq(parse(wrong[_i].words), -1);
    ck_assert_int_eq(err.code, ERROR_INPUT);
    ck_assert_str_eq(err.message, wrong[_i].message);
}
END_TEST

/* The content of --help, and its layout. */
START_TEST(units) {
    static const struct {
        const char *words;
        size_t number;
    } rows[] =
        {
            {"--cache-bytes 64k", 65536},
            {"--cache-bytes 64K", 65536},
            {"--cache-bytes 64KiB", 65536},
            {"--cache-bytes 64Ki", 65536},
            {"--cache-bytes 64kB", 64000},
            {"--cache-bytes 2G", (size_t)2 << 30},
            {"--cache-bytes 1.5M", 3 << 19},
            {"--cache-bytes 17", 17},
            {"--cache-bytes 17b", 17},
            {"--cache-bytes 0", 0},
            {"--cache-bytes 0.5T", (size_t)1 << 39},
        },
      times[] = {
          {"--deadline-ms 500ms", 500},   {"--deadline-ms 5s", 5000},
          {"--deadline-ms 2min", 120000}, {"--deadline-ms 2m", 120000},
          {"--deadline-ms 1h", 3600000},  {"--deadline-ms 0.25s", 250},
          {"--deadline-ms 77", 77},
      };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ck_assert_msg(parse(rows[i].words) == 0, "%s", err.message);
        ck_assert_uint_eq(options.cache_bytes, rows[i].number);
        teardown();
    }
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        ck_assert_msg(parse(times[i].words) == 0, "%s", err.message);
        ck_assert_uint_eq(options.deadline_ms, times[i].number);
        teardown();
    }
    ck_assert_int_eq(parse("--idle-unload-s 2min --keep-files-s 7"), 0);
    ck_assert(options.idle_unload_s == 120 && options.keep_files_s == 7);
}
END_TEST

/* ---- a file ---- */

static char config[] = "/tmp/alignd-config-XXXXXX";

static void setup_config(void) {
    strcpy(strrchr(config, '-'), "-XXXXXX");
    int file = mkstemp(config);
    ck_assert_int_ge(file, 0);
    close(file);
}

static void teardown_config(void) {
    unlink(config);
    teardown();
}

static int parse_with(const char *text, const char *words) {
    char line[256];
    FILE *out = fopen(config, "w");
    fputs(text, out);
    fclose(out);
    snprintf(line, sizeof line, "%s--config %s", words, config);
    return parse(line);
}

START_TEST(a_file_of_options) {
    static const char text[] = "\xef\xbb\xbf# comment\n"
                               "queue = 7   # and why\r\n"
                               "\n"
                               "  model=a\n--model = b:c\n"
                               "max_body_bytes = 2M\n"
                               "cors =\n"
                               "glossary = x=y#z\n"
                               "shortlist\n"
                               "half-past = false\n"
                               "beam-size = 3\n"
                               "name = nobody";
    ck_assert_msg(parse_with(text, "") == 0, "%s", err.message);
    ck_assert(options.queue == 7 && options.max_body_bytes == 2 << 20 &&
              options.shortlist == SWITCH_ON && options.half_past == SWITCH_OFF);
    ck_assert_uint_eq(options.models.count, 3);
    ck_assert_str_eq(options.models.names[2], "c");
    ck_assert_uint_eq(options.cors.count, 0);
    ck_assert_str_eq(options.glossary.names[0], "x=y#z");
    teardown();
    ck_assert_int_eq(parse_with("beam-size = 3\nqueue = 7\nmodel = a\n", "translate "),
                     0); /* its own of them */
    ck_assert_uint_eq(options.search.beam_size, 3);
}
END_TEST

START_TEST(flag_before_variable_before_file) {
    setenv("ALIGND_QUEUE", "8", 1);
    setenv("ALIGND_MODEL", "b", 1);
    ck_assert_int_eq(parse_with("queue = 7\nburst = 7\nrows = 7\nmodel = a\n", "--burst 9 "), 0);
    ck_assert(options.queue == 8 && options.burst == 9 && options.rows == 7);
    ck_assert(options.models.count == 1 && strcmp(options.models.names[0], "b") == 0);
    teardown();
    setenv("ALIGND_CONFIG", config, 1);
    ck_assert_int_eq(parse(""), 0);
    ck_assert_uint_eq(options.rows, 7);
    teardown();
    ck_assert_int_eq(parse("--config /nonexistent"), -1);
    ck_assert_str_eq(err.message, "cannot open /nonexistent: No such file or directory");
}
END_TEST

static const struct {
    const char *text, *message; /* after the file's name */
} wrong_files[] = {
    {"\n\nlisen = x\n", ", line 3: unknown option \"lisen\": did you mean listen?"},
    {"zzzzzz", ", line 1: unknown option \"zzzzzz\""},
    {"queue = 7\nburst = 0\n", ", line 2: burst must be between 1 and 1000000, got 0"},
    {"queue\n", ", line 1: queue needs a value: queue = N"},
    {"queue =\n", ", line 1: queue needs a value"},
    {"= 3\n", ", line 1: unknown option \"\""},
    {"config = x\n", ", line 1: config cannot be set in a file"},
    {"shortlist = maybe\n", ", line 1: shortlist must be true, false or model, got \"maybe\""},
};

START_TEST(wrong_file) {
    ck_assert_int_eq(parse_with(wrong_files[_i].text, ""), -1);
    ck_assert_int_eq(strncmp(err.message, config, strlen(config)), 0);
    ck_assert_str_eq(err.message + strlen(config), wrong_files[_i].message);
}
END_TEST

/* ---- help and suggestions ---- */

START_TEST(help_of_a_command) {
    const struct option_command *row;
    for (size_t i = 0; (row = option_command_nth(i)) != NULL; i++) {
        char *help = options_help(row->command), words[64];
        snprintf(words, sizeof words, "%s --help", row->word);
        ck_assert_int_eq(parse(words), 0);
        ck_assert(options.help && options.command == row->command);
        snprintf(words, sizeof words, "alignd %s: ", row->word);
        ck_assert_int_eq(strncmp(help, words, strlen(words)), 0);
        ck_assert_ptr_nonnull(strstr(help, "--config FILE"));
        ck_assert_int_eq(strstr(help, "--queue-work") != NULL, row->command == COMMAND_MCP);
        ck_assert_int_eq(strstr(help, "--beam-size N") != NULL, row->command == COMMAND_TRANSLATE);
        free(help);
    }
}
END_TEST

START_TEST(distances) {
    static const struct {
        const char *a, *b;
        size_t distance;
    } rows[] = {{"", "", 0},
                {"", "abc", 3},
                {"abc", "", 3},
                {"listen", "listen", 0},
                {"lisen", "listen", 1},
                {"lsiten", "listen", 1},
                {"listem", "listen", 1},
                {"listenn", "listen", 1},
                {"kitten", "sitting", 3},
                {"ca", "abc", 3}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_uint_eq(option_distance(rows[i].a, rows[i].b), rows[i].distance);
}
END_TEST

START_TEST(wrong_variable_is_named) {
    setenv("ALIGND_MAX_TEXT_CHARS", "many", 1);
    ck_assert_int_eq(parse("--model a"), -1);
    ck_assert_str_eq(err.message, "ALIGND_MAX_TEXT_CHARS must be a whole number, got \"many\"");
}
END_TEST

Suite *options_suite(void) {
    Suite *suite = suite_create("options");
    TCase *tcase = tcase_create("options");
    tcase_add_checked_fixture(tcase, unset_variables, teardown);
    tcase_add_test(tcase, defaults);
    tcase_add_test(tcase, batch_defaults);
    tcase_add_test(tcase, values_that_are_computed);
    tcase_add_test(tcase, flag_before_environment_before_default);
    tcase_add_test(tcase, value_after_equals);
    tcase_add_test(tcase, models_add_up);
    tcase_add_test(tcase, models_of_the_environment);
    tcase_add_test(tcase, several_addresses);
    tcase_add_test(tcase, origins);
    tcase_add_test(tcase, socket_modes);
    tcase_add_test(tcase, certificate_needs_its_key);
    tcase_add_test(tcase, key_command);
    tcase_add_test(tcase, model_flag_takes_the_place_of_the_environment);
    tcase_add_test(tcase, empty_variable_counts_as_unset);
    tcase_add_test(tcase, switches);
    tcase_add_test(tcase, compute_and_shortlist);
    tcase_add_test(tcase, links_of_one_model_or_two);
    tcase_add_test(tcase, help_and_version_need_no_model);
    tcase_add_test(tcase, health_asks_where_the_daemon_listens);
    tcase_add_test(tcase, import_takes_several_paths);
    tcase_add_test(tcase, pack_takes_several_models);
    tcase_add_test(tcase, shortlist_takes_texts);
    tcase_add_test(tcase, align_head_takes_two_files);
    tcase_add_test(tcase, help_names_every_option_and_variable);
    tcase_add_loop_test(tcase, wrong_command_line, 0, sizeof wrong / sizeof wrong[0]);
    tcase_add_test(tcase, wrong_variable_is_named);
    tcase_add_test(tcase, units);
    tcase_add_test(tcase, help_of_a_command);
    tcase_add_test(tcase, distances);
    TCase *files = tcase_create("file");
    tcase_add_checked_fixture(files, setup_config, teardown_config);
    tcase_add_test(files, a_file_of_options);
    tcase_add_test(files, flag_before_variable_before_file);
    tcase_add_loop_test(files, wrong_file, 0, sizeof wrong_files / sizeof wrong_files[0]);
    suite_add_tcase(suite, files);
    suite_add_tcase(suite, tcase);
    return suite;
}
