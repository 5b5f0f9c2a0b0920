/* The answers of LibreTranslate's dialect: translations, markup with its tags, alternatives. */
#include "server/api/api_libre.h"
#include "server/decode/links.h"
#include <string.h>

struct answer {
    const char *text;
    size_t length;
};

static bool is_blank(const char *text, size_t length) {
    return segmenter_trim(text, length).begin == length;
}

/* A text's translation; itself where that would be nothing, since some clients take an empty answer for a failure. */
static int libre_render(const struct text *text, struct arena *arena, struct rendered *out, struct answer *answer) {
    if (render_text(text, arena, out, NULL) != 0)
        return -1;
    bool lost = is_blank(out->text, out->length);
    *answer = lost ? (struct answer){text->source, text->source_length} : (struct answer){out->text, out->length};
    return 0;
}

static size_t count_tokens(const struct text *text) {
    size_t count = 0;
    for (size_t i = 0; i < text->count; i++)
        count += text->sentences[i].hypotheses[0].length;
    return count;
}

/* Which word of the translation came from which word of the text: the best source word of each, after each source word got its
 * share of the attention (server/decode/links.h). */
static int add_links(const struct text *text, const struct rendered *rendered, size_t i, struct arena *arena,
                     struct html_translation *out) {
    const struct sentence *sentence = &text->sentences[i];
    struct word_attention words;
    if (render_words(sentence, &sentence->hypotheses[0], &rendered->sentences[i], arena, &words, NULL) != 0)
        return -1;
    links_prepare(links_kind_find("balanced"), &words);
    for (size_t word = 0, source; word < words.target_count; word++) {
        if (!render_aligned(&words, word, &source))
            continue;
        size_t from = sentence->source.begin, to = rendered->begins[i];
        out->links[out->link_count++] = (struct html_link){{from + words.source[source].begin, from + words.source[source].end},
                                                           {to + words.target[word].begin, to + words.target[word].end}};
    }
    return 0;
}

static int translate_segment(const struct text *text, struct arena *arena, struct html_translation *out) {
    struct rendered rendered;
    struct answer answer;
    if (libre_render(text, arena, &rendered, &answer) != 0)
        return -1;
    if (answer.text == text->source)
        return 0; /* as it is, with its tags */
    *out = (struct html_translation){.text = answer.text, .length = answer.length};
    out->links = arena_alloc(arena, count_tokens(text), sizeof *out->links);
    if (!out->links)
        return -1;
    for (size_t i = 0; i < text->count; i++) {
        bool attention = translator_info(text->sentences[i].translator).attention;
        if (attention && add_links(text, &rendered, i, arena, out) != 0)
            return -1;
    }
    return 0;
}

static int translate_markup(const struct item *item, struct arena *arena, struct answer *answer) {
    struct html_translation *translations = arena_zalloc(arena, item->count, sizeof *translations);
    if (!translations)
        return -1;
    for (size_t i = 0; i < item->count; i++) {
        if (translate_segment(&item->texts[i], arena, &translations[i]) != 0)
            return -1;
    }
    size_t length;
    const char *markup = html_write(&item->html, translations, arena, &length, NULL);
    if (!markup)
        return -1;
    if (length > 0) /* markup that says nothing ("</b>") is its own translation, as texts are */
        *answer = (struct answer){markup, length};
    return 0;
}

static int libre_translate(const struct plan *plan, const struct item *item, struct arena *arena, struct answer *answer) {
    struct rendered rendered;
    *answer = (struct answer){item->source, item->length};
    if (plan->same)
        return 0;
    return plan->markup ? translate_markup(item, arena, answer) : libre_render(&item->texts[0], arena, &rendered, answer);
}

/* The text of the sentences' hypotheses of this rank; of one that has fewer, its last. */
static int render_rank(const struct text *text, size_t rank, struct arena *arena, struct answer *answer) {
    struct text ranked = *text;
    struct rendered rendered;
    ranked.sentences = arena_alloc(arena, text->count, sizeof *ranked.sentences);
    if (!ranked.sentences)
        return -1;
    for (size_t i = 0; i < text->count; i++) {
        ranked.sentences[i] = text->sentences[i]; /* to be read only */
        ranked.sentences[i].hypotheses += rank < text->sentences[i].count ? rank : text->sentences[i].count - 1;
    }
    return libre_render(&ranked, arena, &rendered, answer);
}

