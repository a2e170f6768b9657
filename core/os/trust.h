/* Which files and which environment may decide what this process does.
 *
 * A configuration names plugins, and a plugin is code: a file that somebody
 * else can write must not be used. docs/security.md is the policy.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_TRUST_H
#define WF_TRUST_H

#include <stdbool.h>
#include <stddef.h>

enum wf_trust_failure {
    WF_TRUST_ABSENT = -1, /* no regular file can be reached by this path */
    WF_TRUST_REFUSED = -2, /* there is one, and it is not trusted or readable */
    WF_TRUST_STARVED = -3  /* nobody can say, for want of what errno says:
                              ENOMEM, EMFILE or ENFILE */
};
enum { WF_TRUST_WHY_MAX = 1024 };

/* Open the regular file `path` for reading, if nobody but root and the
 * effective user can have written it or put it there. Returns a descriptor
 * (close-on-exec), or an enum wf_trust_failure and a sentence in `why`. What
 * was judged is that descriptor: read or load it, not the path. */
int wf_trust_open(const char *path, char *why, size_t n);

/* Does this process have only the rights of the one that started it? False in
 * set-user-ID and set-group-ID programs and those with file capabilities. */
bool wf_trust_caller(void);

/* The value of an environment variable. NULL if it is not set, or if the
 * caller, who sets it, is not trusted. */
const char *wf_trust_getenv(const char *name);

#endif
