/* Office documents and books: formats follow their words, and whatever holds no text stays. */
#include "tests/server/office/archives.h"
#include "tests/suites.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define P(content) "<w:p>" content "</w:p>"
#define T(text)    "<w:t xml:space=\"preserve\">" text "</w:t>"
#define R(text)    "<w:r><w:t xml:space=\"preserve\">" text "</w:t></w:r>"
#define B(text)    "<w:r><w:rPr><w:b/></w:rPr><w:t xml:space=\"preserve\">" text "</w:t></w:r>"
#define BODY(content)                                                                              \
    "<w:document "                                                                                 \
    "xmlns:w=\"http://schemas.openxmlformats.org/wordprocessingml/2006/main\">" content            \
    "</w:document>"
#define WORD(kind, before, after)                                                                  \
    archive_expect("docx", "word/document.xml", kind, BODY(before), BODY(after))

/* ---- docx ---- */

START_TEST(formats_follow_their_words) {
    WORD(FAKE_UPPER, P(R("a dog")), P(R("A DOG")));
    WORD(FAKE_REVERSED, P(R("a ") B("big dog") R(" sleeps here")),
         P(R("HERE SLEEPS ") B("DOG BIG") R(" A")));
    WORD(FAKE_REVERSED, P("<w:pPr><w:jc/></w:pPr>" B("One") R(" two three")),
         P("<w:pPr><w:jc/></w:pPr>" R("THREE TWO ") B("ONE")));
    WORD(FAKE_UPPER, P(R("12 ") B("34")), P(R("12 ") B("34"))); /* no words: as it was */
    WORD(FAKE_UPPER, P("<w:r><w:t>a &amp; b &lt; c</w:t></w:r>"), P(R("A &amp; B &lt; C")));
}
END_TEST

/* Runs that differ only in what proofing tools note are one. */
START_TEST(runs_merge) {
    WORD(FAKE_UPPER,
         P("<w:r w:rsidR=\"1\"><w:t xml:space=\"preserve\">a </w:t></w:r><w:proofErr "
           "w:type=\"spellStart\"/>"
           "<w:r><w:rPr><w:lang "
           "w:val=\"en-GB\"/></w:rPr><w:t>d</w:t></w:r><w:r><w:rPr><w:noProof/></w:rPr><w:t>og</"
           "w:t></w:r>"),
         P(R("A DOG")));
    WORD(FAKE_REVERSED,
         P(R("see a ") "<w:r><w:rPr><w:b/><w:lang "
                       "w:val=\"en-US\"/></w:rPr><w:t>big</w:t></w:r><w:r><w:rPr><w:b/></w:rPr>"
                       "<w:t xml:space=\"preserve\"> dog</w:t></w:r>" R(" now")),
         P(R("NOW ") B("DOG BIG") R(" A SEE")));
}
END_TEST

START_TEST(links_and_breaks) {
    WORD(FAKE_REVERSED,
         P(R("see ") "<w:hyperlink r:id=\"r1\">" B("the page") "</w:hyperlink>" R(" now please")),
         P(R("PLEASE NOW ") "<w:hyperlink r:id=\"r1\">" B("PAGE THE") "</w:hyperlink>" R(" SEE")));
    WORD(FAKE_REVERSED, P("<w:r><w:t>a b</w:t><w:tab/><w:t>c d</w:t><w:br/><w:t>12</w:t></w:r>"),
         P("<w:r><w:t xml:space=\"preserve\">B A</w:t><w:tab/><w:t xml:space=\"preserve\">D "
           "C</w:t><w:br/>"
           "<w:t xml:space=\"preserve\">12</w:t></w:r>"));
    WORD(FAKE_REVERSED, P(R("a dog") "<w:r><w:footnoteReference w:id=\"2\"/></w:r>" R(" runs")),
         P(R("RUNS DOG") "<w:r><w:footnoteReference w:id=\"2\"/></w:r>" R(" A")));
    WORD(FAKE_REVERSED,
         P("<w:bookmarkStart w:id=\"1\" w:name=\"b\"/>" R(
             "one two") "<w:bookmarkEnd w:id=\"1\"/>" R(" three")),
         P(R("THREE ") "<w:bookmarkStart w:id=\"1\" w:name=\"b\"/>" R(
             "TWO ONE") "<w:bookmarkEnd w:id=\"1\"/>"));
    WORD(FAKE_UPPER,
         P("<w:sdt><w:sdtPr><w:id/></w:sdtPr><w:sdtContent>" R("a dog") "</w:sdtContent></w:sdt>"),
         P("<w:sdt><w:sdtPr><w:id/></w:sdtPr><w:sdtContent>" R("A DOG") "</w:sdtContent></w:sdt>"));
}
END_TEST

#define MARK(type)        "<w:fldChar w:fldCharType=\"" type "\"/>"
#define FIELD(type)       "<w:r>" MARK(type) "</w:r>"
#define INSTRUCTION(text) "<w:instrText>" text "</w:instrText>"
#define CODE(text)        "<w:r>" INSTRUCTION(text) "</w:r>"

/* The result of a field is translated, and its code is not. */
START_TEST(fields) {
    WORD(FAKE_REVERSED,
         P(R("see ") FIELD("begin") CODE("REF a b") FIELD("separate") B("page one") FIELD("end")
               R(" now please")),
         P("<w:r>" T("PLEASE NOW ") MARK("begin") INSTRUCTION("REF a b")
               MARK("separate") "</w:r>" B("ONE PAGE") "<w:r>" MARK("end") T(" SEE") "</w:r>"));
    WORD(FAKE_REVERSED,
         P(R("page ") FIELD("begin") CODE("PAGE") FIELD("separate") R("3") FIELD("end")
               R(" of many")),
         P("<w:r>" T("MANY OF ") MARK("begin") INSTRUCTION("PAGE") MARK("separate") T("3")
               MARK("end") T(" PAGE") "</w:r>"));
    /* one that goes on in the next paragraph */
    WORD(FAKE_UPPER,
         P(FIELD("begin") CODE("TOC") FIELD("separate") R("a b")) P(R("c d") FIELD("end")),
         P("<w:r>" MARK("begin") INSTRUCTION("TOC") MARK("separate") T("A B") "</w:r>")
             P("<w:r>" T("C D") MARK("end") "</w:r>"));
    /* data from elsewhere */
    WORD(FAKE_UPPER,
         P(R("dear ") FIELD("begin") CODE(" MERGEFIELD name ") FIELD("separate")
               R("\u00abname\u00bb") FIELD("end") R(", hello")),
         P("<w:r>" T("DEAR ") MARK("begin") INSTRUCTION(" MERGEFIELD name ") MARK("separate")
               T("\u00abname\u00bb") MARK("end") T(", HELLO") "</w:r>"));
    WORD(FAKE_UPPER,
         P(R("dear ") "<w:fldSimple w:instr=\" mergefield x\">" R("x y") "</w:fldSimple>" R(
             " hello")),
         P(R("DEAR ") "<w:fldSimple w:instr=\" mergefield x\">" R("x y") "</w:fldSimple>" R(
             " HELLO")));
    WORD(FAKE_UPPER, P("<w:fldSimple w:instr=\"PAGE\">" R("3") "</w:fldSimple>" R(" pages")),
         P("<w:fldSimple w:instr=\"PAGE\">" R("3") "</w:fldSimple>" R(" PAGES")));
}
END_TEST

