/* For job programs that ask by which transport something went.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef JOB_SENT_H
#define JOB_SENT_H

#include "check.h"

/* The value of a variable of a transport, of this process. */
static inline unsigned long long read_traffic(const char *transport,
                                              const char *what, int class)
{
    unsigned long long value = 0;
    int index, count, provided;
    char variable[64];
    MPI_T_pvar_session s;
    MPI_T_pvar_handle h;

    snprintf(variable, sizeof variable, "%s.%s", transport, what);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    CHECK(MPI_T_pvar_get_index(variable, class, &index) == MPI_SUCCESS);
    MPI_T_pvar_session_create(&s);
    CHECK(MPI_T_pvar_handle_alloc(s, index, NULL, &h, &count) == MPI_SUCCESS);
    MPI_T_pvar_read(s, h, &value);
    MPI_T_pvar_session_free(&s);
    MPI_T_finalize();
    return value;
}

/* Bytes of payload, and containers, that this process has handed to it. */
static inline unsigned long long bytes_sent(const char *transport)
{
    return read_traffic(transport, "bytes_sent", MPI_T_PVAR_CLASS_AGGREGATE);
}

static inline unsigned long long messages_sent(const char *transport)
{
    return read_traffic(transport, "messages_sent", MPI_T_PVAR_CLASS_COUNTER);
}

#endif
