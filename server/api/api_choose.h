/* Which model translates each text of a request in alignd's own dialect: the one that is named, the one whose languages are nearest
 * to those asked for, or two that meet in a language. */
#ifndef ALIGND_API_CHOOSE_H
#define ALIGND_API_CHOOSE_H

#include "server/api/api_form.h"

/* Of one text. */
struct choice {
    struct served_model *model;  /* that reads it */
    const char *variant;         /* of that; NULL: none */
    struct served_model *second; /* that goes on from what it writes; NULL: none */
    const char *second_variant;
    const char *detected; /* the language that the text was taken to be in, a model's code; NULL: that was given, or the model */
    double confidence;    /* 0 to 1 */
};

/* Sets form->choices [count], and the request's model and variant: those that write the first text's translation. Without source,
 * or with "auto", each text's language is detected, among those from which target can be reached. Without source and target the
 * daemon's default model answers or, where all models have the same two languages, the first. -1: the reply is set. */
int choose_models(const struct service *service, struct api_form *form, size_t count, struct request *request, struct reply *reply);

#endif
