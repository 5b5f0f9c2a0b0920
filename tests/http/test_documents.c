/* POST /documents: a file comes back translated, with the rest of its content unchanged; a file
 * that cannot be read is refused with the line. */
#include "tests/http/client.h"
#include "tests/http/sse.h"
#include "tests/http/suites.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define MULTIPART    "Content-Type: multipart/form-data; boundary=XX"
#define TIMES        "00:00:01,000 --> 00:00:04,000"
#define DOG          "The dog runs."

static struct daemon served;

static void setup(void) {
    daemon_start(&served,
                 ARGUMENTS("--model", MODEL, "--max-text-chars", "100", "--deadline-ms", "600000"));
}

static void teardown(void) {
    daemon_stop(&served);
}

/* A form with the file and other parts, `name=value` each. The caller frees it. */
static char *form(const char *name, const char *type, const char *text, const char *const *fields) {
    char *body = NULL;
    size_t length;
    FILE *out = open_memstream(&body, &length);
    for (; *fields; fields++) {
        const char *value = strchr(*fields, '=') + 1;
        fprintf(out, "--XX\r\nContent-Disposition: form-data; name=\"%.*s\"\r\n\r\n%s\r\n",
                (int)(value - *fields - 1), *fields, value);
    }
    fprintf(out,
            "--XX\r\nContent-Disposition: form-data; name=\"file\"; "
            "filename=\"%s\"\r\nContent-Type: %s\r\n\r\n%s\r\n--XX--\r\n",
            name, type, text);
    fclose(out);
    return body;
}

static void upload(const char *name, const char *type, const char *text, const char *const *fields,
                   struct reply *reply) {
    char *body = form(name, type, text, fields);
    client_send(&served, &(struct call){.path = "/documents", .body = body, .headers = {MULTIPART}},
                reply);
    free(body);
}

#define FIELDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void expect(const char *name, const char *text, const char *expected) {
    struct reply reply;
    upload(name, "application/octet-stream", text, FIELDS("source=en", "target=fr"), &reply);
    ck_assert_msg(reply.status == 200, "%s: %ld %s", name, reply.status, reply.body);
    ck_assert_str_eq(reply.body, expected);
    reply_done(&reply);
}

static void refuse(const char *name, const char *text, const char *const *fields, long status,
                   const char *message) {
    struct reply reply;
    upload(name, "application/octet-stream", text, fields, &reply);
    ck_assert_msg(reply.status == status, "%s: %ld %s", name, reply.status, reply.body);
    ck_assert_str_eq(text_at(reply.json, "error"), message);
    reply_done(&reply);
}

/* Writes a message that names all formats in place of %s. */
static const char *name_formats(const char *pattern, char message[1024]) {
    const char *place = strstr(pattern, "%s");
    struct reply reply;
    size_t i;
    json_t *format;
    int length = snprintf(message, 1024, "%.*s", (int)(place - pattern), pattern);
    client_send(&served, &(struct call){.path = "/formats"}, &reply);
    ck_assert_uint_ge(json_array_size(reply.json), 17);
    json_array_foreach(reply.json, i, format) {
        length += snprintf(message + length, 1024 - (size_t)length, "%s%s", i > 0 ? ", " : "",
                           text_at(format, "name"));
    }
    snprintf(message + length, 1024 - (size_t)length, "%s", place + 2);
    reply_done(&reply);
    return message;
}
#define NAMED(pattern) name_formats(pattern, (char[1024]){0})

/* The list has what a client needs to offer files, and each name is one that `format` takes. */
START_TEST(listed_formats) {
    static const char *const archives[] = {"docx", "pptx", "xlsx", "odt", "odp", "ods", "epub"};
    struct reply reply, made;
    size_t i;
    json_t *format;
    client_send(&served, &(struct call){.path = "/formats"}, &reply);
    ck_assert_int_eq(reply.status, 200);
    json_array_foreach(reply.json, i, format) {
        const char *name = text_at(format, "name");
        char field[64];
        bool archive = false, json = strstr(name, "json") || strcmp(name, "xcstrings") == 0;
        for (size_t k = 0; k < COUNT(archives); k++)
            archive |= strcmp(archives[k], name) == 0;
        ck_assert_msg(json_array_size(json_at(format, "extensions")) > 0, "%s", name);
        ck_assert_msg(strchr(text_at(format, "media_types.0"), '/'), "%s", name);
        ck_assert_double_eq(number_at(format, "max_bytes"), archive ? 10 << 20 : 1 << 20);
        if (json)
            ck_assert_str_eq(text_at(format, "options.0"), "keys");
        if (strcmp(name, "txt") == 0)
            ck_assert_str_eq(text_at(format, "bilingual.0"), "below");
        snprintf(field, sizeof field, "format=%s", name);
        upload("a", "", "", FIELDS("source=en", "target=fr", field), &made);
        ck_assert_msg(!made.json || !strstr(made.body, "format must be"), "%s", made.body);
        reply_done(&made);
    }
    reply_done(&reply);
}
END_TEST

/* The translation by /translate. The caller frees it. */
static char *translation(const char *text) {
    char json[256];
    struct reply reply;
    snprintf(json, sizeof json, "{'text': '%s'}", text);
    client_post(&served, "/translate", json, 200, &reply);
    char *copy = strdup(text_at(reply.json, "translations.0.text"));
    reply_done(&reply);
    return copy;
}

/* A sentence that a document repeats is decoded once, and each of its places has its own tags. */
START_TEST(repeated_sentences) {
    enum { TIMES_REPEATED = 200 };
    static const char counted[] = "alignd_target_tokens_total{model=\"luong-general-gru\"}";
    static const char one[] = "<p>" DOG "</p>", tagged[] = "<p><b>" DOG "</b></p>";
    static const char part[] = "<p>" DOG "</p><p><b>" DOG "</b> " DOG "</p>";
    char *dog = translation(DOG), *many = calloc(TIMES_REPEATED, sizeof part),
         *expected = calloc(TIMES_REPEATED, 1024);
    struct reply reply;
    double before = metric(&served, counted);
    upload("a.html", "text/html", one, FIELDS("source=en", "target=fr"), &reply);
    reply_done(&reply);
    double once = metric(&served, counted) - before;
    upload("a.html", "text/html", tagged, FIELDS("source=en", "target=fr"), &reply);
    reply_done(&reply);
    before = metric(&served, counted);
    for (size_t i = 0; i < TIMES_REPEATED; i++) {
        strcat(many, part);
        sprintf(expected + strlen(expected), "<p>%s</p><p><b>%s</b> %s</p>", dog, dog, dog);
    }
    expect("a.html", many, expected);
    ck_assert_double_eq(metric(&served, counted) - before,
                        2 * once); /* with and without the places of its words */
    free(dog);
    free(many);
    free(expected);
}
END_TEST

/* Text in a document is translated as in a request; $ marks its place. */
START_TEST(formats) {
    static const struct {
        const char *name, *pattern;
    } cases[] = {
        {"a.txt", "$\n\n12\n"},
        {"a.srt", "1\n" TIMES "\n$\n\n2\n" TIMES "\n12\n"},
        {"a.vtt", "WEBVTT\n\nNOTE a note\n\n00:01.000 --> 00:02.000\n$\n"},
        {"a.json", "{\"a dog\": \"$\", \"n\": [1.50]}"},
        {"a.md", "# $\n\n```\na dog\n```\n"},
        {"a.md", "> [!NOTE]\n> $ :dog:\n\n<!-- a -- dog -->\n\n$$\na dog\n$$\n"},
        {"a.html", "<p>$</p><pre>a dog</pre>"},
    };
    char *translated = translation(DOG);
    for (size_t i = 0; i < COUNT(cases); i++) {
        char source[256], expected[256];
        const char *place = strchr(cases[i].pattern, '$');
        int before = (int)(place - cases[i].pattern);
        snprintf(source, sizeof source, "%.*s%s%s", before, cases[i].pattern, DOG, place + 1);
        snprintf(expected, sizeof expected, "%.*s%s%s", before, cases[i].pattern, translated,
                 place + 1);
        expect(cases[i].name, source, expected);
    }
    free(translated);
}
END_TEST

/* The pattern with this in the place of $. The caller frees it. */
static char *filled(const char *pattern, const char *text) {
    const char *place = strchr(pattern, '$');
    char *out;
    ck_assert_int_gt(asprintf(&out, "%.*s%s%s", (int)(place - pattern), pattern, text, place + 1),
                     0);
    return out;
}

