/* This file makes the phrases and held runs of a source text constraints of a search. */
#include "model/glossary.h"
#include "model/base/utf8.h"
#include "model/model.h"
#include "model/network/network.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- how the target is written ---- */

int glossary_continues(const struct tokenizer *target, bool **continues, struct error *err) {
    const char *mark = tokenizer_mark(target);
    *continues = NULL;
    if (!*mark)
        return 0;
    size_t size = tokenizer_size(target);
    bool *table = calloc(size, sizeof *table);
    if (!table)
        return error_memory(err);
    for (size_t id = 0; id < size; id++) {
        const char *piece = tokenizer_piece(target, (int)id);
        size_t length = strlen(piece), next = 0;
        bool text = length > 0 && tokenizer_is_text(target, (int)id) &&
                    strncmp(piece, mark, strlen(mark)) != 0;
        table[id] = text && character_is_spaced(character_next(piece, length, &next));
    }
    *continues = table;
    return 0;
}

/* A way to write an entry's target: tokens of the vocabulary, if they can, or one separate token
 * that is printed as this piece. */
struct writing {
    const int *tokens; /* [length], 0: they cannot */
    size_t length;
    const struct token *piece;
};

/* How a phrase is written: as it stands, or in capitals where the text has the entry in capitals.
 * If the model reads the text in small letters, its own tokens are raised with those of the
 * translation. */
enum writing_case { AS_IT_IS, RAISED, RAISED_LATER };

/* An entry that was found, in its bucket. */
struct glossary_phrase {
    const struct glossary_entry *entry;
    enum writing_case letters;
    struct writing *writings; /* [count] */
    size_t count;
    struct glossary_phrase *next;
};

void glossary_init(struct glossary *glossary, const struct lexicon *lexicon, struct arena *arena) {
    *glossary = (struct glossary){.lexicon = lexicon, .arena = arena};
}

/* The phrases of one sentence that have been found, and the pieces that no vocabulary has. */
struct found {
    struct sentence *sentence;
    struct phrase *phrases; /* [count] */
    const struct token *
        *own;    /* the pieces' tokens; their ids follow those of the vocabulary and of copies */
    int *inputs; /* [own_count] the ids that the decoder reads for them */
    size_t count, room, own_count, first_own, token_count;
    char *given; /* prefix and suffix without the pieces that were found in them, or NULL */
};

/* Adds a phrase of these tokens that translates text[span]. */
static int add_phrase(struct found *found, const int *tokens, size_t length, struct span span,
                      struct error *err) {
    const struct sentence *sentence = found->sentence;
    struct phrase phrase = {
        .tokens = tokens, .length = length, .first = SIZE_MAX, .stand_ins = {-1, -1}};
    const struct tokenizer *target = sentence->translator->target;
    const struct token *own = copies_token(sentence->copies, tokens[0]);
    const char *piece = own ? own->piece : tokenizer_piece(target, tokens[0]),
               *mark = tokenizer_mark(target);
    phrase.begins_word = strncmp(piece, mark, strlen(mark)) == 0;
    found->token_count += length;
    if (found->token_count > TRANSLATOR_MAX_TARGET)
        return error_set(err, ERROR_LENGTH,
                         "the target phrases of a sentence must have at most %d tokens",
                         TRANSLATOR_MAX_TARGET);
    found->phrases = arena_grow(&found->sentence->arena, found->phrases, found->count, &found->room,
                                1, sizeof *found->phrases);
    if (!found->phrases)
        return error_memory(err);
    for (size_t j = 0; j < sentence->length; j++) {
        const struct token *token = &sentence->tokens[j];
        if (token->end <= span.begin || token->begin >= span.end || token->begin == token->end)
            continue;
        phrase.first = phrase.first == SIZE_MAX ? j : phrase.first;
        phrase.count = j + 1 - phrase.first;
    }
    found->phrases[found->count++] = phrase;
    return 0;
}

/* Makes a temporary id for this token. stand_in: the model reads it for the token; NULL: it reads
 * an unknown word. */
static int take_id(struct found *found, const struct token *token,
                   const struct stand_in *stand_in) {
    const struct translator *t = found->sentence->translator;
    int unknown =
        t->readable.unreadable ? t->readable.stand_ins.word.target : tokenizer_unknown(t->target);
    found->own[found->own_count] = token;
    found->inputs[found->own_count] = stand_in ? stand_in->target : unknown;
    return (int)(found->first_own + found->own_count++);
}

/* Adds a phrase that is one separate token, printed as this piece, unless the prefix or the suffix
 * has it. */
