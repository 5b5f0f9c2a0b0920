/* The endpoints that show the models, change them, and serve the page. */
#ifndef ALIGND_SERVICE_H
#define ALIGND_SERVICE_H

#include "server/api/api.h"

api_start service_models, service_add_model, service_remove_model, service_reload_start,
    service_health, service_ready, service_metrics, service_openapi, service_docs, service_page;
api_finish service_reload_finish;

#endif
