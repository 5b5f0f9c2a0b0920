#include "model/weights/config.h"
#include "tests/files.h"
#include "tests/suites.h"
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* {"base": a right configuration, "wrong": [{"set" or "remove": what makes it wrong, "message": how
 * the message begins}]}: weights/model/config.py is held to the same list. */
static const char WRONG_CONFIGS[] = "tests/data/wrong_configs.json";

static struct model_config config;
static struct error err;

static int read_text(const char *text) {
    err = (struct error){0};
    char *path = file_write(text, strlen(text));
    int result = config_read(path, &config, &err);
    file_remove(path);
    return result;
}

static int read_json(const json_t *json) {
    char *text = json_dumps(json, 0);
    int result = read_text(text);
    free(text);
    return result;
}

static json_t *load_list(void) {
    json_error_t problem;
    json_t *list = json_load_file(WRONG_CONFIGS, 0, &problem);
    ck_assert_msg(list != NULL, "%s (tests run from the top folder)", problem.text);
    return list;
}

/* Sets "section.key" or "key"; value NULL removes it. */
static void change(json_t *root, const char *path, json_t *value) {
    const char *dot = strchr(path, '.');
    json_t *object = dot != NULL ? json_object_getn(root, path, (size_t)(dot - path)) : root;
    const char *key = dot != NULL ? dot + 1 : path;
    ck_assert_int_eq(
        value != NULL ? json_object_set(object, key, value) : json_object_del(object, key), 0);
}

static json_t *change_base(json_t *list, json_t *wrong) {
    json_t *root = json_deep_copy(json_object_get(list, "base"));
    const char *path;
    json_t *value;
    json_object_foreach(json_object_get(wrong, "set"), path, value) {
        change(root, path, value);
    }
    if (json_object_get(wrong, "remove") != NULL)
        change(root, json_string_value(json_object_get(wrong, "remove")), NULL);
    return root;
}

static void assert_untouched(void) {
    static unsigned char pattern[sizeof config];
    memset(pattern, 0x5a, sizeof pattern);
    ck_assert_mem_eq(&config, pattern, sizeof config);
}

START_TEST(wrong_configurations_are_refused) {
    json_t *list = load_list(), *wrong;
    size_t i;
    memset(&config, 0x5a, sizeof config);
    json_array_foreach(json_object_get(list, "wrong"), i, wrong) {
        const char *message = json_string_value(json_object_get(wrong, "message"));
        json_t *root = change_base(list, wrong);
        ck_assert_msg(read_json(root) == -1, "accepted: %s", message);
        ck_assert_int_eq(err.code, ERROR_FORMAT);
        ck_assert_msg(strncmp(err.message, message, strlen(message)) == 0, "%s, not %s",
                      err.message, message);
        assert_untouched();
        json_decref(root);
    }
    ck_assert_uint_ge(i, 20);
    json_decref(list);
}
END_TEST

/* Cases that Python's reader allows or cannot encounter. */
START_TEST(broken_files_are_refused) {
    static const struct {
        const char *text, *message;
    } broken[] = {
        {"", "line "},
        {"{\"format\": 1,\n}", "line 2, column 1: "},
        {"[]", "config: must be an object"},
        {"{\"format\": 1, \"format\": 1}", "line 1, column 22: duplicate object key"},
        {"{\"format\": 99999999999999999999}", "line 1, "},
        {"{\"format\": 1, \"name\": \"a\\u0000b\"}", "line 1, "},
        {"{\"format\": 1, \"name\": \"\xff\"}", "line 1, "},
    };
    memset(&config, 0x5a, sizeof config);
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        ck_assert_int_eq(read_text(broken[i].text), -1);
        ck_assert_int_eq(err.code, ERROR_FORMAT);
        ck_assert_msg(strncmp(err.message, broken[i].message, strlen(broken[i].message)) == 0,
                      "%s: %s", broken[i].text, err.message);
    }
    assert_untouched();
}
END_TEST

START_TEST(unreadable_file_is_a_file_error) {
    memset(&config, 0x5a, sizeof config);
    err = (struct error){0};
    ck_assert_int_eq(config_read("/nowhere/config.json", &config, &err), -1);
    ck_assert_int_eq(err.code, ERROR_FILE);
    ck_assert_str_eq(err.message, "cannot open /nowhere/config.json: No such file or directory");
    err = (struct error){0};
    ck_assert_int_eq(config_read("/tmp", &config, &err), -1);
    ck_assert_int_eq(err.code, ERROR_FILE);
    ck_assert_int_eq(config_read("/nowhere/config.json", &config, NULL), -1);
    assert_untouched();
}
END_TEST

