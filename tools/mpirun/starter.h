/* A starter is the command that starts an agent on a host; the agent's own
 * words follow it. A new starter is a row of the table in starter.c.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MPIRUN_STARTER_H
#define WF_MPIRUN_STARTER_H

#include "hosts.h"

/* Returns the command of --launcher NAME, or NULL. */
const char *wf_starter_command(const char *name);
/* Write the names of all starters, separated by commas. */
void wf_starter_names(char *text, size_t size);

/* Returns all words, NULL-ended; NULL without memory. In the command %h is the
 * host and %n its node; without either the host is the last word. agent: path
 * of mpirun. */
char **wf_starter_words(const char *command, const struct host *,
                        const char *agent);
void wf_starter_free(char **words);
/* Write the words as one line, for messages. */
void wf_starter_text(char **words, char *text, size_t size);

/* Returns this program's path for other hosts: PREFIX/bin/mpirun, or its own
 * path; NULL without memory. */
char *wf_starter_agent(const char *prefix);

#endif
