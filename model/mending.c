/* This file plans how signs are put into a translation and taken out of it. The words stay as the
 * model wrote them. */
#include "model/mending.h"
#include "model/base/utf8.h"
#include "model/glossary.h"
#include "model/model.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_MENDED = 16, MOST_ORDERED = 64 /* signs */ };
#define ENDING_MARKS L".,;:!?\u2026"
#define ENDING_BYTES ".,;:!?"

/* Returns whether a letter or digit stands here, or a hyphen or apostrophe between two. */
static bool is_word_at(const char *text, size_t at) {
    size_t next = at, before = at, length = strlen(text);
    if (at >= length)
        return false;
    int32_t c = character_next(text, length, &next);
    if (!character_is_among(c, L"'\u2019-"))
        return character_is_letter(c) || character_is_spaced(c);
    return before > 0 && next < length && character_is_letter(character_previous(text, &before)) &&
           character_is_letter(character_next(text, length, &next));
}

/* Moves the span to whole words. */
static struct span whole_words(const char *text, struct span span) {
    while (!character_space_before(text, span.begin)) {
        size_t before = span.begin;
        character_previous(text, &before);
        if (!is_word_at(text, before))
            break;
        span.begin = before;
    }
    for (size_t length = strlen(text); is_word_at(text, span.end);)
        character_next(text, length, &span.end);
    return span;
}

/* Returns the part of a token that is a word's, or a run that stands for one; empty if it has none.
 */
static struct span word_of(const struct sentence *sentence, const struct rendering *rendering,
                           size_t i) {
    const struct opaque_run *run = glossary_run(sentence, sentence->hypotheses[0].tokens[i]);
    size_t begin = rendering->tokens[i].begin, end = rendering->tokens[i].end;
    while (begin < end && character_space_after(rendering->text, begin))
        character_next(rendering->text, end, &begin);
    bool word =
        (run && !glossary_run_is_signs(sentence, run)) || is_word_at(rendering->text, begin);
    return (struct span){begin, word ? end : begin};
}

static bool is_aligned(const struct sentence *sentence, const struct hypothesis *h, size_t i,
                       struct span source) {
    const float *row = (h->alignment ? h->alignment : h->attention)[i];
    struct span own = sentence_own(sentence);
    size_t best = own.begin;
    for (size_t j = own.begin; j < own.end; j++)
        best = row[j] > row[best] ? j : best;
    return sentence->tokens[best].begin < source.end && source.begin < sentence->tokens[best].end;
}

/* Finds the words of the translation that are aligned with the source's bytes. Returns false if
 * there are none, or half of the words among them belong to other parts of the source. */
static bool find_aligned(const struct sentence *sentence, const struct rendering *rendering,
                         struct span source, struct span *out) {
    const struct hypothesis *h = &sentence->hypotheses[0];
    struct span found = {SIZE_MAX, 0};
    size_t inside = 0, among = 0;
    for (size_t i = 0; i < h->length; i++) {
        struct span word = word_of(sentence, rendering, i);
        if (word.begin < word.end && is_aligned(sentence, h, i, source)) {
            found.begin = word.begin < found.begin ? word.begin : found.begin;
            found.end = word.end > found.end ? word.end : found.end;
        }
    }
    for (size_t i = 0; i < h->length; i++) {
        struct span word = word_of(sentence, rendering, i);
        if (word.begin < word.end && word.begin >= found.begin && word.end <= found.end) {
            inside += is_aligned(sentence, h, i, source);
            among++;
        }
    }
    if (3 * inside < among || inside == 0)
        return false;
    *out = whole_words(rendering->text, found);
    return true;
}

/* Finds the word of the translation that stands where the source has this byte, if the order of
 * words were the same. */
static struct span find_beside(const struct sentence *sentence, const struct rendering *rendering,
                               size_t byte) {
    size_t length = strlen(rendering->text), own = sentence->source.end - sentence->source.begin,
           at = own > 0 ? length * byte / own : 0;
    struct span found = {0, 0};
    for (size_t i = 0; i < sentence->hypotheses[0].length; i++) {
        struct span word = word_of(sentence, rendering, i);
        if (word.begin < word.end && (found.end == 0 || word.begin <= at))
            found = word;
    }
    return whole_words(rendering->text, found);
}

