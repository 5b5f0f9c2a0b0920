/* A tokenizer converts text to ids and back, with byte offsets.
 *
 * Reading a text takes four steps, each of which keeps track of the bytes that it changes, so that
 * every offset is a position in the caller's text: a private-use character replaces each opaque
 * run, the text is prepared as the model's training data was, a text in capitals is changed to
 * small letters, and the vocabulary's own method cuts it. SentencePiece is reached through
 * sentencepiece.cc. A tokenizer is immutable after opening and therefore thread-safe. */
#ifndef ALIGND_TOKENIZER_H
#define ALIGND_TOKENIZER_H

#include "model/text/spans.h"

/* Offsets: tokens rise, do not overlap, and cover every visible character except those at the ends
 * of the text that normalisation removes, such as U+200B. White space lies between tokens, never at
 * their ends. A token without its own character has begin == end: </s>, at the end of the text; a
 * piece that is only white space; and, where one character became several pieces (an ellipsis that
 * is normalised to three full stops), all of these but the last. Such a token belongs to the next
 * one that is not empty. */
struct token {
    int id;
    const char *piece; /* as the vocabulary writes it; for an unknown piece, the normalised text.
                          NUL-terminated, in the arena */
    size_t begin, end; /* the visible bytes of the text that this token stands for, end exclusive */
};

/* lowercase and punctuation concern vocabularies that are lists; a SentencePiece file says itself
 * how it normalises. */
struct tokenizer_options {
    const char *pieces; /* sentencepiece: the path of a list whose ids the model uses instead of the
                           file's, or NULL */
    bool prepared;      /* sentencepiece: text is prepared as for OPUS-MT (struct preparation) */
    bool lowers;        /* reads a text in capitals in small letters, where the caller asks for it
                           (struct tokenizer_reading) */
    bool lowercase;
    bool punctuation; /* words: punctuation marks are separate tokens */
};

struct tokenizer;

/* kind: config's tokenizer.type. options: NULL for none. Returns NULL with ERROR_FILE, ERROR_FORMAT
 * or ERROR_MEMORY; the message names the file or, for an unknown kind, the key. */
struct tokenizer *tokenizer_open(const char *kind, const char *path,
                                 const struct tokenizer_options *options, struct error *err);
/* Returns the same vocabulary with other options, of which only prepared and lowers count. The
 * given tokenizer must outlive the result. Returns NULL with ERROR_MEMORY. */
struct tokenizer *tokenizer_share(const struct tokenizer *tokenizer,
                                  const struct tokenizer_options *options, struct error *err);
void tokenizer_free(struct tokenizer *tokenizer);

/* Return V, and the ids of the special pieces, or -1 if the vocabulary lacks one. */
size_t tokenizer_size(const struct tokenizer *tokenizer);
int tokenizer_unknown(const struct tokenizer *tokenizer);
int tokenizer_begin(const struct tokenizer *tokenizer); /* <s> */
int tokenizer_end(const struct tokenizer *tokenizer);   /* </s> */
/* Returns the piece of an id 0..V-1, owned by the tokenizer. */
const char *tokenizer_piece(const struct tokenizer *tokenizer, int id);
/* Returns whether an id is that of a piece of text. <unk>, <s>, </s> and other control pieces are
 * not. */
bool tokenizer_is_text(const struct tokenizer *tokenizer, int id);
/* Returns the id of a piece of text, or -1 if the vocabulary lacks it. */
int tokenizer_find(const struct tokenizer *tokenizer, const char *piece);
/* Returns the byte that a piece such as <0x41> stands for, or -1 if it stands for text or for
 * nothing. */
int tokenizer_byte(const struct tokenizer *tokenizer, int id);
/* Returns the beginning of a piece that has white space before it, or "" if pieces do not show
 * that. */
const char *tokenizer_mark(const struct tokenizer *tokenizer);

/* Training data has few texts that are written in capitals, and their pieces are single letters. A
 * model translates the same text better in small letters; the translation is then put into capitals
 * again. Letters change by Unicode's simple mappings, one character for one; a character that would
 * then take another number of bytes stays, so that every offset holds. weights/model/capitals.py
 * does the same; tests/data/capitals.json has examples for both. */
enum { CAPITALS_LEAST = 5 }; /* letters: an abbreviation alone does not make such a text */
/* True if the text has at least this many capital letters and no lower-case letter. text: UTF-8. */
bool capitals_only(const char *text, size_t length);
void capitals_lower(char *text, size_t length); /* all letters but the first, in place */
void capitals_raise(char *text, size_t length); /* all letters, in place */