static int add_own(struct found *found, const struct token *token, const struct stand_in *stand_in,
                   struct span span, struct error *err) {
    const struct tokenizer *target = found->sentence->translator->target;
    const char *mark = tokenizer_mark(target),
               *text = token->piece +
                       (strncmp(token->piece, mark, strlen(mark)) == 0 ? strlen(mark) : 0);
    char *there = found->given ? strstr(found->given, text) : NULL;
    if (there) { /* blanks it there, so that each occurrence counts once */
        memset(there, ' ', strlen(text));
        return 0;
    }
    int *id = arena_alloc(&found->sentence->arena, 1, sizeof *id);
    if (!id)
        return error_memory(err);
    *id = take_id(found, token, stand_in);
    if (add_phrase(found, id, 1, span, err) != 0)
        return -1;
    if (stand_in) {
        int *stand_ins = found->phrases[found->count - 1].stand_ins;
        stand_ins[0] = stand_in->target;
        stand_ins[1] = stand_in->target_unmarked;
    }
    return 0;
}

/* Reads how the vocabulary writes the text (NUL-terminated, in the arena). If its tokens are not
 * printed as the text, byte for byte, the whole text is one piece. raises: in capitals, as
 * rendering makes the tokens. */
static int read_writing(const struct tokenizer *target, const char *text, bool raises,
                        struct arena *arena, struct writing *writing, struct error *err) {
    size_t length = strlen(text), marked = strlen(tokenizer_mark(target));
    struct token_list list;
    if (tokenizer_encode(target, (struct bytes){text, length}, NULL, arena, &list, err) != 0)
        return -1;
    struct token *tokens = list.all;
    size_t count = list.count;
    int *ids = arena_alloc(arena, count, sizeof *ids);
    struct token *copy = arena_zalloc(arena, count, sizeof *copy);
    char *printed = NULL;
    if (arena_failed(arena))
        return error_memory(err);
    struct token *token = arena_zalloc(arena, 1, sizeof *token);
    char *piece = arena_alloc(arena, marked + length + 1, 1);
    if (arena_failed(arena))
        return error_memory(err);
    memcpy(piece, tokenizer_mark(target), marked);
    memcpy(piece + marked, text, length + 1);
    if (raises)
        capitals_raise(piece + marked, length);
    *token = (struct token){.id = tokenizer_unknown(target), .piece = piece, .end = length};
    *writing = (struct writing){.piece = token};

    bool writes = count > 0;
    for (size_t i = 0; i < count; i++) {
        ids[i] = copy[i].id = tokens[i].id;
        writes = writes && tokens[i].id != tokenizer_unknown(target);
    }
    if (writes && tokenizer_decode(target, copy, count, arena, &printed, NULL) == 0 &&
        strcmp(printed, text) == 0) {
        writing->tokens = ids;
        writing->length = count;
    }
    return 0;
}

/* Returns the phrase of an entry, which is the same wherever the entry is found. Blank phrases of
 * the target are left out; if it has several phrases, so is the white space around each. Returns
 * NULL and sets err on failure. */
static const struct glossary_phrase *read_phrase(const struct tokenizer *target,
                                                 struct glossary *glossary,
                                                 const struct glossary_entry *entry,
                                                 enum writing_case letters, struct error *err) {
    struct glossary_phrase **bucket =
        &glossary->buckets[(size_t)(entry - glossary->lexicon->entries) % GLOSSARY_BUCKETS];
    for (struct glossary_phrase *phrase = *bucket; phrase; phrase = phrase->next)
        if (phrase->entry == entry && phrase->letters == letters)
            return phrase;
    struct arena *arena = glossary->arena;
    struct glossary_phrase *phrase = arena_zalloc(arena, 1, sizeof *phrase);
    struct writing *writings = arena_zalloc(arena, GLOSSARY_VARIANTS, sizeof *writings);
    const char *text = entry->target, *end = text + strlen(text);
    bool several = strchr(text, '|') != NULL;
    size_t count = 0;
    while (!arena_failed(arena) && text <= end && count < GLOSSARY_VARIANTS) {
        size_t length = strcspn(text, "|");
        struct span visible = several ? segmenter_trim(text, length) : (struct span){0, length};
        char *copy = arena_copy(arena, text + visible.begin, visible.end - visible.begin);
        if (copy && letters == RAISED)
            capitals_raise(copy, strlen(copy));
        if (copy && *copy &&
            read_writing(target, copy, letters == RAISED_LATER, arena, &writings[count++], err) !=
                0)
            return NULL;
        text += length + 1;
    }
    if (arena_failed(arena)) {
        error_memory(err);
        return NULL;
    }
    *phrase = (struct glossary_phrase){entry, letters, writings, count, *bucket};
    *bucket = phrase;
    return phrase;
}

