/* The contacts of a communicator are the Locations of the ranks that it has
 * talked to.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_GROUP_CONTACT_H
#define WF_GROUP_CONTACT_H

#include "base.h"

struct weft_loc;
struct wf_comm;

/* Makes a connected peer a contact. */
void wf_contact_add(struct wf_comm *, int rank, struct weft_loc *);

/* Forgets all contacts, so that messages take the slow path. */
void wf_contacts_drop(struct wf_comm *);

#endif
