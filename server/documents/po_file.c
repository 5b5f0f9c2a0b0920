#include "server/documents/po_file.h"
#include "model/base/utf8.h"
#include "server/documents/messages.h"

int po_file_open(struct po_file *file, const struct document *document, struct arena *arena, struct error *err) {
    *file = (struct po_file){.document = document,
                             .reader = {document->source, document->source + document->length, 1, err},
                             .plurals = *po_plurals_of(document->language)};
    file->room = arena_alloc(arena, document->length + 1, 1);
    return file->room ? 0 : error_memory(err);
}

static struct html_bytes decode(struct po_file *file, const struct po_text *text) {
    struct html_bytes decoded = po_decode(text, file->room);
    file->room += decoded.length;
    return decoded;
}

/* ---- the header ---- */

static bool is_ascii(const struct document *document) {
    for (size_t i = 0; i < document->length; i++)
        if ((unsigned char)document->source[i] >= 0x80)
            return false;
    return true;
}

/* One that is no text stays as it is. */
static int read_header(struct po_file *file) {
    struct html_bytes charset;
    file->id = decode(file, &file->message.forms[0]);
    file->header = messages_can_hold(file->id);
    if (!file->header)
        return 1;
    if (!po_header_is_utf8(file->id, &charset) && !is_ascii(file->document))
        return error_set(file->reader.err, ERROR_INPUT,
                         "line %zu: its character set is %.*s, and should be UTF-8 (msgconv --to-code=UTF-8 makes it so)",
                         file->message.line, (int)utf8_clip(charset.start, charset.length, 20), charset.start);
    file->plurals = po_header_plurals(file->id, file->document->language);
    return 1;
}

/* ---- messages ---- */

bool po_file_lacks(const struct po_file *file, size_t form) {
    return file->fuzzy || form >= file->message.form_count || po_is_empty(&file->message.forms[form]);
}

/* A message may have fewer forms than its language, as in templates of a language with one form: those that lack are to be
 * translated, too. It may have more, of the rule that the file had before: those are surplus. */
static int read_wanted(struct po_file *file) {
    const struct po_message *message = &file->message;
    size_t forms = message->plural.begin ? file->plurals.forms : 1;
    file->fuzzy = po_is_fuzzy(message);
    file->surplus = false;
    for (size_t i = forms; message->plural.begin && i < message->form_count; i++)
        file->surplus |= !po_is_empty(&message->forms[i]);
    for (size_t i = 0; i < forms; i++)
        file->wanted |= po_file_lacks(file, i);
    if (!file->wanted)
        return 1;
    file->id = decode(file, &message->id);
    file->plural = message->plural.begin ? decode(file, &message->plural) : file->id;
    file->wanted = messages_can_hold(file->id) && messages_can_hold(file->plural);
    return 1;
}

int po_file_next(struct po_file *file) {
    int found = po_next(&file->reader, &file->message);
    if (found != 1)
        return found;
    file->header = po_is_header(&file->message);
    file->wanted = false;
    return file->header ? read_header(file) : read_wanted(file);
}
