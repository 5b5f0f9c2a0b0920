/* This module hides which parts of an archive hold text, in tables for OOXML (ECMA-376),
 * OpenDocument 1.3, and EPUB 2 and 3; and how an archive is checked, read and rewritten. */
#include "server/office/office.h"
#include "model/base/utf8.h"
#include "server/markup/encoding.h"
#include "server/markup/piece.h"
#include "server/markup/xml.h"
#include <ctype.h>
#include <stdlib.h>
#include <strings.h>

enum {
    SCRATCH_BLOCK_BYTES = 64 * 1024,
    LARGE_SCRATCH_BYTES = 16 << 20,
    MOST_COLUMNS = 10000,
    MOST_COLUMN_BYTES = 4096
};

/* ---- families of formats ---- */

/* Parts of an archive that are read alike. */
struct part_rule {
    const char *folder;       /* "word/"; NULL: any folder */
    const char *begin, *ends; /* beginning and end of the name in the folder; ends: any of several,
                                 separated by spaces */
    const struct grammar *grammar;
    bool text; /* holds paragraphs; otherwise only the language is written */
};

struct office_family {
    const char *name;
    const struct part_rule *rules; /* ended by a rule without a grammar */
    const char
        *main; /* one of the members has a name that begins so; of a book: one of the parts */
    bool odf, epub;
};

/* ---- OOXML ---- */

static const struct space_row ooxml_spaces[] = {{"wordprocessingml", "/main", "w"},
                                                {"drawingml", "/main", "a"},
                                                {"spreadsheetml", "/main", "x"},
                                                {NULL, NULL, NULL}};

static const struct role_row ooxml_roles[] = {
    {"w:p a:p x:si x:is x:text", ROLE_PARAGRAPH},
    {"w:pPr a:pPr", ROLE_LEAD},
    {"w:r a:r x:r", ROLE_RUN},
    {"w:rPr a:rPr x:rPr", ROLE_FORMAT},
    {"w:t a:t x:t", ROLE_TEXT},
    {"w:hyperlink w:smartTag w:customXml w:fldSimple w:dir w:bdo", ROLE_CONTAINER},
    {"w:sdt", ROLE_WRAP},
    {"w:sdtContent", ROLE_CONTENT},
    {"w:ins w:moveTo", ROLE_TRANSPARENT},
    {"w:del w:moveFrom w:proofErr w:lastRenderedPageBreak w:softHyphen w:moveFromRangeStart "
     "w:moveFromRangeEnd "
     "w:moveToRangeStart w:moveToRangeEnd x:rPh x:phoneticPr",
     ROLE_DROPPED},
    {"w:br w:cr w:tab w:ptab a:br", ROLE_BREAK},
    {"w:noBreakHyphen", ROLE_HYPHEN},
    {"w:bookmarkStart w:commentRangeStart w:permStart", ROLE_RANGE_START},
    {"w:bookmarkEnd w:commentRangeEnd w:permEnd", ROLE_RANGE_END},
    {"w:fldChar", ROLE_FIELD},
    {"w:footnoteReference w:endnoteReference w:commentReference w:footnoteRef w:endnoteRef "
     "w:annotationRef",
     ROLE_ALONE},
    {NULL, ROLE_NONE}};

static const struct language_row ooxml_languages[] = {
    {"w:lang w:themeFontLang", "val", LANGUAGE_WHOLE},
    {"w:lang w:themeFontLang", "eastAsia", LANGUAGE_EAST},
    {"w:lang w:themeFontLang", "bidi", LANGUAGE_COMPLEX},
    {"a:rPr a:endParaRPr", "lang", LANGUAGE_WHOLE},
    {NULL, NULL, LANGUAGE_WHOLE}};

static const struct grammar ooxml = {
    .roles = ooxml_roles,
    .spaces = ooxml_spaces,
    .languages = ooxml_languages,
    .key = "id",
    .dropped = "w:lang w:noProof w:rPrChange w:ins w:del w:moveFrom w:moveTo",
    .unkept = "altLang dirty err smtClean",
    .language = "lang",
    .line_break = "br"};

