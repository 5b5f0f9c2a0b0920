/* This header is for the files that read notations (notation.c, expression.c, placeholders.c,
 * codes.c, programs.c): the place where a run may begin, what its row in a table says, and the
 * expressions of rows. */
#ifndef ALIGND_NOTATION_H
#define ALIGND_NOTATION_H

#include "model/base/utf8.h"
#include "model/text/spans.h"
#include <string.h>

/* Longer codes and schemes do not occur in practice. Addresses and emoji have no limit. No model
 * reads a word of MAX_WORD bytes in one sentence. */
enum {
    MAX_WORD = 1000,
    MAX_CODE = 256,
    MAX_SCHEME = 30,
    MAX_NAME = 64,
    MAX_LETTERS = 45,
    MAX_REPEATED = 8,
    MAX_LINE = 1000
};

#define CAPITALS "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

/* A text, and where a run may begin in it. */
struct scan {
    const char *text;
    size_t length, begin;
    size_t room; /* a part that is repeated begins within so many bytes; 0: MAX_CODE, or MAX_LINE
                    for the bytes of a line */
    char former; /* the byte before, or a space at the beginning of the text */
    bool word, chunk; /* the character before is not part of a word; it is white space or opens
                         something */
    bool line;        /* only white space precedes it in its line */
    bool touching;    /* letters precede that would be part of it: only TOUCHING notations count */
    bool after;       /* a run ends there, and with it a word, for a sign that follows: $a$b */
};

/* A notation may begin anywhere, only where scan.word or scan.chunk is true, or only where a line
 * begins (scan.line). TOUCHING: anywhere, and letters that touch it and are no word belong to it:
 * {n}px, v%s. */
enum place { ANYWHERE, WORD, CHUNK, LINE, TOUCHING };

/* To add a notation, write a row, and a line in spans.h. If several notations find a run at the
 * same place, the first row counts, and those of placeholders before those of codes. A row with an
 * expression needs no function. */
struct notation {
    const char *name;
    unsigned sets;
    enum opaque_kind kind;
    enum place place;
    const char *first; /* the characters with which it begins; NULL: any */
    size_t (*end)(
        const struct scan *scan); /* returns the run's end, or scan->begin if no run begins there */
    const char *expression;       /* expression_end */
};

enum { NOTATION_PLACEHOLDER_ROWS = 31, NOTATION_CODE_ROWS = 50 };
extern const struct notation notation_placeholders[NOTATION_PLACEHOLDER_ROWS],
    notation_codes[NOTATION_CODE_ROWS];

/* ---- expressions (expression.c) ----
 * An expression is a parsing expression (Ford 2004): parts are matched from left to right, and what
 * a part has matched is not given back, so that time is linear and no memory is needed.
 *
 *   x           this byte; [abx-z] [^...] one of these bytes, any other byte
 *   .           any byte of the line
 *   \d \l \u    a digit, an ASCII letter, a capital
 *   \c \w       [A-Za-z0-9_]; \c, and any letter beyond ASCII
 *   \s          a space of any width
 *   \m \r       a sign of mathematics except + = < >; a raised or lowered digit
 *   \k          brackets that nest, in one line
 *   \< a bc >   the longest of these words that stands here
 *   (a|b)       the first that matches; alternatives stand in brackets
 *   x* x+ x? x{2} x{2,5}    as often as possible, within scan->room
 *   &x !x       x follows, or does not
 *   ~           the end, before marks that end a sentence
 *   \b \z       no word goes on here; the text ends here
 *   \j          letters go on here that are no word (scan_affix)
 *   \a          before the run there is no number
 *   \p[]        the byte before the run, or a space at the beginning, is in this set */

/* Returns the end of the expression's match that begins at scan->begin, or scan->begin. */
size_t expression_end(const struct scan *scan, const char *expression);

/* Returns the place after the bracket that closes the one at text[open], in the same line and
 * nearby, or `open`. */
size_t scan_nested(const struct scan *scan, size_t open);
/* Ends a run before characters that more likely belong to the sentence; a closing bracket stays if
 * the run has its opening one. */
size_t scan_trim(const struct scan *scan, size_t first, size_t end);
/* True if a digit stands before the run, perhaps with spaces between: "50 %de". */
bool scan_follows_digit(const struct scan *scan);
/* Returns the end of a name of letters, digits and underscores, in any alphabet, or `at`. */
size_t scan_name(const struct scan *scan, size_t at);
/* Returns the end of the letters and digits there, up to the next sign, if they are a unit or an
 * ending and no word: px, kg, s, MB, th, x1080; or `at`. */
size_t scan_affix(const struct scan *scan, size_t at);
/* words: with a space before and after each. */
bool scan_is_among(const char *text, size_t length, const char *words);
/* True if the name ends with the suffix of a file or a host: README.md, example.org. */
bool scan_names_file(const char *text, size_t length);

/* The beginning of a statement of SQL, and its first words. */
#define STATEMENTS   " SELECT INSERT DELETE UPDATE CREATE ALTER DROP "
#define UP_TO(words) "(!(" words ").)*" words
#define SQL                                                                                        \
    "(SELECT " UP_TO(" FROM ") "|(INSERT|DELETE) " UP_TO("(INTO |FROM )") "|UPDATE " UP_TO(        \
        " SET ") "|(CREATE|ALTER|DROP) " UP_TO("TABLE ") ")"

static inline char scan_peek(const struct scan *scan, size_t at) {
    return at < scan->length ? scan->text[at] : '\0';
}

static inline bool is_code_word(char c) {
    return ascii_letter(c) || ascii_digit(c) || c == '_';
}

static inline size_t scan_skip(const struct scan *scan, size_t at, const char *set) {
    while (ascii_among(scan_peek(scan, at), set))
        at++;
    return at;
}

static inline size_t scan_digits(const struct scan *scan, size_t at) {
    return scan_skip(scan, at, "0123456789");
}

/* True if the text has this string at this place. */
static inline bool scan_has(const struct scan *scan, size_t at, const char *string) {
    size_t length = strlen(string);
    return at < scan->length && scan->length - at >= length &&
           memcmp(scan->text + at, string, length) == 0;
}

static inline int32_t scan_character(const struct scan *scan, size_t at, size_t *next) {
    *next = at;
    return at < scan->length ? character_next(scan->text, scan->length, next) : -1;
}

/* True if no letter or digit follows; one beyond ASCII may be a typographic quotation mark. */
static inline bool scan_ends_word(const struct scan *scan, size_t at) {
    if (!ascii_word(scan_peek(scan, at)))
        return true;
    int32_t c = scan_character(scan, at, &at);
    return character_is_mark(c) || character_is_space(c);
}

#endif
