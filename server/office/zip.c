/* This file reads the directory of an archive, and writes the archive with other contents of some
 * members. */
#include "model/base/utf8.h"
#include "server/office/office.h"
#include <stdlib.h>
#include <zlib.h>

enum {
    LOCAL_BYTES = 30,
    CENTRAL_BYTES = 46,
    END_BYTES = 22,
    LOCATOR_BYTES = 20, /* bytes of the locator of ZIP64's end record */
    END64_BYTES = 56,
    DESCRIPTOR_BYTES = 24, /* the longest: a signature, a checksum, two sizes of 8 bytes */
    COMMENT_BYTES = 65535,
    CHUNK = 16 * 1024, /* bytes that are packed or unpacked between two checks of the budget */
    CHUNK_STEPS = 128, /* steps of such a chunk: about half a millisecond of compression */
    METHOD_STORED = 0,
    METHOD_DEFLATE = 8,
    FLAG_ENCRYPTED = 1,
    FLAG_DESCRIPTOR = 8, /* sizes and the checksum follow the data */
    ZIP64_EXTRA = 1,
    RAW_DEFLATE = -15
};

/* Each record begins with one of these. */
static const char local_mark[] = "PK\3\4", central_mark[] = "PK\1\2", end_mark[] = "PK\5\6",
                  descriptor_mark[] = "PK\7\10", locator_mark[] = "PK\6\7", end64_mark[] = "PK\6\6";

/* ---- numbers ---- */

static uint64_t number_at(const char *at, size_t bytes) {
    uint64_t number = 0;
    for (size_t i = bytes; i-- > 0;)
        number = number << 8 | (unsigned char)at[i];
    return number;
}

static unsigned short_at(const char *at) {
    return (unsigned)number_at(at, 2);
}

static uint32_t long_at(const char *at) {
    return (uint32_t)number_at(at, 4);
}

static void set_number(char *at, uint64_t number, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        at[i] = (char)(unsigned char)(number >> 8 * i);
}

static int damaged(struct error *err, const char *what) {
    return error_set(err, ERROR_INPUT, "the archive is damaged: %s", what);
}

static int refuse(const struct zip_member *member, const char *why, struct error *err) {
    bool valid = utf8_valid(member->name.start,
                            member->name.length); /* older programs wrote other encodings */
    int shown = valid ? (int)utf8_clip(member->name.start, member->name.length, ZIP_SHOWN) : 0;
    return error_set(err, ERROR_INPUT, "\"%.*s\" in the archive %s", shown, member->name.start,
                     why);
}

/* ---- the directory ---- */

/* Sizes beyond 32 bits are in an extra field. Some programs write one for small members, too. */
static bool read_zip64(struct bytes extra, uint64_t *size, uint64_t *packed, uint64_t *offset) {
    uint64_t *const fields[] = {size, packed, offset};
    for (size_t at = 0; at + 4 <= extra.length;) {
        size_t id = short_at(extra.start + at), length = short_at(extra.start + at + 2),
               field = at + 4;
        if (length > extra.length - field)
            return false;
        for (size_t i = 0; id == ZIP64_EXTRA && i < 3; i++) {
            if (*fields[i] != UINT32_MAX)
                continue;
            if (field + 8 > at + 4 + length)
                return false;
            *fields[i] = number_at(extra.start + field, 8);
            field += 8;
        }
        at += 4 + length;
    }
    return true;
}

/* Reads the entry at `at` of the directory and the header that it points to. Returns the end of the
 * entry, or NULL with an error. */
