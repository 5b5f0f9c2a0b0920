/* This file writes the answer of a streamed request as server-sent events. */
#include "server/api/event_stream.h"
#include "server/api/answer.h"
#include "server/api/dialect.h"
#include "server/api/members.h"
#include "server/api/plan.h"
#include "server/api/warnings.h"
#include "server/base/strings.h"
#include "server/decode/events.h"
#include "server/decode/outcome.h"
#include "server/documents/document.h"
#include <stdlib.h>
#include <string.h>

int event_stream_init(struct event_stream *stream, struct request *request, struct reply *reply,
                      size_t most) {
    *stream = (struct event_stream){.request = request, .reply = reply, .most = most};
    for (size_t i = 0; i < request->text_count; i++)
        stream->left += request->texts[i].count;
    stream->sent = arena_zalloc(&request->arena, request->text_count, sizeof *stream->sent);
    return stream->sent ? 0 : -1;
}

void event_stream_done(struct event_stream *stream) {
    if (stream->request)
        events_done(stream->request->events);
    free(stream->text);
    stream->request = NULL;
    stream->text = NULL;
    stream->length = 0;
}

/* These functions begin and end the current event, whose data is JSON without line feeds. */
static void event_begin(struct writer *w, const char *name) {
    writer_put(w, "event: ", strlen("event: "));
    writer_put(w, name, strlen(name));
    writer_put(w, "\ndata: ", strlen("\ndata: "));
}

static int event_end(struct event_stream *stream, struct writer *w) {
    writer_put(w, "\n\n", 2);
    size_t length = w->length;
    stream->text = writer_take(w);
    stream->length = stream->text ? length : 0;
    return stream->text ? 1 : -1;
}

/* Writes the event of a token or a sentence, with its index. A sentence event has the object as in
 * the result and the number of sentences left. Drops an object that is too long; the result will be
 * too long as well. */
static int say(struct event_stream *stream, const struct event *event) {
    bool token = event->kind == EVENT_TOKEN;
    struct writer w = {.most = token ? SIZE_MAX : stream->most};
    const struct text *text = &stream->request->texts[event->text];
    event_begin(&w, token ? "token" : "sentence");
    writer_begin_object(&w, NULL);
    writer_count(&w, "text_index", event->text);
    writer_count(&w, "sentence", event->sentence);
    if (!token)
        writer_count(&w, "left", --stream->left);
    if (token) {
        writer_string(&w, "token", event->piece);
        writer_string_of(&w, "text", event->added, event->added_length);
        writer_number(&w, "log_prob", event->log_prob);
    } else if (!text->sentences) { /* a text of a document */
        const struct job *job = &text->jobs[event->sentence];
        writer_string_of(&w, "source_text", text->source + job->source.begin,
                         job->source.end - job->source.begin);
        writer_string_of(&w, "text", job->outcome->text, job->outcome->length);
        writer_number(&w, "score", job->outcome->score);
        writer_number(&w, "log_prob", job->outcome->log_prob);
        writer_string(&w, "finish_reason", members_finish_reasons[job->outcome->finish]);
    } else {
        answer_put_sentence(stream->request, text, event->sentence, &stream->sent[event->text], &w);
    }
    writer_end_object(&w);
    int result = event_end(stream, &w);
    return w.too_long ? 0 : result;
}

/* ---- the warnings of a document ---- */

enum { LINE_WORD_BYTES = 32, LINE_WINDOW = 16 * 1024 };

/* Writes the warnings of a document as events. Each has the line in which its text begins, if that
 * line is found. */
static void put_warnings(const struct request *request, struct writer *w) {
    const struct plan *plan = request->plan;
    const struct plan_item *item = &plan->items[0];
    const struct document_notes *notes = plan->order->notes;
    for (size_t i = 0; i < notes->count; i++) {
        writer_put(w, "event: warning\ndata: ", 21);
        writer_begin_object(w, NULL);
        writer_strings(w, "code", notes->all[i].code, "message", notes->all[i].message, NULL);
        if (notes->all[i].line > 0)
            writer_count(w, "line", notes->all[i].line);
        writer_end_object(w);
        writer_put(w, "\n\n", 2);
    }

    const struct warning *warning = plan->warnings->first;
    const char *at = item->source, *end = at + item->length;
    size_t line = 1; /* line number of `at` */
    for (size_t i = 0; warning && i < request->text_count; i++) {
        /* Search nearby for the first word of the text. The file may write the word differently or
         * be compressed. */
        const struct text *text = &request->texts[i];
        size_t begin = segmenter_trim(text->source, text->source_length).begin, bytes = 0;
        while (begin + bytes < text->source_length && bytes < LINE_WORD_BYTES &&
               !strchr(" \t\r\n&<>\"\\", text->source[begin + bytes]))
            bytes++;
        size_t window = (size_t)(end - at) < LINE_WINDOW ? (size_t)(end - at) : LINE_WINDOW;
        const char *found = bytes > 0 && !plan->order->document->archive
                                ? memmem(at, window, text->source + begin, bytes)
                                : NULL;
        for (; found && at < found; at++)
            line += *at == '\n';
        for (; warning && warning->text == i; warning = warning->next) {
            writer_put(w, "event: warning\ndata: ", 21);
            warnings_begin(w, warning);
            if (found)
                writer_count(w, "line", line);
            writer_end_object(w);
            writer_put(w, "\n\n", 2);
        }
        at += found != NULL;
    }
}

/* ---- the next event ---- */

static void drop_event(struct event_stream *stream) {
    free(stream->text);
    stream->text = NULL;
    stream->length = 0;
}

int event_stream_next(struct event_stream *stream) {
    struct event event;
    drop_event(stream);
    events_next(stream->request->events, &event);
    switch (event.kind) {
    case EVENT_TOKEN:
    case EVENT_SENTENCE:
        return say(stream, &event);
    case EVENT_PULSE:
        stream->text = strdup(": nothing yet\n\n");
        stream->length = stream->text ? strlen(stream->text) : 0;
        return stream->text ? 1 : -1;
    case EVENT_END:
        return event_stream_last(stream);
    default:
        return 0;
    }
}

/* A document's warnings precede the reply, since the document cannot hold them. */
int event_stream_last(struct event_stream *stream) {
    struct reply *reply = stream->reply;
    struct writer w = {.most = SIZE_MAX};
    drop_event(stream);
    stream->over = true;
    if (stream->request->plan && reply->status == STATUS_OK)
        put_warnings(stream->request, &w);
    event_begin(&w, reply->status == STATUS_OK ? "result" : "error");
    if (reply->body)
        writer_put(&w, reply->body, reply->length);
    else
        writer_fail(&w);
    free(reply->body);
    reply->body = NULL;
    return event_end(stream, &w);
}
