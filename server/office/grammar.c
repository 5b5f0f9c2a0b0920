/* The tables of formats: OOXML (ECMA-376), OpenDocument 1.3, EPUB 2 and 3. */
#include "server/office/grammar.h"
#include "server/markup/piece.h"
#include <ctype.h>
#include <strings.h>

/* ---- OOXML ---- */

static const struct space_row ooxml_spaces[] = {
    {"wordprocessingml", "/main", "w"}, {"drawingml", "/main", "a"}, {"spreadsheetml", "/main", "x"}, {NULL, NULL, NULL}};

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
    {"w:del w:moveFrom w:proofErr w:lastRenderedPageBreak w:softHyphen w:moveFromRangeStart w:moveFromRangeEnd "
     "w:moveToRangeStart w:moveToRangeEnd x:rPh x:phoneticPr",
     ROLE_DROPPED},
    {"w:br w:cr w:tab w:ptab a:br", ROLE_BREAK},
    {"w:noBreakHyphen", ROLE_HYPHEN},
    {"w:bookmarkStart w:commentRangeStart w:permStart", ROLE_RANGE_START},
    {"w:bookmarkEnd w:commentRangeEnd w:permEnd", ROLE_RANGE_END},
    {"w:fldChar", ROLE_FIELD},
    {"w:footnoteReference w:endnoteReference w:commentReference w:footnoteRef w:endnoteRef w:annotationRef", ROLE_ALONE},
    {NULL, ROLE_NONE}};

static const struct language_row ooxml_languages[] = {{"w:lang w:themeFontLang", "val", LANGUAGE_WHOLE},
                                                      {"w:lang w:themeFontLang", "eastAsia", LANGUAGE_EAST},
                                                      {"w:lang w:themeFontLang", "bidi", LANGUAGE_COMPLEX},
                                                      {"a:rPr a:endParaRPr", "lang", LANGUAGE_WHOLE},
                                                      {NULL, NULL, LANGUAGE_WHOLE}};

static const struct grammar ooxml = {.roles = ooxml_roles,
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
    {"ppt/slides/", "slide", ".xml", &ooxml, true},     {"ppt/notesSlides/", "notesSlide", ".xml", &ooxml, true},
    {"ppt/charts/", "chart", ".xml", &ooxml, true},     {"ppt/diagrams/", "data", ".xml", &ooxml, true},
    {"ppt/diagrams/", "drawing", ".xml", &ooxml, true}, {NULL, NULL, NULL, NULL, false}};
const struct office_family office_pptx = {"pptx", pptx_rules, "ppt/", false, false};

static const struct part_rule xlsx_rules[] = {
    {"xl/", "sharedStrings", ".xml", &ooxml, true},    {"xl/worksheets/", "", ".xml", &ooxml, true},
    {"xl/", "comments", ".xml", &ooxml, true},         {"xl/drawings/", "drawing", ".xml", &ooxml, true},
    {"xl/charts/", "chart", ".xml", &ooxml, true},     {"xl/diagrams/", "data", ".xml", &ooxml, true},
    {"xl/diagrams/", "drawing", ".xml", &ooxml, true}, {NULL, NULL, NULL, NULL, false}};
const struct office_family office_xlsx = {"xlsx", xlsx_rules, "xl/", false, false};

/* ---- OpenDocument ---- */

static const struct space_row odf_spaces[] = {{"opendocument", ":text:1.0", "text"},
                                              {"opendocument", ":table:1.0", "table"},
                                              {"opendocument", ":office:1.0", "office"},
                                              {"opendocument", ":style:1.0", "style"},
                                              {NULL, NULL, NULL}};

static const struct role_row odf_roles[] = {{"text:p text:h", ROLE_PARAGRAPH},
                                            {"text:span text:a text:meta text:meta-field", ROLE_CONTAINER},
                                            {"text:s", ROLE_SPACE},
                                            {"text:tab text:line-break", ROLE_BREAK},
                                            {"text:soft-page-break", ROLE_DROPPED},
                                            {"text:bookmark-start text:reference-mark-start", ROLE_RANGE_START},
                                            {"text:bookmark-end text:reference-mark-end", ROLE_RANGE_END},
                                            {"text:tracked-changes office:annotation", ROLE_OPAQUE},
                                            {NULL, ROLE_NONE}};

static const struct language_row odf_languages[] = {{"style:text-properties", "language", LANGUAGE_PRIMARY},
                                                    {"style:text-properties", "country", LANGUAGE_REGION},
                                                    {NULL, NULL, LANGUAGE_WHOLE}};

static const struct grammar odf = {
    .roles = odf_roles, .spaces = odf_spaces, .languages = odf_languages, .mixed = true, .key = "name", .line_break = "line-break"};

static const struct part_rule odf_rules[] = {
    {"", "content", ".xml", &odf, true}, {"", "styles", ".xml", &odf, true}, {NULL, NULL, NULL, NULL, false}};
