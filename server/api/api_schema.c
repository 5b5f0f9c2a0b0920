/* The shapes of requests and replies, for /openapi.json. */
#include "server/api/api_json.h"
#include <stdio.h>
#include <string.h>

/* One property of an object. */
struct property {
    const char *object, *name; /* object NULL: that of the row before */
    const char *type;          /* as of api_schema */
    const char *text;          /* NULL: the name says it */
    bool optional;
};

/* `optional` ones of a Sentence: as `include` and the search ask for. */
static const struct property properties[] = {
    {"Error", "error", "string", "what is wrong", false},
    {NULL, "code", "string", "the kind of error", false},
    {NULL, "field", "string", "the name of the wrong field", true},

    {"Translations", "model", "string", NULL, false},
    {NULL, "source", "string", "language code", false},
    {NULL, "target", "string", "language code", false},
    {NULL, "variant", "string", "of a model that writes several languages: which one this is", true},
    {NULL, "seed", "integer", "strategy sample: the seed that was used", true},
    {NULL, "pivot", "[string]", "the two models, where none translates the pair alone", true},
    {NULL, "translations", "[Answer]", "one for each text", false},

    {"Attentions", "model", "string", NULL, false},
    {NULL, "source", "string", "language code", false},
    {NULL, "target", "string", "language code", false},
    {NULL, "variant", "string", "of a model that writes several languages: which one this is", true},
    {NULL, "seed", "integer", "strategy sample: the seed that was used", true},
    {NULL, "pivot", "[string]", "the two models, where none translates the pair alone", true},
    {NULL, "results", "[Answer]", "one for each text", false},

    {"Answer", "text", "string", "the whole text, with the white space between sentences", false},
    {NULL, "detected", "TextLanguage", "without source, or with auto: the language that the text was taken to be in", true},
    {NULL, "model", "string", "where that has another model than the first text", true},
    {NULL, "source", "string", "and that model's language", true},
    {NULL, "pivot", "[string]", "and the two models, where none translates the pair alone", true},
    {NULL, "pivot_text", "string", "what the first of two models wrote and the second read", true},
    {NULL, "sentences", "[Sentence]", NULL, false},
    {NULL, "warnings", "[Warning]", "what is likely wrong with the text or its translation, if anything is", true},

    {"TextLanguage", "language", "string", "language code", false},
    {NULL, "confidence", "number", "0 to 1: how often such a guess is right", false},

    {"Warning", "code", "=language,untranslated,unknown,shortened,numbers,doubtful,encoding",
     "the text looks like another language; the model can read none of it; more than a third of its tokens are unknown; much of it "
     "may be left untranslated; the numbers differ; it is probably wrong; a document's encoding was guessed",
     false},
    {NULL, "message", "string", NULL, false},
    {NULL, "language", "string", "code language: that of the text, a language code", true},
    {NULL, "source", "[string]", "code numbers: the text's numbers that have no equal in the translation, as they are written",
     true},
    {NULL, "target", "[string]", "code numbers: the translation's that have none in the text", true},
    {NULL, "quality", "number", "code doubtful: the model's estimate, 0 to 1", true},

    {"Sentence", "source_text", "string", NULL, false},
    {NULL, "text", "string", NULL, false},
    {NULL, "source_tokens", "[string]", "m tokens", true},
    {NULL, "tokens", "[string]", "n tokens of the translation", true},
    {NULL, "score", "number", "hypotheses are ordered by it, best first", false},
    {NULL, "log_prob", "number", NULL, false},
    {NULL, "finish_reason", "=eos,length,budget", NULL, false},
    {NULL, "optimal", "boolean", "strategy exact: no translation has a better score", true},
    {NULL, "log_probs", "[number]", "log-probability of each target token", true},
    {NULL, "attention", "[[number]]", "[n][m]: weights of the source tokens for each target token; each row sums to 1", true},
    {NULL, "soft_alignment", "[[number]]", "[n][m]: what the alignment head says of each target token; attention if there is none",
     true},
    {NULL, "alignment", "[[integer]]", "pairs of indexes: source token, target token; by soft_alignment", true},
    {NULL, "words", "Words", NULL, true},
    {NULL, "quality", "Quality", NULL, true},
    {NULL, "heads", "Heads", "what the heads of a transformer looked at; of the best hypothesis", true},
    {NULL, "offsets", "Offsets", NULL, true},
    {NULL, "opaque", "[OpaqueRun]", "runs that came through as they are; with offsets", true},
    {NULL, "entropy", "[number]", "in nats, for each target token", true},
    {NULL, "top_k", "[[Alternative]]", "the five most likely tokens at each step", true},
    {NULL, "timing", "Timing", NULL, true},
    {NULL, "beam", "[Branch]", "the search tree", true},
    {NULL, "hypotheses", "[Sentence]", "all hypotheses, best first; only if n_best > 1", true},

    {"Heads", "encoder", "[[[[number]]]]", "[layer][head][m][m]: weights of the source tokens for each source token", true},
    {NULL, "decoder", "[[[[number]]]]",
     "[layer][head][n][n]: weights for each target token, of the start (column 0) and of the target tokens before it", true},
    {NULL, "cross", "[[[[number]]]]", "[layer][head][n][m]: weights of the source tokens for each target token", true},

    {"Words", "source", "[string]", NULL, false},
    {NULL, "target", "[string]", NULL, false},
    {NULL, "attention", "[[number]]", NULL, false},
    {NULL, "soft_alignment", "[[number]]", NULL, false},
    {NULL, "alignment", "[[integer]]", "pairs of source and target word", false},
    {NULL, "offsets", "WordOffsets", NULL, false},

    {"WordOffsets", "source", "[Place]", "of each word in source_text", false},
    {NULL, "target", "[Place]", "of each word in text", false},

    {"Quality", "sentence", "number", "estimated probability that the sentence is right", false},
    {NULL, "words", "[number]", "the same of each target word, as words.target", false},

    {"Place", "start", "integer", "in UTF-8 bytes", false},
    {NULL, "end", "integer", "exclusive", false},
    {NULL, "start_utf16", "integer", "in UTF-16 units", false},
    {NULL, "end_utf16", "integer", "exclusive", false},

    {"Offsets", "source", "[Place]", "of each token in source_text", false},
    {NULL, "target", "[Place]", "of each token in text", false},
    {NULL, "span", "Span", "place of the sentence in the whole input and output", true},
    {"Span", "source", "Place", NULL, false},
    {NULL, "target", "Place", NULL, false},

    {"OpaqueRun", "source", "Place", NULL, false},
    {NULL, "target", "Place", NULL, false},
    {NULL, "kind", "=emoji,symbol,word,code,number,markup,url,email,protect", NULL, false},

    {"Alternative", "token", "string", NULL, false},
    {NULL, "log_prob", "number", NULL, false},

    {"Branch", "id", "integer", NULL, false},
    {NULL, "parent", "integer?", "id of the node it continues; null for the first", false},
    {NULL, "step", "integer", NULL, false},
    {NULL, "token", "string", NULL, false},
    {NULL, "log_prob", "number", NULL, false},
    {NULL, "score", "number", NULL, false},
    {NULL, "state", "=kept,pruned,finished", NULL, false},

    {"Timing", "queue_ms", "number", NULL, false},
    {NULL, "decode_ms", "number", NULL, false},
    {NULL, "steps", "integer", NULL, false},

    {"TokenEvent", "text_index", "integer", NULL, false},
    {NULL, "sentence", "integer", "index of the sentence within the text", false},
    {NULL, "token", "string", NULL, false},
    {NULL, "text", "string", "the text that the token adds to the sentence", false},
    {NULL, "log_prob", "number", NULL, false},

    {"ForcedStep", "step", "integer", "index of the target token, from 0", false},
    {NULL, "weights", "[number]", "one for each source token", false},

    {"Models", "models", "[Model]", NULL, false},
    {NULL, "generation", "integer", "number of the set of models: 1 at the start, one more with each reload", false},
    {NULL, "reload", "=none,running,done,failed", "state of the last reload", false},
    {"Model", "name", "string", NULL, false},
    {NULL, "source", "string", "language code", true},
    {NULL, "target", "string", "language code", true},
    {NULL, "task", "string", NULL, true},
    {NULL, "architecture", "string", "of a model that is ready", true},
    {NULL, "parameters", "integer", NULL, true},
    {NULL, "compute", "string", "of a model that is ready", true},
    {NULL, "storage", "string", NULL, true},
    {NULL, "alignment", "=none,untrained,attention,head",
     "what alignment is made of: a head trained for it, attention, or the attention of a head that never learned to align", true},
    {NULL, "alignment_head", "boolean", "alignment comes from a head trained for it, not from attention", true},
    {NULL, "heads", "boolean", "it has heads whose attention can be shown", true},
    {NULL, "quality", "boolean", "it estimates the quality of its translations", true},
    {NULL, "variants", "[string]", "of a model that writes several languages: what variant may be", true},
    {NULL, "search", "SearchDefaults", "what requests get that ask for nothing else", true},
    {NULL, "vocabulary", "Vocabulary", "of a model that is ready", true},
    {NULL, "limits", "Limits", NULL, true},
    {NULL, "state", "=cold,loading,ready,failed",
     "cold: it is loaded when a request asks for it; failed: reason tells administrators why", false},
    {NULL, "reason", "string", "of a model that failed, for administrators", true},
    {NULL, "bytes", "integer", "memory that it takes or, until it has been loaded once, is expected to take", false},
    {NULL, "integrity", "=unlisted,checking,checked",
     "of a model that is ready: its files and those of its manifest.json are the same; unlisted: it has no manifest", true},
    {NULL, "sha256", "string", "of a model that is ready: model.safetensors, as manifest.json has it", true},
    {"SearchDefaults", "beam_size", "integer", NULL, false},
    {NULL, "length_penalty", "number", NULL, false},
    {"Vocabulary", "source", "integer", NULL, false},
    {NULL, "target", "integer", NULL, false},
    {"Limits", "max_source_tokens", "integer", NULL, false},
    {NULL, "max_target_ratio", "number", NULL, false},
    {NULL, "max_target_tokens", "integer", NULL, false},

    {"Reloaded", "status", "=reloaded", NULL, false},
    {NULL, "generation", "integer", "number of the new set of models", false},

    {"ModelFolder", "folder", "string", "path on the server", false},
    {"ModelChange", "status", "=added,removed", NULL, false},
    {NULL, "name", "string", "of the model", false},

    {"Status", "status", "string", NULL, false},

    {"LibreRequest", "q", "Texts", "the text or texts to translate", false},
    {NULL, "source", "string", "language code, or auto", false},
    {NULL, "target", "string", "language code", false},
    {NULL, "format", "=text,html", NULL, true},
    {NULL, "alternatives", "integer", "number of further translations to return", true},
    {NULL, "api_key", "string?", NULL, true},

    {"LibreTranslation", "translatedText", "string|[string]", "an array if q is an array", false},
    {NULL, "alternatives", "[string]|[[string]]", "only if alternatives were requested", true},
    {NULL, "detectedLanguage", "Detected|[Detected]", "only if source is auto", true},

    {"LibreDetect", "q", "Texts", NULL, false},
    {NULL, "api_key", "string?", NULL, true},
    {"Detected", "confidence", "number", "0 to 100", false},
    {NULL, "language", "string", NULL, false},

    {"DeeplRequest", "text", "Texts", NULL, false},
    {NULL, "source_lang", "string", "language code; none: detected, of each text by itself", true},
    {NULL, "target_lang", "string", "language code; EN-US is en where no model knows the region", false},
    {NULL, "split_sentences", "=0,1,nonewlines", NULL, true},
    {NULL, "tag_handling", "=xml,html", NULL, true},
    {NULL, "ignore_tags", "string|[string]", "xml: elements that are not translated", true},
    {NULL, "splitting_tags", "string|[string]", "xml: elements that end sentences", true},
    {NULL, "non_splitting_tags", "string|[string]", "xml: elements that never do", true},
    {NULL, "outline_detection", "boolean", "xml: elements beside which no text stands end sentences; true unless it is given",
     true},
    {NULL, "formality", "=default,prefer_more,prefer_less", "changes nothing", true},
    {NULL, "show_billed_characters", "boolean", NULL, true},
    {NULL, "model_type", "=quality_optimized,prefer_quality_optimized,latency_optimized",
     "changes nothing; the reply has it as model_type_used", true},
    {NULL, "glossary_id", "string", "id or name of a glossary; source_lang is required with it", true},
    {"DeeplTranslations", "translations", "[DeeplTranslation]", NULL, false},
    {"DeeplTranslation", "detected_source_language", "string", NULL, false},
    {NULL, "text", "string", NULL, false},
    {NULL, "billed_characters", "integer", "with show_billed_characters", true},
    {NULL, "model_type_used", "string", "with model_type", true},
    {"DeeplLanguage", "language", "string", NULL, false},
    {NULL, "name", "string", NULL, false},
    {NULL, "supports_formality", "boolean", "of targets", true},
    {"DeeplUsage", "character_count", "integer", "since the server was started", false},
    {NULL, "character_limit", "integer", NULL, false},

    {"DeeplPairs", "supported_languages", "[DeeplPair]", NULL, false},
    {"DeeplPair", "source_lang", "string", NULL, false},
    {NULL, "target_lang", "string", NULL, false},
    {"DeeplEntries", "name", "string", NULL, false},
    {NULL, "source_lang", "string", "language code", false},
    {NULL, "target_lang", "string", "language code", false},
    {NULL, "entries", "string", "a source and a target phrase in each line", false},
    {NULL, "entries_format", "=tsv,csv", "tsv unless it is given", true},
    {"DeeplGlossaries", "glossaries", "[DeeplGlossary]", NULL, false},
    {"DeeplGlossary", "glossary_id", "string", NULL, false},
    {NULL, "name", "string", NULL, false},
    {NULL, "ready", "boolean", NULL, false},
    {NULL, "source_lang", "string", NULL, false},
    {NULL, "target_lang", "string", NULL, false},
    {NULL, "creation_time", "string", NULL, false},
    {NULL, "entry_count", "integer", NULL, false},

    {"DeeplDictionaryAbout", "source_lang", "string", NULL, false},
    {NULL, "target_lang", "string", NULL, false},
    {NULL, "entry_count", "integer", NULL, false},
    {"DeeplDictionary", "source_lang", "string", "language code", false},
    {NULL, "target_lang", "string", "language code", false},
    {NULL, "entries", "string", "a source and a target phrase in each line", false},
    {NULL, "entries_format", "=tsv,csv", "tsv unless it is given", true},
    {"DeeplDictionaries", "name", "string", NULL, false},
    {NULL, "dictionaries", "[DeeplDictionary]", "one for a pair of languages", false},
    {"DeeplChange", "name", "string", NULL, true},
    {NULL, "dictionaries", "[DeeplDictionary]", "whose entries are added; one for the same phrase takes the other's place", true},
    {"DeeplDictionaryEntries", "dictionaries", "[DeeplDictionary]", "the one", false},
    {"DeeplMultilinguals", "glossaries", "[DeeplMultilingual]", NULL, false},
    {"DeeplMultilingual", "glossary_id", "string", NULL, false},
    {NULL, "name", "string", NULL, false},
    {NULL, "dictionaries", "[DeeplDictionaryAbout]", NULL, false},
    {NULL, "creation_time", "string", NULL, false},

    {"DeeplDocument", "file", "file", "the document; its name, or filename, tells the format", false},
    {NULL, "target_lang", "string", "language code", false},
    {NULL, "source_lang", "string", "language code; without it, the likeliest", true},
    {NULL, "filename", "string", "in the place of the file's own", true},
    {NULL, "output_format", "string", "that of the file, and no other", true},
    {NULL, "glossary_id", "string", "id or name of a glossary; source_lang is required with it", true},
    {"DeeplDocumentHandle", "document_id", "string", NULL, false},
    {NULL, "document_key", "string", NULL, false},
    {"DeeplDocumentKey", "document_key", "string", NULL, false},
    {"DeeplDocumentStatus", "document_id", "string", NULL, false},
    {NULL, "status", "=queued,translating,done,error", NULL, false},
    {NULL, "seconds_remaining", "integer", "of one that is being translated: an estimate", true},
    {NULL, "billed_characters", "integer", "of one that is done", true},
    {NULL, "error_message", "string", "of one that could not be translated", true},

    {"GoogleRequest", "q", "Texts", NULL, false},
    {NULL, "source", "string", "language code; none: detected, of each text by itself", true},
    {NULL, "target", "string", "language code", false},
    {NULL, "format", "=html,text", "html unless it is given", true},
    {"GoogleTranslations", "data", "object", "translations: an array of {translatedText, detectedSourceLanguage}", false},
    {"GoogleLanguages", "data", "object", "languages: an array of {language, name}", false},
    {"GoogleDetect", "q", "Texts", NULL, false},
    {"GoogleDetections", "data", "object", "detections: of each text an array of {language, isReliable, confidence}", false},

    {"MicrosoftText", "Text", "string", NULL, false},
    {"MicrosoftTranslated", "detectedLanguage", "MicrosoftGuess", "only if the query string has no from", true},
    {NULL, "translations", "[MicrosoftTranslation]", "one for each to in the query string", false},
    {"MicrosoftGuess", "language", "string", NULL, false},
    {NULL, "score", "number", "0 to 1", false},
    {"MicrosoftTranslation", "text", "string", NULL, false},
    {NULL, "to", "string", NULL, false},
    {NULL, "alignment", "object", "proj: pairs of character ranges such as 0:4-0:6, in UTF-16 units, ends included", true},
    {NULL, "sentLen", "object", "srcSentLen, transSentLen: lengths of the sentences in UTF-16 units", true},
    {"MicrosoftSentences", "sentLen", "[integer]", "in UTF-16 units", false},
    {NULL, "detectedLanguage", "MicrosoftGuess", NULL, true},

    {"ImmersiveRequest", "text_list", "Texts", NULL, false},
    {NULL, "source_lang", "string", "language code, or auto", true},
    {NULL, "target_lang", "string", "language code", false},
    {"ImmersiveTranslations", "translations", "[ImmersiveTranslation]", NULL, false},
    {"ImmersiveTranslation", "detected_source_lang", "string", NULL, false},
    {NULL, "text", "string", NULL, false},
    {"KissRequest", "text", "string", NULL, true},
    {NULL, "texts", "[string]", "instead of text", true},
    {NULL, "from", "string", "language code, or auto", true},
    {NULL, "to", "string", "language code", false},
    {"KissTranslations", "translations", "[KissText]", NULL, false},
    {"KissText", "src", "string", "the source language", false},
    {NULL, "text", "string", NULL, false},
    {"DeeplxRequest", "text", "string", NULL, false},
    {NULL, "source_lang", "string", "language code, or auto", true},
    {NULL, "target_lang", "string", "language code", false},
    {"DeeplxTranslation", "code", "integer", "200", false},
    {NULL, "id", "integer", NULL, false},
    {NULL, "data", "string", "the translation", false},
    {NULL, "alternatives", "[string]", NULL, false},
    {NULL, "source_lang", "string", NULL, false},
    {NULL, "target_lang", "string", NULL, false},
    {NULL, "method", "string", NULL, false},

    {"DocumentRequest", "file", "file", "the document; its name or media type tells the format", false},
    {NULL, "target", "string", "language code", false},
    {NULL, "source", "string", "language code; without it, the likeliest", true},
    {NULL, "format", "=txt,srt,vtt,json,md,html,po,xliff", "where neither the file's name nor its type tells it", true},
    {NULL, "stream", "boolean",
     "sentences as server-sent events, then warnings (Warning, with line); the last one, result, has file_name, format and text",
     true},
    {NULL, "warnings", "boolean", "as of POST /translate", true},
    {NULL, "protect", "string", "what is not translated: in JSON, as of POST /translate", true},
    {NULL, "keys", "string",
     "of a JSON file, which values are translated: path globs such as menu.*.label and !meta.**, separated by commas or in several "
     "fields",
     true},

    {NULL, "bilingual", "=below", "keep the text, with the translation below it: txt, srt, vtt, md and html", true},

    {"LibreFile", "file", "file", "the document; its name or media type tells the format", false},
    {NULL, "source", "string", "language code, or auto", false},
    {NULL, "target", "string", "language code", false},
    {"LibreFileUrl", "translatedFileUrl", "string", "where the file can be fetched until it expires (--keep-files-s)", false},

    {"Language", "code", "string", NULL, false},
    {NULL, "name", "string", NULL, false},
    {NULL, "targets", "[string]", NULL, false},

    {"Settings", "charLimit", "integer", NULL, false},
    {NULL, "frontendTimeout", "integer", NULL, false},
    {NULL, "apiKeys", "boolean", NULL, false},
    {NULL, "keyRequired", "boolean", NULL, false},
    {NULL, "suggestions", "boolean", NULL, false},
    {NULL, "filesTranslation", "boolean", NULL, false},
    {NULL, "supportedFilesFormat", "[string]", NULL, false},
    {NULL, "language", "object", NULL, false},
};

