/* Documents translated without a model. */
#ifndef ALIGND_TESTS_DOCUMENT_FAKE_H
#define ALIGND_TESTS_DOCUMENT_FAKE_H

#include "server/documents/document.h"

enum fake_kind {
    FAKE_UPPER,   /* ASCII's letters become capitals */
    FAKE_LONGER,  /* and each word stands twice */
    FAKE_REVERSED /* and the last word comes first */
};

/* Words are linked with what they came from. All in the arena. */
struct markup_translation fake_translation(enum fake_kind kind, const char *text, size_t length,
                                           struct arena *arena);

#define FAKE_LANGUAGE "fr"

/* As document_read. */
int fake_read(const char *format, const char *source, struct arena *arena, struct markup *out,
              struct error *err);
/* The document of this format, translated; the test fails where it cannot be read. */
char *fake_document(const char *format, enum fake_kind kind, const char *source,
                    struct arena *arena);
/* The same of one with more to it than its format. */
char *fake_translated(const struct document *document, enum fake_kind kind, struct arena *arena);
/* A segment's text as a string. */
const char *fake_string(const struct markup_segment *segment, struct arena *arena);
/* Whether it comes out as this. */
void fake_expect(const char *format, enum fake_kind kind, const char *source, const char *expected);
/* Whether it comes out as this if each segment has this translation. */
void fake_expect_text(const char *format, const char *source, const char *translation,
                      const char *expected);
/* It is refused with this message. */
void fake_refused(const char *format, const char *source, const char *message);
/* So many bytes that begin with head, go on with as many `middle` as fit, and end with tail. The
 * caller frees them. */
char *fake_long(const char *head, const char *middle, const char *tail, size_t bytes);

#endif
