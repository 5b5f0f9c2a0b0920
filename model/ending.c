/* This file replaces the marks at the end of a hypothesis with tokens of the target language, which
 * take over the rows of the replaced tokens. */
#include "model/base/utf8.h"
#include "model/model.h"
#include "model/rendering.h"
#include <string.h>

enum { SCRATCH_BYTES = 16 * 1024 };

static const char *own_text(const struct sentence *sentence) {
    return sentence->text + sentence->source.begin;
}

static size_t own_length(const struct sentence *sentence) {
    return sentence->source.end - sentence->source.begin;
}

enum {
    ASKS = 1,
    EXCLAIMS = 2,
    MOST_MARKS = 8,  /* marks that are written */
    MOST_BYTES = 32, /* bytes of these marks */
    MOST_TOKENS = 16 /* tokens of these marks */
};

/* The end of a text: its marks [begin,end), with the white space before them, and whether they ask
 * or exclaim. Quotation marks and brackets may follow. */
struct tail {
    size_t begin, end;
    unsigned says;
    size_t first; /* byte of the first mark; end if there is none */
    bool trails;  /* an ellipsis is among the marks */
    bool closed;  /* quotation marks or brackets follow */
    size_t count; /* number of asking and exclaiming marks, which follow in their order: */
    unsigned marks[MOST_MARKS];
};

static unsigned says(int32_t c) {
    return character_is_among(c, L"?\u037e\u061f\uff1f")  ? ASKS
           : character_is_among(c, L"!\uff01")            ? EXCLAIMS
           : character_is_among(c, L"\u203d\u2048\u2049") ? ASKS | EXCLAIMS
                                                          : 0;
}

/* Returns whether the character is another mark at the end of a sentence. */
static bool ends(int32_t c) {
    return character_is_among(c,
                              L".,;:\u2026\u3002\uff0e\uff0c\u3001\u061b\u060c\u06d4\u0964\u1362");
}

static bool closes(int32_t c) {
    return character_is_among(c,
                              L"\"')]\u00bb\u00ab\u201c\u201d\u2018\u2019\u203a\u300d\u300f\uff09");
}

static struct tail read_tail(const char *text, size_t length) {
    struct tail tail = {.end = length};
    unsigned backwards[MOST_MARKS];
    size_t dots = 0;
    for (size_t at = tail.end; at > 0;) {
        int32_t c = character_previous(text, &at);
        if (!closes(c) && !character_is_space(c))
            break;
        tail.closed |= closes(c);
        tail.end = at;
    }
    tail.begin = tail.first = tail.end;
    for (size_t at = tail.end; at > 0;) {
        int32_t c = character_previous(text, &at);
        if (character_is_space(c))
            continue;
        if (!says(c) && !ends(c))
            break;
        dots += c == '.';
        tail.trails |= c == 0x2026 || dots > 1;
        if (says(c) && tail.count < MOST_MARKS)
            backwards[tail.count++] = says(c);
        tail.says |= says(c);
        tail.begin = tail.first = at;
    }
    for (size_t i = 0; i < tail.count; i++)
        tail.marks[i] = backwards[tail.count - 1 - i];
    for (size_t at = tail.begin;
         at > 0 && tail.first < tail.end && character_is_space(character_previous(text, &at));)
        tail.begin = at;
    return tail;
}

/* Counts the marks that say one of these. */
static size_t count_marks(const char *text, size_t length, unsigned what) {
    size_t count = 0;
    for (size_t at = 0; at < length;)
        count += (says(character_next(text, length, &at)) & what) != 0;
    return count;
}

static struct tail source_tail(const struct sentence *sentence) {
    return read_tail(own_text(sentence), own_length(sentence));
}

bool ending_is_asked(const struct sentence *sentence) {
    const struct translator *t = sentence->translator;
    if (sentence->reading.verbatim || sentence->untranslated || sentence->caller.wants_looks ||
        sentence->options.report.tree || sentence->options.strategy == &search_forced ||
        strcmp(t->config.task, "translation") != 0 || !t->output.writes)
        return false;
    struct tail tail = source_tail(sentence);
    const struct opaque_run *last =
        sentence->held.count > 0 ? &sentence->held.all[sentence->held.count - 1] : NULL;
    return tail.says && tail.begin > 0 && !(last && last->end > tail.first);
}

