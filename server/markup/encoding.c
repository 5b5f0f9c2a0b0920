/* This file hides ICU's converters, and the ways in which files state their encoding. */
#include "server/markup/encoding.h"
#include "model/base/utf8.h"
#include "server/markup/html.h"
#include "server/markup/xml.h"
#include <ctype.h>
#include <unicode/ucnv.h>

enum {
    LOOKED_AT = 4096, /* bytes in which zeros show UTF-16, or HTML states its encoding */
    CHUNK = 16 * 1024,
    CHUNK_STEPS = 32, /* steps of the budget for a chunk */
    PIVOT = 1024
};

static const char utf8_mark[] = "\xef\xbb\xbf";

/* ---- statements ---- */

struct bytes encoding_of_xml(struct bytes text) {
    const char *end = text.start + text.length;
    struct xml_token tag = {.kind = XML_OTHER, .begin = text.start};
    struct bytes value;
    if (!bytes_begin(text.start, end, "<?xml") || text.length < 6 || !byte_is_space(text.start[5]))
        return nothing;
    const char *close = memchr(text.start, '>', text.length < LOOKED_AT ? text.length : LOOKED_AT);
    tag.end = close;
    return close && xml_attribute(&tag, "encoding", &value) ? value : nothing;
}

struct bytes encoding_of_type(struct bytes type) {
    static const char name[] = "charset=";
    size_t length = strlen(name);
    for (const char *at = type.start, *end = at + type.length; (size_t)(end - at) > length; at++)
        if (strncasecmp(at, name, length) == 0) {
            const char *from = at + length + (at[length] == '"'), *after = from;
            while (after < end && !byte_is_space(*after) && !strchr(";\\\"'", *after))
                after++;
            return bytes_between(from, after);
        }
    return nothing;
}

struct bytes encoding_of_html(struct bytes text) {
    struct bytes found = encoding_of_xml(text);
    const char *at = text.start, *end = at + (text.length < LOOKED_AT ? text.length : LOOKED_AT);
    while (found.length == 0 && at < end && (at = memchr(at, '<', (size_t)(end - at)))) {
        struct html_attribute attribute;
        bool comment = bytes_begin(at, end, "<!--");
        const char *next = comment ? memmem(at, (size_t)(end - at), "-->", 3) : at + 1;
        if (!next)
            break;
        bool meta = end - at > 6 && strncasecmp(at, "<meta", 5) == 0 &&
                    (byte_is_space(at[5]) || at[5] == '/');
        for (const char *from = at + 5;
             meta && found.length == 0 && html_next_attribute(&from, end, &attribute);)
            if (bytes_are_any_case(attribute.name, "charset"))
                found = attribute.value;
            else if (bytes_are_any_case(attribute.name, "content"))
                found = encoding_of_type(attribute.value);
        at = next;
    }
    return found;
}

/* ---- converters ---- */

/* Programs write encodings with more characters under these names (WHATWG, Encoding, 4.2). */
static const struct {
    const char *name, *meant;
} supersets[] = {{"iso-8859-1", "windows-1252"},
                 {"latin1", "windows-1252"},
                 {"iso-8859-9", "windows-1254"},
                 {"iso-8859-11", "windows-874"},
                 {"tis-620", "windows-874"},
                 {"gb2312", "gb18030"},
                 {"gbk", "gb18030"},
                 {"euc-kr", "windows-949"},
                 {"ks_c_5601-1987", "windows-949"},
                 {"big5", "big5-hkscs"},
                 {"shift_jis", "windows-31j"}};

/* Opens a converter by its name; NULL: there is none. reads: the bytes may have more characters
 * than the name says. */
static UConverter *open_converter(struct bytes name, bool reads) {
    char text[ENCODING_NAME_BYTES] = "";
    UErrorCode status = U_ZERO_ERROR;
    bool plain = name.length > 0 && name.length < sizeof text;
    for (size_t i = 0; i < name.length && plain;
         i++) /* ICU's own names may have options, after a comma */
        plain = isalnum((unsigned char)name.start[i]) || strchr("-_.:", name.start[i]);
    if (!plain)
        return NULL;
    memcpy(text, name.start, name.length);
    const char *asked = text;
    for (size_t i = 0; i < sizeof supersets / sizeof *supersets && reads; i++)
        if (bytes_are_any_case(name, supersets[i].name))
            asked = supersets[i].meant;
    UConverter *converter = ucnv_open(asked, &status);
    if (U_FAILURE(status) && asked != text) {
        status = U_ZERO_ERROR;
        converter = ucnv_open(text, &status);
    }
    return U_FAILURE(status) ? NULL : converter;
}

