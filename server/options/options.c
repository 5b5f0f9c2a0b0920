/* This file hides which options there are, their names, and how their values are written. */
#include "server/options/options.h"
#include "server/decode/parameters.h"
#include "server/documents/document.h"
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MOST_ITEMS = 32, MOST_GLOSSARIES = 1000, MOST_TEXTS = 1000 };

#define FIELD(name)           offsetof(struct options, name)
#define TEXT(name)            OPTION_STRING, FIELD(name), 0, 0, NULL, 0, NULL
#define LISTED(name, values)  OPTION_STRING, FIELD(name), 0, 0, NULL, 0, values
#define CHOICE(name, choices) OPTION_CHOICE, FIELD(name), 0, 0, choices, 0, NULL
#define SWITCH(name)          OPTION_SWITCH, FIELD(name), 0, 0, NULL, 0, NULL
#define PLAIN(kind, name)     OPTION_##kind, FIELD(name), 0, 0, NULL, 0, NULL
#define NUMBER(kind, name, minimum, maximum)                                                       \
    OPTION_##kind, FIELD(name), minimum, maximum, NULL, 0, NULL
#define MEMORY(name, minimum, share) OPTION_BYTES, FIELD(name), minimum, 1e12, NULL, share, NULL

/* Marks the place of the searches' parameters in the table. */
static const char PARAMETERS_HERE[] = "";

