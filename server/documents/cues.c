/* This file hides when a sentence runs on in the next cue, and how the cues of one sentence become
 * one text of a file that gives spans. */
#include "server/documents/cues.h"
#include "model/base/utf8.h"
#include "server/documents/values.h"

enum {
    MOST_PARTS = 8, /* cues of a sentence */
    MANY_WORDS = 5, /* a cue with this many words and without a mark at its end is not a title, if
                       the next one ends a sentence */
    SOME_WORDS = 3, /* a cue with this many words continues if its last word cannot end a sentence;
                       "Come on" does not */
    NAME_BYTES = 32 /* of a speaker's name */
};

/* ---- sentences ---- */

/* Returns the first character; 0: there is none. */
static int32_t first_of(struct bytes text) {
    size_t at = 0;
    return text.length > 0 ? character_next(text.start, text.length, &at) : 0;
}

struct bytes cues_without_last_mark(struct bytes text) {
    while (text.length > 0 && text.start[text.length - 1] == '>') {
        const char *open = memrchr(text.start, '<', text.length);
        if (!open)
            return text;
        text = bytes_between(text.start, open);
    }
    return text;
}

struct bytes cues_line(struct bytes text, const char **at) {
    struct line line = {.next = *at};
    lines_next(&line, text.start + text.length);
    *at = line.next;
    return bytes_between(line.begin, line.end);
}

/* Returns the bytes of a name in capitals with its colon, and the space after it, at the beginning
 * of a line: who speaks. The name may have the line to itself. */
static size_t speaker_name(struct bytes text) {
    size_t capitals = 0, at = 0, next = 0;
    for (; at < text.length && at < NAME_BYTES; at = next) {
        int32_t c = character_next(text.start, text.length, &next);
        if (c == ':')
            break;
        if (character_lower(c) != c)
            capitals++;
        else if (character_upper(c) != c ||
                 !(character_is_letter(c) || character_is_among(c, L" .-'#&")))
            return 0;
    }
    size_t after = next;
    if (capitals < 2 || at >= text.length || text.start[at] != ':')
        return 0;
    while (after < text.length && text.start[after] == ' ')
        after++;
    return after > next || after == text.length ? after : 0;
}

size_t cues_lead(struct bytes text) {
    const char *at = text.start;
    struct bytes line = cues_line(text, &at);
    if (line.length == 0)
        return 0;
    size_t label = lines_label(line.start, line.length);
    size_t name = speaker_name(bytes_between(line.start + label, line.start + line.length));
    return name > 0 && label + name == line.length ? (size_t)(at - text.start) : label + name;
}

bool cues_next_line(struct line *line, const char *end) {
    if (!lines_next(line, end))
        return false;
    const char *mark =
        memmem(line->begin, (size_t)(line->end - line->begin), CUES_BREAK, strlen(CUES_BREAK));
    if (mark) {
        line->end = mark;
        line->next = mark + strlen(CUES_BREAK);
    }
    return true;
}

bool cues_have_speakers(struct bytes text) {
    struct line line = {.next = text.start};
    bool found = false;
    while (!found && cues_next_line(&line, text.start + text.length)) {
        struct bytes says = lines_trimmed(&line);
        found = line.begin > text.start && lines_label(says.start, says.length) > 0;
    }
    return found;
}

static size_t count_words(struct bytes text) {
    size_t words = 0;
    for (size_t i = 0; i < text.length; i++)
        words +=
            !strchr(" \t\r\n", text.start[i]) && (i == 0 || strchr(" \t\r\n", text.start[i - 1]));
    return words;
}

/* True for a small letter of an alphabet that has capitals. */
static bool begins_small(struct bytes text) {
    int32_t first = first_of(text);
    return first > 0 && character_lower(first) == first && character_upper(first) != first;
}