/* Returns the word before a byte of the source, or the one after it; an empty one at the end of the
 * text there if there is none. */
static struct span word_beside(const char *text, size_t byte, bool after) {
    for (size_t length = strlen(text), at = byte; after ? at < length : at > 0;) {
        size_t begin = at;
        if (after)
            character_next(text, length, &at);
        else
            character_previous(text, &at);
        if (is_word_at(text, after ? begin : at))
            return whole_words(text, (struct span){after ? begin : at, after ? at : begin});
    }
    return after ? (struct span){strlen(text), strlen(text)} : (struct span){0, 0};
}

/* True if words stand before and after the bytes. */
static bool joins_words(const char *text, struct span span) {
    return word_beside(text, span.begin, false).end > 0 &&
           word_beside(text, span.end, true).begin < strlen(text);
}

/* Returns where a sign goes after which the source has no word: to the end, but before the marks
 * that end the translation if marks also follow it in the source. */
static size_t end_of_words(const char *text, size_t after, const char *translation) {
    size_t end = strlen(translation), at = after;
    bool marks = false;
    for (size_t length = strlen(text); at < length;)
        marks |= character_is_among(character_next(text, length, &at), ENDING_MARKS);
    for (size_t before = end; marks && before > 0;) {
        int32_t c = character_previous(translation, &before);
        if (!character_is_among(c, ENDING_MARKS) && !character_is_space(c))
            break;
        end = before;
    }
    return end;
}

/* Returns the words of the translation beside which a sign goes. */
static struct span place_of(const struct sentence *sentence, const char *text,
                            const struct signs *signs, size_t i, bool opens,
                            const struct rendering *rendering) {
    size_t partner = signs->all[i].partner;
    struct span sign = signs->all[i].span, other = signs->all[partner].span, place, whole;
    struct span beside = word_beside(text, opens ? sign.end : sign.begin, opens),
                after = word_beside(text, sign.end, true),
                before = word_beside(text, other.begin, false);
    struct span content = partner > i   ? (struct span){sign.end, other.begin}
                          : partner < i ? (struct span){other.end, sign.begin}
                                        : beside;
    whole = (struct span){0, end_of_words(text, sign.end, rendering->text)};
    if (!opens && beside.begin == beside.end) /* no word stands before it */
        return (struct span){0, 0};
    if (!opens && after.begin == after.end && (partner == i || before.begin == before.end))
        return whole;
    if (!find_aligned(sentence, rendering, content, &place) &&
        (partner != i || !find_aligned(sentence, rendering, beside, &place)))
        place = find_beside(sentence, rendering, sign.begin);
    return place;
}

/* Moves the ends of a place past the signs that stand between the sign and its word in the source,
 * if they are there, too; marks that end a clause are equal. */
static void skip_attached(const char *text, struct span sign, bool opens, const char *translation,
                          struct span *place) {
    struct span word = word_beside(text, opens ? sign.end : sign.begin, opens);
    const char *between = text + (opens ? sign.end : word.end);
    size_t length = opens ? word.begin - sign.end : sign.begin - word.end;
    if (opens ? word.begin < sign.end : word.end > sign.begin)
        return;
    if (opens && length <= place->begin &&
        memcmp(translation + place->begin - length, between, length) == 0)
        place->begin -= length;
    size_t same = 0;
    for (const char *there = translation + place->end;
         !opens && place->end > 0 && same < length && there[same]; same++)
        if (there[same] != between[same] &&
            !(strchr(ENDING_BYTES, there[same]) && strchr(ENDING_BYTES, between[same])))
            break;
    if (!opens && same == length)
        place->end += length;
}

/* Marks in a row replace those of their kind that the translation has there, so that !!! does not
 * follow !. */