/* Converts bytes as far as they are valid. Returns 0 if all are, 1 if not, or -1 with ERROR_MEMORY.
 */
static int convert(UConverter *to, UConverter *from, struct bytes bytes, struct bytes_buffer *out,
                   struct error *err) {
    const char *at = bytes.start, *end = at + bytes.length;
    UChar pivot[PIVOT], *pivot_source = pivot, *pivot_target = pivot;
    char chunk[CHUNK];
    UErrorCode status = U_BUFFER_OVERFLOW_ERROR;
    bytes_put(out, "", 0);
    for (bool first = true; status == U_BUFFER_OVERFLOW_ERROR || at < end; first = false) {
        const char *limit = end - at > CHUNK ? at + CHUNK : end;
        char *target = chunk;
        status = U_ZERO_ERROR;
        ucnv_convertEx(to, from, &target, chunk + sizeof chunk, &at, limit, pivot, &pivot_source,
                       &pivot_target, pivot + PIVOT, first, limit == end, &status);
        bytes_put(out, chunk, (size_t)(target - chunk));
        if (out->failed || !budget_step(out->arena->budget, CHUNK_STEPS) ||
            status == U_MEMORY_ALLOCATION_ERROR)
            return error_memory(err);
        if (U_SUCCESS(status) || status == U_BUFFER_OVERFLOW_ERROR)
            continue;
        const UChar *rest = pivot_source; /* what precedes the place */
        status = U_ZERO_ERROR;
        target = chunk;
        ucnv_fromUnicode(to, &target, chunk + sizeof chunk, &rest, pivot_target, NULL, true,
                         &status);
        bytes_put(out, chunk, (size_t)(target - chunk));
        return 1;
    }
    return 0;
}

/* ---- reading ---- */

/* Returns the encoding that the bytes show, or NULL: by a mark, or as UTF-16 by zeros in the same
 * byte of many units, since these are ASCII, of which notations consist. */
static const char *name_shown(struct bytes bytes) {
    static const struct {
        const char *mark;
        size_t length;
        const char *name;
    } marks[] = {{utf8_mark, 3, "UTF-8"},
                 {"\xff\xfe\0", 4, "UTF-32LE"},
                 {"\0\0\xfe\xff", 4, "UTF-32BE"},
                 {"\xff\xfe", 2, "UTF-16LE"},
                 {"\xfe\xff", 2, "UTF-16BE"}};
    size_t zeros[2] = {0}, pairs = (bytes.length < LOOKED_AT ? bytes.length : LOOKED_AT) / 2;
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (bytes.length >= marks[i].length &&
            memcmp(bytes.start, marks[i].mark, marks[i].length) == 0)
            return marks[i].name;
    for (size_t i = 0; i < 2 * pairs && bytes.length % 2 == 0; i++)
        zeros[i % 2] += bytes.start[i] == 0;
    if (3 * zeros[1] > pairs && zeros[0] == 0)
        return "UTF-16LE";
    return 3 * zeros[0] > pairs && zeros[1] == 0 ? "UTF-16BE" : NULL;
}

/* A text that one converter has decoded. */
struct decoded {
    struct bytes text;
    bool mark;   /* it began with a mark of UTF-8 */
    size_t line; /* where they are not valid */
};

/* Decodes the bytes by one converter. Returns 0, -1 with ERROR_MEMORY, or 1 if they are not valid.
 */
static int decode(UConverter *from, struct bytes bytes, struct arena *arena, struct decoded *out,
                  struct error *err) {
    struct bytes_buffer text = {.arena = arena};
    UErrorCode status = U_ZERO_ERROR;
    UConverter *to = ucnv_open("UTF-8", &status);
    if (!to)
        return error_memory(err);
    ucnv_setToUCallBack(from, UCNV_TO_U_CALLBACK_STOP, NULL, NULL, NULL, &status);
    int result = convert(to, from, bytes, &text, err);
    ucnv_close(to);
    if (result < 0)
        return -1;
    if (result > 0) {
        out->line = 1;
        for (size_t i = 0; i < text.length; i++)
            out->line += text.bytes[i] == '\n';
        return 1;
    }
    out->mark = bytes_begin(text.bytes, text.bytes + text.length, utf8_mark);
    size_t skipped = out->mark ? strlen(utf8_mark) : 0;
    out->text = (struct bytes){text.bytes + skipped, text.length - skipped};
    return 0;
}

