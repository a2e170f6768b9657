/* Core functions that note how they were called, and a job around them.
 *
 * The process is rank 1 of 4 in MPI_COMM_WORLD; job.inter is an
 * intercommunicator with 3 remote ranks.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef BINDINGS_TEST_H
#define BINDINGS_TEST_H

#include "datatype/type.h"
#include "process/rank.h"
#include "protocol/request.h"

/* ---- called by the fake core functions ----------------------------------- */

void fake_begin(const char *family, struct wf_instance *);
void fake_arg(const char *name, intptr_t value);
void fake_ints(const char *name, struct wf_ints);
/* A result, or a value in and out: given the next result. */
void fake_count(const char *name, MPI_Count *);
int fake_end(void);

/* ---- looked at by the tests ---------------------------------------------- */

extern struct fake_job {
    struct wf_rank rank;
    struct wf_instance wf;
    struct wf_group group4, group3;
    struct wf_comm world, self, inter;
    struct wf_type integer, pair, raw;
    struct wf_object op, info, errhandler;
    struct wf_req request;
} job;

extern struct wf_error_record record;

/* The last call of a core function. */
extern struct fake_call {
    char family[64];
    struct wf_instance *wf;
    int count;
    struct {
        const char *name;
        intptr_t value;
        unsigned width;
    } arg[32];
} last;

extern struct fake_raise {
    int count;
    struct wf_comm *comm;
    char function[64];
} raised;

extern MPI_Count next_result; /* of core functions that give a count */
extern int next_code;         /* that core functions return */

/* An argument of the last call. */
intptr_t arg(const char *name);
/* The call returned this class, was raised once on this communicator under this
 * name, says this, and did not reach the core. */
void refused_on(void *object, int rc, int mpi_class, const char *function,
                const char *text);
/* The same on MPI_COMM_WORLD. */
void refused(int rc, int mpi_class, const char *function, const char *text);
/* The call succeeded through this family's core function. */
void passed(int rc, const char *family);

int fake_setup(void **state);
int fake_teardown(void **state);

#define RULE(f) cmocka_unit_test_setup_teardown(f, fake_setup, fake_teardown)

/* ---- the files of tests: how many of them failed ------------------------- */

int bindings_messages(void);
int bindings_objects(void);

#endif
