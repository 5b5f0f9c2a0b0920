/* This file translates SubRip (srt) and WebVTT (vtt). Both consist of cues: a timing line and the
 * text that is shown, up to a blank line or the next timing line. A sentence that runs over cues is
 * one segment with a part in each. Translated cues keep their number of lines if these are short
 * enough; their lines are as even as possible. */
#include "model/base/utf8.h"
#include "server/documents/cues.h"
#include "server/documents/document.h"
#include "server/markup/html.h"
#include <ctype.h>
#include <strings.h>

enum {
    LINE_SHOWN = 60,          /* bytes of a line in an error */
    MOST_WRAPPED = 16 * 1024, /* bytes of a text that is broken into lines */
    LINE_WIDTH = 42,          /* characters that a line should have at most */
    MOST_TAGS = 1000,         /* tags of a cue: one for each coloured letter is common */
    MOST_OPEN =
        64, /* tags that are open at once: each end tag looks for its start tag among them */
    NAME_BYTES = 16, /* bytes of a tag's name */
    SCRATCH_BYTES = 4096,
};

/* ---- cues ---- */

struct cue {
    struct bytes text; /* its lines with the line ends between them; length 0: it shows nothing */
    size_t lines;
};

struct cue_reader {
    const char *end;
    struct line line; /* the last one that was read */
    size_t number;    /* number of cues so far */
    bool vtt;
};

static bool is_blank(const struct line *line) {
    return lines_trimmed(line).length == 0;
}

static bool begins_with(const struct line *line, const char *word) {
    const char *after = line->begin + strlen(word);
    return bytes_begin(line->begin, line->end, word) &&
           (after == line->end || strchr(" \t", *after));
}

static const char *find_arrow(const char *at, const char *end) {
    return memmem(at, (size_t)(end - at), "-->", 3);
}

static const char *skip_blank(const char *at, const char *end) {
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    return at;
}

/* Reads [hours:]minutes:seconds and, after a comma or dot, milliseconds, and moves *at past it.
 * SubRip's may be missing, as players accept it. */
static bool read_time(const char **at, const char *end, bool vtt) {
    size_t colons = 0, digits = 0;
    const char *c = *at;
    for (; c < end && (isdigit((unsigned char)*c) || *c == ':'); c++) {
        if (*c == ':' && (digits == 0 || ++colons > 2))
            return false;
        digits = *c == ':' ? 0 : digits + 1;
    }
    bool has_fraction = c < end && (*c == '.' || *c == ',');
    if (colons < 1 || digits != 2 || (vtt && !has_fraction))
        return false;
    *at = c;
    if (!has_fraction)
        return true;
    const char *fraction = ++c;
    while (c < end && isdigit((unsigned char)*c))
        c++;
    *at = c;
    return c > fraction && c - fraction <= 3;
}

/* True for a timing line. Text after the times (a place on the screen) is ignored. */
static bool is_timing(const struct line *line, bool vtt) {
    const char *at = skip_blank(line->begin, line->end);
    if (!read_time(&at, line->end, vtt))
        return false;
    at = skip_blank(at, line->end);
    if (!bytes_begin(at, line->end, "-->"))
        return false;
    at = skip_blank(at + 3, line->end);
    return read_time(&at, line->end, vtt) && (at == line->end || *at == ' ' || *at == '\t');
}

/* True for a line with digits and a colon on both sides of an arrow: a timing line with a mistake.
 */
static bool is_like_timing(const struct line *line) {
    const char *arrow = find_arrow(line->begin, line->end),
               *at = skip_blank(line->begin, line->end);
    for (size_t side = 0; arrow && side < 2; side++) {
        const char *digits = at;
        while (at < line->end && isdigit((unsigned char)*at))
            at++;
        if (at == digits || at == line->end || *at != ':')
            return false;
        at = skip_blank(arrow + 3, line->end);
    }
    return arrow != NULL;
}

/* True if the line could be meant as a timing line. In SubRip, text may have an arrow, but does not
 * move to the start of a line with a digit there. */
static bool is_meant_as_timing(const struct line *line, bool vtt) {
    const char *at = skip_blank(line->begin, line->end);
    return find_arrow(at, line->end) && (vtt || isdigit((unsigned char)*at));
}

