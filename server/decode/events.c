/* This module hides how workers pass events of a request to the thread that sends them. */
#include "server/decode/events.h"
#include <assert.h>
#include <pthread.h>
#include <string.h>

/* WINDOW limits how many tokens are rendered again for each new one; rendering all of them would
 * take quadratic time. */
enum { SCRATCH_BYTES = 16 * 1024, WINDOW = 16 };

/* The state of one sentence. */
struct feed {
    const struct job *job;
    size_t text; /* index of its text */

    /* protected by the lock */
    struct feed *next; /* in the list of feeds with news */
    bool listed;
    size_t noted; /* tokens */
    bool ended;

    size_t decided; /* number of tokens below, used only by the worker; the last ones may still be
                       replaced */
    /* [decided] owned by the worker until published under the lock, then constant */
    int *tokens;
    float *log_probs;
    const float **attention, **alignment;
    const struct step_row **rows;

    /* only the follower uses these */
    size_t known, sent; /* numbers of tokens: noted at the last look, and sent */
    size_t first;       /* the first token that is still rendered with each new one */
    size_t printed;     /* bytes that were sent of the text from first on */
    bool over, done;    /* over: had ended at the last look; done: and all of its tokens are sent */
};

struct events {
    struct request *request;
    struct events_follower follower;
    struct feed *feeds; /* [request->job_count] */

    /* only the follower uses these */
    struct feed *current; /* being sent */
    size_t *next;         /* [request->text_count] the next sentence to send of each text */
    size_t *first;        /* [request->text_count] the feed of each text's first sentence */
    struct arena scratch; /* for one event */

    pthread_mutex_t lock;      /* protects everything below, and part of each feed */
    struct feed *head, **tail; /* feeds with news, oldest first */
    bool parked, pulse, ended;
};

/* ---- the workers' side ---- */

/* Returns whether each step decides a token for good: no other path can replace the token of a
 * single row. */
static bool sends_tokens(const struct sentence *sentence) {
    const struct search_options *options = &sentence->options;
    return options->strategy == &search_greedy ||
           (options->strategy == &search_sample && options->n_best == 1);
}

/* Notes the token that the last step decided. Returns the number of tokens that are final. If a
 * sentence has amounts or signs, no token is final, since the worker may replace the sentence with
 * a retry; otherwise it has no retry. If memory runs out, the sentence's tokens
 * are sent when the sentence is done. */
static size_t note_token(struct feed *feed, struct sentence *sentence) {
    size_t count = feed->decided, most = sentence->options.max_length;
    struct arena *arena = &sentence->arena;
    struct sentence_check *check = sentence->check;
    bool waits = check && (check->applies[CHECK_NUMBERS] || check->applies[CHECK_SIGNS]);
    if (waits || !sends_tokens(sentence) || sentence->search.step != count + 1)
        return feed->noted;
    if (!feed->alignment) { /* the first token: allocates room for as many as there can be */
        feed->tokens = arena_alloc(arena, most, sizeof *feed->tokens);
        feed->log_probs = arena_alloc(arena, most, sizeof *feed->log_probs);
        const float **attention = arena_alloc(arena, most, sizeof *attention);
        const float **alignment = arena_alloc(arena, most, sizeof *alignment);
        feed->rows = arena_alloc(arena, most, sizeof *feed->rows);
        if (arena_failed(arena))
            return feed->noted;
        feed->attention = attention;
        feed->alignment = alignment;
    }
    assert(sentence->search.rows == 1 && count < most);
    if (check)
        check->shown = true;
    struct decision last = search_last(&sentence->search, 0);
    const float *alignment = soft_alignment_row(sentence, &last, arena, NULL);
    if (!alignment)
        return feed->noted;
    feed->tokens[count] = last.token;
    feed->log_probs[count] = last.log_prob;
    feed->attention[count] = last.row->attention;
    feed->rows[count] = last.row;
    feed->alignment[count] = alignment;
    feed->decided = ++count;
    /* The marks at the end of a question or an exclamation may change (model/rendering.h). */
    while (ending_is_asked(sentence) && count > feed->noted &&
           ending_may_replace(sentence, feed->tokens[count - 1]))
        count--;
    return count;
}

/* Called with the lock held. */
static void wake(struct events *events) {
    if (!events->parked)
        return;
    events->parked = false;
    events->follower.wake(events->follower.owner);
}