/* ---- the notation ---- */

static void put_schema(struct writer *w, const char *type, size_t length);

static void put_name(struct writer *w, const char *name, size_t length) {
    writer_string_of(w, NULL, name, length);
}

/* An array of the parts between these characters. */
static void put_list(struct writer *w, const char *key, const char *text, size_t length, char separator,
                     void (*put)(struct writer *w, const char *part, size_t part_length)) {
    writer_begin_array(w, key);
    for (const char *end = text + length; text < end;) {
        const char *next = memchr(text, separator, (size_t)(end - text));
        size_t part = (size_t)((next ? next : end) - text);
        put(w, text, part);
        text += part + 1;
    }
    writer_end_array(w);
}

static bool is_plain(const char *type, size_t length) {
    static const char *const plain[] = {"string", "integer", "number", "boolean", "object"};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        if (strlen(plain[i]) == length && memcmp(plain[i], type, length) == 0)
            return true;
    }
    return false;
}

static void put_reference(struct writer *w, const char *name, size_t length) {
    char reference[64];
    snprintf(reference, sizeof reference, "#/components/schemas/%.*s", (int)length, name);
    writer_string(w, "$ref", reference);
}

static void put_members(struct writer *w, const char *type, size_t length) {
    if (type[0] == '=') {
        writer_string(w, "type", "string");
        put_list(w, "enum", type + 1, length - 1, ',', put_name);
    } else if (length == 4 && memcmp(type, "file", length) == 0) {
        writer_strings(w, "type", "string", "format", "binary", NULL);
    } else if (memchr(type, '|', length)) {
        put_list(w, "oneOf", type, length, '|', put_schema);
    } else if (type[0] == '[') {
        writer_string(w, "type", "array");
        writer_begin_object(w, "items");
        put_members(w, type + 1, length - 2);
        writer_end_object(w);
    } else if (type[length - 1] == '?') {
        writer_string_of(w, "type", type, length - 1);
        writer_boolean(w, "nullable", true);
    } else if (is_plain(type, length)) {
        writer_string_of(w, "type", type, length);
    } else {
        put_reference(w, type, length);
    }
}