/* The accepted text is translated. */
START_TEST(tracked_changes) {
    struct arena arena;
    struct document_notes notes = {.arena = &arena};
    size_t length;
    char *bytes = archive_make(
        (const struct entry[]){
            {"word/document.xml",
             BODY(P(R("a ") "<w:del w:id=\"1\"><w:r><w:delText>cat"
                            "</w:delText></w:r></w:del><w:ins w:id=\"2\">" R("dog") "</w:ins>")),
             false},
            {NULL, NULL, false}},
        &length);
    arena_init(&arena, 1 << 14);
    struct bytes out = archive_translate(
        (struct document){
            .format = document_find("docx"), .source = bytes, .length = length, .notes = &notes},
        FAKE_UPPER, &arena);
    ck_assert_str_eq(archive_text(out, "word/document.xml", &arena), BODY(P(R("A DOG"))));
    ck_assert_uint_eq(notes.count, 1);
    ck_assert_str_eq(notes.all[0].code, "changed");
    ck_assert_uint_eq(notes.all[0].line, 0);
    arena_done(&arena);
    free(bytes);
}
END_TEST

#define BOXED(content) "<w:pict><w:txbxContent>" content "</w:txbxContent></w:pict>"
#define BOX(content)   "<w:r>" BOXED(content) "</w:r>"

/* Paragraphs in a paragraph: text boxes. */
START_TEST(text_boxes) {
    WORD(FAKE_REVERSED, P(R("one two") BOX(P(R("in a box")) P(R("12"))) R(" three")),
         P("<w:r>" T("THREE TWO") BOXED(P(R("BOX A IN")) P(R("12"))) T(" ONE") "</w:r>"));
    WORD(FAKE_REVERSED, P(BOX(P(R("in a box")))), P(BOX(P(R("BOX A IN")))));
    WORD(FAKE_UPPER,
         P("<w:r><w:pict>"
           "<w:t>a</w:t>"
           "</w:pict></w:r>" R("b")),
         P("<w:r><w:pict><w:t>a</w:t></w:pict>" T("B") "</w:r>"));
}
END_TEST

/* A document may call its namespaces as it likes. */
START_TEST(other_prefixes) {
    static const char head[] =
        "<n:document xmlns:n=\"http://purl.oclc.org/ooxml/wordprocessingml/main\">";
    char before[512], after[512];
    snprintf(before, sizeof before,
             "%s<n:p><n:r><n:rPr><n:b/></n:rPr><n:t>a</n:t></n:r></n:p></n:document>", head);
    snprintf(after, sizeof after,
             "%s<n:p><n:r><n:rPr><n:b/></n:rPr><n:t "
             "xml:space=\"preserve\">A</n:t></n:r></n:p></n:document>",
             head);
    archive_expect("docx", "word/document.xml", FAKE_UPPER, before, after);
}
END_TEST

START_TEST(language) {
    struct arena arena;
    size_t length;
    char *bytes = archive_make(
        (const struct entry[]){
            {"word/document.xml", BODY(P(R("a"))), false},
            {"word/styles.xml", BODY("<w:lang w:val=\"en-US\" w:eastAsia=\"ja-JP\"/>"), false},
            {NULL, NULL, false}},
        &length);
    arena_init(&arena, 1 << 14);
    struct document document = {
        .format = document_find("docx"), .source = bytes, .length = length, .language = "pt-BR"};
    struct bytes out = archive_translate(document, FAKE_UPPER, &arena);
    ck_assert_str_eq(archive_text(out, "word/styles.xml", &arena),
                     BODY("<w:lang w:val=\"pt-BR\" w:eastAsia=\"ja-JP\"/>"));
    arena_done(&arena);
    free(bytes);
}
END_TEST

START_TEST(both_languages) {
    struct arena arena;
    size_t length;
    char *bytes = archive_make(
        (const struct entry[]){
            {"word/document.xml",
             BODY(P("<w:pPr><w:jc/></w:pPr>" R("a ")
                        B("dog") "<w:r><w:footnoteReference w:id=\"2\"/></w:r>" R(" runs here now"))
                      P(R("12"))),
             false},
            {NULL, NULL, false}},
        &length);
    arena_init(&arena, 1 << 14);
    struct document document = {
        .format = document_find("docx"), .source = bytes, .length = length, .bilingual = true};
    struct bytes out = archive_translate(document, FAKE_UPPER, &arena);
    ck_assert_str_eq(archive_text(out, "word/document.xml", &arena),
                     BODY(P("<w:pPr><w:jc/></w:pPr>" R("a ")
                                B("dog") "<w:r><w:footnoteReference w:id=\"2\"/></w:r>" R(
                                    " runs here now") "<w:r><w:br/></w:r>" R("A ") B("DOG")
                                    R(" RUNS HERE NOW")) P(R("12"))));
    arena_done(&arena);
    free(bytes);
}
END_TEST

/* ---- pptx and xlsx ---- */

START_TEST(slides) {
    archive_expect("pptx", "ppt/slides/slide1.xml", FAKE_REVERSED,
                   "<p:sld><a:p><a:pPr/><a:r><a:rPr lang=\"en-US\" b=\"1\" "
                   "dirty=\"0\"/><a:t>big</a:t></a:r><a:r>"
                   "<a:rPr lang=\"en-US\" dirty=\"0\" err=\"1\"/><a:t> dogs run "
                   "far</a:t></a:r><a:br/><a:fld><a:t>x</a:t></a:fld>"
                   "<a:endParaRPr lang=\"en-US\"/></a:p></p:sld>",
                   "<p:sld><a:p><a:pPr/><a:r><a:rPr lang=\"fr\"/><a:t>FAR RUN DOGS "
                   "</a:t></a:r><a:r><a:rPr lang=\"fr\" b=\"1\"/>"
                   "<a:t>BIG</a:t></a:r><a:br/><a:fld><a:t>x</a:t></a:fld><a:endParaRPr "
                   "lang=\"fr\"/></a:p></p:sld>");
}
END_TEST