static const struct option rows[] = {
    {"config", "FILE", NULL,
     "file of options, one FLAG = VALUE per line, with # before comments; variables and flags "
     "override it, and options of other "
     "modes are ignored",
     OPTION_EVERY, TEXT(config)},
    {"model", "MODEL", NULL,
     "model folder, or the name of a model that came with alignd; may be given several times, of "
     "models for the same languages the "
     "first serves requests",
     OPTION_SERVING, PLAIN(FOLDERS, models)},
    {"models", "DIR", NULL,
     "folder of model folders: each model is loaded on demand; on SIGHUP the folder is read again",
     OPTION_SERVING, TEXT(directory)},
    {"default-model", "NAME", NULL,
     "model for requests that name neither a model nor languages; without it they get 400 if "
     "models for several pairs of "
     "languages are served (default: en-fr, if the models that came with alignd are served)",
     OPTION_SERVING, TEXT(default_model)},
    {"model", "MODEL", NULL,
     "model folder, or a model's name or languages (en-fr), looked up in --models; alignd "
     "attention accepts a second one",
     OPTION_BATCH, PLAIN(FOLDERS, models)},
    {"models", "DIR", NULL,
     "folder of model folders, searched by name and languages (default: the models that came with "
     "alignd)",
     OPTION_BATCH | COMMAND_PACK, TEXT(directory)},
    {"from", "CODE", NULL,
     "language of the source; with --to instead of --model, or for a model of many languages",
     OPTION_BATCH, TEXT(from)},
    {"to", "CODE", NULL, "language of the target", OPTION_BATCH, TEXT(to)},
    {"model-memory", "SIZE", "0",
     "memory for all loaded models together; unused ones are unloaded, least recently used first, "
     "and requests for others wait "
     "until "
     "there is room; 0: no limit",
     OPTION_SERVING, NUMBER(BYTES, model_memory, 0, 1e15)},
    {"idle-unload-s", "TIME", "0", "unload a model that has not been used for this time; 0: never",
     OPTION_SERVING, NUMBER(SECONDS, idle_unload_s, 0, 1e9)},
    {"pivot", "CODE", NULL,
     "language through which two models translate a pair that no single model translates; none: no "
     "such pairs (default: any "
     "language)",
     OPTION_SERVING, TEXT(pivot)},
    {"fetch", "SOURCES", NULL,
     "download a model when a request asks for languages that no model is for: mozilla, opus, or "
     "both separated by ','; until it "
     "is there requests wait, and at their deadline get 503 (default: nothing is downloaded)",
     OPTION_PROGRAM, TEXT(fetch)},
    {"fetch-pairs", "GLOBS", NULL,
     "pairs of languages that --fetch may download, separated by ',', such as en-*,*-en (default: "
     "all)",
     OPTION_PROGRAM, TEXT(fetch_pairs)},
    {"fetch-bytes", "SIZE", "auto",
     "disk space for all downloaded models; to make room, the least recently used models that "
     "--fetch downloaded are deleted, "
     "never others; 0: no limit; auto: beside the others, a quarter of the space that is free, at "
     "most 10 GB",
     OPTION_PROGRAM, NUMBER(BYTES, fetch_bytes, 0, 1e15)},
    {"workers", "N", "cores", "decoding threads", OPTION_ALL, NUMBER(SIZE, workers, 1, 1024)},
    {"threads", NULL, "true",
     "start threads; --threads=false: calls are decoded by the threads that wait for them, "
     "whatever --workers says, and --resident is implied",
     COMMAND_LIBRARY, SWITCH(threads)},
    {"resident", NULL, "false",
     "load the models of --model when the engine is opened, and keep them; their files are not "
     "needed afterwards, and not compared with their manifests",
     COMMAND_LIBRARY, SWITCH(resident)},
    {"rows", "N", "256", "hypotheses that a worker decodes at the same time", OPTION_ALL,
     NUMBER(SIZE, rows, 1, 4096)},
    {"compute", "TYPE", "model",
     "number type for products with weights: float32, bfloat16, int8, auto (the fastest on this "
     "machine), or model: as its "
     "config.json says, by default int8 where weights are stored as int8, otherwise float32",
     OPTION_ALL, CHOICE(compute, "model, float32, bfloat16, int8 or auto")},
    {"shortlist", NULL, "model",
     "choose target words only from the model's shortlist for the sentence; --shortlist=false: "
     "from all; model: as its config.json "
     "says",
     OPTION_ALL, PLAIN(MODEL_SWITCH, shortlist)},
    {"half-past", NULL, "model",
     "keep the keys and values of a transformer's decoder in 16 bits per number: half the memory, "
     "and long sentences faster; --half-past=false: in 32 bits; model: in 16 bits unless products "
     "are float32",
     OPTION_ALL, PLAIN(MODEL_SWITCH, half_past)},
    {"decode-memory", "SIZE", "256M",
     "memory that a worker's sentences may need while they are decoded; others wait, and a "
     "sentence that could need more gets 413",
     OPTION_ALL, MEMORY(decode_memory, 1024, 8)},
    {"log-level", "LEVEL", "info", "error, warn, info or debug", OPTION_PROGRAM,
     CHOICE(log_level, "error, warn, info or debug")},
    {"log-level", "LEVEL", "warn", "error, warn, info or debug", OPTION_BATCH,
     CHOICE(log_level, "error, warn, info or debug")},
    {"log-format", "FORMAT", "text", "text, or json (each line an object)", OPTION_PROGRAM,
     CHOICE(log_format, "text or json")},
    {"listen", "ADDRESS", NULL,
     "HOST:PORT, [IPv6]:PORT (port 0: any free port) or unix:PATH; several are separated by ',' or "
     "given one by one "
     "(default " OPTIONS_LISTEN ", or the sockets passed by systemd)",
     COMMAND_SERVE, PLAIN(ADDRESSES, listen)},
    {"admin-listen", "ADDRESS", NULL,
     "the same for administrators: only /health, /ready, /metrics and calls that change the "
     "models, with connections reserved for "
     "them; its Unix socket needs no key",
     COMMAND_SERVE, PLAIN(ADDRESSES, admin_listen)},
    {"socket-mode", "OCTAL", "0660", "permissions of Unix sockets", COMMAND_SERVE,
     PLAIN(MODE, socket_mode)},
    {"api-keys", "FILE", NULL,
     "file of API keys, made by alignd key (default: no key is required); read again on SIGHUP",
     COMMAND_SERVE, TEXT(api_keys)},
    {"glossary", "NAME=FILE", NULL,
     "glossary for requests that name it; each line of FILE has a source and a target phrase "
     "separated by a tab; "
     "NAME:SOURCE:TARGET=FILE: for this pair of languages; may be given several times; read again "
     "on SIGHUP",
     OPTION_SERVING, PLAIN(GLOSSARIES, glossary)},
    {"glossaries", "FILE", NULL,
     "file for the glossaries that clients make with DeepL's API: at most 1000, 100 per key, "
     "together 200000 entries in 16 MiB "
     "(default: clients cannot make glossaries)",
     COMMAND_SERVE, TEXT(glossaries)},
    {"tls-cert", "FILE", NULL,
     "certificate chain (PEM), which turns on HTTPS on TCP addresses; read again on SIGHUP",
     COMMAND_SERVE, TEXT(tls_cert)},
    {"tls-key", "FILE", NULL, "private key of the certificate (PEM)", COMMAND_SERVE, TEXT(tls_key)},
    {"queue", "N", "1024", "size of the queue in sentences; when it is full, requests get 429",
     OPTION_SERVING, NUMBER(SIZE, queue, 1, 1e6)},
    {"queue-work", "N", "4000000",
     "size of the queue in source tokens x rows (beam); when it is full, requests get 429",
     OPTION_SERVING, NUMBER(SIZE, queue_work, 1, 1e12)},
    {"rate", "N", "0",
     "rate limit in sentences per second for each client; above it 429; 0: no limit", COMMAND_SERVE,
     NUMBER(REAL, rate, 0, 1e6)},
    {"burst", "N", "100", "sentences that a client may send at once under --rate", COMMAND_SERVE,
     NUMBER(SIZE, burst, 1, 1e6)},
    {"step-ms", "TIME", "40ms",
     "limit on the predicted time that a worker takes for the next token of all its sentences; 0: "
     "no limit",
     OPTION_SERVING, NUMBER(MILLISECONDS, step_ms, 0, 1e6)},
    {"max-body-bytes", "SIZE", "1M", "maximum size of a request body; above it 413", OPTION_SERVING,
     NUMBER(BYTES, max_body_bytes, 1, 1e9)},
    {"body-memory", "SIZE", "auto",
     "memory for bodies that are arriving; others wait, and a client has at most a quarter; auto: "
     "a sixteenth of the memory, at "
     "least 16M",
     COMMAND_SERVE, MEMORY(body_memory, 1, 16)},
    {"max-text-chars", "N", "50000",
     "maximum number of characters in all texts of a request; above it 413", OPTION_SERVING,
     NUMBER(SIZE, max_text_chars, 1, 1e9)},
    {"request-memory", "SIZE", "128M",
     "memory for large requests that have been read but not answered; above it 429", OPTION_SERVING,
     MEMORY(request_memory, 1024, 16)},
    {"max-reply-bytes", "SIZE", "32M", "maximum size of a reply; above it 413", OPTION_SERVING,
     MEMORY(max_reply_bytes, 1024, 16)},
    {"reply-memory", "SIZE", "128M", "memory for unread replies; above it 503", OPTION_SERVING,
     MEMORY(reply_memory, 1024, 16)},
    {"deadline-ms", "TIME", "10s",
     "maximum time for a request, and once more for each further 10,000 characters of a longer "
     "text; after it 504 (the header X-Deadline-Ms can set a shorter one)",
     OPTION_PROGRAM, NUMBER(MILLISECONDS, deadline_ms, 1, 1e9)},
    {"deadline-ms", "TIME", "1h", "maximum time for a call of the library; after it status 504",
     COMMAND_LIBRARY, NUMBER(MILLISECONDS, deadline_ms, 1, 1e9)},
    {"document-ms", "TIME", "10min",
     "maximum time for a document (POST /documents) or the longest text; after it 504",
     OPTION_SERVING, NUMBER(MILLISECONDS, document_ms, 1, 1e9)},
    {"document-bytes", "SIZE", "10M",
     "maximum size of the body with an office document or e-book, if --max-body-bytes is less; "
     "above it 413",
     OPTION_SERVING, NUMBER(BYTES, document_bytes, 1, 1e9)},
    {"document-sentences", "N", "10000", "maximum number of sentences of a document; above it 413",
     OPTION_SERVING, NUMBER(SIZE, document_sentences, 1, 1e6)},
    {"keep-files-s", "TIME", "1h", "time in which a file of POST /translate_file can be fetched",
     COMMAND_SERVE, NUMBER(SECONDS, keep_files_s, 1, 1e9)},
    {"keep-files-bytes", "SIZE", "64M", "memory for these files; the oldest make room for others",
     COMMAND_SERVE, MEMORY(keep_files_bytes, 1, 32)},
    {"read-timeout-ms", "TIME", "30s",
     "maximum time for a whole request to arrive; after it the connection is closed", COMMAND_SERVE,
     NUMBER(MILLISECONDS, read_timeout_ms, 10, 1e9)},
    {"send-timeout-ms", "TIME", "1min",
     "maximum time for a reply to be read; after it the connection is closed", COMMAND_SERVE,
     NUMBER(MILLISECONDS, send_timeout_ms, 10, 1e9)},
    {"connections", "N", "0",
     "maximum number of connections; 0: enough for the whole queue plus 1024", COMMAND_SERVE,
     NUMBER(SIZE, connections, 0, 1e6)},
    {"connections-per-address", "N", "0",
     "maximum number of connections from one address; 0: half of all connections, or all of them "
     "with --client-header",
     COMMAND_SERVE, NUMBER(SIZE, connections_per_address, 0, 1e6)},
    {"http-threads", "N", "0",
     "threads for each address that read requests and send replies; 0: one for every four workers, "
     "at least two",
     COMMAND_SERVE, NUMBER(SIZE, http_threads, 0, 64)},
    {"client-header", "NAME", NULL,
     "header in which a trusted proxy sends the client's address, such as X-Forwarded-For",
     COMMAND_SERVE, TEXT(client_header)},
    {"grace-ms", "TIME", "30s", "time for accepted requests to finish after SIGTERM", COMMAND_SERVE,
     NUMBER(MILLISECONDS, grace_ms, 0, 1e9)},
    {"cors", "ORIGINS", "*",
     "web origins that may read replies, separated by ','; *: all; empty: none. Those that are "
     "named may do all that this page may",
     COMMAND_SERVE, PLAIN(ORIGINS, cors)},
    {"host", "NAME", NULL,
     "name by which clients on this machine may call it, such as that of a local proxy; may be "
     "given several times; *: any. "
     "Without "
     "keys, others get 421 over loopback",
     COMMAND_SERVE, PLAIN(NAMES, hosts)},
    {.flag = PARAMETERS_HERE},
    {"format", "FORMAT", NULL,
     "translate the document FILE, or the input, in this format (default: as FILE's name says)",
     COMMAND_TRANSLATE, LISTED(format, document_names)},
    {"keys", "GLOBS", NULL,
     "translate only the values whose path matches one of these globs, such as menu.*.label; a "
     "glob "
     "after ! excludes values instead; separated by commas; may be given several times; in",
     COMMAND_TRANSLATE, OPTION_TEXTS, FIELD(keys), 0, 0, NULL, 0, document_names_keys},
    {"bilingual", "PLACE", NULL,
     "keep the original text, with the translation below it (below) or, in tables, in a column "
     "beside it (beside); in",
     COMMAND_TRANSLATE, LISTED(bilingual, document_names_bilingual)},
    {"columns", "COLUMNS", NULL,
     "in a table, translate only these columns: names or numbers from 1, separated by "
     "commas",
     COMMAND_TRANSLATE, TEXT(columns)},
    {"review", NULL, NULL,
     "write an XLIFF 2 file with the texts and translations of a document, to be corrected in a "
     "translator's tool and put into the document by --merge",
     COMMAND_TRANSLATE, SWITCH(review)},
    {"merge", "XLIFF", NULL,
     "put the targets of this file, which --review has written, into the document FILE; no model "
     "is "
     "needed",
     COMMAND_TRANSLATE, TEXT(merge)},
    {"header", NULL, NULL, "in a table, translate the names of the columns, too", COMMAND_TRANSLATE,
     SWITCH(header)},
    {"split-sentences", NULL, NULL,
     "split each line into sentences (default: a line is one sentence)", COMMAND_TRANSLATE,
     SWITCH(split_sentences)},
    {"output", "FILE", NULL, "write the translation to FILE (default: standard output)",
     COMMAND_TRANSLATE, TEXT(output)},
    {"keep-unknowns", NULL, NULL,
     "print unknown words as \u2047 (default: as the source words with the most attention); "
     "implies --verbatim",
     COMMAND_TRANSLATE, SWITCH(keep_unknowns)},
    {"verbatim", NULL, NULL,
     "show exactly what the model does: protect only what the caller protects, and check neither "
     "numbers nor quality unless asked",
     OPTION_SERVING | COMMAND_TRANSLATE, SWITCH(verbatim)},
    {"protect", "STRING", NULL,
     "text that is not translated, found as whole words; may be given several times",
     COMMAND_TRANSLATE, PLAIN(TEXTS, protect)},
    {"protect-pattern", "PATTERN", NULL,
     "the same for a regular expression in RE2's syntax; may be given several times",
     COMMAND_TRANSLATE, PLAIN(TEXTS, protect_patterns)},
    {"target", "FILE", NULL, "the translations to align, one per line", COMMAND_ATTENTION,
     TEXT(target)},
    {"variant", "NAME", NULL,
     "the language to write, for a model that writes several: its label without the brackets, or "
     "its code",
     OPTION_BATCH, TEXT(variant)},
    {"links", "KIND", "best",
     "best: the source word with the most attention for each target word; mutual: pairs that are "
     "each other's best; "
     "balanced: mutual, after attention is rescaled so that every source word gets its share; "
     "several: the best of each word of "
     "either side, if it is sure enough",
     COMMAND_ATTENTION, CHOICE(links, "best, mutual, balanced or several")},
    {"stats", NULL, NULL,
     "at the end, print the number of sentences and target tokens, the time, and tokens per second",
     OPTION_BATCH, SWITCH(stats)},
    {"cache-bytes", "SIZE", "0", "memory for a cache of replies to identical requests; 0: no cache",
     COMMAND_SERVE, NUMBER(BYTES, cache_bytes, 0, 1e12)},
    {"heartbeat-ms", "TIME", "5s", "an idle stream sends a comment at this interval", COMMAND_SERVE,
     NUMBER(MILLISECONDS, heartbeat_ms, 10, 1e6)},
    {"model", "MODEL", NULL,
     "model folder, or the name of a model in --models; may be given several times", COMMAND_PACK,
     PLAIN(FOLDERS, models)},
    {"compute", "TYPE", "model", "number type to pack for, the same as the daemon's --compute",
     COMMAND_PACK, CHOICE(compute, "model, float32, bfloat16, int8 or auto")},
    {"shortlist", NULL, "model",
     "also pack the data for --shortlist; the file works with and without that option",
     COMMAND_PACK, PLAIN(MODEL_SWITCH, shortlist)},
    {"model", "MODEL", NULL, "model of many languages: its folder, or its name in --models",
     COMMAND_SHORTLIST, PLAIN(FOLDERS, models)},
    {"models", "DIR", NULL, "folder of model folders, searched by name", COMMAND_SHORTLIST,
     TEXT(directory)},
    {"to", "CODE", NULL, "language of the text, for which the list is made", COMMAND_SHORTLIST,
     TEXT(to)},
    {"share", "N", "0.9999",
     "share of the text that the listed pieces make up, most frequent first; pieces that spell "
     "other words are added",
     COMMAND_SHORTLIST, NUMBER(REAL, share, 0.5, 1)},
    {"count", "N", "0", "maximum number of pieces that are chosen by their counts; 0: no limit",
     COMMAND_SHORTLIST, NUMBER(SIZE, count, 0, 1e7)},
    {"models", "DIR", NULL, "folder of model folders, searched by name", COMMAND_ALIGN_HEAD,
     TEXT(directory)},
    {"text", "FILE", NULL, "sentences in the model's source language, one a line; some thousands",
     COMMAND_ALIGN_HEAD, TEXT(file)},
    {"translation", "FILE", NULL, "their translations, line by line", COMMAND_ALIGN_HEAD,
     TEXT(target)},
    {"from", "CODE", NULL, "language of the text, for a model of many languages",
     COMMAND_ALIGN_HEAD, TEXT(from)},
    {"to", "CODE", NULL, "language of the translation, for a model of many languages",
     COMMAND_ALIGN_HEAD, TEXT(to)},
    {"size", "N", "128", "size of the head's queries and keys", COMMAND_ALIGN_HEAD,
     NUMBER(SIZE, head_size, 1, 1024)},
    {"epochs", "N", "0", "passes through the sentences; 0: more for fewer sentences",
     COMMAND_ALIGN_HEAD, NUMBER(SIZE, head_epochs, 0, 1000)},
    {"memory", "SIZE", "1G",
     "memory for what the model computes of the sentences; where there is more, some are chosen at "
     "random",
     COMMAND_ALIGN_HEAD, NUMBER(BYTES, head_memory, 1 << 20, 1e12)},
    {"models", "DIR", NULL,
     "folder of the downloaded models (default: /var/lib/alignd/models if it may be written to, "
     "otherwise "
     "~/.local/share/alignd/models)",
     OPTION_KEPT, TEXT(directory)},
    {"into", "DIR", NULL, "the same, for this command alone", COMMAND_GET, TEXT(into)},
    {"list", NULL, NULL,
     "list what Mozilla (or with argos: Argos, with hplt: HPLT) has: en- from English, -en into "
     "English",
     COMMAND_GET, SWITCH(list)},
    {"best", NULL, NULL,
     "choose the source of each pair by the quality that they publish, COMET on Flores, and say "
     "why",
     COMMAND_GET, SWITCH(best)},
    {"update", NULL, NULL,
     "get newer versions of the downloaded models, or of those that are named", COMMAND_GET,
     SWITCH(update)},
    {"mirror", "URL", NULL, "server to use instead of the sources; it must have the same paths",
     OPTION_PROGRAM | COMMAND_GET, TEXT(mirror)},
    {"records", "FILE", NULL,
     "Mozilla's list of models, as its server sends it (default: it is downloaded)",
     OPTION_PROGRAM | COMMAND_GET, TEXT(records)},
    {"offline", NULL, NULL,
     "download nothing: use what is already there, and fail for everything else",
     OPTION_PROGRAM | COMMAND_GET, SWITCH(offline)},
    {"preview", NULL, NULL, "include models that Mozilla has not released yet (alpha and beta)",
     COMMAND_GET, SWITCH(preview)},
    {"retries", "N", "4", "how often a failed download is retried, after 1, 2, 4 ... seconds",
     OPTION_DOWNLOADS, NUMBER(SIZE, retries, 0, 1000)},
    {"stall-s", "TIME", "30s", "a download that stays below 4 KiB per second for this time fails",
     OPTION_DOWNLOADS, NUMBER(SECONDS, stall_s, 1, 86400)},
    {"name", "NAME", NULL, "name of the model folder (default: its languages)", COMMAND_GET,
     TEXT(name)},
    {"from", "CODE", NULL, "language of the source, if the model's origin does not state it",
     COMMAND_GET, TEXT(from)},
    {"to", "CODE", NULL, "language of the target", COMMAND_GET, TEXT(to)},
    {"into", "DIR", NULL, "folder in which the model folder is made (default: the current one)",
     COMMAND_IMPORT, TEXT(into)},
    {"name", "NAME", NULL,
     "name of the model folder (default: its languages, such as en-fr, or, if the files do not "
     "name them, the name of the first "
     "PATH)",
     COMMAND_IMPORT, TEXT(name)},
    {"from", "CODE", NULL,
     "language of the source (default: from the names of the files; otherwise und)", COMMAND_IMPORT,
     TEXT(from)},
    {"to", "CODE", NULL, "language of the target", COMMAND_IMPORT, TEXT(to)},
    {"storage", "TYPE", NULL,
     "number type of the stored matrices: float32, float16, bfloat16 or int8 (default: int8 where "
     "the model has it, otherwise "
     "float32)",
     COMMAND_IMPORT, TEXT(storage)},
    {"max-source-tokens", "N", NULL,
     "maximum number of tokens of a sentence; longer ones are split (default: from the model's "
     "decoder.yml; otherwise 128 for "
     "Firefox's models, 512 for OPUS-MT's, 100 for others)",
     COMMAND_IMPORT, NUMBER(SIZE, max_source_tokens, 1, 1000)},
    {"max-target-ratio", "N", NULL,
     "maximum number of target tokens per source token (default: from the model's decoder.yml; "
     "otherwise 3)",
     COMMAND_IMPORT, NUMBER(REAL, max_target_ratio, 0.1, 20)},
    {"preparation", "KIND", NULL,
     "how text is prepared: none, or opus, as in OPUS-MT (default: opus where SentencePiece and a "
     "list of pieces come "
     "together)",
     COMMAND_IMPORT, CHOICE(preparation, "none or opus")},
    {"alignment", "KIND", NULL,
     "trained or untrained: whether a transformer's attention was trained to align (default: from "
     "the model's files)",
     COMMAND_IMPORT, CHOICE(alignment, "trained or untrained")},
    {"licence", "NAME", NULL,
     "licence of the model, where its files do not state one; shown by GET /models", COMMAND_IMPORT,
     TEXT(licence)},
    {"allow-unknowns", NULL, NULL, "let searches choose unknown words, like Marian's --allow-unk",
     COMMAND_IMPORT, SWITCH(allow_unknowns)},
    {"no-shortlist", NULL, NULL, "omit the shortlist", COMMAND_IMPORT, SWITCH(no_shortlist)},
    {"no-pack", NULL, NULL,
     "do not pack a large model's weights as `alignd pack` does (models of 30 million parameters "
     "or more)",
     COMMAND_IMPORT, SWITCH(no_pack)},
    {"shortlist-first", "N", "100",
     "number of target pieces that are on every list, if the shortlist is text", COMMAND_IMPORT,
     NUMBER(SIZE, shortlist_first, 1, 1e6)},
    {"shortlist-best", "N", "100",
     "number of target pieces for each source piece, if the shortlist is text", COMMAND_IMPORT,
     NUMBER(SIZE, shortlist_best, 1, 1e6)},
    {"name", "NAME", NULL, "owner of the key, as named in the log", COMMAND_KEY, TEXT(name)},
    {"role", "ROLE", "user", "user, or admin, who may also reload models", COMMAND_KEY,
     CHOICE(role, "user or admin")},
    {"limits", "LIMITS", NULL,
     "limits of the key, separated by blanks: rate=N (sentences per second), burst=N, daily=N "
     "(characters), "
     "models=NAME,NAME, priority=batch (its requests wait for others)",
     COMMAND_KEY, TEXT(limits)},
    {"listen", "ADDRESS", OPTIONS_LISTEN,
     "where the daemon listens, HOST:PORT or unix:PATH; if several are given, the first",
     COMMAND_HEALTH, TEXT(address)},
    {"admin-listen", "ADDRESS", NULL,
     "where the daemon listens for administrators; used instead of --listen if given",
     COMMAND_HEALTH, TEXT(admin_address)},
    {"tls-cert", "FILE", NULL,
     "the daemon's certificate: use HTTPS for TCP addresses (the file is not read, the certificate "
     "is not verified)",
     COMMAND_HEALTH, TEXT(tls_cert)},
    {"path", "PATH", "/ready", "path to request; /health: only whether the process is running",
     COMMAND_HEALTH, TEXT(path)},
};

