#include "server/option_table.h"
#include "server/decode/parameters.h"
#include "server/options.h"
#include "server/suggest.h"
#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELD(name) offsetof(struct options, name)

/* Where the parameters of the searches stand. */
static const char PARAMETERS_HERE[] = "";

/* The fallback "cores" stands for the cores online. */
static const struct option rows[] = {
    {"config", "FILE", NULL,
     "file with options, one FLAG = VALUE per line, # before comments; variables and flags override it, and options of other modes "
     "in it are passed over",
     OPTION_EVERY, OPTION_STRING, FIELD(config), 0, 0},
    {"model", "MODEL", NULL,
     "model folder, or the name of a model that came with alignd; may be given several times, of models for the same languages the "
     "first serves requests",
     COMMAND_SERVE, OPTION_FOLDERS, FIELD(models), 0, 0},
    {"models", "DIR", NULL,
     "folder of model folders: each of them is loaded when a request asks for it; on SIGHUP the folder is looked at again",
     COMMAND_SERVE, OPTION_STRING, FIELD(directory), 0, 0},
    {"default-model", "NAME", NULL,
     "model for requests that name neither a model nor languages; without it they get 400 where models for several pairs of "
     "languages are served (default: en-fr, if the models that came with alignd are served)",
     COMMAND_SERVE, OPTION_STRING, FIELD(default_model), 0, 0},
    {"model", "MODEL", NULL,
     "model folder, or a model's name or languages (en-fr), looked up in --models; alignd attention takes a second one",
     OPTION_BATCH, OPTION_FOLDERS, FIELD(models), 0, 0},
    {"models", "DIR", NULL,
     "folder of model folders in which names and languages are looked up (default: those that came with alignd)",
     OPTION_BATCH | COMMAND_PACK, OPTION_STRING, FIELD(directory), 0, 0},
    {"from", "CODE", NULL, "language of the source; with --to in the place of --model", OPTION_BATCH, OPTION_STRING, FIELD(from), 0,
     0},
    {"to", "CODE", NULL, "language of the target", OPTION_BATCH, OPTION_STRING, FIELD(to), 0, 0},
    {"model-memory", "SIZE", "0",
     "memory for all loaded models together; those that nobody uses are unloaded, the longest unused first; 0: no limit",
     COMMAND_SERVE, OPTION_BYTES, FIELD(model_memory), 0, 1e15},
    {"idle-unload-s", "TIME", "0", "unload a model that has not been asked for in this time; 0: never", COMMAND_SERVE,
     OPTION_SECONDS, FIELD(idle_unload_s), 0, 1e9},
    {"pivot", "CODE", NULL,
     "language through which two models translate a pair that no model is for; none: they do not (default: any language)",
     COMMAND_SERVE, OPTION_STRING, FIELD(pivot), 0, 0},
    {"workers", "N", "cores", "decoding threads", OPTION_ALL, OPTION_SIZE, FIELD(workers), 1, 1024},
    {"rows", "N", "256", "hypotheses that a worker decodes at the same time", OPTION_ALL, OPTION_SIZE, FIELD(rows), 1, 4096},
    {"compute", "TYPE", "float32",
     "number type for products with weights: float32, bfloat16, int8, or auto (the fastest on this machine)", OPTION_ALL,
     OPTION_COMPUTE, FIELD(compute), 0, 0},
    {"shortlist", NULL, NULL, "choose target words only from the model's shortlist for the sentence", OPTION_ALL, OPTION_SWITCH,
     FIELD(shortlist), 0, 0},
    {"half-past", NULL, NULL, "keep what a transformer's decoder remembers of each step in 16 bits a number: half the memory",
     OPTION_ALL, OPTION_SWITCH, FIELD(half_past), 0, 0},
    {"decode-memory", "SIZE", "256M",
     "memory that a worker's sentences may need while they are decoded; others wait, and one that could need more gets 413",
     OPTION_ALL, OPTION_BYTES, FIELD(decode_memory), 1024, 1e12},
    {"log-level", "LEVEL", "info", "error, warn, info or debug", COMMAND_SERVE, OPTION_LOG_LEVEL, FIELD(log_level), 0, 0},
    {"log-level", "LEVEL", "warn", "error, warn, info or debug", OPTION_BATCH, OPTION_LOG_LEVEL, FIELD(log_level), 0, 0},
    {"log-format", "FORMAT", "text", "text, or json (each line an object)", COMMAND_SERVE, OPTION_LOG_FORMAT, FIELD(log_format), 0,
     0},
    {"listen", "ADDRESS", NULL,
     "HOST:PORT, [IPv6]:PORT (port 0: any free port) or unix:PATH; several are separated by ',' or given one by one "
     "(default " OPTIONS_LISTEN ", or the sockets passed by systemd)",
     COMMAND_SERVE, OPTION_ADDRESSES, FIELD(listen), 0, 0},
    {"admin-listen", "ADDRESS", NULL,
     "the same for administrators: only /health, /ready, /metrics and what changes the models, with connections reserved for them; "
     "its Unix socket needs no key",
     COMMAND_SERVE, OPTION_ADDRESSES, FIELD(admin_listen), 0, 0},
    {"socket-mode", "OCTAL", "0660", "permissions of Unix sockets", COMMAND_SERVE, OPTION_MODE, FIELD(socket_mode), 0, 0},
    {"api-keys", "FILE", NULL, "file of API keys, made by alignd key (default: no key is required); read again on SIGHUP",
     COMMAND_SERVE, OPTION_STRING, FIELD(api_keys), 0, 0},
    {"glossary", "NAME=FILE", NULL,
     "glossary for requests that name it: in each line of FILE a source and a target phrase with a tab between them; "
     "NAME:SOURCE:TARGET=FILE: for this pair of languages; may be given several times; read again on SIGHUP",
     COMMAND_SERVE, OPTION_GLOSSARIES, FIELD(glossary), 0, 0},
    {"glossaries", "FILE", NULL,
     "file that keeps the glossaries that clients make as with DeepL, at most 1000, 100 of one key, with 200000 entries in 16 MiB "
     "(default: they may make none)",
     COMMAND_SERVE, OPTION_STRING, FIELD(glossaries), 0, 0},
    {"tls-cert", "FILE", NULL, "certificate chain (PEM), which turns on HTTPS on TCP addresses; read again on SIGHUP",
     COMMAND_SERVE, OPTION_STRING, FIELD(tls_cert), 0, 0},
    {"tls-key", "FILE", NULL, "private key of the certificate (PEM)", COMMAND_SERVE, OPTION_STRING, FIELD(tls_key), 0, 0},
    {"queue", "N", "1024", "size of the queue in sentences; when it is full, requests get 429", COMMAND_SERVE, OPTION_SIZE,
     FIELD(queue), 1, 1e6},
    {"queue-work", "N", "4000000", "size of the queue in source tokens x rows (beam); when it is full, requests get 429",
     COMMAND_SERVE, OPTION_SIZE, FIELD(queue_work), 1, 1e12},
    {"rate", "N", "0", "rate limit in sentences per second for each client; above it 429; 0: no limit", COMMAND_SERVE, OPTION_REAL,
     FIELD(rate), 0, 1e6},
    {"burst", "N", "100", "sentences that a client may send at once under --rate", COMMAND_SERVE, OPTION_SIZE, FIELD(burst), 1,
     1e6},
    {"step-ms", "TIME", "40ms",
     "limit on the predicted time that a worker takes for the next token of all its sentences; 0: no limit", COMMAND_SERVE,
     OPTION_MILLISECONDS, FIELD(step_ms), 0, 1e6},
    {"max-body-bytes", "SIZE", "1M", "maximum size of a request body; above it 413", COMMAND_SERVE, OPTION_BYTES,
     FIELD(max_body_bytes), 1, 1e9},
    {"max-text-chars", "N", "10000", "maximum number of characters in all texts of a request; above it 413", COMMAND_SERVE,
     OPTION_SIZE, FIELD(max_text_chars), 1, 1e9},
    {"request-memory", "SIZE", "128M", "memory for large requests that are read and not answered yet; above it 429", COMMAND_SERVE,
     OPTION_BYTES, FIELD(request_memory), 1024, 1e12},
    {"max-reply-bytes", "SIZE", "32M", "maximum size of a reply; above it 413", COMMAND_SERVE, OPTION_BYTES, FIELD(max_reply_bytes),
     1024, 1e12},
    {"reply-memory", "SIZE", "128M", "memory for replies that clients have not read yet; above it 503", COMMAND_SERVE, OPTION_BYTES,
     FIELD(reply_memory), 1024, 1e12},
    {"deadline-ms", "TIME", "10s", "maximum time for a request; after it 504 (the header X-Deadline-Ms can set a shorter one)",
     COMMAND_SERVE, OPTION_MILLISECONDS, FIELD(deadline_ms), 1, 1e9},
    {"document-ms", "TIME", "10min", "maximum time for a document (POST /documents); after it 504", COMMAND_SERVE,
     OPTION_MILLISECONDS, FIELD(document_ms), 1, 1e9},
    {"keep-files-s", "TIME", "1h", "time in which a file of POST /translate_file can be fetched", COMMAND_SERVE, OPTION_SECONDS,
     FIELD(keep_files_s), 1, 1e9},
    {"keep-files-bytes", "SIZE", "64M", "memory for these files; the oldest make room for others", COMMAND_SERVE, OPTION_BYTES,
     FIELD(keep_files_bytes), 1, 1e12},
    {"read-timeout-ms", "TIME", "30s", "maximum time for a whole request to arrive; after it the connection is closed",
     COMMAND_SERVE, OPTION_MILLISECONDS, FIELD(read_timeout_ms), 10, 1e9},
    {"send-timeout-ms", "TIME", "1min", "maximum time for a reply to be read; after it the connection is closed", COMMAND_SERVE,
     OPTION_MILLISECONDS, FIELD(send_timeout_ms), 10, 1e9},
    {"connections", "N", "0", "maximum number of connections; 0: enough for the whole queue, and 1024 more", COMMAND_SERVE,
     OPTION_SIZE, FIELD(connections), 0, 1e6},
    {"connections-per-address", "N", "0",
     "maximum number of connections from one address; 0: half of them, or with --client-header all of them", COMMAND_SERVE,
     OPTION_SIZE, FIELD(connections_per_address), 0, 1e6},
    {"client-header", "NAME", NULL, "header in which a trusted proxy sends the client's address, such as X-Forwarded-For",
     COMMAND_SERVE, OPTION_STRING, FIELD(client_header), 0, 0},
    {"grace-ms", "TIME", "30s", "time for accepted requests to finish after SIGTERM", COMMAND_SERVE, OPTION_MILLISECONDS,
     FIELD(grace_ms), 0, 1e9},
    {"cors", "ORIGINS", "*", "web origins that may read replies, separated by ','; *: all; empty: none", COMMAND_SERVE,
     OPTION_ORIGINS, FIELD(cors), 0, 0},
    {.flag = PARAMETERS_HERE},
    {"format", "FORMAT", NULL,
     "translate the document FILE, or the input, as txt, srt, vtt, json, md, html, po or xliff (default: as FILE's name tells)",
     COMMAND_TRANSLATE, OPTION_STRING, FIELD(format), 0, 0},
    {"keys", "GLOBS", NULL,
     "of a JSON document, translate the values whose path matches one of these globs, such as menu.*.label, and, after !, leave "
     "those out; "
     "separated by commas; may be given several times",
     COMMAND_TRANSLATE, OPTION_TEXTS, FIELD(keys), 0, 0},
    {"split-sentences", NULL, NULL, "split each line into sentences (default: a line is one sentence)", COMMAND_TRANSLATE,
     OPTION_SWITCH, FIELD(split_sentences), 0, 0},
    {"output", "FILE", NULL, "write the translation to FILE (default: standard output)", COMMAND_TRANSLATE, OPTION_STRING,
     FIELD(output), 0, 0},
    {"shard", "K/N", NULL,
     "translate only the K-th of N shares of the input, which must be a file: from 0, whole lines, about as many bytes each; their "
     "outputs, one behind the other, are that of the whole input",
     COMMAND_TRANSLATE, OPTION_SHARD, FIELD(shard), 0, 0},
    {"checkpoint", "FILE", NULL,
     "keep in FILE how far the output is; where it says that something is, go on from there, however the run before was ended; "
     "needs --output and a file as the input",
     COMMAND_TRANSLATE, OPTION_STRING, FIELD(checkpoint), 0, 0},
    {"checkpoint-s", "TIME", "10s", "time between two checkpoints; 0: one after each line", COMMAND_TRANSLATE, OPTION_SECONDS,
     FIELD(checkpoint_s), 0, 1e6},
    {"keep-unknowns", NULL, NULL, "print unknown words as \u2047 (default: as the source words with the most attention)",
     COMMAND_TRANSLATE, OPTION_SWITCH, FIELD(keep_unknowns), 0, 0},
    {"verbatim", NULL, NULL,
     "exactly what the model does: nothing is kept but what the caller protects, no number is checked, nothing is estimated "
     "unasked",
     COMMAND_SERVE | COMMAND_TRANSLATE, OPTION_SWITCH, FIELD(verbatim), 0, 0},
    {"protect", "STRING", NULL, "what is not translated, found as whole words; may be given several times", COMMAND_TRANSLATE,
     OPTION_TEXTS, FIELD(protect), 0, 0},
    {"protect-pattern", "PATTERN", NULL, "the same by a regular expression in RE2's syntax; may be given several times",
     COMMAND_TRANSLATE, OPTION_TEXTS, FIELD(protect_patterns), 0, 0},
    {"target", "FILE", NULL, "the translations to align, one per line", COMMAND_ATTENTION, OPTION_STRING, FIELD(target), 0, 0},
    {"variant", "NAME", NULL,
     "of a model that writes several languages: which one, by its label without the brackets or by its code", OPTION_BATCH,
     OPTION_STRING, FIELD(variant), 0, 0},
    {"links", "KIND", "best",
     "best: for each target word the source word with the most attention; mutual: pairs that are each other's best; "
     "balanced: mutual, after attention is rescaled so that every source word gets its share",
     COMMAND_ATTENTION, OPTION_LINKS, FIELD(links), 0, 0},
    {"stats", NULL, NULL, "print the number of sentences and target tokens, the time and tokens per second at the end",
     OPTION_BATCH, OPTION_SWITCH, FIELD(stats), 0, 0},
    {"cache-bytes", "SIZE", "0", "memory for a cache of replies to identical requests; 0: no cache", COMMAND_SERVE, OPTION_BYTES,
     FIELD(cache_bytes), 0, 1e12},
    {"heartbeat-ms", "TIME", "5s", "an idle stream sends a comment at this interval", COMMAND_SERVE, OPTION_MILLISECONDS,
     FIELD(heartbeat_ms), 10, 1e6},
    {"model", "MODEL", NULL, "model folder, or the name of a model in --models; may be given several times", COMMAND_PACK,
     OPTION_FOLDERS, FIELD(models), 0, 0},
    {"compute", "TYPE", "float32", "number type that they are packed for, as it will be given to the daemon", COMMAND_PACK,
     OPTION_COMPUTE, FIELD(compute), 0, 0},
    {"shortlist", NULL, NULL, "pack what --shortlist needs, too: the file serves with it and without", COMMAND_PACK, OPTION_SWITCH,
     FIELD(shortlist), 0, 0},
    {"into", "DIR", NULL, "folder in which the model folder is made (default: the current one)", COMMAND_IMPORT, OPTION_STRING,
     FIELD(into), 0, 0},
    {"name", "NAME", NULL,
     "name of the model folder (default: its languages, such as en-fr, or if the files do not say them the name of the first PATH)",
     COMMAND_IMPORT, OPTION_STRING, FIELD(name), 0, 0},
    {"from", "CODE", NULL, "language of the source (default: as the names of the files say; otherwise und)", COMMAND_IMPORT,
     OPTION_STRING, FIELD(from), 0, 0},
    {"to", "CODE", NULL, "language of the target", COMMAND_IMPORT, OPTION_STRING, FIELD(to), 0, 0},
    {"storage", "TYPE", NULL,
     "number type of the stored matrices: float32, float16, bfloat16 or int8 (default: int8 where the model has it, otherwise "
     "float32)",
     COMMAND_IMPORT, OPTION_STRING, FIELD(storage), 0, 0},
    {"max-source-tokens", "N", "100", "tokens of a sentence; longer ones are cut", COMMAND_IMPORT, OPTION_SIZE,
     FIELD(max_source_tokens), 1, 1000},
    {"max-target-ratio", "N", NULL,
     "target tokens for a source token, at most (default: as the model's decoder.yml says; otherwise 3)", COMMAND_IMPORT,
     OPTION_REAL, FIELD(max_target_ratio), 0.1, 20},
    {"preparation", "KIND", NULL,
     "how text is prepared: none, or opus, as OPUS-MT does it (default: opus where SentencePiece and a list of pieces come "
     "together)",
     COMMAND_IMPORT, OPTION_STRING, FIELD(preparation), 0, 0},
    {"alignment", "KIND", NULL,
     "trained or untrained: whether a transformer's attention was trained to align (default: as the model's files say)",
     COMMAND_IMPORT, OPTION_STRING, FIELD(alignment), 0, 0},
    {"allow-unknowns", NULL, NULL, "searches may choose unknown words, as Marian's --allow-unk", COMMAND_IMPORT, OPTION_SWITCH,
     FIELD(allow_unknowns), 0, 0},
    {"no-shortlist", NULL, NULL, "leave the shortlist out", COMMAND_IMPORT, OPTION_SWITCH, FIELD(no_shortlist), 0, 0},
    {"shortlist-first", "N", "100", "target pieces that are on every list, if the shortlist is text", COMMAND_IMPORT, OPTION_SIZE,
     FIELD(shortlist_first), 1, 1e6},
    {"shortlist-best", "N", "100", "target pieces for each source piece, if the shortlist is text", COMMAND_IMPORT, OPTION_SIZE,
     FIELD(shortlist_best), 1, 1e6},
    {"name", "NAME", NULL, "owner of the key, as named in the log", COMMAND_KEY, OPTION_STRING, FIELD(name), 0, 0},
    {"role", "ROLE", "user", "user, or admin, who may also reload models", COMMAND_KEY, OPTION_ROLE, FIELD(role), 0, 0},
    {"limits", "LIMITS", NULL,
     "what the key may ask for, separated by blanks: rate=N (sentences per second), burst=N, daily=N (characters), "
     "models=NAME,NAME, priority=batch (its requests wait for others)",
     COMMAND_KEY, OPTION_STRING, FIELD(limits), 0, 0},
    {"listen", "ADDRESS", OPTIONS_LISTEN, "where the daemon listens, HOST:PORT or unix:PATH; if several are given, the first",
     COMMAND_HEALTH, OPTION_STRING, FIELD(address), 0, 0},
    {"admin-listen", "ADDRESS", NULL, "where the daemon listens for administrators; used instead of --listen if given",
     COMMAND_HEALTH, OPTION_STRING, FIELD(admin_address), 0, 0},
    {"tls-cert", "FILE", NULL,
     "as given to the daemon: use HTTPS for TCP addresses (the file is not read, the certificate is not verified)", COMMAND_HEALTH,
     OPTION_STRING, FIELD(tls_cert), 0, 0},
    {"path", "PATH", "/ready", "path to request; /health: only whether the process is running", COMMAND_HEALTH, OPTION_STRING,
     FIELD(path), 0, 0},
};