/* Translations that stand beside what was translated. */
START_TEST(messages) {
    static const char po[] =
        "msgid \"\"\nmsgstr \"\"\n\"Language: fr\\n\"\n\"MIME-Version: 1.0\\n\"\n"
        "\"Content-Type: text/plain; charset=UTF-8\\n\"\n\"Content-Transfer-Encoding: 8bit\\n\"\n"
        "\"Plural-Forms: nplurals=2; plural=(n > 1);\\n\"\n\nmsgid \"" DOG "\"\nmsgstr \"$\"\n";
    static const char xliff[] =
        "<xliff version='2.0' srcLang='en' trgLang='fr'><file id='f'><unit id='u'><segment "
        "state=\"translated\">"
        "<source>" DOG "</source><target>$</target></segment></unit></file></xliff>";
    static const struct {
        const char *name, *pattern, *empty; /* of the pattern, where nothing is translated yet */
    } cases[] = {{"a.po", po, ""}, {"a.xlf", xliff, ""}};
    char *translated = translation(DOG);
    for (size_t i = 0; i < COUNT(cases); i++) {
        char *source = filled(cases[i].pattern, cases[i].empty),
             *expected = filled(cases[i].pattern, translated);
        expect(cases[i].name, source, expected);
        free(source);
        free(expected);
    }
    free(translated);
}
END_TEST

START_TEST(names_and_types) {
    static const struct {
        const char *name, *type, *format, *file, *content;
    } cases[] = {
        {"dir/my film.SRT", "text/plain", NULL,
         "\"my_film.fr.SRT\"; filename*=UTF-8''my%20film.fr.SRT",
         "application/x-subrip; charset=utf-8"},
        {"\u00c9t\u00e9 \u6771\u4eac.srt", "", NULL,
         "\"_t____.fr.srt\"; filename*=UTF-8''%C3%89t%C3%A9%20%E6%9D%B1%E4%BA%AC.fr.srt",
         "application/x-subrip; charset=utf-8"},
        {"a\xff:?.srt", "", NULL, "\"a___.fr.srt\"; filename*=UTF-8''a___.fr.srt",
         "application/x-subrip; charset=utf-8"},
        {"notes", "text/plain; charset=utf-8", NULL,
         "\"notes.fr.txt\"; filename*=UTF-8''notes.fr.txt", "text/plain; charset=utf-8"},
        {"C:\\a\\.json", "application/json", NULL,
         "\".json.fr.json\"; filename*=UTF-8''.json.fr.json", "application/json; charset=utf-8"},
        {"", "", "format=vtt", "\"document.fr.vtt\"; filename*=UTF-8''document.fr.vtt",
         "text/vtt; charset=utf-8"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct reply reply;
        char value[HEADER_BYTES], expected[HEADER_BYTES];
        const char *text = strstr(cases[i].content, "json")  ? "[]"
                           : strstr(cases[i].content, "vtt") ? "WEBVTT\n"
                                                             : "";
        upload(cases[i].name, cases[i].type, text, FIELDS("target=fr", cases[i].format), &reply);
        ck_assert_msg(reply.status == 200, "%zu: %ld %s", i, reply.status, reply.body);
        snprintf(expected, sizeof expected, "attachment; filename=%s", cases[i].file);
        ck_assert(reply_header(&reply, "Content-Disposition", value));
        ck_assert_str_eq(value, expected);
        ck_assert(reply_header(&reply, "Content-Type", value));
        ck_assert_str_eq(value, cases[i].content);
        reply_done(&reply);
    }
}
END_TEST

/* Several fields of globs; what is noted of the file itself is in the header, and an event of a
 * stream. */
START_TEST(values_and_notes) {
    static const char json[] =
        "{\"a\": \"" DOG "\", \"b\": [\"" DOG "\", \"#ff00aa\"],\n \"c\": \"{n, plural, one {a}\"}";
    struct reply reply;
    char value[HEADER_BYTES], *translated = translation(DOG), *expected;
    ck_assert_int_gt(asprintf(&expected,
                              "{\"a\": \"" DOG
                              "\", \"b\": [\"%s\", \"#ff00aa\"],\n \"c\": \"{n, plural, one {a}\"}",
                              translated),
                     0);
    upload("a.json", "", json,
           FIELDS("target=fr", "source=en", "warnings=false", "keys=b.*", "keys=c,!d"), &reply);
    ck_assert_int_eq(reply.status, 200);
    ck_assert_str_eq(reply.body, expected);
    ck_assert(reply_header(&reply, "X-Alignd-Warnings", value));
    ck_assert_str_eq(value, "untranslated");
    reply_done(&reply);
    upload("a.json", "", json, FIELDS("target=fr", "source=en", "warnings=false", "stream=true"),
           &reply);
    struct sse sse = sse_read(reply.body);
    ck_assert_uint_eq(sse_count(&sse, "warning"), 1);
    for (size_t i = 0; i < sse.count; i++)
        if (strcmp(sse.events[i].name, "warning") == 0) {
            ck_assert_str_eq(text_at(sse.events[i].data, "code"), "untranslated");
            ck_assert_int_eq((int)number_at(sse.events[i].data, "line"), 2);
        }
    sse_done(&sse);
    reply_done(&reply);
    free(expected);
    free(translated);
}
END_TEST

/* A file that is not UTF-8 is translated to UTF-8. */
START_TEST(other_encodings) {
    struct reply reply;
    char value[HEADER_BYTES];
    upload("a.srt", "", "1\n" TIMES "\n" DOG "\n\n2\n" TIMES "\n<i>\xe9\x80 12</i> 34 abcdef\n",
           FIELDS("target=fr", "source=en"), &reply);
    ck_assert_msg(reply.status == 200, "%s", reply.body);
    ck_assert(reply_header(&reply, "X-Alignd-Warnings", value));
    ck_assert_ptr_nonnull(strstr(value, "encoding"));
    reply_done(&reply);
}
END_TEST

/* ---- archives ---- */

static void set_number(char *at, size_t number, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        at[i] = (char)(unsigned char)(number >> 8 * i);
}

/* The checksum of ZIP, polynomial 0xedb88320. */
static uint32_t checksum_of(const char *text) {
    uint32_t sum = ~0u;
    for (; *text; text++) {
        sum ^= (unsigned char)*text;
        for (size_t bit = 0; bit < 8; bit++)
            sum = sum >> 1 ^ (sum & 1 ? 0xedb88320u : 0);
    }
    return ~sum;
}

/* An archive with one member, which is stored. Returns its bytes. */
static size_t make_archive(const char *name, const char *text, char *out) {
    size_t named = strlen(name), length = strlen(text), local = 30 + named + length,
           central = 46 + named;
    char *entry = out + local, *end = entry + central;
    memset(out, 0, local + central + 22);
    memcpy(out, "PK\3\4", 4);
    memcpy(entry, "PK\1\2", 4);
    memcpy(end, "PK\5\6", 4);
    memcpy(out + 30, name, named);
    memcpy(out + 30 + named, text, length);
    memcpy(entry + 46, name, named);
    char *const sizes[] = {out + 14, entry + 16};
    for (size_t i = 0; i < COUNT(sizes); i++) {
        set_number(sizes[i], checksum_of(text), 4);
        set_number(sizes[i] + 4, length, 4);
        set_number(sizes[i] + 8, length, 4);
        set_number(sizes[i] + 12, named, 2);
    }
    set_number(end + 8, 1, 2);
    set_number(end + 10, 1, 2);
    set_number(end + 12, central, 4);
    set_number(end + 16, local, 4);
    return local + central + 22;
}

#define FORM_FIELD(name, value)                                                                    \
    "--XX\r\nContent-Disposition: form-data; name=\"" name "\"\r\n\r\n" value "\r\n"
#define ENGLISH_TO_FRENCH FORM_FIELD("source", "en") FORM_FIELD("target", "fr")

/* The body of a form, malloc'ed. fields: its parts before the file. */
static char *archive_form(const char *name, const char *part, const char *text, const char *fields,
                          size_t *out_length) {
    static const char tail[] = "\r\n--XX--\r\n";
    size_t room = strlen(text) + 4096;
    char *archive = malloc(room), *body = malloc(2 * room);
    size_t length = make_archive(part, text, archive);
    size_t head = (size_t)snprintf(
        body, room,
        "%s--XX\r\nContent-Disposition: form-data; name=\"file\"; filename=\"%s\"\r\n\r\n", fields,
        name);
    memcpy(body + head, archive, length);
    memcpy(body + head + length, tail, sizeof tail);
    *out_length = head + length + sizeof tail - 1;
    free(archive);
    return body;
}

static void upload_archive(const char *name, const char *part, const char *text, const char *fields,
                           struct reply *reply) {
    size_t length;
    char *body = archive_form(name, part, text, fields, &length);
    client_send(&served,
                &(struct call){
                    .path = "/documents", .body = body, .length = length, .headers = {MULTIPART}},
                reply);
    free(body);
}

#define STREAM          FORM_FIELD("stream", "true")
#define PARAGRAPH(text) "<w:p><w:r><w:t xml:space=\"preserve\">" text "</w:t></w:r></w:p>"
#define WORDS(text)                                                                                \
    "<w:document><w:p><w:r><w:t xml:space=\"preserve\">" text "</w:t></w:r></w:p></w:document>"

/* The language of an archive is that of its text, not of its bytes. */
START_TEST(archives_are_detected) {
    static const char *const texts[] = {WORDS("Der Hund schl\u00e4ft im Garten."),
                                        WORDS("Le chien dort dans le jardin."), WORDS("")};
    struct daemon former = served;
    daemon_start(&served, ARGUMENTS("--model", "weights/de-en", "--model", "weights/fr-en",
                                    "--deadline-ms", "600000"));
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct reply reply;
        upload_archive("a.docx", "word/document.xml", texts[i], FORM_FIELD("target", "en"), &reply);
        ck_assert_msg(reply.status == 200, "%ld %s", reply.status, reply.body);
        ck_assert_msg(!strstr(texts[i], "n.") || memmem(reply.body, reply.length, "dog", 3),
                      "%s: %s", texts[i],
                      (const char *)memmem(reply.body, reply.length, "<w:t", 4));
        reply_done(&reply);
    }
    daemon_stop(&served);
    served = former;
}
END_TEST