const struct option_command *option_command_nth(size_t i) {
    static const struct option_command commands[] = {
        {"translate", COMMAND_TRANSLATE, "translate lines, or a document",
         "alignd translate --model MODEL [options] < source > target\n"
         "alignd translate --from CODE --to CODE [options] < source > target\n"
         "alignd translate --model MODEL [--format FORMAT] [--output FILE] FILE\n"},
        {"attention", COMMAND_ATTENTION, "align the words of line pairs (Pharaoh format)",
         "alignd attention --model MODEL --target FILE [options] < source\n"
         "alignd attention --model MODEL --model OPPOSITE --target FILE [options] < source\n"},
        {"mcp", COMMAND_MCP,
         "let an agent translate and align: the Model Context Protocol on stdio",
         "alignd mcp [--model MODEL ...] [options]\n\n"
         "An agent's program starts it and sends messages, a line each. POST /mcp of the daemon "
         "does "
         "the same by HTTP.\n"},
        {"pack", COMMAND_PACK,
         "pack weights into a file in the model's folder, so that loading is faster and daemons "
         "share memory",
         "alignd pack --model MODEL [--model MODEL ...] [--compute TYPE] [--shortlist]\n"},
        {"shortlist", COMMAND_SHORTLIST,
         "count the pieces that a language uses in a text, and choose translations into it from "
         "these",
         "alignd shortlist --model MODEL --to CODE [--share N] [--count N] [TEXT...]\n"
         "TEXT is a file in UTF-8, by default standard input; some ten thousand lines or more. The "
         "list goes to\n"
         "shortlist.safetensors in the model's folder, and its name to config.json; a daemon reads "
         "them when it loads the "
         "model.\n"},
        {"align-head", COMMAND_ALIGN_HEAD,
         "give a model that was not trained to align a head that says which words are translated",
         "alignd align-head MODEL --text FILE --translation FILE [options]\n"
         "MODEL is a model folder, or the name of a model in --models. The head learns from links "
         "between the words of the\n"
         "sentences, which are found first; it takes some minutes. model.safetensors and "
         "config.json of the folder change,\n"
         "translations stay the same, and a daemon has the head when it loads the model.\n"},
        {"get", COMMAND_GET,
         "download a model of Mozilla (Firefox), OPUS-MT, the Hugging Face hub, HPLT or Argos, "
         "verify "
         "and import it",
         "alignd get PAIR... [options]                    a pair of languages, such as en-fr: "
         "Mozilla's model\n"
         "alignd get opus:PAIR | argos:PAIR | quickmt:PAIR | hplt:PAIR | hf:ORGANISATION/NAME | "
         "URL "
         "[options]\n"
         "alignd get PAIR... --best [options]             that of the source with the highest "
         "published quality\n"
         "alignd get --list [en- | -en | argos:en- | hplt:]\n"
         "alignd get --update [NAME...]\n"
         "Exit status: 0 it is there; 1 a file or memory; 2 usage; 3 there is no such model; 4 the "
         "network; 5 refused (a wrong\n"
         "hash or size, a forbidden redirect); 6 no space; 7 it cannot be imported; 130 "
         "interrupted. Proxies and certificates are\n"
         "curl's: http_proxy, https_proxy, no_proxy, CURL_CA_BUNDLE, SSL_CERT_FILE; HF_TOKEN (sent "
         "to huggingface.co only) and "
         "HF_ENDPOINT the hub's.\n"},
        {"models", COMMAND_MODELS,
         "list the models that were downloaded, and those that came with alignd",
         "alignd models [--models DIR]\n"},
        {"remove", COMMAND_REMOVE, "remove downloaded models",
         "alignd remove NAME... [--models DIR]\n"},
        {"import", COMMAND_IMPORT,
         "convert a model of Marian, Nematus, OPUS-MT, Firefox (Bergamot), Hugging Face (MarianMT, "
         "M2M-100, NLLB-200), CTranslate2 "
         "or Argos",
         "alignd import PATH... [--into DIR] [--name NAME] [--from CODE] [--to CODE] [options]\n"
         "alignd import FOLDER | ARCHIVE.zip | ARCHIVE.tar.gz | URL [options]\n"
         "alignd import MODEL.npz SOURCE_VOCABULARY TARGET_VOCABULARY [SHORTLIST] [options]\n"
         "Each PATH may be an http:// or https:// URL, which is downloaded as by alignd get; then "
         "the exit status is its, too.\n"},
        {"key", COMMAND_KEY, "make an API key, shown once, and its line for --api-keys",
         "alignd key --name NAME [--role admin] [--limits LIMITS] >> KEYS\n"},
        {"health", COMMAND_HEALTH, "check that a running daemon is ready: exit status 0",
         "alignd health [--listen ADDRESS] [--path PATH]\n"},
    };
    return i < sizeof commands / sizeof *commands ? &commands[i] : NULL;
}