static void skip_block(struct cue_reader *reader) {
    while (lines_next(&reader->line, reader->end) && !is_blank(&reader->line))
        ;
}

static int refuse(const struct cue_reader *reader, struct error *err) {
    int shown = (int)utf8_clip(reader->line.begin, (size_t)(reader->line.end - reader->line.begin),
                               LINE_SHOWN);
    return error_set(err, ERROR_INPUT, "line %zu, cue %zu: \"%.*s\" is not a timing line like %s",
                     reader->line.number, reader->number + 1, shown, reader->line.begin,
                     reader->vtt ? "00:01.000 --> 00:04.000" : "00:00:01,000 --> 00:00:04,000");
}

/* Returns 1 with the next cue, 0 after the last, or -1 with ERROR_INPUT if a block is not a cue. */
static int next_cue(struct cue_reader *reader, struct cue *cue, struct error *err) {
    struct line *line = &reader->line;
    if (reader->vtt && line->number == 0) {
        if (!lines_next(line, reader->end) || !begins_with(line, "WEBVTT"))
            return error_set(err, ERROR_INPUT, "line 1: a WebVTT file must begin with \"WEBVTT\"");
        if (!is_blank(line))
            skip_block(reader);
    }
    for (bool found = false; !found;) {
        if (!lines_next(line, reader->end))
            return 0;
        found = !is_blank(line);
        if (reader->vtt && !find_arrow(line->begin, line->end) &&
            (begins_with(line, "NOTE") || begins_with(line, "STYLE") ||
             begins_with(line, "REGION"))) {
            skip_block(reader);
            found = false;
        }
    }

    /* The first line of a cue is its number, its name, or the timing line. In SubRip a block of
     * lines without any is more text of the cue before it, as players show it. */
    struct line named = *line, before = *line;
    bool vtt = reader->vtt;
    bool times = is_timing(line, vtt) || (!is_meant_as_timing(line, vtt) &&
                                          lines_next(line, reader->end) && is_timing(line, vtt));
    if (!times && !vtt && reader->number > 0 && !is_meant_as_timing(line, vtt)) {
        *line = (struct line){named.begin, named.begin, named.begin, named.number - 1};
    } else if (!times) {
        *line = is_blank(line) ? named : *line;
        return refuse(reader, err);
    } else {
        reader->number++;
    }

    /* The text ends at a blank line, or before the timing line of the next cue and its number. */
    before = *line;
    struct line before_last = before;
    struct bytes without_last = {before.next, 0};
    *cue = (struct cue){.text = without_last};
    for (; lines_next(line, reader->end) && !is_blank(line); before = *line) {
        if (is_timing(line, reader->vtt)) {
            struct bytes last = lines_trimmed(&before);
            size_t digits = 0;
            while (digits < last.length && isdigit((unsigned char)last.start[digits]))
                digits++;
            bool numbered = cue->lines > 0 && digits > 0 && digits == last.length;
            *line = numbered ? before_last : before; /* these lines are read again */
            cue->text = numbered ? without_last : cue->text;
            cue->lines -= numbered;
            return 1;
        }
        if (is_like_timing(line))
            return refuse(reader, err);
        before_last = before;
        without_last = cue->text;
        cue->text = bytes_between(cue->text.start, line->end);
        cue->lines++;
    }
    return 1;
}

/* ---- tags in a cue: <i>, {\an8}, <v Roger> ---- */

struct cue_mark {
    struct bytes raw;
    enum { MARK_START, MARK_END, MARK_OTHER } kind;
    char name[NAME_BYTES];
    bool paired; /* its other end is there */
};

struct marks {
    struct cue_mark *all; /* [count], in the arena of the builder and kept from cue to cue */
    size_t count, room;
};

/* Reads "name" or "/name", and cuts a long name. Returns true if SubRip knows the name; WebVTT
 * allows any, and times. */
static bool read_name(const char *at, const char *end, char name[NAME_BYTES]) {
    size_t length = 0;
    at += at < end && *at == '/';
    for (; length + 1 < NAME_BYTES && at + length < end && isalnum((unsigned char)at[length]);
         length++)
        name[length] = at[length];
    name[length] = '\0';
    return bytes_among_any_case(bytes_of(name), "b i u s font");
}

