/* The tool information interface, MPI_T (MPI-5.0 s15.3).
 *
 * It works before MPI_Init, beside sessions and after MPI_Finalize, never calls
 * an error handler, and returns codes of its own. So its state belongs to the
 * process: how often it was initialised, and the configuration, read from the
 * same places from which MPI_Init reads it.
 *
 *   control variables      the [core] keys of core/config/options.def
 *   performance variables  counters of transports and queues (pvar.c)
 *   categories             groups of these (category.c)
 *   events                 what a trace records (event.h)
 *
 * Nearly every pointer of the chapter is optional.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_TOOL_H
#define WF_TOOL_H

#include "config/config.h"

struct wf_instance;

/* Returns from an MPI_T call that is made before MPI_T_init_thread or after
 * MPI_T_finalize. */
#define WF_TOOL_REQUIRE_INIT()                                                 \
    do {                                                                       \
        if (!wf_tool_config())                                                 \
            return MPI_T_ERR_NOT_INITIALIZED;                                  \
    } while (0)

/* Returns the configuration; NULL: MPI_T is not initialised. */
const struct wf_config *wf_tool_config(void);
/* Copy the text into buf, cut to *len bytes with its null character, and set
 * *len to the bytes that the whole text takes (s15.3.3). */
void wf_tool_copy_text(const char *text, char *buf, int *len);

static inline void wf_tool_set_int(int *where, int value)
{
    if (where)
        *where = value;
}

struct wf_pvar_row; /* tool/pvar_table.c */

/* A performance variable: one number of the instance. */
struct wf_pvar {
    char name[96];
    const char *help;
    int var_class;
    const struct wf_pvar_row *row; /* where the number is */
    const char *transport; /* to which it belongs, or NULL: to the process */
};

#endif
