/* SubRip (srt) and WebVTT (vtt). A sentence that runs over cues is one segment with a part in each. */
#include "model/text/character.h"
#include "server/document/subtitles.h"
#include <string.h>
#include <strings.h>

enum {
    MOST_PARTS = 8,
    MANY_WORDS = 5, /* of a cue without a mark at its end that is no title, where the next one ends a sentence */
    SOME_WORDS = 3  /* of one whose last word asks for more: "Come on" does not */
};

struct subtitles {
    struct html_builder builder;
    struct cue_reader cues;
    const char *at;         /* the document up to here is in pieces */
    size_t parts;           /* of the sentence in hand */
    struct html_bytes last; /* the last one's text */
    struct cue_marks marks; /* of the cue in hand */
    bool vtt;
    struct error *err;
};

/* Its first character, behind tags, quotation marks and the like. */
static struct html_bytes without_marks(struct html_bytes text) {
    while (text.length > 0 && strchr("<{\"'", *text.start)) {
        const char *close = *text.start == '<'   ? memchr(text.start, '>', text.length)
                            : *text.start == '{' ? memchr(text.start, '}', text.length)
                                                 : text.start;
        if (!close)
            return text;
        text = bytes_between(close + 1, text.start + text.length);
    }
    return text;
}

/* The same at the end: `going on</i>`. */
static struct html_bytes without_last_mark(struct html_bytes text) {
    while (text.length > 0 && text.start[text.length - 1] == '>') {
        const char *open = memrchr(text.start, '<', text.length);
        if (!open)
            return text;
        text = bytes_between(text.start, open);
    }
    return text;
}

static bool is_alone(const char *text, size_t length) {
    static const char *const begins[] = {"-", "\u2013", "\u2014", "\u266a", "\u266b", "[", "("};
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (length >= strlen(begins[i]) && memcmp(text, begins[i], strlen(begins[i])) == 0)
            return true;
    return length == 0;
}

static size_t count_words(struct html_bytes text) {
    size_t words = 0;
    for (size_t i = 0; i < text.length; i++)
        words += !strchr(" \t\r\n", text.start[i]) && (i == 0 || strchr(" \t\r\n", text.start[i - 1]));
    return words;
}

static struct html_bytes last_word(struct html_bytes text) {
    const char *begin = text.start + text.length;
    while (begin > text.start && !strchr(" \t\r\n", begin[-1]))
        begin--;
    return bytes_between(begin, text.start + text.length);
}

/* A letter in lower case, of an alphabet that has capitals. */
static bool begins_small(struct html_bytes text) {
    size_t at = 0;
    int32_t first = text.length > 0 ? character_next(text.start, text.length, &at) : -1;
    return first >= 0 && character_lower(first) == first && character_upper(first) != first;
}

/* Words behind which a sentence does not end: articles, prepositions, conjunctions. */
static bool asks_for_more(struct html_bytes word) {
    static const char words[] =
        " a an the of to in on at by for from with and or but my your our their is are was were if when because than into "
        "about between le la les un une des de du et ou mais \u00e0 au aux en dans sur pour par avec que qui est sont mon ma "
        "mes der die das den dem ein eine einen einem einer und oder aber zu im am auf von vom mit f\u00fcr bei nach dass wenn "
        "weil ist sind war mein sein el los las una y o pero con para es son del al il lo gli e di da per che ";
    for (const char *at = words; word.length > 0 && (at = memmem(at, strlen(at), word.start, word.length)); at++)
        if (at[-1] == ' ' && at[word.length] == ' ')
            return true;
    return false;
}

/* The text goes on with the sentence that the one before it began. Titles and words that are repeated do not, though no mark ends
 * them. */
static bool continues(const struct subtitles *subtitles, struct html_bytes text) {
    struct html_bytes before = without_last_mark(subtitles->last), now = without_marks(text);
    size_t words = count_words(before);
    if (subtitles->parts == 0 || subtitles->parts == MOST_PARTS || text_ends_sentence(before.start, before.length) ||
        is_alone(now.start, now.length))
        return false;
    if (before.start[before.length - 1] == ',')
        return true;
    bool same = subtitles->last.length == text.length && strncasecmp(subtitles->last.start, text.start, text.length) == 0;
    if (same || (subtitles->parts == 1 && words == 1 && count_words(now) == 1))
        return false;
    if (begins_small(now))
        return true;
    struct html_bytes last = last_word(before), end = without_last_mark(text);
    return (words >= SOME_WORDS && asks_for_more(last)) ||
           (words >= MANY_WORDS && begins_small(last) && text_ends_sentence(end.start, end.length));
}