/* Returns the place after the tag, or the braces of SubRip, that begins there, or NULL. */
static const char *mark_end(const char *at, const char *end, bool vtt) {
    const char *mark = vtt ? "<[^<>]*>" : "(<[^<>]*>|\\{\\\\[^{}]*})";
    size_t length = opaque_match(mark, at, (size_t)(end - at));
    return length > 0 ? at + length : NULL;
}

/* True if a mark begins there. The arrow between times never ends one. */
static bool read_mark(const char *at, const char *end, bool vtt, struct cue_mark *mark) {
    const char *after = mark_end(at, end, vtt);
    if (!after)
        return false;
    *mark = (struct cue_mark){.raw = bytes_between(at, after), .kind = MARK_OTHER};
    if (*at == '{')
        return !find_arrow(at, after);
    if (after - at > 3 && after[-2] == '-' && after[-3] == '-')
        return false;
    bool known = read_name(at + 1, end, mark->name);
    if (!vtt || isalpha((unsigned char)*mark->name)) /* others are times, or end an open tag */
        mark->kind = at[1] == '/' ? MARK_END : MARK_START;
    return vtt || known;
}

/* Finds the tags of a text, and pairs each end with the start that it nests with. Drops the
 * outermost if too many are open. */
static int find_marks(struct bytes text, bool vtt, struct marks *marks, struct arena *arena,
                      struct error *err) {
    const char *end = text.start + text.length;
    size_t open[MOST_OPEN], depth = 0;
    marks->count = 0;
    for (const char *at = text.start; at < end;) {
        struct cue_mark mark;
        if (!read_mark(at, end, vtt, &mark)) {
            at++;
            continue;
        }
        if (marks->count == MOST_TAGS)
            return error_set(err, ERROR_INPUT, "it has more than %d tags", MOST_TAGS);
        struct cue_mark *all =
            arena_grow(arena, marks->all, marks->count, &marks->room, 1, sizeof *all);
        if (!all)
            return error_memory(err);
        marks->all = all;
        size_t top = depth;
        while (mark.kind == MARK_END && top > 0 &&
               strcasecmp(all[open[top - 1]].name, mark.name) != 0)
            top--;
        if (mark.kind == MARK_START) {
            if (depth == MOST_OPEN)
                memmove(open, open + 1, --depth * sizeof *open);
            open[depth++] = marks->count;
        } else if (mark.kind == MARK_END && top > 0) {
            depth = top - 1;
            mark.paired = all[open[depth]].paired = true;
        }
        all[marks->count++] = mark;
        at = mark.raw.start + mark.raw.length;
    }
    return 0;
}

/* Skips code and comments, which are not marks in subtitles; references and other tags are, as in
 * any text. If the owner says that the text has an arrow, tags are skipped, too, because a mark
 * moves and a line with the arrow might then be a timing line. */
static size_t skip_others(const struct marking *marking, const char *at, const char *end) {
    bool arrow = marking->owner != NULL;
    return *at == '`' || *at == ':' ||
           (*at == '<' && (arrow || (end - at > 1 && (at[1] == '!' || at[1] == '?'))));
}

/* SubRip has no references: a space keeps text that looks like a mark, or like the arrow between
 * times, from being read as one. Only the beginning of a mark is recognized, because it may end in
 * another text. */
static void srt_escape(struct bytes_buffer *out, const char *text, size_t length) {
    const char *end = text + length, *done = text;
    for (const char *at = text; at < end; at++) {
        char name[NAME_BYTES];
        bool tag = *at == '<' && read_name(at + 1, end, name),
             braces = *at == '{' && at + 1 < end && at[1] == '\\';
        bool arrow = bytes_begin(at, end, "-->");
        if (!tag && !braces && !arrow)
            continue;
        bytes_put(out, done, (size_t)(at + 1 - done));
        bytes_put(out, " ", 1);
        done = at + 1;
    }
    bytes_put(out, done, (size_t)(end - done));
}

/* ---- sentences ---- */

struct subtitles {
    struct piece_builder builder;
    struct cue_reader cues;
    const char *at; /* the document up to here is in pieces */
    struct cue_sentence sentence;
    struct marks marks; /* marks of the current cue */
    struct error *err;
};

