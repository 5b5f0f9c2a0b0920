/* Zips, tar archives and compressed files, by libarchive. Archives are not trusted: names must stay within the folder, and links,
 * devices, repeated names, too many members, and contents that are far larger than the archive are refused. */
#ifndef ALIGND_IMPORT_ARCHIVE_H
#define ALIGND_IMPORT_ARCHIVE_H

#include "model/import/source.h"

struct archive_limits {
    size_t members;
    uint64_t bytes; /* of all contents together */
    uint64_t ratio; /* contents to archive, beside ARCHIVE_FREE_BYTES */
};
enum { ARCHIVE_FREE_BYTES = 64 << 20 };
extern const struct archive_limits archive_usual;

/* The type of a file by its first bytes. */
enum archive_kind { ARCHIVE_NONE, ARCHIVE_ZIP, ARCHIVE_TAR, ARCHIVE_COMPRESSED };
/* A compressed tar is ARCHIVE_TAR if its name says so (.tar.gz, .tgz, .tar.zst). -1 with ERROR_FILE or ERROR_FORMAT. */
int archive_kind_of(const char *path, enum archive_kind *kind, struct error *err);

/* Unpacks a zip or tar into the folder, which exists and is empty. Returns -1 with ERROR_FORMAT, ERROR_FILE or ERROR_MEMORY. */
int archive_unpack(const char *path, const char *folder, const struct archive_limits *limits, import_stop stop, struct error *err);
/* Unpacks a .gz or .zst into a new file. */
int archive_expand(const char *path, const char *out, const struct archive_limits *limits, import_stop stop, struct error *err);

/* A zip whose members are read without being unpacked. */
struct archive_member {
    const char *name;
    uint64_t at, bytes; /* its contents in the file `spool` */
};
struct archive_members {
    struct archive_member *members; /* [count], in the arena */
    size_t count;
    int spool; /* a file without a name, the caller's to close */
};
/* All contents of a zip, end to end in one file in the folder `work`. Checksums are checked. */
int archive_spool(const char *path, const char *work, const struct archive_limits *limits, struct arena *arena, import_stop stop,
                  struct archive_members *out, struct error *err);

#endif
