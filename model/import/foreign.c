/* This file hides how models of programs that alignd does not read are recognised, and what to get
 * in their stead. */
#include "model/import/conversion.h"
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

enum { HEAD_BYTES = 8 };

static const char original[] =
    "copies of OPUS-MT in this form have an original: alignd get hf:Helsinki-NLP/opus-mt-en-de";
static const char tensorflow[] =
    "OpenNMT-tf's become a folder that alignd imports by CTranslate2's ct2-opennmt-tf-converter";
static const char checkpoint[] = "OpenNMT-py's recurrent ones become a folder by python3 -m "
                                 "weights.conversion.convert_opennmt, its transformers by "
                                 "CTranslate2's ct2-opennmt-py-converter";

/* A file is of a kind without `beside` if its name matches the pattern or it begins with the bytes;
 * a folder, if it has a name that matches the pattern and one that matches `beside`, if there is
 * one. */
static const struct {
    const char *pattern, *begin, *beside, *what, *instead;
} kinds[] = {
    {"*.onnx", "", "", "ONNX", original},
    {"*.gguf", "GGUF", "", "GGUF",
     "alignd reads models of an encoder and a decoder as they were published: alignd get --list"},
    {"*.keras", "", "", "Keras", tensorflow},
    {"*.h5", "\x89HDF\r\n\x1a\n", "", "Keras (HDF5)", tensorflow},
    {"saved_model.pb", "", "", "TensorFlow (SavedModel)", tensorflow},
    {"*.index", "", "*.data-00000-of-*", "TensorFlow (a checkpoint)", tensorflow},
    {"params.best", "", "vocab.src.*", "Sockeye", "no program turns them into another form"},
    {"checkpoint*.pt", "", "dict.*.txt", "fairseq",
     "they become a folder that alignd imports by CTranslate2's ct2-fairseq-converter"},
    {"*.pt", "", "", "PyTorch (a checkpoint)", checkpoint},
    {"*.pth", "", "", "PyTorch (a checkpoint)", checkpoint},
    {"*.ckpt", "", "", "PyTorch (a checkpoint)", checkpoint},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static bool begins_with(const char *path, const char *bytes) {
    char head[HEAD_BYTES];
    size_t wanted = strlen(bytes);
    FILE *file = wanted > 0 ? fopen(path, "rb") : NULL;
    bool same = file && fread(head, 1, wanted, file) == wanted && memcmp(head, bytes, wanted) == 0;
    if (file)
        fclose(file);
    return same;
}

static bool any_matches(const char *const *names, size_t count, const char *pattern) {
    bool found = *pattern == '\0';
    for (size_t i = 0; i < count && !found; i++)
        found = fnmatch(pattern, names[i], 0) == 0;
    return found;
}

static int refuse(const char *path, size_t kind, struct error *err) {
    return error_set(err, ERROR_FORMAT, "%s: is a model of %s, which alignd does not read; %s",
                     path, kinds[kind].what, kinds[kind].instead);
}

int foreign_check_file(const char *path, struct error *err) {
    const char *name = source_name(path);
    for (size_t k = 0; k < KINDS; k++)
        if (!*kinds[k].beside &&
            (fnmatch(kinds[k].pattern, name, 0) == 0 || begins_with(path, kinds[k].begin)))
            return refuse(path, k, err);
    return 0;
}

int foreign_check_folder(const char *folder, const char *const *names, size_t count,
                         struct error *err) {
    for (size_t k = 0; k < KINDS; k++)
        if (any_matches(names, count, kinds[k].pattern) &&
            any_matches(names, count, kinds[k].beside))
            return refuse(folder, k, err);
    return 0;
}
