/* The contacts of a communicator are the Locations of the ranks that it has
 * talked to.
 *
 * DESIGN  A message names a rank; what it needs is the Location. The group
 * says which process that is, and the instance's table where its Location is:
 * several dependent loads and a range check. This table answers with one load,
 * and a rank out of range is not in it. It is made when the communicator first
 * sends a message or waits for one; of a large table only the pages that hold
 * contacts become memory.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "group/contact.h"

#include <stdlib.h>

#include "group/comm.h"
#include "process/instance.h"

const struct wf_comm wf_comm_without_contacts;

void wf_contact_add(struct wf_comm *c, int rank, struct weft_loc *loc)
{
    if (c->freed)
        return; /* no process is found by its handle any more */
    if (c->asserts & WF_ASSERT_EXACT)
        return; /* the fast path does not check the length of receives */
    if (!c->contacts)
        c->contacts = calloc((size_t)c->peers->size, sizeof *c->contacts);
    if (!c->contacts)
        return;
    wf_write_published(&c->contact_end, (uint32_t)c->peers->size);
    wf_write_published(&c->contacts[rank], loc);
}

void wf_contacts_drop(struct wf_comm *c)
{
    free(c->contacts);
    c->contacts = NULL;
    c->contact_end = 0;
}