static const char *read_member(const struct zip *zip, struct bytes entries, const char *at,
                               struct arena *arena, struct zip_member *member, struct error *err) {
    const char *directory = entries.start, *end = directory + entries.length;
    if (end - at < CENTRAL_BYTES || !bytes_begin(at, end, central_mark))
        return damaged(err, "its directory is not complete"), NULL;
    size_t name = short_at(at + 28), extra = short_at(at + 30), comment = short_at(at + 32);
    size_t length = CENTRAL_BYTES + name + extra + comment;
    if (length > (size_t)(end - at))
        return damaged(err, "its directory is not complete"), NULL;
    uint64_t packed = long_at(at + 20), size = long_at(at + 24), offset = long_at(at + 42);
    *member = (struct zip_member){.name = {at + CENTRAL_BYTES, name},
                                  .central = {at, length},
                                  .flags = short_at(at + 8),
                                  .method = short_at(at + 10),
                                  .crc = long_at(at + 16)};
    if (memchr(member->name.start, '\\',
               name)) { /* older programs of Windows write them between folders */
        char *slashed = arena_copy(arena, member->name.start, name);
        if (!slashed)
            return error_memory(err), NULL;
        for (size_t i = 0; i < name; i++)
            slashed[i] = slashed[i] == '\\' ? '/' : slashed[i];
        member->name.start = slashed;
    }
    const char *begin = zip->bytes.start, *named = member->name.start;
    uint64_t most = (uint64_t)(directory - begin);
    bool leads_out =
        name == 0 || name > ZIP_MOST_NAME || *named == '/' || memchr(named, '\0', name);
    for (size_t first = 0, last; first < name && !leads_out; first = last + 1) {
        for (last = first; last < name && named[last] != '/';)
            last++;
        leads_out = last - first == 2 && memcmp(named + first, "..", 2) == 0;
    }
    if (leads_out)
        return damaged(err,
                       "a member has a name that is empty, too long, or leads out of the archive"),
               NULL;
    bool sound =
        read_zip64((struct bytes){at + CENTRAL_BYTES + name, extra}, &size, &packed, &offset) &&
        offset < most && most - offset >= LOCAL_BYTES &&
        bytes_begin(begin + offset, directory, local_mark);
    size_t header =
        sound ? (size_t)LOCAL_BYTES + short_at(begin + offset + 26) + short_at(begin + offset + 28)
              : 0;
    if (!sound || header > most - offset || packed > most - offset - header)
        return refuse(member, "is not where the directory says: the file is damaged or incomplete",
                      err),
               NULL;
    member->size = size;
    member->packed = (struct bytes){begin + offset + header, (size_t)packed};
    member->whole = (struct bytes){begin + offset, header + (size_t)packed};
    return at + length;
}

struct member_place {
    const char *begin;
    size_t member;
};