START_TEST(sheets) {
    archive_expect("xlsx", "xl/sharedStrings.xml", FAKE_UPPER,
                   "<sst><si><t>a dog</t></si><si><r><t xml:space=\"preserve\">big "
                   "</t></r><r><rPr><b/></rPr><t>cat</t></r></si>"
                   "<si><t>12</t></si></sst>",
                   "<sst><si><t>a dog</t></si><si><r><t xml:space=\"preserve\">big "
                   "</t></r><r><rPr><b/></rPr><t>cat</t></r></si>"
                   "<si><t>12</t></si></sst>"); /* of no namespace that is known */
#define SST(content)                                                                               \
    "<sst xmlns=\"http://schemas.openxmlformats.org/spreadsheetml/2006/main\">" content "</sst>"
    archive_expect("xlsx", "xl/sharedStrings.xml", FAKE_UPPER,
                   SST("<si><t>a dog</t></si><si><r><t xml:space=\"preserve\">a big "
                       "</t></r><r><rPr><b/></rPr><t>cat</t></r></si>"
                       "<si><t>12</t></si>"),
                   SST("<si><t xml:space=\"preserve\">A DOG</t></si><si><r><t "
                       "xml:space=\"preserve\">A BIG </t></r><r><rPr><b/></rPr>"
                       "<t xml:space=\"preserve\">CAT</t></r></si><si><t>12</t></si>"));
    archive_expect(
        "xlsx", "xl/worksheets/sheet1.xml", FAKE_UPPER,
        "<x:worksheet xmlns:x=\"http://schemas.openxmlformats.org/spreadsheetml/2006/main\"><x:c "
        "t=\"inlineStr\"><x:f>a</x:f>"
        "<x:is><x:t>a dog</x:t></x:is></x:c></x:worksheet>",
        "<x:worksheet xmlns:x=\"http://schemas.openxmlformats.org/spreadsheetml/2006/main\"><x:c "
        "t=\"inlineStr\"><x:f>a</x:f>"
        "<x:is><x:t xml:space=\"preserve\">A DOG</x:t></x:is></x:c></x:worksheet>");
}
END_TEST

/* A sheet has both on one line, a slide and a cell of OpenDocument on two. */
START_TEST(slides_and_sheets_in_both_languages) {
    static const struct {
        const char *format, *part, *source, *both;
    } rows[] = {
        {"xlsx", "xl/sharedStrings.xml",
         SST("<si><t>a dog</t></si><si><r><t xml:space=\"preserve\">big </t></r><r><rPr><b/></rPr>"
             "<t>cat</t></r></si><si><t>12</t></si><si><t>x y</t><phoneticPr/></si>"),
         SST("<si><r><t>a dog</t></r><r><t xml:space=\"preserve\"> / </t></r><r><t "
             "xml:space=\"preserve\">A DOG</t></r></si><si><r><t xml:space=\"preserve\">big "
             "</t></r><r><rPr><b/></rPr><t>cat</t></r><r><t xml:space=\"preserve\"> / "
             "</t></r><r><t "
             "xml:space=\"preserve\">BIG </t></r><r><rPr><b/></rPr><t "
             "xml:space=\"preserve\">CAT</t></r></si><si><t>12</t></si><si><t>x "
             "y</t><phoneticPr/></si>")},
        {"pptx", "ppt/slides/slide1.xml",
         "<p:sld><a:p><a:r><a:t>a dog</a:t></a:r><a:endParaRPr lang=\"en-US\"/></a:p></p:sld>",
         "<p:sld><a:p><a:r><a:t>a dog</a:t></a:r><a:br/><a:r><a:t>A DOG</a:t></a:r><a:endParaRPr "
         "lang=\"fr\"/></a:p></p:sld>"},
        {"ods", "content.xml",
         "<office:document-content><text:p>a dog</text:p></office:document-content>",
         "<office:document-content><text:p>a dog<text:line-break/>A "
         "DOG</text:p></office:document-content>"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena;
        size_t length;
        char *bytes = archive_make(
            (const struct entry[]){{rows[i].part, rows[i].source, false}, {NULL, NULL, false}},
            &length);
        arena_init(&arena, 1 << 14);
        struct bytes out =
            archive_translate((struct document){.format = document_find(rows[i].format),
                                                .source = bytes,
                                                .length = length,
                                                .bilingual = BILINGUAL_BELOW},
                              FAKE_UPPER, &arena);
        ck_assert_str_eq(archive_text(out, rows[i].part, &arena), rows[i].both);
        arena_done(&arena);
        free(bytes);
    }
}
END_TEST

/* Line ends, tabs and columns of spaces in a text separate texts, and are written as they were. */
START_TEST(layout_in_texts) {
    static const struct {
        const char *before, *after;
    } cases[] = {
        {"a b\nc d\n\n12", "B A\nD C\n\n12"},
        {"a b&#10;c d&#x9;e f", "B A&#10;D C&#x9;F E"},
        {"a b_x000D_\nc d", "B A_x000D_\nD C"},
        {"a b_x00e9_ c d", "D C B_X00E9_ A"}, /* a letter */
        {"a b\u2028c d", "B A\u2028D C"},
        {"  a b:   c d ", "  B: A   D C "},
        {"a &lt;\n &amp; b", "&lt; A\n B &amp;"},
        {"- a b\n- c d\n", "B A -\nD C -\n"},
    };
    char before[256], after[256];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(before, sizeof before, SST("<si><t xml:space=\"preserve\">%s</t></si>"),
                 cases[i].before);
        snprintf(after, sizeof after, SST("<si><t xml:space=\"preserve\">%s</t></si>"),
                 cases[i].after);
        archive_expect("xlsx", "xl/sharedStrings.xml", FAKE_REVERSED, before, after);
    }
    archive_expect("xlsx", "xl/comments1.xml", FAKE_REVERSED,
                   SST("<text><r><rPr><b/></rPr><t>a b:</t></r><r><t>\nc d</t></r></text>"),
                   SST("<text><r><rPr><b/></rPr><t xml:space=\"preserve\">B: A</t></r><r><t "
                       "xml:space=\"preserve\">\nD C</t></r></text>"));
    WORD(FAKE_REVERSED, P("<w:r><w:t><![CDATA[a\t&#10; b]]></w:t></w:r>"), P(R("A\tB &amp;#10;")));
    WORD(FAKE_UPPER, P(R("a ") B("b  c")), P(R("A ") B("B  C")));
}
END_TEST

/* Formulas refer to columns of tables by their names. */
START_TEST(names_of_columns) {
    struct arena arena;
    struct document_notes notes = {.arena = &arena};
    size_t length;
    char *bytes = archive_make(
        (const struct entry[]){
            {"xl/sharedStrings.xml",
             SST("<si><t>Big\n</t><r><t>price</t></r></si><si><t>a dog</t></si>"), false},
            {"xl/tables/table1.xml",
             "<table><tableColumn id=\"1\" name=\"Big_x000a_price\"/></table>", false},
            {"xl/tables/", "", true},
            {NULL, NULL, false}},
        &length);
    arena_init(&arena, 1 << 14);
    struct bytes out = archive_translate(
        (struct document){
            .format = document_find("xlsx"), .source = bytes, .length = length, .notes = &notes},
        FAKE_UPPER, &arena);
    ck_assert_str_eq(archive_text(out, "xl/sharedStrings.xml", &arena),
                     SST("<si><t>Big\n</t><r><t>price</t></r></si><si><t xml:space=\"preserve\">A "
                         "DOG</t></si>"));
    ck_assert_uint_eq(notes.count, 1);
    arena_done(&arena);
    free(bytes);
}
END_TEST