static const struct part_rule docx_rules[] = {{"word/", "document", ".xml", &ooxml, true},
                                              {"word/", "header", ".xml", &ooxml, true},
                                              {"word/", "footer", ".xml", &ooxml, true},
                                              {"word/", "footnotes", ".xml", &ooxml, true},
                                              {"word/", "endnotes", ".xml", &ooxml, true},
                                              {"word/charts/", "chart", ".xml", &ooxml, true},
                                              {"word/diagrams/", "data", ".xml", &ooxml, true},
                                              {"word/diagrams/", "drawing", ".xml", &ooxml, true},
                                              {"word/", "styles", ".xml", &ooxml, false},
                                              {"word/", "settings", ".xml", &ooxml, false},
                                              {NULL, NULL, NULL, NULL, false}};
const struct office_family office_docx = {"docx", docx_rules, "word/document", false, false};

static const struct part_rule pptx_rules[] = {
    {"ppt/slides/", "slide", ".xml", &ooxml, true},
    {"ppt/notesSlides/", "notesSlide", ".xml", &ooxml, true},
    {"ppt/charts/", "chart", ".xml", &ooxml, true},
    {"ppt/diagrams/", "data", ".xml", &ooxml, true},
    {"ppt/diagrams/", "drawing", ".xml", &ooxml, true},
    {NULL, NULL, NULL, NULL, false}};
const struct office_family office_pptx = {"pptx", pptx_rules, "ppt/", false, false};

static const struct part_rule xlsx_rules[] = {{"xl/", "sharedStrings", ".xml", &ooxml, true},
                                              {"xl/worksheets/", "", ".xml", &ooxml, true},
                                              {"xl/", "comments", ".xml", &ooxml, true},
                                              {"xl/drawings/", "drawing", ".xml", &ooxml, true},
                                              {"xl/charts/", "chart", ".xml", &ooxml, true},
                                              {"xl/diagrams/", "data", ".xml", &ooxml, true},
                                              {"xl/diagrams/", "drawing", ".xml", &ooxml, true},
                                              {NULL, NULL, NULL, NULL, false}};
const struct office_family office_xlsx = {"xlsx", xlsx_rules, "xl/", false, false};

/* ---- OpenDocument ---- */

static const struct space_row odf_spaces[] = {{"opendocument", ":text:1.0", "text"},
                                              {"opendocument", ":table:1.0", "table"},
                                              {"opendocument", ":office:1.0", "office"},
                                              {"opendocument", ":style:1.0", "style"},
                                              {NULL, NULL, NULL}};

static const struct role_row odf_roles[] = {
    {"text:p text:h", ROLE_PARAGRAPH},
    {"text:span text:a text:meta text:meta-field", ROLE_CONTAINER},
    {"text:s", ROLE_SPACE},
    {"text:tab text:line-break", ROLE_BREAK},
    {"text:soft-page-break", ROLE_DROPPED},
    {"text:bookmark-start text:reference-mark-start", ROLE_RANGE_START},
    {"text:bookmark-end text:reference-mark-end", ROLE_RANGE_END},
    {"text:tracked-changes office:annotation", ROLE_OPAQUE},
    {NULL, ROLE_NONE}};

static const struct language_row odf_languages[] = {
    {"style:text-properties", "language", LANGUAGE_PRIMARY},
    {"style:text-properties", "country", LANGUAGE_REGION},
    {NULL, NULL, LANGUAGE_WHOLE}};

static const struct grammar odf = {.roles = odf_roles,
                                   .spaces = odf_spaces,
                                   .languages = odf_languages,
                                   .mixed = true,
                                   .key = "name",
                                   .line_break = "line-break"};

static const struct part_rule odf_rules[] = {{"", "content", ".xml", &odf, true},
                                             {"", "styles", ".xml", &odf, true},
                                             {NULL, NULL, NULL, NULL, false}};
const struct office_family office_odf = {"OpenDocument", odf_rules, "content.xml", true, false};

/* ---- EPUB ---- */

static const struct language_row html_languages[] = {{NULL, "lang", LANGUAGE_WHOLE},
                                                     {NULL, NULL, LANGUAGE_WHOLE}};

/* The roles are those of server/markup's table of elements. */
static const struct space_row xhtml_spaces[] = {{"w3.org", "/1999/xhtml", ""}, {NULL, NULL, NULL}};
static const struct grammar xhtml = {.spaces = xhtml_spaces,
                                     .languages = html_languages,
                                     .mixed = true,
                                     .markup = true,
                                     .doctype = true,
                                     .root = "html",
                                     .values = "alt title aria-label"};

