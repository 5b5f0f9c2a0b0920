/* The sentence objects of API.md. */
#include "server/api/api_json.h"
#include "server/base/utf8.h"
#include <string.h>

enum { SCRATCH_BYTES = 16 * 1024 };

/* One hypothesis of one sentence, about to be written. jansson tolerates NULL everywhere, so a failed allocation shows once, at the
 * end: put and push note it. */
struct picture {
    struct request *request;
    unsigned include;
    const struct text *text;
    const struct sentence *sentence;
    const struct hypothesis *hypothesis;
    struct rendering rendering;
    size_t rows;             /* target tokens shown: with `eos`, the final </s> too */
    struct arena *arena;     /* scratch */
    struct splices *splices; /* of the hypothesis in hand */
    struct api_text *out;
    bool failed;
};

static void put(struct picture *picture, json_t *object, const char *key, json_t *value) {
    if (json_object_set_new(object, key, value) != 0)
        picture->failed = true;
}

static void push(struct picture *picture, json_t *array, json_t *value) {
    if (json_array_append_new(array, value) != 0)
        picture->failed = true;
}

static json_t *pair(struct picture *picture, size_t source, size_t target) {
    json_t *array = json_array();
    push(picture, array, json_integer((json_int_t)source));
    push(picture, array, json_integer((json_int_t)target));
    return array;
}

static json_t *source_tokens(struct picture *picture) {
    json_t *array = json_array();
    for (size_t j = 0; j < picture->sentence->length; j++)
        push(picture, array, json_string(picture->sentence->tokens[j].piece));
    return array;
}

static json_t *target_tokens(struct picture *picture) {
    json_t *array = json_array();
    for (size_t i = 0; i < picture->hypothesis->length; i++)
        push(picture, array, json_string(picture->rendering.tokens[i].piece));
    if (picture->rows > picture->hypothesis->length)
        push(picture, array, json_string("</s>"));
    return array;
}

static json_t *attention(struct picture *picture) {
    json_t *array = json_array();
    for (size_t i = 0; i < picture->rows; i++)
        push(picture, array, splice_numbers(picture->splices, picture->hypothesis->attention[i], picture->sentence->length));
    return array;
}

/* </s>, the only token without bytes of its own at the end of the source, is aligned with nothing. */
static bool is_source_end(const struct sentence *sentence, size_t j) {
    return j + 1 == sentence->length && translator_info(sentence->translator).source_end;
}

static json_t *alignment(struct picture *picture) {
    json_t *array = json_array();
    for (size_t i = 0; i < picture->hypothesis->length; i++) {
        size_t j = render_argmax(picture->hypothesis->attention[i], picture->sentence->length);
        if (!is_source_end(picture->sentence, j))
            push(picture, array, pair(picture, j, i));
    }
    return array;
}

static json_t *word_texts(struct picture *picture, const char *text, const struct span *words, size_t count) {
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        push(picture, array, json_stringn(text + words[i].begin, words[i].end - words[i].begin));
    return array;
}

static json_t *words(struct picture *picture) {
    struct word_attention merged;
    if (render_words(picture->sentence, picture->hypothesis, &picture->rendering, picture->arena, &merged, NULL) != 0) {
        picture->failed = true;
        return NULL;
    }
    json_t *rows = json_array(), *pairs = json_array(), *object = json_object();
    for (size_t i = 0; i < merged.target_count; i++) {
        const float *row = merged.weights + i * merged.source_count;
        size_t j;
        push(picture, rows, splice_numbers(picture->splices, row, merged.source_count));
        if (render_aligned(&merged, i, &j))
            push(picture, pairs, pair(picture, j, i));
    }
    put(picture, object, "source", word_texts(picture, sentence_text(picture->sentence), merged.source, merged.source_count));
    put(picture, object, "target", word_texts(picture, picture->rendering.text, merged.target, merged.target_count));
    put(picture, object, "attention", rows);
    put(picture, object, "alignment", pairs);
    return object;
}

static json_t *offset(struct picture *picture, struct utf16_cursor *cursor, size_t begin, size_t end) {
    json_t *object = json_object();
    put(picture, object, "start", json_integer((json_int_t)begin));
    put(picture, object, "end", json_integer((json_int_t)end));
    put(picture, object, "start_utf16", json_integer((json_int_t)utf16_position(cursor, begin)));
    put(picture, object, "end_utf16", json_integer((json_int_t)utf16_position(cursor, end)));
    return object;
}

static json_t *token_offsets(struct picture *picture, const char *text, const struct token *tokens, size_t count, bool end) {
    struct utf16_cursor cursor = {.text = text};
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        push(picture, array, offset(picture, &cursor, tokens[i].begin, tokens[i].end));
    if (end)
        push(picture, array, offset(picture, &cursor, strlen(text), strlen(text)));
    return array;
}

