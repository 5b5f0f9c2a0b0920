/* The Model Context Protocol, by which agents call tools: one JSON-RPC message becomes one reply.
 * POST /mcp (streamable HTTP without streams or sessions) and `alignd mcp` (lines on stdio) share
 * these handlers. https://modelcontextprotocol.io/specification/2025-06-18 */
#ifndef ALIGND_MCP_H
#define ALIGND_MCP_H

#include "server/api/dialect.h"

extern const struct dialect dialect_mcp;

/* Answers a message, or prepares the jobs of a tool. A message that needs no answer gets
 * STATUS_ACCEPTED without a body. */
api_start mcp_start;
/* Answers the message of a tool whose jobs have ended. */
api_finish mcp_finish;

/* Gives an error reply that was set after mcp_start, such as that of a passed deadline, the id of
 * the request's message, for transports without a status. Other replies stay as they are. */
void mcp_name_failure(const struct request *request, struct reply *reply);

#endif
