/* The endpoints that report the state of the service, and serve the page. */
#ifndef ALIGND_SERVICE_H
#define ALIGND_SERVICE_H

#include "server/api/api.h"

api_start service_health, service_ready, service_metrics, service_openapi, service_docs,
    service_page;

#endif