const char *option_command_word(int commands) {
    const struct option_command *row;
    for (size_t i = 0; (row = option_command_nth(i)) != NULL; i++)
        if ((int)row->command & commands)
            return row->word;
    return "";
}

static void add(struct option_table *table, const struct option *option) {
    assert(table->count < OPTIONS_MOST);
    table->options[table->count++] = *option;
}

static void add_parameter(struct option_table *table, const struct parameter *p, int setter,
                          int command) {
    static const enum option_kind kinds[PARAMETER_TYPES] = {[PARAMETER_STRATEGY] = OPTION_STRATEGY,
                                                            [PARAMETER_INTEGER] = OPTION_SIZE,
                                                            [PARAMETER_REAL] = OPTION_REAL,
                                                            [PARAMETER_SEED] = OPTION_SEED};
    /* The default can be set explicitly, even if it is out of range. If each model has its own
     * default, there is no number. */
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

void option_table_make(struct option_table *table) {
    const struct parameter *p;
    table->count = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].flag != PARAMETERS_HERE)
            add(table, &rows[i]);
        for (size_t j = 0; rows[i].flag == PARAMETERS_HERE && (p = parameters_nth(j)) != NULL;
             j++) {
            add_parameter(table, p, PARAMETER_DAEMON, COMMAND_SERVE);
            add_parameter(table, p, PARAMETER_LINES, COMMAND_TRANSLATE);
        }
    }
}

