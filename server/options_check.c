#include "server/options_check.h"
#include "server/decode/parameters.h"
#include <string.h>

static int check_models(const struct options *options, struct error *err) {
    if (!options->from != !options->to)
        return error_set(err, ERROR_INPUT, "--from and --to must be given together");
    if (options->models.count == 0 && options->command == COMMAND_PACK)
        return error_set(err, ERROR_INPUT, "--model MODEL is missing");
    if (options->models.count == 0 && options->command != COMMAND_SERVE && !options->from)
        return error_set(err, ERROR_INPUT, "--model MODEL is missing, or --from CODE and --to CODE");
    if (options->command == COMMAND_TRANSLATE && options->models.count > 1)
        return error_set(err, ERROR_INPUT, "--model must be given only once in this mode");
    if (options->command == COMMAND_ATTENTION && options->models.count > 2)
        return error_set(err, ERROR_INPUT, "--model must be given at most twice in this mode, once for each direction");
    return 0;
}

static int check_files(const struct options *options, struct error *err) {
    if (options->checkpoint && !options->output)
        return error_set(err, ERROR_INPUT, "--output FILE is missing: --checkpoint needs an output that it can cut");
    if ((options->file || options->format) && (options->checkpoint || options->shard.count > 0))
        return error_set(err, ERROR_INPUT, "--shard and --checkpoint are for lines, not for documents");
    if (options->keys.count > 0 && !options->file && !options->format)
        return error_set(err, ERROR_INPUT, "--keys is for a JSON document: name its FILE, or --format json");
    if (options->command == COMMAND_ATTENTION && !options->target)
        return error_set(err, ERROR_INPUT, "--target FILE is missing");
    return 0;
}

static int check_search(const struct options *options, struct error *err) {
    const struct search_options *search = &options->search;
    bool beam = options->command == COMMAND_TRANSLATE && parameters_beam(search);
    if (beam && search->beam_size > options->rows)
        return error_set(err, ERROR_INPUT, "--beam-size must be at most --rows (%zu), got %zu", options->rows, search->beam_size);
    if (search->max_length > 0 && search->min_length > search->max_length)
        return error_set(err, ERROR_INPUT, "--min-length must be at most --max-length (%zu), got %zu", search->max_length,
                         search->min_length);
    return 0;
}

static int check_serving(const struct options *options, struct error *err) {
    if (options->max_reply_bytes > options->reply_memory)
        return error_set(err, ERROR_INPUT, "--max-reply-bytes must be at most --reply-memory (%zu), got %zu", options->reply_memory,
                         options->max_reply_bytes);
    if (!options->tls_cert != !options->tls_key)
        return error_set(err, ERROR_INPUT, "--tls-cert and --tls-key must be given together");
    return 0;
}

static int check_choice(const char *flag, const char *value, const char *one, const char *other, struct error *err) {
    if (!value || strcmp(value, one) == 0 || strcmp(value, other) == 0)
        return 0;
    return error_set(err, ERROR_INPUT, "%s must be %s or %s, got \"%.60s\"", flag, one, other, value);
}

static int check_import(const struct options *options, struct error *err) {
    if (options->paths.count == 0)
        return error_set(err, ERROR_INPUT, "PATH is missing: a model's folder, archive or file");
    if (check_choice("--preparation", options->preparation, "none", "opus", err) != 0)
        return -1;
    return check_choice("--alignment", options->alignment, "trained", "untrained", err);
}

/* Fields of other commands are unset, and pass. */
int options_check(const struct options *options, struct error *err) {
    if (options->command == COMMAND_KEY)
        return options->name ? 0 : error_set(err, ERROR_INPUT, "--name NAME is missing");
    if (options->command == COMMAND_HEALTH)
        return 0;
    if (options->command == COMMAND_IMPORT)
        return check_import(options, err);
    int (*const checks[])(const struct options *, struct error *) = {check_models, check_files, check_search, check_serving};
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        if (checks[i](options, err) != 0)
            return -1;
    }
    return 0;
}