/* OPUS-MT's preprocess.sh changes a text, in training and in translation, before SentencePiece cuts
 * it:
 *
 *   full-width marks, digits and kinds of quotation marks become ASCII's, and U+FF11 (a slip of the
 * script) a quotation mark an ideographic or full-width full stop becomes ". ", which includes the
 * spaces that follow it U+2026 becomes "..."; characters of Unicode's category C, except line
 * feeds, become spaces several spaces become one, and spaces at the ends are removed
 *
 * weights/model/tokenizer.py does the same; tests/data/prepared.json has examples for both.
 *
 * Respelling concerns marks that a vocabulary lacks or has hardly met and that have a plain
 * spelling: typographic quotation marks, dashes, the ellipsis, and invisible characters (U+00AD,
 * U+200B). readable_init chooses them by vocabulary. */
enum { PREPARATION_MARKS = 37 };
struct respelling {
    bool any, marks[PREPARATION_MARKS]; /* marks[i]: preparation_mark(i) is respelled */
};
/* Returns the i-th of these characters, or -1 after the last. */
int32_t preparation_mark(size_t i);

struct preparation {
    bool opus;                           /* prepare text as OPUS-MT does */
    const struct respelling *respelling; /* NULL: no mark is respelled */
    int32_t kept; /* a character that stays regardless of its category, or -1 */
};
struct prepared_text {
    const char *text; /* [length] */
    size_t length;
    /* [length + 1] the byte of the original text that each byte stands for, and where that ends;
     * NULL if nothing has changed */
    const size_t *origins;
};
/* text: valid UTF-8. The result is in the arena. Returns -1 with ERROR_MEMORY. */
int preparation_make(const struct preparation *preparation, const char *text, size_t length,
                     struct arena *arena, struct prepared_text *out, struct error *err);

/* The model reads these ids instead of an opaque run, and the decoder reads `target` after it has
 * written the run. The model copies their pieces well. */
struct stand_in {
    int marked, unmarked; /* source ids; marked: white space or the beginning of the text precedes
                             the run */
    int target, target_unmarked;
};
struct stand_ins {
    struct stand_in word, sign; /* sign: for emoji and symbols */
};
const struct stand_in *tokenizer_stand_in(const struct stand_ins *stand_ins, enum opaque_kind kind);

/* The tokens of a text. */
struct token_list {
    struct token *all; /* [count] */
    size_t count;
    bool lowered; /* the text is in capitals and was read in small letters */
};

/* Options for reading a text. */
struct tokenizer_reading {
    struct opaque_runs held; /* each becomes one token, whose piece is its text as it stands */
    const struct stand_ins
        *stand_ins; /* they give these tokens their ids; NULL: the tokens are unknown */
    const struct respelling *respelling; /* NULL: marks are read as they are */
    bool lowers;                         /* a tokenizer with the option of this name uses it */
};

/* text: valid UTF-8. how: NULL for no options. Tokens (without </s>) go to the arena; offsets lie
 * on character boundaries. Blank text gives no tokens, and neither do characters that normalisation
 * removes (U+200B). Returns 0, or -1 with ERROR_LENGTH (over INT_MAX bytes), ERROR_INPUT or
 * ERROR_MEMORY. */
int tokenizer_encode(const struct tokenizer *tokenizer, struct bytes text,
                     const struct tokenizer_reading *how, struct arena *arena,
                     struct token_list *out, struct error *err);

/* Tokens -> text (NUL-terminated, in the arena). tokens [count], without </s>, have either an id
 * 0..V-1 and piece NULL or, with any id, a piece that the vocabulary need not have, as encoding
 * writes it. Sets begin and end to their bytes within the text, and piece where it was NULL. <unk>
 * becomes U+2047, between spaces unless tokens are characters. Returns 0, or -1 with ERROR_MEMORY
 * or ERROR_INPUT. */
int tokenizer_decode(const struct tokenizer *tokenizer, struct token *tokens, size_t count,
                     struct arena *arena, char **text, struct error *err);

/* Labels of languages in a vocabulary, such as ">>fra<<" or "<2fr>": models of several target
 * languages (OPUS-MT; MADLAD-400) read one of these entries to know which language to write. They
 * are in the vocabulary's order. */
struct labels {
    char **names; /* [count] without the brackets: letters, digits, '-' and '_' */
    int *ids;     /* [count] */
    size_t count;
    int lead; /* the token before a label, where SentencePiece begins every text with a blank; -1:
                 none */
};