/* ---- names ---- */

void option_variable(const struct option *option, char name[OPTION_NAME_BYTES]) {
    snprintf(name, OPTION_NAME_BYTES, "ALIGND_%s", option->flag);
    for (char *c = name; *c; c++)
        *c = *c == '-' ? '_' : (char)toupper((unsigned char)*c);
}

void option_flag(const char *from, char name[OPTION_NAME_BYTES]) {
    from += strncmp(from, "--", 2) == 0 ? 2 : 0;
    snprintf(name, OPTION_NAME_BYTES, "--%.*s", (int)strcspn(from, "="), from);
    for (char *c = name; *c; c++)
        *c = *c == '_' ? '-' : *c;
}

const struct option *option_find(const struct option_table *table, const char *argument,
                                 int commands) {
    char flag[OPTION_NAME_BYTES], name[OPTION_NAME_BYTES];
    option_flag(argument, name);
    for (size_t i = 0; i < table->count; i++) {
        option_flag(table->options[i].flag, flag);
        if (strcmp(flag, name) == 0 && (table->options[i].commands & commands))
            return &table->options[i];
    }
    return NULL;
}

const struct option *option_suggest(const struct option_table *table, const char *argument,
                                    int commands) {
    char flag[OPTION_NAME_BYTES], name[OPTION_NAME_BYTES];
    const struct option *nearest = NULL;
    option_flag(argument, name);
    struct suggestion suggestion = {.asked = name + 2};
    for (size_t i = 0; i < table->count; i++) {
        option_flag(table->options[i].flag, flag);
        if ((table->options[i].commands & commands) && option_suggest_word(&suggestion, flag + 2))
            nearest = &table->options[i];
    }
    return nearest;
}

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

