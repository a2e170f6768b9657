/* Agreement of the members of a collective call on a file.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_IO_VOTE_H
#define WF_IO_VOTE_H

#include "base.h"

struct wf_comm;
struct wf_file;

/* The outcome of a collective call and its words, on which all members
 * agree. */
struct wf_file_vote {
    int rc;               /* of this process; afterwards the greatest of all */
    int64_t most;         /* afterwards the greatest of all */
    int64_t same[3];      /* must be equal in all, or the call fails */
    const char *names[3]; /* of these, for the message; NULL: not used */
    bool *is_same[3]; /* NULL; or it is told whether they are, which may be */
};

/* Agrees; returns vote->rc. If another member failed, records which one. */
int wf_file_vote(struct wf_comm *, struct wf_file_vote *);

/* The same for a call that may have changed the hints: members agree whether
 * writes are sieved, too. f: NULL, if vote->rc is an error. */
int wf_file_vote_hints(struct wf_comm *, struct wf_file *f,
                       struct wf_file_vote *);

/* Agrees on the outcome of a collective call alone. */
int wf_file_agree(struct wf_comm *, int rc);

/* Takes part in the agreement of a call whose arguments are wrong here, so that
 * the others do not wait for this process. rc: the error class; it is returned.
 * words: those of the vote that must be equal. Called outside the section. */
int wf_file_refuse_vote(struct wf_comm *, int rc, int words);

/* An outcome as a word: the greatest of all members is that of the call.
 * wf_file_record_vote records whose it was; returns its class. */
int64_t wf_file_encode_vote(int rc, int rank);
int wf_file_record_vote(int64_t word);

#endif