bool ending_may_replace(const struct sentence *sentence, int token) {
    if (token < 0 || (size_t)token >= tokenizer_size(sentence->translator->target))
        return false;
    const char *piece = tokenizer_piece(sentence->translator->target, token);
    size_t length = strlen(piece), begin = 0;
    const char *mark = tokenizer_mark(sentence->translator->target);
    if (*mark && strncmp(piece, mark, strlen(mark)) == 0)
        begin = strlen(mark);
    while (begin < length) {
        int32_t c = character_next(piece, length, &begin);
        if (!says(c) && !ends(c) && !closes(c))
            return false;
    }
    return true;
}

/* Lists how languages write marks. The first row of a language counts; the last row is for all
 * other languages. */
static const struct habit {
    const char *language, *before, *asks, *exclaims;
} habits[] = {
    {"zh", "", "\uff1f", "\uff01"}, {"ja", "", "\uff1f", "\uff01"}, {"yue", "", "\uff1f", "\uff01"},
    {"ar", "", "\u061f", "!"},      {"fa", "", "\u061f", "!"},      {"ur", "", "\u061f", "!"},
    {"ps", "", "\u061f", "!"},      {"ckb", "", "\u061f", "!"},     {"el", "", ";", "!"},
    {"fr-CA", "", "?", "!"},        {"fr", " ", "?", "!"},          {"", "", "?", "!"},
};

/* Finds the tokens of marks after a word and returns their number; 0 if the vocabulary cannot write
 * them. */
static size_t encode_marks(const struct translator *t, const char *marks, size_t length,
                           struct arena *scratch, int out[MOST_TOKENS]) {
    char text[MOST_BYTES + 1] = "a";
    struct token_list list;
    memcpy(text + 1, marks, length);
    if (tokenizer_encode(t->target, (struct bytes){text, length + 1}, NULL, scratch, &list, NULL) !=
        0)
        return 0;
    const struct token *tokens = list.all;
    size_t count = list.count, first = 0;
    while (first < count && tokens[first].end <= 1 &&
           !(first > 0 && tokens[first].begin == tokens[first].end))
        first++;
    if (first == 0 || first == count || tokens[first - 1].end != 1 || count - first > MOST_TOKENS)
        return 0;
    for (size_t i = first; i < count; i++) {
        if (tokens[i].id == tokenizer_unknown(t->target) ||
            tokenizer_byte(t->target, tokens[i].id) >= 0)
            return 0;
        out[i - first] = tokens[i].id;
    }
    return count - first;
}

/* The tokens that replace tokens [first,end). */
struct splice {
    size_t first, end, count;
    int tokens[MOST_TOKENS];
};

static int apply(struct hypothesis *h, const struct splice *splice, struct arena *arena) {
    size_t length = h->length - (splice->end - splice->first) + splice->count;
    struct retold_token *tokens = arena_alloc(arena, length, sizeof *tokens);
    if (!tokens)
        return -1;
    for (size_t to = 0; to < length; to++) {
        size_t put = to - splice->first, last = splice->end - (splice->end > splice->first);
        if (to < splice->first)
            tokens[to] =
                (struct retold_token){h->tokens[to], to, false, h->pieces ? h->pieces[to] : NULL};
        else if (put < splice->count)
            tokens[to] = (struct retold_token){splice->tokens[put],
                                               put + 1 < splice->count && to < last ? to : last,
                                               splice->end == splice->first, NULL};
        else {
            size_t step = splice->end + put - splice->count;
            tokens[to] = (struct retold_token){h->tokens[step], step, false,
                                               h->pieces ? h->pieces[step] : NULL};
        }
    }
    return retelling_make(h, tokens, length, arena);
}

/* Chooses the tokens to replace and their replacements. Returns false if nothing needs to be
 * corrected or it is impossible. */