/* True if all of the line is in brackets: a sound, not speech. */
static bool is_sound(struct bytes line) {
    static const char opening[] = "[(", closing[] = "])";
    const char *open = line.length > 0 ? strchr(opening, *line.start) : NULL;
    return open && *open && line.start[line.length - 1] == closing[open - opening];
}

/* Returns the text without tags at its beginning: `<i>- going`. */
static struct bytes without_first_mark(struct bytes text) {
    const char *end = text.start + text.length;
    for (const char *close;
         text.length > 0 && *text.start == '<' && (close = memchr(text.start, '>', text.length));)
        text = bytes_between(close + 1, end);
    return text;
}

/* True if a line of a cue begins a text of its own: another speaker, a sound, or words in tags of
 * their own after a sentence. */
static bool begins_text(struct bytes before, struct bytes line) {
    struct bytes said = cues_without_last_mark(before), inner = without_first_mark(line);
    bool tagged = said.length < before.length && inner.length < line.length && line.start[1] != '/';
    bool voice = bytes_begin(line.start, line.start + line.length, "<v ") ||
                 bytes_begin(line.start, line.start + line.length, "<v.");
    return voice || cues_lead(inner) > 0 || is_sound(line) || is_sound(before) ||
           (tagged && lines_end_sentence(said.start, said.length));
}

/* Takes the lines of a cue's text that form one text from *at on. */
static struct bytes cue_speech(struct bytes text, const char **at) {
    const char *stop = text.start + text.length;
    struct bytes speech = cues_line(text, at), last = speech;
    for (const char *next = *at; next < stop; *at = next) {
        struct bytes line = cues_line(text, &next);
        if (line.length > 0 && begins_text(last, line))
            break;
        last = line;
        speech = bytes_between(speech.start, line.start + line.length);
    }
    return speech;
}

/* Ends the sentence, and adds the bytes before `to`, where the next text begins or the document
 * ends. */
static void end_sentence(struct subtitles *subtitles, const char *to) {
    if (subtitles->sentence.parts > 0)
        piece_add_close(&subtitles->builder, (struct bytes){"", 0});
    subtitles->sentence.parts = 0;
    piece_add_break(&subtitles->builder, bytes_between(subtitles->at, to));
    subtitles->at = to;
}

static int add_part(struct subtitles *subtitles, struct bytes text) {
    struct piece_builder *builder = &subtitles->builder;
    struct marks *marks = &subtitles->marks;
    struct error inner = {0};
    size_t lead = cues_lead(text);
    text = bytes_between(text.start + lead, text.start + text.length);
    if (text.length == 0) { /* a speaker's name whose speech is in the next cue */
        end_sentence(subtitles, text.start);
        return 0;
    }
    if (lead == 0 && cues_continue(&subtitles->sentence, text))
        piece_add_close(builder, bytes_between(subtitles->at, text.start));
    else
        end_sentence(subtitles, text.start);
    subtitles->sentence.parts++;
    subtitles->sentence.last = text;
    subtitles->at = text.start + text.length;
    piece_add_part(builder);
    if (find_marks(text, subtitles->cues.vtt, marks, builder->arena, &inner) != 0)
        return error_set(subtitles->err, inner.code, "cue %zu: %s", subtitles->cues.number,
                         inner.message);

    /* Tags with an end surround their words, others are units. */
    const char *at = text.start;
    const struct marking own = {.owner = find_arrow(at, subtitles->at), .skip = skip_others};
    for (size_t i = 0; i < marks->count; i++) {
        const struct cue_mark *mark = &marks->all[i];
        piece_add_marked(builder, bytes_between(at, mark->raw.start), &own);
        size_t last = i;
        while (mark->paired && mark->kind == MARK_START && strcmp(mark->name, "rt") == 0 &&
               last + 1 < marks->count && (last == i || marks->all[last].kind != MARK_END))
            last++; /* the reading of a ruby belongs to the text before it and is not translated */
        struct bytes end = marks->all[last].raw,
                     raw = bytes_between(mark->raw.start, end.start + end.length);
        if (!mark->paired || last > i)
            piece_add_unit(builder, raw);
        else if (mark->kind == MARK_START)
            piece_add_open(builder, raw);
        else
            piece_add_close(builder, raw);
        at = raw.start + raw.length;
        i = last;
    }
    piece_add_marked(builder, bytes_between(at, subtitles->at), &own);
    return 0;
}

