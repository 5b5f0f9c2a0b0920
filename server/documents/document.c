/* This module hides what the formats of documents share: their table, their encodings, and how
 * translations are returned with their words. */
#include "server/documents/document.h"
#include "model/base/utf8.h"
#include "server/decode/outcome.h"
#include "server/office/office.h"
#include <stdio.h>

enum {
    PO_LOOKED_AT = 64 * 1024, /* bytes in which the header of a PO file begins */
    LATIN_PARTS = 3, /* Windows-1252 has at least this many ASCII letters for each other letter */
    SCRATCH_BLOCK_BYTES = 32 * 1024
};

/* ---- both languages: the separators of a sentence and the translation below it ---- */

/* Plain text: begins a line that is indented as the sentence is. */
static void text_below(struct bytes_buffer *out, const struct markup *markup,
                       const struct markup_segment *segment, bool after) {
    if (after)
        return;
    const struct piece *before = segment->first > 0 ? &markup->pieces[segment->first - 1] : NULL;
    struct bytes rest = {"\n", 1}, lead = nothing; /* what precedes the segment in its line */
    if (before && before->kind == PIECE_BREAK)
        lead = (struct bytes){before->raw, before->length};
    for (const char *c = lead.start, *end = c + lead.length; c < end; c++)
        if (*c == '\n' || *c == '\r')
            lead = bytes_between(c + 1, end);
    if (segment->end < markup->piece_count)
        rest =
            (struct bytes){markup->pieces[segment->end].raw, markup->pieces[segment->end].length};
    const char *line_end = memmem(rest.start, rest.length, "\r\n", 2) ? "\r\n"
                           : memchr(rest.start, '\r', rest.length)    ? "\r"
                                                                      : "\n";
    bytes_put_string(out, line_end);
    for (size_t i = 0; i < lead.length; i++)
        if (lead.start[i] == '\t')
            bytes_put(out, "\t", 1);
        else if (((unsigned char)lead.start[i] & 0xc0) !=
                 0x80) /* a character, of a bullet for example */
            bytes_put(out, " ", 1);
}

/* Markdown: writes <br>, which may stand wherever a sentence may. */
static void markdown_below(struct bytes_buffer *out, const struct markup *markup,
                           const struct markup_segment *segment, bool after) {
    (void)markup;
    (void)segment;
    bytes_put_string(out, after ? "" : "<br>");
}

/* MDX: the same, closed, since elements of JSX must be. */
static void mdx_below(struct bytes_buffer *out, const struct markup *markup,
                      const struct markup_segment *segment, bool after) {
    (void)markup;
    (void)segment;
    bytes_put_string(out, after ? "" : "<br/>");
}

/* HTML: writes <br/> and an element that states the language, or a slash in elements that may
 * contain only text. */
static void html_below(struct bytes_buffer *out, const struct markup *markup,
                       const struct markup_segment *segment, bool after) {
    static const char *const names[] = {"<title",
                                        "<option"}; /* elements that may contain only text */
    const struct piece *before = segment->first > 0 ? &markup->pieces[segment->first - 1] : NULL;
    bool plain = false;
    for (size_t i = 0; before && i < sizeof names / sizeof *names; i++)
        plain |= before->length > strlen(names[i]) &&
                 strncasecmp(before->raw, names[i], strlen(names[i])) == 0;
    if (after) {
        bytes_put_string(out, plain ? "" : "</span>");
    } else if (plain) {
        bytes_put_string(out, " / ");
    } else {
        bytes_put_string(out, "<br/><span lang=\"");
        bytes_put_escaped(out, markup->language, strlen(markup->language), "&<>\"");
        bytes_put_string(out, "\">");
    }
}

/* ---- formats ---- */