/* Returns the tokens of text[span] if no token crosses its ends; otherwise an empty range. */
static struct span tokens_of(const struct sentence *sentence, struct span span) {
    struct span found = {0, 0};
    for (size_t j = 0; j < sentence->length; j++) {
        const struct token *token = &sentence->tokens[j];
        if (token->end <= span.begin || token->begin >= span.end)
            continue;
        if (token->begin < span.begin || token->end > span.end)
            return (struct span){0, 0};
        found.begin = found.end == 0 ? j : found.begin;
        found.end = j + 1;
    }
    return found;
}

/* Returns whether a term is hidden from the model: the glossary asks for that, or the model has to
 * spell its words. It would hardly know them, and spell a part of them beside the phrase. */
static bool is_hidden(const struct sentence *sentence, const struct glossary *glossary,
                      struct span span) {
    enum { USUAL_PIECES = 2 };
    const struct translator *t = sentence->translator;
    const char *text = sentence->text + sentence->source.begin;
    struct span tokens = tokens_of(sentence, span);
    size_t words = 1;
    for (size_t at = span.begin; at < span.end;)
        words += character_is_space(character_next(text, span.end, &at));
    return t->holds && t->readable.unreadable && !t->output.copies &&
           sentence->given.attention_count == 0 && !sentence->reading.verbatim &&
           tokens.end > tokens.begin &&
           (glossary->hides || tokens.end - tokens.begin > USUAL_PIECES * words);
}

/* Makes the tokens of a term one token, a stand-in that the search copies, and adds the phrase in
 * its place. */
static int hide_term(struct found *found, const struct writing *writing, struct span span,
                     struct error *err) {
    struct sentence *sentence = found->sentence;
    const struct stand_in *stand_in = &sentence->translator->readable.stand_ins.word;
    struct span tokens = tokens_of(sentence, span);
    struct token *first = &sentence->tokens[tokens.begin];
    const char *mark = tokenizer_mark(sentence->translator->source);
    bool marked = strncmp(first->piece, mark, strlen(mark)) == 0;
    const char *piece =
        arena_copy(&sentence->arena, sentence->text + sentence->source.begin + span.begin,
                   span.end - span.begin);
    if (!piece)
        return error_memory(err);
    *first =
        (struct token){marked ? stand_in->marked : stand_in->unmarked, piece, span.begin, span.end};
    memmove(first + 1, &sentence->tokens[tokens.end],
            (sentence->length - tokens.end) * sizeof *first);
    sentence->length -= tokens.end - tokens.begin - 1;
    return add_own(found, writing->piece, stand_in, span, err);
}

/* Adds the phrases of an entry that was found at this place. */
static int add_entry(struct found *found, struct glossary *glossary,
                     const struct glossary_entry *entry, struct span span, struct error *err) {
    const struct sentence *sentence = found->sentence;
    const struct translator *translator = sentence->translator;
    const char *text = sentence->text + sentence->source.begin;
    size_t first = found->count, length = sentence->source.end - sentence->source.begin;
    bool raised = lexicon_raises(entry, text, length, span);
    if (tokenizer_unknown(translator->target) < 0 || !translator->output.writes)
        return error_set(err, ERROR_INPUT, "this model cannot write glossary phrases");
    const struct glossary_phrase *phrase = read_phrase(translator->target, glossary, entry,
                                                       !raised                     ? AS_IT_IS
                                                       : sentence->reading.lowered ? RAISED_LATER
                                                                                   : RAISED,
                                                       err);
    if (!phrase)
        return -1;
    if (phrase->count == 1 && is_hidden(sentence, glossary, span))
        return hide_term(found, phrase->writings, span, err);
    for (size_t i = 0; i < phrase->count; i++) {
        const struct writing *writing = &phrase->writings[i];
        if (writing->length == 0
                ? add_own(found, writing->piece, NULL, span, err) != 0
                : add_phrase(found, writing->tokens, writing->length, span, err) != 0)
            return -1;
    }
    for (size_t q = first; q < found->count; q++) {
        found->phrases[q].before = q - first;
        found->phrases[q].after = found->count - 1 - q;
    }
    return 0;
}

/* Finds the next entry in the sentence from *at on. An entry may contain runs that were found in
 * the text, as in C++, but no part of one, and no run that the client protects. */
