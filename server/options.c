#include "server/options.h"
#include "server/decode/parameters.h"
#include "server/option_kinds.h"
#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    NAME_BYTES = 64,
    ALL = COMMAND_SERVE | COMMAND_TRANSLATE | COMMAND_ATTENTION,
    BATCH = COMMAND_TRANSLATE | COMMAND_ATTENTION
};

#define FIELD(name) offsetof(struct options, name)

/* Where the parameters of the searches stand. */
static const char PARAMETERS_HERE[] = "";

/* The fallback "cores" stands for the cores online. */
static const struct option table[] = {
    {"model", "DIR", NULL, "model folder; may be given several times, the first serves requests that name no model", ALL,
     set_folders, FIELD(models), 0, 0},
    {"models", "DIR", NULL,
     "folder of model folders: each of them is loaded when a request asks for it; on SIGHUP the folder is looked at again",
     COMMAND_SERVE, set_string, FIELD(directory), 0, 0},
    {"model-memory", "N", "0",
     "memory for all loaded models together; those that nobody uses are unloaded, the longest unused first; 0: no limit",
     COMMAND_SERVE, set_size, FIELD(model_memory), 0, 1e15},
    {"idle-unload-s", "N", "0", "unload a model that has not been asked for in this time; 0: never", COMMAND_SERVE, set_size,
     FIELD(idle_unload_s), 0, 1e9},
    {"pivot", "CODE", NULL,
     "language through which two models translate a pair that no model is for; none: they do not (default: any language)",
     COMMAND_SERVE, set_string, FIELD(pivot), 0, 0},
    {"workers", "N", "cores", "decoding threads", ALL, set_size, FIELD(workers), 1, 1024},
    {"rows", "N", "256", "hypotheses that a worker decodes at the same time", ALL, set_size, FIELD(rows), 1, 4096},
    {"compute", "TYPE", "float32",
     "number type for products with weights: float32, bfloat16, int8, or auto (the fastest on this machine)", ALL, set_compute,
     FIELD(compute), 0, 0},
    {"shortlist", NULL, NULL, "choose target words only from the model's shortlist for the sentence", ALL, set_switch,
     FIELD(shortlist), 0, 0},
    {"half-past", NULL, NULL, "keep what a transformer's decoder remembers of each step in 16 bits a number: half the memory", ALL,
     set_switch, FIELD(half_past), 0, 0},
    {"decode-memory", "N", "268435456",
     "memory that a worker's sentences may need while they are decoded; others wait, and one that could need more gets 413", ALL,
     set_size, FIELD(decode_memory), 1024, 1e12},
    {"log-level", "LEVEL", "info", "error, warn, info or debug", COMMAND_SERVE, set_log_level, FIELD(log_level), 0, 0},
    {"log-level", "LEVEL", "warn", "error, warn, info or debug", BATCH, set_log_level, FIELD(log_level), 0, 0},
    {"log-format", "FORMAT", "text", "text, or json (each line an object)", COMMAND_SERVE, set_log_format, FIELD(log_format), 0, 0},
    {"listen", "ADDRESS", NULL,
     "HOST:PORT, [IPv6]:PORT (port 0: any free port) or unix:PATH; several are separated by ',' or given one by one "
     "(default " OPTIONS_LISTEN ", or the sockets passed by systemd)",
     COMMAND_SERVE, set_addresses, FIELD(listen), 0, 0},
    {"admin-listen", "ADDRESS", NULL,
     "the same for administrators: only /health, /ready, /metrics and what changes the models, with connections reserved for them; "
     "its Unix socket needs no key",
     COMMAND_SERVE, set_addresses, FIELD(admin_listen), 0, 0},
    {"socket-mode", "OCTAL", "0660", "permissions of Unix sockets", COMMAND_SERVE, set_mode, FIELD(socket_mode), 0, 0},
    {"api-keys", "FILE", NULL, "file of API keys, made by alignd key (default: no key is required); read again on SIGHUP",
     COMMAND_SERVE, set_string, FIELD(api_keys), 0, 0},
    {"glossary", "NAME=FILE", NULL,
     "glossary for requests that name it: in each line of FILE a source and a target phrase with a tab between them; "
     "NAME:SOURCE:TARGET=FILE: for this pair of languages; may be given several times; read again on SIGHUP",
     COMMAND_SERVE, set_glossaries, FIELD(glossary), 0, 0},
    {"glossaries", "FILE", NULL,
     "file that keeps the glossaries that clients make as with DeepL, at most 1000, 100 of one key, with 200000 entries in 16 MiB "
     "(default: they may make none)",
     COMMAND_SERVE, set_string, FIELD(glossaries), 0, 0},
    {"tls-cert", "FILE", NULL, "certificate chain (PEM), which turns on HTTPS on TCP addresses; read again on SIGHUP",
     COMMAND_SERVE, set_string, FIELD(tls_cert), 0, 0},
    {"tls-key", "FILE", NULL, "private key of the certificate (PEM)", COMMAND_SERVE, set_string, FIELD(tls_key), 0, 0},
    {"queue", "N", "1024", "size of the queue in sentences; when it is full, requests get 429", COMMAND_SERVE, set_size,
     FIELD(queue), 1, 1e6},
    {"queue-work", "N", "4000000", "size of the queue in source tokens x rows (beam); when it is full, requests get 429",
     COMMAND_SERVE, set_size, FIELD(queue_work), 1, 1e12},
    {"rate", "N", "0", "rate limit in sentences per second for each client; above it 429; 0: no limit", COMMAND_SERVE, set_real,
     FIELD(rate), 0, 1e6},
    {"burst", "N", "100", "sentences that a client may send at once under --rate", COMMAND_SERVE, set_size, FIELD(burst), 1, 1e6},
    {"step-ms", "N", "40", "limit on the predicted time that a worker takes for the next token of all its sentences; 0: no limit",
     COMMAND_SERVE, set_size, FIELD(step_ms), 0, 1e6},
    {"max-body-bytes", "N", "1048576", "maximum size of a request body; above it 413", COMMAND_SERVE, set_size,
     FIELD(max_body_bytes), 1, 1e9},
    {"max-text-chars", "N", "10000", "maximum number of characters in all texts of a request; above it 413", COMMAND_SERVE,
     set_size, FIELD(max_text_chars), 1, 1e9},
    {"request-memory", "N", "134217728", "memory for large requests that are read and not answered yet; above it 429",
     COMMAND_SERVE, set_size, FIELD(request_memory), 1024, 1e12},
    {"max-reply-bytes", "N", "33554432", "maximum size of a reply; above it 413", COMMAND_SERVE, set_size, FIELD(max_reply_bytes),
     1024, 1e12},
    {"reply-memory", "N", "134217728", "memory for replies that clients have not read yet; above it 503", COMMAND_SERVE, set_size,
     FIELD(reply_memory), 1024, 1e12},
    {"deadline-ms", "N", "10000", "maximum time for a request; after it 504 (the header X-Deadline-Ms can set a shorter one)",
     COMMAND_SERVE, set_size, FIELD(deadline_ms), 1, 1e9},
    {"document-ms", "N", "600000", "maximum time for a document (POST /documents); after it 504", COMMAND_SERVE, set_size,
     FIELD(document_ms), 1, 1e9},
    {"keep-files-s", "N", "3600", "time in which a file of POST /translate_file can be fetched", COMMAND_SERVE, set_size,
     FIELD(keep_files_s), 1, 1e9},
    {"keep-files-bytes", "N", "67108864", "memory for these files; the oldest make room for others", COMMAND_SERVE, set_size,
     FIELD(keep_files_bytes), 1, 1e12},
    {"read-timeout-ms", "N", "30000", "maximum time for a whole request to arrive; after it the connection is closed",
     COMMAND_SERVE, set_size, FIELD(read_timeout_ms), 10, 1e9},
    {"send-timeout-ms", "N", "60000", "maximum time for a reply to be read; after it the connection is closed", COMMAND_SERVE,
     set_size, FIELD(send_timeout_ms), 10, 1e9},
    {"connections", "N", "0", "maximum number of connections; 0: enough for the whole queue, and 1024 more", COMMAND_SERVE,
     set_size, FIELD(connections), 0, 1e6},
    {"connections-per-address", "N", "0", "maximum number of connections from one address; 0: no limit", COMMAND_SERVE, set_size,
     FIELD(connections_per_address), 0, 1e6},
    {"client-header", "NAME", NULL, "header in which a trusted proxy sends the client's address, such as X-Forwarded-For",
     COMMAND_SERVE, set_string, FIELD(client_header), 0, 0},
    {"grace-ms", "N", "30000", "time for accepted requests to finish after SIGTERM", COMMAND_SERVE, set_size, FIELD(grace_ms), 0,
     1e9},
    {"cors", "ORIGINS", "*", "web origins that may read replies, separated by ','; *: all; empty: none", COMMAND_SERVE, set_origins,
     FIELD(cors), 0, 0},
    {.flag = PARAMETERS_HERE},
    {"format", "FORMAT", NULL,
     "translate the document FILE, or the input, as txt, srt, vtt, json, md, html, po or xliff (default: as FILE's name tells)",
     COMMAND_TRANSLATE, set_string, FIELD(format), 0, 0},
    {"split-sentences", NULL, NULL, "split each line into sentences (default: a line is one sentence)", COMMAND_TRANSLATE,
     set_switch, FIELD(split_sentences), 0, 0},
    {"output", "FILE", NULL, "write the translation to FILE (default: standard output)", COMMAND_TRANSLATE, set_string,
     FIELD(output), 0, 0},
    {"shard", "K/N", NULL,
     "translate only the K-th of N shares of the input, which must be a file: from 0, whole lines, about as many bytes each; their "
     "outputs, one behind the other, are that of the whole input",
     COMMAND_TRANSLATE, set_shard, FIELD(shard), 0, 0},
    {"checkpoint", "FILE", NULL,
     "keep in FILE how far the output is; where it says that something is, go on from there, however the run before was ended; "
     "needs --output and a file as the input",
     COMMAND_TRANSLATE, set_string, FIELD(checkpoint), 0, 0},
    {"checkpoint-s", "N", "10", "time between two checkpoints; 0: one after each line", COMMAND_TRANSLATE, set_size,
     FIELD(checkpoint_s), 0, 1e6},
    {"keep-unknowns", NULL, NULL, "print unknown words as \u2047 (default: as the source words with the most attention)",
     COMMAND_TRANSLATE, set_switch, FIELD(keep_unknowns), 0, 0},
    {"protect", "STRING", NULL, "what is not translated, found as whole words; may be given several times", COMMAND_TRANSLATE,
     set_texts, FIELD(protect), 0, 0},
    {"protect-pattern", "PATTERN", NULL, "the same by a regular expression in RE2's syntax; may be given several times",
     COMMAND_TRANSLATE, set_texts, FIELD(protect_patterns), 0, 0},
    {"target", "FILE", NULL, "the translations to align, one per line", COMMAND_ATTENTION, set_string, FIELD(target), 0, 0},
    {"variant", "NAME", NULL,
     "of a model that writes several languages: which one, by its label without the brackets or by its code", BATCH, set_string,
     FIELD(variant), 0, 0},
    {"links", "KIND", "best",
     "best: for each target word the source word with the most attention; mutual: pairs that are each other's best; "
     "balanced: mutual, after attention is rescaled so that every source word gets its share",
     COMMAND_ATTENTION, set_links, FIELD(links), 0, 0},
    {"stats", NULL, NULL, "print the number of sentences and target tokens, the time and tokens per second at the end", BATCH,
     set_switch, FIELD(stats), 0, 0},
    {"cache-bytes", "N", "0", "memory for a cache of replies to identical requests; 0: no cache", COMMAND_SERVE, set_size,
     FIELD(cache_bytes), 0, 1e12},
    {"heartbeat-ms", "N", "5000", "an idle stream sends a comment at this interval", COMMAND_SERVE, set_size, FIELD(heartbeat_ms),
     10, 1e6},
    {"model", "DIR", NULL, "model folder; may be given several times", COMMAND_PACK, set_folders, FIELD(models), 0, 0},
    {"compute", "TYPE", "float32", "number type that they are packed for, as it will be given to the daemon", COMMAND_PACK,
     set_compute, FIELD(compute), 0, 0},
    {"shortlist", NULL, NULL, "pack what --shortlist needs, too: the file serves with it and without", COMMAND_PACK, set_switch,
     FIELD(shortlist), 0, 0},
    {"name", "NAME", NULL, "owner of the key, as named in the log", COMMAND_KEY, set_string, FIELD(name), 0, 0},
    {"role", "ROLE", "user", "user, or admin, who may also reload models", COMMAND_KEY, set_role, FIELD(role), 0, 0},
    {"limits", "LIMITS", NULL,
     "what the key may ask for, separated by blanks: rate=N (sentences per second), burst=N, daily=N (characters), "
     "models=NAME,NAME, priority=batch (its requests wait for others)",
     COMMAND_KEY, set_string, FIELD(limits), 0, 0},
    {"listen", "ADDRESS", OPTIONS_LISTEN, "where the daemon listens, HOST:PORT or unix:PATH; if several are given, the first",
     COMMAND_HEALTH, set_string, FIELD(address), 0, 0},
    {"admin-listen", "ADDRESS", NULL, "where the daemon listens for administrators; used instead of --listen if given",
     COMMAND_HEALTH, set_string, FIELD(admin_address), 0, 0},
    {"tls-cert", "FILE", NULL,
     "as given to the daemon: use HTTPS for TCP addresses (the file is not read, the certificate is not verified)", COMMAND_HEALTH,
     set_string, FIELD(tls_cert), 0, 0},
    {"path", "PATH", "/ready", "path to request; /health: only whether the process is running", COMMAND_HEALTH, set_string,
     FIELD(path), 0, 0},
};

