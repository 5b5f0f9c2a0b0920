#include "server/option_kinds.h"
#include "server/api/keys.h"
#include "server/base/log.h"
#include "server/base/name_list.h"
#include "server/decode/parameters.h"
#include "server/decode/render.h"
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MOST_SHARDS = 1000000 };

static int set_string(const struct option *option, const char *name, const char *value, void *field, struct error *err) {
    (void)option;
    (void)name;
    char *copy = strdup(value);
    if (!copy)
        return error_memory(err);
    char **string = field;
    free(*string);
    *string = copy;
    return 0;
}

static int set_strategy(const struct option *option, const char *name, const char *value, void *field, struct error *err) {
    (void)option;
    const struct search_kind *found = search_find(value);
    if (!found)
        return error_set(err, ERROR_INPUT, "%s must be " PARAMETERS_STRATEGIES ", got \"%.60s\"", name, value);
    *(const struct search_kind **)field = found;
    return 0;
}

static int set_compute(const struct option *option, const char *name, const char *value, void *field, struct error *err) {
    static const char *const known[] = {"float32", "bfloat16", "int8", "auto"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(value, known[i]) == 0)
            return set_string(option, name, value, field, err);
    }
    return error_set(err, ERROR_INPUT, "%s must be float32, bfloat16, int8 or auto, got \"%.60s\"", name, value);
}

static int set_links(const struct option *option, const char *name, const char *value, void *field, struct error *err) {
    if (!links_kind_find(value))
        return error_set(err, ERROR_INPUT, "%s must be best, mutual or balanced, got \"%.60s\"", name, value);
    return set_string(option, name, value, field, err);
}

static int set_log_level(const struct option *option, const char *name, const char *value, void *field, struct error *err) {
    enum log_level level;
    if (log_parse_level(value, &level) != 0)
        return error_set(err, ERROR_INPUT, "%s must be error, warn, info or debug, got \"%.60s\"", name, value);
    return set_string(option, name, value, field, err);
}

static int set_log_format(const struct option *option, const char *name, const char *value, void *field, struct error *err) {
    enum log_format format;
    if (log_parse_format(value, &format) != 0)
        return error_set(err, ERROR_INPUT, "%s must be text or json, got \"%.60s\"", name, value);
    return set_string(option, name, value, field, err);
}

static int set_size(const struct option *option, const char *name, const char *value, void *field, struct error *err) {
    char *end;
    errno = 0;
    unsigned long long number = strtoull(value, &end, 10);
    /* strtoull takes "-1" and " 1" */
    if (!isdigit((unsigned char)value[0]) || *end != '\0')
        return error_set(err, ERROR_INPUT, "%s must be a whole number, got \"%.60s\"", name, value);
    if (errno == ERANGE || (double)number < option->minimum || (double)number > option->maximum)
        return error_set(err, ERROR_INPUT, "%s must be between %.0f and %.0f, got %.60s", name, option->minimum, option->maximum,
                         value);
    *(size_t *)field = (size_t)number;
    return 0;
}

/* ---- sizes and times ---- */

/* 1024 for K, Ki and KiB, 1000 for kB; and so on. 0: it is none. */
static double bytes_of_unit(const char *unit) {
    static const char letters[] = "KMGT";
    const char *letter = *unit ? strchr(letters, toupper((unsigned char)*unit)) : NULL;
    if (*unit == '\0' || strcasecmp(unit, "b") == 0)
        return 1;
    if (!letter)
        return 0;
    bool binary = unit[1] == '\0' || strcasecmp(unit + 1, "i") == 0 || strcasecmp(unit + 1, "ib") == 0;
    if (!binary && strcasecmp(unit + 1, "b") != 0)
        return 0;
    return pow(binary ? 1024 : 1000, (double)(letter - letters + 1));
}

static double milliseconds_of_unit(const char *unit) {
    static const struct {
        const char *name;
        double milliseconds;
    } units[] = {{"", 1}, {"ms", 1}, {"s", 1000}, {"m", 60000}, {"min", 60000}, {"h", 3600000}, {"d", 86400000}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(unit, units[i].name) == 0)
            return units[i].milliseconds;
    return 0;
}

static double seconds_of_unit(const char *unit) {
    return *unit ? milliseconds_of_unit(unit) / 1000 : 1;
}

/* What a number with a unit is measured in. */
struct measure {
    double (*of_unit)(const char *unit); /* 0: there is no such unit */
    const char *what, *name;
};

