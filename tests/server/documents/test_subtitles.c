/* SubRip and WebVTT: numbers, times, places and tags stay; sentences run over cues; lines are short
 * and even. */
#include "tests/server/documents/fake.h"
#include "tests/suites.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIMES "00:00:01,000 --> 00:00:04,000"
#define LATER "00:00:05,000 --> 00:00:08,500"

START_TEST(srt_cues) {
    fake_expect("srt", FAKE_UPPER,
                "1\n" TIMES "\nHello there.\n\n2\n" LATER " X1:40 X2:600\nA dog.\n",
                "1\n" TIMES "\nHELLO THERE.\n\n2\n" LATER " X1:40 X2:600\nA DOG.\n");
    fake_expect(
        "srt", FAKE_UPPER,
        "1\r\n" TIMES "\r\nOne\r\ntwo.\r\n\r\n\r\n2\r\n" LATER "\r\n\r\n3\r\n" LATER "\r\nC.",
        "1\r\n" TIMES "\r\nONE\r\nTWO.\r\n\r\n\r\n2\r\n" LATER "\r\n\r\n3\r\n" LATER "\r\nC.");
    fake_expect("srt", FAKE_UPPER,
                "\xef\xbb\xbf"
                "1\n" TIMES "\na < b & c.\n",
                "\xef\xbb\xbf"
                "1\n" TIMES "\nA < B & C.\n");
    fake_expect("srt", FAKE_UPPER, "", "");
}
END_TEST

START_TEST(srt_tags) {
    fake_expect("srt", FAKE_UPPER,
                "1\n" TIMES "\n{\\an8}The <i>white</i> <font color=\"red\">dog</font>.\n",
                "1\n" TIMES "\n{\\an8}THE <i>WHITE</i> <font color=\"red\">DOG</font>.\n");
    fake_expect("srt", FAKE_REVERSED, "1\n" TIMES "\nthe <i>white dog</i> runs\n",
                "1\n" TIMES "\nRUNS <i>DOG WHITE</i> THE\n");
    fake_expect("srt", FAKE_UPPER, "1\n" TIMES "\n<i>never ended, </b>nor begun, <x>\n",
                "1\n" TIMES "\n<i>NEVER ENDED, </b>NOR BEGUN, <x>\n");
}
END_TEST

/* One text of two cues; each keeps its words and tags. */
START_TEST(sentences_over_cues) {
    struct arena arena;
    struct markup html;
    const char *text = "1\n" TIMES "\nThe <i>dog</i> that I saw\n\n2\n" LATER
                       "\nruns in the <b>snow</b>.\n\n3\n" LATER "\nYes.\n";
    arena_init(&arena, 1 << 14);
    ck_assert_int_eq(fake_read("srt", text, &arena, &html, NULL), 0);
    ck_assert_uint_eq(html.count, 2);
    ck_assert_uint_eq(html.segments[0].length, strlen("The dog that I saw runs in the snow."));
    arena_done(&arena);
    fake_expect("srt", FAKE_UPPER, text,
                "1\n" TIMES "\nTHE <i>DOG</i> THAT I SAW\n\n2\n" LATER
                "\nRUNS IN THE <b>SNOW</b>.\n\n3\n" LATER "\nYES.\n");
    fake_expect("srt", FAKE_LONGER, "1\n" TIMES "\na b,\n\n2\n" LATER "\nc d.\n",
                "1\n" TIMES "\nA A B, B,\n\n2\n" LATER "\nC C D. D.\n");
}
END_TEST

START_TEST(what_begins_anew) {
    fake_expect("srt", FAKE_REVERSED,
                "1\n" TIMES "\n- one two\n- three four\n\n2\n" LATER "\n\u266a five six\n",
                "1\n" TIMES "\n- TWO ONE\n- FOUR THREE\n\n2\n" LATER "\n\u266a SIX FIVE\n");
}
END_TEST

