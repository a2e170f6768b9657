/* Small questions about the environment: thread level, processor name, parent.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdio.h>

#include "core_api.h"
#include "object/env.h"
#include "process/rank.h"

int wf_mpi_query_thread(struct wf_instance *wf, int *provided)
{
    *provided = wf->rank->thread_level;
    return MPI_SUCCESS;
}

int wf_mpi_is_thread_main(struct wf_instance *wf, int *flag)
{
    *flag = pthread_equal(pthread_self(), wf->rank->env->main_thread) != 0;
    return MPI_SUCCESS;
}

int wf_mpi_get_processor_name(struct wf_instance *wf, char *name,
                              int *resultlen)
{
    *resultlen = snprintf(name, MPI_MAX_PROCESSOR_NAME, "%s", wf->rank->host);
    return MPI_SUCCESS;
}