enum { ROWS = sizeof rows / sizeof *rows };

static void add(struct option_table *table, const struct option *option) {
    assert(table->count < OPTIONS_MOST);
    table->options[table->count++] = *option;
}

/* Also the default may be said, even where it is out of range; a model's has no number. */
static void add_parameter(struct option_table *table, const struct parameter *p, int setter, int command) {
    static const enum option_kind kinds[PARAMETER_TYPES] = {[PARAMETER_STRATEGY] = OPTION_STRATEGY,
                                                            [PARAMETER_INTEGER] = OPTION_SIZE,
                                                            [PARAMETER_REAL] = OPTION_REAL,
                                                            [PARAMETER_SEED] = OPTION_SEED};
    const char *said = parameters_of_model(p) ? NULL : p->fallback;
    double fallback = said ? strtod(said, NULL) : p->minimum;
    if (p->setters & setter)
        add(table, &(struct option){.flag = p->name,
                                    .metavar = p->metavar,
                                    .fallback = said,
                                    .help = p->help ? p->help : p->text,
                                    .commands = command,
                                    .kind = kinds[p->type],
                                    .offset = FIELD(search) + p->offset,
                                    .minimum = fallback < p->minimum ? fallback : p->minimum,
                                    .maximum = p->maximum});
}

static void add_parameters(struct option_table *table) {
    const struct parameter *p;
    for (size_t i = 0; (p = parameters_nth(i)) != NULL; i++) {
        add_parameter(table, p, PARAMETER_DAEMON, COMMAND_SERVE);
        add_parameter(table, p, PARAMETER_LINES, COMMAND_TRANSLATE);
    }
}

