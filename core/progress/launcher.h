/* The calls of the launcher that engines make while the job runs: asking for
 * addresses, telling which process is given up, and hearing its notices.
 *
 * DESIGN  All engines of a rank share one connection, and a question may wait
 * for its answer for as long as another process needs to start. A thread that
 * only wants to hear or to tell does not wait for that: it tries again later.
 * A notice that one engine has read is there for all of them.
 *
 *   address   section boot, then `launcher_busy`: waits for both
 *   the rest  `launcher_busy`, if it is free
 *
 * wf_boot_ops.abort needs neither: it sends one line, and the process ends.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_PROGRESS_LAUNCHER_H
#define WF_PROGRESS_LAUNCHER_H

#include "boot/boot.h"

struct wf_engines;
struct wf_instance;

/* Put a value, as wf_boot_ops.put does. */
int wf_launcher_put(struct wf_instance *, const char *key, const void *value,
                    size_t n);
/* Get a value, as wf_boot_ops.get does. */
int wf_launcher_get(struct wf_instance *, const char *key, void **value,
                    size_t *n);
/* List the launcher's process sets, as wf_boot_ops.psets does; none if it knows
 * none. */
int wf_launcher_psets(struct wf_instance *, const struct wf_boot_pset **,
                      uint32_t *count);
/* Take the connection to the launcher; false: another thread uses it. A rank of
 * one engine uses it inside its API section only. NULL engines: true. */
bool wf_launcher_try_connection(struct wf_engines *);
void wf_launcher_return_connection(struct wf_engines *);
/* Tell that this process has given up process `id`. false: try again later. A
 * launcher is told, and knows, nothing of processes of other jobs. */
bool wf_launcher_give_up(struct wf_instance *, uint32_t id);
/* Read the notices that have come. */
void wf_launcher_hear(struct wf_instance *);
/* Take the next process that has given this one up. *taken counts those that
 * the caller has taken. false: there is none at present. */
bool wf_launcher_take_loser(struct wf_instance *, uint32_t *taken,
                            uint32_t *id);

/* Read the notices, and copy into *word what was said of process `id` so far;
 * ask: also ask anew. *word stays as it is while the connection is busy. false:
 * no launcher can tell. */
bool wf_launcher_ask(struct wf_instance *, uint32_t id, bool ask,
                     struct wf_boot_word *word);

#endif
