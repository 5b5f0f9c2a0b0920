/* This module finds the parts of a text: sentences, words, and runs that are not language and that
 * a translation copies byte for byte. Runs are found by their characters or by the expressions of a
 * client. */
#ifndef ALIGND_SPANS_H
#define ALIGND_SPANS_H

#include "model/base/arena.h"
#include "model/base/error.h"
#include "model/base/utf8.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct span {
    size_t begin, end; /* bytes, end exclusive */
};

/* Parts of a text, in order. */
struct spans {
    struct span *all; /* [count] */
    size_t count;
};

/* Returns the text as one span without the white space around it (Unicode's White_Space); for blank
 * text begin == end == length. */
struct span segmenter_trim(const char *text, size_t length);

/* ---- sentences, by ICU's sentence break rules with CLDR's list of abbreviations for the language,
 * and words (segmenter.c) ---- */

struct segmenter;

/* language: BCP-47; a language without its own rules gets the general ones. A segmenter is
 * immutable after opening and therefore thread-safe. Returns NULL with ERROR_FORMAT (not BCP-47),
 * ERROR_FILE (ICU's data) or ERROR_MEMORY. */
struct segmenter *segmenter_open(const char *language, struct error *err);
void segmenter_free(struct segmenter *segmenter);

/* text: valid UTF-8. Gives spans in the arena, without the white space around them and
 * without blank ones. The end of a line ends a sentence. The full stop of an abbreviation does so
 * only before a likely beginning of a sentence, and that of an ordinal number, in languages that
 * write them so, only if no letter or digit follows. Returns -1 with ERROR_LENGTH (over INT_MAX
 * bytes) or ERROR_MEMORY. */
int segmenter_split(const struct segmenter *segmenter, struct bytes text, struct arena *arena,
                    struct spans *out, struct error *err);

/* Gives words by ICU's word break rules (UAX 29), punctuation marks among them. An elided article,
 * pronoun or conjunction with its apostrophe is a separate word (J' aime). White space is omitted.
 * Otherwise it works as segmenter_split does. */
int segmenter_words(const struct segmenter *segmenter, struct bytes text, struct arena *arena,
                    struct spans *out, struct error *err);

/* True if text[0,end) ends with an abbreviation of the language. */
bool segmenter_abbreviates(const struct segmenter *segmenter, const char *text, size_t end);
/* segmenter_opens returns true for a word with which sentences often begin and which has no capital
 * letter inside a sentence; segmenter_never_opens returns true for any other, if the words of the
 * language are known. */
bool segmenter_opens(const struct segmenter *segmenter, const char *word, size_t length);
bool segmenter_never_opens(const struct segmenter *segmenter, const char *word, size_t length);
/* True if the language writes ordinal numbers with a full stop. */
bool segmenter_has_ordinals(const struct segmenter *segmenter);

/* ---- notations (notation.c) ----
 * Parts of a text that are not language are written in some notation. Tables have a row for each:
 * where it may begin, how it ends, what its run is, and the sets to which it belongs. A format, or
 * a flag of a message, selects sets. */

/* The sets of notations, as bits. NOTATION_NONE: no notation, so that only the parts are held that
 * the client protects. */
enum notation_set {
    NOTATION_NONE = 0,
    NOTATION_PLACEHOLDERS = 1 << 0, /* placeholders of programs, URLs, e-mail addresses */
    NOTATION_CODES = 1 << 1,        /* everything else that is opaque in a plain text */
    NOTATION_ALL = NOTATION_PLACEHOLDERS | NOTATION_CODES,
    NOTATION_LAYOUT = 1 << 2, /* separators of texts, outside of all sentences */
    /* directives and arguments in a text that is known to have them */
    NOTATION_PERCENT = 1 << 3, /* %s %-5.2f %(name)s %1$s %<PRIu64> */
    NOTATION_QT = 1 << 4,      /* %1 %L1 %n %1% */
    NOTATION_BRACES = 1 << 5,  /* {name} {0:>8} {} {{ */
    NOTATION_DOLLAR = 1 << 6,  /* $name ${name} */
    NOTATION_BLOCKS = 1 << 7,  /* everything in braces that nest, even words */
    /* what Markdown and the tools that read it have: formulas, attributes, tags of site generators,
       links of wikis; runs may be of any length and go over line ends */
    NOTATION_MARKDOWN = 1 << 8,
    NOTATION_REFERENCES = 1 << 9, /* @:key $NAME$ :name $t(key), in strings of programs */
    NOTATION_DIGIT = 1 << 10      /* $1, in strings of programs: an argument, not a price */
};

