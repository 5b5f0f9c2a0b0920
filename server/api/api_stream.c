/* `stream`: what is told of a request while it is decoded, as server-sent events. */
#include "server/api/api_json.h"
#include "server/decode/events.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int api_stream_init(struct api_stream *stream, struct request *request, struct reply *reply, size_t most) {
    *stream = (struct api_stream){.request = request, .reply = reply, .most = most};
    stream->told = arena_zalloc(&request->arena, request->text_count, sizeof *stream->told);
    return stream->told ? 0 : -1;
}

void api_stream_done(struct api_stream *stream) {
    if (stream->request)
        events_done(stream->request->events);
    free(stream->text);
}

/* The event in hand: its name, what put_data puts, JSON without line feeds, and the end. */
static void begin(struct api_text *text, const char *name) {
    api_text_put(text, "event: ");
    api_text_put(text, name);
    api_text_put(text, "\ndata: ");
}

static int end(struct api_stream *stream, struct api_text *text) {
    api_text_put(text, "\n\n");
    if (api_text_ended(text)) {
        api_text_done(text);
        return -1;
    }
    stream->text = text->bytes;
    stream->length = text->length;
    return 1;
}

static int say_token(struct api_stream *stream, const struct event *event) {
    struct api_text text = {.most = SIZE_MAX};
    begin(&text, "token");
    api_text_put_json(&text,
                      json_pack("{s:I, s:I, s:s, s:s%, s:f}", "text_index", (json_int_t)event->text, "sentence",
                                (json_int_t)event->sentence, "token", event->piece, "text", event->added, event->added_length,
                                "log_prob", event->log_prob),
                      &(struct splices){0});
    return end(stream, &text);
}

/* The sentence object as the result has it, and where it stands there. One that is too long is not told: neither will the result
 * be. */
static int say_sentence(struct api_stream *stream, const struct event *event) {
    struct api_text text = {.most = stream->most};
    begin(&text, "sentence");
    api_text_put(&text, "{");
    api_text_put_members(&text,
                         json_pack("{s:I, s:I}", "text_index", (json_int_t)event->text, "sentence", (json_int_t)event->sentence),
                         &(struct splices){0});
    api_text_put(&text, ",");
    api_render_sentence(stream->request, &stream->request->texts[event->text], event->sentence, &stream->told[event->text], &text);
    api_text_put(&text, "}");
    bool too_long = text.too_long;
    int result = end(stream, &text);
    return too_long ? 0 : result;
}

/* Copied: the reply is not needed any more then. */
static int say_last(struct api_stream *stream) {
    struct api_text text = {.most = SIZE_MAX};
    stream->over = true;
    begin(&text, stream->reply->status == STATUS_OK ? "result" : "error");
    if (stream->reply->body)
        api_text_put_bytes(&text, stream->reply->body, stream->reply->length);
    else
        text.failed = true;
    free(stream->reply->body);
    stream->reply->body = NULL;
    return end(stream, &text);
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