/* Without blank lines between cues: a line of times begins one, with the number in front of it. */
START_TEST(cues_without_blank_lines) {
    fake_expect("srt", FAKE_REVERSED,
                "1\n" TIMES "\none two.\n2\n" LATER "\nthree four.\nfive six.\n3\n" LATER "\n",
                "1\n" TIMES "\nTWO. ONE\n2\n" LATER "\nSIX. FIVE\nFOUR. THREE\n3\n" LATER "\n");
    fake_expect("srt", FAKE_UPPER, TIMES "\na.\n" LATER "\nb.\n", TIMES "\nA.\n" LATER "\nB.\n");
    fake_expect("vtt", FAKE_UPPER,
                "WEBVTT\n\n00:01.000 --> 00:02.000\na 7\n00:03.000 --> 00:04.000\nb --&gt; c\n",
                "WEBVTT\n\n00:01.000 --> 00:02.000\nA 7\n00:03.000 --> 00:04.000\nB --&gt; C\n");
    fake_expect("srt", FAKE_UPPER, "1\n" TIMES "\n5\n2\n" LATER "\nb\n",
                "1\n" TIMES "\n5\n2\n" LATER "\nB\n");
    fake_expect("vtt", FAKE_UPPER, "WEBVTT\n\n00:01.000 --> 00:02.000\na <b --> c\n",
                "WEBVTT\n\n00:01.000 --> 00:02.000\nA &lt;B --&gt; C\n");
    fake_expect("srt", FAKE_UPPER, "1\n" TIMES "\na --> b\n", "1\n" TIMES "\nA - -> B\n");
    fake_refused("srt", "1\n" TIMES "\na.\n2\n00:00:5 --> 00:00:08\nb.\n",
                 "line 5, cue 2: \"00:00:5 --> 00:00:08\" is not a timing line like 00:00:01,000 "
                 "--> 00:00:04,000");
}
END_TEST

static size_t segments_of(const char *text) {
    struct arena arena;
    struct markup html;
    arena_init(&arena, 1 << 14);
    ck_assert_int_eq(fake_read("srt", text, &arena, &html, NULL), 0);
    arena_done(&arena);
    return html.count;
}

#define TWO(one, two) "1\n" TIMES "\n" one "\n\n2\n" LATER "\n" two "\n"

/* Sentences that continue after a cue without a mark at its end, and sentences that do not. */
START_TEST(sentences_that_go_on) {
    static const char *const one[] = {TWO("I know that", "you are here."),
                                      TWO("We went to the", "Station."),
                                      TWO("Well,", "Anna is here."),
                                      TWO("so we decided to visit", "Paris in the spring."),
                                      TWO("<i>when I saw</i>", "<i>the dog</i>"),
                                      TWO("Ich sehe den", "Hund.")};
    static const char *const two[] = {TWO("Chapter one", "The dog"),
                                      TWO("The garden", "The house"),
                                      TWO("foo", "foo"),
                                      TWO("Bar", "bar"),
                                      TWO("la la la", "la la la"),
                                      TWO("red", "green"),
                                      TWO("Come on", "Let us go."),
                                      TWO("First steps", "Welcome to the course."),
                                      TWO("\u7b2c\u4e00\u7ae0", "\u72ac")};
    for (size_t i = 0; i < sizeof one / sizeof *one; i++)
        ck_assert_msg(segments_of(one[i]) == 1, "%s", one[i]);
    for (size_t i = 0; i < sizeof two / sizeof *two; i++)
        ck_assert_msg(segments_of(two[i]) == 2, "%s", two[i]);
}
END_TEST

/* Trying each cut between all words of so many cues would take 72 MB. They are cut by their
 * lengths, and each keeps its own words.
 */
START_TEST(thousands_of_cues_in_one_sentence) {
    enum { CUES = 3000, CUE_BYTES = 64 };
    struct arena arena;
    struct budget budget = {.most_bytes = 8 << 20, .most_sentences = 1};
    char *text = malloc(CUES * CUE_BYTES), *expected = malloc(CUES * CUE_BYTES), *end = text,
         *expected_end = expected;
    for (unsigned i = 0; i < CUES; i++) {
        end += sprintf(end, "%u\n" TIMES "\nof %s\n\n", i + 1, i % 2 ? "a" : "and");
        expected_end +=
            sprintf(expected_end, "%u\n" TIMES "\nOF %s\n\n", i + 1, i % 2 ? "A" : "AND");
    }
    arena_init(&arena, 1 << 14);
    arena_limit(&arena, &budget);
    ck_assert_str_eq(fake_document("srt", FAKE_UPPER, text, &arena), expected);
    arena_done(&arena);
    free(expected);
    free(text);
}
END_TEST