/* Digits, perhaps with a fraction, and a unit. */
static int set_measured(const struct option *option, const char *name, const char *value, const struct measure *measure,
                        void *field, struct error *err) {
    size_t digits = strspn(value, "0123456789");
    size_t length = digits + (value[digits] == '.' ? 1 + strspn(value + digits + 1, "0123456789") : 0);
    const char *unit = value + length + strspn(value + length, " ");
    double factor = digits > 0 ? measure->of_unit(unit) : 0, number = factor > 0 ? strtod(value, NULL) * factor : 0;
    if (factor <= 0 || number - floor(number) > 1e-6)
        return error_set(err, ERROR_INPUT, "%s must be %s, got \"%.60s\"", name, measure->what, value);
    if (number < option->minimum || number > option->maximum)
        return error_set(err, ERROR_INPUT, "%s must be between %.0f and %.0f%s, got %.60s", name, option->minimum, option->maximum,
                         *unit ? measure->name : "", value);
    *(size_t *)field = (size_t)number;
    return 0;
}

static int set_bytes(const struct option *option, const char *name, const char *value, void *field, struct error *err) {
    static const struct measure bytes = {bytes_of_unit, "a whole number of bytes, such as 1000000, 64k, 512M or 2G", " bytes"};
    return set_measured(option, name, value, &bytes, field, err);
}

static int set_milliseconds(const struct option *option, const char *name, const char *value, void *field, struct error *err) {
    static const struct measure milliseconds = {milliseconds_of_unit, "a time, such as 500ms, 5s or 2min, or a whole number of ms",
                                                " ms"};
    return set_measured(option, name, value, &milliseconds, field, err);
}

static int set_seconds(const struct option *option, const char *name, const char *value, void *field, struct error *err) {
    static const struct measure seconds = {seconds_of_unit, "a whole number of seconds, or a time such as 30s, 2min or 1h", " s"};
    return set_measured(option, name, value, &seconds, field, err);
}

static int set_seed(const struct option *option, const char *name, const char *value, void *field, struct error *err) {
    size_t number;
    if (set_size(option, name, value, &number, err) != 0)
        return -1;
    *(uint64_t *)field = number;
    return 0;
}

static int set_real(const struct option *option, const char *name, const char *value, void *field, struct error *err) {
    char *end;
    double number = strtod(value, &end);
    if (end == value || *end != '\0' || isnan(number))
        return error_set(err, ERROR_INPUT, "%s must be a number, got \"%.60s\"", name, value);
    if (number < option->minimum || number > option->maximum)
        return error_set(err, ERROR_INPUT, "%s must be between %g and %g, got %.60s", name, option->minimum, option->maximum,
                         value);
    *(double *)field = number;
    return 0;
}

/* On the command line a switch has no value (NULL). */
static int set_switch(const struct option *option, const char *name, const char *value, void *field, struct error *err) {
    (void)option;
    bool on = !value || strcmp(value, "1") == 0 || strcmp(value, "true") == 0;
    if (!on && strcmp(value, "0") != 0 && strcmp(value, "false") != 0)
        return error_set(err, ERROR_INPUT, "%s must be true or false, got \"%.60s\"", name, value);
    *(bool *)field = on;
    return 0;
}

enum { MOST_ITEMS = 32, MOST_GLOSSARIES = 1000, MOST_TEXTS = 1000 };

/* What a list is made of, and the character between. */
static const struct {
    const char *separator, *what;
    size_t most;
} lists[] = {
    [OPTION_FOLDERS] = {":", "a model folder, or the name of a model", SIZE_MAX},
    [OPTION_ADDRESSES] = {",", "an address", MOST_ITEMS},
    [OPTION_ORIGINS] = {",", "an origin", MOST_ITEMS},
    [OPTION_GLOSSARIES] = {",", "NAME=FILE", MOST_GLOSSARIES},
    [OPTION_TEXTS] = {"", "a text that is not empty", MOST_TEXTS},
};

static int set_list(const struct option *option, const char *name, const char *value, void *field, struct error *err) {
    struct name_list *list = field;
    for (const char *at = value;;) {
        size_t length = strcspn(at, lists[option->kind].separator), most = lists[option->kind].most;
        if (length == 0)
            return error_set(err, ERROR_INPUT, "%s needs %s", name, lists[option->kind].what);
        if (list->count == most)
            return error_set(err, ERROR_INPUT, "%s must be given at most %zu times", name, most);
        if (name_list_add(list, at, length) != 0)
            return error_memory(err);
        if (at[length] == '\0')
            return 0;
        at += length + 1;
    }
}

/* As browsers send them: SCHEME://HOST[:PORT], no path. */
static bool is_origin(const char *origin) {
    const char *host = strstr(origin, "://");
    return host && host > origin && host[3] != '\0' && !strpbrk(host + 3, "/ ?#");
}

