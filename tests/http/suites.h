/* One suite per file of tests; tests/http/main.c runs them all. */
#ifndef ALIGND_TESTS_HTTP_SUITES_H
#define ALIGND_TESTS_HTTP_SUITES_H

#include "tests/check.h"
#include "tests/http/daemon.h"

/* of one test: far above what any needs */
#define TEST_TIMEOUT_S (60 * program_slowness())

Suite *translate_suite(void);
Suite *attention_suite(void);
Suite *alignment_suite(void);
Suite *mcp_suite(void);
Suite *align_suite(void);
Suite *errors_suite(void);
Suite *operations_suite(void);
Suite *hostile_suite(void);
Suite *load_suite(void);
Suite *steady_suite(void);
Suite *drain_suite(void);
Suite *command_suite(void);
Suite *shipped_suite(void);
Suite *bulk_suite(void);
Suite *batch_mode_suite(void);
Suite *strategies_suite(void);
Suite *libre_suite(void);
Suite *dialects_suite(void);
Suite *dialect_clients_suite(void);
Suite *dialect_fields_suite(void);
Suite *dialect_servers_suite(void);
Suite *dictionary_suite(void);
Suite *forms_suite(void);
Suite *documents_suite(void);
Suite *page_suite(void);
Suite *access_suite(void);
Suite *tls_suite(void);
Suite *listeners_suite(void);
Suite *stream_suite(void);
Suite *openapi_suite(void);
Suite *glossary_suite(void);
Suite *protect_suite(void);
Suite *glossaries_suite(void);
Suite *fairness_suite(void);
Suite *large_suite(void);
Suite *replies_suite(void);
Suite *warnings_suite(void);
Suite *amounts_suite(void);
Suite *quality_suite(void);
Suite *heads_suite(void);
Suite *variant_suite(void);
Suite *many_languages_suite(void);
Suite *request_bodies_suite(void);
Suite *reach_suite(void);
Suite *slow_suite(void);
Suite *reload_suite(void);
Suite *many_models_suite(void);
Suite *routing_suite(void);
Suite *log_suite(void);
Suite *cache_suite(void);
Suite *memory_suite(void);
Suite *environment_suite(void);

#endif
