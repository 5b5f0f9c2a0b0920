/* The answers of a plan: translations, markup with its tags, alternatives. */
#include "server/api/api_plan.h"
#include "server/documents/document.h"
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

static char *write_markup(const struct plan *plan, const struct plan_item *item, const struct html_translation *translations,
                          struct arena *arena, size_t *length) {
    struct html html = item->html;
    html.language = item->target_language;
    html.from = item->source_language;
    if (!plan->markup)
        return document_write_text(item->source, item->length, &html, translations, arena, length, NULL);
    if (!plan->document)
        return html_write(&html, translations, arena, length, NULL);
    struct document document = plan_document(plan, item);
    return document_write(&document, &html, translations, arena, length, NULL);
}

int plan_write(const struct plan *plan, const struct plan_item *item, struct arena *arena, struct plan_answer *answer) {
    *answer = (struct plan_answer){item->source, item->length};
    struct html_translation *translations = arena_zalloc(arena, item->count, sizeof *translations);
    if (!translations)
        return -1;
    for (size_t i = 0; i < item->count; i++) {
        if (document_translate(&item->texts[i], arena, &translations[i]) != 0)
            return -1;
    }
    size_t length;
    const char *markup = write_markup(plan, item, translations, arena, &length);
    if (!markup)
        return -1;
    if (length > 0) /* markup that says nothing ("</b>") is its own translation, as texts are */
        *answer = (struct plan_answer){markup, length};
    return 0;
}

static int translate_item(const struct plan *plan, const struct plan_item *item, struct arena *arena, struct plan_answer *answer) {
    struct rendered rendered;
    *answer = (struct plan_answer){item->source, item->length};
    if (!item->model)
        return 0;
    return plan->markup || item->marked ? plan_write(plan, item, arena, answer)
                                        : render_item(&item->texts[0], arena, &rendered, answer);
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
    size_t others = plan->markup || item->marked || !item->model ? 0 : plan->alternatives;
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

/* ---- what became of what ---- */

static struct span shifted(struct span span, size_t by) {
    return (struct span){by + span.begin, by + span.end};
}

static int align_sentence(const struct text *text, const struct rendered *rendered, size_t i, struct arena *arena,
                          struct plan_alignment *out, size_t *room) {
    const struct sentence *sentence = &text->sentences[i];
    const struct hypothesis *hypothesis = &sentence->hypotheses[0];
    struct word_sides sides;
    struct word_matrix matrix;
    if (!translator_info(sentence->translator).attention)
        return 0;
    if (render_words(sentence, WORDS_UNICODE, hypothesis, &rendered->sentences[i], arena, &sides, NULL) != 0 ||
        render_merge(&sides, hypothesis->alignment, arena, &matrix, NULL) != 0)
        return -1;
    struct plan_pair *words = arena_grow(arena, out->words, out->word_count, room, matrix.target_count, sizeof *words);
    if (!words)
        return -1;
    out->words = words;
    for (size_t word = 0, source; word < matrix.target_count; word++)
        if (render_aligned(matrix.weights + word * matrix.source_count, matrix.source_count, matrix.ends[word], &source))
            out->words[out->word_count++] = (struct plan_pair){shifted(sides.source.words[source], sentence->source.begin),
                                                               shifted(sides.target.words[word], rendered->begins[i])};
    return 0;
}

/* Each sentence reaches to the next. */
static int cut_sentences(const struct text *text, const struct rendered *rendered, struct arena *arena,
                         struct plan_alignment *out) {
    size_t count = text->count > 0 ? text->count : 1;
    struct plan_pair *sentences = out->sentences = arena_zalloc(arena, count, sizeof *sentences);
    if (!sentences)
        return -1;
    for (size_t i = 1; i < count; i++) {
        sentences[i - 1].source.end = sentences[i].source.begin = text->sentences[i].source.begin;
        sentences[i - 1].target.end = sentences[i].target.begin = rendered->begins[i];
    }
    sentences[count - 1].source.end = text->source_length;
    sentences[count - 1].target.end = rendered->length;
    out->sentence_count = count;
    return 0;
}

int plan_align(const struct plan_item *item, struct arena *arena, struct plan_alignment *out) {
    const struct text itself = {.source = item->source, .source_length = item->length};
    const struct text *text = item->count > 0 ? &item->texts[0] : &itself; /* nothing is translated */
    struct rendered rendered = {.length = item->length};
    struct plan_answer answer = {.length = item->length};
    size_t room = 0;
    *out = (struct plan_alignment){0};
    if (item->count > 0 && render_item(text, arena, &rendered, &answer) != 0)
        return -1;
    if (answer.text == text->source) /* it is its own translation */
        return cut_sentences(&itself, &(struct rendered){.length = answer.length}, arena, out);
    for (size_t i = 0; i < text->count; i++)
        if (align_sentence(text, &rendered, i, arena, out, &room) != 0)
            return -1;
    return cut_sentences(text, &rendered, arena, out);
}
