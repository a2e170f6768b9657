/* Names between launchers: a folder of the user in which each published name is
 * a file that holds the port.
 *
 *   FOLDER/lock      held while a name is added, found or removed
 *   FOLDER/n.NAME    the port; its publisher holds a lock on it (flock) as long
 *                    as it lives, so that a file that can be locked is stale
 *
 * DESIGN  The lock of a file ends with the process that holds it, however that
 * ends, in other containers that share the folder, too. A process that finds a
 * stale name removes it.
 *
 * SECURITY  Who knows a port may connect. So the folder must belong to the
 * effective user and must have no permissions for others; else it is refused.
 *
 * RESULTS  0, or WEFT_EUNREACH: there is no such name; WEFT_EAGAIN: another
 * process, or this one, has published it; WEFT_EAUTH: the folder is not
 * trusted; WEFT_ESYS, WEFT_ENOMEM. The cause is recorded.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_BOOT_NAMES_H
#define WF_BOOT_NAMES_H

#include <stddef.h>

enum { WF_NAME_MOST = 200 }; /* bytes of a name, encoded (pmi_word.h) */

struct wf_names; /* what this process has published */

/* Publish a name. folder NULL: the usual one. *names is made when needed. */
int wf_names_publish(struct wf_names **names, const char *folder,
                     const char *service, const char *port);
/* Note a name that this process has published elsewhere only, so that it can
 * unpublish it. */
int wf_names_note(struct wf_names **names, const char *service);
/* Find the port of a name. */
int wf_names_lookup(const char *folder, const char *service, char *port,
                    size_t size);
/* Remove a name that this process has published. */
int wf_names_unpublish(struct wf_names **names, const char *service);
/* Remove all of them. NULL is allowed. */
void wf_names_free(struct wf_names *);

#endif