static bool next_entry(const struct sentence *sentence, const struct glossary *glossary, size_t *at,
                       size_t next_run, struct span *span, const struct glossary_entry **entry) {
    const struct opaque_runs *held = &sentence->held;
    const char *text = sentence->text + sentence->source.begin;
    size_t length = sentence->source.end - sentence->source.begin;
    while (glossary->lexicon && lexicon_next(glossary->lexicon, text, length, at, span, entry)) {
        while (next_run < held->count && held->all[next_run].end <= span->begin)
            next_run++;
        size_t run = next_run;
        while (run < held->count && held->all[run].begin < span->end &&
               held->all[run].begin >= span->begin && held->all[run].end <= span->end &&
               held->all[run].kind != OPAQUE_PROTECT && !held->all[run].written)
            run++;
        if (run == held->count || held->all[run].begin >= span->end)
            return true;
        *at = held->all[run].end;
    }
    return false;
}

static int by_begin(const void *key, const void *run) {
    size_t begin = *(const size_t *)key, other = ((const struct opaque_run *)run)->begin;
    return (begin > other) - (begin < other);
}

/* Returns the run of the sentence that begins here, or NULL. */
static const struct opaque_run *run_at(const struct sentence *sentence, size_t begin) {
    const struct opaque_runs *held = &sentence->held;
    return held->count > 0 ? bsearch(&begin, held->all, held->count, sizeof *held->all, by_begin)
                           : NULL;
}

/* Returns the token of the run that begins here, or NULL if the model reads the run unchanged. */
static const struct token *token_at(const struct sentence *sentence, size_t begin) {
    for (size_t j = 0; j < sentence->length; j++)
        if (sentence->tokens[j].begin == begin && sentence->tokens[j].end > begin)
            return &sentence->tokens[j];
    return NULL;
}

/* Returns the stand-in of the i-th run, or NULL if the model reads the run as an unknown word. */
static const struct stand_in *stand_in_for(const struct sentence *sentence, size_t i) {
    const struct readable *readable = &sentence->translator->readable;
    return readable->unreadable
               ? tokenizer_stand_in(&readable->stand_ins, sentence->held.all[i].kind)
               : NULL;
}

/* ---- the sentence ---- */

/* Makes room for pieces after those that the model copies: a source token is a run or belongs to
 * one entry. */
static int make_copies(struct found *found, const struct glossary *glossary, struct error *err) {
    struct sentence *sentence = found->sentence;
    size_t copied = sentence->copies ? sentence->copies->count : 0;
    size_t own = sentence->length * (glossary->lexicon ? GLOSSARY_VARIANTS : 1) + 1;
    const struct token **all = arena_alloc(&sentence->arena, copied + own, sizeof *all);
    int *inputs = arena_alloc(&sentence->arena, copied + own, sizeof *inputs);
    struct copies *copies = arena_zalloc(&sentence->arena, 1, sizeof *copies);
    found->given = NULL;
    if (sentence->given.text || sentence->given.suffix) {
        const char *parts[] = {sentence->given.text ? sentence->given.text : "",
                               sentence->given.suffix ? sentence->given.suffix : ""};
        size_t first = strlen(parts[0]), last = strlen(parts[1]);
        found->given = arena_alloc(&sentence->arena, first + 1 + last + 1, 1);
        if (!found->given)
            return error_memory(err);
        memcpy(found->given, parts[0], first);
        found->given[first] = '\n'; /* nothing is found across it */
        memcpy(found->given + first + 1, parts[1], last + 1);
    }
    if (arena_failed(&sentence->arena))
        return error_memory(err);
    if (sentence->copies) {
        *copies = *sentence->copies;
        memcpy(all, copies->extra, copied * sizeof *all);
    }
    for (size_t i = 0; i < copied; i++)
        inputs[i] = tokenizer_unknown(sentence->translator->target);
    copies->target = sentence->translator->target;
    copies->extra = all;
    copies->inputs = inputs;
    found->own = all + copied;
    found->inputs = inputs + copied;
    found->first_own = tokenizer_size(copies->target) + copied;
    sentence->copies = copies;
    return 0;
}

/* Counts the letters and digits of text[begin, end). */
static size_t count_written(const char *text, size_t begin, size_t end) {
    size_t count = 0;
    while (begin < end) {
        int32_t c = character_next(text, end, &begin);
        count += !character_is_space(c) && !character_is_punctuation(c) && !character_is_other(c);
    }
    return count;
}