static bool plan(const struct sentence *sentence, const struct hypothesis *h,
                 const struct tail *source, struct arena *scratch, struct splice *out) {
    struct rendering rendering;
    char marks[MOST_BYTES];
    if (!h->ended || h->length == 0 || rendering_make(sentence, h, scratch, &rendering, NULL) != 0)
        return false;
    size_t length = strlen(rendering.text);
    struct tail target = read_tail(rendering.text, length);
    unsigned missing = source->says & ~target.says;
    if (missing == 0 || target.begin == 0 || /* signs such as !!! may stand elsewhere */
        count_marks(rendering.text, length, missing) >=
            count_marks(own_text(sentence), own_length(sentence), missing))
        return false;
    bool keeps = target.first == target.end ||
                 (source->trails && !target.says); /* adds the marks after the existing ones */
    size_t begin = keeps ? target.end : target.first, end = target.end;
    if (keeps && target.closed && !source->closed)
        begin = end = length;
    out->first = 0;
    while (out->first < h->length && rendering.tokens[out->first].begin < begin)
        out->first++;
    out->end = out->first;
    while (out->end < h->length && rendering.tokens[out->end].begin < end)
        out->end++;
    while (!keeps && out->first > 0 &&
           rendering.tokens[out->first - 1].begin == rendering.tokens[out->first - 1].end &&
           ending_may_replace(sentence, h->tokens[out->first - 1]))
        out->first--;
    if (out->first <= sentence->options.prefix_length || sentence->given.suffix ||
        rendering.tokens[out->first - 1].end > begin)
        return false;
    for (size_t i = out->first; i < out->end; i++)
        if (!ending_may_replace(sentence, h->tokens[i]))
            return false;

    const char *language = sentence->translator->config.target;
    const struct habit *habit = habits;
    for (size_t n; (n = strlen(habit->language)) > 0; habit++)
        if (strncmp(language, habit->language, n) == 0 &&
            strchr("-_", language[n])) /* strchr also finds the terminating NUL */
            break;
    char *put = stpcpy(marks, habit->before);
    for (size_t i = 0; i < source->count; i++) {
        if (source->marks[i] & ASKS)
            put = stpcpy(put, habit->asks);
        if (source->marks[i] & EXCLAIMS)
            put = stpcpy(put, habit->exclaims);
    }
    size_t bytes = (size_t)(put - marks);
    size_t after = out->end > out->first && rendering.tokens[out->end - 1].end > end
                       ? rendering.tokens[out->end - 1].end - end
                       : 0;
    if (after > sizeof marks - bytes) /* a quotation mark may be in one piece with a full stop */
        return false;
    memcpy(marks + bytes, rendering.text + end, after);
    out->count = encode_marks(sentence->translator, marks, bytes + after, scratch, out->tokens);
    return out->count > 0;
}

void ending_mend(struct sentence *sentence) {
    struct arena scratch;
    if (!sentence->hypotheses || sentence->looks || !ending_is_asked(sentence))
        return;
    struct tail source = source_tail(sentence);
    bool mended = false;
    arena_init(&scratch, SCRATCH_BYTES);
    for (size_t i = 0; i < sentence->count; i++) {
        struct splice splice;
        if (plan(sentence, &sentence->hypotheses[i], &source, &scratch, &splice))
            mended |= apply(&sentence->hypotheses[i], &splice, &sentence->arena) == 0;
    }
    size_t kept = 0;
    for (size_t i = 0; mended && i < sentence->count; i++) {
        const struct hypothesis *h = &sentence->hypotheses[i];
        bool again = false; /* equal to a better one */
        for (size_t k = 0; k < kept; k++)
            again |= sentence->hypotheses[k].length == h->length &&
                     memcmp(sentence->hypotheses[k].tokens, h->tokens,
                            h->length * sizeof *h->tokens) == 0;
        if (!again)
            sentence->hypotheses[kept++] = *h;
    }
    sentence->count = mended ? kept : sentence->count;
    arena_done(&scratch);
}