void option_table_make(struct option_table *table) {
    table->count = 0;
    for (size_t i = 0; i < ROWS; i++) {
        if (rows[i].flag == PARAMETERS_HERE)
            add_parameters(table);
        else
            add(table, &rows[i]);
    }
}

void *option_field(const struct option *option, struct options *options) {
    return (char *)options + option->offset;
}

/* A flag's letters, up to '=' or the end, are a name's: "--" may be missing, and '_' stands for '-'. */
static void normalize(const char *from, char name[OPTION_NAME_BYTES]) {
    from += strncmp(from, "--", 2) == 0 ? 2 : 0;
    snprintf(name, OPTION_NAME_BYTES, "--%.*s", (int)strcspn(from, "="), from);
    for (char *c = name; *c; c++)
        *c = *c == '_' ? '-' : *c;
}

const struct option *option_find(const struct option_table *table, const char *asked, int commands) {
    char flag[OPTION_NAME_BYTES], name[OPTION_NAME_BYTES];
    normalize(asked, name);
    for (size_t i = 0; i < table->count; i++) {
        option_flag(&table->options[i], flag);
        if (strcmp(flag, name) == 0 && (table->options[i].commands & commands))
            return &table->options[i];
    }
    return NULL;
}

const struct option *option_suggest(const struct option_table *table, const char *asked, int commands) {
    char flags[OPTIONS_MOST][OPTION_NAME_BYTES], name[OPTION_NAME_BYTES];
    normalize(asked, name);
    struct suggestion suggestion = {.asked = name + 2};
    for (size_t i = 0; i < table->count; i++) {
        option_flag(&table->options[i], flags[i]);
        if (table->options[i].commands & commands)
            suggest(&suggestion, flags[i] + 2);
    }
    for (size_t i = 0; suggestion.nearest && i < table->count; i++)
        if (suggestion.nearest == flags[i] + 2)
            return &table->options[i];
    return NULL;
}

