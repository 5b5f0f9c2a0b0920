/* `stream`: what is sent of a request while it is decoded, as server-sent events. */
#include "server/api/api_json.h"
#include "server/decode/events.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int api_stream_init(struct api_stream *stream, struct request *request, struct reply *reply, size_t most) {
    *stream = (struct api_stream){.request = request, .reply = reply, .most = most};
    for (size_t i = 0; i < request->text_count; i++)
        stream->left += request->texts[i].count;
    stream->sent = arena_zalloc(&request->arena, request->text_count, sizeof *stream->sent);
    return stream->sent ? 0 : -1;
}

void api_stream_done(struct api_stream *stream) {
    if (stream->request)
        events_done(stream->request->events);
    free(stream->text);
}

static void event_put(struct writer *w, const char *text) {
    writer_put(w, text, strlen(text));
}

/* The event in hand: its name, its data, JSON without line feeds, and the end. */
static void event_begin(struct writer *w, const char *name) {
    event_put(w, "event: ");
    event_put(w, name);
    event_put(w, "\ndata: ");
}

static int event_end(struct api_stream *stream, struct writer *w) {
    event_put(w, "\n\n");
    size_t length = w->length;
    stream->text = writer_take(w);
    stream->length = stream->text ? length : 0;
    return stream->text ? 1 : -1;
}

static void put_indexes(struct writer *w, const struct event *event) {
    writer_count(w, "text_index", event->text);
    writer_count(w, "sentence", event->sentence);
}

static int say_token(struct api_stream *stream, const struct event *event) {
    struct writer w = {.most = SIZE_MAX};
    event_begin(&w, "token");
    writer_begin_object(&w, NULL);
    put_indexes(&w, event);
    writer_string(&w, "token", event->piece);
    writer_string_of(&w, "text", event->added, event->added_length);
    writer_number(&w, "log_prob", event->log_prob);
    writer_end_object(&w);
    return event_end(stream, &w);
}

/* The sentence object as the result has it, where it stands there, and how many are still to come. One that is too long is not
 * sent: neither will the result be. */
static int say_sentence(struct api_stream *stream, const struct event *event) {
    struct writer w = {.most = stream->most};
    event_begin(&w, "sentence");
    writer_begin_object(&w, NULL);
    put_indexes(&w, event);
    writer_count(&w, "left", --stream->left);
    api_render_sentence(stream->request, &stream->request->texts[event->text], event->sentence, &stream->sent[event->text], &w);
    writer_end_object(&w);
    int result = event_end(stream, &w);
    return w.too_long ? 0 : result;
}

/* Copied: the reply is not needed any more then. The warnings of a document, whose reply has no place for them, come first. */
static int say_last(struct api_stream *stream) {
    struct writer w = {.most = SIZE_MAX};
    stream->over = true;
    if (stream->request->plan && stream->reply->status == STATUS_OK)
        api_put_document_warnings(stream->request, &w);
    event_begin(&w, stream->reply->status == STATUS_OK ? "result" : "error");
    if (stream->reply->body)
        writer_put(&w, stream->reply->body, stream->reply->length);
    else
        writer_fail(&w);
    free(stream->reply->body);
    stream->reply->body = NULL;
    return event_end(stream, &w);
}

static int say_pulse(struct api_stream *stream) {
    stream->text = strdup(": nothing yet\n\n");
    stream->length = stream->text ? strlen(stream->text) : 0;
    return stream->text ? 1 : -1;
}

int api_stream_next(struct api_stream *stream) {
    struct event event;
    free(stream->text);
    stream->text = NULL;
    stream->length = 0;
    events_next(stream->request->events, &event);
    switch (event.kind) {
    case EVENT_TOKEN:
        return say_token(stream, &event);
    case EVENT_SENTENCE:
        return say_sentence(stream, &event);
    case EVENT_PULSE:
        return say_pulse(stream);
    case EVENT_END:
        return say_last(stream);
    default:
        return 0;
    }
}
