/* Archives for tests (tests/archive.h): translated without a model, and looked into. */
#ifndef ALIGND_TESTS_OFFICE_ARCHIVES_H
#define ALIGND_TESTS_OFFICE_ARCHIVES_H

#include "tests/archive.h"
#include "tests/server/documents/fake.h"

/* The document of this format, translated, in the arena; the test fails where it cannot be read. */
struct bytes archive_translate(struct document document, enum fake_kind kind, struct arena *arena);
/* What a member holds, as a string in the arena. */
const char *archive_text(struct bytes archive, const char *name, struct arena *arena);

/* A file of this format whose part holds `before` gets `after` there. */
void archive_expect(const char *format, const char *part, enum fake_kind kind, const char *before,
                    const char *after);
/* An archive is refused with this message. */
void archive_refused(const char *format, const char *bytes, size_t length, const char *message);

#endif
