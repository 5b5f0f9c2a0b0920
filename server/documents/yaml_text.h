/* Begins to read YAML with libyaml. */
#ifndef ALIGND_YAML_TEXT_H
#define ALIGND_YAML_TEXT_H

#include <stdbool.h>
#include <yaml.h>

/* text: [length] bytes of UTF-8, which must live as long as the parser. Returns false if memory
 * runs out; otherwise yaml_parser_delete ends it. */
static inline bool yaml_text_open(yaml_parser_t *parser, const char *text, size_t length) {
    if (!yaml_parser_initialize(parser))
        return false;
    yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(parser, (const unsigned char *)text, length);
    return true;
}

#endif