/* A model invents a translation if it can read fewer than one letter in this many. */
enum { FEW = 4 };

/* Returns whether there is nothing to translate besides the runs, or so little that the model would
 * guess. Sets untranslated. */
static bool is_bare(struct sentence *sentence) {
    const char *text = sentence->text + sentence->source.begin;
    size_t length = sentence->source.end - sentence->source.begin, after = 0, read = 0, unread = 0;
    for (size_t i = 0; i < sentence->held.count; after = sentence->held.all[i++].end) {
        const struct opaque_run *run = &sentence->held.all[i];
        read += count_written(text, after, run->begin);
        unread += run->kind == OPAQUE_WORD ? count_written(text, run->begin, run->end) : 0;
    }
    read += count_written(text, after, length);
    bool bare = after > 0 && read * FEW <= unread;
    sentence->untranslated = bare && unread > 0;
    return bare;
}

/* Makes the sentence's own text its translation; each run is one token of it. */
static int force_itself(struct found *found, struct error *err) {
    struct sentence *sentence = found->sentence;
    const struct tokenizer *target = sentence->translator->target;
    const struct tokenizer_reading how = {.held = sentence->held};
    const char *text = sentence->text + sentence->source.begin;
    size_t bytes = sentence->source.end - sentence->source.begin, next = 0;
    struct token_list list;
    if (tokenizer_encode(target, (struct bytes){text, bytes}, &how, &sentence->arena, &list, err) !=
        0)
        return -1;
    struct token *tokens = list.all;
    size_t count = list.count;
    int *ids = arena_alloc(&sentence->arena, count, sizeof *ids);
    const char *copy = arena_copy(&sentence->arena, text, bytes);
    if (arena_failed(&sentence->arena))
        return error_memory(err);
    for (size_t i = 0; i < count; i++) {
        ids[i] = copies_id(sentence->copies, &tokens[i]);
        if (next == sentence->held.count || tokens[i].begin != sentence->held.all[next].begin ||
            tokens[i].id != tokenizer_unknown(target))
            continue;
        const struct token *token = token_at(sentence, tokens[i].begin);
        size_t run = next++;
        if (!token)
            continue;
        ids[i] = take_id(found, token, stand_in_for(sentence, run));
    }
    sentence->given.text = copy;
    sentence->given.tokens = tokens;
    sentence->options.prefix = ids;
    sentence->options.prefix_length = count;
    sentence->options.strategy = &search_forced;
    sentence->options.n_best = 1;
    sentence->reading.lowered = false;
    return 0;
}

/* Lists the stand-ins of the phrases found, each once, so that the search does not choose them as
 * words. A stand-in that the text contains is not listed, because the translation may contain it,
 * too. Returns -1 if memory is out. */
static int ban_stand_ins(const struct found *found, struct phrases *phrases) {
    enum { MOST = 4 }; /* those of words and of signs */
    const struct sentence *sentence = found->sentence;
    const struct stand_ins *all = &sentence->translator->readable.stand_ins;
    if (!sentence->translator->readable.unreadable)
        return 0;
    for (size_t j = 0; j < sentence->length; j++) {
        int id = sentence->tokens[j].id;
        bool stands = id == all->word.marked || id == all->word.unmarked ||
                      id == all->sign.marked || id == all->sign.unmarked;
        if (stands && !run_at(sentence, sentence->tokens[j].begin))
            return 0;
    }
    int *banned = arena_alloc(&found->sentence->arena, MOST, sizeof *banned);
    if (!banned)
        return -1;
    for (size_t q = 0; q < found->count; q++) {
        const int *stand_ins = found->phrases[q].stand_ins;
        bool known = stand_ins[0] < 0 || (phrases->banned_count > 0 && banned[0] == stand_ins[0]);
        if (known || phrases->banned_count == MOST)
            continue;
        banned[phrases->banned_count++] = stand_ins[0];
        banned[phrases->banned_count++] = stand_ins[1];
    }
    phrases->banned = banned;
    return 0;
}

/* Returns whether a text follows another without a space: it begins with a mark that closes or
 * joins, or is of a script without spaces. */
static bool attaches(const char *text) {
    size_t at = 0;
    int32_t first = character_next(text, strlen(text), &at);
    static const wchar_t closing[] = L",.;:!?%)]}\u2019'\u201d\u2026\u00bb-\u2013";
    return character_is_among(first, closing) || character_is_wide(first);
}

