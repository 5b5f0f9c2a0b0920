/* This file decides which strings of a data file are language, and which are for programs. The
 * notation of the whole string decides first (model/text/programs.c), then its words: a string is
 * language if one of its words is, unless programs use such strings in its place. */
#include "model/base/utf8.h"
#include "server/documents/document.h"

enum { NAME_BYTES = 32 }; /* bytes of a member's name that is looked up */

static const char masked = '1'; /* replaces a placeholder, which is like a number */

#define LIST(name, words) static const char name[] = words;
#include "server/documents/prose.def"

/* ---- bytes ---- */

static bool begins(struct bytes text, const char *what) {
    size_t length = strlen(what);
    return text.length >= length && memcmp(text.start, what, length) == 0;
}
static bool ends(struct bytes text, const char *what) {
    size_t length = strlen(what);
    return text.length >= length && memcmp(text.start + text.length - length, what, length) == 0;
}
static bool ends_in(struct bytes text, const char *set) {
    return text.length > 0 && ascii_among(text.start[text.length - 1], set);
}

/* Takes the next word of *rest. Returns false if there is none. */
static bool next_word(struct bytes *rest, struct bytes *word) {
    *rest = bytes_trimmed(*rest);
    size_t length = 0;
    while (length < rest->length && !byte_is_space(rest->start[length]))
        length++;
    *word = bytes_between(rest->start, rest->start + length);
    *rest = bytes_between(word->start + length, rest->start + rest->length);
    return length > 0;
}

/* ---- parts of a string that are not language ---- */

/* Replaces each tag and character reference by a blank, and each placeholder by a digit. */
static struct bytes mask(struct bytes text, char *out) {
    struct mark_scan scan = {.text = text.start, .length = text.length, .quoted = true};
    struct mark mark;
    struct opaque_run run = {0};
    bool marks = marks_next(&scan, &mark), runs = true;
    char *to = out;
    for (size_t at = 0, next = 0; at < text.length;) {
        while (marks && mark.end <= at)
            marks = marks_next(&scan, &mark);
        while (runs && run.end <= at)
            runs = opaque_next(NOTATION_PLACEHOLDERS | NOTATION_BLOCKS, text.start, text.length,
                               &next, &run);
        bool marked = marks && mark.begin <= at, held = runs && run.begin <= at;
        *to++ = marked ? ' ' : held ? masked : text.start[at];
        at = marked ? mark.end : held ? run.end : at + 1;
    }
    return bytes_between(out, to);
}

/* True if there is a letter of any alphabet. */
static bool has_letter(struct bytes text) {
    for (size_t at = 0; at < text.length;) {
        int32_t c = character_next(text.start, text.length, &at);
        if (character_is_letter(c) && character_digit(c) < 0)
            return true;
    }
    return false;
}

/* ---- words ---- */

static enum wording judge_word(struct bytes raw) {
    /* Remove the punctuation around the word, but not the "()" of a call, nor a dot, colon, hyphen
     * or slash in front, which is a notation. */
    const char *begin = raw.start, *end = begin + raw.length;
    bool call = raw.length > 2 && ends(raw, "()");
    while (begin < end && ascii_among(*begin, "\"'([*"))
        begin++;
    while (end - begin > 2 && begin[0] == '.' && begin[1] == '.')
        for (; begin < end && *begin == '.'; begin++)
            ;
    while (!call && end > begin && ascii_among(end[-1], "\"').,:;!?]*"))
        end--;
    for (size_t next = 0; begin < end && (unsigned char)*begin >= 0x80; begin += next, next = 0)
        if (!character_is_punctuation(character_next(begin, (size_t)(end - begin), &next)))
            break;
    for (size_t length = (size_t)(end - begin), before = length;
         length > 0 && (unsigned char)begin[length - 1] >= 0x80;
         end = begin + before, length = before)
        if (!character_is_punctuation(character_previous(begin, &before)))
            break;
    struct bytes word = bytes_between(begin, end);
    return has_letter(word) && !ends(raw, ":*")
               ? programs_wording(WORDING_PART_WORD, word.start, word.length)
               : WORDING_PROGRAM;
}

/* ---- places ---- */

/* Returns the name in lower case without "-", "_", "$" and "@"; length 0 if it is longer than all
 * that are looked up. */
static struct bytes plain_name(struct bytes name, char plain[NAME_BYTES]) {
    size_t length = 0;
    for (size_t i = 0; i < name.length; i++) {
        if (ascii_among(name.start[i], "-_$@"))
            continue;
        if (length == NAME_BYTES)
            return (struct bytes){plain, 0};
        plain[length++] =
            ascii_upper(name.start[i]) ? (char)(name.start[i] - 'A' + 'a') : name.start[i];
    }
    return (struct bytes){plain, length};
}

static bool is_place(const struct prose_place *place, const char *names) {
    char name[NAME_BYTES], parent[NAME_BYTES];
    struct bytes own = plain_name(place->name, name), above = plain_name(place->parent, parent);
    return (own.length > 0 && bytes_among(own, names)) ||
           (above.length > 0 && bytes_among(above, names));
}

/* ---- the whole rule ---- */

enum prose prose_judge(struct bytes text, const struct prose_place *place, char *scratch) {
    text = bytes_trimmed(text);
    struct bytes plain = bytes_trimmed(mask(text, scratch));
    if (!has_letter(plain) || begins(text, "#!/")) /* a script */
        return PROSE_PROGRAM;
    if (begins(place->name, "@") ||
        begins(place->parent, "@")) /* descriptions of a value in ARB and JSON-LD */
        return PROSE_DOUBTFUL;
    enum wording whole = programs_wording(WORDING_PART_SOURCE, text.start, text.length);
    if (whole == WORDING_OPEN)
        whole = programs_wording(WORDING_PART_STRING, plain.start, plain.length);
    if (whole != WORDING_OPEN)
        return whole == WORDING_PROGRAM ? PROSE_PROGRAM : PROSE_DOUBTFUL;

    struct bytes rest = plain, word;
    size_t words = 0, language = 0, doubtful = 0, capitals = 0;
    bool capital = false, lower = false, other = false;
    while (next_word(&rest, &word)) {
        enum wording kind = judge_word(word);
        words++;
        language += kind > WORDING_DOUBTFUL;
        doubtful += kind == WORDING_DOUBTFUL;
        capital |= kind == WORDING_NAME;
        capitals += kind >= WORDING_CAPITALS;
        lower |= kind == WORDING_WORD;
    }
    for (size_t i = 0; i < plain.length && !other; i++)
        other = (unsigned char)plain.start[i] >= 0x80;
    if (language == 0)
        return doubtful > 0 ? PROSE_DOUBTFUL : PROSE_PROGRAM;
    bool names_itself = bytes_same_any_case(place->name, plain), ended = ends_in(plain, ".!?:");
    bool words_place = is_place(place, names_of_words), code_place = is_place(place, names_of_code);
    if ((words == 1 && !capital && !names_itself && (words_place || code_place) && !ended) ||
        (words > 1 && words <= 4 && capitals == words &&
         is_place(place, "author authors contributors maintainers")) ||
        (words > 1 && (lower || !capital) && !ascii_upper(*plain.start) && !other && !ended &&
         code_place))
        return PROSE_DOUBTFUL;
    return PROSE_LANGUAGE;
}
