/* Accesses to files by I/O threads, while the program computes.
 *
 *   wf_io_submit --task--> run, on an I/O thread --> done, in the engine's
 *                                                   section, by who polls next
 *
 * A process has one I/O thread, or core.io_threads, whatever the number of its
 * ranks and engines. The first task starts it, and the end of the last engine's
 * files ends it, so that a program without nonblocking accesses has none.
 *
 * LOCK  wf_io_submit, wf_io_end and `done`: the API section of the task's
 * engine. `run`: none, and it touches nothing that the section protects: no
 * request, no count of references.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_IO_WORKER_H
#define WF_IO_WORKER_H

#include "base.h"

struct wf_instance;

struct wf_io_task {
    struct wf_instance *wf; /* the engine that `done` is called in */
    void (*run)(struct wf_io_task *);
    /* Called once after that. May free the task, submit others, post operations
     * and complete requests; must not wait. */
    void (*done)(struct wf_io_task *);
    struct wf_io_task *next; /* of the worker */
};

/* Have a task run. Tasks of a process with one I/O thread begin in the order of
 * submission. Returns MPI_SUCCESS, or an error class if nothing is done. */
int wf_io_submit(struct wf_io_task *);

/* Returns the mask of the event source that brings tasks back to the engine; 0
 * before the first task. */
uint32_t wf_io_source_mask(struct wf_instance *);

/* All tasks of the engine are done, and no more come: its last file is closed.
 * Programs that submit none do not have this function. */
void wf_io_end(struct wf_instance *) __attribute__((weak));

/* Whether no task of the engine is queued or runs, and each is done. Called in
 * its section. */
bool wf_io_is_idle(struct wf_instance *) __attribute__((weak));

/* The number of I/O threads of the process. */
unsigned wf_io_count_threads(void);

#endif