/* Up to where the next text begins, or the document ends. */
static void end_sentence(struct subtitles *subtitles, const char *to) {
    if (subtitles->parts > 0)
        html_end_part(&subtitles->builder, (struct html_bytes){"", 0});
    subtitles->parts = 0;
    html_add_break(&subtitles->builder, bytes_between(subtitles->at, to));
    subtitles->at = to;
}

static int add_part(struct subtitles *subtitles, struct html_bytes text) {
    struct error inner = {0};
    size_t dash = text_bullet(text.start, text.length);
    text = bytes_between(text.start + dash, text.start + text.length);
    if (dash == 0 && continues(subtitles, text))
        html_end_part(&subtitles->builder, bytes_between(subtitles->at, text.start));
    else
        end_sentence(subtitles, text.start);
    subtitles->parts++;
    subtitles->last = text;
    subtitles->at = text.start + text.length;
    html_add_part(&subtitles->builder);
    if (cue_add_marked(&subtitles->builder, text, subtitles->vtt, &subtitles->marks, &inner) == 0)
        return 0;
    return error_set(subtitles->err, inner.code, "cue %zu: %s", subtitles->cues.number, inner.message);
}

/* What one of several says: lines from *at to the next one that begins with a dash, to where it is moved. */
static struct html_bytes next_speech(struct html_bytes text, const char **at) {
    struct html_bytes speech = cue_line(text, at);
    for (const char *next = *at; next < text.start + text.length; *at = next) {
        struct html_bytes line = cue_line(text, &next);
        if (text_bullet(line.start, line.length) > 0)
            break;
        speech = bytes_between(speech.start, line.start + line.length);
    }
    return speech;
}

/* What several say is a text for each of them: were one a part of a sentence, it might get no words, and a blank line end the cue.
 */
static int add_cue(struct subtitles *subtitles, const struct cue *cue) {
    if (cue->lines == 0)
        return 0;
    if (!cue_is_dialogue(cue))
        return add_part(subtitles, cue->text);
    for (const char *at = cue->text.start; at < cue->text.start + cue->text.length;) {
        struct html_bytes speech = next_speech(cue->text, &at);
        end_sentence(subtitles, speech.start);
        if (add_part(subtitles, speech) != 0)
            return -1;
    }
    return 0;
}

static int subtitles_read(const struct document *document, bool vtt, struct arena *arena, struct html *out, struct error *err) {
    const char *source = document->source, *end = source + document->length;
    struct subtitles subtitles = {.builder = document_builder(document, arena),
                                  .cues = {.end = end, .line.next = source, .vtt = vtt},
                                  .at = source,
                                  .vtt = vtt,
                                  .err = err};
    struct cue cue;
    int found;
    while ((found = cue_next(&subtitles.cues, &cue, err)) == 1)
        if (add_cue(&subtitles, &cue) != 0)
            return -1;
    if (found < 0)
        return -1;
    end_sentence(&subtitles, end);
    return html_build(&subtitles.builder, vtt ? text_escape_markup : srt_escape, out, err);
}

static int srt_read(const struct document *document, struct arena *arena, struct html *out, struct error *err) {
    return subtitles_read(document, false, arena, out, err);
}

static int vtt_read(const struct document *document, struct arena *arena, struct html *out, struct error *err) {
    return subtitles_read(document, true, arena, out, err);
}

static char *subtitles_finish(const struct document *document, const char *written, size_t written_length, bool vtt,
                              struct arena *arena, size_t *out_length, struct error *err) {
    char *wrapped = subtitles_wrap(document, written, written_length, vtt, arena, out_length, err);
    return wrapped && document->bilingual ? subtitles_below(document, wrapped, *out_length, vtt, arena, out_length, err) : wrapped;
}

static char *srt_finish(const struct document *document, const char *written, size_t written_length, struct arena *arena,
                        size_t *out_length, struct error *err) {
    return subtitles_finish(document, written, written_length, false, arena, out_length, err);
}

static char *vtt_finish(const struct document *document, const char *written, size_t written_length, struct arena *arena,
                        size_t *out_length, struct error *err) {
    return subtitles_finish(document, written, written_length, true, arena, out_length, err);
}

const struct document_format format_srt = {.name = "srt",
                                           .extensions = "srt",
                                           .media_types = "application/x-subrip text/srt",
                                           .content_type = "application/x-subrip; charset=utf-8",
                                           .bilingual = true,
                                           .older_encodings = true,
                                           .read = srt_read,
                                           .finish = srt_finish};
const struct document_format format_vtt = {.name = "vtt",
                                           .extensions = "vtt",
                                           .media_types = "text/vtt",
                                           .content_type = "text/vtt; charset=utf-8",
                                           .bilingual = true,
                                           .older_encodings = true,
                                           .read = vtt_read,
                                           .finish = vtt_finish};