/* Row i of the table holds the distances between a's first i letters and each beginning of b; only
 * three rows are kept. */
size_t option_distance(const char *a, const char *b) {
    size_t table[3][SUGGEST_MOST_BYTES + 1], width = strlen(b);
    for (size_t j = 0; j <= width; j++)
        table[0][j] = j;
    for (size_t i = 1; i <= strlen(a); i++) {
        size_t *row = table[i % 3], *above = table[(i + 2) % 3], *second = table[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= width; j++) {
            row[j] = least(least(above[j], row[j - 1]) + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], second[j - 2] + 1);
        }
    }
    return table[strlen(a) % 3][width];
}

bool option_suggest_word(struct suggestion *suggestion, const char *word) {
    size_t length = strlen(suggestion->asked);
    if (length > SUGGEST_MOST_BYTES || strlen(word) > SUGGEST_MOST_BYTES)
        return false;
    size_t most = length < 4    ? 0
                  : length < 6  ? 1
                  : length < 12 ? 2
                                : 3; /* half the letters of a short word may match by chance */
    size_t distance = option_distance(suggestion->asked, word);
    if (distance > most && length >= 3 && strncmp(word, suggestion->asked, length) == 0)
        distance =
            most; /* the beginning of a word suggests that word unless another one is nearer */
    if (distance > most || (suggestion->nearest && distance >= suggestion->distance))
        return false;
    suggestion->nearest = word;
    suggestion->distance = distance;
    return true;
}