static void put_schema(struct writer *w, const char *type, size_t length) {
    writer_begin_object(w, NULL);
    put_members(w, type, length);
    writer_end_object(w);
}

void api_schema_members(struct writer *w, const char *type) {
    put_members(w, type, strlen(type));
}

void api_schema(struct writer *w, const char *key, const char *type) {
    writer_begin_object(w, key);
    api_schema_members(w, type);
    writer_end_object(w);
}

/* ---- the components ---- */

void api_begin_described(struct writer *w, const char *key, const char *text, bool apart) {
    writer_begin_object(w, key);
    if (!text || !apart)
        return;
    writer_begin_array(w, "allOf");
    writer_begin_object(w, NULL);
}

void api_end_described(struct writer *w, const char *text, bool apart) {
    if (text && apart) {
        writer_end_object(w);
        writer_end_array(w);
    }
    if (text)
        writer_string(w, "description", text);
    writer_end_object(w);
}

void api_end_properties(struct writer *w, const char *needed) {
    writer_end_object(w);
    writer_begin_array(w, "required");
    writer_string(w, NULL, needed);
    writer_end_array(w);
    writer_boolean(w, "additionalProperties", false);
}

static bool is_reference(const char *type) {
    return !strpbrk(type, "=|[?") && !is_plain(type, strlen(type));
}

