/* The pieces of a text in which amounts are read: numbers, words, signs and marks, with nothing but
 * white space between them. Only model/text/numbers.c and
 * number_pieces.c, which cuts the text, use this header. */
#ifndef ALIGND_NUMBERS_PARTS_H
#define ALIGND_NUMBERS_PARTS_H

#include "model/text/numbers.h"

enum number_kind { PIECE_NUMBER, PIECE_WORD, PIECE_SIGN, PIECE_MARK };

struct piece {
    enum number_kind kind;
    size_t begin, end;
    bool spaced;       /* white space or the beginning of the text precedes it */
    int32_t character; /* code point of a mark or a sign; U+FFFC for a skipped part */
    number_sign sign;  /* families of a sign, one bit each */
    bool taken;        /* the sign belongs to a number already */
    const struct number_word
        *word; /* the meaning of the word or the phrase that begins here, or NULL */
    struct number_value value, other;
    bool grouped, foreign, date, pointed;
    size_t cut;                   /* where the second part of a number of two begins, or 0 */
    struct number_value parts[2]; /* the values of these two parts */
};

/* A text that is read. */
struct reader {
    const struct number_words *words;
    const char *text;
    size_t length;
    struct arena *arena;
    struct piece *pieces; /* [count] */
    size_t count, room;
    struct amount *amounts;
    size_t amount_count, amount_room;
};

/* Cuts the text into pieces. skip [skip_count]: parts that become marks. The longest phrase of
 * reader->words that begins at a word becomes one piece with its meaning. Returns -1 if memory runs
 * out. */
int number_pieces_cut(struct reader *reader, const struct span *skip, size_t skip_count);
/* Returns a value without zeros at the end of its mantissa. */
struct number_value number_pieces_value(uint64_t mantissa, int exponent);
/* Returns true for letters, soft hyphens and combining marks. */
bool number_pieces_is_letter(int32_t character);

static inline bool is_mark(const struct reader *reader, size_t at, int32_t character) {
    return at < reader->count && reader->pieces[at].kind == PIECE_MARK &&
           reader->pieces[at].character == character;
}

static inline bool is_dash(const struct reader *reader, size_t at) {
    return is_mark(reader, at, '-') || is_mark(reader, at, 0x2013) || is_mark(reader, at, 0x2212) ||
           is_mark(reader, at, 0x2011) || is_mark(reader, at, 0x2014);
}

static inline bool is_apostrophe(const struct reader *reader, size_t at) {
    return is_mark(reader, at, '\'') || is_mark(reader, at, 0x2019);
}

static inline bool is_kind(const struct reader *reader, size_t at, enum number_kind kind) {
    return at < reader->count && reader->pieces[at].kind == kind;
}

static inline bool is_attached(const struct reader *reader, size_t at) {
    return at > 0 && at < reader->count && reader->pieces[at].begin == reader->pieces[at - 1].end;
}

/* True if the mark at this place touches the pieces before and after it. */
static inline bool is_joint(const struct reader *reader, size_t at) {
    return is_attached(reader, at) && is_attached(reader, at + 1);
}

static inline bool has_role(const struct reader *reader, size_t at, unsigned roles) {
    return is_kind(reader, at, PIECE_WORD) && reader->pieces[at].word &&
           (reader->pieces[at].word->roles & roles);
}

#endif