enum { TABLE_ROWS = sizeof table / sizeof table[0], MAX_OPTIONS = 128 };

/* All options, in order: the table's and the parameters'. */
struct all {
    struct option options[MAX_OPTIONS]; /* [count] */
    size_t count;
};

static void options_add(struct all *all, const struct option *option) {
    assert(all->count < MAX_OPTIONS);
    all->options[all->count++] = *option;
}

/* Also the default may be said, even where it is out of range; a model's has no number. */
static void add_parameter(struct all *all, const struct parameter *p, int setter, int command) {
    static option_set *const sets[PARAMETER_TYPES] = {[PARAMETER_STRATEGY] = set_strategy,
                                                      [PARAMETER_INTEGER] = set_size,
                                                      [PARAMETER_REAL] = set_real,
                                                      [PARAMETER_SEED] = set_seed};
    const char *said = parameters_of_model(p) ? NULL : p->fallback;
    double fallback = said ? strtod(said, NULL) : p->minimum;
    if (p->setters & setter)
        options_add(all, &(struct option){.flag = p->name,
                                          .metavar = p->metavar,
                                          .fallback = said,
                                          .help = p->help ? p->help : p->text,
                                          .commands = command,
                                          .set = sets[p->type],
                                          .offset = FIELD(search) + p->offset,
                                          .minimum = fallback < p->minimum ? fallback : p->minimum,
                                          .maximum = p->maximum});
}

