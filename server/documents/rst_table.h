/* Tables of reStructuredText that are drawn. */
#ifndef ALIGND_DOCUMENT_RST_TABLE_H
#define ALIGND_DOCUMENT_RST_TABLE_H

#include "server/documents/texts.h"

/* Adds the cells of a table, grid or simple, as texts, and its drawing. Adds nothing if a cell
 * spans several columns or rows, or has more than one paragraph: the table stays. */
void rst_table_add(struct text_reader *reader, struct bytes table);

#endif