static const struct role_row ncx_roles[] = {{"text", ROLE_PARAGRAPH}, {NULL, ROLE_NONE}};
static const struct space_row ncx_spaces[] = {{"daisy.org", "/ncx/", ""}, {NULL, NULL, NULL}};
static const struct grammar ncx = {.roles = ncx_roles,
                                   .spaces = ncx_spaces,
                                   .languages = html_languages,
                                   .mixed = true,
                                   .doctype = true,
                                   .root = "ncx"};

static const struct role_row package_roles[] = {
    {"dc:language", ROLE_LANGUAGE}, {"dc:title dc:description", ROLE_PARAGRAPH}, {NULL, ROLE_NONE}};
static const struct space_row package_spaces[] = {{"purl.org/dc/elements", "/1.1/", "dc"},
                                                  {NULL, NULL, NULL}};
static const struct grammar package = {.roles = package_roles,
                                       .spaces = package_spaces,
                                       .mixed = true,
                                       .doctype = true,
                                       .root = "package"};

static const struct part_rule epub_rules[] = {{NULL, "", ".xhtml .html .htm .xml", &xhtml, true},
                                              {NULL, "", ".ncx", &ncx, true},
                                              {NULL, "", ".opf", &package, true},
                                              {NULL, NULL, NULL, NULL, false}};
const struct office_family office_epub = {"epub", epub_rules, "", false, true};

/* ---- the rule for a part ---- */

static bool begins(struct bytes name, const char *with) {
    size_t length = strlen(with);
    return name.length >= length && strncasecmp(name.start, with, length) == 0;
}

static bool is_of(struct bytes name, const struct part_rule *rule) {
    const char *slash = memrchr(name.start, '/', name.length);
    struct bytes folder = {name.start, slash ? (size_t)(slash + 1 - name.start) : 0};
    struct bytes file = {name.start + folder.length, name.length - folder.length};
    if ((rule->folder && !bytes_are_any_case(folder, rule->folder)) || !begins(file, rule->begin))
        return false;
    for (const char *end = rule->ends; *end; end += strspn(end, " ")) {
        size_t length = strcspn(end, " ");
        if (file.length > length &&
            strncasecmp(file.start + file.length - length, end, length) == 0)
            return true;
        end += length;
    }
    return false;
}

/* Returns the rule for a member, or NULL if the member is not read. */
static const struct part_rule *find_rule(const struct office_family *family, struct bytes name) {
    const struct part_rule *rule = family->rules;
    while (rule->grammar && !is_of(name, rule))
        rule++;
    return rule->grammar && !(family->epub && begins(name, "META-INF/")) ? rule : NULL;
}

/* ---- an archive ---- */

/* The name of a part, found by a hash that the case of ASCII letters does not change. */
struct part_name {
    uint64_t hash;
    struct bytes name;
    bool text; /* the part has text */
};

/* Texts that formulas and tables refer to. */
struct columns {
    struct bytes *names; /* [count], sorted */
    size_t count, room;
};

struct archive {
    const struct office_document *document;
    struct zip zip;
    struct part_name *parts; /* [part_count], sorted: members that have a rule */
    size_t part_count;
    struct columns columns;
    struct piece_builder *builder;  /* reading; otherwise NULL */
    struct walk_changes *found;     /* [zip.count] changes of the members that were read */
    size_t tokens;                  /* tokens of these members' paragraphs */
    struct markup_writing *writing; /* writing; otherwise NULL */
    struct office_changes *changes;
    struct arena *arena;
    struct error *err;
};

/* What was read. It does not change when it is written. */
struct office_archive {
    struct office_document document;
    struct zip zip;
    struct walk_changes *found; /* [zip.count] */
    struct office_changes changes;
};

/* Prefixes an error with the name of its part. */
static int fail_in(const struct archive *archive, const struct zip_member *member,
                   const struct error *inner) {
    bool valid = utf8_valid(member->name.start, member->name.length);
    int shown = valid ? (int)utf8_clip(member->name.start, member->name.length, ZIP_SHOWN) : 0;
    if (inner->code == ERROR_MEMORY)
        return error_memory(archive->err);
    return error_set(archive->err, inner->code, "%.*s: %s", shown, member->name.start,
                     inner->message);
}

