/* For job programs that use sessions: a communicator of a session's set.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef JOB_SESSION_H
#define JOB_SESSION_H

#include "check.h"

static inline MPI_Session session_open(void)
{
    MPI_Session s = MPI_SESSION_NULL;
    CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &s) ==
          MPI_SUCCESS);
    return s;
}

static inline void session_close(MPI_Session *s)
{
    CHECK(MPI_Session_finalize(s) == MPI_SUCCESS);
    CHECK(*s == MPI_SESSION_NULL);
}

static inline MPI_Group session_group(MPI_Session s, const char *pset)
{
    MPI_Group g = MPI_GROUP_NULL;
    CHECK(MPI_Group_from_session_pset(s, pset, &g) == MPI_SUCCESS);
    return g;
}

static inline MPI_Comm session_comm(MPI_Session s, const char *pset,
                                    const char *tag)
{
    MPI_Comm c = MPI_COMM_NULL;
    MPI_Group g = session_group(s, pset);
    CHECK(MPI_Comm_create_from_group(g, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN,
                                     &c) == MPI_SUCCESS);
    MPI_Group_free(&g);
    return c;
}

#endif
