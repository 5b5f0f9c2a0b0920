/* The text of --help. */
#ifndef ALIGND_OPTIONS_HELP_H
#define ALIGND_OPTIONS_HELP_H

/* Made from the table of the options. NULL when memory is out; the caller frees it. */
char *options_help(void);

#endif