/* ---- names of parts ---- */

static uint64_t hash_of(struct bytes name) {
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
    for (size_t i = 0; i < name.length; i++)
        hash = (hash ^ (uint64_t)tolower((unsigned char)name.start[i])) * 0x100000001b3u;
    return hash;
}

static int compare_parts(const void *a, const void *b) {
    const struct part_name *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    if (x->name.length != y->name.length)
        return x->name.length < y->name.length ? -1 : 1;
    return strncasecmp(x->name.start, y->name.start, x->name.length);
}

/* Unpacks a member and starts a scan of it. Returns NULL on failure. */
static struct xml_scan *scan_member(const struct archive *archive, const struct zip_member *member,
                                    bool doctype, struct bytes *bytes, struct error *err) {
    struct xml_scan *scan = arena_alloc(archive->arena, 1, sizeof *scan);
    if (!scan)
        error_memory(err);
    else if (zip_unpack(member, archive->arena, bytes, err) != 0)
        scan = NULL;
    else
        xml_scan_begin(scan, *bytes, doctype, archive->arena->budget);
    return scan;
}

/* ---- encryption ---- */

/* OpenDocument encrypts parts within the archive, and so do shops that sell books. */
static int check_encryption(const struct archive *archive) {
    const struct zip_member *manifest = zip_find(&archive->zip, "META-INF/manifest.xml");
    const struct zip_member *list = zip_find(&archive->zip, "META-INF/encryption.xml");
    struct arena_mark mark = arena_mark(archive->arena);
    struct bytes bytes;
    struct xml_token token;
    struct error inner = {0};
    int read = 0;
    if (manifest) {
        if (zip_unpack(manifest, archive->arena, &bytes, archive->err) != 0)
            return -1;
        if (xml_find(bytes, "encryption-data", archive->arena->budget))
            return error_set(archive->err, ERROR_INPUT,
                             "the file is encrypted with a password: save it without one");
    }

    /* Books list their encrypted parts, which may be fonts. */
    struct xml_scan *scan = list ? scan_member(archive, list, true, &bytes, archive->err) : NULL;
    if (list && !scan)
        return -1;
    while (scan && (read = xml_next(scan, &token, &inner)) > 0) {
        struct part_name asked = {0};
        if ((token.kind != XML_START && token.kind != XML_EMPTY) || archive->part_count == 0 ||
            !bytes_are(xml_local_name(token.name), "CipherReference") ||
            !xml_attribute(&token, "URI", &asked.name))
            continue;
        asked.hash = hash_of(asked.name);
        const struct part_name *part = bsearch(&asked, archive->parts, archive->part_count,
                                               sizeof *archive->parts, compare_parts);
        if (part && part->text)
            return error_set(archive->err, ERROR_INPUT,
                             "the book is encrypted (DRM), so its text cannot be read");
    }
    if (read < 0)
        return fail_in(archive, list, &inner);
    arena_release(archive->arena, mark);
    return 0;
}

/* ---- texts to which formulas refer ---- */

/* Appends a name without white space, however that is written: a line end in a name is "_x000a_" in
 * one place and itself in the other. Returns the new length. */
static size_t condense(struct bytes name, char *out, size_t length) {
    for (size_t at = 0; at < name.length; at++) {
        if (name.length - at > 6 && strncasecmp(name.start + at, "_x00", 4) == 0 &&
            name.start[at + 6] == '_')
            at += 6;
        else if ((unsigned char)name.start[at] > ' ')
            out[length++] = name.start[at];
    }
    return length;
}

static int compare_names(const void *a, const void *b) {
    const struct bytes *x = a, *y = b;
    size_t least = x->length < y->length ? x->length : y->length;
    int order = least > 0 ? memcmp(x->start, y->start, least) : 0;
    return order != 0 ? order : x->length < y->length ? -1 : x->length > y->length;
}

/* Adds a text that stays wherever it is all the text of a cell. */
static int add_name(struct archive *archive, struct bytes name) {
    struct columns *columns = &archive->columns;
    if (columns->count == MOST_COLUMNS || name.length > MOST_COLUMN_BYTES)
        return 0;
    struct bytes *names = arena_grow(archive->arena, columns->names, columns->count, &columns->room,
                                     1, sizeof *names);
    char *condensed = arena_alloc(archive->arena, name.length, 1);
    if (!names || !condensed)
        return error_memory(archive->err);
    columns->names = names;
    names[columns->count++] = (struct bytes){condensed, condense(name, condensed, 0)};
    return 0;
}