/* ---- opaque runs ----
 * These are addresses, codes, emoji, and words in letters that a model cannot read. Each becomes
 * one token, which hides it from the model (model/text/tokenizer.h), and one piece of the
 * translation. opaque_next recognizes runs by their characters alone; readable_hold finds those
 * that a particular model cannot read. */

enum opaque_kind {
    OPAQUE_EMOJI,
    OPAQUE_SYMBOL,
    OPAQUE_WORD,   /* letters outside the vocabulary */
    OPAQUE_CODE,   /* strings of programs and documents, and placeholders of programs */
    OPAQUE_NUMBER, /* an amount, with its sign */
    OPAQUE_MARKUP,
    OPAQUE_URL,
    OPAQUE_EMAIL,
    OPAQUE_PROTECT, /* the client named it */
    OPAQUE_KINDS
};

struct opaque_run {
    size_t begin, end; /* bytes, end exclusive */
    enum opaque_kind kind;
    const char *written; /* the text that replaces it in the translation; NULL: the run's bytes */
};

/* Runs in order, without overlaps. */
struct opaque_runs {
    struct opaque_run *all; /* [count] */
    size_t count;
};

/* Returns the kind's name in replies: "emoji". */
const char *opaque_name(enum opaque_kind kind);

/* Finds the next run of these sets (bits of notation_set) at or after text[*at] and moves *at to
 * its end. Returns false and sets *at to length if there are no more. text: valid UTF-8. Time is
 * proportional to the bytes passed.
 *
 * With NOTATION_PLACEHOLDERS:
 *
 * - more than 1,000 bytes without white space, in a script that writes spaces, as one run
 * - {name} {0} {a.b:>8} { name } { $x } { -term } { FN($x) } {{ x }} {{{x}}} {% x %} {# x #} ${x}
 * %{x} #{x} @{x} {d, date, long} {x | f} {x ? a : b}: expressions and arguments in braces, which
 * nest, in one line; no words
 * - $t(key) <% x %> <?x?> [% x %] *|x|* [[x]] %x% __x__ ##x## @@x@@
 * - %s %d %-5.2f %1$s %lld %@ %% %(total)s %<x>d, not before a word, nor after a digit
 * - with these and those in braces: letters that touch them and are no word, {n}px %dkg v{version},
 * and what follows a colon alone: {host}:{port}
 * - [X12X]: capitals, digits, and perhaps capitals
 * - https://example.com/a?b=c www.example.com, up to white space, without marks that end the
 * sentence; jane.doe@example.com
 *
 * With NOTATION_CODES also:
 *
 * - $name $HOME $a->b $a[0]; !name %name :name :n apart from words; %1; <@12> <#f00> <<x>> <br>
 * </b>; [b] [/b] [url=x]
 * - \( x \) \[ x \] $$ x $$ $x^2$ \begin{equation} x \end{equation} \frac{1}{x}
 * - \n \t \u00e9 \" and other escapes; braces, backslashes and marks such as ** that belong to
 * nothing else
 * - emoji with all their parts, symbols that stand for themselves (category So, and numbers that
 * are not digits, such as ½), Acme™, selectors and joiners by themselves
 * - :-) <3 :tada: #hashtag @name [1] C++ C#
 * - three or more of _ - = * ~ # and four or more dots
 * - digits in groups (telephone numbers, cards, ISBN, dates, versions, addresses of computers),
 * five or more digits, IBAN
 * - 14. Qxf7+ 5'11" 48°51'24"N 2024-05-01T10:00:00Z 0645Z 00:1b:44:11:3a:b7 2001:db8::1
 * doi:10.1000/182 12°C, -3.5 °F, 5 km/h, 4 g/24 h
 * - letters and digits mixed (A4, 4K, COVID-19, 3f2a9c, H₂O), words longer than any, letters that
 * repeat
 * - FOO_BAR=1 key=value R&D Ctrl+C x^2 --flag name() camelCase
 * - x > 5, a² + b² = c², x ∈ {1, 2}, A→B; && != {"a": 1}; SELECT a FROM b;
 * - /usr/bin ~/x ./x C:\x \\host\x, names of files and of hosts
 *
 * With NOTATION_LAYOUT: escapes of line ends and tabs that touch a word; commands after a prompt;
 * lines of code with what is indented below them. */
bool opaque_next(unsigned sets, const char *text, size_t length, size_t *at,
                 struct opaque_run *found);
/* Does the same for a long text, and counts steps of the budget. Finds no more runs once the budget
 * is used up. */
bool opaque_next_paced(struct budget *budget, unsigned sets, const char *text, size_t length,
                       size_t *at, struct opaque_run *found);