int subtitles_read(const struct document *document, struct arena *arena, struct markup *out,
                   struct error *err) {
    bool vtt = strcmp(document->format->name, "vtt") == 0;
    const char *source = document->source, *end = source + document->length;
    struct subtitles subtitles = {.builder = document_builder(document, arena),
                                  .cues = {.end = end, .line.next = source, .vtt = vtt},
                                  .at = source,
                                  .err = err};
    struct cue cue;
    int found;
    while ((found = next_cue(&subtitles.cues, &cue, err)) == 1) {
        const char *stop = cue.text.start + cue.text.length;
        for (const char *at = cue.text.start; at < stop;) {
            struct bytes speech = cue_speech(cue.text, &at);

            /* Each of several texts of a cue stands by itself: as a part of a sentence one might
             * come out empty, and a blank line would end the cue. */
            if (speech.start > cue.text.start || at < stop)
                end_sentence(&subtitles, speech.start);
            if (add_part(&subtitles, speech) != 0)
                return -1;
        }
    }
    if (found < 0)
        return -1;
    end_sentence(&subtitles, end);
    return piece_build(&subtitles.builder, vtt ? lines_escape_markup : srt_escape, out, err);
}

/* ---- lines of translated cues ---- */

/* A word with the tags in it or beside it. */
struct cue_piece {
    struct bytes bytes;
    size_t width; /* characters that are shown */
};

struct wrapper {
    struct cue_piece *pieces; /* [count] */
    size_t count, room;
    struct bytes_buffer out;
    bool vtt;
};

/* True for the white space of blank lines, so that each line has something else. */
static bool is_blank_at(const char *at, const char *end) {
    return at < end && strchr(" \t\r\n\v\f", *at);
}

/* Returns the number of lines of at most this width (a single word may be wider), and writes them
 * unless line_end is NULL. */
static size_t fill(struct wrapper *wrapper, size_t width, const char *line_end) {
    size_t lines = 1, used = 0;
    for (size_t i = 0; i < wrapper->count; i++) {
        const struct cue_piece *piece = &wrapper->pieces[i];
        bool first = i == 0, breaks = !first && used + 1 + piece->width > width;
        lines += breaks;
        used = first || breaks ? piece->width : used + 1 + piece->width;
        if (!line_end)
            continue;
        if (!first)
            bytes_put_string(&wrapper->out, breaks ? line_end : " ");
        bytes_put(&wrapper->out, piece->bytes.start, piece->bytes.length);
    }
    return lines;
}

/* Writes the text in `lines` lines, or in more if it does not fit, which are as narrow as possible.
 * If memory runs out, the arena has failed. */
static void wrap(struct wrapper *wrapper, struct bytes text, size_t lines, const char *line_end) {
    const char *end = text.start + text.length;
    size_t widest = 0;
    wrapper->count = 0;
    for (const char *at = text.start; at < end;) {
        while (is_blank_at(at, end))
            at++;
        const char *begin = at;
        size_t width = 0;
        while (at < end &&
               !is_blank_at(at, end)) { /* white space in a tag does not separate words */
            const char *after = mark_end(at, end, wrapper->vtt);
            size_t next = after ? (size_t)(after - at) : html_reference(at, end, &(int32_t){0});
            width += !after;
            if (next == 0)
                character_next(at, (size_t)(end - at), &next);
            at += next;
        }
        struct bytes word = bytes_between(begin, at);
        if (word.length == 0)
            continue;
        if (wrapper->count > 0 &&
            bytes_among(word,
                        "? ! : ; \u00bb ?! ... \u2026")) { /* French has a space before these */
            struct cue_piece *last = &wrapper->pieces[wrapper->count - 1];
            last->bytes = bytes_between(last->bytes.start, at);
            last->width += 1 + width;
            continue;
        }
        struct cue_piece *pieces = arena_grow(wrapper->out.arena, wrapper->pieces, wrapper->count,
                                              &wrapper->room, 1, sizeof *pieces);
        if (!pieces)
            return;
        wrapper->pieces = pieces;
        pieces[wrapper->count++] = (struct cue_piece){word, width};
    }
    for (size_t i = 0; i < wrapper->count; i++)
        widest = wrapper->pieces[i].width > widest ? wrapper->pieces[i].width : widest;
    size_t low = widest, high = widest > LINE_WIDTH ? widest : LINE_WIDTH,
           needed = fill(wrapper, high, NULL);
    lines = needed > lines ? needed : lines;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (fill(wrapper, middle, NULL) <= lines)
            high = middle;
        else
            low = middle + 1;
    }
    fill(wrapper, high, line_end);
}