/* Adds the texts in quotation marks of a formula or a list of choices, and the choices: "Yes,No".
 */
static int add_literals(struct archive *archive, struct bytes formula) {
    const char *at = formula.start, *end = formula.start + formula.length;
    while (at < end && (at = memchr(at, '"', (size_t)(end - at))) != NULL) {
        const char *begin = ++at, *close = memchr(at, '"', (size_t)(end - at));
        if (!close)
            break;
        at = close + 1;
        if (add_name(archive, (struct bytes){begin, (size_t)(close - begin)}) != 0)
            return -1;
        for (const char *last = begin; last < close; begin = last + 1) {
            const char *comma = memchr(begin, ',', (size_t)(close - begin));
            last = comma ? comma : close;
            if (add_name(archive, (struct bytes){begin, (size_t)(last - begin)}) != 0)
                return -1;
        }
    }
    return 0;
}

/* Adds the texts by which the formulas of a part refer to its cells. A table of a spreadsheet has
 * the names of its columns twice: in its cells, and in a separate part, and Office offers to repair
 * files in which they differ. Formulas and lists of choices compare cells with literals, and no
 * longer find those that are translated. A part that cannot be read is reported when its text is
 * read. */
static int read_names(struct archive *archive, const struct zip_member *member) {
    static const char *const marks[] = {"<f>", "<f ", "formula", "condition", "tableColumn"};
    static const char *const elements[] = {"f", "formula", "formula1", "formula2"},
                             *const attributes[] = {"formula", "condition"};
    struct arena scratch;
    struct bytes bytes, value;
    struct xml_scan scan;
    struct xml_token token;
    struct error inner = {0};
    bool formula = false; /* the element that is open */
    int result = 0, read = 0;
    arena_init(&scratch, SCRATCH_BLOCK_BYTES);
    arena_limit(&scratch, archive->arena->budget);
    if (zip_unpack(member, &scratch, &bytes, &inner) != 0) {
        arena_done(&scratch);
        return inner.code == ERROR_MEMORY ? error_memory(archive->err) : 0;
    }
    bool any = false;
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        any = any || memmem(bytes.start, bytes.length, marks[i], strlen(marks[i]));
    xml_scan_begin(&scan, bytes, false, archive->arena->budget);
    while (any && result == 0 && archive->columns.count < MOST_COLUMNS &&
           (read = xml_next(&scan, &token, &inner)) > 0) {
        if (token.kind == XML_TEXT && formula &&
            xml_decode(scan.begin, &token, &scratch, &value, &inner) == 0)
            result = add_literals(archive, value);
        if (token.kind != XML_START && token.kind != XML_EMPTY) {
            formula = formula && token.kind == XML_TEXT;
            continue;
        }
        formula = false;
        for (size_t i = 0; i < sizeof elements / sizeof *elements; i++)
            formula |=
                token.kind == XML_START && bytes_are(xml_local_name(token.name), elements[i]);
        bool column = bytes_are(xml_local_name(token.name), "tableColumn");
        for (size_t i = 0; i < 2 && result == 0; i++) {
            if (!xml_attribute(&token, column ? "name" : attributes[i], &value))
                continue;
            struct xml_token text = {
                .kind = XML_TEXT, .begin = value.start, .end = value.start + value.length};
            if (xml_decode(scan.begin, &text, &scratch, &value, &inner) == 0)
                result = column ? add_name(archive, value) : add_literals(archive, value);
        }
    }
    arena_done(&scratch);
    return result == 0 && inner.code == ERROR_MEMORY ? error_memory(archive->err) : result;
}

static bool keeps(const void *owner, const struct paragraph *paragraph) {
    const struct archive *archive = owner;
    const struct columns *columns = &archive->columns;
    char condensed[MOST_COLUMN_BYTES];
    for (size_t i = 0; paragraph->grammar == &package && i < paragraph->count; i++)
        if (memchr(paragraph->tokens[i].text.start, '<', paragraph->tokens[i].text.length))
            return true; /* a description in HTML */
    struct bytes name = {condensed, 0};
    if (columns->count == 0 || paragraph->text_bytes > sizeof condensed)
        return false;
    for (size_t i = 0; i < paragraph->count; i++)
        if (paragraph->tokens[i].kind == INLINE_TEXT)
            name.length = condense(paragraph->tokens[i].text, condensed, name.length);
    bool kept = bsearch(&name, columns->names, columns->count, sizeof *columns->names,
                        compare_names) != NULL;
    archive->changes->columns |= kept;
    return kept;
}

