/* The answers of a plan: translations, markup with its tags, alternatives. */
#include "server/api/api_plan.h"
#include "server/decode/links.h"
#include <string.h>

static bool is_blank(const char *text, size_t length) {
    return segmenter_trim(text, length).begin == length;
}

/* A text's translation; itself where that would be nothing, since some clients take an empty answer for a failure. */
static int render_item(const struct text *text, struct arena *arena, struct rendered *out, struct plan_answer *answer) {
    if (render_text(text, arena, out, NULL) != 0)
        return -1;
    bool lost = is_blank(out->text, out->length);
    *answer = lost ? (struct plan_answer){text->source, text->source_length} : (struct plan_answer){out->text, out->length};
    return 0;
}

/* Links as they are found. */
struct link_list {
    struct html_link *links; /* [count], room for more */
    size_t count, room;
};

static int make_room(struct link_list *list, size_t more, struct arena *arena) {
    if (list->count + more <= list->room)
        return 0;
    size_t room = 2 * list->room + more;
    struct html_link *grown = arena_alloc(arena, room, sizeof *grown);
    if (!grown)
        return -1;
    if (list->count > 0)
        memcpy(grown, list->links, list->count * sizeof *grown);
    list->links = grown;
    list->room = room;
    return 0;
}

/* Which word of the translation came from which word of the text: what it is aligned with; without an alignment head, the best
 * source word, after each source word got its share of the attention (server/decode/links.h). */
static int add_links(const struct text *text, const struct rendered *rendered, size_t i, struct arena *arena,
                     struct link_list *list) {
    const struct sentence *sentence = &text->sentences[i];
    bool head = translator_info(sentence->translator).alignment_head;
    struct word_sides sides;
    struct word_matrix words;
    if (links_find(sentence, WORDS_UNICODE, &rendered->sentences[i], arena, &sides, &words, NULL) != 0 ||
        make_room(list, words.target_count, arena) != 0)
        return -1;
    links_prepare(links_kind_find(head ? "best" : "balanced"), &words, true);
    for (size_t word = 0, source; word < words.target_count; word++) {
        if (!links_of(links_kind_find("best"), &words, word, &source))
            continue;
        const struct span *from = &sides.source.words[source], *to = &sides.target.words[word];
        size_t begin = sentence->source.begin, target = rendered->begins[i];
        list->links[list->count++] =
            (struct html_link){{begin + from->begin, begin + from->end}, {target + to->begin, target + to->end}};
    }
    return 0;
}

static int translate_segment(const struct text *text, struct arena *arena, struct html_translation *out) {
    struct rendered rendered;
    struct plan_answer answer;
    if (render_item(text, arena, &rendered, &answer) != 0)
        return -1;
    if (answer.text == text->source)
        return 0; /* as it is, with its tags */
    *out = (struct html_translation){.text = answer.text, .length = answer.length};
    struct link_list list = {0};
    for (size_t i = 0; i < text->count; i++) {
        bool attention = translator_info(text->sentences[i].translator).attention;
        if (attention && add_links(text, &rendered, i, arena, &list) != 0)
            return -1;
    }
    out->links = list.links;
    out->link_count = list.count;
    return 0;
}

static int translate_markup(const struct plan_item *item, struct arena *arena, struct plan_answer *answer) {
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
        *answer = (struct plan_answer){markup, length};
    return 0;
}

static int translate_item(const struct plan *plan, const struct plan_item *item, struct arena *arena, struct plan_answer *answer) {
    struct rendered rendered;
    *answer = (struct plan_answer){item->source, item->length};
    if (plan->same)
        return 0;
    return plan->markup ? translate_markup(item, arena, answer) : render_item(&item->texts[0], arena, &rendered, answer);
}

/* The text of the sentences' hypotheses of this rank; of one that has fewer, its last. */
static int render_rank(const struct text *text, size_t rank, struct arena *arena, struct plan_answer *answer) {
    struct text ranked = *text;
    struct rendered rendered;
    ranked.sentences = arena_alloc(arena, text->count, sizeof *ranked.sentences);
    if (!ranked.sentences)
        return -1;
    for (size_t i = 0; i < text->count; i++) {
        ranked.sentences[i] = text->sentences[i]; /* to be read only */
        ranked.sentences[i].hypotheses += rank < text->sentences[i].count ? rank : text->sentences[i].count - 1;
    }
    return render_item(&ranked, arena, &rendered, answer);
}

static void answers_add(struct plan_answers *answers, const struct plan_answer *answer) {
    for (size_t i = 0; i < answers->count; i++) {
        if (answers->all[i].length == answer->length && memcmp(answers->all[i].text, answer->text, answer->length) == 0)
            return;
    }
    answers->all[answers->count++] = *answer;
}

static int find_answers(const struct plan *plan, const struct plan_item *item, struct arena *arena, struct plan_answers *answers) {
    size_t others = plan->markup || plan->same ? 0 : plan->alternatives;
    struct plan_answer answer;
    *answers = (struct plan_answers){.all = arena_alloc(arena, 1 + others, sizeof *answers->all)};
    if (!answers->all || translate_item(plan, item, arena, &answer) != 0)
        return -1;
    answers_add(answers, &answer);
    for (size_t rank = 1; rank <= others; rank++) {
        if (render_rank(&item->texts[0], rank, arena, &answer) != 0)
            return -1;
        answers_add(answers, &answer);
    }
    return 0;
}

const struct plan_answers *plan_answers(const struct plan *plan, struct arena *arena) {
    struct plan_answers *answers = arena_alloc(arena, plan->count, sizeof *answers);
    for (size_t i = 0; answers && i < plan->count; i++) {
        if (find_answers(plan, &plan->items[i], arena, &answers[i]) != 0)
            return NULL;
    }
    return answers;
}