/* ---- values ---- */

static int set_string(const char *value, char **field, struct error *err) {
    char *copy = strdup(value);
    if (!copy)
        return error_memory(err);
    free(*field);
    *field = copy;
    return 0;
}

/* Returns whether the value is one of the choices, "a, b or c". */
static bool is_choice(const char *choices, const char *value) {
    size_t length = strlen(value);
    for (const char *at = choices; *at;) {
        size_t word = strcspn(at, ", ");
        if (word == length && strncmp(at, value, length) == 0 && strncmp(at, "or ", 3) != 0)
            return true;
        at += word;
        at += strspn(at, ", ");
    }
    return false;
}

/* Returns 1024 for K, Ki and KiB, 1000 for kB, and so on, or 0 if the unit is unknown. */
static double bytes_of_unit(const char *unit) {
    static const char letters[] = "KMGT";
    const char *letter = *unit ? strchr(letters, toupper((unsigned char)*unit)) : NULL;
    if (*unit == '\0' || strcasecmp(unit, "b") == 0)
        return 1;
    if (!letter)
        return 0;
    bool binary =
        unit[1] == '\0' || strcasecmp(unit + 1, "i") == 0 || strcasecmp(unit + 1, "ib") == 0;
    if (!binary && strcasecmp(unit + 1, "b") != 0)
        return 0;
    return pow(binary ? 1024 : 1000, (double)(letter - letters + 1));
}

static double milliseconds_of_unit(const char *unit) {
    static const struct {
        const char *name;
        double milliseconds;
    } units[] = {{"", 1},        {"ms", 1},      {"s", 1000},    {"m", 60000},
                 {"min", 60000}, {"h", 3600000}, {"d", 86400000}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(unit, units[i].name) == 0)
            return units[i].milliseconds;
    return 0;
}

static double seconds_of_unit(const char *unit) {
    return *unit ? milliseconds_of_unit(unit) / 1000 : 1;
}

/* Reads digits with an optional fraction and a unit. */
static int set_measured(const struct option *option, const char *name, const char *value,
                        size_t *field, struct error *err) {
    static const struct {
        double (*of_unit)(const char *unit); /* 0: the unit is unknown */
        const char *what, *unit;
    } measures[] = {
        [OPTION_BYTES] = {bytes_of_unit,
                          "a whole number of bytes, such as 1000000, 64k, 512M or 2G", " bytes"},
        [OPTION_MILLISECONDS] = {milliseconds_of_unit,
                                 "a time, such as 500ms, 5s or 2min, or a whole number of ms",
                                 " ms"},
        [OPTION_SECONDS] = {seconds_of_unit,
                            "a whole number of seconds, or a time such as 30s, 2min or 1h", " s"},
    };
    bool automatic = option->fallback && strcmp(option->fallback, "auto") == 0;
    if (automatic && strcmp(value, "auto") == 0) {
        *field = OPTION_AUTO;
        return 0;
    }
    size_t digits = strspn(value, "0123456789");
    size_t length =
        digits + (value[digits] == '.' ? 1 + strspn(value + digits + 1, "0123456789") : 0);
    const char *unit = value + length + strspn(value + length, " ");
    double factor = digits > 0 ? measures[option->kind].of_unit(unit) : 0,
           number = factor > 0 ? strtod(value, NULL) * factor : 0;
    if (factor <= 0 || number - floor(number) > 1e-6)
        return error_set(err, ERROR_INPUT, "%s must be %s%s, got \"%.60s\"", name,
                         automatic ? "auto, or " : "", measures[option->kind].what, value);
    if (number < option->minimum || number > option->maximum)
        return error_set(err, ERROR_INPUT, "%s must be between %.0f and %.0f%s, got %.60s", name,
                         option->minimum, option->maximum, *unit ? measures[option->kind].unit : "",
                         value);
    *field = (size_t)number;
    return 0;
}

static int set_real(const struct option *option, const char *name, const char *value, double *field,
                    struct error *err) {
    char *end;
    double number = strtod(value, &end);
    if (end == value || *end != '\0' || isnan(number))
        return error_set(err, ERROR_INPUT, "%s must be a number, got \"%.60s\"", name, value);
    if (number < option->minimum || number > option->maximum)
        return error_set(err, ERROR_INPUT, "%s must be between %g and %g, got %.60s", name,
                         option->minimum, option->maximum, value);
    *field = number;
    return 0;
}

