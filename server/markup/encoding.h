/* This module reads text in encodings other than UTF-8 and writes it again. ICU has the encodings;
 * this module decides which one a file is in: by its byte order mark, by what its sender or the
 * file itself states, and by the zeros of UTF-16. */
#ifndef ALIGND_ENCODING_H
#define ALIGND_ENCODING_H

#include "server/markup/markup.h"

enum { ENCODING_NAME_BYTES = 40 };

struct encoding {
    char name[ENCODING_NAME_BYTES]; /* as it was stated, or as ICU calls it */
    bool mark;                      /* the text begins with a byte order mark */
};

/* Returns the encoding that an XML declaration, a <meta> near the start of HTML, or a media type
 * ("text/plain; charset=x") states; length 0: none. */
struct bytes encoding_of_xml(struct bytes text);
struct bytes encoding_of_html(struct bytes text);
struct bytes encoding_of_type(struct bytes type);

/* Returns false for XML that encoding_read would take for UTF-8, by its first bytes. */
bool encoding_may_differ(struct bytes text);
/* The names of encodings that were stated. */
struct encoding_names {
    const struct bytes *all; /* [count] */
    size_t count;
};

/* Decodes bytes of any encoding. Of those that were stated the first that fits is used, unless the
 * bytes show another. If none fits and the bytes are UTF-8, or nothing was stated or shown, *out is
 * the bytes, and the name of *encoding is empty. Time is linear, and the
 * budget of the arena lets others run in between. Returns -1 with ERROR_MEMORY, or with
 * ERROR_INPUT, whose message names the line or the unknown encoding. */
int encoding_read(struct bytes bytes, struct encoding_names stated, struct arena *arena,
                  struct encoding *encoding, struct bytes *out, struct error *err);
/* Encodes a text. references: characters that the encoding lacks become references ("&#339;").
 * Returns 1 if it lacks some without them, or -1 with ERROR_MEMORY. */
int encoding_write(struct bytes text, const struct encoding *encoding, bool references,
                   struct arena *arena, struct bytes *out, struct error *err);

#endif