static void replace_marks(const char *translation, struct edit *edit) {
    size_t begin = edit->at, end = edit->at;
    char mark = edit->put[0];
    if (!mark || !strchr(ENDING_BYTES, mark))
        return;
    while (translation[end] == ' ')
        end++;
    if (translation[end] == mark)
        end += strspn(translation + end, (char[]){mark, '\0'});
    else
        end = edit->at;
    while (begin > 0 && translation[begin - 1] == mark)
        begin--;
    edit->at = begin;
    edit->removed = end - begin;
}

/* Plans where a sign of the source goes. text: the sentence, NUL-terminated. Returns false if the
 * sign is part of a word, or joins two words and would join none in the translation. */
static bool place_sign(const struct sentence *sentence, const char *text, const struct signs *signs,
                       size_t i, const struct rendering *rendering, struct edit *out) {
    size_t partner = signs->all[i].partner, before = signs->all[i].span.begin;
    struct span sign = signs->all[i].span, inner;
    const char *form =
        signs_write(&sentence->translator->sign_rules, text, strlen(text), &signs->all[i], &inner);
    bool space_before = character_space_before(text, sign.begin),
         space_after = character_space_after(text, sign.end);
    bool opens = partner > i || (partner == i && space_before && !space_after),
         apart = space_before && space_after && partner == i;
    if (before > 0)
        character_previous(text, &before);
    if ((form ? strlen(form) : sign.end - sign.begin) + 3 > sizeof out->put ||
        (is_word_at(text, before) && before < sign.begin && is_word_at(text, sign.end)))
        return false;
    struct span place = place_of(sentence, text, signs, i, opens, rendering);
    skip_attached(text, sign, opens, rendering->text, &place);
    bool first = !opens && place.end == 0;
    if (apart && joins_words(text, sign) &&
        (first || !joins_words(rendering->text, (struct span){place.end, place.end})))
        return false;
    char *put =
        form ? stpcpy(out->put, form) : mempcpy(out->put, text + sign.begin, sign.end - sign.begin);
    out->apart = apart || (first && space_after);
    out->order = i;
    out->at = first ? 0 : opens ? place.begin : place.end;
    out->length = (size_t)(put - out->put);
    replace_marks(rendering->text, out);
    return true;
}

/* Plans that a sign goes, with one of the spaces around it; words that it joined are parted. */
static struct edit take_out(const char *text, struct span span) {
    bool before = character_space_before(text, span.begin),
         after = character_space_after(text, span.end);
    struct edit edit = {.at = span.begin};
    size_t previous = span.begin;
    if (before && after && text[span.end])
        character_next(text, strlen(text), &span.end);
    else if (before && after && span.begin > 0)
        character_previous(text, &edit.at);
    else if (span.begin > 0 && (character_previous(text, &previous), is_word_at(text, previous)) &&
             is_word_at(text, span.end))
        edit.put[edit.length++] = ' ';
    edit.removed = span.end - edit.at;
    return edit;
}

bool mending_beside(const struct mending *mending, struct arena *arena, struct edit **edits,
                    size_t *count) {
    const struct sign_difference *difference = &mending->signs.difference;
    const struct signs *signs = &mending->signs.source;
    struct edit *all =
        arena_zalloc(arena, difference->source.count + difference->target.count, sizeof *all);
    size_t used = 0;
    if (!all || difference->source.count + difference->target.count > MOST_MENDED)
        return false;
    for (size_t k = 0; k < difference->target.count; k++)
        all[used++] = take_out(mending->translation->text, difference->target.all[k]);
    for (size_t i = 0; i < signs->count;
         i++) /* a name has words of its own in the translation, so it is not put beside them */
        for (size_t k = 0; !signs_is_name(&signs->all[i]) && k < difference->source.count; k++)
            if (difference->source.all[k].begin == signs->all[i].span.begin &&
                !place_sign(mending->sentence, mending->source, signs, i, mending->translation,
                            &all[used++]))
                used--;
    *edits = all;
    *count = used;
    return true;
}

/* ---- all signs in the order of the source ---- */