/* ---- signatures ---- */

/* Writes a part without the elements that refer to signatures; one that cannot be read stays. */
static int drop_references(struct archive *archive, const char *name, const char *mark) {
    struct zip_member *member = zip_find(&archive->zip, name);
    struct bytes_buffer out = {.arena = archive->arena};
    struct bytes bytes;
    struct xml_token token;
    struct error inner = {0};
    int read;
    if (!member)
        return 0;
    struct xml_scan *scan = scan_member(archive, member, false, &bytes, &inner);
    if (!scan)
        return inner.code == ERROR_MEMORY ? error_memory(archive->err) : 0;
    const char *done = bytes.start;
    bytes_put(&out, "", 0);
    while ((read = xml_next(scan, &token, &inner)) > 0) {
        if (token.kind != XML_EMPTY ||
            !memmem(token.begin, (size_t)(token.end - token.begin), mark, strlen(mark)))
            continue;
        bytes_put(&out, done, (size_t)(token.begin - done));
        done = token.end;
    }
    bytes_put(&out, done, (size_t)(bytes.start + bytes.length - done));
    if (read < 0 && inner.code == ERROR_INPUT)
        return 0;
    return read < 0 || out.failed ? error_memory(archive->err)
                                  : zip_pack(member, (struct bytes){out.bytes, out.length},
                                             archive->arena, archive->err);
}

/* ---- parts ---- */

static int open_archive(struct archive *archive, const struct office_document *document,
                        struct arena *arena, struct office_changes *changes, struct error *err) {
    static const struct part_rule naming[] = {{"xl/tables/", "", ".xml", NULL, false},
                                              {"xl/worksheets/", "", ".xml", NULL, false},
                                              {"", "content", ".xml", NULL, false}};
    const struct office_family *family = document->family;
    struct columns *columns = &archive->columns;
    uint64_t bytes = 0;      /* bytes of the parts with a rule, unpacked */
    bool right_main = false; /* a member is the main part of the family */
    *archive =
        (struct archive){.document = document, .arena = arena, .changes = changes, .err = err};
    if (zip_open(document->bytes, arena, &archive->zip, err) != 0)
        return -1;
    struct part_name *parts = archive->parts =
        arena_alloc(arena, archive->zip.count, sizeof *parts);
    if (!parts)
        return error_memory(err);
    for (size_t i = 0; i < archive->zip.count; i++) {
        const struct zip_member *member = &archive->zip.members[i];
        const struct part_rule *rule = find_rule(family, member->name);
        right_main |= (rule || !family->epub) && begins(member->name, family->main);
        if (rule) {
            parts[archive->part_count++] =
                (struct part_name){hash_of(member->name), member->name, rule->text};
            bytes +=
                member->size > OFFICE_MOST_BYTES ? (uint64_t)OFFICE_MOST_BYTES + 1 : member->size;
        }
        if (!budget_step(arena->budget, 1))
            return error_memory(err);
    }
    if (archive->part_count > 0)
        qsort(parts, archive->part_count, sizeof *parts, compare_parts);
    if (check_encryption(archive) != 0)
        return -1;

    /* If two members have one name, programs differ in which of them they read. Comparing each name
     * with all others would take minutes for ten thousand long ones. */
    for (size_t i = 1; i < archive->part_count; i++)
        if (compare_parts(&parts[i - 1], &parts[i]) == 0)
            return error_set(err, ERROR_INPUT, "the archive has two members of one name");
    if (!right_main)
        return error_set(err, ERROR_INPUT, "the archive is not of the format %s: it has no part %s",
                         family->name, *family->main ? family->main : "with text");
    if (bytes > OFFICE_MOST_BYTES)
        return error_set(err, ERROR_INPUT, "the parts with text are longer than %d MiB unpacked",
                         OFFICE_MOST_BYTES >> 20);

    for (size_t i = 0; i < archive->zip.count && (family == &office_xlsx || family == &office_odf);
         i++)
        for (size_t k = 0; k < sizeof naming / sizeof *naming; k++)
            if (is_of(archive->zip.members[i].name, &naming[k]) &&
                read_names(archive, &archive->zip.members[i]) != 0)
                return -1;
    if (columns->count > 0)
        qsort(columns->names, columns->count, sizeof *columns->names, compare_names);
    return 0;
}

