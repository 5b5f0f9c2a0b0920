/* This file decides of what a reply warns: each check reads a decoded text and adds at most one
 * warning of each code. */
#include "server/api/warnings.h"
#include "server/api/languages.h"
#include "server/api/pairs.h"
#include "server/api/plan.h"
#include "server/api/value.h"
#include "server/base/strings.h"
#include "server/decode/outcome.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MESSAGE_BYTES = 256, UNKNOWN_PARTS = 3, LANGUAGE_BYTES = 4096 };

/* Adds a warning, and lets put write its other members from detail. Returns -1 if memory runs out,
 * or if put has no detail. */
__attribute__((format(printf, 6, 7))) static int
add_warning(struct warnings *warnings, struct arena *arena, enum warning_code code,
            void (*put)(struct writer *w, const struct warning *warning), const void *detail,
            const char *format, ...) {
    char message[MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    struct warning *warning = arena_zalloc(arena, 1, sizeof *warning);
    const char *copy = arena_copy(arena, message, strlen(message));
    if (!warning || !copy || (put && !detail))
        return -1;
    *warning = (struct warning){.code = code, .message = copy, .put = put, .detail = detail};
    *(warnings->last ? &warnings->last->next : &warnings->first) = warning;
    warnings->last = warning;
    warnings->codes |= 1u << code;
    return 0;
}

/* Returns -1 if memory runs out. */
static int judge_sentence(const struct text *text, size_t i, struct arena *arena,
                          struct judgement *out) {
    return outcome_judgement(text->jobs[i].outcome, arena, out);
}

static void put_language(struct writer *w, const struct warning *warning) {
    writer_string(w, "language", warning->detail);
}

/* Warns if these bytes of a text appear to be in a language other than `source`. */
static int warn_of_language(const struct request *request, const char *source, const char *bytes,
                            size_t length, struct arena *arena, struct warnings *warnings) {
    char looks[LANGUAGE_NAME_BYTES], reads[LANGUAGE_NAME_BYTES];
    const struct model_set *models = request->models;
    size_t count = 0;
    const char **likely =
        arena_alloc(arena, 2 * models->count, sizeof *likely); /* the loaded models' languages */
    for (size_t i = 0; likely && i < 2 * models->count; i++) {
        const struct translator_info *info = &models->all[i / 2]->info;
        const char *code = i % 2 == 0 ? info->source : info->target;
        if (*code) /* a folder that cannot be read has no languages */
            likely[count++] = code;
    }
    struct language_other other = {.failed = true};
    if (likely)
        other = language_check(bytes, length, source, likely, count);
    if (other.failed || !*other.code)
        return other.failed ? -1 : 0;
    language_name(other.code, looks);
    language_name(source, reads);
    return add_warning(warnings, arena, WARNING_LANGUAGE, put_language,
                       arena_copy(arena, other.code, strlen(other.code)),
                       "the text looks like %s, but the model reads %s", looks, reads);
}

/* Warns if a text without sentences looks like an ICU message, since it could not be parsed. */
static int warn_of_message(const char *text, size_t length, struct arena *arena,
                           struct warnings *warnings) {
    if (!icu_message_is(text, length))
        return 0;
    return add_warning(
        warnings, arena, WARNING_UNTRANSLATED, NULL, NULL,
        "the text was returned unchanged: it has braces but is not a valid ICU message");
}

static void put_list(struct writer *w, const char *name, const char *const *strings, size_t count) {
    writer_begin_array(w, name);
    for (size_t i = 0; i < count; i++)
        writer_string(w, NULL, strings[i]);
    writer_end_array(w);
}

static void put_lists(struct writer *w, const struct warning *warning) {
    const struct check_lists *lists = warning->detail;
    put_list(w, "source", lists->source, lists->source_count);
    put_list(w, "target", lists->target, lists->target_count);
}

/* The lists of a glossary have an entry's phrases at the same place. */
static void put_entries(struct writer *w, const struct warning *warning) {
    const struct check_lists *lists = warning->detail;
    writer_begin_array(w, "entries");
    for (size_t i = 0; i < lists->source_count; i++) {
        writer_begin_object(w, NULL);
        writer_strings(w, "source", lists->source[i], "target", lists->target[i], NULL);
        writer_end_object(w);
    }
    writer_end_array(w);
}

static void add_all(const char *const *strings, size_t count, const char **list, size_t *used) {
    for (size_t i = 0; i < count; i++)
        list[(*used)++] = strings[i];
}

/* Warns of what the sentences of a text and their translations do not share. all: the numbers of
 * such strings. */
static int warn_of_differences(const struct text *text, enum check check,
                               const struct check_lists *all, struct arena *arena,
                               struct warnings *warnings) {
    static const struct {
        enum warning_code code;
        void (*put)(struct writer *w, const struct warning *warning);
        const char *message;
    } of[CHECKS] = {
        [CHECK_NUMBERS] = {WARNING_NUMBERS, put_lists,
                           "the numbers in the translation differ from those in the text"},
        [CHECK_SIGNS] = {WARNING_SIGNS, put_lists,
                         "the signs in the translation differ from those in the text"},
        [CHECK_GLOSSARY] = {WARNING_GLOSSARY, put_entries,
                            "the translation lacks entries of the glossary that occur in the text"},
    };
    struct check_lists *lists = arena_zalloc(arena, 1, sizeof *lists);
    const char **source = arena_alloc(arena, all->source_count, sizeof *source);
    const char **target = arena_alloc(arena, all->target_count, sizeof *target);
    if (!lists || !source || !target)
        return -1;
    for (size_t i = 0; i < text->count; i++) {
        struct judgement one;
        if (judge_sentence(text, i, arena, &one) != 0)
            return -1;
        add_all(one.lists[check].source, one.lists[check].source_count, source,
                &lists->source_count);
        add_all(one.lists[check].target, one.lists[check].target_count, target,
                &lists->target_count);
    }
    lists->source = source;
    lists->target = target;
    return add_warning(warnings, arena, of[check].code, of[check].put, lists, "%s",
                       of[check].message);
}

/* Words of the translation of a text that a warning is about; none where the reply does not have
 * the text as it was decoded. */
struct named_words {
    struct rendered rendered; /* its text is NULL until it is needed */
    struct span *all;         /* [count] */
    size_t count, room;
};

/* Names these spans [count] of the translation of sentence i, or all of it (NULL, 1). Returns -1 if
 * memory runs out. */
static int name_words(const struct text *text, size_t i, const struct span *spans, size_t count,
                      struct arena *arena, struct named_words *words) {
    if (!words->rendered.text && outcome_text(text, arena, &words->rendered, NULL) != 0)
        return -1;
    struct span *grown =
        arena_grow(arena, words->all, words->count, &words->room, count, sizeof *grown);
    if (!grown)
        return -1;
    words->all = grown;
    const struct span whole = {0, strlen(words->rendered.sentences[i].text)};
    size_t begin = words->rendered.begins[i];
    spans = spans ? spans : &whole;
    for (size_t k = 0; k < count; k++)
        grown[words->count++] = (struct span){begin + spans[k].begin, begin + spans[k].end};
    return 0;
}

static void put_words(struct writer *w, const struct named_words *words) {
    struct utf16_cursor cursor = {.text = words->rendered.text};
    if (!cursor.text)
        return;
    writer_begin_array(w, "words");
    for (size_t i = 0; i < words->count; i++) {
        struct value_place begin = {words->all[i].begin,
                                    character_utf16_position(&cursor, words->all[i].begin)},
                           end = {words->all[i].end,
                                  character_utf16_position(&cursor, words->all[i].end)};
        value_put_place(w, NULL, begin, end);
    }
    writer_end_array(w);
}

static void put_untranslated(struct writer *w, const struct warning *warning) {
    put_words(w, warning->detail);
}

/* Warns of the sentences of a text that are their own translations. named: the reply has places for
 * their words. */
static int warn_of_untranslated(const struct text *text, bool named, struct arena *arena,
                                struct warnings *warnings) {
    struct named_words *words = arena_zalloc(arena, 1, sizeof *words);
    for (size_t i = 0; words && named && i < text->count; i++) {
        struct judgement one;
        if (judge_sentence(text, i, arena, &one) != 0)
            return -1;
        if (one.untranslated && name_words(text, i, NULL, 1, arena, words) != 0)
            return -1;
    }
    return add_warning(warnings, arena, WARNING_UNTRANSLATED, put_untranslated, words,
                       "a sentence was returned unchanged: the model cannot read its letters, or "
                       "found no translation");
}

/* The sentences of a text that are doubtful. */
struct doubted {
    double estimate; /* estimate of the least sure sentence, since one wrong sentence makes the text
                        wrong */
    struct named_words words;
};

static void put_doubt(struct writer *w, const struct warning *warning) {
    const struct doubted *doubted = warning->detail;
    writer_number(w, "quality", doubted->estimate);
    put_words(w, &doubted->words);
}

/* Warns of the doubtful sentences of a text, if there are any. named: the reply has places for
 * their words. */
static int warn_of_doubt(const struct text *text, bool named, struct arena *arena,
                         struct warnings *warnings) {
    struct doubted *doubted = arena_zalloc(arena, 1, sizeof *doubted);
    size_t sentences = 0;
    if (!doubted)
        return -1;
    doubted->estimate = 1;
    for (size_t i = 0; i < text->count; i++) {
        struct judgement one;
        if (judge_sentence(text, i, arena, &one) != 0)
            return -1;
        if (!one.doubt.doubtful)
            continue;
        sentences++;
        doubted->estimate =
            one.doubt.estimate < doubted->estimate ? one.doubt.estimate : doubted->estimate;
        if (named &&
            name_words(text, i, one.doubt.words, one.doubt.word_count, arena, &doubted->words) != 0)
            return -1;
    }
    if (sentences == 0)
        return 0;
    if (text->count == 1)
        return add_warning(warnings, arena, WARNING_DOUBTFUL, put_doubt, doubted,
                           "the translation is probably wrong: the model is not sure of its words");
    return add_warning(warnings, arena, WARNING_DOUBTFUL, put_doubt, doubted,
                       "%zu of the %zu sentences are probably translated wrong: the model is not "
                       "sure of their words",
                       sentences, text->count);
}

static void put_wanted(struct writer *w, const struct warning *warning) {
    writer_string(w, "wanted", warning->detail);
}

/* Warns of a form of address that was asked for and is not there. */
static int warn_of_formality(const struct request *request, const struct text *text,
                             struct arena *arena, struct warnings *warnings) {
    struct formality_wish wish = request_wish(request, text);
    bool holds = true;
    if (wish.form == FORMALITY_ANY || wish.prefers)
        return 0;
    for (size_t i = 0; i < text->count && holds; i++) {
        const struct outcome *outcome = text->jobs[i].outcome;
        size_t begin = outcome_gap(text, i).end, end = outcome_gap(text, i + 1).begin;
        holds = formality_holds(&wish, text->source + begin, end - begin, outcome->text,
                                outcome->length);
    }
    const char *wanted = formality_name(wish.form);
    return holds ? 0
                 : add_warning(warnings, arena, WARNING_FORMALITY, put_wanted, wanted,
                               "the translation may address its reader otherwise than \"%s\" asks",
                               wanted);
}

static const char *const names[WARNING_CODES] = {
    [WARNING_LANGUAGE] = "language", [WARNING_UNTRANSLATED] = "untranslated",
    [WARNING_UNKNOWN] = "unknown",   [WARNING_SHORTENED] = "shortened",
    [WARNING_NUMBERS] = "numbers",   [WARNING_SIGNS] = "signs",
    [WARNING_GLOSSARY] = "glossary", [WARNING_FORMALITY] = "formality",
    [WARNING_DOUBTFUL] = "doubtful", [WARNING_ENCODING] = "encoding",
    [WARNING_CHANGED] = "changed",   [WARNING_IGNORED] = "ignored",
};

/* Adds the warnings of a text, and checks its language if `language` is set. Returns -1 if memory
 * runs out. */
static int check_text(const struct request *request, const struct text *text, bool language,
                      bool apart, struct arena *arena, struct warnings *warnings) {
    struct judgement one, all = {0}; /* all holds the sums */
    bool named = !apart && (request->keeps || request->show);
    if (request->parameters.reversed) /* the model judges what it would write, the client's text */
        return 0;
    if (text->count == 0)
        return warn_of_message(text->source, text->source_length, arena, warnings);
    for (size_t i = 0; i < text->count; i++) {
        if (judge_sentence(text, i, arena, &one) != 0)
            return -1;
        all.untranslated |= one.untranslated;
        all.unknown += one.unknown;
        all.tokens += one.tokens;
        all.omission.tokens += one.omission.tokens;
        all.omission.left += one.omission.left;
        for (size_t check = 0; check < CHECKS; check++) {
            all.lists[check].source_count += one.lists[check].source_count;
            all.lists[check].target_count += one.lists[check].target_count;
        }
    }

    const struct served_model *reader = text->model ? text->model : request->model;
    if (language && warn_of_language(request, reader->info.source, text->source,
                                     text->source_length, arena, warnings) != 0)
        return -1;
    if (all.untranslated && warn_of_untranslated(text, named, arena, warnings) != 0)
        return -1;
    if (UNKNOWN_PARTS * all.unknown > all.tokens &&
        add_warning(warnings, arena, WARNING_UNKNOWN, NULL, NULL,
                    "the model does not know %zu of the text's %zu tokens", all.unknown,
                    all.tokens) != 0)
        return -1;
    if (all.omission.left > 0 &&
        add_warning(warnings, arena, WARNING_SHORTENED, NULL, NULL,
                    "part of the text may be missing in the translation: %zu of its %zu tokens",
                    all.omission.left, all.omission.tokens) != 0)
        return -1;
    for (enum check check = 0; check < CHECKS; check++)
        if (all.lists[check].source_count + all.lists[check].target_count > 0 &&
            warn_of_differences(text, check, &all.lists[check], arena, warnings) != 0)
            return -1;
    if (warn_of_formality(request, text, arena, warnings) != 0)
        return -1;
    return request->wanted.warns ? warn_of_doubt(text, named, arena, warnings)
                                 : 0; /* "warnings": false disables it */
}

/* Warns if the lists of a whole text and its translation have anything. reversed: the text's are
 * those of the target. */
static int warn_of_lists(enum warning_code code, struct check_lists *lists, bool reversed,
                         struct arena *arena, struct warnings *warnings) {
    const char *what = code == WARNING_NUMBERS ? "numbers" : "signs";
    if (reversed)
        *lists = (struct check_lists){lists->target, lists->source, lists->target_count,
                                      lists->source_count};
    return lists->source_count + lists->target_count == 0
               ? 0
               : add_warning(warnings, arena, code, put_lists, lists,
                             "the %s in the translation differ from those in the text", what);
}

/* Warns if the numbers of a translation that the client gives differ from those of the text. */
static int warn_of_given_numbers(const struct request *request, const struct text *text,
                                 const struct whole *whole, struct arena *arena,
                                 struct warnings *warnings) {
    const struct loaded_model *reader = text->loaded ? text->loaded : request->loaded,
                              *writer = text->second ? text->second_loaded : reader;
    struct check_lists *lists = arena_zalloc(arena, 1, sizeof *lists);
    if (!lists || correction_check_numbers(reader->translator, writer->translator, whole->source,
                                           whole->translation, arena, lists) != 0)
        return -1;
    return warn_of_lists(WARNING_NUMBERS, lists, request->parameters.reversed, arena, warnings);
}

/* Warns if the whole text and its translation differ in their signs although no sentence does, or
 * none that is known to. */
static int warn_of_whole(const struct request *request, const struct text *text,
                         const struct whole *whole, struct arena *arena,
                         struct warnings *warnings) {
    const struct served_model *reader = text->model ? text->model : request->model;
    struct check_lists *lists = arena_zalloc(arena, 1, sizeof *lists);
    unsigned known = 1u << WARNING_SIGNS | 1u << WARNING_NUMBERS | 1u << WARNING_GLOSSARY |
                     1u << WARNING_UNTRANSLATED;
    if (warnings->codes & known || request->parameters.verbatim ||
        request->parameters.glossary.lexicon || !request->wanted.warns || !reader ||
        !pair_translates(&reader->info))
        return 0;
    if (text->target && text->count > 0 &&
        warn_of_given_numbers(request, text, whole, arena, warnings) != 0)
        return -1;
    struct formality_wish wish = request_wish(request, text);
    if (!lists || correction_check_whole(wish.source, wish.target, whole->source,
                                         whole->translation, arena, lists) != 0)
        return -1;
    return warn_of_lists(WARNING_SIGNS, lists, request->parameters.reversed, arena, warnings);
}

int warnings_of_plan(struct request *request, const struct plan_answers *answers) {
    struct plan *plan = request->plan;
    struct arena *arena = &request->arena;
    struct warnings *warnings = arena_zalloc(arena, 1, sizeof *warnings);
    plan->warnings = warnings;
    if (!warnings)
        return -1;
    for (size_t i = 0; i < plan->count; i++) {
        const struct plan_item *item = &plan->items[i];
        bool markup = plan_is_markup(plan, item), segments = markup || item->marked;
        bool first = i == 0 || item[-1].string != item->string;
        if (segments && item->count > 0 &&
            first) { /* check the language of all segments together */
            char *joined = arena_alloc(arena, LANGUAGE_BYTES, 1);
            size_t length = 0;
            for (size_t j = 0; joined && j < item->count && length < LANGUAGE_BYTES; j++) {
                const struct text *text = &item->texts[j];
                size_t bytes =
                    utf8_clip(text->source, text->source_length, LANGUAGE_BYTES - length - 1);
                memcpy(joined + length, text->source, bytes);
                length += bytes;
                joined[length++] = '\n';
            }
            if (!joined || warn_of_language(request, item->chosen.model->info.source, joined,
                                            length, arena, warnings) != 0)
                return -1;
        }
        if (!markup && item->marked && item->count == 0 && item->chosen.model &&
            warn_of_message(item->source, item->length, arena, warnings) != 0)
            return -1;
        struct warning *before = warnings->last;
        for (size_t j = 0; j < item->count; j++) {
            struct warning *last = warnings->last;
            if (check_text(request, &item->texts[j], !segments, segments, arena, warnings) != 0)
                return -1;
            for (struct warning *added = last ? last->next : warnings->first; added;
                 added = added->next)
                added->text = (size_t)(&item->texts[j] - request->texts);
        }
        if (!answers || markup || item->count == 0 || warnings->last != before)
            continue;
        const struct whole whole = {{item->source, item->length},
                                    {answers[i].all[0].text, answers[i].all[0].length}};
        struct warnings own = {0};
        if (warn_of_whole(request, &item->texts[0], &whole, arena, &own) != 0)
            return -1;
        if (own.first) {
            own.first->text = (size_t)(&item->texts[0] - request->texts);
            *(warnings->last ? &warnings->last->next : &warnings->first) = own.first;
            warnings->last = own.last;
            warnings->codes |= own.codes;
        }
    }
    return 0;
}

void warnings_begin(struct writer *w, const struct warning *warning) {
    writer_begin_object(w, NULL);
    writer_strings(w, "code", names[warning->code], "message", warning->message, NULL);
    if (warning->put)
        warning->put(w, warning);
}

void warnings_put(const struct request *request, const struct text *text, const struct whole *whole,
                  bool apart, struct arena *arena, struct writer *out) {
    struct warnings warnings = {0};
    if (check_text(request, text, true, apart, arena, &warnings) != 0 ||
        (whole && warn_of_whole(request, text, whole, arena, &warnings) != 0))
        writer_fail(out);
    if (!warnings.first)
        return;
    writer_begin_array(out, "warnings");
    for (const struct warning *warning = warnings.first; warning; warning = warning->next) {
        warnings_begin(out, warning);
        writer_end_object(out);
    }
    writer_end_array(out);
}

const char *warnings_name(size_t code) {
    return code < WARNING_CODES ? names[code] : NULL;
}

void warnings_list(const struct reply *reply, char text[WARNINGS_LIST_BYTES]) {
    unsigned codes = reply->warnings | (reply->ignored ? 1u << WARNING_IGNORED : 0);
    size_t length = 0;
    *text = '\0';
    for (size_t code = 0; code < WARNING_CODES; code++)
        if (codes & 1u << code)
            length += (size_t)snprintf(text + length, WARNINGS_LIST_BYTES - length, "%s%s",
                                       length > 0 ? ", " : "", names[code]);
}