/* True if there is more in a cue than tags and white space. */
static bool says_something(const struct cue *cue, bool vtt) {
    const char *at = cue->text.start, *end = at + cue->text.length;
    while (at < end) {
        bool text = *at == '<' && at + 1 < end && !isalnum((unsigned char)at[1]) && at[1] != '/';
        const char *after = text ? NULL : mark_end(at, end, vtt);
        if (!after && !is_blank_at(at, end))
            return true;
        at = after ? after : at + 1;
    }
    return false;
}

/* Returns the tag with a time, as in karaoke, that comes next in a text, and moves *at past it;
 * length 0: there is none. */
static struct bytes next_time(const char **at, const char *end) {
    for (const char *c = *at; c < end; c++) {
        const char *after = c + 1;
        if (*c != '<' || !read_time(&after, end, true) || after == end || *after != '>')
            continue;
        *at = after + 1;
        return bytes_between(c, *at);
    }
    return nothing;
}

/* Returns the translated text with the times of its words in the order of the source, since later
 * words have later times. */
static struct bytes order_times(struct bytes source, struct bytes text, struct arena *arena) {
    struct bytes_buffer out = {.arena = arena};
    const char *from = source.start, *at = text.start, *done = at, *end = at + text.length;
    for (struct bytes time; (time = next_time(&at, end)).length > 0; done = at) {
        struct bytes was = next_time(&from, source.start + source.length);
        bytes_put(&out, done, (size_t)(time.start - done));
        bytes_put(&out, was.length > 0 ? was.start : time.start,
                  was.length > 0 ? was.length : time.length);
    }
    if (done == text.start)
        return text;
    bytes_put(&out, done, (size_t)(end - done));
    return out.failed ? text : (struct bytes){out.bytes, out.length};
}

/* Returns the place in the output of a byte of the source that no cue shows, such as a line end
 * before one. Bytes are asked for in their order; *at: the first piece of the trace that may have
 * the next one. */
static size_t find_written(const struct markup *markup, const struct markup_trace *trace,
                           const char *byte, size_t *at) {
    for (; *at < trace->count; (*at)++) {
        const struct piece *piece = &markup->pieces[trace->all[*at].piece];
        if (piece->raw <= byte && byte < piece->raw + piece->length)
            return trace->all[*at].at + (size_t)(byte - piece->raw);
    }
    return SIZE_MAX; /* memory ran out */
}

/* True if a cue with this text, and the one after it, are read as those of the source are: no line
 * of the text becomes a line of times, a number or the end of the cue. before: the reader at the
 * source's cue; after: it has read that. */
static bool is_read_back(const struct cue_reader *before, const struct cue_reader *after,
                         struct bytes source, struct bytes text, struct arena *scratch) {
    struct bytes_buffer out = {.arena = scratch};
    struct cue_reader rest = *after, again = *before;
    struct cue next = {{0}, 0}, cue, following;
    const char *head = before->line.next, *tail = source.start + source.length;
    int more = next_cue(&rest, &next, NULL);
    const char *end = more == 1 ? next.text.start + next.text.length : before->end;
    size_t begin = (size_t)(source.start - head);
    bytes_put(&out, head, begin);
    bytes_put(&out, text.start, text.length);
    bytes_put(&out, tail, (size_t)(end - tail));
    again.line.next = out.bytes;
    again.end = out.bytes + out.length;
    bool same = !out.failed && next_cue(&again, &cue, NULL) == 1 && again.number == after->number &&
                cue.text.start == out.bytes + begin && cue.text.length == text.length &&
                next_cue(&again, &following, NULL) == more && again.number == rest.number &&
                (more != 1 || (following.text.start + next.text.length == again.end &&
                               following.text.length == next.text.length));
    arena_reset(scratch);
    return same;
}