/* Finds the name of a label; false if the piece is not one. */
bool labels_name(const char *piece, size_t length, struct bytes *name);
/* Returns -1 with ERROR_MEMORY; there is nothing to free then. */
int labels_find(const struct tokenizer *tokenizer, struct labels *labels, struct error *err);
/* Does the same, except for the lead, for a SentencePiece file without opening a tokenizer, which
 * takes a hundred times as long. Returns -1 with ERROR_FILE, ERROR_FORMAT or ERROR_MEMORY. */
int labels_read(const char *path, struct labels *labels, struct error *err);
void labels_done(struct labels *labels);

/* ---- what a model can read (readable.c) ----
 * A model can read the pieces of its source vocabulary that it met often enough in training.
 *
 * Bytes and <unk> are unreadable. So are symbols that the folder does not list as copied, and
 * letters and marks that the vocabulary has only as a piece of one character although the language
 * does not write with them: such a piece comes from the list of characters and was hardly trained.
 * A long word in letters with case is unreadable if it is spelt almost letter by letter, as names
 * of other languages are: of 19,000 German words of 16 letters or more, among them the compounds,
 * not one is.
 *
 * A model reads a piece that it copies well in the place of a run that it cannot read.
 * FOLDER/opaque.json, which weights/evaluation/opaque.py measures, may name them: {"copied": "+%",
 * "word": "X", "sign": "*"} are the symbols that the model copies and the pieces that stand for
 * words and for symbols. Without the file these pieces are X and *; if a vocabulary lacks one, or
 * it is "", <unk> is used. */

/* It is immutable after readable_init and therefore thread-safe. */
struct readable {
    bool *unreadable; /* [V] by piece; NULL: all can be read */
    bool has_words;   /* the vocabulary is large enough that its pieces show which words are rare */
    struct respelling respelling;
    struct stand_ins stand_ins;
};

/* language: the source language, BCP-47, whose letters count as readable where the vocabulary has
 * them. path: of opaque.json, which need not exist. Returns -1 with ERROR_FILE, ERROR_FORMAT or
 * ERROR_MEMORY; call readable_done in any case. */
int readable_init(struct readable *readable, const struct tokenizer *source,
                  const struct tokenizer *target, const char *language, const char *path,
                  struct error *err);
void readable_done(struct readable *readable);

/* Returns the run to which the characters text[begin, end), which a model cannot read, belong: the
 * whole word, the amount of a currency sign, or the neighbouring symbols. It contains [begin, end).
 */
struct opaque_run readable_around(const char *text, size_t length, size_t begin, size_t end);

/* Adds the runs that make tokens of this text unreadable to those that are held, in the arena.
 * Returns their number, or -1 with ERROR_MEMORY. Time is proportional to the length of the text. */
ptrdiff_t readable_hold(const struct readable *readable, struct bytes text,
                        const struct token_list *tokens, struct opaque_runs *held,
                        struct arena *arena, struct error *err);

/* ---- for the kinds of tokenizers ---- */

struct tokenizer_ids {
    size_t size;
    int unknown, begin, end; /* -1: the vocabulary lacks it */
};

/* To add a kind, write these functions and add a row to the table in tokenizer.c. Tokens that
 * encode and decode make may have white space at their ends. */
struct tokenizer_kind {
    const char *mark; /* see tokenizer_mark */
    void *(*open)(const char *path, const struct tokenizer_options *options,
                  struct tokenizer_ids *ids, struct error *err);
    void (*free)(void *model);
    const char *(*piece)(const void *model, int id);
    bool (*is_text)(const void *model, int id);
    int (*find)(const void *model, const char *piece);
    int (*encode)(const void *model, struct bytes text, struct arena *arena, struct token_list *out,
                  struct error *err);
    int (*decode)(const void *model, struct token *tokens, size_t count, struct arena *arena,
                  char **text, struct error *err);
};
extern const struct tokenizer_kind
    tokenizer_sentencepiece; /* in sentencepiece.cc; the others are in tokenizer.c */

/* Gives each piece of a SentencePiece file to take, in the order of ids, until take returns
 * nonzero. Returns -1 with ERROR_FILE, ERROR_FORMAT or ERROR_MEMORY, or with the error that take
 * has set. */
typedef int sentencepiece_take(void *context, int id, const char *piece, size_t length);
int sentencepiece_pieces(const char *path, sentencepiece_take *take, void *context,
                         struct error *err);
/* The same with the bytes of a file, into which the pieces point. name: of the file, for errors. */
int sentencepiece_each(const char *name, const char *bytes, size_t size, sentencepiece_take *take,
                       void *context, struct error *err);
/* Returns -1 with ERROR_FORMAT or ERROR_MEMORY if no tokenizer can be opened from these bytes of a
 * file. */
int sentencepiece_check(const char *name, const char *bytes, size_t size, struct error *err);

#endif