bool encoding_may_differ(struct bytes text) {
    const struct bytes stated = encoding_of_xml(text);
    const unsigned char first = text.length > 1 ? (unsigned char)*text.start : ' ';
    return first >= 0xfe || first == 0 || (text.length > 1 && text.start[1] == 0) ||
           (stated.length > 0 && !bytes_among_any_case(stated, "utf-8 us-ascii"));
}

int encoding_read(struct bytes bytes, struct encoding_names stated, struct arena *arena,
                  struct encoding *encoding, struct bytes *out, struct error *err) {
    const char *shown = name_shown(bytes);
    const struct bytes own = bytes_of(shown ? shown : "");
    struct bytes wrong = nothing, unknown = nothing;
    struct decoded made = {0};
    bool utf8 = utf8_valid(bytes.start, bytes.length), ascii = utf8;
    for (size_t i = 0; i < bytes.length && ascii; i++)
        ascii = (unsigned char)bytes.start[i] < 0x80;
    for (size_t i = 0; i < (shown ? 1 : stated.count); i++) {
        const struct bytes name = shown ? own : stated.all[i];
        UConverter *from = open_converter(name, true);
        if (!from) {
            unknown = name.length > 0 ? name : unknown;
            continue;
        }

        /* Text beyond ASCII that is valid UTF-8 is nothing else, except where several bytes make a
         * character, too. What was stated in ASCII is not in an encoding that reads its first byte
         * in another way. */
        bool is_utf8 = ucnv_getType(from) == UCNV_UTF8,
             mistaken = utf8 && !ascii && ucnv_getMaxCharSize(from) == 1;
        int result = is_utf8 || mistaken ? 1 : decode(from, bytes, arena, &made, err);
        ucnv_close(from);
        if (result < 0)
            return -1;
        if (result == 0 && (shown || made.text.length == 0 || (unsigned char)*bytes.start >= 0x80 ||
                            *made.text.start == *bytes.start)) {
            *encoding = (struct encoding){.mark = made.mark};
            memcpy(encoding->name, name.start, name.length);
            *out = made.text;
            return 0;
        }
        if (is_utf8 && utf8)
            break;
        if (result > 0 && !is_utf8 && wrong.length == 0)
            wrong = name;
    }
    *encoding = (struct encoding){0};
    *out = bytes;
    if (utf8 || (wrong.length == 0 && unknown.length == 0))
        return 0;
    if (wrong.length == 0)
        return error_set(err, ERROR_INPUT, "the encoding \"%.*s\" is not known",
                         (int)utf8_clip(unknown.start, unknown.length, ENCODING_NAME_BYTES),
                         unknown.start);
    return error_set(err, ERROR_INPUT, "line %zu is not valid %.*s", made.line, (int)wrong.length,
                     wrong.start);
}

/* ---- writing ---- */

int encoding_write(struct bytes text, const struct encoding *encoding, bool references,
                   struct arena *arena, struct bytes *out, struct error *err) {
    struct bytes_buffer marked = {.arena = arena}, written = {.arena = arena};
    UErrorCode status = U_ZERO_ERROR;
    if (encoding->mark) {
        bytes_put_string(&marked, utf8_mark);
        bytes_put(&marked, text.start, text.length);
        text = (struct bytes){marked.bytes, marked.length};
    }
    UConverter *to = open_converter(bytes_of(encoding->name), false),
               *from = ucnv_open("UTF-8", &status);
    int result = marked.failed || !to || !from ? error_memory(err) : 0;
    if (result == 0) {
        ucnv_setFromUCallBack(to,
                              references ? UCNV_FROM_U_CALLBACK_ESCAPE : UCNV_FROM_U_CALLBACK_STOP,
                              references ? UCNV_ESCAPE_XML_DEC : NULL, NULL, NULL, &status);
        result = convert(to, from, text, &written, err);
        *out = (struct bytes){written.bytes, written.length};
    }
    ucnv_close(to);
    ucnv_close(from);
    return result;
}