/* The bytes and UTF-16 units of a string that is `bytes` behind. */
static struct api_place behind(struct api_place place, const char *text, size_t bytes) {
    struct utf16_cursor cursor = {.text = text};
    return (struct api_place){place.bytes + bytes, place.units + utf16_position(&cursor, bytes)};
}

static json_t *place_json(struct api_place begin, struct api_place end) {
    return json_pack("{s:I, s:I, s:I, s:I}", "start", (json_int_t)begin.bytes, "end", (json_int_t)end.bytes, "start_utf16",
                     (json_int_t)begin.units, "end_utf16", (json_int_t)end.units);
}

/* Of the best hypothesis: the others are not part of the output. */
static json_t *span(struct picture *picture, const struct api_places *begin) {
    const char *text = picture->rendering.text;
    json_t *object = json_object();
    put(picture, object, "source",
        place_json(begin->source,
                   behind(begin->source, sentence_text(picture->sentence), sentence_text_length(picture->sentence))));
    put(picture, object, "target", place_json(begin->target, behind(begin->target, text, strlen(text))));
    return object;
}

static json_t *offsets(struct picture *picture, const struct api_places *begin) {
    const struct sentence *sentence = picture->sentence;
    json_t *object = json_object();
    bool end = picture->rows > picture->hypothesis->length;
    put(picture, object, "source", token_offsets(picture, sentence_text(sentence), sentence->tokens, sentence->length, false));
    put(picture, object, "target",
        token_offsets(picture, picture->rendering.text, picture->rendering.tokens, picture->hypothesis->length, end));
    if (begin)
        put(picture, object, "span", span(picture, begin));
    return object;
}

static json_t *timing(const struct sentence *sentence) {
    const struct job *job = sentence_job(sentence);
    return json_pack("{s:f, s:f, s:I}", "queue_ms", (double)(job->admitted_us - job->queued_us) / 1000, "decode_ms",
                     (double)(job->done_us - job->admitted_us) / 1000, "steps", (json_int_t)sentence->steps);
}

static void put_included(struct picture *picture, json_t *object, const struct api_places *begin) {
    const struct hypothesis *hypothesis = picture->hypothesis;
    if (picture->include & INCLUDE_LOG_PROBS)
        put(picture, object, "log_probs", splice_numbers(picture->splices, hypothesis->log_probs, picture->rows));
    if (picture->include & INCLUDE_ATTENTION)
        put(picture, object, "attention", attention(picture));
    if (picture->include & INCLUDE_ALIGNMENT)
        put(picture, object, "alignment", alignment(picture));
    if (picture->include & INCLUDE_WORDS)
        put(picture, object, "words", words(picture));
    if (picture->include & INCLUDE_OFFSETS)
        put(picture, object, "offsets", offsets(picture, begin));
    if (picture->include & INCLUDE_ENTROPY)
        put(picture, object, "entropy", splice_numbers(picture->splices, hypothesis->entropies, picture->rows));
    if (picture->include & INCLUDE_TOP_K)
        put(picture, object, "top_k", api_top_k(picture->sentence, hypothesis, picture->rows, picture->splices));
    if (picture->include & INCLUDE_TIMING)
        put(picture, object, "timing", timing(picture->sentence));
}

static json_t *hypothesis_json(struct picture *picture, const struct api_places *begin) {
    static const char *const reasons[] = {[FINISH_EOS] = "eos", [FINISH_LENGTH] = "length", [FINISH_BUDGET] = "budget"};
    const struct sentence *sentence = picture->sentence;
    json_t *object = json_object();
    put(picture, object, "source_text", json_stringn(sentence_text(sentence), sentence_text_length(sentence)));
    put(picture, object, "text", json_string(picture->rendering.text));
    if (picture->include & INCLUDE_TOKENS) {
        put(picture, object, "source_tokens", source_tokens(picture));
        put(picture, object, "tokens", target_tokens(picture));
    }
    put(picture, object, "score", json_real(picture->hypothesis->score));
    put(picture, object, "log_prob", json_real(picture->hypothesis->log_prob));
    put(picture, object, "finish_reason", json_string(reasons[picture->hypothesis->finish]));
    if (sentence->options.strategy == &search_exact)
        put(picture, object, "optimal", json_boolean(picture->hypothesis->finish != FINISH_BUDGET));
    put_included(picture, object, begin);
    return object;
}

static void choose(struct picture *picture, const struct hypothesis *hypothesis) {
    picture->hypothesis = hypothesis;
    picture->rows = hypothesis->length + (hypothesis->ended && (picture->include & INCLUDE_EOS) ? 1 : 0);
}