static void put_texts(struct writer *w) {
    writer_begin_object(w, "Texts");
    writer_begin_array(w, "oneOf");
    api_schema(w, NULL, "string");
    writer_begin_object(w, NULL);
    api_schema_members(w, "[string]");
    writer_count(w, "minItems", 1);
    writer_count(w, "maxItems", API_MAX_TEXTS);
    writer_end_object(w);
    writer_end_array(w);
    writer_end_object(w);
}

/* JSON Schema has no empty list of them. */
static void put_required(struct writer *w, const struct property *first, const struct property *end) {
    bool any = false;
    for (const struct property *p = first; p < end; p++) {
        if (p->optional)
            continue;
        if (!any)
            writer_begin_array(w, "required");
        any = true;
        writer_string(w, NULL, p->name);
    }
    if (any)
        writer_end_array(w);
}

/* One object: the rows from `first` to `end`. */
static void put_object(struct writer *w, const struct property *first, const struct property *end) {
    writer_begin_object(w, first->object);
    writer_string(w, "type", "object");
    writer_begin_object(w, "properties");
    for (const struct property *p = first; p < end; p++) {
        api_begin_described(w, p->name, p->text, is_reference(p->type));
        api_schema_members(w, p->type);
        api_end_described(w, p->text, is_reference(p->type));
    }
    writer_end_object(w);
    put_required(w, first, end);
    writer_end_object(w);
}

void api_schemas(struct writer *w) {
    const struct property *end = properties + sizeof properties / sizeof *properties;
    put_texts(w);
    for (const struct property *first = properties, *next; first < end; first = next) {
        next = first + 1;
        while (next < end && !next->object)
            next++;
        put_object(w, first, next);
    }
}
