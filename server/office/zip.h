/* ZIP archives in memory (PKWARE's APPNOTE 6.3.10), some of whose members are replaced. All others stay byte for byte, with their
 * headers, order and compression: they are copied and never unpacked. libarchive compresses every member anew, and libzip writes
 * every header anew and in one step that cannot give others their turn; so this module reads the container itself, and leaves
 * compression to zlib.
 *
 * The costs of an archive are bounded by its directory, before anything is unpacked: the number of members, their names, the size
 * of each and its ratio to what is stored. Members may not overlap. Time is linear but for sorting the directory. Everything is in
 * the arena, whose budget is stepped. */
#ifndef ALIGND_OFFICE_ZIP_H
#define ALIGND_OFFICE_ZIP_H

#include "server/markup/markup.h"

enum {
    ZIP_MOST_MEMBERS = 10000,
    ZIP_MOST_NAME = 1024,         /* bytes of a name */
    ZIP_MOST_BYTES = 128 << 20,   /* of a member that is unpacked */
    ZIP_MOST_RATIO = 250,         /* of such a member to what is stored of it, */
    ZIP_FREE_BYTES = 1024 * 1024, /* beyond so many bytes */
    ZIP_SHOWN = 60                /* bytes of a name in a message */
};

struct zip_member {
    struct html_bytes name;    /* as stored: slashes between folders */
    struct html_bytes packed;  /* its data as stored */
    struct html_bytes whole;   /* its header, its data, and the descriptor after that */
    struct html_bytes central; /* its entry in the directory */
    uint64_t size;             /* unpacked, as the directory states it */
    uint32_t crc;
    unsigned flags, method;

    /* What zip_write writes instead of it: the caller drops it, or zip_pack sets the rest. */
    bool dropped, replaced;
    struct html_bytes new_packed;
    size_t new_size;
    uint32_t new_crc;
};

struct zip {
    struct html_bytes bytes;    /* the archive */
    struct zip_member *members; /* [count] in the order of the directory */
    size_t *order;              /* [count] members in the order of their data */
    size_t count;
    struct html_bytes tail; /* the end record with its comment */
};

/* Reads the directory. Returns -1 with ERROR_INPUT, whose message says what is wrong, or ERROR_MEMORY. bytes outlive the zip. */
int zip_open(struct html_bytes bytes, struct arena *arena, struct zip *out, struct error *err);
/* The member of this name, whatever the case of ASCII letters; NULL if there is none. */
struct zip_member *zip_find(const struct zip *zip, const char *name);
/* Unpacks a member and compares its checksum. The result has a NUL after it. Fails like zip_open. */
int zip_unpack(const struct zip_member *member, struct arena *arena, struct html_bytes *out, struct error *err);
/* Replaces the contents of a member, compressed by its own method. Returns -1 with ERROR_MEMORY. */
int zip_pack(struct zip_member *member, struct html_bytes bytes, struct arena *arena, struct error *err);
/* The archive with what was replaced, without what was dropped. Returns NULL with ERROR_MEMORY. */
char *zip_write(const struct zip *zip, struct arena *arena, size_t *length, struct error *err);

#endif
