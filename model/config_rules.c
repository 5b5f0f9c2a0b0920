/* What no single key of config.json can tell: combinations that cannot be built, and the sizes that follow from several keys. The
 * same rules as in weights/config.py. */
#include "model/config.h"

#include <string.h>

bool config_copies(const struct model_config *config) {
    static const char *const types[] = {"pointer", "pointer_generator", "copy"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(config->output.type, types[i]) == 0)
            return true;
    return false;
}

bool config_attends(const struct model_config *config) {
    return config->attention.score[0] != '\0';
}

static bool stacks_forward(const struct model_config *config) {
    return strcmp(config->encoder.stack, "forward") == 0;
}

size_t config_annotation_size(const struct model_config *config) {
    return config->encoder.hidden * (config->encoder.bidirectional && !stacks_forward(config) ? 2 : 1);
}

size_t config_context_size(const struct model_config *config) {
    return config->attention.value_size > 0 ? config->attention.value_size : config_annotation_size(config);
}

size_t config_positions(const struct model_config *config) {
    return config->limits.max_source_tokens + 1;
}

size_t config_readout_size(const struct model_config *config) {
    bool concat = strcmp(config->decoder.readout, "concat") == 0;
    return concat ? config_context_size(config) + config->decoder.hidden : config->decoder.readout_size;
}

static int check_layers(const struct model_config *config, struct error *err) {
    if (strcmp(config->encoder.type, "convolutional") == 0 && config->encoder.width % 2 == 0)
        return error_set(err, ERROR_FORMAT, "encoder.width: must be odd");
    if (config->encoder.residual && config->encoder.layers == 1)
        return error_set(err, ERROR_FORMAT, "encoder.residual: needs two layers or more");
    if (config->decoder.residual && config->decoder.layers == 1)
        return error_set(err, ERROR_FORMAT, "decoder.residual: needs two layers or more");
    if (config->decoder.upper_transitions > 0 && config->decoder.layers == 1)
        return error_set(err, ERROR_FORMAT, "decoder.upper_transitions: needs two layers or more");
    return 0;
}

static int check_cells(const struct model_config *config, struct error *err) {
    const struct encoder_config *enc = &config->encoder;
    bool joined = strcmp(enc->stack, "joined") == 0;
    if (strcmp(enc->normalization, "gates") == 0 && strcmp(enc->cell, "gru") != 0)
        return error_set(err, ERROR_FORMAT, "encoder.normalization: gates needs the gru cell");
    if (strcmp(config->decoder.normalization, "gates") == 0 && strcmp(config->decoder.cell, "gru") != 0)
        return error_set(err, ERROR_FORMAT, "decoder.normalization: gates needs the gru cell");
    if (!joined && !(enc->bidirectional && enc->layers > 1))
        return error_set(err, ERROR_FORMAT, "encoder.stack: all but joined need a bidirectional encoder of two layers or more");
    if (enc->embedding_shared && enc->embedding != config->decoder.embedding)
        return error_set(err, ERROR_FORMAT, "encoder.embedding_shared: needs encoder.embedding and decoder.embedding of one size");
    return 0;
}

static int check_style(const struct model_config *config, struct error *err) {
    bool fixed = strcmp(config->decoder.style, "fixed") == 0, last = config->decoder.initial_state == INITIAL_LAST;
    if (fixed && config_attends(config))
        return error_set(err, ERROR_FORMAT, "attention: must be null with decoder.style fixed");
    if (!fixed && !config_attends(config))
        return error_set(err, ERROR_FORMAT, "attention: may be null with decoder.style fixed only");
    if (fixed && !last)
        return error_set(err, ERROR_FORMAT, "decoder.initial_state: style fixed needs last");
    if (strcmp(config->encoder.type, "convolutional") == 0 && last)
        return error_set(err, ERROR_FORMAT, "decoder.initial_state: last needs a recurrent encoder");
    return 0;
}

static int check_attention(const struct model_config *config, struct error *err) {
    const struct attention_config *a = &config->attention;
    size_t annotation = config_annotation_size(config), hidden = config->decoder.hidden;
    bool scaled = strcmp(a->score, "scaled_dot") == 0, dot = scaled || strcmp(a->score, "dot") == 0;
    bool additive = strcmp(a->score, "additive") == 0, global = strcmp(a->window, "global") == 0;
    if (dot && !a->learned_keys && annotation != hidden)
        return error_set(err, ERROR_FORMAT, "attention.score: %s needs annotations (%zu) as large as decoder.hidden (%zu)",
                         a->score, annotation, hidden);
    const struct {
        bool broken;
        const char *message;
    } rules[] = {
        {additive != (a->size > 0), "attention.size: belongs to the additive score, and only there"},
        {a->learned_scale && !scaled, "attention.scale: belongs to the scaled_dot score"},
        {a->learned_keys && !dot,
         "attention.keys: learned keys belong to the dot and scaled_dot scores; the others have matrices of their own"},
        {a->value_size > 0 && !a->learned_values, "attention.value_size: belongs to learned values"},
        {global != (a->half_width == 0), "attention.half_width: belongs to the windows local_m and local_p, and only there"},
        {a->source_depth > 0 && !global, "attention.source_depth: belongs to the window global"},
        {a->coverage && !additive, "attention.coverage: needs the additive score"},
        {strcmp(a->normalization, "none") != 0 && !additive, "attention.normalization: belongs to the additive score"},
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].broken)
            return error_set(err, ERROR_FORMAT, "%s", rules[i].message);
    return 0;
}