static void add_parameters(struct all *all) {
    const struct parameter *p;
    for (size_t i = 0; (p = parameters_nth(i)) != NULL; i++) {
        add_parameter(all, p, PARAMETER_DAEMON, COMMAND_SERVE);
        add_parameter(all, p, PARAMETER_LINES, COMMAND_TRANSLATE);
    }
}

static void find_all(struct all *all) {
    all->count = 0;
    for (size_t i = 0; i < TABLE_ROWS; i++) {
        if (table[i].flag == PARAMETERS_HERE)
            add_parameters(all);
        else
            options_add(all, &table[i]);
    }
}

/* Those that may be given several times; the first flag takes the place of default and variable. */
static bool is_list(const struct option *option) {
    return option->set == set_folders || option->set == set_addresses || option->set == set_origins ||
           option->set == set_glossaries || option->set == set_texts;
}

/* A list forgets what the default or the variable gave it. */
static void start_over(struct options *options, const struct option *option) {
    if (is_list(option))
        name_list_done((struct name_list *)((char *)options + option->offset));
}

static void variable_name(const struct option *option, char name[NAME_BYTES]) {
    snprintf(name, NAME_BYTES, "ALIGND_%s", option->flag);
    for (char *c = name; *c; c++)
        *c = *c == '-' ? '_' : (char)toupper((unsigned char)*c);
}