/* Archives go to and fro with all their bytes; in a stream they are in base64. */
START_TEST(archives) {
    struct reply reply;
    char *french = translation(DOG), expected[256], value[HEADER_BYTES];
    snprintf(expected, sizeof expected, WORDS("%s"), french);
    upload_archive("a.docx", "word/document.xml", WORDS(DOG), ENGLISH_TO_FRENCH, &reply);
    ck_assert_msg(reply.status == 200, "%ld %s", reply.status, reply.body);
    ck_assert_mem_eq(reply.body, "PK\3\4", 4);
    ck_assert_ptr_nonnull(memmem(reply.body, reply.length, expected, strlen(expected)));
    ck_assert(reply_header(&reply, "Content-Disposition", value));
    ck_assert_ptr_nonnull(strstr(value, "a.fr.docx"));
    reply_done(&reply);

    upload_archive("a.docx", "word/document.xml", WORDS("12"), ENGLISH_TO_FRENCH STREAM, &reply);
    ck_assert_msg(reply.status == 200, "%ld %s", reply.status, reply.body);
    ck_assert_msg(strstr(reply.body, "\"base64\":\"UEsDB") ||
                      strstr(reply.body, "\"base64\": \"UEsDB"),
                  "%s", reply.body);
    reply_done(&reply);

    upload_archive("a.odt", "word/document.xml", WORDS(DOG), ENGLISH_TO_FRENCH, &reply);
    ck_assert_int_eq(reply.status, 400);
    ck_assert_str_eq(
        text_at(reply.json, "error"),
        "file: the archive is not of the format OpenDocument: it has no part content.xml");
    reply_done(&reply);
    upload_archive("a.docx", "word/document.xml", "<w:p>", ENGLISH_TO_FRENCH, &reply);
    ck_assert_int_eq(reply.status, 400);
    ck_assert_str_eq(text_at(reply.json, "error"),
                     "file: word/document.xml: line 1, column 6: missing end tag: w:p");
    reply_done(&reply);
    refuse(
        "a.pdf", "%PDF", FIELDS("target=fr"), 400,
        "PDF files cannot be translated: they store the places of letters, not sentences. Extract "
        "the text with \"pdftotext -layout FILE.pdf FILE.txt\", or make a document of it with "
        "\"soffice --infilter=writer_pdf_import --convert-to odt FILE.pdf\", and translate that");
    free(french);
}
END_TEST

START_TEST(refusals) {
    const char *const *usual = FIELDS("source=en", "target=fr");
    refuse(
        "a.srt", "1\nnever\n", usual, 400,
        "file: line 2, cue 1: \"never\" is not a timing line like 00:00:01,000 --> 00:00:04,000");
    refuse("a.json", "{\"a\": \n oops}", usual, 400,
           "file: line 2, column 2: a value is expected here");
    refuse("a.txt", "a\n\xff", usual, 400, "file: line 2 is not valid UTF-8");
    refuse("a.exe", "a", usual, 400,
           NAMED("a file with the file extension \".exe\" cannot be translated; supported types: "
                 "%s"));
    refuse("a", "a", usual, 400,
           NAMED("the file's name has no known extension: set format to one of %s"));
    refuse("a.txt", "a", FIELDS("target=fr", "keys=a"), 400, "keys is not possible in txt files");
    refuse("a.json", "{}", FIELDS("target=fr", "keys=a, b..c"), 400,
           "keys: \"b..c\" is not a path glob: a name is empty");
    refuse("a.srt", "1\n" TIMES "\n\xcf\xf0\xe8\xe2\xe5\xf2\n", usual, 400,
           "file: line 3 is not valid UTF-8, and the file does not look like UTF-16 or "
           "Windows-1252: save the file as UTF-8");
    refuse("a.txt", "a", FIELDS("target=fr", "format=doc"), 400,
           NAMED("format must be one of %s, got \"doc\""));
    refuse("a.txt", "a", FIELDS("source=en"), 400,
           "target is missing: the code of the language to translate to");
    refuse("a.txt", "a", FIELDS("target=fr", "target=fr"), 400, "target must be given only once");
    refuse("a.txt", "a", FIELDS("target=fr", "colour=red"), 400, "unknown field \"colour\"");
    refuse("a.txt", "a", FIELDS("target=zz"), 400, "target: \"zz\" is not supported");
    refuse("a.txt", "a", FIELDS("target=fr", "stream=perhaps"), 400,
           "stream must be true or false");
}
END_TEST

START_TEST(bodies_without_file) {
    struct reply reply;
    client_send(&served, &(struct call){.path = "/documents", .json = "{'target': 'fr'}"}, &reply);
    ck_assert_int_eq(reply.status, 415);
    reply_done(&reply);
    client_send(&served, &(struct call){.path = "/documents", .body = "target=fr"}, &reply);
    ck_assert_int_eq(reply.status, 400);
    ck_assert_str_eq(text_at(reply.json, "field"), "file");
    reply_done(&reply);
}
END_TEST

/* Longer than a text of a request may be: a document is bounded by the body's length. Each line is
 * one sentence. */
START_TEST(long_document) {
    struct reply reply;
    char text[64 * 16] = "";
    for (size_t i = 0; i < 64; i++)
        strcat(text, DOG "\n");
    upload("a.txt", "", text, FIELDS("target=fr"), &reply);
    ck_assert_msg(reply.status == 200, "%ld %s", reply.status, reply.body);
    size_t lines = 0;
    for (const char *c = reply.body; *c; c++)
        lines += *c == '\n';
    ck_assert_uint_eq(lines, 64);
    reply_done(&reply);
}
END_TEST

/* The most memory that the daemon had since forget_peak. */
static size_t peak_bytes(void) {
    char path[64], line[256];
    size_t kib = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)served.pid);
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    while (kib == 0 && fgets(line, sizeof line, file))
        kib = strncmp(line, "VmHWM:", 6) == 0 ? strtoul(line + 6, NULL, 10) : 0;
    fclose(file);
    return kib * 1024;
}

static void forget_peak(void) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/clear_refs", (int)served.pid);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs("5", file), 0);
    fclose(file);
}

static size_t peak_of(size_t sentences, const char *stream) {
    char *text = NULL;
    size_t length;
    struct reply reply;
    FILE *out = open_memstream(&text, &length);
    for (size_t i = 0; i < sentences; i++)
        fprintf(out, "The small dog number %zu runs in the snow.\n", i);
    fclose(out);
    forget_peak();
    upload("a.txt", "", text, FIELDS("target=fr", stream), &reply);
    ck_assert_msg(reply.status == 200, "%ld %s", reply.status, reply.body);
    reply_done(&reply);
    free(text);
    return peak_bytes();
}