/* Gives the words of a text and the runs that stand for some. */
static bool list_words(const char *text, const struct spans *skipping, struct arena *arena,
                       struct spans *out) {
    const struct span *skip = skipping->all;
    size_t length = strlen(text), next = 0, skips = skipping->count;
    *out = (struct spans){arena_alloc(arena, length + 1, sizeof *out->all), 0};
    for (size_t at = 0; out->all && at < length;) {
        size_t begin = at;
        while (next < skips && skip[next].end <= at)
            next++;
        bool run = next < skips && skip[next].begin <= at;
        size_t limit = run ? skip[next].end : next < skips ? skip[next].begin : length;
        while (at < limit && (run || is_word_at(text, at)))
            character_next(text, limit, &at);
        while (run && begin < at && character_space_after(text, begin))
            character_next(text, at, &begin);
        if (begin < at)
            out->all[out->count++] = (struct span){begin, at};
        else if (!run)
            character_next(text, length, &at);
    }
    return out->all != NULL;
}

/* Signs of the source that touch. */
struct cluster {
    struct span span;
    char put[EDIT_BYTES]; /* as the target language writes them */
    size_t length;
    size_t words; /* that precede it */
};

/* Returns whether words stand for a sign on the other side, or it needs no equal there, so that it
 * stays where it is. */
static bool stays(const struct sign *sign, const struct span *differing, size_t count,
                  const struct signs *others) {
    for (size_t i = 0; i < count; i++)
        if (differing[i].begin == sign->span.begin)
            return signs_is_name(sign);
    for (size_t i = 0; i < others->count; i++)
        if (others->all[i].key == sign->key)
            return sign->weak || signs_is_name(sign);
    return true;
}

/* Lists the clusters of the source. forms: quotation marks get those of the target language.
 * Returns false if one is too long. */
static bool list_clusters(const struct mending *mending, bool forms, const struct spans *words,
                          struct cluster *clusters, size_t *count) {
    const struct sign_rules *rules = &mending->sentence->translator->sign_rules;
    const struct sign_difference *difference = &mending->signs.difference;
    const char *text = mending->source;
    size_t used = 0, before = 0;
    for (size_t i = 0; i < mending->signs.source.count; i++) {
        const struct sign *sign = &mending->signs.source.all[i];
        struct span span;
        if (stays(sign, difference->source.all, difference->source.count, &mending->signs.target))
            continue;
        const char *form = forms ? signs_write(rules, text, strlen(text), sign, &span) : NULL;
        span = form ? span : sign->span;
        const char *put = form ? form : text + span.begin;
        size_t length = form ? strlen(form) : span.end - span.begin;
        while (before < words->count && words->all[before].end <= span.begin)
            before++;
        if (used == 0 || clusters[used - 1].span.end < span.begin)
            clusters[used++] = (struct cluster){.span = span, .words = before};
        struct cluster *cluster = &clusters[used - 1];
        if (cluster->length + length + 3 > sizeof cluster->put)
            return false;
        memcpy(cluster->put + cluster->length, put, length);
        cluster->length += length;
        cluster->span.end = span.end;
    }
    *count = used;
    return true;
}

/* How a cluster stands: with spaces around it, or at the word after it, or else at the word before
 * it. */
enum side { APART, RIGHT, LEFT };

static enum side side_of(const char *text, const struct cluster *cluster,
                         const struct spans *words) {
    struct span span = cluster->span;
    bool before = character_space_before(text, span.begin),
         after = character_space_after(text, span.end);
    size_t w = cluster->words;
    bool left = w > 0 && words->all[w - 1].end == span.begin,
         right = w < words->count && words->all[w].begin == span.end;
    if (before && (after || (text[span.end] && strchr(ENDING_BYTES, text[span.end]))))
        return APART;
    return !left && (right || before) ? RIGHT : LEFT;
}

/* Returns how many words of the translation precede a cluster if it goes beside the word that is
 * aligned with its own. */