/* The answers of one item: its translation, then, as far as they were asked for, alternatives to it. Markup has none. */
struct answers {
    struct answer *all; /* [count] none twice */
    size_t count;
};

static void answers_add(struct answers *answers, const struct answer *answer) {
    for (size_t i = 0; i < answers->count; i++) {
        if (answers->all[i].length == answer->length && memcmp(answers->all[i].text, answer->text, answer->length) == 0)
            return;
    }
    answers->all[answers->count++] = *answer;
}

static int find_answers(const struct plan *plan, const struct item *item, struct arena *arena, struct answers *answers) {
    size_t others = plan->asked_alternatives && !plan->markup && !plan->same ? plan->alternatives : 0;
    struct answer answer;
    *answers = (struct answers){.all = arena_alloc(arena, 1 + others, sizeof *answers->all)};
    if (!answers->all || libre_translate(plan, item, arena, &answer) != 0)
        return -1;
    answers_add(answers, &answer);
    for (size_t rank = 1; rank <= others; rank++) {
        if (render_rank(&item->texts[0], rank, arena, &answer) != 0)
            return -1;
        answers_add(answers, &answer);
    }
    return 0;
}

/* A member for all items: an array with an element of each, or, if q is no array, that of the one. */
static void put_member(struct writer *w, const char *key, const struct plan *plan, const struct answers *answers,
                       void (*put)(struct writer *w, const char *key, const struct plan *plan, const struct answers *answers)) {
    if (plan->array)
        writer_begin_array(w, key);
    for (size_t i = 0; i < plan->count; i++)
        put(w, plan->array ? NULL : key, plan, &answers[i]);
    if (plan->array)
        writer_end_array(w);
}

static void put_translated(struct writer *w, const char *key, const struct plan *plan, const struct answers *answers) {
    (void)plan;
    writer_string_of(w, key, answers->all[0].text, answers->all[0].length);
}

static void put_alternatives(struct writer *w, const char *key, const struct plan *plan, const struct answers *answers) {
    (void)plan;
    writer_begin_array(w, key);
    for (size_t i = 1; i < answers->count; i++)
        writer_string_of(w, NULL, answers->all[i].text, answers->all[i].length);
    writer_end_array(w);
}

void api_libre_guessed(struct writer *w, const char *key, const struct api_guess *guess) {
    writer_begin_object(w, key);
    writer_number(w, "confidence", guess->confidence);
    writer_string(w, "language", guess->code);
    writer_end_object(w);
}

static void put_detected(struct writer *w, const char *key, const struct plan *plan, const struct answers *answers) {
    (void)answers;
    api_libre_guessed(w, key, &(struct api_guess){plan->detected, plan->confidence});
}

static void put_answers(struct writer *w, const struct plan *plan, const struct answers *answers) {
    put_member(w, "translatedText", plan, answers, put_translated);
    if (plan->asked_alternatives)
        put_member(w, "alternatives", plan, answers, put_alternatives);
    if (plan->detected)
        put_member(w, "detectedLanguage", plan, answers, put_detected);
}

void api_libre_finish(const struct service *service, struct request *request, struct reply *reply) {
    if (api_fail_decoded(request, reply))
        return;
    const struct plan *plan = request->plan;
    struct answers *answers = arena_alloc(&request->arena, plan->count, sizeof *answers);
    bool found = answers != NULL;
    for (size_t i = 0; i < plan->count && found; i++)
        found = find_answers(plan, &plan->items[i], &request->arena, &answers[i]) == 0;
    struct writer w = api_begin_answer(service);
    writer_begin_object(&w, NULL);
    if (found)
        put_answers(&w, plan, answers);
    else
        writer_fail(&w);
    writer_end_object(&w);
    api_reply_answer(service, reply, &w);
}