static int txt_read(const struct document *document, struct arena *arena, struct markup *out,
                    struct error *err) {
    static const struct marking as_it_is;
    struct piece_builder builder = document_builder(document, arena);
    const char *at = document->source, *end = at + document->length;
    builder.markup.close = cells_write;
    while (at < end) {
        char separator;
        struct bytes rest = bytes_between(at, end);
        struct bytes table =
            document->bilingual ? bytes_between(end, end) : cells_find(rest, &separator);
        lines_add(&builder, bytes_between(at, table.start), lines_label, &as_it_is);
        if (table.length > 0)
            cells_add(&builder, table, separator);
        at = table.start + table.length;
    }
    return piece_build(&builder, NULL, out, err);
}

static int html_read(const struct document *document, struct arena *arena, struct markup *out,
                     struct error *err) {
    return markup_parse_html(document->source, document->length, arena, out, err);
}

static int archive_read(const struct document *document, struct arena *arena, struct markup *out,
                        struct error *err) {
    const struct office_document office = {.family = document->format->archive,
                                           .bytes = {document->source, document->length},
                                           .language = document->language,
                                           .bilingual = document->bilingual};
    return office_read(&office, arena, out, err);
}

static char *archive_write(const struct document *document, const struct markup *markup,
                           const struct markup_translation *translations, struct arena *arena,
                           size_t *out_length, struct error *err) {
    struct office_changes changes = {0};
    char *out = office_write(markup, translations, arena, out_length, &changes, err);
    if (out && changes.signatures)
        document_note(
            document, NULL, "changed",
            "the digital signatures were removed, because they are not valid for a translation");
    if (out && changes.accepted)
        document_note(document, NULL, "changed",
                      "tracked changes were accepted in the paragraphs that were translated");
    if (out && changes.columns)
        document_note(document, NULL, "changed",
                      "names of columns of tables and texts of cells were left, because formulas "
                      "or lists of choices refer to them");
    return out;
}

/* PO files state their encoding in the header, where CHARSET stands for one to be filled in. ASCII
 * is UTF-8. */
static struct bytes po_stated(struct bytes file) {
    static const char field[] = "\"Content-Type:";
    size_t length = file.length < PO_LOOKED_AT ? file.length : PO_LOOKED_AT;
    const char *begin = memmem(file.start, length, field, strlen(field));
    const char *end = begin ? memchr(begin, '\n', (size_t)(file.start + length - begin)) : NULL;
    struct bytes found = end ? encoding_of_type(bytes_between(begin, end)) : nothing;
    return bytes_among_any_case(found, "US-ASCII ASCII CHARSET") ? nothing : found;
}

/* The media types of a format, of which the first is that of an answer. */
#define TEXT(type, others)                                                                         \
    .media_types = type " " others, .bare_type = type, .content_type = type "; charset=utf-8"
#define ARCHIVE(type, others, family)                                                              \
    .media_types = type " " others, .bare_type = type, .content_type = type, .read = archive_read, \
    .archive = &(family)
#define OFFICE "application/vnd.openxmlformats-officedocument."
#define MACROS ".macroenabled.12"
#define ODF    "application/vnd.oasis.opendocument."

/* GET /formats lists these rows. Names, extensions, `bilingual` and `options` are also read by
 * formats.py, which writes them to documents. */