static size_t wanted_place(const struct mending *mending, const struct cluster *cluster,
                           enum side side, const struct spans *source, const struct spans *target) {
    size_t w = cluster->words, t = 0;
    struct span place;
    if (w == 0 || w == source->count)
        return w == 0 ? 0 : target->count;
    if (!find_aligned(mending->sentence, mending->translation,
                      source->all[side == RIGHT ? w : w - 1], &place))
        return (w * target->count + source->count / 2) / source->count;
    while (t < target->count &&
           (side == RIGHT ? target->all[t].end <= place.begin : target->all[t].begin < place.end))
        t++;
    return t;
}

/* Returns the byte before which a cluster goes that `words` of the translation precede. */
static size_t byte_of(const struct mending *mending, const struct cluster *cluster, enum side side,
                      size_t words, const struct spans *source, const struct spans *target) {
    const char *text = mending->translation->text;
    if (side == RIGHT)
        return words < target->count ? target->all[words].begin : strlen(text);
    if (words == 0)
        return 0;
    size_t end = target->all[words - 1].end, past = end;
    size_t own = cluster->words > 0 ? source->all[cluster->words - 1].end : cluster->span.begin;
    bool marks = false;
    while (own < cluster->span.begin)
        marks |= character_is_among(character_next(mending->source, cluster->span.begin, &own),
                                    ENDING_MARKS);
    for (size_t limit = words < target->count ? target->all[words].begin : strlen(text), at = past;
         marks && at < limit;)
        if (character_is_among(character_next(text, limit, &at), ENDING_MARKS))
            past = at;
    return past;
}

static bool put_in_order(const struct mending *mending, bool forms, struct arena *arena,
                         struct edit **edits, size_t *count) {
    const struct signs *signs = &mending->signs.target;
    const struct sign_difference *difference = &mending->signs.difference;
    const char *text = mending->translation->text;
    size_t most = mending->signs.source.count + signs->count, clusters = 0, used = 0, changes = 0,
           before = 0, place = 0;
    struct edit *all = most <= MOST_ORDERED ? arena_zalloc(arena, most, sizeof *all) : NULL;
    struct cluster *list = all ? arena_zalloc(arena, most, sizeof *list) : NULL;
    struct spans source, target;
    if (!list || !list_words(mending->source, &mending->skip_source, arena, &source) ||
        !list_words(text, &mending->skip_target, arena, &target) ||
        !list_clusters(mending, forms, &source, list, &clusters))
        return false;

    struct span gone = {SIZE_MAX, 0}; /* signs that touch */
    for (size_t i = 0; i <= signs->count; i++) {
        if (i < signs->count && stays(&signs->all[i], difference->target.all,
                                      difference->target.count, &mending->signs.source))
            continue;
        if (gone.begin < gone.end && (i == signs->count || signs->all[i].span.begin > gone.end)) {
            all[used++] = take_out(text, gone);
            gone = (struct span){SIZE_MAX, 0};
        }
        if (i < signs->count)
            gone = (struct span){gone.begin < gone.end ? gone.begin : signs->all[i].span.begin,
                                 signs->all[i].span.end};
    }

    /* changes: how often words still stand between a cluster and the next, or the end */
    for (size_t c = 0; c < clusters; c++)
        changes += (c + 1 < clusters ? list[c + 1].words : source.count) > list[c].words;
    for (size_t c = 0; c < clusters; c++) {
        enum side side = side_of(mending->source, &list[c], &source);
        size_t wanted = wanted_place(mending, &list[c], side, &source, &target);
        size_t least = place + (list[c].words > before),
               last = target.count > changes ? target.count - changes : 0;
        changes -= (c + 1 < clusters ? list[c + 1].words : source.count) > list[c].words;
        place = wanted > last ? last : wanted;
        place = place < least ? least : place;
        place = place > target.count ? target.count : place;
        before = list[c].words;
        struct edit *edit = &all[used++];
        *edit = (struct edit){.at = byte_of(mending, &list[c], side, place, &source, &target),
                              .length = list[c].length,
                              .order = c,
                              .apart = side == APART || (side == RIGHT && place == target.count)};
        memcpy(edit->put, list[c].put, list[c].length);
    }
    *edits = all;
    *count = used;
    return true;
}

