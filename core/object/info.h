/* Info objects: ordered lists of (key, value) strings (MPI-5.0 chapter 10).
 *
 * They are usable before MPI_Init and after MPI_Finalize, so nothing here needs
 * an instance.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_INFO_H
#define WF_INFO_H

#include "object/handle.h"

struct wf_info_entry {
    char *key, *value;
};

struct wf_info {
    struct wf_object object;
    bool read_only; /* MPI_INFO_ENV */
    int count, room;
    struct wf_info_entry *list; /* in the order in which keys were first set */
};

struct wf_info *wf_info_create(void);   /* NULL: out of memory */
void wf_info_destroy(struct wf_info *); /* NULL is allowed */
struct wf_info *wf_info_copy(const struct wf_info *);
/* Returns the value of key, or NULL; info may be NULL. */
const char *wf_info_find(const struct wf_info *, const char *key);
/* Set a key without checking lengths: MPI_SUCCESS or MPI_ERR_NO_MEM. */
int wf_info_put(struct wf_info *, const char *key, const char *value);
/* Returns true if a value is "true" or "false". */
bool wf_info_is_boolean(const char *value);
/* Returns true if a key is there with the value "true"; info may be NULL. */
bool wf_info_is_true(const struct wf_info *, const char *key);
/* Remove a key; info may be NULL, and need not have it. */
void wf_info_remove(struct wf_info *, const char *key);

/* The info key for the kinds of memory that may be passed to communication, and
 * its value: memory that MPI or the system allocates (s11.4.3). */
#define WF_INFO_ALLOC_KINDS "mpi_memory_alloc_kinds"
#define WF_ALLOC_KINDS      "mpi,system"
/* Gives the program a copy of an object's hints, with that key; rc: whether the
 * others could be put there. copy NULL, or an error: MPI_ERR_NO_MEM. */
int wf_info_answer(struct wf_info *copy, int rc, MPI_Info *info_used);

struct wf_instance;

struct wf_info *wf_info_of(struct wf_instance *wf, MPI_Info handle);

#endif