/* Leaves out the phrases whose tokens the suffix has. */
static void drop_contained(struct found *found, const int *tokens, size_t length) {
    size_t count = 0;
    for (size_t q = 0; q < found->count;) {
        size_t ways = found->phrases[q].after + 1;
        bool there = false;
        for (size_t way = q; way < q + ways; way++) {
            const struct phrase *phrase = &found->phrases[way];
            for (size_t i = 0; !there && i + phrase->length <= length; i++)
                there = memcmp(tokens + i, phrase->tokens, phrase->length * sizeof *tokens) == 0;
        }
        for (size_t way = q; !there && way < q + ways; way++)
            found->phrases[count++] = found->phrases[way];
        q += ways;
    }
    found->count = count;
}

/* Adds the text with which the translation ends as the last phrase. If the vocabulary cannot write
 * it byte for byte where it stands, it is one token, printed as it is. */
static int add_suffix(struct found *found, struct error *err) {
    struct sentence *sentence = found->sentence;
    struct arena *arena = &sentence->arena;
    const struct tokenizer *target = sentence->translator->target;
    const char *suffix = sentence->given.suffix,
               *mark = attaches(suffix) ? "" : tokenizer_mark(target);
    const size_t before = *mark ? 0 : 1, length = strlen(suffix); /* it is read after a letter */
    size_t first = 0;
    struct token_list list;
    char *text = arena_alloc(arena, before + length + 1, 1), *printed = NULL;
    if (!text)
        return error_memory(err);
    memcpy(text, "a", before);
    memcpy(text + before, suffix, length + 1);
    if (tokenizer_encode(target, (struct bytes){text, before + length}, NULL, arena, &list, err) !=
        0)
        return -1;
    struct token *tokens = list.all, *copy;
    size_t count = list.count;
    int *ids = arena_alloc(arena, count + 1, sizeof *ids);
    copy = arena_zalloc(arena, count + 1, sizeof *copy);
    if (!ids || !copy)
        return error_memory(err);

    bool writes =
        !sentence->reading.lowered && count > 0; /* capitals would be printed in its place */
    for (size_t i = 0; i < count; i++) {
        ids[i] = copy[i].id = tokens[i].id;
        writes = writes && tokens[i].id != tokenizer_unknown(target);
        first += tokens[i].end <= before && before > 0;
    }
    writes = writes && first < count && (before == 0 || tokens[first].begin == before) &&
             tokenizer_decode(target, copy, count, arena, &printed, NULL) == 0 &&
             strcmp(printed, text) == 0;
    if (!writes) {
        struct token *token = arena_zalloc(arena, 1, sizeof *token);
        char *piece = arena_alloc(arena, strlen(mark) + length + 1, 1);
        if (!token || !piece)
            return error_memory(err);
        memcpy(piece, mark, strlen(mark));
        memcpy(piece + strlen(mark), suffix, length + 1);
        *token = (struct token){.id = tokenizer_unknown(target), .piece = piece, .end = length};
        first = 0;
        count = 1;
        ids[0] = take_id(found, token, NULL);
    }
    drop_contained(found, ids + first, count - first);
    if (add_phrase(found, ids + first, count - first, (struct span){0, 0}, err) != 0)
        return -1;
    found->phrases[found->count - 1].last = true;
    return 0;
}

