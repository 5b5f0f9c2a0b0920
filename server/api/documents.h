/* The endpoints that translate files. */
#ifndef ALIGND_DOCUMENTS_H
#define ALIGND_DOCUMENTS_H

#include "server/api/api.h"

api_start documents_start, documents_deepl_start, documents_deepl_status, documents_deepl_result,
    documents_file_start, documents_file, documents_formats;
api_finish documents_finish, documents_file_finish;

/* documents_detach sets the reply that is sent before the request is decoded, or one with a status
 * other than 200. Once the request has ended and finish or a failure has set a reply,
 * documents_settle stores the outcome for clients that ask later. */
void documents_detach(const struct service *service, struct request *request, struct reply *reply);
void documents_settle(const struct service *service, struct request *request,
                      const struct reply *reply);

#endif
