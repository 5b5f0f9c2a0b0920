/* What has been decoded, as html_write takes it: the translation of a text, its words, and the words that these came from. */
#include "server/decode/links.h"
#include "server/decode/render.h"
#include "server/documents/document.h"

enum { SCRATCH_BLOCK_BYTES = 32 * 1024 };

/* The words of a translation and their links, as they are found. */
struct word_list {
    struct span *words;      /* [count], room for more */
    struct html_link *links; /* [linked], room for more: a word has one at most */
    size_t count, linked, room, link_room;
};

static int make_room(struct word_list *list, size_t more, struct arena *arena) {
    struct span *words = arena_grow(arena, list->words, list->count, &list->room, more, sizeof *words);
    struct html_link *links = arena_grow(arena, list->links, list->linked, &list->link_room, more, sizeof *links);
    if (!words || !links)
        return -1;
    list->words = words;
    list->links = links;
    return 0;
}

static struct span shifted(struct span span, size_t by) {
    return (struct span){by + span.begin, by + span.end};
}

/* What each word is aligned with; without an alignment head, the best source word, after each source word got its share of the
 * attention (server/decode/links.h). sides: of the sentence; first: its first word in the list. */
static int add_links(const struct sentence *sentence, const struct word_sides *sides, size_t first, struct arena *scratch,
                     struct word_list *list) {
    bool head = translator_info(sentence->translator).alignment_head;
    struct word_matrix words;
    if (links_find(sentence, sides, scratch, &words, NULL) != 0)
        return -1;
    links_prepare(links_kind_find(head ? "best" : "balanced"), &words, true);
    for (size_t word = 0, source; word < words.target_count; word++)
        if (links_of(links_kind_find("best"), &words, word, &source))
            list->links[list->linked++] =
                (struct html_link){shifted(sides->source.words[source], sentence->source.begin), list->words[first + word]};
    return 0;
}

static int add_words(const struct text *text, const struct rendered *rendered, size_t i, struct arena *scratch, struct arena *arena,
                     struct word_list *list) {
    const struct sentence *sentence = &text->sentences[i];
    struct word_sides sides;
    size_t first = list->count;
    if (render_words(sentence, WORDS_UNICODE, &sentence->hypotheses[0], &rendered->sentences[i], scratch, &sides, NULL) != 0 ||
        make_room(list, sides.target.count, arena) != 0)
        return -1;
    for (size_t word = 0; word < sides.target.count; word++)
        list->words[list->count++] = shifted(sides.target.words[word], rendered->begins[i]);
    bool attention = translator_info(sentence->translator).attention;
    return attention ? add_links(sentence, &sides, first, scratch, list) : 0;
}

static bool is_blank(const char *text, size_t length) {
    return segmenter_trim(text, length).begin == length;
}

int document_translate(const struct text *text, struct arena *arena, struct html_translation *out) {
    struct rendered rendered;
    *out = (struct html_translation){0};
    if (render_text(text, arena, &rendered, NULL) != 0)
        return -1;
    if (is_blank(rendered.text, rendered.length))
        return 0;
    struct word_list list = {0};
    struct arena scratch; /* weights between the words of one sentence */
    int result = 0;
    arena_init(&scratch, SCRATCH_BLOCK_BYTES);
    arena_limit(&scratch, arena->budget);
    for (size_t i = 0; i < text->count && result == 0; i++) {
        result = add_words(text, &rendered, i, &scratch, arena, &list);
        arena_reset(&scratch);
    }
    arena_done(&scratch);
    if (result != 0)
        return -1;
    *out = (struct html_translation){rendered.text, rendered.length, list.words, list.count, list.links, list.linked};
    return 0;
}