static const struct document_format formats[] = {
    {.name = "txt",
     .extensions = "txt text",
     TEXT("text/plain", ""),
     .read = txt_read,
     .bilingual = "below",
     .below = text_below},
    {.name = "srt",
     .extensions = "srt",
     TEXT("application/x-subrip", "text/srt"),
     .older_encodings = true,
     .read = subtitles_read,
     .write = subtitles_write,
     .bilingual = "below"},
    {.name = "vtt",
     .extensions = "vtt",
     TEXT("text/vtt", ""),
     .older_encodings = true,
     .read = subtitles_read,
     .write = subtitles_write,
     .bilingual = "below"},
    {.name = "ass",
     .extensions = "ass ssa",
     TEXT("text/x-ass", "text/x-ssa"),
     .older_encodings = true,
     .read = ass_read,
     .bilingual = "below"},
    {.name = "sbv",
     .extensions = "sbv",
     TEXT("text/x-sbv", ""),
     .older_encodings = true,
     .read = timed_read_sbv,
     .bilingual = "below"},
    {.name = "lrc",
     .extensions = "lrc",
     TEXT("text/x-lrc", ""),
     .read = timed_read_lrc,
     .bilingual = "below"},
    {.name = "ttml",
     .extensions = "ttml dfxp",
     TEXT("application/ttml+xml", ""),
     .stated = encoding_of_xml,
     .references = true,
     .read = ttml_read,
     .bilingual = "below"},
    {.name = "json",
     .extensions = "json arb jsonc json5 webmanifest",
     TEXT("application/json", "text/json"),
     .options = "keys",
     .read = json_document_read},
    {.name = "jsonl",
     .extensions = "jsonl ndjson",
     TEXT("application/jsonl", "application/x-ndjson"),
     .options = "keys",
     .read = json_document_read},
    {.name = "xcstrings",
     .extensions = "xcstrings",
     TEXT("application/json", "application/x-xcstrings"), /* files of JSON's own type are json */
     .options = "keys",
     .read = json_document_read},
    {.name = "md",
     .extensions = "md markdown",
     TEXT("text/markdown", "text/x-markdown"),
     .read = markdown_read,
     .options = "keys", /* of its front matter */
     .bilingual = "below",
     .below = markdown_below},
    {.name = "mdx",
     .extensions = "mdx",
     TEXT("text/mdx", ""),
     .read = markdown_read,
     .options = "keys",
     .bilingual = "below",
     .below = mdx_below},
    {.name = "html",
     .extensions = "html htm xhtml",
     TEXT("text/html", "application/xhtml+xml"),
     .stated = encoding_of_html,
     .references = true,
     .read = html_read,
     .bilingual = "below",
     .below = html_below},
    {.name = "po",
     .extensions = "po pot",
     TEXT("text/x-gettext-translation", "text/x-po application/x-gettext"),
     .stated = po_stated,
     .read = po_read},
    {.name = "xliff",
     .extensions = "xliff xlf",
     TEXT("application/xliff+xml", "application/x-xliff+xml"),
     .stated = encoding_of_xml,
     .references = true,
     .read = xliff_read},
    {.name = "tmx",
     .extensions = "tmx",
     TEXT("application/x-tmx+xml", "application/x-tmx text/x-tmx"),
     .stated = encoding_of_xml,
     .references = true,
     .read = xliff_read_tmx},
    {.name = "csv",
     .extensions = "csv",
     TEXT("text/csv", "application/csv"),
     .read = tables_read,
     .options = "columns header",
     .bilingual = "below beside"},
    {.name = "tsv",
     .extensions = "tsv tab",
     TEXT("text/tab-separated-values", ""),
     .read = tables_read,
     .options = "columns header",
     .bilingual = "beside"},
    {.name = "rst",
     .extensions = "rst rest",
     TEXT("text/x-rst", "text/prs.fallenstein.rst"),
     .read = rst_read,
     .bilingual = "below"},
    {.name = "adoc",
     .extensions = "adoc asciidoc asc",
     TEXT("text/asciidoc", "text/x-asciidoc"),
     .read = asciidoc_read,
     .bilingual = "below"},
    {.name = "tex",
     .extensions = "tex latex ltx",
     TEXT("application/x-tex", "text/x-tex application/x-latex"),
     .read = latex_read,
     .bilingual = "below"},
    {.name = "properties",
     .extensions = "properties",
     TEXT("text/x-java-properties", ""),
     .stated = properties_stated,
     .options = "keys",
     .read = properties_read},
    {.name = "strings",
     .extensions = "strings",
     TEXT("text/x-strings", ""),
     .options = "keys",
     .read = apple_read_strings},
    {.name = "stringsdict",
     .extensions = "stringsdict",
     TEXT("application/x-stringsdict", "application/x-plist"),
     .stated = encoding_of_xml,
     .references = true,
     .read = apple_read_plist},
    {.name = "android",
     .extensions = "xml", /* other files of XML are refused by their root */
     TEXT("text/x-android-strings", ""),
     .stated = encoding_of_xml,
     .references = true,
     .options = "keys",
     .read = android_read},
    {.name = "resx",
     .extensions = "resx resw",
     TEXT("application/x-resx", ""),
     .stated = encoding_of_xml,
     .references = true,
     .options = "keys",
     .read = resx_read},
    {.name = "ts",
     .extensions = "ts",
     TEXT("text/vnd.trolltech.linguist", "application/x-linguist"),
     .stated = encoding_of_xml,
     .references = true,
     .read = qt_read},
    {.name = "ftl",
     .extensions = "ftl",
     TEXT("text/x-fluent", ""),
     .options = "keys",
     .read = fluent_read},
    {.name = "yaml",
     .extensions = "yaml yml",
     TEXT("application/yaml", "text/yaml application/x-yaml"),
     .options = "keys",
     .read = yaml_document_read},
    {.name = "docx",
     .extensions = "docx docm dotx dotm",
     ARCHIVE(OFFICE "wordprocessingml.document", "application/vnd.ms-word.document" MACROS,
             office_docx),
     .bilingual = "below"},
    {.name = "pptx",
     .extensions = "pptx pptm ppsx potx",
     ARCHIVE(OFFICE "presentationml.presentation",
             "application/vnd.ms-powerpoint.presentation" MACROS, office_pptx),
     .bilingual = "below"},
    {.name = "xlsx",
     .extensions = "xlsx xlsm xltx",
     ARCHIVE(OFFICE "spreadsheetml.sheet", "application/vnd.ms-excel.sheet" MACROS, office_xlsx),
     .bilingual = "below"},
    {.name = "odt",
     .extensions = "odt ott",
     ARCHIVE(ODF "text", "", office_odf),
     .bilingual = "below"},
    {.name = "odp",
     .extensions = "odp otp",
     ARCHIVE(ODF "presentation", "", office_odf),
     .bilingual = "below"},
    {.name = "ods",
     .extensions = "ods ots",
     ARCHIVE(ODF "spreadsheet", "", office_odf),
     .bilingual = "below"},
    {.name = "epub",
     .extensions = "epub",
     ARCHIVE("application/epub+zip", "", office_epub),
     .bilingual = "below"},
};
enum { FORMAT_COUNT = sizeof formats / sizeof *formats };