/* Formulas and lists of choices compare cells with literals. */
START_TEST(literals_of_formulas) {
    static const char sheet[] =
        "<worksheet><c><f>IF(A1=\"Big dog\",1,\"\")</f></c><formula1>&quot;red,dark "
        "blue&quot;</formula1></worksheet>";
    struct arena arena;
    struct document_notes notes = {.arena = &arena};
    size_t length;
    char *bytes = archive_make(
        (const struct entry[]){
            {"xl/sharedStrings.xml",
             SST("<si><t>Big dog</t></si><si><t>dark blue</t></si><si><t>a big dog</t></si>"),
             false},
            {"xl/worksheets/sheet1.xml", sheet, false},
            {NULL, NULL, false}},
        &length);
    arena_init(&arena, 1 << 14);
    struct bytes out = archive_translate(
        (struct document){
            .format = document_find("xlsx"), .source = bytes, .length = length, .notes = &notes},
        FAKE_UPPER, &arena);
    ck_assert_str_eq(archive_text(out, "xl/sharedStrings.xml", &arena),
                     SST("<si><t>Big dog</t></si><si><t>dark blue</t></si><si><t "
                         "xml:space=\"preserve\">A BIG DOG</t></si>"));
    ck_assert_str_eq(archive_text(out, "xl/worksheets/sheet1.xml", &arena), sheet);
    ck_assert_uint_eq(notes.count, 1);
    arena_done(&arena);
    free(bytes);
}
END_TEST

/* ---- OpenDocument ---- */

#define ODF(content) "<office:document-content>" content "</office:document-content>"
#define TEXT(kind, before, after)                                                                  \
    archive_expect("odt", "content.xml", kind, ODF(before), ODF(after))

/* Formulas, rules of validity and conditions of formats compare cells with literals. */
START_TEST(literals_of_open_formulas) {
#define CELL(text)                                                                                 \
    "<table:table-cell office:value-type=\"string\"><text:p>" text "</text:p></table:table-cell>"
#define RULE(value)                                                                                \
    "<table:content-validation "                                                                   \
    "table:condition=\"of:cell-content-is-in-list(&quot;red&quot;;&quot;dark blue&quot;)\"/>"      \
    "<style:map style:condition=\"cell-content()=&quot;late&quot;\"/>"                             \
    "<table:table-cell table:formula=\"of:=IF([.A1]=&quot;Big dog&quot;;1;0)\"><text:p>a "         \
    "value</text:p></table:table-cell>" value
    static const char before[] = ODF(RULE(CELL("Big dog") CELL("dark blue") CELL("late")
                                              CELL("it is late") CELL("Big <text:s/>dog"))),
                      after[] = ODF(RULE(CELL("Big dog") CELL("dark blue") CELL("late")
                                             CELL("IT IS LATE") CELL("Big <text:s/>dog")));
    struct arena arena;
    struct document_notes notes = {.arena = &arena};
    size_t length;
    char *bytes = archive_make(
        (const struct entry[]){{"content.xml", before, false}, {NULL, NULL, false}}, &length);
    arena_init(&arena, 1 << 14);
    struct bytes out = archive_translate(
        (struct document){
            .format = document_find("ods"), .source = bytes, .length = length, .notes = &notes},
        FAKE_UPPER, &arena);
    ck_assert_str_eq(archive_text(out, "content.xml", &arena), after);
    ck_assert_uint_eq(notes.count, 1);
    ck_assert_str_eq(notes.all[0].code, "changed");
    arena_done(&arena);
    free(bytes);
#undef CELL
#undef RULE
}
END_TEST

START_TEST(open_document) {
    TEXT(FAKE_REVERSED,
         "<text:p text:style-name=\"P1\">a <text:span text:style-name=\"T1\">big dog</text:span> "
         "runs here</text:p>",
         "<text:p text:style-name=\"P1\">HERE RUNS <text:span text:style-name=\"T1\">DOG "
         "BIG</text:span> A</text:p>");
    TEXT(FAKE_REVERSED,
         "<text:h>a b<text:tab/>c<text:s text:c=\"2\"/>d<text:line-break/>12</text:h>",
         "<text:h>B A<text:tab/>D C<text:s text:c=\"2\"/><text:line-break/>12</text:h>");
    TEXT(FAKE_REVERSED,
         "<text:p>a "
         "dog<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>it is "
         "big</text:p>"
         "</text:note-body></text:note> runs</text:p>",
         "<text:p>RUNS "
         "DOG<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>BIG IS "
         "IT</text:p>"
         "</text:note-body></text:note> A</text:p>");
    TEXT(FAKE_UPPER,
         "<text:tracked-changes><text:p>old</text:p></text:tracked-changes><text:p/"
         "><text:p>a<office:annotation><text:p>why</text:p>"
         "</office:annotation></text:p>",
         "<text:tracked-changes><text:p>old</text:p></text:tracked-changes><text:p/"
         "><text:p>A<office:annotation><text:p>why</text:p>"
         "</office:annotation></text:p>");
    TEXT(
        FAKE_UPPER,
        "<table:table-cell office:value-type=\"date\"><text:p>May 1</text:p></table:table-cell>"
        "<table:table-cell office:value-type=\"string\"><text:p>May 1</text:p></table:table-cell>",
        "<table:table-cell office:value-type=\"date\"><text:p>May 1</text:p></table:table-cell>"
        "<table:table-cell office:value-type=\"string\"><text:p>MAY 1</text:p></table:table-cell>");
    TEXT(FAKE_REVERSED, "<text:p><text:s text:c=\"4\"/>a b <text:s text:c=\"5\"/>c</text:p>",
         "<text:p><text:s text:c=\"4\"/>B A <text:s text:c=\"5\"/>C</text:p>");
    TEXT(FAKE_UPPER, "<text:p>a <text:s/>b<text:s/>c</text:p>",
         "<text:p>A <text:s/>B<text:s/>C</text:p>");
    TEXT(FAKE_UPPER,
         "<style:text-properties fo:language=\"en\" fo:country=\"US\"/><text:p>a</text:p>",
         "<style:text-properties fo:language=\"fr\" fo:country=\"none\"/><text:p>A</text:p>");
}
END_TEST

/* ---- EPUB ---- */

#define PAGE(kind, before, after)                                                                  \
    archive_expect("epub", "OEBPS/a.xhtml", kind, "<html>" before "</html>",                       \
                   "<html>" after "</html>")