/* Reads the base with one string set. */
static int read_with(const char *path, const char *value) {
    json_t *list = load_list(), *root = json_object_get(list, "base");
    if (json_object_get(root, "tokenizer") == NULL)
        json_object_set_new(root, "tokenizer", json_object());
    json_t *string = json_string(value);
    change(root, path, string);
    int result = read_json(root);
    json_decref(string);
    json_decref(list);
    return result;
}

START_TEST(long_strings_are_refused) {
    char name[CONFIG_NAME_BYTES + 1] = "";
    memset(name, 'x', CONFIG_NAME_BYTES - 1);
    ck_assert_int_eq(read_with("name", name), 0);
    ck_assert_str_eq(config.name, name);
    name[CONFIG_NAME_BYTES - 1] = 'x';
    ck_assert_int_eq(read_with("name", name), -1);
    ck_assert_str_eq(err.message, "name: must be shorter than 64 bytes");
}
END_TEST

START_TEST(files_stay_within_the_folder) {
    static const char *const wrong[] = {"", ".", "..", "/etc/passwd", "../source.spm", "a/b"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ck_assert_int_eq(read_with("tokenizer.source", wrong[i]), -1);
        ck_assert_msg(strncmp(err.message, "tokenizer.source: must be the name of a file", 44) == 0,
                      "%s", err.message);
        ck_assert_int_eq(read_with("tokenizer.target", wrong[i]), -1);
        ck_assert_msg(strncmp(err.message, "tokenizer.target: must be the name of a file", 44) == 0,
                      "%s", err.message);
    }
    ck_assert_int_eq(read_with("tokenizer.source", "..source.spm"), 0);
    ck_assert_str_eq(config.tokenizer.source.file, "..source.spm");
}
END_TEST

START_TEST(defaults_are_filled_in) {
    json_t *list = load_list();
    ck_assert_msg(read_json(json_object_get(list, "base")) == 0, "%s", err.message);
    json_decref(list);
    ck_assert_str_eq(config.task, "translation");
    ck_assert_str_eq(config.tokenizer.type, "sentencepiece");
    ck_assert_str_eq(config.tokenizer.source.file, "source.spm");
    ck_assert_str_eq(config.tokenizer.target.file, "target.spm");
    ck_assert_str_eq(config.encoder.type, "recurrent");
    ck_assert(config.encoder.eos && !config.encoder.residual && !config.decoder.residual);
    ck_assert_uint_eq(config.encoder.width, 0);
    ck_assert(config_attends(&config));
    ck_assert_uint_eq(config.attention.size, 0);
    ck_assert(!config.attention.learned_scale && !config.attention.learned_keys &&
              !config.attention.learned_values);
    ck_assert_str_eq(config.attention.window, "global");
    ck_assert_str_eq(config.attention.normalization, "none");
    ck_assert_str_eq(config.decoder.normalization, "none");
    ck_assert(config.decoder.transitions == 0 && config.decoder.upper_transitions == 0 &&
              !config.decoder.initial_cell);
    ck_assert(!config.attention.coverage && config.attention.half_width == 0 &&
              config.attention.source_depth == 0);
    ck_assert_uint_eq(config_context_size(&config), config_annotation_size(&config));
    ck_assert_uint_eq(config_positions(&config), 101);
    ck_assert(!config.decoder.input_feeding && !config.decoder.initial_projection &&
              config.decoder.first_input == FIRST_BOS);
    ck_assert_int_eq(config.decoder.initial_state, INITIAL_LAST);
    ck_assert_str_eq(config.decoder.readout, "attentional");
    ck_assert_str_eq(config.output.type, "vocabulary");
    ck_assert(!config.output.tied);
    ck_assert_uint_eq(config.limits.max_source_tokens, 100);
    ck_assert_double_eq(config.limits.max_target_ratio, 3.0);
    ck_assert_double_eq(config.limits.doubt, -1.37);
    ck_assert_str_eq(config.defaults.compute, "stored");
    ck_assert(!config.defaults.shortlist && config.defaults.beam_size == 5);
    ck_assert_double_eq(config.defaults.length_penalty, 1.0);
}
END_TEST

