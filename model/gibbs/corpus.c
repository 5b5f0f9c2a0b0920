#include "model/gibbs/corpus.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A corpus that grows. */
struct reader {
    struct corpus *corpus;
    size_t words_room[2], pairs_room;
};

static bool grow(void **block, size_t *room, size_t needed, size_t size) {
    if (needed <= *room)
        return true;
    size_t more = *room ? 2 * *room : 1024;
    more = more < needed ? needed : more;
    void *moved = more <= SIZE_MAX / 2 / size ? realloc(*block, more * size) : NULL;
    if (!moved)
        return false;
    *block = moved;
    *room = more;
    return true;
}

/* Where the next pair's words begin. */
static bool grow_pairs(struct reader *r) {
    struct corpus *c = r->corpus;
    size_t rooms[2] = {r->pairs_room, r->pairs_room};
    for (int s = 0; s < 2; s++)
        if (!grow((void **)&c->sides[s].starts, &rooms[s], c->pairs + 2,
                  sizeof *c->sides[s].starts))
            return false;
    r->pairs_room = rooms[0];
    return true;
}

static int append(struct reader *r, int side, unsigned long word, struct error *err) {
    struct side *s = &r->corpus->sides[side];
    size_t *end = &s->starts[r->corpus->pairs + 1];
    if (!grow((void **)&s->words, &r->words_room[side], *end + 1, sizeof *s->words))
        return error_memory(err);
    s->words[(*end)++] = (uint32_t)word;
    s->vocabulary = word >= s->vocabulary ? (uint32_t)word + 1 : s->vocabulary;
    return 0;
}

/* One side's numbers, up to the character stop. Returns where it stands, or NULL. */
static const char *read_side(struct reader *r, int side, const char *at, char stop,
                             struct error *err) {
    for (at += strspn(at, " "); *at != stop; at += strspn(at, " ")) {
        char *end = NULL;
        unsigned long word = *at >= '0' && *at <= '9' ? strtoul(at, &end, 10) : 0;
        if (word < 1 || word > CORPUS_MAX_WORD || (*end != ' ' && *end != stop)) {
            error_set(err, ERROR_FORMAT,
                      "line %zu: two columns of numbers from 1 to %d are expected",
                      r->corpus->pairs + 1, (int)CORPUS_MAX_WORD);
            return NULL;
        }
        if (append(r, side, word, err) != 0)
            return NULL;
        at = end;
    }
    return at;
}

static void drop_unusable(struct corpus *c) {
    bool usable = true;
    for (int s = 0; s < 2; s++) {
        size_t length = side_length(&c->sides[s], c->pairs);
        usable = usable && length > 0 && length <= CORPUS_LONGEST;
    }
    for (int s = 0; s < 2 && !usable; s++)
        c->sides[s].starts[c->pairs + 1] = c->sides[s].starts[c->pairs];
}

static int read_pair(struct reader *r, const char *line, struct error *err) {
    struct corpus *c = r->corpus;
    if (!grow_pairs(r))
        return error_memory(err);
    for (int s = 0; s < 2; s++)
        c->sides[s].starts[c->pairs + 1] = c->sides[s].starts[c->pairs];
    const char *at = read_side(r, 0, line, '\t', err);
    if (!at || !read_side(r, 1, at + 1, '\0', err))
        return -1;
    drop_unusable(c);
    c->pairs++;
    return 0;
}

static int read_lines(struct reader *r, FILE *file, char **line, struct error *err) {
    size_t room = 0;
    for (ssize_t length; (length = getline(line, &room, file)) > 0;) {
        if ((*line)[length - 1] == '\n')
            (*line)[length - 1] = '\0';
        if (read_pair(r, *line, err) != 0)
            return -1;
    }
    return ferror(file) ? error_set(err, ERROR_FILE, "the pairs cannot be read") : 0;
}

int corpus_read(FILE *file, struct corpus *corpus, struct error *err) {
    struct corpus read = {0};
    struct reader reader = {.corpus = &read};
    char *line = NULL;
    int status = grow_pairs(&reader) ? 0 : error_memory(err);
    if (status == 0) {
        read.sides[0].starts[0] = read.sides[1].starts[0] = 0;
        status = read_lines(&reader, file, &line, err);
    }
    free(line);
    if (status == 0)
        *corpus = read;
    else
        corpus_done(&read);
    return status;
}

void corpus_done(struct corpus *corpus) {
    for (int s = 0; s < 2 && corpus; s++) {
        free(corpus->sides[s].words);
        free(corpus->sides[s].starts);
    }
}
