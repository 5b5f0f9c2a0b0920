/* This module hides how the words of a form of address become tokens that may not come. */
#include "model/formality.h"
#include "model/base/utf8.h"
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unicode/uloc.h>

enum { CODE_BYTES = 12, WORD_BYTES = 64, FORMS = FORMALITY_MORE + 1 };

/* Bits of what a token leaves, and of what refuses the next one. */
enum {
    AFTER_ANY = 1 << 0,
    AFTER_FIRST = 1 << 1,  /* anywhere but at the beginning */
    AFTER_HYPHEN = 1 << 2, /* "-" and "tu" */
    AFTER_ELIDED = 1 << 3, /* "t" and "'" */
    AFTER_CLEAR = 1 << 4,  /* where the source speaks of nobody else */
    AFTER_PART = 1 << 5    /* from here on: the rest of a word after its beginning */
};

/* ---- words ---- */

static const struct address {
    const char *language, *words[FORMS]; /* words: in the order of enum formality; FORMALITY_ANY:
                                            those of a language whose forms do not differ */
} addresses_of[] = {
#define ADDRESS(language, less, more) {language, {NULL, less, more}},
#define YOU(language, words)          {language, {words, NULL, NULL}},
#include "model/formality.def"
};

static const struct others {
    const char *language, *words;
} others_of[] = {
#define OTHERS(language, words) {language, words},
#include "model/formality.def"
};

/* Writes the language's code of two letters, if it has one. */
static void read_code(const char *language, char code[CODE_BYTES]) {
    UErrorCode status = U_ZERO_ERROR;
    char name[CODE_BYTES];
    language += strspn(language, ">_"); /* skips the beginning of a label such as >>fra<< */
    snprintf(name, sizeof name, "%.*s", (int)strcspn(language, "<"), language);
    uloc_getLanguage(name, code, CODE_BYTES, &status);
    if (U_FAILURE(status))
        *code = '\0';
}

/* Returns the language's row, or NULL. */
static const struct address *find_address(const char *language) {
    char code[CODE_BYTES];
    read_code(language, code);
    for (size_t i = 0; i < sizeof addresses_of / sizeof *addresses_of; i++)
        if (strcmp(addresses_of[i].language, code) == 0)
            return &addresses_of[i];
    return NULL;
}

/* Returns the language's words for others, or NULL. */
static const char *find_others(const char *language) {
    char code[CODE_BYTES];
    read_code(language, code);
    for (size_t i = 0; i < sizeof others_of / sizeof *others_of; i++)
        if (strcmp(others_of[i].language, code) == 0)
            return others_of[i].words;
    return NULL;
}

bool formality_is_known(const char *language) {
    const struct address *address = find_address(language);
    return address && address->words[FORMALITY_LESS];
}

/* A word of the table without its marks. */
struct word {
    char text[WORD_BYTES];
    size_t length;
    bool stem, elided, capital, clear;
};

/* Takes the next word of a list. Returns false at the end. */
static bool next_word(const char **list, struct word *word) {
    *word = (struct word){0};
    *list += strspn(*list, " ");
    const char *begin = *list;
    size_t length = strcspn(begin, " ");
    *list += length;
    if (length == 0)
        return false;
    word->capital = *begin == '=';
    word->clear = *begin == '~';
    word->stem = begin[length - 1] == '*';
    word->elided = begin[length - 1] == '\'';
    begin += word->capital || word->clear;
    length -= (word->capital || word->clear) + (size_t)word->stem + word->elided;
    word->length = utf8_clip(begin, length, WORD_BYTES - 1);
    memcpy(word->text, begin, word->length);
    return true;
}

/* Returns whether text is the word, or with `begins` whether it begins with it. Capitals do not
 * count unless the word has one. */
static bool is_word(const struct word *word, const char *text, size_t length, bool begins) {
    size_t at = 0, own = 0;
    while (at < length && own < word->length) {
        int32_t a = character_next(text, length, &at),
                b = character_next(word->text, word->length, &own);
        if (word->capital ? a != b : character_lower(a) != b)
            return false;
    }
    return own == word->length && (at == length || begins);
}

/* ---- names ---- */

static const char *const names[FORMS] = {
    [FORMALITY_ANY] = "default", [FORMALITY_LESS] = "less", [FORMALITY_MORE] = "more"};

