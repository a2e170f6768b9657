/* This interface passes on what ranks write: to mpirun's own stdout and stderr,
 * with or without a prefix on each line, and to files.
 *
 * A rank of this host itself writes to mpirun's descriptors unless its output
 * is *captured*: then it writes to a pipe, and mpirun passes it on.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MPIRUN_OUTPUT_H
#define WF_MPIRUN_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

struct job;
struct rank;
struct stream;

struct output {
    const char *prefix; /* pattern in front of each line, or NULL */
    bool time;          /* and the time */
    bool merge;         /* standard error goes where standard output goes */
    bool file_only;     /* what is written to files is not written here, too */
    bool no_job_folder; /* in the folder, ranks without the job's number */
    char *folder;       /* of --output-filename, or NULL */
    const char *out_pattern, *err_pattern; /* of files, or NULL */
    bool captured;      /* decided when all options are read */
};

/* Returns whether a pattern is valid: %r rank, %h host, %p its number, %g the
 * number of the job (0, or 1.2 for the second that the first spawned job has
 * spawned), %% a percent sign. Another letter is stored in *bad. */
bool wf_output_pattern_valid(const char *pattern, char *bad);

/* Complete the settings when all options have been read. */
void wf_output_conclude(struct output *);
/* Create the files. -1: a message has said which cannot be created. */
int wf_output_open(struct job *);
/* Attach a stream to its sinks. error: it is standard error */
void wf_output_attach(struct job *, struct stream *, bool error);
/* Write to the sinks of a stream at once. */
void wf_output_put(struct job *, struct stream *, const char *data, size_t n);
/* Pass on what a rank has written. */
void wf_output_write(struct job *, struct stream *, const char *data, size_t n);
/* Write the unfinished last line at the end of a stream. */
void wf_output_end(struct job *, struct stream *);
bool wf_output_full(const struct stream *);   /* wait before reading more */
bool wf_output_broken(const struct stream *); /* nobody takes it any more */
bool wf_output_pending(const struct job *);
/* Close the files; a message names what could not be written. */
void wf_output_close(struct job *);

#endif
