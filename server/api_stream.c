/* `stream`: what is told of a request while it is decoded, as server-sent events. */
#include "server/api_json.h"
#include "server/events.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int api_stream_init(struct api_stream *stream, struct request *request, const struct reply *reply) {
    *stream = (struct api_stream){.request = request, .reply = reply};
    stream->told = arena_zalloc(&request->arena, request->text_count, sizeof *stream->told);
    arena_init(&stream->arena, 64 * 1024);
    return stream->told ? 0 : -1;
}

void api_stream_done(struct api_stream *stream) {
    if (stream->request)
        events_done(stream->request->events);
    arena_done(&stream->arena);
    free(stream->text);
}

/* data: JSON, which has no line feeds. */
static int say(struct api_stream *stream, const char *name, const char *data) {
    int length = data ? asprintf(&stream->text, "event: %s\ndata: %s\n\n", name, data) : -1;
    if (length < 0) {
        stream->text = NULL; /* undefined */
        return -1;
    }
    stream->length = (size_t)length;
    return 1;
}

static int say_json(struct api_stream *stream, const char *name, json_t *root, const struct splices *splices) {
    char *json = api_dump(root, splices);
    int result = say(stream, name, json);
    free(json);
    return result;
}

static int say_token(struct api_stream *stream, const struct event *event) {
    json_t *root =
        json_pack("{s:I, s:I, s:s, s:s%, s:f}", "text_index", (json_int_t)event->text, "sentence", (json_int_t)event->sentence,
                  "token", event->piece, "text", event->added, event->added_length, "log_prob", event->log_prob);
    return say_json(stream, "token", root, &(struct splices){0});
}

/* The sentence object as the result has it, and where it stands there. */
static int say_sentence(struct api_stream *stream, const struct event *event) {
    struct splices splices = {.arena = &stream->arena};
    json_t *root = json_pack("{s:I, s:I}", "text_index", (json_int_t)event->text, "sentence", (json_int_t)event->sentence);
    json_t *object = api_render_sentence(stream->request, &stream->request->texts[event->text], event->sentence,
                                         &stream->told[event->text], &splices);
    if (!object || json_object_update_new(root, object) != 0) {
        json_decref(root);
        root = NULL;
    }
    return say_json(stream, "sentence", root, &splices);
}

static int say_last(struct api_stream *stream) {
    stream->over = true;
    return say(stream, stream->reply->status == STATUS_OK ? "result" : "error", stream->reply->body);
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
    arena_reset(&stream->arena);
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