/* Every key other than by default, so that none is read into another's place. */
START_TEST(every_key_is_read) {
    static const char text[] =
        "{\"format\": 1, \"name\": \"n\", \"source\": \"de\", \"target\": \"pt-BR\", \"task\": "
        "\"translation\","
        "\"tokenizer\": {\"type\": \"sentencepiece\", \"source\": \"a.spm\", \"target\": "
        "\"b.spm\"},"
        "\"encoder\": {\"type\": \"recurrent\", \"cell\": \"gru\", \"layers\": 3, "
        "\"bidirectional\": false, \"embedding\": 11,"
        " \"hidden\": 12, \"eos\": false},"
        "\"attention\": {\"score\": \"additive\", \"size\": 13, \"values\": \"learned\", "
        "\"value_size\": 16, \"window\": "
        "\"local_p\","
        " \"half_width\": 17, \"coverage\": true, \"normalization\": \"gates\"},"
        "\"decoder\": {\"style\": \"conditional\", \"cell\": \"lstm\", \"layers\": 2, "
        "\"embedding\": 14, \"hidden\": 15,"
        " \"initial_state\": \"mean\", \"initial_projection\": true, \"readout\": \"tanh\", "
        "\"readout_size\": 14,"
        " \"first_input\": \"zero\", \"normalization\": \"layer\", \"transitions\": 3, "
        "\"upper_transitions\": 4,"
        " \"initial_cell\": \"state\"},"
        "\"output\": {\"type\": \"vocabulary\", \"tied\": true}, \"limits\": "
        "{\"max_source_tokens\": 50, \"max_target_ratio\": 2, "
        "\"doubt\": -2},"
        "\"defaults\": {\"compute\": \"bfloat16\", \"shortlist\": true, \"beam_size\": 7, "
        "\"length_penalty\": 0.5}}";
    ck_assert_msg(read_text(text) == 0, "%s", err.message);
    ck_assert_str_eq(config.name, "n");
    ck_assert_str_eq(config.source, "de");
    ck_assert_str_eq(config.target, "pt-BR");
    ck_assert_str_eq(config.tokenizer.source.file, "a.spm");
    ck_assert_str_eq(config.tokenizer.target.file, "b.spm");
    ck_assert_str_eq(config.encoder.cell, "gru");
    ck_assert_uint_eq(config.encoder.layers, 3);
    ck_assert_uint_eq(config.encoder.embedding, 11);
    ck_assert_uint_eq(config.encoder.hidden, 12);
    ck_assert(!config.encoder.bidirectional && !config.encoder.eos);
    ck_assert_str_eq(config.attention.score, "additive");
    ck_assert_uint_eq(config.attention.size, 13);
    ck_assert(config.attention.learned_values && config.attention.coverage);
    ck_assert(!config.attention.learned_keys && !config.attention.learned_scale);
    ck_assert_uint_eq(config.attention.value_size, 16);
    ck_assert_str_eq(config.attention.window, "local_p");
    ck_assert_uint_eq(config.attention.half_width, 17);
    ck_assert_str_eq(config.decoder.style, "conditional");
    ck_assert_str_eq(config.decoder.cell, "lstm");
    ck_assert_uint_eq(config.decoder.layers, 2);
    ck_assert_uint_eq(config.decoder.embedding, 14);
    ck_assert_uint_eq(config.decoder.hidden, 15);
    ck_assert_int_eq(config.decoder.initial_state, INITIAL_MEAN);
    ck_assert(config.decoder.initial_projection && config.decoder.first_input == FIRST_ZERO &&
              !config.decoder.input_feeding);
    ck_assert_str_eq(config.attention.normalization, "gates");
    ck_assert_str_eq(config.decoder.normalization, "layer");
    ck_assert_uint_eq(config.decoder.transitions, 3);
    ck_assert_uint_eq(config.decoder.upper_transitions, 4);
    ck_assert(config.decoder.initial_cell);
    ck_assert_str_eq(config.decoder.readout, "tanh");
    ck_assert_uint_eq(config.decoder.readout_size, 14);
    ck_assert(config.output.tied);
    ck_assert_uint_eq(config.limits.max_source_tokens, 50);
    ck_assert_double_eq(config.limits.max_target_ratio, 2.0);
    ck_assert_double_eq(config.limits.doubt, -2.0);
    ck_assert_str_eq(config.defaults.compute, "bfloat16");
    ck_assert(config.defaults.shortlist && config.defaults.beam_size == 7);
    ck_assert_double_eq(config.defaults.length_penalty, 0.5);
}
END_TEST