START_TEST(books) {
    PAGE(FAKE_REVERSED,
         "<head><title>A book</title><style>p {}</style></head><body><p>a <em>big dog</em> "
         "runs<br/>far away</p></body>",
         "<head><title>BOOK A</title><style>p {}</style></head><body><p>RUNS <em>DOG BIG</em> "
         "A<br/>AWAY FAR</p></body>");
    PAGE(FAKE_REVERSED, "<body><div>one two<p>a <img src=\"x\"/> b</p>three four</div></body>",
         "<body><div>TWO ONE<p>B A <img src=\"x\"/></p>FOUR THREE</div></body>");
    PAGE(FAKE_REVERSED,
         "<body><p>a dog<a href=\"#n\"><sup>1</sup></a> runs</p><pre>a b</pre><p>see "
         "<code>x</code> now</p></body>",
         "<body><p>RUNS DOG<a href=\"#n\"><sup>1</sup></a> A</p><pre>a b</pre><p>NOW "
         "<code>x</code> SEE</p></body>");
    PAGE(FAKE_UPPER,
         "<body><p>a&#160;b &eacute; &mdash; c</p><p lang=\"en\" translate=\"no\">x</p></body>",
         "<body><p>A\u00a0B \u00e9 \u2014 C</p><p lang=\"en\" translate=\"no\">x</p></body>");
    archive_expect("epub", "a.xml", FAKE_UPPER,
                   "<h:html xmlns:h=\"http://www.w3.org/1999/xhtml\"><h:p>a</h:p></h:html>",
                   "<h:html xmlns:h=\"http://www.w3.org/1999/xhtml\"><h:p>A</h:p></h:html>");
    archive_expect("epub", "a.xhtml", FAKE_UPPER,
                   "<?xml version='1.0' encoding='iso-8859-2'?><html><p>\xb9 a</p></html>",
                   "<?xml version='1.0' encoding='iso-8859-2'?><html><p>\xb9 A</p></html>");
    archive_expect("epub", "a.xml", FAKE_UPPER, "<other><p>a</p></other>",
                   "<other><p>a</p></other>");
    archive_expect("epub", "a.opf", FAKE_UPPER, "<package/>", "<package/>");
    archive_expect("epub", "a.opf", FAKE_UPPER,
                   "<package><dc:title id=\"t\">a b</dc:title><dc:creator>c</dc:creator>"
                   "<dc:description>&lt;p&gt;d&lt;/p&gt;</dc:description></package>",
                   "<package><dc:title id=\"t\">A B</dc:title><dc:creator>c</dc:creator>"
                   "<dc:description>&lt;p&gt;d&lt;/p&gt;</dc:description></package>");
    PAGE(FAKE_REVERSED,
         "<body><p title='one two'>a <img lang=\"de\" alt='b \"c\"' src=\"x\"/> d</p><img "
         "alt=\"\"/></body>",
         "<body><p title=\"TWO ONE\">D A <img lang=\"de\" alt=\"&quot;C&quot; B\" "
         "src=\"x\"/></p><img "
         "alt=\"\"/></body>");
    archive_expect("epub", "a.ncx", FAKE_UPPER, "<ncx><navLabel><text>a b</text></navLabel></ncx>",
                   "<ncx><navLabel><text>A B</text></navLabel></ncx>");
    archive_expect("epub", "a.xhtml", FAKE_UPPER,
                   "<!DOCTYPE html [<!ENTITY x \"y\">]><html lang=\"en-US\"><body><p "
                   "lang=\"en\">a</p><p lang=\"de\">b</p></body></html>",
                   "<!DOCTYPE html [<!ENTITY x \"y\">]><html lang=\"fr\"><body><p "
                   "lang=\"fr\">A</p><p lang=\"de\">B</p></body></html>");
}
END_TEST

START_TEST(language_of_a_book) {
    struct arena arena;
    size_t length;
    char *bytes = archive_make(
        (const struct entry[]){{"a.xhtml", "<html><body>a</body></html>", false},
                               {"b.opf", "<package><dc:language>en</dc:language></package>", false},
                               {NULL, NULL, false}},
        &length);
    arena_init(&arena, 1 << 14);
    struct bytes out = archive_translate(
        (struct document){.format = document_find("epub"), .source = bytes, .length = length},
        FAKE_UPPER, &arena);
    ck_assert_str_eq(archive_text(out, "b.opf", &arena),
                     "<package><dc:language>fr</dc:language></package>");
    arena_done(&arena);
    free(bytes);
}
END_TEST

/* Each translation is a paragraph of its own, without ids, pictures and notes; what cannot hold two
 * paragraphs has both in one. */
START_TEST(books_in_both_languages) {
    struct arena arena;
    size_t length;
    char *bytes = archive_make(
        (const struct entry[]){
            {"a.xhtml",
             "<html><title>a b</title><body><p class=\"c\" id=\"d\">a <b id=\"e\">dog</b> <img "
             "alt=\"a cat\"/></p><p>12</p><p>A</p><h1>one "
             "two</h1><ul><li>three<p><ruby>four<rt>4</rt></ruby></p></li></ul>"
             "<nav><a>five</a></nav></body></html>",
             false},
            {"b.opf", "<package><dc:title>a b</dc:title></package>", false},
            {"c.xhtml",
             "<html><body><switch xmlns=\"o\"><default><p xmlns=\"http://www.w3.org/1999/xhtml\">a "
             "dog</p></default></switch></body></html>",
             false},
            {NULL, NULL, false}},
        &length);
    arena_init(&arena, 1 << 14);
    struct bytes out = archive_translate((struct document){.format = document_find("epub"),
                                                           .source = bytes,
                                                           .length = length,
                                                           .bilingual = BILINGUAL_BELOW},
                                         FAKE_UPPER, &arena);
#define BELOW " lang=\"fr\" xml:lang=\"fr\" class=\""
    ck_assert_str_eq(
        archive_text(out, "a.xhtml", &arena),
        "<html><title>a b</title><body><p class=\"c\" id=\"d\">a <b id=\"e\">dog</b> <img "
        "alt=\"a cat\"/></p>\n<p" BELOW "c translation\">A <b>DOG</b> </p><p>12</p><p>A</p>"
        "<h1>one two<br/><span" BELOW
        "translation\">ONE TWO</span></h1><ul><li>three<br/><span" BELOW
        "translation\">THREE</span><p><ruby>four<rt>4</rt></ruby></p>\n<p" BELOW
        "translation\">FOUR</p></li></ul>"
        "<nav><a>five</a></nav></body></html>");
    ck_assert_str_eq(archive_text(out, "b.opf", &arena),
                     "<package><dc:title>a b</dc:title></package>");
    ck_assert_str_eq(/* the copy is of the namespace that only its source declares */
                     archive_text(out, "c.xhtml", &arena),
                     "<html><body><switch xmlns=\"o\"><default><p "
                     "xmlns=\"http://www.w3.org/1999/xhtml\">a "
                     "dog</p>\n<p xmlns=\"http://www.w3.org/1999/xhtml\"" BELOW
                     "translation\">A DOG</p></default></switch></body></html>");
    arena_done(&arena);
    free(bytes);
}
END_TEST

