/* Contacts: whom a communicator has talked to.
 *
 * DESIGN  A message names a rank; what it needs is the Location. The group
 * says which process that is, and the instance's table where its Location is:
 * several dependent loads and a range check. This table answers with one load,
 * and a rank out of range is not in it. It is made when the first message of
 * the communicator is sent or awaited; of a large one only the pages that hold
 * contacts become memory.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>

#include "instance.h"

const struct wf_comm wf_comm_nobody;

void wf_contact_add(struct wf_comm *c, int rank, struct weft_loc *loc)
{
    if (c->freed)
        return; /* its handle is not to find anybody */
    if (c->asserts & WF_ASSERT_EXACT)
        return; /* its receives are to be compared */
    if (!c->contacts)
        c->contacts = calloc((size_t)c->peers->size, sizeof *c->contacts);
    if (!c->contacts)
        return;
    c->contact_end = (uint32_t)c->peers->size;
    c->contacts[rank] = loc;
}

void wf_contacts_drop(struct wf_comm *c)
{
    free(c->contacts);
    c->contacts = NULL;
    c->contact_end = 0;
}
