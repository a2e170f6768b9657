/* The keys of MPI_INFO_ENV, which tell how the program was started (MPI-5.0
 * s11.2.1).
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_OBJECT_INFO_ENV_H
#define WF_OBJECT_INFO_ENV_H

#include "base.h"

struct wf_info;

/* Create the info object that MPI_INFO_ENV and MPI_Info_create_env give
 * (s11.2.1). argv NULL: the arguments are read from the system. */
struct wf_info *wf_info_environment(int argc, char *const argv[]);

#endif