/* Keys that the additive score excludes. */
START_TEST(other_attention_keys_are_read) {
    json_t *list = load_list(), *root = json_object_get(list, "base");
    json_object_set_new(root, "attention",
                        json_pack("{s:s, s:s, s:s, s:i}", "score", "scaled_dot", "scale", "learned",
                                  "keys", "learned", "source_depth", 3));
    ck_assert_msg(read_json(root) == 0, "%s", err.message);
    json_decref(list);
    ck_assert(config.attention.learned_scale && config.attention.learned_keys &&
              !config.attention.learned_values);
    ck_assert_uint_eq(config.attention.source_depth, 3);
}
END_TEST

START_TEST(input_feeding_is_read) {
    json_t *list = load_list(), *root = json_object_get(list, "base");
    json_object_set_new(json_object_get(root, "decoder"), "input_feeding", json_true());
    json_object_set_new(json_object_get(root, "decoder"), "initial_state", json_string("zero"));
    ck_assert_msg(read_json(root) == 0, "%s", err.message);
    json_decref(list);
    ck_assert(config.decoder.input_feeding);
    ck_assert_int_eq(config.decoder.initial_state, INITIAL_ZERO);
}
END_TEST

START_TEST(no_attention_is_read) {
    json_t *list = load_list(), *root = json_object_get(list, "base");
    json_object_set_new(root, "attention", json_null());
    json_object_set_new(json_object_get(root, "decoder"), "style", json_string("fixed"));
    json_object_set_new(json_object_get(root, "decoder"), "residual", json_true());
    json_object_set_new(json_object_get(root, "encoder"), "residual", json_true());
    ck_assert_msg(read_json(root) == 0, "%s", err.message);
    json_decref(list);
    ck_assert(!config_attends(&config));
    ck_assert(config.encoder.residual && config.decoder.residual);
}
END_TEST

START_TEST(convolutional_encoder_is_read) {
    json_t *list = load_list(), *root = json_object_get(list, "base");
    json_object_set_new(root, "encoder",
                        json_pack("{s:s, s:i, s:i, s:i, s:i}", "type", "convolutional", "layers", 4,
                                  "width", 5, "embedding", 8, "hidden", 12));
    json_object_set_new(json_object_get(root, "decoder"), "initial_state", json_string("mean"));
    ck_assert_msg(read_json(root) == 0, "%s", err.message);
    json_decref(list);
    ck_assert(config_attends(&config));
    ck_assert_str_eq(config.encoder.type, "convolutional");
    ck_assert_uint_eq(config.encoder.width, 5);
    ck_assert_uint_eq(config_annotation_size(&config),
                      12); /* bidirectional by default, but not here */
}
END_TEST

START_TEST(sizes_follow) {
    struct model_config sizes = {.encoder = {.hidden = 6, .bidirectional = true},
                                 .decoder = {.hidden = 5, .readout_size = 7}};
    ck_assert_uint_eq(config_annotation_size(&sizes), 12);
    ck_assert_uint_eq(config_readout_size(&sizes), 7);
    strcpy(sizes.decoder.readout, "concat");
    ck_assert_uint_eq(config_readout_size(&sizes), 17);
    sizes.encoder.bidirectional = false;
    ck_assert_uint_eq(config_annotation_size(&sizes), 6);
    ck_assert_uint_eq(config_readout_size(&sizes), 11);
}
END_TEST

Suite *config_suite(void) {
    Suite *suite = suite_create("config");
    TCase *cases = tcase_create("config");
    tcase_add_test(cases, wrong_configurations_are_refused);
    tcase_add_test(cases, broken_files_are_refused);
    tcase_add_test(cases, unreadable_file_is_a_file_error);
    tcase_add_test(cases, long_strings_are_refused);
    tcase_add_test(cases, files_stay_within_the_folder);
    tcase_add_test(cases, defaults_are_filled_in);
    tcase_add_test(cases, every_key_is_read);
    tcase_add_test(cases, other_attention_keys_are_read);
    tcase_add_test(cases, input_feeding_is_read);
    tcase_add_test(cases, no_attention_is_read);
    tcase_add_test(cases, convolutional_encoder_is_read);
    tcase_add_test(cases, sizes_follow);
    suite_add_tcase(suite, cases);
    return suite;
}