/* A document's sentences are in memory only while they are decoded: each takes some hundred bytes
 * beside its text until the end. Kept whole, those of this model would take ten thousand. */
START_TEST(long_documents_take_little) {
    enum { FEW = 300, MANY = 6000, BYTES_OF_SENTENCE = 3000 };
    for (size_t i = 0; i < 2; i++) {
        const char *stream = i == 0 ? "stream=false" : "stream=true";
        size_t few = peak_of(FEW, stream), many = peak_of(MANY, stream);
        ck_assert_msg(many < few + (size_t)MANY * BYTES_OF_SENTENCE, "%s: %zu, %zu of few", stream,
                      many, few);
    }
}
END_TEST

START_TEST(streamed) {
    struct reply reply, plain;
    const char *text = DOG "\n\n" DOG " " DOG "\n";
    upload("a.txt", "", text, FIELDS("target=fr"), &plain);
    upload("a.txt", "", text, FIELDS("target=fr", "stream=true"), &reply);
    ck_assert_int_eq(reply.status, 200);
    struct sse sse = sse_read(reply.body);
    ck_assert_uint_eq(sse_count(&sse, "sentence"), 3);
    sse_check_left(&sse);
    ck_assert_str_eq(text_at(sse_last(&sse, "result"), "text"), plain.body);
    ck_assert_str_eq(text_at(sse_last(&sse, "result"), "file_name"), "a.fr.txt");
    sse_done(&sse);
    reply_done(&plain);
    reply_done(&reply);
}
END_TEST

/* Bytes of base64 in place; returns how many. */
static size_t decode_base64(char *text) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t count = 0, bits = 0;
    unsigned value = 0;
    for (const char *at = text; *at && *at != '='; at++) {
        value = value << 6 | (unsigned)(strchr(digits, *at) - digits);
        bits += 6;
        if (bits >= 8)
            text[count++] = (char)(unsigned char)(value >> (bits -= 8) & 255);
    }
    return count;
}

/* An event for each sentence says how many are left, and the last has the bytes that come without a
 * stream. */
START_TEST(archives_streamed) {
    static const char text[] = "<w:document>" PARAGRAPH(DOG) PARAGRAPH(DOG " " DOG) "</w:document>";
    struct reply reply, plain;
    upload_archive("a.docx", "word/document.xml", text, ENGLISH_TO_FRENCH, &plain);
    upload_archive("a.docx", "word/document.xml", text, ENGLISH_TO_FRENCH STREAM, &reply);
    ck_assert_int_eq(plain.status, 200);
    ck_assert_int_eq(reply.status, 200);
    struct sse sse = sse_read(reply.body);
    ck_assert_uint_eq(sse_count(&sse, "sentence"), 3);
    sse_check_left(&sse);
    const json_t *result = sse_last(&sse, "result");
    ck_assert_str_eq(text_at(result, "format"), "docx");
    ck_assert_str_eq(text_at(result, "file_name"), "a.fr.docx");
    char *bytes = strdup(text_at(result, "base64"));
    ck_assert_uint_eq(decode_base64(bytes), plain.length);
    ck_assert_mem_eq(bytes, plain.body, plain.length);
    free(bytes);
    sse_done(&sse);
    reply_done(&plain);
    reply_done(&reply);
}
END_TEST

/* In the header, or as events with the line that the text begins in. */
START_TEST(warned) {
    struct reply reply;
    char value[HEADER_BYTES];
    const char *text = "Un gar\xc3\xa7on joue dans la neige avec le chien.\n\n\nLe chien est grand "
                       "et il joue avec un enfant.\n";
    upload("a.txt", "", text, FIELDS("source=en", "target=fr", "warnings=false"), &reply);
    ck_assert_int_eq(reply.status, 200);
    ck_assert(reply_header(&reply, "X-Alignd-Warnings", value));
    ck_assert_msg(strncmp(value, "language", 8) == 0, "%s", value);
    reply_done(&reply);
    upload("a.txt", "", text, FIELDS("source=en", "target=fr", "stream=true"), &reply);
    struct sse sse = sse_read(reply.body);
    ck_assert_uint_ge(sse_count(&sse, "warning"), 1);
    const struct sse_event *first = sse.events;
    while (strcmp(first->name, "warning") != 0)
        first++;
    const json_t *warning = first->data;
    ck_assert_str_eq(text_at(warning, "code"), "language");
    ck_assert_str_eq(text_at(warning, "language"), "fr");
    ck_assert_int_eq((int)number_at(warning, "line"), 1);
    sse_last(&sse, "result");
    sse_done(&sse);
    reply_done(&reply);
    upload("a.txt", "", DOG "\n", FIELDS("source=en", "target=fr"), &reply);
    ck_assert(!reply_header(&reply, "X-Alignd-Warnings", value) || !strstr(value, "language"));
    reply_done(&reply);
    refuse("a.txt", "a", FIELDS("target=fr", "warnings=no"), 400, "warnings must be true or false");
}
END_TEST

/* Documents have a time of their own. */
START_TEST(time_limit) {
    struct daemon former = served;
    struct reply reply;
    daemon_start(&served,
                 ARGUMENTS("--model", MODEL, "--document-ms", "1", "--deadline-ms", "600000"));
    char *text = malloc(40000), *end = text;
    for (size_t i = 0; i < 800; i++)
        end = stpcpy(end, "a boy plays in the white snow\n\n");
    upload("a.txt", "", text, FIELDS("target=fr"), &reply);
    ck_assert_msg(reply.status == 504, "%ld %s", reply.status, reply.body);
    reply_done(&reply);
    free(text);
    daemon_stop(&served);
    served = former;
}
END_TEST

/* A document may have more sentences than the queue. */
START_TEST(sentence_limit) {
    enum { MOST = 40 };
    struct daemon former = served;
    struct reply reply;
    daemon_start(&served, ARGUMENTS("--model", MODEL, "--queue", "8", "--document-sentences", "40",
                                    "--deadline-ms", "600000"));
    char text[(MOST + 2) * sizeof DOG] = "", *expected = NULL, *one = translation(DOG);
    size_t length;
    FILE *out = open_memstream(&expected, &length);
    for (size_t i = 0; i < MOST; i++) {
        strcat(text, DOG "\n");
        fprintf(out, "%s\n", one);
    }
    fclose(out);
    expect("a.txt", text, expected);
    upload("a.txt", "", text, FIELDS("source=en", "target=fr", "stream=true"), &reply);
    struct sse sse = sse_read(reply.body);
    ck_assert_uint_eq(sse_count(&sse, "sentence"), MOST);
    sse_last(&sse, "result");
    sse_done(&sse);
    reply_done(&reply);
    refuse("a.txt", strcat(text, DOG "\n"), FIELDS("source=en", "target=fr"), 413,
           "file must have at most 40 sentences");
    daemon_stop(&served);

    text[MOST * (sizeof DOG)] = '\0';
    daemon_start(&served, ARGUMENTS("--model", MODEL, "--queue", "8", "--request-memory", "4096"));
    upload("a.txt", "", text, FIELDS("source=en", "target=fr"), &reply);
    ck_assert_msg(reply.status == 413 && strstr(reply.body, "file would need about"), "%ld %s",
                  reply.status, reply.body);
    reply_done(&reply);
    daemon_stop(&served);
    served = former;
    free(one);
    free(expected);
}
END_TEST

/* A docx whose body is somewhat longer than the padding, or a text of that length. Returns the
 * reply's status. */
static long send_large(bool archive, size_t padding, const char *message) {
    struct reply reply;
    char *text = malloc(padding + 100), *at = stpcpy(text, archive ? "<w:document><!--" : "");
    memset(at, 'x', padding);
    strcpy(at + padding, archive ? "-->" PARAGRAPH(DOG) "</w:document>" : "");
    if (archive)
        upload_archive("a.docx", "word/document.xml", text, ENGLISH_TO_FRENCH, &reply);
    else
        upload("a.txt", "", text, FIELDS("source=en", "target=fr"), &reply);
    long status = reply.status;
    ck_assert_msg(strstr(reply.body, message) || status == 200, "%ld %s", status, reply.body);
    reply_done(&reply);
    free(text);
    return status;
}