/* A sentence of three cues that became a word: the cues without one keep theirs. */
START_TEST(cues_are_never_empty) {
    struct arena arena;
    struct document_notes notes = {.arena = &arena};
    static const char text[] =
        "1\n" TIMES "\n<i>a dog that</i>\n\n2\n" LATER "\nruns and\n\n3\n" LATER "\nbarks.\n";
    struct document document = {.format = document_find("srt"),
                                .source = text,
                                .length = strlen(text),
                                .language = FAKE_LANGUAGE,
                                .notes = &notes};
    struct markup_translation translation = {.text = "Chien.", .length = 6};
    struct markup html;
    size_t length;
    arena_init(&arena, 1 << 14);
    ck_assert_int_eq(document_read(&document, &arena, &html, NULL), 0);
    ck_assert_uint_eq(html.count, 1);
    const char *written = document_write(&document, &html, &translation, &arena, &length, NULL);
    ck_assert_msg(strstr(written, "Chien."), "%s", written);
    ck_assert_uint_ge(notes.count, 1); /* an element that had words keeps some by itself */
    ck_assert_str_eq(notes.all[0].code, "untranslated");
    ck_assert_ptr_null(strstr(written, "\n\n\n"));
    ck_assert_ptr_null(strstr(written, "<i></i>"));
    arena_done(&arena);
}
END_TEST

/* The bytes as UTF-8; NULL: they are refused. */
static void expect_decoded(const char *bytes, size_t length, const char *language,
                           const char *expected, size_t notes_expected) {
    struct arena arena;
    struct error error = {0};
    struct document_notes notes = {.arena = &arena};
    struct document document = {
        .format = document_find("srt"), .source = bytes, .length = length, .notes = &notes};
    arena_init(&arena, 1 << 12);
    int result = document_decode(&document, NULL, language, &arena, &error);
    ck_assert_int_eq(result, expected ? 0 : -1);
    if (expected) {
        ck_assert_uint_eq(document.length, strlen(expected));
        ck_assert_int_eq(memcmp(document.source, expected, document.length), 0);
    }
    ck_assert_uint_eq(notes.count, notes_expected);
    arena_done(&arena);
}
#define EXPECT_DECODED(bytes, language, expected, notes)                                           \
    expect_decoded(bytes, sizeof(bytes) - 1, language, expected, notes)

/* A sentence runs over the cues of the other formats, too; a cue that gets no word keeps its own,
 * and with both languages each cue has both. */