static int compare_places(const void *a, const void *b) {
    const struct member_place *x = a, *y = b;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* Finds the order of the data, and where each member ends with its descriptor. Members that overlap
 * would be unpacked from the same bytes again and again. */
static int find_order(struct zip *zip, const char *directory, struct arena *arena,
                      struct error *err) {
    struct member_place *places = arena_alloc(arena, zip->count, sizeof *places);
    zip->order = arena_alloc(arena, zip->count, sizeof *zip->order);
    if (!places || !zip->order)
        return error_memory(err);
    for (size_t i = 0; i < zip->count; i++)
        places[i] = (struct member_place){zip->members[i].whole.start, i};
    qsort(places, zip->count, sizeof *places, compare_places);
    for (size_t i = 0; i < zip->count; i++) {
        struct zip_member *member = &zip->members[places[i].member];
        const char *end = member->whole.start + member->whole.length,
                   *next = i + 1 < zip->count ? places[i + 1].begin : directory;
        zip->order[i] = places[i].member;
        if (end > next)
            return refuse(member, "overlaps another: the file is damaged", err);
        size_t gap = (size_t)(next - end);
        if (gap > DESCRIPTOR_BYTES)
            gap = !(member->flags & FLAG_DESCRIPTOR)        ? 0
                  : bytes_begin(end, next, descriptor_mark) ? 16
                                                            : 12;
        member->whole.length += gap;
    }
    return 0;
}

int zip_open(struct bytes bytes, struct arena *arena, struct zip *out, struct error *err) {
    static const char compound[] = "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1";
    struct zip zip = {.bytes = bytes};
    const char *stop = bytes.start + bytes.length,
               *end = NULL; /* the end record: the last place where one fits with its comment */
    size_t most =
        bytes.length < END_BYTES + COMMENT_BYTES ? bytes.length : END_BYTES + COMMENT_BYTES;
    for (size_t back = END_BYTES; back <= most && !end; back++)
        if (bytes_begin(stop - back, stop, end_mark) &&
            short_at(stop - back + 20) == back - END_BYTES)
            end = stop - back;
    if (bytes.length >= 8 && memcmp(bytes.start, compound, 8) == 0)
        return error_set(err, ERROR_INPUT,
                         "the file is encrypted with a password, or of an older version of Office "
                         "(doc, xls, ppt): "
                         "save it without a password in the current format");
    if (bytes.length > INT32_MAX) /* its offsets have 32 bits, and so do those that are written */
        return error_set(err, ERROR_INPUT, "the archive is longer than 2 GiB");
    if (bytes.length < 4 || memcmp(bytes.start, "PK", 2) != 0)
        return error_set(err, ERROR_INPUT,
                         "the file is not an archive of this format, which begins with \"PK\"");
    if (!end)
        return damaged(err, "it has no directory at its end, so the file is incomplete");
    uint64_t total = short_at(end + 10), length = long_at(end + 12), offset = long_at(end + 16);
    bool split = short_at(end + 4) != 0 || short_at(end + 6) != 0 || short_at(end + 8) != total;
    if (total == UINT16_MAX || length == UINT32_MAX ||
        offset == UINT32_MAX) { /* also in small archives of some programs */
        const char *locator = end - bytes.start > LOCATOR_BYTES ? end - LOCATOR_BYTES : NULL;
        bool located = locator && bytes_begin(locator, end, locator_mark);
        uint64_t at = located ? number_at(locator + 8, 8) : UINT64_MAX,
                 most_at = located ? (uint64_t)(locator - bytes.start) : 0;
        if (most_at >= END64_BYTES && at <= most_at - END64_BYTES &&
            bytes_begin(bytes.start + at, locator, end64_mark)) {
            total = number_at(bytes.start + at + 32, 8);
            length = number_at(bytes.start + at + 40, 8);
            offset = number_at(bytes.start + at + 48, 8);
            split = number_at(bytes.start + at + 24, 8) != total;
        }
    }
    if (total > ZIP_MOST_MEMBERS)
        return error_set(err, ERROR_INPUT, "the archive has more than %d members",
                         ZIP_MOST_MEMBERS);
    if (split)
        return error_set(err, ERROR_INPUT, "archives of several files are not supported");
    if (total == 0)
        return damaged(err, "it has no members");
    if (offset > (uint64_t)(end - bytes.start) || length > (uint64_t)(end - bytes.start) - offset)
        return damaged(err, "its directory is not where its end says");
    zip.count = total;
    zip.members = arena_alloc(arena, total, sizeof *zip.members);
    zip.tail = bytes_between(end, stop);
    if (!zip.members)
        return error_memory(err);
    const char *directory = bytes.start + offset, *at = directory;
    for (size_t i = 0; i < total; i++) {
        at = read_member(&zip, (struct bytes){directory, length}, at, arena, &zip.members[i], err);
        if (!at)
            return -1;
        if (!budget_step(arena->budget, 1))
            return error_memory(err);
    }
    if (find_order(&zip, directory, arena, err) != 0)
        return -1;
    *out = zip;
    return 0;
}

struct zip_member *zip_find(const struct zip *zip, const char *name) {
    for (size_t i = 0; i < zip->count; i++)
        if (bytes_are_any_case(zip->members[i].name, name))
            return &zip->members[i];
    return NULL;
}

/* ---- data ---- */

static unsigned char *zlib_bytes(const char *at) {
    union {
        const char *from;
        unsigned char *to;
    } same = {at}; /* zlib does not write to its input, though older headers lack the const */
    return same.to;
}

/* Returns -1 with ERROR_MEMORY, 1 if the data are damaged. out [member->size]. */
static int inflate_member(const struct zip_member *member, char *out, struct arena *arena,
                          struct error *err) {
    z_stream stream = {.next_in = zlib_bytes(member->packed.start),
                       .avail_in = (uInt)member->packed.length,
                       .next_out = zlib_bytes(out)};
    size_t left = (size_t)member->size;
    int state = inflateInit2(&stream, RAW_DEFLATE);
    if (state != Z_OK)
        return error_memory(err);
    while (state == Z_OK) {
        unsigned char beyond;
        bool full = left == 0; /* the end of the stream may follow */
        stream.avail_out = full ? 1 : (uInt)(left < CHUNK ? left : CHUNK);
        if (full)
            stream.next_out = &beyond;
        uInt before = stream.avail_out;
        state = inflate(&stream, Z_NO_FLUSH);
        uInt made = before - stream.avail_out;
        if (full && made > 0)
            state = Z_DATA_ERROR;
        left -= full ? 0 : made;
        if (state == Z_OK && made == 0)
            state = Z_DATA_ERROR; /* the data end too soon */
        if (!budget_step(arena->budget, CHUNK_STEPS / 8))
            state = Z_MEM_ERROR;
    }
    inflateEnd(&stream);
    if (state == Z_MEM_ERROR)
        return error_memory(err);
    return state == Z_STREAM_END && left == 0 ? 0 : 1;
}

int zip_unpack(const struct zip_member *member, struct arena *arena, struct bytes *out,
               struct error *err) {
    if (member->flags & FLAG_ENCRYPTED)
        return refuse(member, "is encrypted: save the file without a password", err);
    if (member->method != METHOD_STORED && member->method != METHOD_DEFLATE)
        return refuse(member, "is compressed by a method other than deflate", err);
    if (member->size > ZIP_MOST_BYTES)
        return refuse(member, "is longer than 128 MiB unpacked", err);
    if (member->size > ZIP_FREE_BYTES && member->size / ZIP_MOST_RATIO > member->packed.length)
        return refuse(member, "is compressed more than 250 times", err);
    if (member->method == METHOD_STORED && member->size != member->packed.length)
        return refuse(member, "is damaged: its sizes differ", err);
    size_t size = (size_t)member->size;
    char *bytes = arena_alloc(arena, size + 1, 1);
    if (!bytes)
        return error_memory(err);
    int wrong = 0;
    if (member->method == METHOD_STORED)
        wrong =
            budget_copy(arena->budget, bytes, member->packed.start, size) ? 0 : error_memory(err);
    else
        wrong = inflate_member(member, bytes, arena, err);
    if (wrong < 0)
        return -1;
    bytes[size] = '\0';
    for (size_t at = 0, crc = 0; wrong == 0; at += CHUNK) {
        size_t chunk = size - at < CHUNK ? size - at : CHUNK;
        crc = crc32(crc, zlib_bytes(bytes + at), (uInt)chunk);
        if (!budget_step(arena->budget, CHUNK_STEPS / 32))
            return error_memory(err);
        if (size - at > CHUNK)
            continue;
#ifndef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
        wrong = crc != member->crc;
#endif
        break;
    }
    if (wrong != 0)
        return refuse(member,
                      "is damaged: its contents do not have the checksum that the directory states",
                      err);
    *out = (struct bytes){bytes, size};
    return 0;
}

/* The compressed bytes grow in pieces, so that little more than they take is allocated. */
static int deflate_member(struct zip_member *member, struct bytes bytes, struct arena *arena,
                          struct error *err) {
    struct bytes_buffer out = {.arena = arena};
    z_stream stream = {0};
    unsigned char chunk[CHUNK];
    if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, RAW_DEFLATE, 8,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        return error_memory(err);
    int state = Z_OK;
    for (size_t at = 0; state == Z_OK && !out.failed;) {
        if (stream.avail_in == 0 && at < bytes.length) {
            size_t more = bytes.length - at < CHUNK ? bytes.length - at : CHUNK;
            stream.next_in = zlib_bytes(bytes.start + at);
            stream.avail_in = (uInt)more;
            at += more;
            if (!budget_step(arena->budget, CHUNK_STEPS))
                break;
        }
        stream.next_out = chunk;
        stream.avail_out = CHUNK;
        state = deflate(&stream, at == bytes.length ? Z_FINISH : Z_NO_FLUSH);
        bytes_put(&out, (const char *)chunk, CHUNK - stream.avail_out);
    }
    deflateEnd(&stream);
    if (state != Z_STREAM_END || out.failed)
        return error_memory(err);
    member->new_packed = (struct bytes){out.bytes, out.length};
    return 0;
}

int zip_pack(struct zip_member *member, struct bytes bytes, struct arena *arena,
             struct error *err) {
    uLong crc = 0;
    for (size_t at = 0; at < bytes.length; at += CHUNK) {
        crc = crc32(crc, zlib_bytes(bytes.start + at),
                    (uInt)(bytes.length - at < CHUNK ? bytes.length - at : CHUNK));
        if (!budget_step(arena->budget, CHUNK_STEPS / 32))
            return error_memory(err);
    }
    if (member->method == METHOD_STORED) {
        char *copy = arena_copy(arena, bytes.start, bytes.length);
        if (!copy)
            return error_memory(err);
        member->new_packed = (struct bytes){copy, bytes.length};
    } else if (deflate_member(member, bytes, arena, err) != 0) {
        return -1;
    }
    member->replaced = true;
    member->new_size = bytes.length;
    member->new_crc = (uint32_t)crc;
    return 0;
}

/* ---- writing ---- */

/* The checksum and the sizes stand in the same order in both kinds of headers. */
static void set_sizes(char *at, const struct zip_member *member) {
    set_number(at, member->new_crc, 4);
    set_number(at + 4, member->new_packed.length, 4);
    set_number(at + 8, member->new_size, 4);
}

/* Puts a header, [bytes], with its name, and without extra fields that state sizes. extra_at: the
 * place of their length. */
static void put_header(struct bytes_buffer *out, const char *header, size_t bytes, size_t name,
                       size_t extra_at) {
    const char *extra = header + bytes + name;
    size_t begin = out->length, all = short_at(header + extra_at), length;
    bytes_put(out, header, bytes + name);
    size_t before = out->length;
    for (size_t at = 0; at + 4 <= all; at += length) {
        length = 4 + (size_t)short_at(extra + at + 2);
        if (length > all - at)
            break;
        if (short_at(extra + at) != ZIP64_EXTRA)
            bytes_put(out, extra + at, length);
    }
    if (!out->failed)
        set_number(out->bytes + begin + extra_at, out->length - before, 2);
}

char *zip_write(const struct zip *zip, struct arena *arena, size_t *length, struct error *err) {
    struct bytes_buffer out = {.arena = arena};
    size_t *offsets = arena_alloc(arena, zip->count, sizeof *offsets),
           total = zip->bytes.length + 1, kept = 0;
    for (size_t i = 0; i < zip->count; i++)
        total += zip->members[i].replaced ? zip->members[i].new_packed.length : 0;
    char *room = arena_alloc(arena, total, 1); /* so that it need not grow */
    if (!offsets || !room)
        return error_memory(err), NULL;
    out.bytes = room;
    out.capacity = total;
    for (size_t i = 0; i < zip->count && !out.failed; i++) {
        const struct zip_member *member = &zip->members[zip->order[i]];
        const char *local = member->whole.start;
        size_t begin = offsets[zip->order[i]] = out.length;
        if (member->dropped)
            continue;
        if (!member->replaced) {
            bytes_put(&out, local, member->whole.length);
            continue;
        }
        put_header(&out, local, LOCAL_BYTES, short_at(local + 26), 28);
        bytes_put(&out, member->new_packed.start, member->new_packed.length);
        if (out.failed)
            break;
        set_sizes(out.bytes + begin + 14, member);
        set_number(out.bytes + begin + 6, short_at(local + 6) & ~(unsigned)FLAG_DESCRIPTOR, 2);
    }
    size_t directory = out.length;
    for (size_t i = 0; i < zip->count && !out.failed; i++) {
        const struct zip_member *member = &zip->members[i];
        const char *entry = member->central.start;
        size_t begin = out.length, comment = short_at(entry + 32);
        if (member->dropped)
            continue;
        kept++;
        if (member->replaced) {
            put_header(&out, entry, CENTRAL_BYTES, member->name.length, 30);
            bytes_put(&out, entry + member->central.length - comment, comment);
        } else {
            bytes_put(&out, entry, member->central.length);
        }
        if (out.failed)
            break;
        if (member->replaced) {
            set_sizes(out.bytes + begin + 16, member);
            set_number(out.bytes + begin + 8, member->flags & ~(unsigned)FLAG_DESCRIPTOR, 2);
        }
        set_number(out.bytes + begin + 42, offsets[i], 4);
    }
    size_t end = out.length;
    bytes_put(&out, zip->tail.start, zip->tail.length);
    if (!out.failed) {
        set_number(out.bytes + end + 8, kept, 2);
        set_number(out.bytes + end + 10, kept, 2);
        set_number(out.bytes + end + 12, end - directory, 4);
        set_number(out.bytes + end + 16, directory, 4);
    }
    return bytes_take(&out, length, err);
}