const struct document_format *document_nth(size_t i) {
    return i < FORMAT_COUNT ? &formats[i] : NULL;
}

const struct document_format *document_find(const char *name) {
    for (size_t i = 0; i < FORMAT_COUNT; i++)
        if (strcasecmp(formats[i].name, name) == 0)
            return &formats[i];
    return NULL;
}

const struct document_format *document_guess(const char *file_name, const char *media_type) {
    const char *dot = file_name ? strrchr(file_name, '.') : NULL;
    for (size_t i = 0; dot && i < FORMAT_COUNT; i++)
        if (bytes_among_any_case(bytes_of(dot + 1), formats[i].extensions))
            return &formats[i];
    for (size_t i = 0; media_type && i < FORMAT_COUNT; i++)
        if (bytes_among_any_case((struct bytes){media_type, strcspn(media_type, "; \t")},
                                 formats[i].media_types))
            return &formats[i];
    return NULL;
}

const char *document_refusal(const char *file_name) {
    static const struct {
        const char *extensions, *why;
    } known[] = {
        {"pdf",
         "PDF files cannot be translated: they store the places of letters, not sentences. "
         "Extract the text with \"pdftotext -layout FILE.pdf FILE.txt\", or make a document of it "
         "with \"soffice --infilter=writer_pdf_import --convert-to odt FILE.pdf\", and translate "
         "that"},
        {"doc xls ppt dot xlt pot pps rtf",
         "files of older versions of Office cannot be translated: save the file as docx, xlsx or "
         "pptx, by LibreOffice for example (soffice --convert-to docx)"},
        {"php js mjs cjs tsx jsx mts cts vue py rb dart", DOCUMENT_CODE_REFUSAL},
    };
    const char *dot = file_name ? strrchr(file_name, '.') : NULL;
    for (size_t i = 0; dot && i < sizeof known / sizeof *known; i++)
        if (bytes_among_any_case(bytes_of(dot + 1), known[i].extensions))
            return known[i].why;
    return NULL;
}