/* Puts the translated text of a cue in lines; the bytes before it are the source's, in a document
 * in both languages. */
static void put_cue(struct wrapper *wrapper, const struct cue *source, struct bytes text,
                    const char *line_end) {
    const char *stop = text.start + text.length;
    if (text.length > MOST_WRAPPED ||
        find_arrow(text.start, stop)) { /* a line broken before it might be a timing line */
        bytes_put(&wrapper->out, text.start, text.length);
        return;
    }
    if (wrapper->vtt)
        text = order_times(source->text, text, wrapper->out.arena);
    stop = text.start + text.length;
    for (const char *next = text.start; next < stop;) { /* each line is a text, which stays apart */
        struct bytes line = cues_line(text, &next);
        bool alone = line.start == text.start && next == stop;
        bytes_put_string(&wrapper->out, line.start > text.start ? line_end : "");
        wrap(wrapper, line, alone ? source->lines : 1, line_end);
    }
}

char *subtitles_write(const struct document *document, const struct markup *markup,
                      const struct markup_translation *translations, struct arena *arena,
                      size_t *out_length, struct error *err) {
    bool vtt = strcmp(document->format->name, "vtt") == 0;
    struct markup_trace trace = {.arena = arena};
    struct bytes_buffer written = {.arena = arena};
    struct markup_writing writing = {markup, translations, &written, &trace, false, 0};
    struct wrapper wrapper = {.out.arena = arena, .vtt = vtt};
    struct bytes_buffer *out = &wrapper.out;
    struct cue_reader sources = {
        .end = document->source + document->length, .line.next = document->source, .vtt = vtt};
    struct arena scratch;
    struct cue cue;
    size_t done = 0, traced = 0;
    bytes_put(&written, "", 0);
    markup_write_pieces(&writing, 0, markup->piece_count);
    arena_init(&scratch, SCRATCH_BYTES);
    arena_limit(&scratch, arena->budget);
    for (struct cue_reader before = sources;
         !written.failed && !out->failed && next_cue(&sources, &cue, NULL) == 1; before = sources) {
        struct bytes source = cue.text;
        const char *source_end = source.start + source.length;
        if (cue.lines == 0)
            continue;
        size_t begin = find_written(markup, &trace, source.start - 1, &traced) + 1,
               end = source_end == sources.end ? written.length
                                               : find_written(markup, &trace, source_end, &traced);
        struct cue now = {bytes_between(written.bytes + begin, written.bytes + end), cue.lines};
        bool lost = says_something(&cue, vtt) && !says_something(&now, vtt);
        if ((now.text.length == 0 && !lost) || bytes_same(source, now.text))
            continue;
        const char *line_end = source.start[-1] == '\n' && source.start[-2] == '\r' ? "\r\n" : "\n";
        bytes_put(out, written.bytes + done, begin - done);
        done = end;
        size_t start = out->length, below = start;
        if (document->bilingual) {
            bytes_put(out, source.start, source.length);
            bytes_put_string(out, line_end);
            below = out->length;
        }
        put_cue(&wrapper, &cue, now.text, line_end);
        if (out->failed)
            break;
        struct bytes all = {out->bytes + start, out->length - start};
        bool equal =
                 bytes_same(bytes_between(out->bytes + below, out->bytes + out->length), source),
             reads = lost || is_read_back(&before, &sources, source, all, &scratch);
        if (lost || !reads)
            document_note(document, source.start, "untranslated",
                          lost
                              ? "cue %zu has no word of the sentence's translation and keeps its "
                                "original text"
                              : "cue %zu keeps its original text, because its translation would be "
                                "read as something else",
                          sources.number);
        if (lost || !reads || equal) {
            out->bytes[out->length = start] = '\0';
            bytes_put(out, source.start, source.length);
        }
    }
    arena_done(&scratch);
    out->failed |= written.failed || arena_failed(arena);
    if (!out->failed)
        bytes_put(out, written.bytes + done, written.length - done);
    return bytes_take(out, out_length, err);
}