/* Unpacks a part, in UTF-8. Returns 1, 0 if it stays because it has no text that can be read, or
 * -1. */
static int open_part(const struct archive *archive, const struct zip_member *member,
                     const struct part_rule *rule, struct arena *scratch, struct encoding *encoding,
                     struct bytes *out) {
    struct error inner = {0};
    if (zip_unpack(member, scratch, out, &inner) != 0) {
        if (!rule->text && inner.code == ERROR_INPUT)
            return 0;
        return inner.code == ERROR_MEMORY
                   ? error_memory(archive->err)
                   : error_set(archive->err, inner.code, "%s", inner.message);
    }
    const struct bytes stated = encoding_of_xml(*out);
    if (encoding_may_differ(*out) && encoding_read(*out, (struct encoding_names){&stated, 1},
                                                   scratch, encoding, out, &inner) != 0)
        return !rule->text && inner.code == ERROR_INPUT ? 0 : fail_in(archive, member, &inner);
    /* cells of a spreadsheet have their text elsewhere, unless they say so */
    return !begins(member->name, "xl/worksheets/") || xml_find(*out, "inlineStr", scratch->budget);
}

/* A part that is unpacked. */
struct opened_part {
    struct zip_member *member;
    const struct part_rule *rule;
    struct encoding encoding;
    struct bytes bytes;
};

/* Finds what is rewritten in a part; one that only states the language may be unreadable. */
static int read_part(struct archive *archive, const struct opened_part *opened, struct arena *arena,
                     struct arena *scratch, struct walk_changes *out) {
    const struct part_rule *rule = opened->rule;
    struct error inner = {0};
    const struct walk_part part = {.bytes = opened->bytes,
                                   .grammar = rule->grammar,
                                   .language = archive->document->language,
                                   .keeps = keeps,
                                   .owner = archive,
                                   .builder = archive->builder,
                                   .arena = arena,
                                   .tokens = &archive->tokens};
    if (walk_read(&part, out, scratch, &inner) == 0)
        return 0;
    *out = (struct walk_changes){0};
    return !rule->text && inner.code == ERROR_INPUT ? 0 : fail_in(archive, opened->member, &inner);
}

/* Writes a part. It is unpacked again: until then only its text is kept. One that only states the
 * language was not read before. */
static int write_part(struct archive *archive, const struct opened_part *opened,
                      struct walk_changes *changes, struct arena *scratch) {
    const struct part_rule *rule = opened->rule;
    const struct encoding *encoding = &opened->encoding;
    const struct bytes bytes = opened->bytes;
    struct bytes_buffer out = {.arena = scratch,
                               .capacity = bytes.length + bytes.length / 4 +
                                           1}; /* so that it seldom grows */
    if (!rule->text && read_part(archive, opened, scratch, scratch, changes) != 0)
        return -1;
    if (changes->count == 0)
        return 0;
    out.bytes = arena_alloc(scratch, out.capacity, 1);
    if (!out.bytes)
        return error_memory(archive->err);
    bytes_put(&out, "", 0);
    struct walk_writing writing = {archive->writing, archive->document->language,
                                   archive->document->bilingual, false};
    if (walk_write(bytes, changes, &writing, &out, archive->err) != 0)
        return -1;
    archive->changes->accepted |= writing.accepted;
    struct bytes written = {out.bytes, out.length};
    if (bytes_same(written, bytes))
        return 0;
    if (*encoding->name &&
        encoding_write(written, encoding, true, scratch, &written, archive->err) < 0)
        return -1;
    return zip_pack(opened->member, written, archive->arena, archive->err);
}

/* Reads all parts with text, or writes all parts. The memory of one part is freed before the next.
 */