/* Other documents, whose length bounds the work of reading them, have the limit of all bodies. */
START_TEST(archives_may_be_larger) {
    struct daemon former = served;
    daemon_start(&served, ARGUMENTS("--model", MODEL, "--max-body-bytes", "5000",
                                    "--document-bytes", "20000"));
    ck_assert_int_eq(send_large(true, 15000, ""), 200);
    ck_assert_int_eq(send_large(false, 6000, "file must have at most 5000 bytes, got 6000"), 413);
    ck_assert_int_eq(send_large(true, 20000, "the body must have at most 20000 bytes"), 413);
    ck_assert_int_eq(send_large(true, 15000, ""), 200); /* the memory was returned */
    daemon_stop(&served);
    daemon_start(&served, ARGUMENTS("--model", MODEL, "--max-body-bytes", "5000",
                                    "--document-bytes", "20000", "--body-memory", "4096"));
    ck_assert_int_eq(send_large(true, 17000, ""),
                     200); /* the oldest body may be larger than the memory for all */
    daemon_stop(&served);
    served = former;
}
END_TEST

/* Long files need not delay others, and stop when nobody waits for them. archive: of docx,
 * otherwise of txt. */
static void leave(bool archive) {
    enum { SENTENCES = 800, LONGEST = 128 };
    char *text = malloc(SENTENCES * LONGEST), *end = stpcpy(text, archive ? "<w:document>" : "");
    for (size_t i = 0; i < SENTENCES; i++)
        end += sprintf(end,
                       archive ? PARAGRAPH("boy %zu plays in the white snow")
                               : "boy %zu plays in the white snow\n\n",
                       i);
    stpcpy(end, archive ? "</w:document>" : "");
    size_t length = 0;
    char *body = archive ? archive_form("a.docx", "word/document.xml", text,
                                        ENGLISH_TO_FRENCH STREAM, &length)
                         : form("a.txt", "", text, FIELDS("target=fr", "stream=true"));
    struct flight *flight = flight_open(&served);
    struct reply reply;
    flight_send(flight,
                &(struct call){
                    .path = "/documents", .body = body, .length = length, .headers = {MULTIPART}},
                &reply);
    metric_await_least(&served, "alignd_rows_live", 1, flight);
    char *translated = translation(DOG); /* takes its turn */
    ck_assert(*translated);
    flight_close(flight);
    metric_await(&served, "alignd_cancelled_total{reason=\"client\"}", 1, NULL);
    metric_await(&served, "alignd_rows_live", 0, NULL);
    reply_done(&reply);
    free(translated);
    free(body);
    free(text);
}

START_TEST(client_leaves) {
    leave(_i == 1);
}
END_TEST

/* A long document leaves half of the rows free, so that its memory stays small. */
START_TEST(half_of_the_rows) {
    enum { SENTENCES = 800, ROWS = 128, LOOKS = 20 };
    struct daemon daemon;
    struct reply reply;
    char *text = malloc(SENTENCES * sizeof(DOG "\n\n....")), *end = text;
    for (size_t i = 0; i < SENTENCES; i++)
        end += sprintf(end, "%zu dogs run.\n\n", i);
    char *body = form("a.txt", "", text, FIELDS("source=en", "target=fr", "stream=true"));
    daemon_start(&daemon, ARGUMENTS("--model", MODEL, "--workers", "1", "--rows", "128"));
    struct flight *flight = flight_open(&daemon);
    flight_send(flight, &(struct call){.path = "/documents", .body = body, .headers = {MULTIPART}},
                &reply);
    metric_await_least(&daemon, "alignd_rows_live", ROWS / 4, flight);
    for (size_t i = 0; i < LOOKS; i++)
        ck_assert_double_le(metric(&daemon, "alignd_rows_live"), ROWS / 2);
    flight_close(flight);
    daemon_stop(&daemon);
    reply_done(&reply);
    free(body);
    free(text);
}
END_TEST

/* `alignd translate` makes the same of it, by the file's name or by --format. */
START_TEST(command_line) {
    static const char text[] =
        "1\n" TIMES "\nThe dog that I saw\n\n2\n" TIMES "\nruns in the <i>snow</i>.\n";
    struct reply reply;
    struct outcome from_input, from_file, wrong;
    char path[] = "/tmp/alignd-XXXXXX.srt";
    int fd = mkstemps(path, 4);
    ck_assert_int_eq(write(fd, text, sizeof text - 1), sizeof text - 1);
    close(fd);
    upload("a.srt", "", text, FIELDS("target=fr"), &reply);
    program_run(ARGUMENTS("translate", "--model", MODEL, "--format", "srt"), text, &from_input);
    program_run(ARGUMENTS("translate", "--model", MODEL, path), NULL, &from_file);
    program_run(ARGUMENTS("translate", "--model", MODEL, "--format", "json"), text, &wrong);
    ck_assert_int_eq(from_input.status + from_file.status, 0);
    ck_assert_str_eq(from_input.out, reply.body);
    ck_assert_str_eq(from_file.out, reply.body);
    ck_assert_int_eq(wrong.status, 1);
    ck_assert_ptr_nonnull(
        strstr(wrong.err, "the input: line 2, column 1: unexpected text after the value"));
    ck_assert_str_eq(wrong.out, "");
    unlink(path);
    outcome_done(&from_input);
    outcome_done(&from_file);
    outcome_done(&wrong);
    reply_done(&reply);
}
END_TEST

/* ---- LibreTranslate's files ---- */

static void upload_file(const char *name, const char *text, const char *const *fields,
                        struct reply *reply) {
    char *body = form(name, "application/octet-stream", text, fields);
    client_send(&served,
                &(struct call){.path = "/translate_file", .body = body, .headers = {MULTIPART}},
                reply);
    free(body);
}

/* Behind the host. */
static const char *path_of(const struct reply *reply) {
    const char *url = text_at(reply->json, "translatedFileUrl");
    ck_assert_msg(url && strncmp(url, "http://", 7) == 0, "%s", reply->body);
    const char *path = strchr(url + 7, '/');
    ck_assert_ptr_nonnull(path);
    return path;
}

/* The address in the answer leads to the file that POST /documents answers with, and still does
 * after the file has been sent, since it may not have arrived. */
START_TEST(files_to_fetch) {
    struct reply document, address, file;
    CURL *connection =
        connection_open(); /* one, on which each reply has gone out before the next begins */
    upload("a.srt", "", "1\n" TIMES "\n" DOG "\n", FIELDS("source=en", "target=fr"), &document);
    upload_file("a.srt", "1\n" TIMES "\n" DOG "\n",
                FIELDS("source=auto", "target=fr", "unknown=field"), &address);
    ck_assert_msg(address.status == 200, "%ld %s", address.status, address.body);
    const char *path = path_of(&address);
    ck_assert_ptr_eq(strstr(path, "/download_file/"), path);
    ck_assert_str_eq(path + strlen(path) - strlen(".a.fr.srt"), ".a.fr.srt");
    static const char *const methods[] = {"HEAD", "HEAD", "GET", "GET", "GET"};
    for (size_t i = 0; i < COUNT(methods); i++) {
        char value[HEADER_BYTES];
        client_send(&served,
                    &(struct call){.path = path, .method = methods[i], .connection = connection},
                    &file);
        ck_assert_int_eq(file.status, 200);
        ck_assert_uint_eq(file.length, *methods[i] == 'G' ? document.length : 0);
        ck_assert(file.length == 0 || strcmp(file.body, document.body) == 0);
        ck_assert(reply_header(&file, "Content-Disposition", value));
        ck_assert_str_eq(value, "attachment; filename=\"a.fr.srt\"; filename*=UTF-8''a.fr.srt");
        ck_assert(reply_header(&file, "Cache-Control", value));
        ck_assert_str_eq(value, "no-store");
        reply_done(&file);
    }
    client_send(&served,
                &(struct call){.path = "/download_file/00000000000000000000000000000000.a.txt"},
                &file);
    ck_assert_int_eq(file.status, 404);
    ck_assert_str_eq(text_at(file.json, "error"), "file not found or expired");
    reply_done(&file);
    upload_file("a.json", "{oops", FIELDS("source=en", "target=fr"), &file);
    ck_assert_int_eq(file.status, 400);
    ck_assert_str_eq(text_at(file.json, "error"),
                     "file: line 1, column 2: the name of a member is expected here");
    reply_done(&file);
    reply_done(&address);
    reply_done(&document);
    curl_easy_cleanup(connection);
}
END_TEST