/* Only the worker of the job changes noted and ended, so it may read them without the lock. */
static void events_note(struct job *job) {
    struct events *events = job->request->events;
    struct feed *feed = &events->feeds[job - job->request->jobs];
    bool ended = job->done_us != 0;
    size_t noted = ended || !job->request->keeps ? feed->noted : note_token(feed, job->sentence);
    if (!ended && noted <= feed->noted)
        return;
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

int events_follow(struct request *request, const struct events_follower *follower) {
    struct events *events = arena_zalloc(&request->arena, 1, sizeof *events);
    struct feed *feeds = arena_zalloc(&request->arena, request->job_count, sizeof *feeds);
    size_t *next = arena_zalloc(&request->arena, request->text_count, sizeof *next);
    size_t *first = arena_zalloc(&request->arena, request->text_count, sizeof *first);
    if (arena_failed(&request->arena))
        return -1;
    *events = (struct events){.request = request,
                              .follower = *follower,
                              .feeds = feeds,
                              .next = next,
                              .first = first,
                              .tail = &events->head};
    size_t count = 0;
    for (size_t i = 0; i < request->text_count; i++) {
        first[i] = count;
        for (size_t j = 0; j < request->texts[i].count; j++, count++) {
            feeds[count].job = &request->jobs[count]; /* jobs are in the order of the sentences */
            feeds[count].text = i;
        }
    }
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

void events_end(struct events *events) {
    pthread_mutex_lock(&events->lock);
    events->ended = true;
    wake(events);
    pthread_mutex_unlock(&events->lock);
}

void events_pulse(struct events *events) {
    pthread_mutex_lock(&events->lock);
    events->pulse = events->parked;
    wake(events);
    pthread_mutex_unlock(&events->lock);
}

/* ---- the follower's side ---- */

/* Sets the event's piece and text from the next token to send. Returns false if the token must wait
 * for the one after it, because its text may still change. */
static bool send_text(struct events *events, struct feed *feed, const struct hypothesis *all,
                      struct event *event) {
    const struct sentence *sentence = feed->job->sentence;
    struct rendering rendering;
    struct hypothesis part = *all;
    size_t place = feed->sent;
    part.length = place + 1;
    if (rendering_make_rest(sentence, &part, feed->first, &events->scratch, &rendering, NULL) != 0)
        return false;
    const struct token *token = &rendering.tokens[place - feed->first];
    bool last = part.length == all->length;
    size_t whole = strlen(rendering.text), length = whole;
    /* An incomplete character at the end is U+FFFD until the rest of its bytes arrives. */
    while (!(last && feed->over) && length >= 3 &&
           memcmp(rendering.text + length - 3, "\xEF\xBF\xBD", 3) == 0)
        length -= 3;
    if (last && length < whole)
        return false;
    event->piece = token->piece;
    event->added = rendering.text + feed->printed;
    event->added_length = length > feed->printed ? length - feed->printed : 0;
    feed->printed += event->added_length;

    /* Text far before a settled token cannot change, so from now on rendering starts at this token.
     */
    if (length == whole && place - feed->first >= WINDOW &&
        place >= sentence->options.prefix_length && token->begin != token->end &&
        rendering_make_rest(sentence, &part, place, &events->scratch, &rendering, NULL) == 0) {
        feed->first = place;
        feed->printed = strlen(rendering.text);
    }
    return true;
}

static bool send_token(struct events *events, struct event *event) {
    struct feed *feed = events->current;
    const struct sentence *sentence = feed->job->sentence;
    if (!sentence || !feed->job->request->keeps || !sends_tokens(sentence))
        return false; /* NULL: the request was over before a worker took the job */
    struct hypothesis all = {.tokens = feed->tokens,
                             .length = feed->known,
                             .log_probs = feed->log_probs,
                             .attention = feed->attention,
                             .alignment = feed->alignment,
                             .rows = feed->rows};
    if (feed->over && sentence->hypotheses) /* there may be more tokens than were noted */
        all = sentence->hypotheses[0];
    if (feed->sent >= all.length + (all.ended && (events->request->wanted.include & INCLUDE_EOS)))
        return false;
    event->added = "";
    if (feed->sent == all.length)
        event->piece = "</s>";
    else if (feed->sent + 1 <
             sentence->options
                 .prefix_length) /* the text of a given prefix is sent with its last token */
        event->piece = sentence->given.tokens[feed->sent].piece;
    else if (!send_text(events, feed, &all, event))
        return false;
    event->kind = EVENT_TOKEN;
    event->sentence = (size_t)(feed->job - events->request->texts[event->text].jobs);
    event->log_prob = (double)all.log_probs[feed->sent++];
    return true;
}

/* Sends the next sentence of the current text if it is done. A failed sentence and those after it
 * are not sent, because their places in the text are unknown. */
static bool send_sentence(struct events *events, struct event *event) {
    events->current->done = events->current->over;
    const struct text *text = &events->request->texts[event->text];
    size_t *next = &events->next[event->text];
    if (*next == text->count || !events->feeds[events->first[event->text] + *next].done)
        return false;
    if (!text->jobs[*next].outcome)
        return false;
    event->kind = EVENT_SENTENCE;
    event->sentence = (*next)++;
    return true;
}

void events_next(struct events *events, struct event *event) {
    arena_reset(&events->scratch);
    for (;; events->current = NULL) {
        *event = (struct event){0};
        if (!events->current) { /* takes the oldest of the sentences with news */
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
            if (!feed)
                return;
        }
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
        events->follower.park(events->follower.owner);
    pthread_mutex_unlock(&events->lock);
    return parked;
}
