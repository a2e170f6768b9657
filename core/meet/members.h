/* Two groups meet, as all their members see it.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MEET_MEMBERS_H
#define WF_MEET_MEMBERS_H

#include "meet/exchange.h"

/* Makes the intercommunicator: collective over the communicator; all of the
 * meeting but `exchange` and its arguments is 0. */
int wf_meet(struct wf_comm *, int root, struct wf_meeting *, MPI_Comm *newcomm);

#endif