bool mending_in_order(const struct mending *mending, struct arena *arena, struct edit **edits,
                      size_t *count) {
    return put_in_order(mending, true, arena, edits, count);
}

bool mending_as_written(const struct mending *mending, struct arena *arena, struct edit **edits,
                        size_t *count) {
    return put_in_order(mending, false, arena, edits, count);
}

/* ---- signs that join words ---- */

/* True if the sign stands between two letters. */
static bool joins_letters(const char *text, struct span sign) {
    size_t before = sign.begin, after = sign.end;
    return before > 0 && text[after] && character_is_letter(character_previous(text, &before)) &&
           character_is_letter(character_next(text, strlen(text), &after)) &&
           !ascii_digit(text[before]) && !ascii_digit(text[sign.end]);
}

/* Returns the bytes around the sign up to white space. */
static struct span chunk_around(const char *text, struct span sign) {
    while (!character_space_before(text, sign.begin))
        character_previous(text, &sign.begin);
    for (size_t length = strlen(text); !character_space_after(text, sign.end);)
        character_next(text, length, &sign.end);
    return sign;
}

/* Returns whether a token of this word of the translation is aligned with the source's bytes. */
static bool belongs(const struct mending *mending, struct span word, struct span source) {
    const struct sentence *sentence = mending->sentence;
    const struct hypothesis *h = &sentence->hypotheses[0];
    for (size_t i = 0; i < h->length; i++) {
        struct span token = word_of(sentence, mending->translation, i);
        if (token.begin < word.end && word.begin < token.end && token.begin < token.end &&
            is_aligned(sentence, h, i, source))
            return true;
    }
    return false;
}

/* Finds the n-th sign of this key. Returns NULL if there are less; *count: how many there are. */
static const struct sign *find_sign(const struct signs *signs, uint32_t key, size_t n,
                                    size_t *count) {
    const struct sign *found = NULL;
    *count = 0;
    for (size_t i = 0; i < signs->count; i++)
        if (signs->all[i].key == key && (*count)++ == n)
            found = &signs->all[i];
    return found;
}

static bool add_span(struct spans *spans, struct span span, struct arena *arena) {
    struct span *all = arena_alloc(arena, spans->count + 1, sizeof *all);
    if (!all)
        return false;
    if (spans->count > 0)
        memcpy(all, spans->all, spans->count * sizeof *all);
    all[spans->count] = span;
    *spans = (struct spans){all, spans->count + 1};
    return true;
}

bool mending_find_strangers(const struct mending *mending, struct arena *arena,
                            struct sign_difference *difference) {
    const struct hypothesis *h = &mending->sentence->hypotheses[0];
    const struct signs *source = &mending->signs.source, *target = &mending->signs.target;
    const char *text = mending->translation->text;
    size_t most = source->count < MOST_ORDERED ? source->count : MOST_ORDERED;
    for (size_t i = 0; i < most && (h->alignment || h->attention); i++) {
        const struct sign *sign = &source->all[i], *there;
        size_t same = 0, here, others;
        if (sign->weak || signs_is_name(sign) || !joins_letters(mending->source, sign->span))
            continue;
        for (size_t k = 0; k < i; k++)
            same += source->all[k].key == sign->key;
        there = find_sign(target, sign->key, same, &others);
        find_sign(source, sign->key, same, &here);
        if (!there || here != others)
            continue;
        struct span chunk = chunk_around(mending->source, sign->span),
                    left = word_beside(text, there->span.begin, false),
                    right = word_beside(text, there->span.end, true);
        bool joins = left.end == there->span.begin && right.begin == there->span.end &&
                     left.begin < left.end && right.begin < right.end;
        if ((!joins || !belongs(mending, left, chunk) || !belongs(mending, right, chunk)) &&
            (!add_span(&difference->source, sign->span, arena) ||
             !add_span(&difference->target, there->span, arena)))
            return false;
    }
    return true;
}
