/* How an agent is started on a host: a command, in front of the agent's own
 * words. A new way is a row of the table in starter.c.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MPIRUN_STARTER_H
#define WF_MPIRUN_STARTER_H

#include "hosts.h"

/* The command of --launcher NAME, or NULL. */
const char *wf_starter_command(const char *name);
/* Their names, separated by commas. */
void wf_starter_names(char *text, size_t size);

/* All words, NULL-ended; NULL: no memory. In the command %h is the host and %n its
 * node; without one of them the host is its last word. agent: path of mpirun. */
char **wf_starter_words(const char *command, const struct host *,
                        const char *agent);
void wf_starter_free(char **words);
/* The words as one line, for messages. */
void wf_starter_text(char **words, char *text, size_t size);

/* This program, as other hosts are to call it: PREFIX/bin/mpirun, or our own
 * path. NULL: no memory. */
char *wf_starter_agent(const char *prefix);

#endif