START_TEST(sentences_over_cues_of_other_formats) {
    static const struct {
        const char *format, *source, *both; /* both: with the translation in capitals below */
    } texts[] = {
        {"ass",
         "[Events]\nFormat: Start, Text\nDialogue: 1,the dog, {\\i1}in{\\i0} the\nDialogue: 2,old "
         "house.\nDialogue: 3,A cat.\n",
         "[Events]\nFormat: Start, Text\nDialogue: 1,the dog, {\\i1}in{\\i0} the\\NTHE DOG, "
         "{\\i1}IN{\\i0} THE\nDialogue: 2,old house.\\NOLD HOUSE.\nDialogue: 3,A cat.\\NA CAT.\n"},
        {"sbv",
         "0:00:01.000,0:00:02.000\nthe dog in the\n\n0:00:02.000,0:00:03.000\nold "
         "house.\n\n0:00:03.000,0:00:04.000\nA cat.\n",
         "0:00:01.000,0:00:02.000\nthe dog in the\nTHE DOG IN THE\n\n0:00:02.000,0:00:03.000\nold "
         "house.\nOLD HOUSE.\n\n0:00:03.000,0:00:04.000\nA cat.\nA CAT.\n"},
        {"ttml", "<tt><p>the dog in the</p>\n<p> old <b>house</b>.\n</p><p>A cat.</p></tt>",
         "<tt><p>the dog in the<br/>THE DOG IN THE</p>\n<p> old <b>house</b>.<br/>OLD "
         "<b>HOUSE</b>.\n</p><p>A cat.<br/>A CAT.</p></tt>"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct arena arena;
        struct markup markup;
        arena_init(&arena, 1 << 14);
        ck_assert_int_eq(fake_read(texts[i].format, texts[i].source, &arena, &markup, NULL), 0);
        ck_assert_uint_eq(markup.count, 2);
        const struct document document = {.format = document_find(texts[i].format),
                                          .source = texts[i].source,
                                          .length = strlen(texts[i].source),
                                          .language = FAKE_LANGUAGE,
                                          .bilingual = BILINGUAL_BELOW};
        ck_assert_str_eq(fake_translated(&document, FAKE_UPPER, &arena), texts[i].both);
        arena_done(&arena);
    }
}
END_TEST

START_TEST(encodings) {
    EXPECT_DECODED("\xff\xfe"
                   "a\0\xe9\0\n\0\x3d\xd8\x00\xde",
                   NULL, "a\u00e9\n\U0001f600", 0);
    EXPECT_DECODED("\xfe\xff"
                   "\0a\0\xe9",
                   NULL, "a\u00e9", 0);
    EXPECT_DECODED("1\0\n\0"
                   "0\0"
                   "0\0:\0",
                   NULL, "1\n00:", 0);
    EXPECT_DECODED("\0001\0\n\0"
                   "0\0"
                   "0\0:",
                   NULL, "1\n00:", 0);
    EXPECT_DECODED("\xff\xfe"
                   "a\0\x3d\xd8",
                   NULL, NULL, 0);
    EXPECT_DECODED("caf\xe9 \x80 20 \x93ok\x94", "fr", "caf\u00e9 \u20ac 20 \u201cok\u201d", 1);
    EXPECT_DECODED("caf\xe9 latt\xe9 pros\xedm", "cs", NULL, 0);
    EXPECT_DECODED("\xcf\xf0\xe8\xe2\xe5\xf2", NULL, NULL, 0);
    EXPECT_DECODED("caf\xc3\xa9 and a broken \xe9 byte", NULL, NULL, 0);
    EXPECT_DECODED("a\x81 caf\xe9 and more", NULL, NULL, 0);
    EXPECT_DECODED("caf\xc3\xa9", NULL, "caf\u00e9", 0);
    EXPECT_DECODED("", NULL, "", 0);
}
END_TEST

/* A speech of two lines, of which the second gets no word: no blank line ends the cue. */
START_TEST(speeches_of_lines) {
    fake_expect("srt", FAKE_REVERSED, "1\n" TIMES "\n- one two,\nthree\n- four\n",
                "1\n" TIMES "\n- THREE TWO, ONE\n- FOUR\n");
    fake_expect("srt", FAKE_REVERSED, "1\n" TIMES "\n>> one two.\n>> three four.\n",
                "1\n" TIMES "\n>> TWO. ONE\n>> FOUR. THREE\n");
    fake_expect("srt", FAKE_REVERSED, "1\n" TIMES "\n[one two]\nthree\nfour\n",
                "1\n" TIMES "\nTWO] [ONE\nFOUR THREE\n");
    fake_expect("srt", FAKE_REVERSED,
                "1\n" TIMES "\nMAN:\none two\n\n2\n" TIMES "\nthree.\nTOM:\n[DOOR]\n\n"
                "3\n" TIMES "\nI SAY:\n\n4\n" TIMES "\nfour.\n",
                "1\n" TIMES "\nMAN:\nTWO ONE\n\n2\n" TIMES "\nTHREE.\nTOM:\n[DOOR]\n\n"
                "3\n" TIMES "\nI SAY:\n\n4\n" TIMES "\nFOUR.\n");
    fake_expect("srt", FAKE_REVERSED, "1\n" TIMES "\nTOM AND I: one two\nYes: three four\n",
                "1\n" TIMES "\nTOM AND I: FOUR\nTHREE YES: TWO ONE\n");
    fake_expect("srt", FAKE_UPPER, "1\n" TIMES "\n<i>- one two</i>\n<i>- three.</i>\n<b>Four</b>\n",
                "1\n" TIMES "\n<i>- ONE TWO</i>\n<i>- THREE.</i>\n<b>FOUR</b>\n");
    fake_expect(
        "vtt", FAKE_REVERSED,
        "WEBVTT\n\n00:01.000 --> 00:02.000\n<v A>one\n<v B>two <00:01.100>three <00:01.500>four\n",
        "WEBVTT\n\n00:01.000 --> 00:02.000\n<v A>ONE\n<v B>FOUR THREE <00:01.100>TWO "
        "<00:01.500>\n");
    fake_expect("srt", FAKE_UPPER, "1\n" TIMES "\n...\nb\n- c\n", "1\n" TIMES "\n... B\n- C\n");
    fake_expect("srt", FAKE_LONGER,
                "1\n" TIMES "\nabcdefghijklmnopq \v\v\v\v\v\v\v\v\v\v\v\v\v\v\v\v abcd\n",
                "1\n" TIMES "\nABCDEFGHIJKLMNOPQ\nABCDEFGHIJKLMNOPQ ABCD ABCD\n");
}
END_TEST

/* As many lines as there were, of 42 characters at most, about as long as each other. */
START_TEST(lines_of_cues) {
    fake_expect("srt", FAKE_LONGER, "1\n" TIMES "\nabcd efgh\nijkl mnop.\n",
                "1\n" TIMES "\nABCD ABCD EFGH EFGH\nIJKL IJKL MNOP. MNOP.\n");
    fake_expect("srt", FAKE_LONGER, "1\n" TIMES "\nabcd efgh ijkl mnop qrst uvwx.\n",
                "1\n" TIMES "\nABCD ABCD EFGH EFGH IJKL IJKL\nMNOP MNOP QRST QRST UVWX. UVWX.\n");
    fake_expect("srt", FAKE_LONGER, "1\n" TIMES "\n<i>abcd</i> efgh ijkl mnop.\n",
                "1\n" TIMES "\n<i>ABCD ABCD</i> EFGH EFGH IJKL IJKL MNOP. MNOP.\n");
    fake_expect("srt", FAKE_UPPER, "1\n" TIMES "\nabcd efgh ijkl mnop qrst uvwx yzab cdef ?\n",
                "1\n" TIMES "\nABCD EFGH IJKL MNOP QRST UVWX YZAB CDEF ?\n");
    fake_expect("srt", FAKE_UPPER, "1\r\n" TIMES "\r\na b\r\nc d e f g h\r\n",
                "1\r\n" TIMES "\r\nA B C D\r\nE F G H\r\n");
}
END_TEST

/* A text that no screen shows is not wrapped. */
START_TEST(lines_of_a_cue_of_20_kilobytes) {
    struct arena arena;
    char *text = fake_long("1\n" TIMES "\na", " abcd", "\nefgh.\n", 20000);
    arena_init(&arena, 1 << 16);
    const char *made = fake_document("srt", FAKE_UPPER, text, &arena);
    size_t lines = 0;
    for (const char *at = made; (at = strchr(at, '\n')) != NULL; at++)
        lines++;
    ck_assert_uint_eq(lines, 3);
    free(text);
    arena_done(&arena);
}
END_TEST

START_TEST(vtt_cues) {
    fake_expect(
        "vtt", FAKE_UPPER,
        "WEBVTT - Title\nKind: captions\n\nNOTE a note\nof two lines\n\nSTYLE\n::cue { color: red "
        "}\n\nname\n00:01.000 --> "
        "00:04.000 line:0\n<v Roger>a &amp; b &lt; c</v>, <c.loud>no<00:02.000>w</c>&nbsp;!\n",
        "WEBVTT - Title\nKind: captions\n\nNOTE a note\nof two lines\n\nSTYLE\n::cue { color: red "
        "}\n\nname\n00:01.000 --> "
        "00:04.000 line:0\n<v Roger>A &amp; B &lt; C</v>, <c.loud><00:02.000>NOW</c>&nbsp;!\n");
    fake_expect("vtt", FAKE_UPPER, "WEBVTT\n", "WEBVTT\n");
    fake_expect("vtt", FAKE_UPPER, "WEBVTT\n\n00:01.000 --> 00:04.000\n12 &amp; 34\n",
                "WEBVTT\n\n00:01.000 --> 00:04.000\n12 &amp; 34\n");
}
END_TEST

/* Files that players show all the same: times without hours or milliseconds, blank lines within a
 * cue, and line ends that were converted twice. */
START_TEST(lenient_subtitles) {
    static const char head[] = "1\n00:00:01 --> 00:00:04,5\na.\n\n2\n00:05,000 --> 00:08\nb.\n";
    fake_expect("srt", FAKE_UPPER, head,
                "1\n00:00:01 --> 00:00:04,5\nA.\n\n2\n00:05,000 --> 00:08\nB.\n");
    fake_expect("srt", FAKE_UPPER, "1\n" TIMES "\na.\n\nb.\nc.\n\n2\n\n3\n" LATER "\nd.\n",
                "1\n" TIMES "\nA.\n\nB.\nC.\n\n2\n\n3\n" LATER "\nD.\n");
    fake_expect("srt", FAKE_UPPER, "1\r\r\n" TIMES "\r\r\na.\r\r\n\r\r\n2\r\r\n" LATER "\r\r\nb.",
                "1\r\r\n" TIMES "\r\r\nA.\r\r\n\r\r\n2\r\r\n" LATER "\r\r\nB.");
    /* text with an arrow is no timing line, whichever line of the block it comes to stand in */
    fake_expect("srt", FAKE_UPPER, "1\n" TIMES "\na\n\nb\nc\n--> d\n",
                "1\n" TIMES "\nA\n\nB C\n--> D\n");
    fake_expect("srt", FAKE_UPPER, "1\n" TIMES "\na\n\nb c\n--> d\n",
                "1\n" TIMES "\nA\n\nB C\n--> D\n");
}
END_TEST

START_TEST(damaged_subtitles) {
    fake_refused("srt", "1\n" TIMES "\nHello.\n\n2\n00:00:05;000 --> 00:00:08,500\nA.\n",
                 "line 6, cue 2: \"00:00:05;000 --> 00:00:08,500\" is not a timing line like "
                 "00:00:01,000 --> 00:00:04,000");
    fake_refused("srt", "1\n" TIMES "\nHello.\n\nA dog.\n00:00:5 --> 00:00:08,500\nA.\n",
                 "line 6, cue 2: \"00:00:5 --> 00:00:08,500\" is not a timing line like "
                 "00:00:01,000 --> 00:00:04,000");
    fake_refused(
        "srt", "1\nHello.\n",
        "line 2, cue 1: \"Hello.\" is not a timing line like 00:00:01,000 --> 00:00:04,000");
    fake_refused("vtt", "1\n00:01.000 --> 00:04.000\nHello.\n",
                 "line 1: a WebVTT file must begin with \"WEBVTT\"");
    fake_refused("vtt", "", "line 1: a WebVTT file must begin with \"WEBVTT\"");
    fake_refused("vtt", "WEBVTT\n\n00:01.000 -> 00:04.000\nHello.\n",
                 "line 4, cue 1: \"Hello.\" is not a timing line like 00:01.000 --> 00:04.000");
}
END_TEST

static size_t count_of(const char *text, const char *what) {
    size_t count = 0;
    for (const char *at = strstr(text, what); at; at = strstr(at + 1, what))
        count++;
    return count;
}

/* A colour for each letter; far more open than end. */
START_TEST(many_tags) {
    static const char head[] = "1\n" TIMES "\n", letter[] = "<font color=\"#ff0000\">A</font> ",
                      open[] = "<i>";
    struct arena arena;
    char *letters = fake_long(head, letter, "\n", sizeof head + 500 * (sizeof letter - 1));
    char *opens = fake_long(head, open, "A</i></i>\n", sizeof head + 900 * (sizeof open - 1));
    arena_init(&arena, 1 << 14);
    ck_assert_uint_eq(count_of(fake_document("srt", FAKE_UPPER, letters, &arena), ">A</font>"),
                      500);
    ck_assert_uint_eq(count_of(fake_document("srt", FAKE_UPPER, opens, &arena), "<i>"), 900);
    arena_done(&arena);
    free(letters);
    free(opens);
}
END_TEST

START_TEST(too_many_tags) {
    char *text = fake_long("1\n" TIMES "\nA.\n\n2\n" TIMES "\n", "<b>a</b>", "\n", 1 << 13);
    fake_refused("srt", text, "cue 2: it has more than 1000 tags");
    free(text);
}
END_TEST

/* Text whose words change places so that they would be a tag stays text: what was written is read
 * as it was meant. */
START_TEST(srt_text_is_no_tag) {
    fake_expect("srt", FAKE_REVERSED, "1\n" TIMES "\nx> a <b\n", "1\n" TIMES "\n< B A X>\n");
    fake_expect("srt", FAKE_REVERSED, "1\n" TIMES "\nx} a {\\b\n", "1\n" TIMES "\n{ \\B A X}\n");
    fake_expect("srt", FAKE_UPPER, "1\n" TIMES "\na <3 b < c {d} <bus>\n",
                "1\n" TIMES "\nA <3 B < C {D} <bus>\n");
    fake_expect("srt", FAKE_REVERSED, "1\n" TIMES "\na `b --> c` <!-- d --> e\n",
                "1\n" TIMES "\nE - -> D <!-- C` - -> `B A\n");
    fake_expect("srt", FAKE_REVERSED, "1\n" TIMES "\na <c.d>b</c.d>&nbsp;c &amp; d\n",
                "1\n" TIMES "\nD &amp; C <c.d>B</c.d>&nbsp;A\n");
}
END_TEST

/* Bombs: one cue of a megabyte, or many cues that never end a sentence, or marks without end. */
START_TEST(long_subtitles) {
    static const char *const middles[] = {"word ", "<", "{\\", "&", "a\n", "\n\n1\n" TIMES "\nand"};
    for (size_t i = 0; i < sizeof middles / sizeof *middles; i++) {
        struct arena arena;
        char *text = fake_long("1\n" TIMES "\na", middles[i], "\n", 1 << 18);
        arena_init(&arena, 1 << 16);
        fake_document("srt", FAKE_UPPER, text, &arena);
        free(text);
        arena_done(&arena);
    }
}
END_TEST

/* A translation cannot end its cue, whatever it has in it. */
START_TEST(translations_stay_in_their_cues) {
    static const char vtt[] = "WEBVTT\n\n00:01.000 --> 00:02.000\n", srt[] = "1\n" TIMES "\n";
    static const char translation[] = "A\n\n00:01.000 -->\r\n00:02.000\r\rB <i> &lt;\n\n";
    char source[sizeof vtt + 64], expected[sizeof vtt + 128];
    snprintf(source, sizeof source, "%sone.\n", vtt);
    snprintf(expected, sizeof expected, "%sA 00:01.000 --&gt; 00:02.000 B &lt;i&gt; &amp;lt;\n",
             vtt);
    fake_expect_text("vtt", source, translation, expected);
    snprintf(source, sizeof source, "%sone.\n", srt);
    snprintf(expected, sizeof expected, "%sA 00:01.000 - -> 00:02.000 B < i> &lt;\n", srt);
    fake_expect_text("srt", source, translation, expected);
}
END_TEST

/* Who speaks is no part of what is said, in whichever format. */
START_TEST(names_of_speakers_stay) {
    fake_expect("sbv", FAKE_REVERSED,
                "0:00:01.000,0:00:02.000\nMARY: where is\n\n0:00:02.000,0:00:03.000\n>> MR. HILL: "
                "the dog.\n",
                "0:00:01.000,0:00:02.000\nMARY: IS WHERE\n\n0:00:02.000,0:00:03.000\n>> MR. HILL: "
                "DOG. THE\n");
}
END_TEST

START_TEST(sbv_headers_stay) {
    fake_expect(
        "sbv", FAKE_REVERSED,
        "[INFORMATION]\n[TITLE]a film\n[SUBTITLE]\n\n00:00:01.000,00:00:02.000\na dog barks\n",
        "[INFORMATION]\n[TITLE]a film\n[SUBTITLE]\n\n00:00:01.000,00:00:02.000\nBARKS DOG A\n");
}
END_TEST

/* A no-break space at the end of a line moves with its words, and the line end beside it does not:
 * it would leave a blank line. */
START_TEST(line_ends_do_not_move) {
    fake_expect_text("srt", "1\n" TIMES "\none\u00a0\ntwo\n", "A\u00a0B",
                     "1\n" TIMES "\nA\u00a0B\n");
    fake_expect_text("srt", "1\n" TIMES "\none\u00a0\ntwo\n", "A ", "1\n" TIMES "\nA\n");
    fake_expect("srt", FAKE_REVERSED, "1\n" TIMES "\none\u00a0\ntwo\n", "1\n" TIMES "\nTWO\nONE\n");
    fake_expect("srt", FAKE_UPPER, "1\n" TIMES "\n<i>\n</i>one\n",
                "1\n" TIMES "\n<i>\n</i>ONE\n"); /* nor twice */
}
END_TEST

/* What would be read as a line of times, or as a number of the next cue, is not written. */
START_TEST(text_is_not_read_as_times) {
    fake_expect("srt", FAKE_REVERSED, "1\n" TIMES "\n\na\nb.\n" LATER "\nc d\n",
                "1\n" TIMES "\n\nB.\nA\n" LATER "\nD C\n");
    fake_expect_text("srt", "1\n" TIMES "\na.\nb.\n" LATER "\n", "5",
                     "1\n" TIMES "\na.\nb.\n" LATER "\n");
    fake_expect_text("srt", "1\n" TIMES "\n\n\nb\nc.\n" LATER "\nd.\n", "x",
                     "1\n" TIMES "\n\n\nb\nc.\n" LATER "\nx\n");
    fake_expect("vtt", FAKE_REVERSED, "WEBVTT\n\nNOTE a\n\n00:01.000 --> 00:02.000\nb NOTE\n",
                "WEBVTT\n\nNOTE a\n\n00:01.000 --> 00:02.000\nNOTE B\n");
    fake_expect("sbv", FAKE_REVERSED, "0:00:01.000,0:00:02.000\na 0:00:03.000,0:00:04.000\n",
                "0:00:01.000,0:00:02.000\n0:00:03.000,0:00:04.000 A\n");
}
END_TEST

START_TEST(song_text_is_not_read_as_times) {
    fake_expect("lrc", FAKE_REVERSED, "[00:01.00]a [00:02.00]\n[00:03.00]c d\n",
                "[00:01.00]a [00:02.00]\n[00:03.00]D C\n");
    fake_expect_text("lrc", "[00:01.00] a b\n", "c <00:01.20> d", "[00:01.00] a b\n");
}
END_TEST

/* Each speaker's line is a text of its own, however line ends are written; what is not shown is no
 * part of a text. */
START_TEST(lines_of_speakers) {
    fake_expect("ttml", FAKE_REVERSED, "<tt><p>- a b<br/>\n- c d</p><p>a b\n<br/>c d</p></tt>",
                "<tt><p>- B A<br/> - D C</p><p>D C B <br/>A</p></tt>");
    fake_expect("ttml", FAKE_REVERSED, "<tt:tt><tt:p>- A b.<tt:br/>- C!</tt:p></tt:tt>",
                "<tt:tt><tt:p>- B. A<tt:br/>- C!</tt:p></tt:tt>");
    fake_expect("ttml", FAKE_REVERSED, "<tt><p><m:desc>a noise</m:desc>A b</p></tt>",
                "<tt><p><m:desc>a noise</m:desc>B A</p></tt>");
    fake_expect("sbv", FAKE_REVERSED, "0:00:01.000,0:00:02.000\n- a b[br]- c d\n",
                "0:00:01.000,0:00:02.000\n- B A[br]- D C\n");
    fake_expect("sbv", FAKE_UPPER, "0:00:01.000,0:00:02.000\na b[br]c\nd\n",
                "0:00:01.000,0:00:02.000\nA B[br]C\nD\n");
}
END_TEST

Suite *subtitles_suite(void) {
    Suite *suite = suite_create("subtitles");
    TCase *cases = tcase_create("subtitles");
    suite_add_tcase(suite, cases);
    tcase_add_test(cases, text_is_not_read_as_times);
    tcase_add_test(cases, song_text_is_not_read_as_times);
    tcase_add_test(cases, srt_cues);
    tcase_add_test(cases, srt_tags);
    tcase_add_test(cases, sentences_over_cues);
    tcase_add_test(cases, what_begins_anew);
    tcase_add_test(cases, cues_without_blank_lines);
    tcase_add_test(cases, sentences_that_go_on);
    tcase_add_test(cases, thousands_of_cues_in_one_sentence);
    tcase_add_test(cases, cues_are_never_empty);
    tcase_add_test(cases, sentences_over_cues_of_other_formats);
    tcase_add_test(cases, encodings);
    tcase_add_test(cases, speeches_of_lines);
    tcase_add_test(cases, lines_of_cues);
    tcase_add_test(cases, lines_of_a_cue_of_20_kilobytes);
    tcase_add_test(cases, vtt_cues);
    tcase_add_test(cases, lenient_subtitles);
    tcase_add_test(cases, damaged_subtitles);
    tcase_add_test(cases, many_tags);
    tcase_add_test(cases, too_many_tags);
    tcase_add_test(cases, srt_text_is_no_tag);
    tcase_add_test(cases, long_subtitles);
    tcase_add_test(cases, translations_stay_in_their_cues);
    tcase_add_test(cases, names_of_speakers_stay);
    tcase_add_test(cases, sbv_headers_stay);
    tcase_add_test(cases, line_ends_do_not_move);
    tcase_add_test(cases, lines_of_speakers);
    return suite;
}