const struct option_command *option_command_nth(size_t i) {
    static const struct option_command commands[] = {
        {"translate", COMMAND_TRANSLATE, "translate lines, or a document",
         "alignd translate --model MODEL [options] < source > target\n"
         "alignd translate --from CODE --to CODE [options] < source > target\n"
         "alignd translate --model MODEL [--format FORMAT] [--output FILE] FILE\n"
         "alignd translate --model MODEL --shard K/N --checkpoint FILE --output FILE < source\n"},
        {"attention", COMMAND_ATTENTION, "align the words of line pairs (Pharaoh format)",
         "alignd attention --model MODEL --target FILE [options] < source\n"
         "alignd attention --model MODEL --model OPPOSITE --target FILE [options] < source\n"},
        {"pack", COMMAND_PACK, "pack weights into a file in the model's folder, so that loading is faster and daemons share memory",
         "alignd pack --model MODEL [--model MODEL ...] [--compute TYPE] [--shortlist]\n"},
        {"import", COMMAND_IMPORT,
         "make a model folder of a model of Marian, Nematus, OPUS-MT, Firefox (Bergamot) or Hugging Face (MarianMT)",
         "alignd import PATH... [--into DIR] [--name NAME] [--from CODE] [--to CODE] [options]\n"
         "alignd import FOLDER | ARCHIVE.zip | ARCHIVE.tar.gz [options]\n"
         "alignd import MODEL.npz SOURCE_VOCABULARY TARGET_VOCABULARY [SHORTLIST] [options]\n"},
        {"key", COMMAND_KEY, "make an API key, shown once, and its line for --api-keys",
         "alignd key --name NAME [--role admin] [--limits LIMITS] >> KEYS\n"},
        {"health", COMMAND_HEALTH, "check that a running daemon is ready: exit status 0",
         "alignd health [--listen ADDRESS] [--path PATH]\n"},
    };
    return i < sizeof commands / sizeof *commands ? &commands[i] : NULL;
}

void option_variable(const struct option *option, char name[OPTION_NAME_BYTES]) {
    snprintf(name, OPTION_NAME_BYTES, "ALIGND_%s", option->flag);
    for (char *c = name; *c; c++)
        *c = *c == '-' ? '_' : (char)toupper((unsigned char)*c);
}

void option_flag(const struct option *option, char name[OPTION_NAME_BYTES]) {
    snprintf(name, OPTION_NAME_BYTES, "--%s", option->flag);
    for (char *c = name; *c; c++)
        *c = *c == '_' ? '-' : *c;
}

const char *option_command_word(int commands) {
    const struct option_command *row;
    for (size_t i = 0; (row = option_command_nth(i)) != NULL; i++)
        if ((int)row->command & commands)
            return row->word;
    return "";
}