int glossary_constrain(struct sentence *sentence, struct glossary *glossary, struct error *err) {
    const struct translator *t = sentence->translator;
    struct copies *copies = sentence->copies;
    struct found found = {.sentence = sentence};
    struct arena_mark mark = arena_mark(&sentence->arena);
    if (!search_constrains(&sentence->options))
        return 0;
    if (make_copies(&found, glossary, err) != 0)
        return -1;
    struct span span = {0, 0};
    const struct glossary_entry *entry = NULL;
    size_t at = 0;
    bool any = next_entry(sentence, glossary, &at, 0, &span, &entry);
    if (!any && t->holds && !found.given && sentence->length <= TRANSLATOR_MAX_TARGET &&
        is_bare(sentence))
        return force_itself(&found, err);

    for (size_t i = 0; i < sentence->held.count || any;) {
        const struct opaque_run *run = i < sentence->held.count ? &sentence->held.all[i] : NULL;
        if (any && (!run || span.begin <= run->begin)) {
            if (add_entry(&found, glossary, entry, span, err) != 0)
                return -1;
            for (; i < sentence->held.count && sentence->held.all[i].begin < span.end; i++) {
                const struct token *token =
                    t->holds ? token_at(sentence, sentence->held.all[i].begin) : NULL;
                sentence->reading.unknown -= token && token->id == tokenizer_unknown(t->source);
            }
            any = next_entry(sentence, glossary, &at, i, &span, &entry);
            continue;
        }
        const struct token *token = t->holds ? token_at(sentence, run->begin) : NULL;
        if (token && add_own(&found, token, stand_in_for(sentence, i),
                             (struct span){run->begin, run->end}, err) != 0)
            return -1;
        sentence->reading.unknown -= token && token->id == tokenizer_unknown(t->source);
        i++;
    }
    if (sentence->given.suffix && add_suffix(&found, err) != 0)
        return -1;
    if (found.count == 0) { /* true of most sentences, of which many may wait */
        sentence->copies = copies;
        arena_release(&sentence->arena, mark);
        arena_trim(&sentence->arena);
        return 0;
    }
    struct phrases phrases = {.list = found.phrases,
                              .count = found.count,
                              .continues = t->continues,
                              .size = tokenizer_size(t->target)};
    if (ban_stand_ins(&found, &phrases) != 0)
        return error_memory(err);
    search_constrain(&sentence->options, phrases);
    if (!copies)
        return 0;
    /* a model that copies must not copy a held run by itself, which would appear twice */
    int *words = arena_alloc(&sentence->arena, sentence->length, sizeof *words);
    if (!words)
        return error_memory(err);
    for (size_t j = 0; j < sentence->length; j++)
        words[j] = glossary_holds(sentence, j) ? tokenizer_unknown(t->target) : copies->words[j];
    sentence->copies->words = words;
    return 0;
}

/* Marks the tokens of the hypothesis that are phrases or copies. Returns NULL if memory is out. */
static bool *mark_phrases(const struct sentence *sentence, const struct hypothesis *h,
                          struct arena *scratch) {
    const struct phrases *phrases = &sentence->options.phrases;
    bool *marked = arena_zalloc(scratch, h->length, sizeof *marked);
    for (size_t i = 0; marked && i < h->length; i++) {
        marked[i] |= (size_t)h->tokens[i] >= phrases->size;
        for (size_t q = 0; q < phrases->count; q++) {
            const struct phrase *phrase = &phrases->list[q];
            if (i + phrase->length <= h->length &&
                memcmp(h->tokens + i, phrase->tokens, phrase->length * sizeof *h->tokens) == 0)
                memset(marked + i, true, phrase->length);
        }
    }
    return marked;
}

/* Returns whether most of the weight of an alignment's row lies on the terms of phrases. */
static bool is_of_terms(const struct sentence *sentence, const float *row) {
    const struct phrases *phrases = &sentence->options.phrases;
    for (size_t q = 0; q < phrases->count; q++) {
        size_t j = phrases->list[q].first, end = j + phrases->list[q].count;
        float weight = 0;
        for (; j < end && !run_at(sentence, sentence->tokens[j].begin); j++)
            weight += row[j];
        if (weight > 0.5f)
            return true;
    }
    return false;
}

bool glossary_leaves_rest(const struct sentence *sentence, const struct hypothesis *h,
                          struct arena *scratch) {
    enum { LETTERS = 3 }; /* letters of a word; articles with so many are aligned with others */
    const struct tokenizer *target = sentence->translator->target;
    const float *const *rows = h->alignment ? h->alignment : h->attention;
    bool *marked =
        sentence->options.phrases.count > 0 && rows ? mark_phrases(sentence, h, scratch) : NULL;
    const char *mark = tokenizer_mark(target);
    for (size_t i = 0, letters = 0; marked && i < h->length; i++) {
        if (marked[i] || !is_of_terms(sentence, rows[i])) {
            letters = 0;
            continue;
        }
        const char *piece = tokenizer_piece(target, h->tokens[i]);
        letters = strncmp(piece, mark, strlen(mark)) == 0 ? 0 : letters;
        for (size_t at = 0, length = strlen(piece); at < length;)
            letters += character_is_letter(character_next(piece, length, &at));
        if (letters >= LETTERS)
            return true;
    }
    return false;
}

bool glossary_holds(const struct sentence *sentence, size_t j) {
    const struct phrases *phrases = &sentence->options.phrases;
    for (size_t q = 0; q < phrases->count; q++)
        if (copies_token(sentence->copies, phrases->list[q].tokens[0]) == &sentence->tokens[j])
            return true;
    return false;
}

/* Returns the run that a source token stands for, or NULL if it is not a run or the token is a
 * glossary's. */
