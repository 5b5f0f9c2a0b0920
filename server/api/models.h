/* The endpoints that list the models and change which are in service. */
#ifndef ALIGND_MODELS_H
#define ALIGND_MODELS_H

#include "server/api/api.h"

api_start models_list, models_available, models_add, models_remove, models_reload_start;
api_finish models_reload_finish;

#endif