static void flag_name(const struct option *option, char name[NAME_BYTES]) {
    snprintf(name, NAME_BYTES, "--%s", option->flag);
    for (char *c = name; *c; c++)
        *c = *c == '_' ? '-' : *c;
}

static int options_set(struct options *options, const struct option *option, const char *name, const char *value,
                       struct error *err) {
    return option->set(option, name, value, (char *)options + option->offset, err);
}

static int set_default(struct options *options, const struct option *option, struct error *err) {
    if (!option->fallback)
        return 0;
    char cores[32];
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    snprintf(cores, sizeof cores, "%ld", online < 1 ? 1 : online > 1024 ? 1024 : online);
    return options_set(options, option, option->flag, strcmp(option->fallback, "cores") == 0 ? cores : option->fallback, err);
}

/* An empty variable counts as unset, as compose files produce them; only an origin may be empty. */
static int set_from_environment(struct options *options, const struct option *option, struct error *err) {
    char name[NAME_BYTES];
    variable_name(option, name);
    const char *value = getenv(name);
    bool may_be_empty = option->offset == FIELD(cors);
    if (!value || (*value == '\0' && !may_be_empty))
        return 0;
    start_over(options, option);
    return options_set(options, option, name, value, err);
}

static int set_defaults(struct options *options, const struct all *all, struct error *err) {
    for (size_t i = 0; i < all->count; i++) {
        const struct option *option = &all->options[i];
        if (!(option->commands & (int)options->command))
            continue;
        if (set_default(options, option, err) != 0 || set_from_environment(options, option, err) != 0)
            return -1;
    }
    return 0;
}