/* An empty value: no origin at all. */
static int set_origins(const struct option *option, const char *name, const char *value, void *field, struct error *err) {
    const struct name_list *list = field;
    if (*value == '\0')
        return 0;
    if (set_list(option, name, value, field, err) != 0)
        return -1;
    bool any = name_list_has(list, "*");
    if (any && list->count > 1)
        return error_set(err, ERROR_INPUT, "%s must be * alone or a list of origins, got \"%.60s\"", name, value);
    for (size_t i = 0; i < list->count && !any; i++) {
        if (!is_origin(list->names[i]))
            return error_set(err, ERROR_INPUT, "%s must contain origins such as https://example.org, got \"%.60s\"", name,
                             list->names[i]);
    }
    return 0;
}

static int set_mode(const struct option *option, const char *name, const char *value, void *field, struct error *err) {
    (void)option;
    size_t length = strlen(value);
    if (length < 3 || length > 4 || strspn(value, "01234567") != length || strtoul(value, NULL, 8) > 0777)
        return error_set(err, ERROR_INPUT, "%s must be permissions such as 0660, got \"%.60s\"", name, value);
    *(size_t *)field = strtoul(value, NULL, 8);
    return 0;
}

static int set_role(const struct option *option, const char *name, const char *value, void *field, struct error *err) {
    enum key_role role;
    if (keys_parse_role(value, &role) != 0)
        return error_set(err, ERROR_INPUT, "%s must be user or admin, got \"%.60s\"", name, value);
    return set_string(option, name, value, field, err);
}

/* A number from 0, and what it ends at. */
static bool read_count(const char **at, size_t *count) {
    char *end;
    errno = 0;
    unsigned long long number = isdigit((unsigned char)**at) ? strtoull(*at, &end, 10) : ULLONG_MAX;
    if (number > MOST_SHARDS)
        return false;
    *count = (size_t)number;
    *at = end;
    return true;
}

static int set_shard(const struct option *option, const char *name, const char *value, void *field, struct error *err) {
    (void)option;
    struct option_shard shard;
    const char *at = value;
    if (!read_count(&at, &shard.index) || *at++ != '/' || !read_count(&at, &shard.count) || *at || shard.index >= shard.count)
        return error_set(err, ERROR_INPUT, "%s must be K/N, K from 0 to N - 1, N at most %d, got \"%.60s\"", name, MOST_SHARDS,
                         value);
    *(struct option_shard *)field = shard;
    return 0;
}

static void done_string(void *field) {
    char **string = field;
    free(*string);
    *string = NULL;
}

static void done_list(void *field) {
    name_list_done(field);
}

static const struct {
    int (*set)(const struct option *option, const char *name, const char *value, void *field, struct error *err);
    void (*done)(void *field); /* frees what the field owns, and leaves it as zeroes; NULL: it owns nothing */
    bool may_be_empty;
} kinds[] = {
    [OPTION_STRING] = {set_string, done_string, false},
    [OPTION_COMPUTE] = {set_compute, done_string, false},
    [OPTION_LINKS] = {set_links, done_string, false},
    [OPTION_LOG_LEVEL] = {set_log_level, done_string, false},
    [OPTION_LOG_FORMAT] = {set_log_format, done_string, false},
    [OPTION_ROLE] = {set_role, done_string, false},
    [OPTION_SIZE] = {set_size, NULL, false},
    [OPTION_BYTES] = {set_bytes, NULL, false},
    [OPTION_MILLISECONDS] = {set_milliseconds, NULL, false},
    [OPTION_SECONDS] = {set_seconds, NULL, false},
    [OPTION_REAL] = {set_real, NULL, false},
    [OPTION_SEED] = {set_seed, NULL, false},
    [OPTION_STRATEGY] = {set_strategy, NULL, false},
    [OPTION_MODE] = {set_mode, NULL, false},
    [OPTION_SWITCH] = {set_switch, NULL, false},
    [OPTION_SHARD] = {set_shard, NULL, false},
    [OPTION_FOLDERS] = {set_list, done_list, false},
    [OPTION_ADDRESSES] = {set_list, done_list, false},
    [OPTION_ORIGINS] = {set_origins, done_list, true},
    [OPTION_GLOSSARIES] = {set_list, done_list, false},
    [OPTION_TEXTS] = {set_list, done_list, false},
};

int option_set(const struct option *option, const char *name, const char *value, void *field, struct error *err) {
    return kinds[option->kind].set(option, name, value, field, err);
}

bool option_may_be_empty(const struct option *option) {
    return kinds[option->kind].may_be_empty;
}

void option_done(const struct option *option, void *field) {
    if (kinds[option->kind].done)
        kinds[option->kind].done(field);
}
