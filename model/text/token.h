/* What text is cut into, and how: what tokenizer.h and the kinds of tokenizers share. */
#ifndef ALIGND_TOKEN_H
#define ALIGND_TOKEN_H

#include <stdbool.h>
#include <stddef.h>

struct token {
    int id;
    const char *piece; /* as the vocabulary writes it; for an unknown piece, the normalised text. NUL-terminated, in the arena */
    size_t begin, end; /* the visible bytes of the text that this token stands for, end exclusive */
};

/* Offsets: tokens rise, do not overlap, and cover every visible character (but those at the ends of the text that normalisation
 * takes away, such as U+200B); white space lies between them, never at their ends. A token without a character of its own has
 * begin == end: </s>, at the end of the text; a piece that is only white space; and, where one character became several pieces
 * (an ellipsis that is normalised to three full stops), all of these but the last. Such a token belongs to the next one that is
 * not empty. */

/* lowercase and punctuation are of the kinds whose vocabulary is a list; SentencePiece's files say how they normalise. */
struct tokenizer_options {
    const char *pieces; /* sentencepiece: the path of a list whose ids are the model's, not the file's; NULL: there is none */
    bool prepared;      /* sentencepiece: as model/text/preparation.h says */
    bool lowers;        /* reads text in capitals in small letters, where it is asked to (tokenizer_encode) */
    bool lowercase;
    bool punctuation; /* words: punctuation marks are tokens of their own */
};

#endif
