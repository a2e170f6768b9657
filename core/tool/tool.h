/* The tool information interface, MPI_T (MPI-5.0 s15.3).
 *
 * It works before MPI_Init, beside sessions and after MPI_Finalize, never
 * calls an error handler, and answers with codes of its own. So what it keeps
 * belongs to the process: how often it was initialised, and the configuration
 * as it stands now, read from the same places as MPI_Init reads it.
 *
 *   control variables      the [core] keys of core/route/options.def
 *   performance variables  counters of transports and queues (pvar.c)
 *   categories             core, transports, queues
 *   events, sources        none
 *
 * Nearly every pointer of the chapter is optional.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_TOOL_H
#define WF_TOOL_H

#include "instance.h"
#include "route/config.h"

/* What MPI_T calls outside MPI_T_init_thread .. MPI_T_finalize return. */
#define WF_TOOL_NEEDED()                                                       \
    do {                                                                       \
        if (!wf_tool_config())                                                 \
            return MPI_T_ERR_NOT_INITIALIZED;                                  \
    } while (0)

/* NULL: MPI_T is not initialised. */
const struct wf_config *wf_tool_config(void);
/* The text, cut to *len bytes with its null character; *len becomes what the
 * whole text takes (s15.3.3). */
void wf_tool_text(const char *text, char *buf, int *len);

static inline void wf_tool_put(int *where, int value)
{
    if (where)
        *where = value;
}

/* Control variables are the rows of wf_core_table. */
int wf_tool_cvars(void);

/* A performance variable: one number of the instance. */
struct wf_pvar {
    char name[96];
    const char *help;
    int var_class;
    uint64_t (*read)(struct wf_instance *, const char *transport);
    const char *transport; /* whose counter it is, or NULL: of a queue */
};

/* Variable number i; false: there is none. */
bool wf_tool_pvar(int i, struct wf_pvar *);
int wf_tool_pvars(void);

#endif
