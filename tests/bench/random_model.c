/* A model folder with random weights of a given shape (random_shape.h), and sentences for it, for
 * measuring speed.
 *
 * Weights are uniform with variance 1 / fan-in, so that states neither die out nor saturate. The
 * model never ends a sentence by itself (the bias of </s> is far below all others) and its length
 * limit is the source's: the target is as long as the source, </s> counted there, in every program
 * that runs the model and without asking. A word of the vocabulary is one token. The same arguments
 * make the same bytes. */
#include "tests/bench/random_shape.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char usage_text[] =
    "usage: random_model [options] FOLDER\n"
    "\n"
    "Writes FOLDER/config.json, model.safetensors, source.spm, target.spm: a model with random "
    "weights; and FOLDER/source.txt:\n"
    "sentences of 5 to 25 of its words, 13 on average.\n"
    "\n"
    "  --shape NAME       default S; options after it change single sizes:\n"
    "                       S  embedding 256, hidden  512, attention 1024, readout 256, vocabulary "
    " 8000: recurrent\n"
    "                       L  embedding 512, hidden 1024, attention 2048, readout 512, vocabulary "
    "32000\n"
    "                       TINY    256, feed-forward 1536, 6 + 2 layers, SSRU, vocabulary 32000: "
    "transformers of 8 heads\n"
    "                       MEMORY  384, feed-forward 1536, 6 + 4 layers, SSRU, vocabulary 32000\n"
    "                       BASE    512, feed-forward 2048, 6 + 2 layers, SSRU, vocabulary 32000\n"
    "                       OPUS    512, feed-forward 2048, 6 + 6 layers, self-attention, "
    "vocabulary 60000\n"
    "  --vocabulary N; of S and L --embedding N, --hidden N, --attention N, --readout N\n"
    "  --storage NAME     float32 or float16 (default float32)\n"
    "  --shortlist N      also FOLDER/shortlist.safetensors: N / 3 ids for all sentences, N / 20 "
    "for each word, so that a "
    "sentence\n"
    "                     of 13 words has about N (default 0: none)\n"
    "  --sentences N      lines of source.txt (default 500)\n";

enum { MAX_SIZE = 65536, MAX_SENTENCES = 1000000, PATH_BYTES = 4096 };
enum { UNKNOWN, BEGIN, END, WORDS }; /* ids: <unk>, <s>, </s>, the first word */

static _Noreturn __attribute__((format(printf, 1, 2))) void die(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("random_model: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

/* ---- the arguments ---- */

struct arguments {
    struct shape shape;
    bool half; /* float16 */
    size_t sentences, shortlist;
    const char *folder;
};

static size_t number(const char *option, const char *text, size_t least, size_t most) {
    char *end;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || errno != 0 || value < least || value > most)
        die("--%s must be a number from %zu to %zu, got %s", option, least, most, text);
    return value;
}

static struct shape find_shape(const char *name) {
    const struct shape *shape = shape_find(name);
    if (!shape)
        die("--shape must be S, L, TINY, MEMORY, BASE or OPUS, got %s", name);
    return *shape;
}

static bool is_half(const char *storage) {
    bool half = strcmp(storage, "float16") == 0;
    if (!half && strcmp(storage, "float32") != 0)
        die("--storage must be float32 or float16, got %s", storage);
    return half;
}

static const struct option options[] = {
    {"help", no_argument, NULL, 'h'},
    {"shape", required_argument, NULL, 's'},
    {"embedding", required_argument, NULL, 'E'},
    {"hidden", required_argument, NULL, 'H'},
    {"attention", required_argument, NULL, 'A'},
    {"readout", required_argument, NULL, 'O'},
    {"vocabulary", required_argument, NULL, 'V'},
    {"storage", required_argument, NULL, 't'},
    {"shortlist", required_argument, NULL, 'l'},
    {"sentences", required_argument, NULL, 'n'},
    {NULL, 0, NULL, 0},
};

static void usage(FILE *out, int status) {
    fputs(usage_text, out);
    exit(status);
}

static void apply(struct arguments *a, const struct option *option, const char *text) {
    switch (option->val) {
    case 'h':
        usage(stdout, 0);
        break;
    case 's':
        a->shape = find_shape(text);
        break;
    case 'E':
        a->shape.embedding = number(option->name, text, 1, MAX_SIZE);
        break;
    case 'H':
        a->shape.hidden = number(option->name, text, 1, MAX_SIZE);
        break;
    case 'A':
        a->shape.attention = number(option->name, text, 1, MAX_SIZE);
        break;
    case 'O':
        a->shape.readout = number(option->name, text, 1, MAX_SIZE);
        break;
    case 'V':
        a->shape.vocabulary = number(option->name, text, WORDS + 1, MAX_SIZE);
        break;
    case 't':
        a->half = is_half(text);
        break;
    case 'l':
        a->shortlist = number(option->name, text, 0, MAX_SIZE);
        break;
    default:
        a->sentences = number(option->name, text, 1, MAX_SENTENCES);
    }
}

static struct arguments parse(int argc, char **argv) {
    struct arguments a = {.shape = find_shape("S"), .sentences = 500};
    for (int option, index = 0; (option = getopt_long(argc, argv, "", options, &index)) != -1;) {
        if (option == '?') /* getopt has said what is wrong */
            usage(stderr, 2);
        apply(&a, &options[index], optarg);
    }
    if (argc - optind != 1)
        usage(stderr, 2);
    a.folder = argv[optind];
    return a;
}

/* ---- files ---- */

static FILE *create(const char *folder, const char *name) {
    char path[PATH_BYTES];
    if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, name) >= sizeof path)
        die("%s: the path is too long", folder);
    FILE *file = fopen(path, "wb");
    if (!file)
        die("%s: %s", path, strerror(errno));
    return file;
}