/* The file is so short that the kernel takes all of it, and its client leaves without reading it.
 */
START_TEST(files_that_nobody_read) {
    static const char fetched[] =
        "alignd_requests_total{endpoint=\"/download_file/{file}\",code=\"200\"}";
    struct daemon former = served;
    struct reply address, file;
    char request[512];
    daemon_start(&served, ARGUMENTS("--model", MODEL));
    upload_file("a.txt", DOG, FIELDS("source=en", "target=fr"), &address);
    ck_assert_msg(address.status == 200, "%ld %s", address.status, address.body);
    snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n",
             path_of(&address));
    int connection = raw_open(&served);
    raw_write(connection, request, strlen(request));
    metric_await(&served, fetched, 1, NULL);
    close(connection);
    client_send(&served, &(struct call){.path = path_of(&address)}, &file);
    ck_assert_int_eq(file.status, 200);
    ck_assert_uint_gt(file.length, 0);
    reply_done(&file);
    reply_done(&address);
    daemon_stop(&served);
    served = former;
}
END_TEST

/* As much as no socket holds: its client reads the beginning and is gone. */
START_TEST(files_that_were_cut_off) {
    enum { BLANKS = 16 << 20 };
    static const char fetched[] =
        "alignd_requests_total{endpoint=\"/download_file/{file}\",code=\"200\"}";
    struct daemon former = served;
    struct reply address, file;
    daemon_start(&served, ARGUMENTS("--model", MODEL, "--max-body-bytes", "20000000",
                                    "--deadline-ms", "600000"));
    char *text = malloc(BLANKS + 3), request[512], begin[64];
    text[0] = '[';
    memset(text + 1, ' ', BLANKS);
    strcpy(text + 1 + BLANKS, "]");
    upload_file("a.json", text, FIELDS("source=en", "target=fr"), &address);
    ck_assert_msg(address.status == 200, "%ld %s", address.status, address.body);
    snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n",
             path_of(&address));
    int connection = raw_open(&served);
    raw_write(connection, request, strlen(request));
    ck_assert_int_gt(read(connection, begin, sizeof begin), 0);
    close(connection);
    metric_await(&served, fetched, 1, NULL);
    client_send(&served, &(struct call){.path = path_of(&address)}, &file);
    ck_assert_int_eq(file.status, 200);
    ck_assert_uint_eq(file.length, BLANKS + 2);
    ck_assert_int_eq(memcmp(file.body, text, BLANKS + 2), 0); /* too long for a message */
    reply_done(&file);
    reply_done(&address);
    free(text);
    daemon_stop(&served);
    served = former;
}
END_TEST

/* No more than they may take; what is longer than that is refused. */
START_TEST(files_that_make_room) {
    struct daemon former = served;
    struct reply one, other, file;
    daemon_start(&served,
                 ARGUMENTS("--model", MODEL, "--keep-files-bytes", "8", "--deadline-ms", "600000"));
    upload_file("a.txt", "12345", FIELDS("source=en", "target=fr"), &one);
    upload_file("a.txt", "67890", FIELDS("source=en", "target=fr"), &other);
    client_send(&served, &(struct call){.path = path_of(&one)}, &file);
    ck_assert_int_eq(file.status, 404);
    reply_done(&file);
    client_send(&served, &(struct call){.path = path_of(&other)}, &file);
    ck_assert_int_eq(file.status, 200);
    ck_assert_str_eq(file.body, "67890");
    reply_done(&file);
    upload_file("a.txt", "123456789", FIELDS("source=en", "target=fr"), &file);
    ck_assert_int_eq(file.status, 413);
    reply_done(&file);
    reply_done(&one);
    reply_done(&other);
    daemon_stop(&served);
    served = former;
}
END_TEST

/* ---- both languages ---- */

/* The source stays byte for byte, and the translation stands below it, where the format has it;
 * what says the same in both stands there once. */
START_TEST(bilingual) {
    static const struct {
        const char *name, *text, *expected; /* expected: with @ for the translation of DOG */
    } rows[] = {
        {"a.txt", "42\r\n  - " DOG "\r\n\r\n", "42\r\n  - " DOG "\r\n    @\r\n\r\n"},
        {"a.txt", DOG, DOG "\n@"},
        {"a.md", "# " DOG "\n\n| " DOG " |\n|---|\n| 42 |\n",
         "# " DOG "<br>@\n\n| " DOG "<br>@ |\n|---|\n| 42 |\n"},
        {"a.html", "<title>" DOG "</title><p lang=\"en\" title=\"" DOG "\">" DOG "</p><p>42</p>",
         "<title>" DOG " / @</title><p lang=\"en\" title=\"" DOG "\">" DOG
         "<br/><span lang=\"fr\">@</span></p><p>42</p>"},
        {"a.srt", "1\r\n" TIMES "\r\n" DOG "\r\n\r\n2\r\n" TIMES "\r\n42\r\n",
         "1\r\n" TIMES "\r\n" DOG "\r\n@\r\n\r\n2\r\n" TIMES "\r\n42\r\n"},
        {"a.vtt", "WEBVTT\n\n" TIMES "\n<i>" DOG "</i>\n",
         "WEBVTT\n\n" TIMES "\n<i>" DOG "</i>\n<i>@</i>\n"},
        {"a.csv", "id,title\n1," DOG "\n", "id,title\n1,\"" DOG "\n@\"\n"},
        {"a.mdx", "export const a = 1\n\n" DOG "\n", "export const a = 1\n\n" DOG "<br/>@\n"},
        {"a.rst", "- " DOG "\n", "- " DOG "\n\n  @\n"},
    };
    char *dog = translation(DOG), command[128], path[] = "/tmp/alignd-XXXXXX.html";
    struct reply reply;
    struct outcome outcome;
    for (size_t i = 0; i < COUNT(rows); i++) {
        char expected[512] = "";
        for (const char *at = rows[i].expected; *at;) {
            size_t length = strcspn(at, "@");
            snprintf(expected + strlen(expected), sizeof expected - strlen(expected), "%.*s%s",
                     (int)length, at, at[length] ? dog : "");
            at += length + (at[length] != '\0');
        }
        upload(rows[i].name, "", rows[i].text, FIELDS("source=en", "target=fr", "bilingual=below"),
               &reply);
        ck_assert_msg(reply.status == 200, "%s: %s", rows[i].name, reply.body);
        ck_assert_str_eq(reply.body, expected);
        reply_done(&reply);
    }
    snprintf(command, sizeof command, "<html lang=\"en\"><body><p>%s</p></body></html>", DOG);
    upload("a.html", "", command, FIELDS("source=en", "target=fr", "bilingual=below"), &reply);
    int fd = mkstemps(path, 5);
    ck_assert_int_eq(write(fd, command, strlen(command)), (ssize_t)strlen(command));
    close(fd);
    program_run(ARGUMENTS("translate", "--model", MODEL, "--bilingual", "below", path), NULL,
                &outcome);
    ck_assert_msg(outcome.status == 0, "%s", outcome.err);
    ck_assert_str_eq(outcome.out, reply.body);
    outcome_done(&outcome);
    reply_done(&reply);
    upload("a.html", "", command, FIELDS("source=en", "target=fr"), &reply);
    ck_assert_ptr_nonnull(strstr(reply.body, "<html lang=\"fr\">"));
    program_run(ARGUMENTS("translate", "--model", MODEL, path), NULL, &outcome);
    ck_assert_str_eq(outcome.out, reply.body);
    outcome_done(&outcome);
    reply_done(&reply);
    refuse("a.txt", DOG, FIELDS("source=en", "target=fr", "bilingual=above"), 400,
           "bilingual must be below or beside, got \"above\"");
    refuse("a.txt", DOG, FIELDS("source=en", "target=fr", "bilingual=beside"), 400,
           "bilingual beside is not possible in txt files, only below; it is in: csv, tsv");
    refuse("a.xlsx", "", FIELDS("source=en", "target=fr", "bilingual=beside"), 400,
           "bilingual beside is not possible in xlsx files, only below; it is in: csv, tsv");
    refuse("a.ods", "", FIELDS("source=en", "target=fr", "bilingual=beside"), 400,
           "bilingual beside is not possible in ods files, only below; it is in: csv, tsv");
    refuse("a.txt", DOG, FIELDS("source=en", "target=fr", "columns=1"), 400,
           "columns is not possible in txt files");
    refuse("a.csv", "id,title\n1,x\n", FIELDS("source=en", "target=fr", "columns=text"), 400,
           "file: columns: there is no column \"text\"; the file has 2 columns: id, title");
    refuse("a.json", "{}", FIELDS("source=en", "target=fr", "bilingual=below"), 400,
           "bilingual is not possible in json files");
    refuse("a.po", "", FIELDS("source=en", "target=fr", "bilingual=below"), 400,
           "bilingual is not possible in po files");
    refuse("a.xliff", "", FIELDS("source=en", "target=fr", "bilingual=below"), 400,
           "bilingual is not possible in xliff files");
    program_run(
        ARGUMENTS("translate", "--model", MODEL, "--bilingual", "below", "--format", "json"), "{}",
        &outcome);
    ck_assert_int_eq(outcome.status, 1);
    ck_assert_ptr_nonnull(strstr(outcome.err, "--bilingual is not possible in json files"));
    outcome_done(&outcome);
    program_run(ARGUMENTS("translate", "--model", MODEL, "--bilingual", "below"), "x", &outcome);
    ck_assert_ptr_nonnull(strstr(outcome.err, "--bilingual needs a document"));
    outcome_done(&outcome);
    unlink(path);
    free(dog);
}
END_TEST