/* Finds the run of these sets that begins at text[at]; returns false if there is none. */
bool opaque_begins(unsigned sets, const char *text, size_t length, size_t at,
                   struct opaque_run *found);
/* Returns the end of that run, or at. */
size_t opaque_at(unsigned sets, const char *text, size_t length, size_t at);
/* Returns the bytes at the text's beginning that an expression (model/text/notation.h) matches. */
size_t opaque_match(const char *expression, const char *text, size_t length);

/* Gives the runs that lie within text[begin, end), as offsets into that part, in the arena. Returns
 * -1 with ERROR_MEMORY. */
int opaque_within(const struct opaque_runs *held, size_t begin, size_t end, struct arena *arena,
                  struct opaque_runs *out, struct error *err);

/* Adds runs [count], in order, to those that are held, in the arena. Runs that overlap become one,
 * and so do words with only spaces between them, and a new run with one before it that it touches
 * and that has no written form. Returns -1 with ERROR_MEMORY. */
int opaque_merge(struct opaque_runs *held, const char *text, const struct opaque_run *more,
                 size_t count, struct arena *arena, struct error *err);

/* ---- strings of programs (programs.c) ---- */

/* What the notation of a word or of a string says about it. */
enum wording {
    WORDING_PROGRAM,  /* it is for programs: a path, a date, code, CSS */
    WORDING_DOUBTFUL, /* is probably a name for programs: camelCase, en-GB; a command, classes */
    WORDING_WORD,     /* a word in small letters */
    WORDING_CAPITALS, /* a word in capitals */
    WORDING_NAME,     /* a word with a capital, or of another alphabet */
    WORDING_OPEN      /* the string is in no notation: its words decide */
};

/* What is judged: a word without the punctuation around it; a string whose marks and placeholders
 * are replaced; a string as it is. */
enum wording_part { WORDING_PART_WORD, WORDING_PART_STRING, WORDING_PART_SOURCE };

/* Judges text[length], which is valid UTF-8 and has a letter. Time is linear. */
enum wording programs_wording(enum wording_part part, const char *text, size_t length);

/* ---- layout (layout.c) ----
 * A translation copies what stands between the texts of a line and at its ends. */

struct layout_reading {
    const struct segmenter *segmenter; /* NULL: the language is unknown, and a full stop after a
                                          number or letter makes no label */
    const char *text;                  /* [length] valid UTF-8 */
    size_t length;
    struct opaque_runs held; /* are not cut */
};

/* Gives the gaps between the texts of each line, in order and without overlaps: tabs and several
 * spaces, bars, bullets between items, semicolons of lists without spaces, leaders (.....) and the
 * blanks of forms with the white space around them; the labels that begin the line or follow one of
 * these; signs that end it; and what has neither letters nor digits. Line ends are not among them.
 * Time is linear. Returns -1 with ERROR_MEMORY. */
int layout_find(const struct layout_reading *reading, struct arena *arena, struct spans *gaps,
                struct error *err);

/* Returns the end of the labels with which text[begin,end), a line without white space at its ends,
 * begins, with the white space after them; or begin. They are dashes, bullets and other signs apart
 * from words, [x], a) (ii) 1. I. A.1 1.1 and Q: */
size_t layout_label(const struct layout_reading *reading, size_t begin, size_t end);

/* ---- regular expressions of clients (pattern.cc) ----
 * RE2 searches for them. It has neither backreferences nor lookaround, so its time is linear in the
 * text for every expression. */

enum {
    PATTERN_MATCH_BYTES = 1000,       /* bytes of a match; longer matches are ignored */
    PATTERN_MEMORY_BYTES = 256 * 1024 /* bytes of a compiled expression with its caches */
};

struct pattern;

/* expression: valid UTF-8, NUL-terminated, in RE2's syntax. Returns NULL with ERROR_INPUT if the
 * expression is wrong, too large or matches an empty text (the message says which), or with
 * ERROR_MEMORY. */
struct pattern *pattern_open(const char *expression, struct error *err);
void pattern_free(struct pattern *pattern); /* accepts NULL */

/* Returns the processor time of this thread. */
int64_t pattern_clock_ns(void);

/* Finds the first match at or after byte *at of the text, without the white space around it, and
 * moves *at to its end. A match that begins or ends within a character, or contains a line feed,
 * does not count. text: valid UTF-8. until_ns: by pattern_clock_ns; the search ends some tenths of
 * a second later at the very latest. Returns 1 for a match, 0 for none, or -1 with ERROR_LENGTH
 * (the time is up) or ERROR_MEMORY. It is not thread-safe. */
int pattern_next(struct pattern *pattern, struct bytes text, size_t *at, struct span *found,
                 int64_t until_ns, struct error *err);

#endif