static void finish(FILE *file, const char *folder, const char *name) {
    bool failed = ferror(file) != 0;
    if (fclose(file) != 0 || failed)
        die("%s/%s: cannot be written", folder, name);
}

/* ---- chance ---- */

/* xorshift64 (Marsaglia 2003): 0 <= u < 1. */
static double uniform(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (double)(*state >> 11) * 0x1p-53;
}

/* ---- the weights ---- */

static const float END_BIAS = -100; /* no other logit comes near */

static size_t value_count(const struct tensor *tensor) {
    return tensor->rows * (tensor->cols ? tensor->cols : 1);
}

/* Vectors stay float32, as in the shipped models: they are few. */
static bool stored_half(const struct tensor *tensor, bool half) {
    return half && tensor->cols > 0;
}

/* A safetensors file begins with the length of its header, in 8 bytes. */
static void write_length(FILE *file, uint64_t length) {
    for (int shift = 0; shift < 64; shift += 8)
        fputc((int)(length >> shift & 0xff), file);
}

/* The safetensors header: JSON padded so that the data lies aligned. */
static void write_header(FILE *file, const struct tensors *list, bool half) {
    char *json = NULL;
    size_t length = 0, begin = 0;
    FILE *text = open_memstream(&json, &length);
    if (!text)
        die("%s", strerror(errno));
    for (size_t i = 0; i < list->count; i++) {
        const struct tensor *t = &list->items[i];
        size_t end = begin + value_count(t) * (stored_half(t, half) ? 2 : 4);
        fprintf(text, "%s\"%s\":{\"dtype\":\"%s\",\"shape\":[%zu", i == 0 ? "{" : ",", t->name,
                stored_half(t, half) ? "F16" : "F32", t->rows);
        if (t->cols > 0)
            fprintf(text, ",%zu", t->cols);
        fprintf(text, "],\"data_offsets\":[%zu,%zu]}", begin, end);
        begin = end;
    }
    fputc('}', text);
    for (long at = ftell(text); (at + 8) % 64 != 0; at++)
        fputc(' ', text);
    finish(text, "memory", "header");
    write_length(file, length);
    fwrite(json, 1, length, file);
    free(json);
}

/* float32 -> float16, towards zero, the smallest to zero: these values are random anyway. */
static uint16_t to_half(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint32_t sign = bits >> 16 & 0x8000, exponent = bits >> 23 & 0xff,
             fraction = bits >> 13 & 0x3ff;
    return (uint16_t)(exponent < 127 - 14 ? sign : sign | (exponent - 127 + 15) << 10 | fraction);
}

static void write_value(FILE *file, float value, bool half) {
    uint16_t small = to_half(value);
    if (half)
        fwrite(&small, sizeof small, 1, file);
    else
        fwrite(&value, sizeof value, 1, file);
}

static void write_weights(const struct arguments *a) {
    struct tensors list = shape_tensors(&a->shape);
    uint64_t state = 1;
    FILE *file = create(a->folder, "model.safetensors");
    write_header(file, &list, a->half);
    for (size_t i = 0; i < list.count; i++) {
        const struct tensor *t = &list.items[i];
        bool output_bias = strcmp(t->name, "output.bias") == 0;
        for (size_t j = 0; j < value_count(t); j++) {
            float value = (float)(t->centre + (2 * uniform(&state) - 1) * t->spread);
            write_value(file, output_bias && j == END ? END_BIAS : value, stored_half(t, a->half));
        }
    }
    finish(file, a->folder, "model.safetensors");
}

/* ---- the other files ---- */

static void write_integer(FILE *file, size_t value) {
    int32_t integer = (int32_t)value;
    fwrite(&integer, sizeof integer, 1, file);
}

