/* Replaces the marks at the end of a hypothesis by tokens of the target language, with the rows of the tokens that stood there. */
#include "model/ending.h"
#include "model/base/utf8.h"
#include "model/model.h"
#include "model/rendering.h"
#include <string.h>

enum {
    ASKS = 1,
    EXCLAIMS = 2,
    MOST_MARKS = 3,   /* that are written */
    MOST_BYTES = 32,  /* of these */
    MOST_TOKENS = 16, /* that these become */
    SCRATCH_BYTES = 8 * 1024
};

/* The end of a text: its marks [begin,end), with the white space before them, and whether they ask or exclaim. Quotation marks and
 * brackets may follow. */
struct tail {
    size_t begin, end;
    unsigned says;
    size_t first; /* byte of the first mark; end if there is none */
    bool trails;  /* an ellipsis is among the marks */
    bool closed;  /* quotation marks or brackets follow */
    size_t count; /* of asking and exclaiming marks, in their order: */
    unsigned marks[MOST_MARKS];
};

static bool is_among(int32_t c, const int32_t *all, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (all[i] == c)
            return true;
    return false;
}

static unsigned says(int32_t c) {
    static const int32_t asking[] = {'?', 0x37e, 0x61f, 0xff1f}, exclaiming[] = {'!', 0xff01}, both[] = {0x203d, 0x2048, 0x2049};
    return is_among(c, asking, 4) ? ASKS : is_among(c, exclaiming, 2) ? EXCLAIMS : is_among(c, both, 3) ? ASKS | EXCLAIMS : 0;
}

/* Other marks at the end of a sentence. */
static bool ends(int32_t c) {
    static const int32_t marks[] = {'.', ',', ';', ':', 0x2026, 0x3002, 0xff0e, 0xff0c, 0x3001, 0x61b, 0x60c, 0x6d4, 0x964, 0x1362};
    return is_among(c, marks, sizeof marks / sizeof *marks);
}

static bool closes(int32_t c) {
    static const int32_t marks[] = {'"',    '\'',   ')',    ']',    0xbb,   0xab,   0x201c,
                                    0x201d, 0x2018, 0x2019, 0x203a, 0x300d, 0x300f, 0xff09};
    return is_among(c, marks, sizeof marks / sizeof *marks);
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
    for (size_t at = tail.begin; at > 0 && tail.first < tail.end && character_is_space(character_previous(text, &at));)
        tail.begin = at;
    return tail;
}

static struct tail source_tail(const struct sentence *sentence) {
    return read_tail(sentence->text + sentence->source.begin, sentence->source.end - sentence->source.begin);
}

