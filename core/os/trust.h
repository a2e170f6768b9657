/* Decides which files and which environment may control what this process does.
 *
 * A configuration names plugins, and a plugin is code: a file that another
 * user can write must not be used. docs/user/security.md is the policy.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_TRUST_H
#define WF_TRUST_H

#include <stdbool.h>
#include <stddef.h>

enum wf_trust_failure {
    WF_TRUST_ABSENT = -1,  /* no regular file can be reached by this path */
    WF_TRUST_REFUSED = -2, /* there is one, and it is not trusted or readable */
    WF_TRUST_SHORTAGE =
        -3 /* unknown for want of memory or descriptors: errno is
                              ENOMEM, EMFILE or ENFILE */
};
enum { WF_TRUST_WHY_MAX = 1024 };

/* Opens the regular file `path` for reading, if only root and the effective
 * user can have written it or put it there. Returns a descriptor
 * (close-on-exec), or an enum wf_trust_failure and a sentence in `why`. The
 * judgement holds for the descriptor: read or load that, not the path. */
int wf_trust_open(const char *path, char *why, size_t n);

/* Tells whether this process has only the rights of the one that started it.
 * False in set-user-ID and set-group-ID programs and those with file
 * capabilities. */
bool wf_trust_caller(void);

/* Returns the value of an environment variable, or NULL if it is not set or the
 * caller, which sets it, is not trusted. */
const char *wf_trust_getenv(const char *name);

#endif
