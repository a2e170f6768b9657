/* A spawn request says which processes a rank wants as a new job
 * (MPI_Comm_spawn). It comes as lines of PMI-1, one block for each command:
 *
 *   mcmd=spawn nprocs=N execname=PROGRAM totspawns=T spawnssofar=I
 *   arg1=.. arg2=.. argcnt=2
 *   preput_num=1 preput_key_0=.. preput_val_0=..  values for the new job
 *   info_num=1 info_key_0=.. info_val_0=..        wdir, host, path, env, arch
 *   endcmd
 *
 * each word on a line of its own, with the rest of the line as its value. The
 * line weft_words=1, which Weft's client sends, says that the values of its
 * block are encoded (core/boot/pmi_word.h), so that they may contain newlines.
 *
 * INVARIANTS  The lines are foreign bytes: a request is complete and consistent
 * when it is handed out, and its size is bounded.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MPIRUN_SPAWN_REQUEST_H
#define WF_MPIRUN_SPAWN_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

struct spawn_pair {
    char *key, *value;
};

struct spawn_pairs {
    struct spawn_pair *list;
    int count;
};

struct spawn_command {
    int count;
    char **argv; /* NULL-ended; the first word is the program */
    int argc;
    struct spawn_pairs info;
};

struct spawn_request {
    struct spawn_command *commands;
    int command_count;
    struct spawn_pairs preput;
    int total, so_far; /* as the current block says */
    bool words;        /* values of the current block are encoded */
    bool is_ours;      /* Weft's client asks */
    size_t bytes;      /* of all lines so far */
    const char *wrong; /* why it cannot be honoured, or NULL */
};

enum spawn_progress {
    SPAWN_MORE,     /* lines are still to come */
    SPAWN_COMPLETE, /* all of it is there, or it is wrong */
    SPAWN_NO_MEMORY
};

/* Take a line. *request is made by the first one. */
enum spawn_progress wf_spawn_request_take(struct spawn_request **request,
                                          const char *line);
/* Returns the processes of all commands. */
int wf_spawn_request_count(const struct spawn_request *);
/* Returns the last value of a key, or NULL. */
const char *wf_spawn_info(const struct spawn_command *, const char *key);
/* Free a request, wiping the values for the new job. NULL is allowed. */
void wf_spawn_request_free(struct spawn_request *);

#endif
