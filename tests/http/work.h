/* Bodies of requests that take long: the tiny models are fast, so these ask for many tokens, or for
 * more than can ever be decoded. */
#ifndef ALIGND_TESTS_HTTP_WORK_H
#define ALIGND_TESTS_HTTP_WORK_H

#include "tests/http/client.h"
#include <stdbool.h>
#include <stddef.h>

/* So many texts, each decoded to exactly so many tokens with a beam of this size (1: greedy). In
 * the notation of call.json; the caller frees it. */
char *work_body(size_t texts, size_t beam_size, size_t tokens);

/* So many texts that are decoded for as long as their client stays, in as many rows as a beam of
 * this size, on a machine of any speed: exact search of the longest translations, by a daemon with
 * WORK_ENDLESS. A test that needs something to be going on while it does something else guesses no
 * time then. */
char *work_endless(size_t texts, size_t beam_size);

/* The daemon's arguments for it. */
#define WORK_ENDLESS "--exact-steps", "1000000000"

/* Sends a request whose answer, with its large matrices, is more than the system buffers, on a
 * connection that nothing is read from; the caller closes it. With
 * WORK_UNREAD_TEXTS it has WORK_UNREAD_TOKENS. */
int work_unread(const struct daemon *daemon, bool stream, size_t texts);
/* The same as a stream that has an event for each text, with 32 hypotheses, and takes long. */
int work_unread_beams(const struct daemon *daemon, size_t texts);
/* The bytes of these requests, for a connection that receives WORK_UNREAD_BUFFER at most; the
 * caller frees them. */
char *work_unread_request(bool beams, bool stream, size_t texts);
enum {
    WORK_UNREAD_BUFFER = 4096,
    WORK_UNREAD_TEXTS = 48,
    WORK_UNREAD_LENGTH = 1000,
    WORK_UNREAD_TOKENS = WORK_UNREAD_TEXTS * WORK_UNREAD_LENGTH
};

#endif
