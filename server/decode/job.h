/* Jobs: how the texts of a request become sentences to decode, and what a worker does with each.
 *
 *   job_list -> scheduler -> job_open -> a batch decodes job_sentence -> job_continues
 *        true: another sentence of the job is to be decoded (scheduler_return)   false: job_end */
#ifndef ALIGND_JOB_H
#define ALIGND_JOB_H

#include "server/decode/request.h"

/* Cuts the texts into sentences by the request's options and makes a job of each. Returns -1 with
 * ERROR_MEMORY, or with ERROR_INPUT or ERROR_LENGTH and *input set; also if the request is over
 * before that is done. It may be called again after that. */
int job_list(struct request *request, enum request_input *input, struct error *err);

/* Makes the job's sentence, unless it has one, before it is decoded. Returns -1 if that fails, or
 * if the request has failed, and the job must end. */
int job_open(struct job *job);

/* Returns the sentence that is decoded for the job now. */
struct sentence *job_sentence(const struct job *job);
/* Notes that a sentence of the job has been decoded. Returns true if another is to be decoded: a
 * second attempt in its place, or what a second model reads. The job's sizes are then set again. */
bool job_continues(struct job *job);
/* Returns the jobs (next_fork) that can be decoded from now on, after job_continues has returned
 * true; one without a sentence must end. NULL: none. */
struct job *job_forks(const struct job *job);
/* Notes that the retry cannot be decoded, so that the first one counts. */
void job_give_up(struct job *job);

/* Ends a job and its twins, with their outcomes. The last one of a request calls finish: the caller
 * must not touch job or request afterwards. */
void job_end(struct job *job);

#endif