/* ---- archives ---- */

static const struct entry usual[] = {
    {"[Content_Types].xml", "<Types><Override PartName=\"/_xmlsignatures/sig1.xml\"/></Types>",
     true},
    {"word/document.xml", BODY(P(R("a dog"))), false},
    {"word/media/a.png", "not text at all", true},
    {"word/vbaProject.bin", "macros macros macros macros", false},
    {NULL, NULL, false}};

/* What is not translated has the same bytes; if nothing is, so has the whole. */
START_TEST(other_members_stay) {
    struct arena arena;
    size_t length, out_length;
    char *bytes = archive_make(usual, &length);
    struct document document = {.format = document_find("docx"),
                                .source = bytes,
                                .length = length,
                                .language = FAKE_LANGUAGE};
    struct markup html;
    arena_init(&arena, 1 << 14);
    struct bytes out = archive_translate(document, FAKE_UPPER, &arena);
    const char *media = memmem(bytes, length, "word/media", 10),
               *directory = memmem(bytes, length, "PK\1\2", 4);
    ck_assert_ptr_nonnull(memmem(out.start, out.length, media - 30,
                                 (size_t)(directory - media) + 30)); /* to the end of the last */
    ck_assert_mem_eq(out.start, bytes, 90);
    ck_assert_str_eq(archive_text(out, "word/vbaProject.bin", &arena),
                     "macros macros macros macros");

    ck_assert_int_eq(document_read(&document, &arena, &html, NULL), 0);
    ck_assert_uint_eq(html.count, 1);
    struct markup_translation none = {0};
    const char *same = document_write(&document, &html, &none, &arena, &out_length, NULL);
    ck_assert_uint_eq(out_length, length);
    ck_assert_mem_eq(same, bytes, length);
    arena_done(&arena);
    free(bytes);
}
END_TEST

START_TEST(signatures) {
    static const struct entry entries[] = {
        {"_rels/.rels",
         "<r><Relationship Type=\"x/digital-signature/origin\" Target=\"s\"/><Relationship "
         "Type=\"y\"/></r>",
         false},
        {"[Content_Types].xml",
         "<Types><Override PartName=\"/_xmlsignatures/sig1.xml\"/><Default/></Types>", false},
        {"_xmlsignatures/sig1.xml", "<s/>", false},
        {"word/document.xml", BODY(P(R("a dog"))), false},
        {NULL, NULL, false}};
    struct arena arena;
    struct document_notes notes = {.arena = &arena};
    size_t length;
    char *bytes = archive_make(entries, &length);
    arena_init(&arena, 1 << 14);
    struct bytes out = archive_translate(
        (struct document){
            .format = document_find("docx"), .source = bytes, .length = length, .notes = &notes},
        FAKE_UPPER, &arena);
    ck_assert_ptr_null(archive_text(out, "_xmlsignatures/sig1.xml", &arena));
    ck_assert_str_eq(archive_text(out, "_rels/.rels", &arena), "<r><Relationship Type=\"y\"/></r>");
    ck_assert_str_eq(archive_text(out, "[Content_Types].xml", &arena), "<Types><Default/></Types>");
    ck_assert_uint_eq(notes.count, 1);
    ck_assert_str_eq(notes.all[0].code, "changed");
    arena_done(&arena);
    free(bytes);
}
END_TEST

/* Parts that only state the language or refer to signatures stay if they cannot be read. */
START_TEST(unreadable_parts_stay) {
    static const struct entry entries[] = {
        {"_rels/.rels", "<r><x Type=\"/digital-signature/\"/></s>", false},
        {"_xmlsignatures/sig1.xml", "<s/>", false},
        {"word/styles.xml", "<a><w:lang w:val=\"en\"/></b>", false},
        {"word/document.xml", BODY(P(R("a dog"))), false},
        {NULL, NULL, false}};
    struct arena arena;
    size_t length;
    char *bytes = archive_make(entries, &length);
    arena_init(&arena, 1 << 14);
    struct bytes out = archive_translate(
        (struct document){.format = document_find("docx"), .source = bytes, .length = length},
        FAKE_UPPER, &arena);
    ck_assert_str_eq(archive_text(out, "word/document.xml", &arena), BODY(P(R("A DOG"))));
    ck_assert_str_eq(archive_text(out, "word/styles.xml", &arena), entries[2].text);
    ck_assert_str_eq(archive_text(out, "_rels/.rels", &arena), entries[0].text);
    arena_done(&arena);
    free(bytes);
}
END_TEST

/* Sets bytes of the first header that begins so. */
static void set_bytes(char *bytes, size_t length, const char *signature, size_t offset,
                      const char *value, size_t count) {
    char *at = memmem(bytes, length, signature, 4);
    memcpy(at + offset, value, count);
}

#define CENTRAL "PK\1\2"