/* argument: a flag, up to '=' or the end. */
static const struct option *find_option(const struct all *all, const char *argument, enum command command) {
    size_t length = strcspn(argument, "=");
    for (size_t i = 0; i < all->count; i++) {
        char name[NAME_BYTES];
        flag_name(&all->options[i], name);
        if (strncmp(name, argument, length) == 0 && name[length] == '\0' && (all->options[i].commands & (int)command))
            return &all->options[i];
    }
    return NULL;
}

struct arguments {
    struct all all;
    int count;
    char *const *values;
    int next;
    bool given[MAX_OPTIONS]; /* the list has flags */
};

static int parse_flag(struct options *options, struct arguments *arguments, struct error *err) {
    const char *argument = arguments->values[arguments->next++];
    const struct option *option = find_option(&arguments->all, argument, options->command);
    if (!option)
        return error_set(err, ERROR_INPUT, "unknown argument \"%.60s\"", argument);
    char name[NAME_BYTES];
    flag_name(option, name);
    const char *equals = strchr(argument, '=');
    const char *value = equals ? equals + 1 : NULL;
    if (option->metavar && !value) {
        if (arguments->next == arguments->count)
            return error_set(err, ERROR_INPUT, "%s needs a value", name);
        value = arguments->values[arguments->next++];
    }
    bool *given = &arguments->given[option - arguments->all.options];
    if (!*given)
        start_over(options, option);
    *given = true;
    return options_set(options, option, name, value, err);
}

/* What is no flag: the document. */
static int parse_file(struct options *options, struct arguments *arguments, struct error *err) {
    options->file = strdup(arguments->values[arguments->next++]);
    return options->file ? 0 : error_memory(err);
}

static int parse_argument(struct options *options, struct arguments *arguments, struct error *err) {
    bool file = options->command == COMMAND_TRANSLATE && !options->file && arguments->values[arguments->next][0] != '-';
    return file ? parse_file(options, arguments, err) : parse_flag(options, arguments, err);
}