bool cues_continue(const struct cue_sentence *sentence, struct bytes text) {
    static const wchar_t alone[] = L"-\u2013\u2014\u266a\u266b[(";
    static const char
        asking[] = /* words that do not end a sentence: articles, prepositions, conjunctions */
        "a an the of to in on at by for from with and or but my your our their is are was were if "
        "when because than into "
        "about between le la les un une des de du et ou mais \u00e0 au aux en dans sur pour par "
        "avec que qui est sont mon ma "
        "mes der die das den dem ein eine einen einem einer und oder aber zu im am auf von vom mit "
        "f\u00fcr bei nach dass wenn "
        "weil ist sind war mein sein el los las una y o pero con para es son del al il lo gli e di "
        "da per che";
    struct bytes before = cues_without_last_mark(sentence->last), now = text;
    while (now.length > 0 &&
           strchr("<{\"'", *now.start)) { /* tags, quotation marks and the like at the begin */
        const char *close = *now.start == '<'   ? memchr(now.start, '>', now.length)
                            : *now.start == '{' ? memchr(now.start, '}', now.length)
                                                : now.start;
        if (!close)
            break;
        now = bytes_between(close + 1, now.start + now.length);
    }
    size_t words = count_words(before);
    if (sentence->parts == 0 || sentence->parts == MOST_PARTS ||
        lines_end_sentence(before.start, before.length) || now.length == 0 ||
        character_is_among(first_of(now), alone))
        return false;
    if (before.start[before.length - 1] == ',')
        return true;
    bool same = bytes_same_any_case(sentence->last, text);
    if (same || (sentence->parts == 1 && words == 1 && count_words(now) == 1))
        return false;
    if (begins_small(now))
        return true;
    const char *last = before.start + before.length;
    while (last > before.start && !strchr(" \t\r\n", last[-1]))
        last--;
    struct bytes word = bytes_between(last, before.start + before.length),
                 end = cues_without_last_mark(text);
    return (words >= SOME_WORDS && bytes_among(word, asking)) ||
           (words >= MANY_WORDS && begins_small(word) && lines_end_sentence(end.start, end.length));
}

/* ---- cues of files that give spans ---- */

/* The cues of a text. */
struct group {
    struct bytes cues[MOST_PARTS]; /* [count] as they stand in the file */
    size_t count;
};

void cues_end(struct cue_texts *texts) {
    struct values *values = texts->values;
    if (!texts->value)
        return;
    piece_add_close(&values->builder, nothing);
    spans_end_text(&values->spans, &values->builder, texts->first);
    texts->value = NULL;
    texts->sentence.parts = 0;
}

bool cues_begin(struct cue_texts *texts, struct bytes raw, struct bytes says) {
    struct values *values = texts->values;
    struct piece_builder *builder = &values->builder;
    const char *end = raw.start + raw.length;
    bool continues = texts->value && lines_label(says.start, says.length) == 0 &&
                     cues_continue(&texts->sentence, says);
    if (continues) {
        piece_add_close(builder, bytes_between(texts->value->end, raw.start));
    } else {
        struct group *group = arena_zalloc(builder->arena, 1, sizeof *group);
        cues_end(texts);
        texts->first = builder->markup.piece_count;
        texts->value = values_begin(
            values, &(struct value){.begin = raw.start, .end = end, .text = raw, .about = group});
        if (!group || !texts->value) {
            builder->failed = ERROR_MEMORY;
            texts->value = NULL;
            return false;
        }
        texts->group = group;
    }
    texts->value->end = end;
    texts->value->text = bytes_between(texts->value->begin, end);
    values->spans.all[values->spans.count - 1].end = end;
    texts->group->cues[texts->group->count++] = raw;
    texts->sentence.parts++;
    texts->sentence.last = says;
    piece_add_part(builder);
    return !builder->failed;
}

/* Puts the lines of a cue, none of which is blank: that would end it. */
static void put_lines(struct bytes_buffer *out, struct bytes text) {
    struct line line = {.next = text.start};
    const char *end = text.start + text.length, *line_end = NULL;
    while (lines_next(&line, end)) {
        if (lines_trimmed(&line).length == 0)
            continue;
        if (line_end)
            bytes_put(out, line_end, *line_end == '\r' && line_end[1] == '\n' ? 2 : 1);
        bytes_put(out, line.begin, (size_t)(line.end - line.begin));
        line_end = line.end;
    }
}

void cues_put(struct span_writer *writer, const struct value *value, struct bytes text,
              const char *line_end) {
    const struct group alone = {.cues = {value->text}, .count = 1},
                       *group = value->about ? value->about : &alone;
    const char *at = text.start, *end = at + text.length;
    for (size_t i = 0; i < group->count; i++) {
        struct bytes source = group->cues[i], between = nothing;
        const char *stop = end;
        if (i + 1 < group->count) { /* what stands between two cues is as in the file */
            between = bytes_between(source.start + source.length, group->cues[i + 1].start);
            stop = memmem(at, (size_t)(end - at), between.start, between.length);
            stop = stop ? stop : end;
        }
        struct bytes own = bytes_between(at, stop);
        bool lost = bytes_trimmed(own).length == 0,
             both = writer->document->bilingual && !bytes_same(own, source);
        if (lost)
            document_note(writer->document, source.start, "untranslated",
                          "a cue has no word of the sentence's translation and keeps its text");
        if (lost || both)
            bytes_put(&writer->out, source.start, source.length);
        if (both && !lost)
            bytes_put_string(&writer->out, line_end);
        if (ascii_among(*line_end, "\r\n"))
            put_lines(&writer->out, own);
        else
            bytes_put(&writer->out, own.start, own.length);
        bytes_put(&writer->out, between.start, between.length);
        at = stop < end ? stop + between.length : end;
    }
}