/* What one hypothesis needs to be written goes when it is. */
static void put_hypothesis(struct picture *picture, const struct api_places *begin) {
    struct arena_mark mark = arena_mark(picture->arena);
    struct splices splices = {.arena = picture->arena};
    picture->splices = &splices;
    json_t *object = hypothesis_json(picture, begin);
    if (picture->failed) {
        json_decref(object);
        object = NULL;
    }
    api_text_put_members(picture->out, object, &splices);
    arena_release(picture->arena, mark);
}

static void put_tree(struct picture *picture) {
    struct arena_mark mark = arena_mark(picture->arena);
    struct splices splices = {.arena = picture->arena};
    api_text_put(picture->out, ",\"beam\":");
    api_text_put_json(picture->out, api_tree(picture->sentence, &splices), &splices);
    arena_release(picture->arena, mark);
}

/* True: nobody needs the rest. */
static bool is_over(const struct picture *picture) {
    return api_text_ended(picture->out) || request_is_over(picture->request);
}

/* All hypotheses, best first; the best is the sentence object itself once more. */
static void put_hypotheses(struct picture *picture, const struct api_places *begin) {
    api_text_put(picture->out, ",\"hypotheses\":[");
    for (size_t i = 0; i < picture->sentence->count && !is_over(picture); i++) {
        struct arena_mark mark = arena_mark(picture->arena);
        choose(picture, &picture->sentence->hypotheses[i]);
        if (translator_render(picture->sentence, picture->hypothesis, picture->arena, &picture->rendering, NULL) != 0)
            picture->failed = picture->out->failed = true;
        api_text_put(picture->out, i > 0 ? ",{" : "{");
        if (!picture->failed)
            put_hypothesis(picture, i == 0 ? begin : NULL);
        api_text_put(picture->out, "}");
        arena_release(picture->arena, mark);
    }
    api_text_put(picture->out, "]");
}

static void put_sentence(struct picture *picture, const struct api_places *begin) {
    choose(picture, &picture->sentence->hypotheses[0]);
    put_hypothesis(picture, begin);
    if (picture->request->include & INCLUDE_BEAM)
        put_tree(picture);
    if (picture->request->search.n_best > 1)
        put_hypotheses(picture, begin);
}

/* What stands before sentence i comes between the sentences of the output, too. */
static void skip_gap(const struct text *text, size_t i, struct api_places *at) {
    struct span gap = render_gap(text, i);
    at->source = behind(at->source, text->source + gap.begin, gap.end - gap.begin);
    at->target = behind(at->target, text->source + gap.begin, gap.end - gap.begin);
}

/* Sentence i of the picture's text, of which this is the best hypothesis. */
static void put_next(struct picture *picture, size_t i, const struct rendering *rendering, struct api_places *at) {
    picture->sentence = &picture->text->sentences[i];
    picture->rendering = *rendering;
    skip_gap(picture->text, i, at);
    put_sentence(picture, at);
    at->source = behind(at->source, sentence_text(picture->sentence), sentence_text_length(picture->sentence));
    at->target = behind(at->target, rendering->text, strlen(rendering->text));
}

void api_render_sentence(struct request *request, const struct text *text, size_t i, struct api_places *at, struct api_text *out) {
    struct arena arena;
    arena_init(&arena, SCRATCH_BYTES);
    struct picture picture = {.request = request, .include = request->include, .text = text, .arena = &arena, .out = out};
    const struct sentence *sentence = &text->sentences[i];
    struct rendering rendering;
    if (translator_render(sentence, &sentence->hypotheses[0], &arena, &rendering, NULL) == 0)
        put_next(&picture, i, &rendering, at);
    else
        out->failed = true;
    arena_done(&arena);
}

static void put_sentences(struct picture *picture, const struct rendered *rendered) {
    struct api_places at = {0};
    api_text_put(picture->out, ",\"sentences\":[");
    for (size_t i = 0; i < picture->text->count && !is_over(picture); i++) {
        api_text_put(picture->out, i > 0 ? ",{" : "{");
        put_next(picture, i, &rendered->sentences[i], &at);
        api_text_put(picture->out, "}");
    }
    api_text_put(picture->out, "]}");
}

void api_render_text(struct request *request, const struct text *text, struct api_text *out) {
    struct arena arena;
    struct rendered rendered;
    arena_init(&arena, SCRATCH_BYTES);
    struct picture picture = {.request = request, .include = request->include, .text = text, .arena = &arena, .out = out};
    if (render_text(text, &arena, &rendered, NULL) == 0) {
        api_text_put(out, "{\"text\":");
        api_text_put_json(out, json_stringn(rendered.text, rendered.length), &(struct splices){0});
        put_sentences(&picture, &rendered);
    } else {
        out->failed = true;
    }
    arena_done(&arena);
}
