#include "server/decode/events.h"
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* WINDOW: rendering all tokens again for each that comes would take time that grows with the square of their number. */
enum { SCRATCH_BYTES = 16 * 1024, WINDOW = 16 };

/* One sentence. */
struct feed {
    const struct job *job;
    size_t text; /* index of its text */

    struct feed *next; /* in the list of those with news */
    bool listed;
    size_t noted; /* tokens */
    bool ended;

    size_t decided; /* tokens that are below, the worker's; the last ones may still be replaced */
    /* [decided] the worker's until the lock has published them; constant then */
    int *tokens;
    float *log_probs;
    const float **attention, **alignment;

    /* the reader's */
    size_t known, sent; /* tokens: noted when last looked, and sent */
    size_t first;       /* of the tokens that are still rendered with each that comes */
    size_t printed;     /* bytes of their text sent */
    bool over, done;    /* ended when last looked; and all of its tokens are sent */
};

struct events {
    struct request *request;
    struct events_reader reader;
    struct feed *feeds; /* [request->job_count] */

    /* the reader's */
    struct feed *current; /* being sent */
    size_t *next;         /* [request->text_count] the sentence of each text to be sent next, */
    size_t *first;        /* and the feed of its first */
    struct arena scratch; /* of one event */

    pthread_mutex_t lock;      /* guards everything below, and the first part of each feed */
    struct feed *head, **tail; /* with news, oldest first */
    bool parked, pulse, ended, closed;
};

/* ---- the workers' side ---- */

/* The only row's token is final: no other path will take its place. Of a sentence whose amounts are compared with those of its
 * translation nothing is final until that is done: the worker may put a second attempt in its place. */
static bool sends_tokens(const struct sentence *sentence) {
    const struct search_options *options = &sentence->options;
    return options->strategy == &search_greedy || (options->strategy == &search_sample && options->n_best == 1);
}

/* Room for all tokens there can be, when the first comes. */
static int feed_make_room(struct feed *feed, struct sentence *sentence) {
    size_t most = sentence->options.max_length;
    if (feed->alignment)
        return 0;
    feed->tokens = arena_alloc(&sentence->arena, most, sizeof *feed->tokens);
    feed->log_probs = arena_alloc(&sentence->arena, most, sizeof *feed->log_probs);
    const float **attention = arena_alloc(&sentence->arena, most, sizeof *attention);
    const float **alignment = arena_alloc(&sentence->arena, most, sizeof *alignment);
    if (arena_failed(&sentence->arena))
        return -1;
    feed->attention = attention;
    feed->alignment = alignment;
    return 0;
}

/* Tokens that will not change any more: of a question or an exclamation the marks at its end may (model/ending.h). */
static size_t count_final(const struct feed *feed, const struct sentence *sentence) {
    size_t count = feed->decided;
    if (ending_is_asked(sentence))
        while (count > feed->noted && ending_may_replace(sentence, feed->tokens[count - 1]))
            count--;
    return count;
}

/* Notes the token that the last step decided; returns how many there are that stay. Without memory for it the sentence's tokens are
 * sent when it is done. */
static size_t note_token(struct feed *feed, struct sentence *sentence) {
    size_t count = feed->decided; /* only its worker changes it */
    if (sentence->amounts || !sends_tokens(sentence) || sentence->search.step != count + 1 || feed_make_room(feed, sentence) != 0)
        return feed->noted;
    assert(sentence->search.rows == 1 && count < sentence->options.max_length);
    struct decision last = search_last(&sentence->search, 0);
    const float *alignment = soft_alignment_row(sentence, last.token, last.attention, &sentence->arena, NULL);
    if (!alignment)
        return feed->noted;
    feed->tokens[count] = last.token;
    feed->log_probs[count] = last.log_prob;
    feed->attention[count] = last.attention;
    feed->alignment[count] = alignment;
    feed->decided++;
    return count_final(feed, sentence);
}

static void wake(struct events *events) {
    if (!events->parked)
        return;
    events->parked = false;
    events->reader.wake(events->reader.owner);
}