/* Web origins are checked as browsers send them: SCHEME://HOST[:PORT], without a path. */
static int set_list(const struct option *option, const char *name, const char *value,
                    struct name_list *list, struct error *err) {
    static const struct {
        const char *separator, *what;
        size_t most;
    } lists[] = {
        [OPTION_FOLDERS] = {":", "a model folder, or the name of a model", SIZE_MAX},
        [OPTION_ADDRESSES] = {",", "an address", MOST_ITEMS},
        [OPTION_NAMES] = {",", "a name", MOST_ITEMS},
        [OPTION_ORIGINS] = {",", "an origin", MOST_ITEMS},
        [OPTION_GLOSSARIES] = {",", "NAME=FILE", MOST_GLOSSARIES},
        [OPTION_TEXTS] = {"", "a text that is not empty", MOST_TEXTS},
    };
    for (const char *at = value, *end = at + strlen(at); at <= end;) {
        size_t length = strcspn(at, lists[option->kind].separator), most = lists[option->kind].most;
        if (length == 0)
            return error_set(err, ERROR_INPUT, "%s needs %s", name, lists[option->kind].what);
        if (list->count == most)
            return error_set(err, ERROR_INPUT, "%s must be given at most %zu times", name, most);
        if (name_list_add(list, at, length) != 0)
            return error_memory(err);
        at += length + 1;
    }
    if (option->kind != OPTION_ORIGINS)
        return 0;
    bool any = name_list_has(list, "*");
    if (any && list->count > 1)
        return error_set(err, ERROR_INPUT,
                         "%s must be either * or a list of origins, got \"%.60s\"", name, value);
    for (size_t i = 0; i < list->count && !any; i++) {
        const char *origin = list->names[i], *host = strstr(origin, "://");
        if (!host || host == origin || host[3] == '\0' || strpbrk(host + 3, "/ ?#"))
            return error_set(err, ERROR_INPUT,
                             "%s must contain origins such as https://example.org, got \"%.60s\"",
                             name, origin);
    }
    return 0;
}

int option_set(const struct option *option, const char *name, const char *value,
               struct options *options, struct error *err) {
    void *field = (char *)options + option->offset;
    switch (option->kind) {
    case OPTION_CHOICE:
        if (!is_choice(option->choices, value))
            return error_set(err, ERROR_INPUT, "%s must be %s, got \"%.60s\"", name,
                             option->choices, value);
        return set_string(value, field, err);
    case OPTION_STRING:
        return set_string(value, field, err);
    case OPTION_SIZE:
    case OPTION_SEED: {
        char *end;
        errno = 0;
        unsigned long long number = strtoull(value, &end, 10);
        if (!isdigit((unsigned char)value[0]) || *end != '\0') /* strtoull accepts "-1" and " 1" */
            return error_set(err, ERROR_INPUT, "%s must be a whole number, got \"%.60s\"", name,
                             value);
        if (errno == ERANGE || (double)number < option->minimum || (double)number > option->maximum)
            return error_set(err, ERROR_INPUT, "%s must be between %.0f and %.0f, got %.60s", name,
                             option->minimum, option->maximum, value);
        if (option->kind == OPTION_SIZE)
            *(size_t *)field = (size_t)number;
        else
            *(uint64_t *)field = number;
        return 0;
    }
    case OPTION_BYTES:
    case OPTION_MILLISECONDS:
    case OPTION_SECONDS:
        return set_measured(option, name, value, field, err);
    case OPTION_REAL:
        return set_real(option, name, value, field, err);
    case OPTION_STRATEGY: {
        const struct search_kind *found = search_find(value);
        if (!found)
            return error_set(err, ERROR_INPUT,
                             "%s must be " PARAMETERS_STRATEGIES ", got \"%.60s\"", name, value);
        *(const struct search_kind **)field = found;
        return 0;
    }
    case OPTION_MODE: {
        size_t length = strlen(value);
        if (length < 3 || length > 4 || strspn(value, "01234567") != length ||
            strtoul(value, NULL, 8) > 0777)
            return error_set(err, ERROR_INPUT, "%s must be permissions such as 0660, got \"%.60s\"",
                             name, value);
        *(size_t *)field = strtoul(value, NULL, 8);
        return 0;
    }
    case OPTION_SWITCH:
    case OPTION_MODEL_SWITCH: {
        bool both = option->kind == OPTION_SWITCH,
             on = !value || strcmp(value, "1") == 0 || strcmp(value, "true") == 0;
        bool off = !on && (strcmp(value, "0") == 0 || strcmp(value, "false") == 0);
        if (!on && !off && (both || strcmp(value, "model") != 0))
            return error_set(err, ERROR_INPUT, "%s must be %s, got \"%.60s\"", name,
                             both ? "true or false" : "true, false or model", value);
        if (both)
            *(bool *)field = on;
        else
            *(enum translator_switch *)field = on ? SWITCH_ON : off ? SWITCH_OFF : SWITCH_OF_MODEL;
        return 0;
    }
    case OPTION_ORIGINS: /* an empty value allows no origin */
        return *value != '\0' ? set_list(option, name, value, field, err) : 0;
    case OPTION_FOLDERS:
    case OPTION_ADDRESSES:
    case OPTION_NAMES:
    case OPTION_GLOSSARIES:
    case OPTION_TEXTS:
        break;
    }
    return set_list(option, name, value, field, err);
}

bool option_may_be_empty(const struct option *option) {
    return option->kind == OPTION_ORIGINS;
}

void option_done(const struct option *option, struct options *options) {
    void *field = (char *)options + option->offset;
    if (option->kind == OPTION_STRING || option->kind == OPTION_CHOICE) {
        char **string = field;
        free(*string);
        *string = NULL;
    } else if (option->kind >= OPTION_FOLDERS) {
        name_list_done(field);
    }
}