/* A review has both texts; what was corrected in it comes into the document, by HTTP and by the
 * program. */
START_TEST(reviews) {
    char *dog = translation(DOG), target[256], merge[2048] = "merge=", *at = merge + 6,
         path[] = "/tmp/alignd-XXXXXX.xlf", file[] = "/tmp/alignd-XXXXXX.md", value[HEADER_BYTES];
    struct reply reply;
    struct outcome outcome;
    upload("a.md", "", "# " DOG "\n", FIELDS("source=en", "target=fr", "output=review"), &reply);
    ck_assert_int_eq(reply.status, 200);
    ck_assert(reply_header(&reply, "Content-Disposition", value));
    ck_assert_ptr_nonnull(strstr(value, "a.fr.md.xlf"));
    snprintf(target, sizeof target, "<target>%s</target>", dog);
    const char *own = strstr(reply.body, target);
    ck_assert_msg(own != NULL, "%s", reply.body);
    at = mempcpy(at, reply.body, (size_t)(own - reply.body));
    at = stpcpy(at, "<target>Un chien.</target>");
    stpcpy(at, own + strlen(target));
    int fd = mkstemps(path, 4);
    ck_assert_int_eq(write(fd, merge + 6, strlen(merge + 6)), (ssize_t)strlen(merge + 6));
    close(fd);
    fd = mkstemps(file, 3);
    ck_assert_int_eq(write(fd, "# " DOG "\n", strlen(DOG) + 3), (ssize_t)strlen(DOG) + 3);
    close(fd);
    reply_done(&reply);
    upload("a.md", "", "# " DOG "\n", FIELDS("source=en", "target=fr", merge), &reply);
    ck_assert_str_eq(reply.body, "# Un chien.\n");
    reply_done(&reply);
    program_run(ARGUMENTS("translate", "--merge", path, file), NULL, &outcome);
    ck_assert_msg(outcome.status == 0, "%s", outcome.err);
    ck_assert_str_eq(outcome.out, "# Un chien.\n");
    outcome_done(&outcome);
    refuse("a.md", "# Other\n", FIELDS("source=en", "target=fr", merge), 400,
           "file: line 9, column 1: the source of unit 1 is not that of the document");
    refuse("a.md", "", FIELDS("source=en", "target=fr", "output=pdf"), 400,
           "output must be document or review, got \"pdf\"");
    unlink(path);
    unlink(file);
    free(dog);
}
END_TEST

/* ---- DeepL's documents ---- */

static void order_document(const char *name, const char *text, const char *const *fields,
                           struct reply *reply) {
    char *body = form(name, "application/octet-stream", text, fields);
    client_send(&served,
                &(struct call){.path = "/v2/document", .body = body, .headers = {MULTIPART}},
                reply);
    free(body);
}

static void ask_document(const struct reply *handle, const char *what, const char *key,
                         struct reply *reply) {
    char path[128], json[128];
    snprintf(path, sizeof path, "/v2/document/%s%s", text_at(handle->json, "document_id"), what);
    snprintf(json, sizeof json, "{'document_key': '%s'}",
             key ? key : text_at(handle->json, "document_key"));
    client_send(&served, &(struct call){.path = path, .json = json}, reply);
}

/* A file is searched for as a text is. */
START_TEST(searches) {
    static const struct {
        const char *field, *json;
    } all[] = {{"strategy=greedy", "'strategy': 'greedy'"},
               {"beam_size=2", "'beam_size': 2"},
               {"max_length=3", "'max_length': 3"},
               {"strategy=sample", "'strategy': 'sample', 'seed': 5"}};
    const char *fields[5] = {"source=en", "target=fr"};
    char json[400];
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct reply text, document, address, file;
        snprintf(json, sizeof json, "{'text': '" DOG "', 'source': 'en', 'target': 'fr', %s}",
                 all[i].json);
        fields[2] = all[i].field;
        fields[3] = strstr(all[i].json, "seed") ? "seed=5" : NULL;
        client_post(&served, "/translate", json, 200, &text);
        upload("a.txt", "", DOG, fields, &document);
        ck_assert_msg(document.status == 200, "%s", document.body);
        ck_assert_str_eq(document.body, text_at(text.json, "translations.0.text"));
        upload_file("a.txt", DOG, fields, &address);
        ck_assert_msg(address.status == 200, "%s", address.body);
        client_send(&served, &(struct call){.path = path_of(&address)}, &file);
        ck_assert_str_eq(file.body, document.body);
        reply_done(&address);
        reply_done(&text);
        reply_done(&document);
        reply_done(&file);
    }
}
END_TEST

static void refuse_search(const char *first, const char *second, const char *error) {
    struct reply reply;
    const char *const fields[5] = {"source=en", "target=fr", first, second};
    upload("a.txt", "", DOG, fields, &reply);
    ck_assert_msg(reply.status == 400, "%ld %s", reply.status, reply.body);
    ck_assert_str_eq(text_at(reply.json, "error"), error);
    reply_done(&reply);
}

START_TEST(wrong_searches) {
    refuse_search("n_best=2", NULL, "unknown field \"n_best\"");
    refuse_search("strategy=best", NULL,
                  "strategy must be greedy, beam, sample or exact, got \"best\"");
    refuse_search("beam_size=many", NULL, "beam_size must be an integer, got a string");
    refuse_search("beam_size=2", "beam_size=3", "beam_size must be given only once");
    refuse_search("seed=5", NULL, "seed requires strategy sample, got beam");
    refuse_search("min_length=5", "max_length=4",
                  "min_length must be between 0 and max_length (4), got 5");
}
END_TEST

/* Until it is neither queued nor being translated. */
static void await_document(const struct reply *handle, struct reply *reply) {
    for (;;) {
        ask_document(handle, "", NULL, reply);
        ck_assert_msg(reply->status == 200, "%ld %s", reply->status, reply->body);
        const char *status = text_at(reply->json, "status");
        if (strcmp(status, "queued") != 0 && strcmp(status, "translating") != 0)
            return;
        reply_done(reply);
        usleep(10000);
    }
}