static void publish(struct events *events, struct feed *feed, size_t noted, bool ended) {
    pthread_mutex_lock(&events->lock);
    feed->noted = noted;
    feed->ended = ended;
    if (!feed->listed) {
        feed->listed = true;
        feed->next = NULL;
        *events->tail = feed;
        events->tail = &feed->next;
    }
    wake(events);
    pthread_mutex_unlock(&events->lock);
}

static void events_note(struct job *job) {
    struct events *events = job->request->events;
    struct feed *feed = &events->feeds[job - job->request->jobs];
    bool ended = job->done_us != 0;
    size_t noted = ended ? feed->noted : note_token(feed, job->sentence);
    if (ended || noted > feed->noted)
        publish(events, feed, noted, ended);
}

bool events_end(struct events *events) {
    pthread_mutex_lock(&events->lock);
    events->ended = true;
    bool closed = events->closed;
    wake(events);
    pthread_mutex_unlock(&events->lock);
    return closed;
}

void events_pulse(struct events *events) {
    pthread_mutex_lock(&events->lock);
    events->pulse = events->parked;
    wake(events);
    pthread_mutex_unlock(&events->lock);
}

/* ---- the reader's side ---- */

/* The oldest of the sentences with news; otherwise says what there is instead. */
static bool events_take(struct events *events, struct event *event) {
    pthread_mutex_lock(&events->lock);
    struct feed *feed = events->head;
    if (feed) {
        events->head = feed->next;
        if (!events->head)
            events->tail = &events->head;
        feed->listed = false;
        feed->known = feed->noted;
        feed->over = feed->ended;
    } else {
        event->kind = events->ended ? EVENT_END : events->pulse ? EVENT_PULSE : EVENT_NONE;
    }
    events->pulse = false;
    events->current = feed;
    pthread_mutex_unlock(&events->lock);
    return feed != NULL;
}

/* The tokens so far. Of a sentence that is done they may be more than were noted. */
static struct hypothesis decided(const struct feed *feed) {
    const struct sentence *sentence = feed->job->sentence;
    if (feed->over && sentence->hypotheses)
        return sentence->hypotheses[0];
    return (struct hypothesis){.tokens = feed->tokens,
                               .length = feed->known,
                               .log_probs = feed->log_probs,
                               .attention = feed->attention,
                               .alignment = feed->alignment};
}

/* Bytes that further tokens will not change: incomplete characters at the end are U+FFFD until the rest of their bytes has come. */
static size_t settled(const char *text) {
    size_t length = strlen(text);
    while (length >= 3 && memcmp(text + length - 3, "\xEF\xBF\xBD", 3) == 0)
        length -= 3;
    return length;
}

/* What stands far behind a settled token does not change any more: it alone is rendered before those that follow. */
static void move_on(struct events *events, struct feed *feed, const struct hypothesis *part, const struct token *last) {
    const struct sentence *sentence = feed->job->sentence;
    struct rendering rendering;
    size_t place = part->length - 1;
    if (place - feed->first < WINDOW || place < sentence->options.prefix_length || last->begin == last->end ||
        translator_render_rest(sentence, part, place, &events->scratch, &rendering, NULL) != 0)
        return;
    feed->first = place;
    feed->printed = strlen(rendering.text);
}

/* The last token known waits for the next if its text is not settled. */
static bool send_text(struct events *events, struct feed *feed, const struct hypothesis *all, struct event *event) {
    struct rendering rendering;
    struct hypothesis part = *all;
    part.length = feed->sent + 1;
    if (translator_render_rest(feed->job->sentence, &part, feed->first, &events->scratch, &rendering, NULL) != 0)
        return false;
    const struct token *token = &rendering.tokens[feed->sent - feed->first];
    bool last = part.length == all->length;
    size_t whole = strlen(rendering.text), length = last && feed->over ? whole : settled(rendering.text);
    if (last && length < whole)
        return false;
    event->piece = token->piece;
    event->added = rendering.text + feed->printed;
    event->added_length = length > feed->printed ? length - feed->printed : 0;
    feed->printed += event->added_length;
    if (length == whole)
        move_on(events, feed, &part, token);
    return true;
}