bool ending_is_asked(const struct sentence *sentence) {
    const struct translator *t = sentence->translator;
    if (sentence->verbatim || sentence->untranslated || sentence->wants_looks || sentence->options.tree ||
        sentence->options.strategy == &search_forced || strcmp(t->config.task, "translation") != 0 || !output_writes(&t->output))
        return false;
    struct tail tail = source_tail(sentence);
    const struct opaque_run *last = sentence->held.count > 0 ? &sentence->held.all[sentence->held.count - 1] : NULL;
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

/* ---- the mark as the target language writes it ---- */

static bool is_language(const char *code, const char *language) {
    size_t length = strlen(language);
    return strncmp(code, language, length) == 0 && (code[length] == '\0' || code[length] == '-' || code[length] == '_');
}

static size_t write_marks(const char *language, const struct tail *source, char out[MOST_BYTES]) {
    static const char *const wide[] = {"zh", "ja", "yue"}, *const arabic[] = {"ar", "fa", "ur", "ps", "ckb"};
    const char *asks = "?", *exclaims = "!";
    size_t length = 0;
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
        if (is_language(language, wide[i])) {
            asks = "\uff1f";
            exclaims = "\uff01";
        }
    for (size_t i = 0; i < sizeof arabic / sizeof *arabic; i++)
        if (is_language(language, arabic[i]))
            asks = "\u061f";
    if (is_language(language, "el"))
        asks = ";";
    if (is_language(language, "fr") && !is_language(language, "fr-CA"))
        out[length++] = ' ';
    for (size_t i = 0; i < source->count; i++) {
        if (source->marks[i] & ASKS)
            length = (size_t)(stpcpy(out + length, asks) - out);
        if (source->marks[i] & EXCLAIMS)
            length = (size_t)(stpcpy(out + length, exclaims) - out);
    }
    return length;
}

/* Gives the tokens of marks after a word, and how many; 0 if the vocabulary cannot write them. */
static size_t encode_marks(const struct translator *t, const char *marks, size_t length, struct arena *scratch,
                           int out[MOST_TOKENS]) {
    char text[MOST_BYTES + 1] = "a";
    struct token *tokens;
    size_t count;
    memcpy(text + 1, marks, length);
    if (tokenizer_encode(t->target, text, length + 1, NULL, scratch, &tokens, &count, NULL) != 0)
        return 0;
    size_t first = 0;
    while (first < count && tokens[first].end <= 1 && !(first > 0 && tokens[first].begin == tokens[first].end))
        first++;
    if (first == 0 || first == count || tokens[first - 1].end != 1 || count - first > MOST_TOKENS)
        return 0;
    for (size_t i = first; i < count; i++) {
        if (tokens[i].id == tokenizer_unknown(t->target) || tokenizer_byte(t->target, tokens[i].id) >= 0)
            return 0;
        out[i - first] = tokens[i].id;
    }
    return count - first;
}

/* ---- hypotheses ---- */

/* The tokens that replace tokens [first,end). */
struct splice {
    size_t first, end, count;
    int tokens[MOST_TOKENS];
};

/* The step whose row a new token takes over. */
static size_t row_of(const struct splice *splice, size_t i) {
    return i < splice->end - splice->first ? splice->first + i : splice->end > splice->first ? splice->end - 1 : splice->first;
}

static int apply(struct hypothesis *h, const struct splice *splice, struct arena *arena) {
    size_t steps = h->length + h->ended, length = h->length - (splice->end - splice->first) + splice->count;
    size_t room = length + h->ended;
    int *tokens = arena_alloc(arena, length + 1, sizeof *tokens);
    float *log_probs = arena_alloc(arena, room, sizeof *log_probs), *entropies = arena_alloc(arena, room, sizeof *entropies);
    const float **attention = arena_alloc(arena, room, sizeof *attention);
    const float **alignment = h->alignment == h->attention ? attention : arena_alloc(arena, room, sizeof *alignment);
    const struct alternatives **alternatives = arena_alloc(arena, room, sizeof *alternatives);
    if (!tokens || !log_probs || !entropies || !attention || !alignment || !alternatives)
        return -1;
    size_t to = 0;
    for (size_t from = 0; from <= steps; from++) {
        if (from == splice->first) {
            float sum = 0;
            for (size_t i = splice->first; i < splice->end; i++)
                sum += h->log_probs[i];
            for (size_t i = 0; i < splice->count; i++, to++) {
                size_t row = row_of(splice, i);
                tokens[to] = splice->tokens[i];
                log_probs[to] = i == 0 ? sum : 0;
                entropies[to] = i == 0 && splice->end > splice->first ? h->entropies[row] : 0;
                attention[to] = h->attention[row];
                alignment[to] = h->alignment[row];
                alternatives[to] = h->alternatives[row];
            }
            from = splice->end;
        }
        if (from >= steps)
            break;
        if (from < h->length)
            tokens[to] = h->tokens[from];
        log_probs[to] = h->log_probs[from];
        entropies[to] = h->entropies[from];
        attention[to] = h->attention[from];
        alignment[to] = h->alignment[from];
        alternatives[to++] = h->alternatives[from];
    }
    h->tokens = tokens;
    h->length = length;
    h->log_probs = log_probs;
    h->entropies = entropies;
    h->attention = attention;
    h->alignment = alignment;
    h->alternatives = alternatives;
    return 0;
}

/* Chooses the tokens to replace, and by which. False if nothing needs to be corrected or it is impossible. */
static bool plan(const struct sentence *sentence, const struct hypothesis *h, const struct tail *source, struct arena *scratch,
                 struct splice *out) {
    struct rendering rendering;
    char marks[MOST_BYTES];
    if (!h->ended || h->length == 0 || translator_render(sentence, h, scratch, &rendering, NULL) != 0)
        return false;
    size_t length = strlen(rendering.text);
    struct tail target = read_tail(rendering.text, length);
    if ((source->says & ~target.says) == 0 || target.begin == 0)
        return false;
    bool keeps = target.first == target.end || (source->trails && !target.says); /* after what is there */
    size_t begin = keeps ? target.end : target.first, end = target.end;
    if (keeps && target.closed && !source->closed)
        begin = end = length;
    out->first = 0;
    while (out->first < h->length && rendering.tokens[out->first].begin < begin)
        out->first++;
    out->end = out->first;
    while (out->end < h->length && rendering.tokens[out->end].begin < end)
        out->end++;
    while (!keeps && out->first > 0 && rendering.tokens[out->first - 1].begin == rendering.tokens[out->first - 1].end &&
           ending_may_replace(sentence, h->tokens[out->first - 1]))
        out->first--;
    if (out->first <= sentence->options.prefix_length || rendering.tokens[out->first - 1].end > begin)
        return false;
    for (size_t i = out->first; i < out->end; i++)
        if (!ending_may_replace(sentence, h->tokens[i]))
            return false;
    size_t bytes = write_marks(sentence->translator->config.target, source, marks);
    size_t after = out->end > out->first && rendering.tokens[out->end - 1].end > end ? rendering.tokens[out->end - 1].end - end : 0;
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
                     memcmp(sentence->hypotheses[k].tokens, h->tokens, h->length * sizeof *h->tokens) == 0;
        if (!again)
            sentence->hypotheses[kept++] = *h;
    }
    sentence->count = mended ? kept : sentence->count;
    arena_done(&scratch);
}