bool formality_read(const char *name, struct formality_wish *wish) {
    static const char prefer[] = "prefer_";
    size_t length = sizeof prefer - 1;
    wish->prefers = strncasecmp(name, prefer, length) == 0;
    name += wish->prefers ? length : 0;
    for (size_t form = 0; form < FORMS; form++) {
        wish->form = (enum formality)form;
        if (strcasecmp(name, names[form]) == 0)
            return form != FORMALITY_ANY || !wish->prefers;
    }
    return false;
}

const char *formality_name(enum formality form) {
    return names[form];
}

/* ---- texts ---- */

/* The words of address in a text. */
struct found {
    bool any[FORMS];   /* words of the form, of which the language is sure */
    bool first[FORMS]; /* the text begins with one */
    bool others;       /* words for others than the two who speak */
};

/* Returns whether a list has the word text[at..end). elided: an apostrophe follows. */
static bool is_listed(const char *list, const char *text, size_t length, bool elided,
                      struct word *word) {
    while (list && next_word(&list, word))
        if (!word->clear && (!word->elided || elided) && is_word(word, text, length, word->stem))
            return true;
    return false;
}

static struct found find_words(const char *language, const char *text, size_t length) {
    const struct address *address = find_address(language);
    const char *others = find_others(language);
    struct found found = {0};
    bool first = true;
    for (size_t at = 0, next; (address || others) && at < length; at = next) {
        next = at;
        if (!character_is_letter(character_next(text, length, &next)))
            continue;
        size_t end = next;
        while (next < length && character_is_letter(character_next(text, length, &next)))
            end = next;
        next = end;
        bool elided = end < length && (text[end] == '\'' || strncmp(text + end, "’", 3) == 0);
        struct word word;
        for (size_t form = 0; address && form < FORMS; form++) {
            if (is_listed(address->words[form], text + at, end - at, elided, &word)) {
                found.first[form] |= first;
                found.any[form] |= !(word.capital && first);
            }
        }
        found.others |= is_listed(others, text + at, end - at, elided, &word);
        first = false;
    }
    return found;
}

/* Returns whether a text addresses somebody, or begins with a word that does. */
static bool addresses(const struct found *found, bool first) {
    bool is = false;
    for (size_t form = 0; form < FORMS; form++)
        is |= first ? found->first[form] : found->any[form] || found->first[form];
    return is;
}

bool formality_holds(const struct formality_wish *wish, const char *source, size_t source_length,
                     const char *target, size_t target_length) {
    struct found asked = find_words(wish->source, source, source_length),
                 given = find_words(wish->target, target, target_length);
    enum formality other = wish->form == FORMALITY_LESS ? FORMALITY_MORE : FORMALITY_LESS;
    if (given.any[other] || (addresses(&asked, true) && given.first[other]))
        return false;
    return !addresses(&asked, false) || given.any[wish->form] || given.first[wish->form];
}

/* ---- tokens ---- */

/* The refusals of one form in one language. */
struct refusal_table {
    const struct address *address;
    enum formality form; /* the one that is refused */
    uint32_t *refused, *leaves;
    struct refusal_table *next;
};

struct formality_tables {
    const struct tokenizer *target;
    _Atomic(struct refusal_table *) first; /* tables are only added, and do not change */
};

static void table_free(struct refusal_table *table) {
    free(table->refused);
    free(table->leaves);
    free(table);
}

struct formality_tables *formality_open(const struct tokenizer *target, struct error *err) {
    struct formality_tables *tables = calloc(1, sizeof *tables);
    if (!tables) {
        error_memory(err);
        return NULL;
    }
    tables->target = target;
    atomic_init(&tables->first, NULL);
    return tables;
}

void formality_free(struct formality_tables *tables) {
    if (!tables)
        return;
    for (struct refusal_table *table = atomic_load(&tables->first), *next; table; table = next) {
        next = table->next;
        table_free(table);
    }
    free(tables);
}

/* A piece of the vocabulary as a word sees it. */
struct piece {
    const char *text;
    size_t length;
    bool apart; /* it begins a word */
};

/* Refuses a piece that is a word, or the rest of it after a hyphen, and notes the beginnings and
 * the ends of words in two pieces. part: the word's bit, 0: none is left. */