static const struct opaque_run *run_of(const struct sentence *sentence, const struct token *token) {
    uintptr_t place = (uintptr_t)token, first = (uintptr_t)sentence->tokens;
    bool own = place >= first && place < (uintptr_t)(sentence->tokens + sentence->length);
    return own ? run_at(sentence, token->begin) : NULL;
}

const struct opaque_run *glossary_run(const struct sentence *sentence, int token) {
    const struct token *copied = sentence->copies ? copies_token(sentence->copies, token) : NULL;
    return copied ? run_of(sentence, copied) : NULL;
}

bool glossary_run_is_signs(const struct sentence *sentence, const struct opaque_run *run) {
    const char *own = sentence->text + sentence->source.begin;
    bool signs = true;
    for (size_t at = run->begin; signs && at < run->end;) {
        int32_t c = character_next(own, run->end, &at);
        signs = !character_is_letter(c) && character_digit(c) < 0;
    }
    return signs;
}

bool glossary_touches_next(const struct sentence *sentence, int token) {
    const struct opaque_run *run = glossary_run(sentence, token);
    size_t at = run ? run->end : 0, length = sentence->source.end - sentence->source.begin;
    return run && run->kind == OPAQUE_SYMBOL && at < length &&
           !character_is_space(
               character_next(sentence->text + sentence->source.begin, length, &at));
}

size_t glossary_extra_spaces(const struct sentence *sentence, int token, bool after) {
    const struct opaque_run *run = glossary_run(sentence, token);
    const char *text = sentence->text + sentence->source.begin;
    size_t length = sentence->source.end - sentence->source.begin, spaces = 0;
    if (!run)
        return 0;
    for (size_t at = after ? run->end : run->begin; after ? at < length : at > 0; spaces++)
        if (text[after ? at++ : --at] != ' ')
            break;
    return spaces > 1 ? spaces - 1 : 0;
}

static int compare_spans(const void *left, const void *right) {
    const struct span *a = left, *b = right;
    return (a->begin > b->begin) - (a->begin < b->begin);
}

int glossary_runs_find(const struct sentence *sentence, const struct hypothesis *hypothesis,
                       const struct token *rendered, struct arena *arena, struct glossary_runs *out,
                       struct error *err) {
    struct glossary_runs found = {arena_alloc(arena, hypothesis->length, sizeof *found.source),
                                  arena_alloc(arena, hypothesis->length, sizeof *found.target), 0};
    if (arena_failed(arena))
        return error_memory(err);
    for (size_t i = 0; i < hypothesis->length; i++) {
        const struct opaque_run *run = glossary_run(sentence, hypothesis->tokens[i]);
        if (!run)
            continue;
        found.source[found.count] = (struct span){run->begin, run->end};
        found.target[found.count++] = (struct span){rendered[i].begin, rendered[i].end};
    }
    if (found.count > 0)
        qsort(found.source, found.count, sizeof *found.source, compare_spans);
    *out = found;
    return 0;
}

/* True for the same character, or two dashes, which languages write differently between numbers. */
static bool is_alike(int32_t a, int32_t b) {
    static const wchar_t dashes[] = L"-\u2010\u2011\u2012\u2013\u2014";
    return a == b || (character_is_among(a, dashes) && character_is_among(b, dashes));
}

const char *glossary_piece(const struct sentence *sentence, const struct token *token,
                           const char *previous, struct arena *arena) {
    const char *mark = tokenizer_mark(sentence->translator->target),
               *source = sentence->text + sentence->source.begin;
    size_t before = previous ? strlen(previous) : 0, begin = token->begin;
    bool marked = strncmp(token->piece, mark, strlen(mark)) == 0;
    const char *text = token->piece + (marked ? strlen(mark) : 0);
    const struct opaque_run *run = run_of(sentence, token);
    if (run && run->written)
        text = run->written;

    /* a space precedes the piece as in the source, or if another character precedes it in the
     * translation; a symbol touches whatever precedes it if it touched something */
    bool apart = before == 0;
    if (!apart && strcmp(previous, mark) != 0 && run && run->kind == OPAQUE_SYMBOL && begin > 0)
        apart = character_is_space(character_previous(source, &begin));
    else if (!apart && strcmp(previous, mark) != 0)
        apart =
            begin == 0 || marked ||
            !is_alike(character_previous(previous, &before), character_previous(source, &begin));
    if (!apart)
        mark = "";
    size_t length = strlen(mark);
    char *piece = arena_alloc(arena, length + strlen(text) + 1, 1);
    if (!piece)
        return NULL;
    memcpy(piece, mark, length);
    memcpy(piece + length, text, strlen(text) + 1);
    return piece;
}