/* See model/weights/weights.h. */
static void write_shortlist(const struct arguments *a) {
    size_t vocabulary = a->shape.vocabulary, always = a->shortlist / 3, each = a->shortlist / 20;
    size_t offsets = 4 * always, targets = offsets + 4 * (vocabulary + 1),
           end = targets + 4 * vocabulary * each;
    uint64_t state = 3;
    char header[512];
    int length = snprintf(
        header, sizeof header,
        "{\"always\":{\"dtype\":\"I32\",\"shape\":[%zu],\"data_offsets\":[0,%zu]},"
        "\"offsets\":{\"dtype\":\"I32\",\"shape\":[%zu],\"data_offsets\":[%zu,%zu]},"
        "\"targets\":{\"dtype\":\"I32\",\"shape\":[%zu],\"data_offsets\":[%zu,%zu]}}",
        always, offsets, vocabulary + 1, offsets, targets, vocabulary * each, targets, end);
    FILE *file = create(a->folder, "shortlist.safetensors");
    write_length(file, (uint64_t)length);
    fwrite(header, 1, (size_t)length, file);
    for (size_t i = 0; i < always; i++)
        write_integer(file, i);
    for (size_t i = 0; i <= vocabulary; i++)
        write_integer(file, i * each);
    for (size_t i = 0; i < vocabulary * each; i++)
        write_integer(file, (size_t)(uniform(&state) * (double)vocabulary));
    finish(file, a->folder, "shortlist.safetensors");
}

static void write_config(const struct arguments *a) {
    FILE *file = create(a->folder, "config.json");
    shape_write_config(&a->shape, file);
    finish(file, a->folder, "config.json");
}

/* A piece of a SentencePiece model: 1 piece, 2 score, 3 type (1 normal, 2 unknown, 3 control).
 * Field tags are number << 3 | wire type: 0 varint, 2 bytes, 5 fixed 32 bits. All lengths here are
 * below 128: a varint of one byte. */
static void write_piece(FILE *file, const char *piece, float score, int type) {
    int length = (int)strlen(piece);
    fprintf(file, "%c%c%c%c%s%c", 1 << 3 | 2, 2 + length + 5 + 2, 1 << 3 | 2, length, piece,
            2 << 3 | 5);
    fwrite(&score, sizeof score, 1, file);
    fprintf(file, "%c%c", 3 << 3, type);
}

/* A ModelProto: 1 pieces, 2 trainer_spec (3 model_type: 1 unigram), 3 normalizer_spec (1 name; no
 * replacements). All words score alike; they are found as they stand between white space. */
static void write_vocabulary(const struct arguments *a, const char *name) {
    FILE *file = create(a->folder, name);
    char word[32];
    write_piece(file, "<unk>", 0, 2);
    write_piece(file, "<s>", 0, 3);
    write_piece(file, "</s>", 0, 3);
    for (size_t id = WORDS; id < a->shape.vocabulary; id++) {
        snprintf(word, sizeof word, "\u2581w%05zu", id);
        write_piece(file, word, -10, 1);
    }
    fprintf(file, "%c%c%c%c", 2 << 3 | 2, 2, 3 << 3, 1);
    fprintf(file, "%c%c%c%c%s", 3 << 3 | 2, 10, 1 << 3 | 2, 8, "identity");
    finish(file, a->folder, name);
}

/* Words of a sentence: triangular between 5 and 25, most often 9, so 13 on average, with the long
 * tail that text has. */
static size_t sentence_words(uint64_t *state) {
    const double least = 5, usual = 9, most = 25, u = uniform(state);
    double words = u < (usual - least) / (most - least)
                       ? least + sqrt(u * (most - least) * (usual - least))
                       : most - sqrt((1 - u) * (most - least) * (most - usual));
    return (size_t)lround(words);
}

static void write_source(const struct arguments *a) {
    uint64_t state = 2;
    FILE *file = create(a->folder, "source.txt");
    for (size_t i = 0; i < a->sentences; i++) {
        size_t words = sentence_words(&state);
        for (size_t j = 0; j < words; j++) {
            size_t id = WORDS + (size_t)(uniform(&state) * (double)(a->shape.vocabulary - WORDS));
            fprintf(file, "%sw%05zu", j == 0 ? "" : " ", id);
        }
        fputc('\n', file);
    }
    finish(file, a->folder, "source.txt");
}

int main(int argc, char **argv) {
    struct arguments arguments = parse(argc, argv);
    if (mkdir(arguments.folder, 0777) != 0 && errno != EEXIST)
        die("%s: %s", arguments.folder, strerror(errno));
    write_config(&arguments);
    write_weights(&arguments);
    write_vocabulary(&arguments, "source.spm");
    write_vocabulary(&arguments, "target.spm");
    write_source(&arguments);
    if (arguments.shortlist > 0)
        write_shortlist(&arguments);
    return 0;
}