static int take_parts(struct archive *archive) {
    struct arena scratch;
    int result = 0;
    arena_init(&scratch, SCRATCH_BLOCK_BYTES);
    arena_limit(&scratch, archive->arena->budget);
    for (size_t i = 0; i < archive->zip.count && result == 0; i++) {
        struct zip_member *member = &archive->zip.members[i];
        const struct part_rule *rule = find_rule(archive->document->family, member->name);
        struct walk_changes changes = archive->found[i];
        struct opened_part part = {.member = member, .rule = rule};
        if (!rule ||
            (rule->text ? archive->writing && changes.count == 0 : archive->builder != NULL))
            continue;
        int opened = open_part(archive, member, rule, &scratch, &part.encoding, &part.bytes);
        if (opened > 0 && archive->builder)
            result = read_part(archive, &part, archive->arena, &scratch, &archive->found[i]);
        else if (opened > 0)
            result = write_part(archive, &part, &changes, &scratch);
        else
            result = opened;
        bool slow = arena_bytes(&scratch) >
                    LARGE_SCRATCH_BYTES; /* the kernel frees 5 MB in a millisecond */
        if (slow)
            budget_away(scratch.budget, true);
        arena_done(&scratch);
        if (slow)
            budget_away(scratch.budget, false);
    }
    arena_limit(&scratch, NULL);
    return result;
}

int office_read(const struct office_document *document, struct arena *arena, struct markup *out,
                struct error *err) {
    struct piece_builder builder = {.arena = arena, .most = OFFICE_MOST_PIECES};
    struct office_archive *kept = arena_zalloc(arena, 1, sizeof *kept);
    struct archive archive;
    if (!kept)
        return error_memory(err);
    if (open_archive(&archive, document, arena, &kept->changes, err) != 0)
        return -1;
    archive.builder = &builder;
    archive.found = kept->found = arena_zalloc(arena, archive.zip.count, sizeof *kept->found);
    if (!archive.found)
        return error_memory(err);
    if (take_parts(&archive) != 0 || piece_build(&builder, NULL, out, err) != 0)
        return -1;
    kept->document = *document;
    kept->zip = archive.zip;
    out->archive = kept;
    return 0;
}

/* Drops the signatures, which would be invalid. */
static int drop_signatures(struct archive *archive) {
    static const char *const signatures[] = {"_xmlsignatures/", "META-INF/documentsignatures.xml",
                                             "META-INF/macrosignatures.xml",
                                             "META-INF/signatures.xml"};
    const struct office_family *family = archive->document->family;
    for (size_t i = 0; i < archive->zip.count; i++) {
        struct zip_member *member = &archive->zip.members[i];
        for (size_t k = 0; k < sizeof signatures / sizeof *signatures; k++)
            member->dropped |= begins(member->name, signatures[k]);
        archive->changes->signatures |= member->dropped;
    }
    if (!archive->changes->signatures || family->odf || family->epub)
        return 0;
    return drop_references(archive, "_rels/.rels", "/digital-signature/") != 0 ||
                   drop_references(archive, "[Content_Types].xml", "/_xmlsignatures/") != 0
               ? -1
               : 0;
}

char *office_write(const struct markup *markup, const struct markup_translation *translations,
                   struct arena *arena, size_t *out_length, struct office_changes *changes,
                   struct error *err) {
    const struct office_archive *kept = markup->archive;
    const struct bytes source = kept->document.bytes;
    struct markup_writing writing = {.markup = markup, .translations = translations};
    struct archive archive = {.document = &kept->document,
                              .zip = kept->zip,
                              .found = kept->found,
                              .writing = &writing,
                              .changes = changes,
                              .arena = arena,
                              .err = err};
    bool any = false;
    for (size_t i = 0; i < markup->count && !any; i++)
        any = translations[i].text != NULL;
    *changes = kept->changes;
    if (!any) {
        char *same = arena_copy(arena, source.start, source.length);
        *out_length = source.length;
        return same ? same : (error_memory(err), NULL);
    }
    archive.zip.members = arena_alloc(arena, kept->zip.count, sizeof *archive.zip.members);
    if (!archive.zip.members)
        return error_memory(err), NULL;
    memcpy(archive.zip.members, kept->zip.members, kept->zip.count * sizeof *archive.zip.members);
    if (drop_signatures(&archive) != 0 || take_parts(&archive) != 0)
        return NULL;
    return zip_write(&archive.zip, arena, out_length, err);
}