/* Each archive is the usual one with some bytes changed. */
START_TEST(archives_that_are_refused) {
    static const struct {
        const char *signature;
        size_t offset;
        const char *value;
        size_t count;
        const char *message;
    } cases[] = {
        {CENTRAL, 42, "\377\0\0\0", 4,
         "\"[Content_Types].xml\" in the archive is not where the directory says: the file is "
         "damaged or incomplete"},
        {CENTRAL, 20, "\377\377\377\0", 4,
         "\"[Content_Types].xml\" in the archive is not where the directory says: the file is "
         "damaged or incomplete"},
        {CENTRAL, 46, "../", 3,
         "the archive is damaged: a member has a name that is empty, too long, or leads out of the "
         "archive"},
        {CENTRAL, 46, "/", 1,
         "the archive is damaged: a member has a name that is empty, too long, or leads out of the "
         "archive"},
        {"PK\5\6", 10, "\377\377", 2, "the archive has more than 10000 members"},
        {"PK\5\6", 4, "\1", 1, "archives of several files are not supported"},
        {"PK\5\6", 16, "\377\377", 2,
         "the archive is damaged: its directory is not where its end says"},
        {"PK\5\6", 0, "PK\5\5", 4,
         "the archive is damaged: it has no directory at its end, so the file is incomplete"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t length;
        char *bytes = archive_make(usual, &length);
        set_bytes(bytes, length, cases[i].signature, cases[i].offset, cases[i].value,
                  cases[i].count);
        archive_refused("docx", bytes, length, cases[i].message);
        free(bytes);
    }
    archive_refused("docx", "", 0,
                    "the file is not an archive of this format, which begins with \"PK\"");
    archive_refused("docx", "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", 8,
                    "the file is encrypted with a password, or of an older version of Office (doc, "
                    "xls, ppt): save it without a password "
                    "in the current format");
}
END_TEST

static void refuse_entries(const char *format, const struct entry *entries, const char *message) {
    size_t length;
    char *bytes = archive_make(entries, &length);
    archive_refused(format, bytes, length, message);
    free(bytes);
}

/* Old programs write backslashes, and some write the end record of ZIP64 in a small archive; a
 * presentation may have no slides. */
START_TEST(archives_of_other_programs) {
    static const char end64[] = "PK\6\6\54\0\0\0\0\0\0\0\55\0\55\0\0\0\0\0\0\0\0\0",
                      locator[] = "PK\6\7\0\0\0";
    struct arena arena;
    size_t length;
    archive_expect("pptx", "ppt/presentation.xml", FAKE_UPPER, "<p>a</p>", "<p>a</p>");
    char *bytes = archive_make(usual, &length);
    for (char *slash = bytes;
         (slash = memmem(slash, (size_t)(bytes + length - slash), "word/document", 13));)
        slash[4] = '\\';
    const char *end = bytes + length - 22;
    char *wide = calloc(length + 76, 1), *at = mempcpy(wide, bytes, length - 22), *record = at;
    memcpy(at, end64, sizeof end64);
    for (int i = 0; i < 4; i++) /* two counts, the directory's length and offset */
        memcpy(at + 24 + 8 * i, end + (const int[]){8, 10, 12, 16}[i], i < 2 ? 2 : 4);
    at += 56;
    memcpy(at, locator, sizeof locator);
    memcpy(at + 8, &(uint32_t){(uint32_t)(record - wide)}, 4);
    memcpy(at + 20, end, 22);
    memset(at + 20 + 8, 0xff, 12);
    arena_init(&arena, 1 << 14);
    const struct document document = {
        .format = document_find("docx"), .source = wide, .length = length + 76};
    struct bytes out = archive_translate(document, FAKE_UPPER, &arena);
    ck_assert_str_eq(archive_text(out, "word/document.xml", &arena), BODY(P(R("A DOG"))));
    memset(record, 0, 4);
    archive_refused("docx", wide, length + 76, "the archive has more than 10000 members");
    arena_done(&arena);
    free(wide);
    free(bytes);
}
END_TEST

/* Parts that cannot be read, and archives of other kinds. */
START_TEST(parts_that_are_refused) {
    refuse_entries("docx",
                   (const struct entry[]){{"content.xml", "<a/>", false}, {NULL, NULL, false}},
                   "the archive is not of the format docx: it has no part word/document");
    refuse_entries(
        "docx",
        (const struct entry[]){{"word/document.xml", "<a>\n<b></a>", false}, {NULL, NULL, false}},
        "word/document.xml: line 2, column 4: mismatched end tag: a");
    refuse_entries("docx",
                   (const struct entry[]){{"word/document.xml", "<!DOCTYPE a><a/>", false},
                                          {NULL, NULL, false}},
                   "word/document.xml: line 1, column 1: declarations, such as a document type, "
                   "are not allowed here");
    refuse_entries("docx",
                   (const struct entry[]){{"word/document.xml", BODY(P(R("&x;"))), false},
                                          {NULL, NULL, false}},
                   "word/document.xml: line 1, column 120: unknown reference: &x;");
    refuse_entries(
        "docx",
        (const struct entry[]){
            {"word/document.xml", "<?xml version='1.0' encoding='x-none'?><a>\xe9</a>", false},
            {NULL, NULL, false}},
        "word/document.xml: the encoding \"x-none\" is not known");
    refuse_entries("docx",
                   (const struct entry[]){{"word/document.xml", "<a/>", false},
                                          {"WORD/document.xml", "<a/>", false},
                                          {NULL, NULL, false}},
                   "the archive has two members of one name");
    refuse_entries("odt",
                   (const struct entry[]){
                       {"content.xml", "<a/>", false},
                       {"META-INF/manifest.xml", "<m><manifest:encryption-data/></m>", false},
                       {NULL, NULL, false}},
                   "the file is encrypted with a password: save it without one");
    refuse_entries("epub",
                   (const struct entry[]){{"O/a.xhtml", "<html/>", false},
                                          {"META-INF/encryption.xml",
                                           "<c><CipherReference URI=\"O/a.xhtml\"/></c>", false},
                                          {NULL, NULL, false}},
                   "the book is encrypted (DRM), so its text cannot be read");
}
END_TEST

/* Fonts may be encrypted, whatever their names hold. Names of parts are compared as a whole, in any
 * case. */
START_TEST(encrypted_fonts) {
    struct arena arena;
    size_t length;
    char *bytes = archive_make(
        (const struct entry[]){{"O/a.xhtml", "<html><p>a dog</p></html>", false},
                               {"META-INF/encryption.xml",
                                "<e:c xmlns:e=\"e\"><!-- O/a.xhtml --><e:CipherReference "
                                "URI=\"fonts/O/a.xhtml.otf\"/></e:c>",
                                false},
                               {NULL, NULL, false}},
        &length);
    arena_init(&arena, 1 << 14);
    struct bytes out = archive_translate(
        (struct document){.format = document_find("epub"), .source = bytes, .length = length},
        FAKE_UPPER, &arena);
    ck_assert_str_eq(archive_text(out, "O/a.xhtml", &arena), "<html><p>A DOG</p></html>");
    arena_done(&arena);
    free(bytes);
    refuse_entries("epub",
                   (const struct entry[]){{"O/b.xhtml", "<html/>", false},
                                          {"O/A.xhtml", "<html/>", false},
                                          {"META-INF/encryption.xml",
                                           "<c><CipherReference URI=\"O/a.xhtml\"/></c>", false},
                                          {NULL, NULL, false}},
                   "the book is encrypted (DRM), so its text cannot be read");
    refuse_entries("epub",
                   (const struct entry[]){{"O/a.xhtml", "<html/>", false},
                                          {"O/b.xhtml", "<html/>", false},
                                          {"O/A.XHTML", "<html/>", false},
                                          {NULL, NULL, false}},
                   "the archive has two members of one name");
}
END_TEST

/* Writes begin, count times unit, and end, and refuses that as a part of this format. */
static void refuse_long(const char *format, const char *part, const char *begin, const char *unit,
                        size_t count, const char *end, const char *message) {
    char *text;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    fputs(begin, out);
    for (size_t i = 0; i < count; i++)
        fputs(unit, out);
    fputs(end, out);
    fclose(out);
    refuse_entries(format, (const struct entry[]){{part, text, true}, {NULL, NULL, false}},
                   message);
    free(text);
}

/* Whatever would be looked through in one piece has a limit. */
START_TEST(long_tags_and_paragraphs) {
    static const char part[] = "word/document.xml", book[] = "a.xhtml";
    refuse_long(
        "docx", part, "<a", " b=''", 10000, "/>",
        "word/document.xml: line 1, column 1: a tag has more than 32 KiB beside its values");
    refuse_long(
        "docx", part, "<a", " ", 40000, "/>",
        "word/document.xml: line 1, column 1: a tag has more than 32 KiB beside its values");
    refuse_long(
        "docx", part, "<", "abc", 500, "/>",
        "word/document.xml: line 1, column 1: the name of an element is longer than 1024 bytes");
    refuse_long("epub", book, "<!DOCTYPE html [", "<!ELEMENT a ANY>", 5000, "]><html/>",
                "a.xhtml: line 1, column 1: the document type is longer than 64 KiB");
    refuse_long("epub", book, "<!DOCTYPE html [", "<!ELEMENT a ANY>", 1, "",
                "a.xhtml: line 1, column 1: the document type has no end");
    refuse_long("epub", book, "<html><p>", "12345678", 140000, "</p></html>",
                "a.xhtml: line 1, column 10: a paragraph has more than 1 MiB of text");
    refuse_long("epub", book, "<html><p>", "1234567<i/>", 155000, "</p></html>",
                "a.xhtml: line 1, column 180234: a paragraph has more than 32768 texts and tags");
    refuse_long(
        "epub", book, "<html>", "<p>a<i><i><i><i><i><i><i><i></i></i></i></i></i></i></i></i></p>",
        62000, "</html>",
        "a.xhtml: line 1, column 3947587: the paragraphs have more than 1048576 texts and tags");
    refuse_long("docx", part, "<a><!--", "0123456789 bytes", 10000, "",
                "word/document.xml: line 1, column 4: a comment or an instruction has no end");
}
END_TEST

/* Entries of menus and of the way to a page, with signs between them, are texts of their own in
 * every format. */
START_TEST(menus) {
#define LINK(text)              "<w:hyperlink r:id=\"r1\">" R(text) "</w:hyperlink>"
#define ENTRIES(sign, one, two) P(LINK(one) R(" " sign " ") LINK(two))
#define WAY(sign, one, two)                                                                        \
    "<text:p><text:a>" one "</text:a> " sign " <text:span>" two "</text:span></text:p>"
#define BESIDE(sign, one, two)                                                                     \
    "<html><body><p><a>" one "</a> " sign " <span>" two "</span></p></body></html>"
#define SIGN(sign)                                                                                 \
    WORD(FAKE_REVERSED, ENTRIES(sign, "a dog", "the cat"), ENTRIES(sign, "DOG A", "CAT THE"));     \
    TEXT(FAKE_REVERSED, WAY(sign, "a dog", "the cat"), WAY(sign, "DOG A", "CAT THE"));             \
    archive_expect("epub", "a.xhtml", FAKE_REVERSED, BESIDE(sign, "a dog", "the cat"),             \
                   BESIDE(sign, "DOG A", "CAT THE"))
    SIGN("/");
    SIGN("&gt;");
    SIGN("|");
    SIGN("\u00b7");
}
END_TEST

/* A long value, such as a picture, is no reason to refuse a tag; marks are found, and characters
 * are whole, where the scan looks at bytes in pieces. */
START_TEST(long_values) {
    char *text;
    size_t length;
    for (size_t shift = 0; shift < 3; shift++) {
        FILE *out = open_memstream(&text, &length);
        fprintf(out, "<html><p>a<img src='%.*s", (int)shift, "xyz");
        for (size_t i = 0; i < 50000; i++)
            fputs("\u2011", out);
        fputs("'/><!--", out);
        for (size_t i = 0; i < (64 * 1024 - 2 - shift) / 3 * 3; i++)
            fputc('-', out);
        fprintf(out, "%.*s--> dog</p></html>", (int)shift, "xyz");
        fclose(out);
        const struct entry entries[] = {{"a.xhtml", text, false}, {NULL, NULL, false}};
        struct arena arena;
        size_t size;
        char *bytes = archive_make(entries, &size);
        arena_init(&arena, 1 << 14);
        struct bytes translated = archive_translate(
            (struct document){.format = document_find("epub"), .source = bytes, .length = size},
            FAKE_UPPER, &arena);
        const char *written = archive_text(translated, "a.xhtml", &arena);
        ck_assert_uint_eq(strlen(written), length);
        ck_assert_str_eq(written + length - 15, " DOG</p></html>");
        arena_done(&arena);
        free(bytes);
        free(text);
    }
}
END_TEST

/* A part that is compressed far more than text can be. */
START_TEST(bombs) {
    size_t length, room = (size_t)3 << 20;
    char *text = malloc(room + 1);
    memset(text, ' ', room);
    memcpy(text, "<a>", 3);
    memcpy(text + room - 4, "</a>", 5);
    const struct entry entries[] = {{"word/document.xml", text, false}, {NULL, NULL, false}};
    char *bytes = archive_make(entries, &length);
    archive_refused("docx", bytes, length,
                    "\"word/document.xml\" in the archive is compressed more than 250 times");
    free(bytes);
    bytes = archive_make(usual, &length);
    char *at = memmem(bytes, length, "word/document.xml", 17);
    at[17 + 5] ^= 1; /* a bit of the data */
    archive_refused("docx", bytes, length,
                    "\"word/document.xml\" in the archive is damaged: its contents do not have the "
                    "checksum that the directory states");
    free(bytes);
    free(text);
}
END_TEST

Suite *office_suite(void) {
    Suite *suite = suite_create("office");
    TCase *tests = tcase_create("office");
    tcase_add_test(tests, formats_follow_their_words);
    tcase_add_test(tests, runs_merge);
    tcase_add_test(tests, links_and_breaks);
    tcase_add_test(tests, fields);
    tcase_add_test(tests, tracked_changes);
    tcase_add_test(tests, text_boxes);
    tcase_add_test(tests, other_prefixes);
    tcase_add_test(tests, language);
    tcase_add_test(tests, both_languages);
    tcase_add_test(tests, slides);
    tcase_add_test(tests, sheets);
    tcase_add_test(tests, slides_and_sheets_in_both_languages);
    tcase_add_test(tests, layout_in_texts);
    tcase_add_test(tests, names_of_columns);
    tcase_add_test(tests, literals_of_formulas);
    tcase_add_test(tests, literals_of_open_formulas);
    tcase_add_test(tests, menus);
    tcase_add_test(tests, open_document);
    tcase_add_test(tests, books);
    tcase_add_test(tests, language_of_a_book);
    tcase_add_test(tests, books_in_both_languages);
    tcase_add_test(tests, other_members_stay);
    tcase_add_test(tests, signatures);
    tcase_add_test(tests, unreadable_parts_stay);
    tcase_add_test(tests, archives_that_are_refused);
    tcase_add_test(tests, archives_of_other_programs);
    tcase_add_test(tests, parts_that_are_refused);
    tcase_add_test(tests, encrypted_fonts);
    tcase_add_test(tests, long_tags_and_paragraphs);
    tcase_add_test(tests, long_values);
    tcase_add_test(tests, bombs);
    suite_add_tcase(suite, tests);
    return suite;
}