/* Answered at once; the file is that of POST /documents, for who has the key, and once. */
START_TEST(deepl_document) {
    struct reply document, handle, reply;
    char value[HEADER_BYTES];
    upload("a.srt", "", "1\n" TIMES "\n" DOG "\n", FIELDS("source=en", "target=fr"), &document);
    order_document("x", "1\n" TIMES "\n" DOG "\n",
                   FIELDS("source_lang=EN", "target_lang=FR", "filename=a.srt", "other=1"),
                   &handle);
    ck_assert_msg(handle.status == 200, "%ld %s", handle.status, handle.body);
    await_document(&handle, &reply);
    ck_assert_str_eq(text_at(reply.json, "status"), "done");
    ck_assert_str_eq(text_at(reply.json, "document_id"), text_at(handle.json, "document_id"));
    ck_assert_double_eq(number_at(reply.json, "billed_characters"), strlen(DOG));
    reply_done(&reply);
    for (size_t i = 0; i < 2; i++) {
        ask_document(&handle, i == 0 ? "" : "/result", "00000000000000000000000000000000", &reply);
        ck_assert_int_eq(reply.status, 404);
        ck_assert_str_eq(text_at(reply.json, "message"),
                         "document not found or expired, or the document_key is wrong");
        reply_done(&reply);
    }
    CURL *connection =
        connection_open(); /* one, on which each reply has gone out before the next begins */
    char path[128], json[128];
    snprintf(path, sizeof path, "/v2/document/%s/result", text_at(handle.json, "document_id"));
    snprintf(json, sizeof json, "{'document_key': '%s'}", text_at(handle.json, "document_key"));
    client_send(&served, &(struct call){.path = path, .json = json, .connection = connection},
                &reply);
    ck_assert_int_eq(reply.status, 200);
    ck_assert_str_eq(reply.body, document.body);
    ck_assert(reply_header(&reply, "Content-Disposition", value));
    ck_assert_str_eq(value, "attachment; filename=\"a.FR.srt\"; filename*=UTF-8''a.FR.srt");
    reply_done(&reply);
    client_send(&served, &(struct call){.path = path, .json = json, .connection = connection},
                &reply);
    ck_assert_int_eq(reply.status, 404);
    reply_done(&reply);
    curl_easy_cleanup(connection);
    reply_done(&handle);
    reply_done(&document);
}
END_TEST

/* A blank document has nothing to decode; one whose time is over says so to who asks; what is wrong
 * is refused before an id is given. */
START_TEST(deepl_document_ends) {
    static const struct {
        const char *name, *fields[3], *message;
    } rows[] = {
        {"a.txt",
         {"source_lang=EN"},
         "target_lang is missing: the code of the language to translate to"},
        {"a.txt", {"source_lang=EN", "target_lang=ZZ"}, "target_lang: \"ZZ\" is not supported"},
        {"a.txt", {"target_lang=FR", "glossary_id=x"}, "source_lang is required with glossary_id"},
        {"a.txt",
         {"target_lang=FR", "output_format=pdf"},
         "output_format must be that of the file, txt, got \"pdf\""},
        {"a.txt",
         {"target_lang=FR", "formality=most"},
         "formality must be default, more, less, prefer_more or prefer_less, got \"most\""},
    };
    struct reply handle, reply;
    order_document("a.exe", DOG, FIELDS("target_lang=FR"), &reply);
    ck_assert_str_eq(text_at(reply.json, "message"),
                     NAMED("a file with the file extension \".exe\" cannot be translated; "
                           "supported types: %s"));
    reply_done(&reply);
    for (size_t i = 0; i < COUNT(rows); i++) {
        order_document(rows[i].name, DOG, rows[i].fields, &reply);
        ck_assert_int_eq(reply.status, 400);
        ck_assert_str_eq(text_at(reply.json, "message"), rows[i].message);
        reply_done(&reply);
    }
    order_document("a.txt", "42\n", FIELDS("source_lang=EN", "target_lang=FR", "output_format=txt"),
                   &handle);
    await_document(&handle, &reply);
    ck_assert_str_eq(text_at(reply.json, "status"), "done");
    reply_done(&reply);
    ask_document(&handle, "/result", NULL, &reply);
    ck_assert_str_eq(reply.body, "42\n");
    reply_done(&reply);
    reply_done(&handle);

    /* accepted, and then wrong */
    order_document("a.txt", DOG, FIELDS("source_lang=EN", "target_lang=EN", "context=x"), &handle);
    char ignored[HEADER_BYTES] = "";
    reply_header(&handle, "X-Alignd-Ignored", ignored);
    ck_assert_str_eq(ignored, "context");
    await_document(&handle, &reply);
    ck_assert_str_eq(text_at(reply.json, "status"), "error");
    ck_assert_str_eq(text_at(reply.json, "error_message"), "Source and target language are equal.");
    reply_done(&reply);
    reply_done(&handle);

    char *text = malloc(40000), *end = text;
    for (size_t i = 0; i < 800; i++) /* all different, since equal ones are decoded once */
        end += sprintf(end, "boy %zu plays in the white snow\n\n", i);
    char *body = form("a.txt", "text/plain", text, FIELDS("source_lang=EN", "target_lang=FR"));
    bool failed = false; /* with so much time that it can be read, and not decoded */
    for (size_t ms = 1; !failed; ms++) {
        char deadline[32];
        snprintf(deadline, sizeof deadline, "X-Deadline-Ms: %zu", ms);
        client_send(
            &served,
            &(struct call){.path = "/v2/document", .body = body, .headers = {MULTIPART, deadline}},
            &handle);
        ck_assert_msg(handle.status == 200 || handle.status == 504, "%ld %s", handle.status,
                      handle.body);
        if (handle.status == 504) {
            reply_done(&handle);
            continue;
        }
        await_document(&handle, &reply);
        ck_assert_str_eq(text_at(reply.json, "status"), "error");
        ck_assert_str_eq(text_at(reply.json, "error_message"),
                         "the request's deadline passed before it was answered");
        reply_done(&reply);
        ask_document(&handle, "/result", NULL, &reply);
        ck_assert_int_eq(reply.status, 400);
        reply_done(&reply);
        reply_done(&handle);
        failed = true;
    }
    free(body);
    free(text);
}
END_TEST

/* The client has its answer while the document is decoded, and a daemon that stops finishes it
 * first. */
START_TEST(deepl_document_goes_on) {
    enum { LINES = 300 };
    struct daemon former = served;
    struct reply handle, reply;
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    for (size_t i = 0; i < LINES; i++)
        fprintf(out, "The dog runs in the snow, and %zu boys see it.\n", i + 2);
    fclose(out);
    daemon_start(&served, ARGUMENTS("--model", MODEL, "--deadline-ms", "600000"));
    order_document("a.txt", text, FIELDS("source_lang=EN", "target_lang=FR"), &handle);
    ck_assert_msg(handle.status == 200, "%ld %s", handle.status, handle.body);
    ask_document(&handle, "/result", NULL, &reply);
    ck_assert_int_eq(reply.status, 503);
    ck_assert_str_eq(text_at(reply.json, "message"), "the document is not translated yet");
    reply_done(&reply);
    await_document(&handle, &reply);
    ck_assert_str_eq(text_at(reply.json, "status"), "done");
    reply_done(&reply);
    reply_done(&handle);
    order_document("a.txt", text, FIELDS("source_lang=EN", "target_lang=FR"), &handle);
    ck_assert_int_eq(handle.status, 200);
    daemon_stop(&served); /* expects a clean end */
    served = former;
    reply_done(&handle);
    free(text);
}
END_TEST

Suite *documents_suite(void) {
    Suite *suite = suite_create("documents");
    TCase *cases = tcase_create("documents");
    tcase_set_timeout(cases, TEST_TIMEOUT_S);
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, repeated_sentences);
    tcase_add_test(cases, formats);
    tcase_add_test(cases, listed_formats);
    tcase_add_test(cases, messages);
    tcase_add_test(cases, names_and_types);
    tcase_add_test(cases, values_and_notes);
    tcase_add_test(cases, other_encodings);
    tcase_add_test(cases, archives);
    tcase_add_test(cases, archives_are_detected);
    tcase_add_test(cases, refusals);
    tcase_add_test(cases, bodies_without_file);
    tcase_add_test(cases, long_document);
    if (!program_sanitized())
        tcase_add_test(cases, long_documents_take_little);
    tcase_add_test(cases, streamed);
    tcase_add_test(cases, archives_streamed);
    tcase_add_test(cases, warned);
    tcase_add_test(cases, time_limit);
    tcase_add_test(cases, sentence_limit);
    tcase_add_test(cases, archives_may_be_larger);
    tcase_add_loop_test(cases, client_leaves, 0, 2);
    tcase_add_test(cases, half_of_the_rows);
    tcase_add_test(cases, command_line);
    tcase_add_test(cases, files_to_fetch);
    tcase_add_test(cases, files_that_nobody_read);
    tcase_add_test(cases, files_that_were_cut_off);
    tcase_add_test(cases, files_that_make_room);
    tcase_add_test(cases, bilingual);
    tcase_add_test(cases, searches);
    tcase_add_test(cases, wrong_searches);
    tcase_add_test(cases, reviews);
    tcase_add_test(cases, deepl_document);
    tcase_add_test(cases, deepl_document_ends);
    tcase_add_test(cases, deepl_document_goes_on);
    suite_add_tcase(suite, cases);
    return suite;
}