typedef bool chosen_format(const struct document_format *format, const char *value);

static bool is_any(const struct document_format *format, const char *value) {
    (void)value;
    return format->name;
}
static bool is_bilingual(const struct document_format *format, const char *value) {
    return value ? document_takes(format->bilingual, value) : format->bilingual != NULL;
}
static bool has_option(const struct document_format *format, const char *value) {
    return document_takes(format->options, value);
}

static void put_names(char names[DOCUMENT_NAMES_BYTES], chosen_format *chosen, const char *value) {
    size_t length = 0;
    *names = '\0';
    for (size_t i = 0; i < FORMAT_COUNT && length < DOCUMENT_NAMES_BYTES; i++)
        if (chosen(&formats[i], value))
            length += (size_t)snprintf(names + length, DOCUMENT_NAMES_BYTES - length, "%s%s",
                                       length > 0 ? ", " : "", formats[i].name);
}

void document_names(char names[DOCUMENT_NAMES_BYTES]) {
    put_names(names, is_any, NULL);
}
void document_names_bilingual(char names[DOCUMENT_NAMES_BYTES]) {
    put_names(names, is_bilingual, NULL);
}
void document_names_keys(char names[DOCUMENT_NAMES_BYTES]) {
    put_names(names, has_option, "keys");
}

int document_bilingual(const struct document_format *format, const char *value,
                       enum document_bilingual *out, struct error *err) {
    static const struct {
        const char *name;
        enum document_bilingual place;
    } places[] = {{"below", BILINGUAL_BELOW}, {"beside", BILINGUAL_BESIDE}};
    *out = BILINGUAL_NONE;
    for (size_t i = 0; value && i < sizeof places / sizeof *places; i++) {
        if (strcmp(value, places[i].name) != 0)
            continue;
        *out = places[i].place;
        if (document_takes(format->bilingual, value))
            return 0;
        if (!format->bilingual)
            return error_set(err, ERROR_INPUT, "is not possible in %s files", format->name);
        char names[DOCUMENT_NAMES_BYTES];
        put_names(names, is_bilingual, value);
        return error_set(err, ERROR_INPUT, "%s is not possible in %s files, only %s; it is in: %s",
                         value, format->name, format->bilingual, names);
    }
    return value ? error_set(err, ERROR_INPUT, "must be below or beside, got \"%.60s\"", value) : 0;
}

/* ---- encodings ---- */

/* A file in Windows-1252 has few letters beyond ASCII, and no valid sequence of UTF-8 for them. Any
 * other file is taken for broken UTF-8. */