const struct office_family office_odf = {"OpenDocument", odf_rules, "content.xml", true, false};

/* ---- EPUB ---- */

static const struct role_row html_roles[] = {{NULL, ROLE_NONE}}; /* by server/markup's table of elements */
static const struct space_row no_spaces[] = {{NULL, NULL, NULL}};
static const struct language_row html_languages[] = {{NULL, "lang", LANGUAGE_WHOLE}, {NULL, NULL, LANGUAGE_WHOLE}};
static const struct language_row no_languages[] = {{NULL, NULL, LANGUAGE_WHOLE}};

static const struct grammar xhtml = {.roles = html_roles,
                                     .spaces = no_spaces,
                                     .languages = html_languages,
                                     .mixed = true,
                                     .html = true,
                                     .doctype = true,
                                     .root = "html"};

static const struct role_row ncx_roles[] = {{"text", ROLE_PARAGRAPH}, {NULL, ROLE_NONE}};
static const struct space_row ncx_spaces[] = {{"daisy.org", "/ncx/", ""}, {NULL, NULL, NULL}};
static const struct grammar ncx = {
    .roles = ncx_roles, .spaces = ncx_spaces, .languages = html_languages, .mixed = true, .doctype = true, .root = "ncx"};

static const struct role_row package_roles[] = {{"dc:language", ROLE_LANGUAGE}, {NULL, ROLE_NONE}};
static const struct space_row package_spaces[] = {{"purl.org/dc/elements", "/1.1/", "dc"}, {NULL, NULL, NULL}};
static const struct grammar package = {
    .roles = package_roles, .spaces = package_spaces, .languages = no_languages, .doctype = true, .root = "package"};

static const struct part_rule epub_rules[] = {{NULL, "", ".xhtml .html .htm .xml", &xhtml, true},
                                              {NULL, "", ".ncx", &ncx, true},
                                              {NULL, "", ".opf", &package, false},
                                              {NULL, NULL, NULL, NULL, false}};
const struct office_family office_epub = {"epub", epub_rules, "", false, true};

/* ---- parts and roles ---- */

static bool begins(struct html_bytes name, const char *with) {
    size_t length = strlen(with);
    return name.length >= length && strncasecmp(name.start, with, length) == 0;
}

static bool ends_with_one(struct html_bytes name, const char *list) {
    for (const char *at = list; *at; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        if (name.length > length && strncasecmp(name.start + name.length - length, at, length) == 0)
            return true;
        at += length;
    }
    return false;
}

const struct part_rule *office_rule(const struct office_family *family, struct html_bytes name) {
    const char *slash = memrchr(name.start, '/', name.length);
    struct html_bytes folder = {name.start, slash ? (size_t)(slash + 1 - name.start) : 0};
    struct html_bytes file = {name.start + folder.length, name.length - folder.length};
    if (family->epub && begins(name, "META-INF/"))
        return NULL;
    for (const struct part_rule *rule = family->rules; rule->grammar; rule++)
        if ((!rule->folder || (strlen(rule->folder) == folder.length && begins(folder, rule->folder))) &&
            begins(file, rule->begin) && ends_with_one(file, rule->ends))
            return rule;
    return NULL;
}

static enum role html_role(struct html_bytes name, const struct xml_token *tag) {
    char lower[16] = "";
    if (name.length >= sizeof lower)
        return ROLE_CONTAINER;
    for (size_t i = 0; i < name.length; i++)
        lower[i] = (char)tolower((unsigned char)name.start[i]);
    unsigned flags = html_element(lower);
    bool forbids = tag->kind != XML_END && html_attributes_forbid(tag->name.start + tag->name.length, tag->end);
    if (strcmp(lower, "br") == 0)
        return ROLE_BREAK;
    if (flags & ELEMENT_OPAQUE || forbids)
        return flags & ELEMENT_BLOCK || flags & ELEMENT_CODE ? ROLE_OPAQUE : ROLE_WORD;
    if (flags & ELEMENT_BLOCK)
        return ROLE_BOUNDARY;
    return flags & ELEMENT_VOID ? ROLE_NONE : ROLE_CONTAINER;
}

/* A cell of a spreadsheet that is a number, a date or the result of a formula has its text from there. */
static bool is_calculated(struct html_bytes name, const struct xml_token *tag) {
    struct html_bytes value;
    if (!bytes_are(name, "table:table-cell"))
        return false;
    return xml_attribute(tag, "formula", &value) || (xml_attribute(tag, "value-type", &value) && !bytes_are(value, "string"));
}

enum role grammar_role(const struct grammar *grammar, struct html_bytes canonical, const struct xml_token *tag) {
    if (grammar->html)
        return html_role(canonical, tag);
    for (const struct role_row *row = grammar->roles; row->names; row++)
        if (bytes_among(canonical, row->names))
            return row->role;
    return tag->kind == XML_START && is_calculated(canonical, tag) ? ROLE_OPAQUE : ROLE_NONE;
}