static enum command parse_command(struct arguments *arguments) {
    const char *word = arguments->count > 1 ? arguments->values[1] : "";
    enum command command = strcmp(word, "translate") == 0   ? COMMAND_TRANSLATE
                           : strcmp(word, "attention") == 0 ? COMMAND_ATTENTION
                           : strcmp(word, "key") == 0       ? COMMAND_KEY
                           : strcmp(word, "health") == 0    ? COMMAND_HEALTH
                           : strcmp(word, "pack") == 0      ? COMMAND_PACK
                                                            : COMMAND_SERVE;
    arguments->next = command == COMMAND_SERVE ? 1 : 2;
    return command;
}

static bool asked_for(const struct arguments *arguments, const char *flag) {
    for (int i = arguments->next; i < arguments->count; i++) {
        if (strcmp(arguments->values[i], flag) == 0)
            return true;
    }
    return false;
}

/* What cannot be said of one option alone. */
static int options_check(const struct options *options, struct error *err) {
    if (options->command == COMMAND_KEY)
        return options->name ? 0 : error_set(err, ERROR_INPUT, "--name NAME is missing");
    if (options->command == COMMAND_HEALTH)
        return 0;
    if (options->models.count == 0 && options->command != COMMAND_SERVE)
        return error_set(err, ERROR_INPUT, "--model DIR is missing");
    if (options->command == COMMAND_TRANSLATE && options->models.count > 1)
        return error_set(err, ERROR_INPUT, "--model must be given only once in this mode");
    if (options->command == COMMAND_ATTENTION && options->models.count > 2)
        return error_set(err, ERROR_INPUT, "--model must be given at most twice in this mode, once for each direction");
    if (options->checkpoint && !options->output)
        return error_set(err, ERROR_INPUT, "--output FILE is missing: --checkpoint needs an output that it can cut");
    if ((options->file || options->format) && (options->checkpoint || options->shard.count > 0))
        return error_set(err, ERROR_INPUT, "--shard and --checkpoint are for lines, not for documents");
    if (options->command == COMMAND_ATTENTION && !options->target)
        return error_set(err, ERROR_INPUT, "--target FILE is missing");
    const struct search_options *search = &options->search;
    bool translate = options->command == COMMAND_TRANSLATE, beam = translate && parameters_beam(search);
    if (options->protect.count + options->protect_patterns.count > 0 && !search_constrains(search))
        return error_set(err, ERROR_INPUT, "--protect and --protect-pattern require --strategy beam or greedy, got %s",
                         search_name(search->strategy));
    if (beam && search->beam_size > options->rows)
        return error_set(err, ERROR_INPUT, "--beam-size must be at most --rows (%zu), got %zu", options->rows, search->beam_size);
    if (options->command == COMMAND_SERVE && options->max_reply_bytes > options->reply_memory)
        return error_set(err, ERROR_INPUT, "--max-reply-bytes must be at most --reply-memory (%zu), got %zu", options->reply_memory,
                         options->max_reply_bytes);
    if (!options->tls_cert != !options->tls_key)
        return error_set(err, ERROR_INPUT, "--tls-cert and --tls-key must be given together");
    if (search->max_length > 0 && search->min_length > search->max_length)
        return error_set(err, ERROR_INPUT, "--min-length must be at most --max-length (%zu), got %zu", search->max_length,
                         search->min_length);
    return 0;
}

int options_parse(struct options *options, int argc, char *const *argv, struct error *err) {
    struct arguments arguments = {.count = argc, .values = argv};
    struct options parsed = {.command = parse_command(&arguments)};
    if (parsed.command == COMMAND_TRANSLATE)
        parsed.search = parameters_default();
    parsed.help = asked_for(&arguments, "--help") || asked_for(&arguments, "-h");
    parsed.version = asked_for(&arguments, "--version");
    if (!parsed.help && !parsed.version) {
        find_all(&arguments.all);
        if (set_defaults(&parsed, &arguments.all, err) != 0)
            goto failed;
        while (arguments.next < arguments.count) {
            if (parse_argument(&parsed, &arguments, err) != 0)
                goto failed;
        }
        if (options_check(&parsed, err) != 0)
            goto failed;
    }
    *options = parsed;
    return 0;
failed:
    options_done(&parsed);
    return -1;
}

