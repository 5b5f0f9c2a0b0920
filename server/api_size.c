/* How long an answer will be, before it is written. */
#include "server/api_libre.h"

enum { LARGE_BYTES = 64 * 1024 }; /* takes a millisecond or two to write */

/* Bytes of one object, token, number and pair of offsets, roughly. */
enum { OBJECT_BYTES = 160, TOKEN_BYTES = 8, NUMBER_BYTES = 12, OFFSET_BYTES = 64, STEP_BYTES = 200, BRANCH_BYTES = 100 };

/* About as long as the source, where there is no hypothesis yet. */
static size_t target_length(const struct sentence *sentence, size_t i) {
    return sentence->hypotheses && i < sentence->count ? sentence->hypotheses[i].length : sentence->length;
}

static size_t count_of(unsigned bits) {
    size_t count = 0;
    for (; bits != 0; bits &= bits - 1)
        count++;
    return count;
}

static size_t hypothesis_bytes(const struct request *request, const struct sentence *sentence, size_t i) {
    size_t source = sentence->length, target = target_length(sentence, i), both = source + target;
    unsigned include = request->include;
    size_t matrices = count_of(include & (INCLUDE_ATTENTION | INCLUDE_WORDS)),
           lists = count_of(include & (INCLUDE_LOG_PROBS | INCLUDE_ENTROPY | INCLUDE_ALIGNMENT));
    return OBJECT_BYTES + sentence_text_length(sentence) + both * TOKEN_BYTES + matrices * source * target * NUMBER_BYTES +
           lists * target * NUMBER_BYTES + (include & INCLUDE_OFFSETS ? both * OFFSET_BYTES : 0) +
           (include & INCLUDE_TOP_K ? target * STEP_BYTES : 0);
}

static size_t sentence_bytes(const struct request *request, const struct sentence *sentence) {
    size_t bytes = hypothesis_bytes(request, sentence, 0), count = sentence->hypotheses ? sentence->count : request->search.n_best;
    for (size_t i = 0; count > 1 && i < count; i++)
        bytes += hypothesis_bytes(request, sentence, i);
    size_t branches = sentence->hypotheses ? sentence->search.tree.count : sentence->length * request->search.beam_size;
    return bytes + (request->include & INCLUDE_BEAM ? branches * BRANCH_BYTES : 0);
}

static size_t markup_bytes(const struct plan *plan) {
    size_t bytes = 0;
    for (size_t i = 0; plan && i < plan->count; i++)
        bytes += plan->items[i].length;
    return bytes;
}

bool api_is_large(const struct request *request) {
    size_t bytes = markup_bytes(request->plan);
    for (size_t i = 0; i < request->job_count && bytes < LARGE_BYTES; i++)
        bytes += sentence_bytes(request, request->jobs[i].sentence);
    return bytes >= LARGE_BYTES;
}
