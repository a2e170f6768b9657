/* References to sessions: see session.h.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "object/session.h"

#include <stdlib.h>

#include "object/errhandler.h"
#include "object/info.h"

void wf_session_get(struct wf_session *s)
{
    wf_object_get(&s->object);
}

void wf_session_put(struct wf_session *s)
{
    if (!wf_object_put(&s->object))
        return;
    wf_errhandler_put(s->errhandler);
    wf_info_destroy(s->info);
    free(s);
}