/* What was given comes as it was given, with its last token. */
static bool send_given(const struct feed *feed, struct event *event) {
    const struct sentence *sentence = feed->job->sentence;
    if (feed->sent + 1 >= sentence->options.prefix_length)
        return false;
    event->piece = sentence->given_tokens[feed->sent].piece;
    event->added = "";
    return true;
}

static bool send_token(struct events *events, struct event *event) {
    struct feed *feed = events->current;
    const struct sentence *sentence = feed->job->sentence;
    struct hypothesis all = decided(feed);
    size_t count = all.length + (all.ended && (events->request->include & INCLUDE_EOS));
    if (!sends_tokens(sentence) || feed->sent >= count)
        return false;
    if (feed->sent == all.length)
        *event = (struct event){.text = feed->text, .piece = "</s>", .added = ""};
    else if (!send_given(feed, event) && !send_text(events, feed, &all, event))
        return false;
    event->kind = EVENT_TOKEN;
    event->sentence = (size_t)(sentence - events->request->texts[event->text].sentences);
    event->log_prob = (double)all.log_probs[feed->sent++];
    return true;
}

/* The next sentence of the current one's text, if it is done. One that failed has no object, nor have those behind it: their places
 * in the text are unknown. */
static bool send_sentence(struct events *events, struct event *event) {
    events->current->done = events->current->over;
    const struct text *text = &events->request->texts[event->text];
    size_t *next = &events->next[event->text];
    if (*next == text->count)
        return false;
    const struct sentence *sentence = &text->sentences[*next];
    if (!events->feeds[events->first[event->text] + *next].done || !sentence->hypotheses)
        return false;
    event->kind = EVENT_SENTENCE;
    event->sentence = (*next)++;
    return true;
}

void events_next(struct events *events, struct event *event) {
    arena_reset(&events->scratch);
    for (;; events->current = NULL) {
        *event = (struct event){0};
        if (!events->current && !events_take(events, event))
            return;
        event->text = events->current->text;
        if (send_token(events, event) || send_sentence(events, event))
            return;
    }
}

bool events_park(struct events *events) {
    pthread_mutex_lock(&events->lock);
    events->parked = !events->head && !events->ended && !events->pulse;
    bool parked = events->parked;
    if (parked)
        events->reader.park(events->reader.owner);
    pthread_mutex_unlock(&events->lock);
    return parked;
}

bool events_close(struct events *events) {
    pthread_mutex_lock(&events->lock);
    events->closed = true;
    events->parked = false;
    bool ended = events->ended;
    if (!ended) /* after the lock is released, it may be gone */
        request_cancel(events->request, CANCEL_CLIENT);
    pthread_mutex_unlock(&events->lock);
    return ended;
}

/* ---- life ---- */

static void find_feeds(struct events *events, const struct request *request) {
    size_t count = 0;
    for (size_t i = 0; i < request->text_count; i++) {
        events->first[i] = count;
        for (size_t j = 0; j < request->texts[i].count; j++, count++) {
            events->feeds[count].job = sentence_job(&request->texts[i].sentences[j]);
            events->feeds[count].text = i;
        }
    }
}

int events_follow(struct request *request, const struct events_reader *reader) {
    struct events *events = arena_zalloc(&request->arena, 1, sizeof *events);
    struct feed *feeds = arena_zalloc(&request->arena, request->job_count, sizeof *feeds);
    size_t *next = arena_zalloc(&request->arena, request->text_count, sizeof *next);
    size_t *first = arena_zalloc(&request->arena, request->text_count, sizeof *first);
    if (arena_failed(&request->arena))
        return -1;
    *events =
        (struct events){.request = request, .reader = *reader, .feeds = feeds, .next = next, .first = first, .tail = &events->head};
    find_feeds(events, request);
    arena_init(&events->scratch, SCRATCH_BYTES);
    pthread_mutex_init(&events->lock, NULL);
    request->events = events;
    request->progress = events_note;
    return 0;
}

void events_done(struct events *events) {
    if (!events)
        return;
    pthread_mutex_destroy(&events->lock);
    arena_done(&events->scratch);
}