static bool is_latin(const char *text, size_t length) {
    size_t letters = 0, others = 0, sequences = 0;
    for (size_t at = 0; at < length;) {
        unsigned char c = (unsigned char)text[at];
        bool valid;
        if ((c < ' ' && !strchr("\t\n\r\f", c)) || strchr("\x81\x8d\x8f\x90\x9d", c))
            return false;
        letters += (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        others += c >= 0xc0;
        size_t bytes = c < 0x80 ? 1 : utf8_first(text + at, length - at, &valid);
        sequences += bytes > 1 && valid;
        at += bytes > 1 && valid ? bytes : 1;
    }
    return LATIN_PARTS * others <= letters && sequences == 0;
}

/* Returns the line of the first byte that is not UTF-8, or that is zero if `zero`; 0: all bytes are
 * valid. *valid: the byte is UTF-8, but zero. */
static size_t find_invalid(const char *text, size_t length, bool zero, bool *valid) {
    size_t line = 1;
    for (size_t at = 0; at < length;) {
        size_t bytes = utf8_first(text + at, length - at, valid);
        if (!*valid || (zero && text[at] == '\0'))
            return line;
        line += text[at] == '\n';
        at += bytes;
    }
    return 0;
}

const char *document_type(const struct document_format *format, const struct encoding *encoding) {
    return encoding ? format->bare_type : format->content_type;
}

int document_decode(struct document *document, const char *media_type, const char *language,
                    struct arena *arena, struct error *err) {
    /* Languages whose older files are in encodings that look like Windows-1252. */
    static const char others[] =
        "cs sk pl hu sl hr bs ro sq tr lt lv et vi ru uk bg sr mk be el he ar fa th ja zh ko";
    static const struct bytes guess = {"Windows-1252", 12};
    const struct document_format *format = document->format;
    const struct bytes file = {document->source, document->length};
    struct encoding *encoding = arena_zalloc(arena, 1, sizeof *encoding);
    struct bytes decoded = file;
    if (!encoding)
        return error_memory(err);
    if (format->archive || file.length >= MARKUP_MAX_BYTES)
        return 0;
    const struct bytes stated[] = {media_type ? encoding_of_type(bytes_of(media_type)) : nothing,
                                   format->stated ? format->stated(file) : nothing};
    if (encoding_read(file, (struct encoding_names){stated, sizeof stated / sizeof *stated}, arena,
                      encoding, &decoded, err) != 0)
        return -1;
    if (*encoding->name) {
        document->encoding = encoding;
    } else if (format->older_encodings && !utf8_valid(file.start, file.length)) {
        bool valid;
        if ((language &&
             bytes_among_any_case((struct bytes){language, strcspn(language, "-_@")}, others)) ||
            !is_latin(file.start, file.length))
            return error_set(err, ERROR_INPUT,
                             "line %zu is not valid UTF-8, and the file does not look like UTF-16 "
                             "or %s: save the file as UTF-8",
                             find_invalid(file.start, file.length, false, &valid), guess.start);
        if (encoding_read(file, (struct encoding_names){&guess, 1}, arena, encoding, &decoded,
                          err) != 0)
            return -1;
        document->source = decoded.start;
        document_note(document, decoded.start, "encoding",
                      "the file is not UTF-8 and was read as %s; its translation is UTF-8",
                      guess.start);
    }
    document->source = decoded.start;
    document->length = decoded.length;
    return 0;
}

/* Writes a document in its encoding. One that can neither hold all characters nor refer to them
 * becomes UTF-8; what the file states says so already. */
static char *encode(const struct document *document, struct bytes text, struct arena *arena,
                    size_t *out_length, struct error *err) {
    const struct encoding *encoding = document->encoding;
    const struct document_format *format = document->format;
    struct bytes_buffer restated = {.arena = arena};
    struct bytes stated = format->stated && !format->references ? format->stated(text) : nothing,
                 out = text;
    if (stated.length > 0) {
        size_t before = (size_t)(stated.start - text.start), after = before + stated.length;
        bytes_put(&restated, text.start, before);
        bytes_put_string(&restated, encoding->name);
        bytes_put(&restated, text.start + after, text.length - after);
        if (restated.failed)
            return error_memory(err), NULL;
        out = (struct bytes){restated.bytes, restated.length};
    }
    int lacks = encoding_write(out, encoding, format->references, arena, &out, err);
    if (lacks < 0)
        return NULL;
    if (lacks > 0) {
        document_note(document, NULL, "encoding",
                      "the translation has characters that %s lacks, so it is UTF-8",
                      encoding->name);
        out = text;
    }
    *out_length = out.length;
    return out.start == text.start ? arena_copy(arena, text.start, text.length)
                                   : arena_copy(arena, out.start, out.length);
}

/* ---- reading and writing ---- */

/* Returns the document without the byte order mark that some editors put in front of UTF-8. */
static struct document without_mark(const struct document *document) {
    static const char mark[] = {'\xef', '\xbb', '\xbf'};
    struct document unmarked = *document;
    if (document->length >= sizeof mark && memcmp(document->source, mark, sizeof mark) == 0) {
        unmarked.source += sizeof mark;
        unmarked.length -= sizeof mark;
    }
    return unmarked;
}

int document_read(const struct document *document, struct arena *arena, struct markup *out,
                  struct error *err) {
    bool valid = true;
    if (document->length >= MARKUP_MAX_BYTES)
        return error_set(err, ERROR_LENGTH, "the document is too long");
    bool text = !document->format->archive;
    if (text && (!utf8_valid(document->source, document->length) ||
                 memchr(document->source, '\0', document->length))) {
        size_t line = find_invalid(document->source, document->length, true, &valid);
        return error_set(err, ERROR_INPUT,
                         valid ? "line %zu contains a zero byte" : "line %zu is not valid UTF-8",
                         line);
    }
    /* formats keep it until the translation is written */
    struct document *unmarked = arena_alloc(arena, 1, sizeof *unmarked);
    if (!unmarked)
        return error_memory(err);
    *unmarked = without_mark(document);
    if (document->format->read(unmarked, arena, out, err) != 0)
        return -1;
    out->below = document->bilingual ? document->format->below : NULL;
    return 0;
}

char *document_write(const struct document *document, const struct markup *markup,
                     const struct markup_translation *translations, struct arena *arena,
                     size_t *out_length, struct error *err) {
    struct document unmarked = without_mark(document);
    char *written =
        document->format->write
            ? document->format->write(&unmarked, markup, translations, arena, out_length, err)
        : markup->archive ? archive_write(&unmarked, markup, translations, arena, out_length, err)
        : markup->spans   ? spans_write(&unmarked, markup, translations, arena, out_length, err)
                          : markup_write(markup, translations, arena, out_length, err);
    if (written && document->encoding)
        return encode(document, (struct bytes){written, *out_length}, arena, out_length, err);
    if (!written || unmarked.source == document->source)
        return written;
    struct bytes_buffer out = {.arena = arena};
    bytes_put(&out, document->source, (size_t)(unmarked.source - document->source));
    bytes_put(&out, written, *out_length);
    return bytes_take(&out, out_length, err);
}

/* ---- texts that are not documents ---- */

static bool has_lines(struct bytes text) {
    return memchr(text.start, '\n', text.length) || memchr(text.start, '\r', text.length);
}

int document_read_text(struct bytes text, bool wrapped, struct arena *arena, struct markup *out,
                       bool *marked, struct error *err) {
    static const struct marking as_it_is;
    struct piece_builder builder = {.arena = arena, .document = text, .markup.spaced = true};
    struct icu_source source;
    struct error error = {0};
    bool message = icu_message_is(text.start, text.length);
    if (!message && !(wrapped && has_lines(text)))
        return markup_parse_marked(text.start, text.length, arena, out, marked, err);
    *marked = true;
    if (!message) {
        lines_add(&builder, text, lines_label, &as_it_is);
        return piece_build(&builder, NULL, out, err);
    }
    if (icu_source_open(text, arena, &source, &error) == 0)
        icu_source_add(&builder, &source, &as_it_is);
    else if (error.code == ERROR_MEMORY)
        return error_memory(err);
    if (builder.failed == ERROR_INPUT ||
        error.code != ERROR_NONE) { /* the message has too many parts, or cannot be read */
        builder = (struct piece_builder){.arena = arena, .document = text};
        piece_add_break(&builder, text);
    }
    return piece_build(&builder, NULL, out, err);
}

char *document_write_text(struct bytes text, const struct markup *markup,
                          const struct markup_translation *translations, struct arena *arena,
                          size_t *length, struct error *err) {
    struct bytes settled;
    char *written = markup_write(markup, translations, arena, length, err);
    if (!written || !icu_message_is(text.start, text.length))
        return written;
    messages_settle_icu(text, (struct bytes){written, *length}, arena, &settled);
    *length = settled.length;
    written = arena_copy(arena, settled.start, settled.length);
    if (!written)
        error_memory(err);
    return written;
}

/* ---- translations with their words ---- */

static struct span span_of(struct outcome_place place, size_t by) {
    return (struct span){by + place.begin, by + place.end};
}

/* Finds the words of what stands between two sentences, which the translation copies: labels and
 * other layout. Links them with themselves, `by` bytes further. Returns their number. words: NULL
 * if they are only counted. */
static size_t find_copied(const char *source, size_t begin, size_t end, size_t by,
                          struct span *words, struct markup_link *links) {
    size_t count = 0;
    for (size_t at = begin, next = begin; at < end; at = next) {
        bool space = character_is_space(character_next(source, end, &next));
        for (size_t after = next;
             !space && after < end && !character_is_space(character_next(source, end, &after));)
            next = after;
        if (space)
            continue;
        if (words) {
            words[count] = (struct span){at + by, next + by};
            links[count] = (struct markup_link){{at, next}, words[count]};
        }
        count++;
    }
    return count;
}

/* Joins the outcomes of the text's sentences with what is between them. */
int document_translate(const struct text *text, struct arena *arena,
                       struct markup_translation *out) {
    *out = (struct markup_translation){0};
    bool lossy = false;
    size_t most = text->source_length + 1, word_count = 0, link_count = 0, length = 0, before = 0;
    for (size_t i = 0; i <= text->count; i++) {
        size_t end = text->source_length;
        if (i < text->count) {
            const struct outcome *outcome = text->jobs[i].outcome;
            lossy |= outcome_lacks(outcome);
            most += outcome->length;
            word_count += outcome->word_count;
            link_count += outcome->link_count;
            end = text->jobs[i].source.begin;
        }
        size_t copied = text->placed ? find_copied(text->source, before, end, 0, NULL, NULL) : 0;
        word_count += copied;
        link_count += copied;
        before = i < text->count ? text->jobs[i].source.end : end;
    }

    char *joined = arena_alloc(arena, most, 1);
    struct span *words = arena_alloc(arena, word_count, sizeof *words);
    struct markup_link *links = arena_alloc(arena, link_count, sizeof *links);
    if (!joined || !words || !links)
        return -1;
    word_count = link_count = before = 0;
    for (size_t i = 0; i <= text->count; i++) {
        size_t end = i < text->count ? text->jobs[i].source.begin : text->source_length;
        size_t copied = text->placed ? find_copied(text->source, before, end, length - before,
                                                   words + word_count, links + link_count)
                                     : 0;
        word_count += copied;
        link_count += copied;
        memcpy(joined + length, text->source + before, end - before);
        length += end - before;
        if (i == text->count)
            break;
        const struct outcome *outcome = text->jobs[i].outcome;
        for (size_t k = 0; k < outcome->word_count; k++)
            words[word_count++] = span_of(outcome_words(outcome)[k], length);
        for (size_t k = 0; k < outcome->link_count; k++) {
            const struct outcome_link *link = &outcome_links(outcome)[k];
            links[link_count++] = (struct markup_link){
                span_of(link->source, text->jobs[i].source.begin), span_of(link->target, length)};
        }
        memcpy(joined + length, outcome->text, outcome->length);
        length += outcome->length;
        before = text->jobs[i].source.end;
    }
    joined[length] = '\0';
    if (segmenter_trim(joined, length).begin < length)
        *out = (struct markup_translation){.text = joined,
                                           .length = length,
                                           .words = text->placed ? words : NULL,
                                           .word_count = word_count,
                                           .links = links,
                                           .link_count = link_count,
                                           .lossy = lossy};
    return 0;
}