static void refuse_word(struct refusal_table *table, size_t id, const struct piece *piece,
                        const struct word *word, uint32_t part) {
    size_t hyphen = piece->length > 0 && *piece->text == '-';
    if ((piece->apart && is_word(word, piece->text, piece->length, word->stem)) ||
        (hyphen && is_word(word, piece->text + 1, piece->length - 1, word->stem))) {
        if (word->elided)
            table->leaves[id] |= AFTER_ELIDED;
        else
            table->refused[id] |= word->capital ? AFTER_FIRST
                                  : word->clear ? AFTER_CLEAR
                                                : AFTER_ANY;
    } else if (word->elided && piece->apart && piece->length > 1 &&
               piece->text[piece->length - 1] == '\'' &&
               is_word(word, piece->text, piece->length - 1, false)) {
        table->refused[id] |= AFTER_ANY;
    } else if (!piece->apart && !word->elided && !word->capital && !word->clear &&
               is_word(word, piece->text, piece->length, false)) {
        table->refused[id] |= AFTER_HYPHEN;
    }
    for (size_t cut = 1; part && !word->elided && !word->clear && cut < word->length; cut++) {
        struct word begin = *word, end = *word;
        if (((unsigned char)word->text[cut] & 0xc0) == 0x80)
            continue;
        begin.length = cut;
        end.length -= cut;
        memmove(end.text, end.text + cut, end.length);
        if (piece->apart && is_word(&begin, piece->text, piece->length, false))
            table->leaves[id] |= part;
        if (!piece->apart && is_word(&end, piece->text, piece->length, word->stem))
            table->refused[id] |= part;
    }
}

static void refuse_words(struct refusal_table *table, const struct tokenizer *target) {
    const char *mark = tokenizer_mark(target);
    size_t size = tokenizer_size(target), marked = strlen(mark);
    for (size_t id = 0; id < size; id++) {
        const char *text = tokenizer_piece(target, (int)id),
                   *list = table->address->words[table->form];
        struct piece piece = {.text = text, .apart = strncmp(text, mark, marked) == 0};
        uint32_t part = AFTER_PART;
        table->leaves[id] |= AFTER_ANY | AFTER_FIRST | AFTER_CLEAR;
        if (!tokenizer_is_text(target, (int)id) || tokenizer_byte(target, (int)id) >= 0)
            continue;
        piece.text += piece.apart ? marked : 0;
        piece.length = strlen(piece.text);
        if (piece.length > 0 && piece.text[piece.length - 1] == '-')
            table->leaves[id] |= AFTER_HYPHEN;
        if (*piece.text == '\'' || strncmp(piece.text, "’", 3) == 0)
            table->refused[id] |= AFTER_ELIDED;
        for (struct word word; next_word(&list, &word); part <<= 1)
            refuse_word(table, id, &piece, &word, part);
    }
}

/* Returns the table, which is made if there is none yet; NULL: memory ran out. Two threads may make
 * the same, and either is used. */
static const struct refusal_table *find_table(struct formality_tables *tables,
                                              const struct address *address, enum formality form) {
    size_t size = tokenizer_size(tables->target);
    struct refusal_table *first = atomic_load(&tables->first), *table = first;
    while (table && (table->address != address || table->form != form))
        table = table->next;
    if (table)
        return table;
    table = calloc(1, sizeof *table);
    if (!table)
        return NULL;
    *table = (struct refusal_table){.address = address,
                                    .form = form,
                                    .refused = calloc(size, sizeof *table->refused),
                                    .leaves = calloc(size, sizeof *table->leaves)};
    if (!table->refused || !table->leaves) {
        table_free(table);
        return NULL;
    }
    refuse_words(table, tables->target);
    do
        table->next = first;
    while (!atomic_compare_exchange_weak(&tables->first, &first, table));
    return table;
}

int formality_refuse(struct formality_tables *tables, const struct formality_wish *wish,
                     const char *text, size_t length, struct search_refusals *refusals,
                     struct error *err) {
    const struct address *address = wish->form ? find_address(wish->target) : NULL;
    *refusals = (struct search_refusals){0};
    if (!address || !address->words[FORMALITY_LESS])
        return 0;
    enum formality other = wish->form == FORMALITY_LESS ? FORMALITY_MORE : FORMALITY_LESS;
    const struct refusal_table *table = find_table(tables, address, other);
    if (!table)
        return error_memory(err);
    struct found asked = find_words(wish->source, text, length);
    *refusals = (struct search_refusals){
        .refused = table->refused,
        .leaves = table->leaves,
        .size = tokenizer_size(tables->target),
        .first = AFTER_ANY | AFTER_CLEAR | (addresses(&asked, true) ? AFTER_FIRST : 0),
        .mask = asked.others ? ~(uint32_t)AFTER_CLEAR : UINT32_MAX};
    return 0;
}