void options_done(struct options *options) {
    name_list_done(&options->models);
    free(options->directory);
    name_list_done(&options->listen);
    name_list_done(&options->admin_listen);
    name_list_done(&options->cors);
    free(options->variant);
    free(options->api_keys);
    name_list_done(&options->glossary);
    name_list_done(&options->protect);
    name_list_done(&options->protect_patterns);
    free(options->glossaries);
    free(options->tls_cert);
    free(options->tls_key);
    free(options->name);
    free(options->role);
    free(options->limits);
    free(options->log_level);
    free(options->log_format);
    free(options->compute);
    free(options->client_header);
    free(options->pivot);
    free(options->target);
    free(options->links);
    free(options->format);
    free(options->file);
    free(options->output);
    free(options->checkpoint);
    free(options->address);
    free(options->admin_address);
    free(options->path);
}

static void print_options(FILE *out, const char *title, int commands) {
    struct all all;
    find_all(&all);
    fprintf(out, "\n%s\n", title);
    for (size_t i = 0; i < all.count; i++) {
        const struct option *option = &all.options[i];
        if (option->commands != commands)
            continue;
        char variable[NAME_BYTES], name[NAME_BYTES], flag[2 * NAME_BYTES];
        variable_name(option, variable);
        flag_name(option, name);
        snprintf(flag, sizeof flag, "%s %s", name, option->metavar ? option->metavar : "");
        fprintf(out, "  %-28s %s [%s%s%s]\n", flag, option->help, variable, option->fallback ? "; default " : "",
                option->fallback ? option->fallback : "");
    }
}

char *options_help(void) {
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return NULL;
    fputs(
        "alignd: a translation service that shows its attention\n\n"
        "  alignd [options]                                             serve the models that came with it over HTTP: those of\n"
        "                                                               ../share/alignd or ../weights, seen from its own folder\n"
        "  alignd --model DIR [--model DIR ...] [options]               serve these models\n"
        "  alignd --models DIR [options]                                serve the model folders in DIR, loaded when needed\n"
        "  alignd translate --model DIR [options] < source > target     translate lines\n"
        "  alignd translate --model DIR [--format FORMAT] FILE          translate a document: subtitles, JSON, Markdown,\n"
        "                                                               HTML, gettext's PO, XLIFF, text\n"
        "  alignd translate --model DIR --shard K/N --checkpoint FILE --output FILE < source\n"
        "                                                               translate a share of a corpus, and go on after a crash\n"
        "  alignd attention --model DIR --target FILE < source          align the words of line pairs (Pharaoh format); with a\n"
        "                                                               second --model for the opposite direction, by both\n"
        "  alignd pack --model DIR [--model DIR ...] [--compute TYPE]   pack weights into a file in the folder, so that loading "
        "is\n"
        "                                                               faster and daemons share memory\n"
        "  alignd key --name NAME [--role admin] >> KEYS                make an API key, shown once, and its line for --api-keys\n"
        "  alignd health [--listen ADDRESS]                             check that a running daemon is ready: exit status 0\n\n"
        "Each option can also be set by the environment variable in brackets; flags take precedence. ALIGND_MODEL may hold "
        "several\n"
        "folders, separated by ':'. --help prints this text, --version the version.\n",
        out);
    print_options(out, "All modes:", ALL);
    print_options(out, "Serving:", COMMAND_SERVE);
    print_options(out, "Translating and aligning:", BATCH);
    print_options(out, "Translating:", COMMAND_TRANSLATE);
    print_options(out, "Aligning:", COMMAND_ATTENTION);
    print_options(out, "Packing:", COMMAND_PACK);
    print_options(out, "Making an API key:", COMMAND_KEY);
    print_options(out, "Asking a daemon:", COMMAND_HEALTH);
    bool written = !ferror(out);
    if (fclose(out) != 0 || !written) {
        free(text);
        return NULL;
    }
    return text;
}
