/* The job key is the secret that the processes of a job share.
 *
 * It is kept as the answer that contains it, in memory for secrets, until each
 * rank has asked for it or ended.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MPIRUN_PMI_KEY_H
#define WF_MPIRUN_PMI_KEY_H

#include <stddef.h>

struct job;

enum { JOB_KEY_BYTES = 32 };

struct job_key {
    size_t n;
    char line[128]; /* the answer, ready to be sent */
    unsigned char bytes[JOB_KEY_BYTES]; /* while the line is made */
};

/* Make the key. Returns 0, or -1, after a message if there is no randomness. */
int wf_pmi_make_key(struct job *);
/* Wipe the key in a process that does not need it, or not any more. */
void wf_pmi_forget_key(struct job *);

#endif