static int check_readout(const struct model_config *config, struct error *err) {
    const struct decoder_config *dec = &config->decoder;
    bool fed = strcmp(dec->readout, "attentional") == 0 || strcmp(dec->readout, "linear") == 0;
    bool concat = strcmp(dec->readout, "concat") == 0;
    if (dec->input_feeding && !(fed && strcmp(dec->style, "luong") == 0))
        return error_set(err, ERROR_FORMAT, "decoder.input_feeding: needs style luong and readout attentional or linear");
    if (concat != (dec->readout_size == 0))
        return error_set(err, ERROR_FORMAT, "decoder.readout_size: every readout but concat needs one");
    if (config->output.tied && config_readout_size(config) != dec->embedding)
        return error_set(err, ERROR_FORMAT, "output.tied: the readout must be as large as decoder.embedding");
    return 0;
}

static int check_initial_state(const struct model_config *config, struct error *err) {
    const struct decoder_config *dec = &config->decoder;
    bool alike = dec->layers == config->encoder.layers && strcmp(dec->cell, config->encoder.cell) == 0;
    const char *reason = NULL;
    if (dec->initial_projection)
        reason = dec->initial_state == INITIAL_ZERO ? "a zero state has nothing to project" : NULL;
    else if (dec->initial_state == INITIAL_LAST && stacks_forward(config))
        reason = "without one, all layers of the encoder must be of one size, which encoder.stack forward's are not";
    else if (dec->initial_state != INITIAL_ZERO && config_annotation_size(config) != dec->hidden)
        reason = "without one, annotations must be as large as decoder.hidden";
    else if (dec->initial_state == INITIAL_LAST && !alike)
        reason = "without one, encoder and decoder need the same cell and number of layers";
    if (reason != NULL)
        return error_set(err, ERROR_FORMAT, "decoder.initial_projection: %s", reason);
    if (dec->initial_cell && strcmp(dec->cell, "lstm") != 0)
        return error_set(err, ERROR_FORMAT, "decoder.initial_cell: state belongs to the cell lstm");
    if (dec->initial_cell && !dec->initial_projection)
        return error_set(err, ERROR_FORMAT, "decoder.initial_cell: state needs decoder.initial_projection");
    return 0;
}

static int check_characters(const struct model_config *config, struct error *err) {
    bool spells = strcmp(config->output.type, "characters") == 0;
    if (spells && strcmp(config->tokenizer.type, "words") != 0)
        return error_set(err, ERROR_FORMAT, "output.type: characters spell words, so tokenizer.type must be words");
    if (spells != (config->output.character_embedding > 0))
        return error_set(err, ERROR_FORMAT, "output.character_embedding: belongs to the type characters, and only there");
    if (spells && !config->output.unknowns)
        return error_set(err, ERROR_FORMAT, "output.unknowns: the type characters spells the words that come out as <unk>");
    return 0;
}

static int check_tokenizer(const struct model_config *config, struct error *err) {
    if (config->tokenizer.source.lowercase && strcmp(config->tokenizer.type, "sentencepiece") == 0)
        return error_set(err, ERROR_FORMAT, "tokenizer.lowercase: a SentencePiece vocabulary has its own normalisation");
    if (config->tokenizer.source.punctuation && strcmp(config->tokenizer.type, "words") != 0)
        return error_set(err, ERROR_FORMAT, "tokenizer.punctuation: belongs to words, and only there");
    return 0;
}

static int check_copying(const struct model_config *config, struct error *err) {
    const struct decoder_config *dec = &config->decoder;
    if (config_copies(config) && strcmp(dec->style, "fixed") == 0)
        return error_set(err, ERROR_FORMAT, "output.type: copying needs a decoder with attention");
    bool mixes = strcmp(config->output.type, "pointer_generator") == 0;
    if (strcmp(config->output.gate, "readout") == 0 && !mixes)
        return error_set(err, ERROR_FORMAT, "output.gate: belongs to the type pointer_generator");
    if (strcmp(config->output.pointer, "readout") == 0 && !mixes)
        return error_set(err, ERROR_FORMAT, "output.pointer: belongs to the type pointer_generator");
    if (strcmp(config->output.type, "pointer") != 0)
        return 0;
    if (!config->encoder.eos)
        return error_set(err, ERROR_FORMAT, "encoder.eos: a pointer ends by pointing at the source's </s>");
    if (config->output.tied)
        return error_set(err, ERROR_FORMAT, "output.tied: a pointer has no output matrix");
    if (!dec->input_feeding && strcmp(dec->readout, "concat") != 0)
        return error_set(err, ERROR_FORMAT,
                         "decoder.readout: must be concat, since a pointer reads none, unless decoder.input_feeding does");
    return 0;
}

int config_check(const struct model_config *config, struct error *err) {
    static int (*const checks[])(const struct model_config *, struct error *) = {
        check_layers,        check_cells,     check_style,      check_attention, check_readout,
        check_initial_state, check_tokenizer, check_characters, check_copying};
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
        if (checks[i](config, err) != 0)
            return -1;
    return 0;
}
