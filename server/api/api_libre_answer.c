/* The answers of LibreTranslate's dialect: translations, markup with its tags, alternatives. */
#include "server/api/api_libre.h"
#include "server/decode/links.h"

struct answer {
    const char *text;
    size_t length;
};

static bool is_blank(const char *text, size_t length) {
    return segmenter_trim(text, length).begin == length;
}

/* A text's translation; itself where that would be nothing, since some clients take an empty answer for a failure. */
static int render(const struct text *text, struct arena *arena, struct rendered *out, struct answer *answer) {
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
    if (render(text, arena, &rendered, &answer) != 0)
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

static int translate(const struct plan *plan, const struct item *item, struct arena *arena, struct answer *answer) {
    struct rendered rendered;
    *answer = (struct answer){item->source, item->length};
    if (plan->same)
        return 0;
    return plan->markup ? translate_markup(item, arena, answer) : render(&item->texts[0], arena, &rendered, answer);
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
    return render(&ranked, arena, &rendered, answer);
}

static bool holds(const json_t *array, const json_t *value) {
    for (size_t i = 0; i < json_array_size(array); i++) {
        if (json_equal(json_array_get(array, i), value))
            return true;
    }
    return false;
}

/* None twice, and none that is the translation. Markup has none. */
static json_t *alternatives(const struct plan *plan, const struct item *item, const json_t *translated, struct arena *arena) {
    json_t *array = json_array();
    for (size_t rank = 1; rank <= plan->alternatives && !plan->markup && !plan->same; rank++) {
        struct answer answer;
        if (render_rank(&item->texts[0], rank, arena, &answer) != 0) {
            json_decref(array);
            return NULL;
        }
        json_t *text = json_stringn(answer.text, answer.length);
        if (!json_equal(text, translated) && !holds(array, text))
            json_array_append(array, text);
        json_decref(text);
    }
    return array;
}

static json_t *detected(const struct plan *plan) {
    return json_pack("{s:f, s:s}", "confidence", plan->confidence, "language", plan->detected);
}

static int add_item(const struct plan *plan, const struct item *item, struct arena *arena, json_t *const arrays[3]) {
    struct answer answer;
    if (translate(plan, item, arena, &answer) != 0)
        return -1;
    json_t *text = json_stringn(answer.text, answer.length);
    json_t *others = plan->asked_alternatives ? alternatives(plan, item, text, arena) : NULL;
    if (!text || (plan->asked_alternatives && !others)) {
        json_decref(text);
        json_decref(others);
        return -1;
    }
    json_array_append_new(arrays[0], text);
    if (plan->asked_alternatives)
        json_array_append_new(arrays[1], others);
    return plan->detected ? json_array_append_new(arrays[2], detected(plan)) : 0;
}

void api_libre_finish(const struct service *service, struct request *request, struct reply *reply) {
    static const char *const names[] = {"translatedText", "alternatives", "detectedLanguage"};
    (void)service;
    if (api_fail_decoded(request, reply))
        return;
    const struct plan *plan = request->plan;
    json_t *root = json_object(), *arrays[] = {json_array(), json_array(), json_array()};
    bool failed = false;
    for (size_t i = 0; i < plan->count && !failed; i++)
        failed = add_item(plan, &plan->items[i], &request->arena, arrays) != 0;
    for (size_t i = 0; i < 3; i++) {
        if (json_array_size(arrays[i]) > 0)
            json_object_set(root, names[i], plan->array ? arrays[i] : json_array_get(arrays[i], 0));
        json_decref(arrays[i]);
    }
    if (!failed) {
        api_reply_json(reply, STATUS_OK, root);
        return;
    }
    json_decref(root);
    api_fail_memory(reply);
}
