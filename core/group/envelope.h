/* The envelope of a message: what matching compares.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_ENVELOPE_H
#define WF_ENVELOPE_H

#include <stdint.h>

/* Traffic classes that never match one another (8 bits of env0). */
enum wf_space {
    WF_SPACE_P2P = 0,      /* messages of the program */
    WF_SPACE_COLL = 1,     /* collectives: wf_comm_draw_tag */
    WF_SPACE_NBC = 2,      /* agreement on communicators: comm/agree.c */
    WF_SPACE_SETUP = 3,    /* start of partitioned operations: part/part.h */
    WF_SPACE_PART = 4,     /* parts of partitioned operations */
    WF_SPACE_RMA = 5,      /* operations on windows: rma/wire.h */
    WF_SPACE_INTERNAL = 6, /* communicator management */
    WF_SPACE_GROUP = 7,    /* groups that have no communicator yet */
    WF_SPACE_FILE = 8,     /* shared file pointers: io/shared.h */
    WF_SPACES = 9
};

/* Envelope (McMPI 3.2.8, widened): two words and a mask.
 *   env0 = space 8 | context 24 | target rank 32     must be equal
 *   env1 = source rank 32 | tag 32                   equal under the mask
 * The space keeps library traffic apart, so MPI_ANY_TAG can never catch it. */
struct wf_envelope {
    uint64_t env0, env1;
};

static inline uint64_t wf_env0(unsigned space, uint32_t context,
                               uint32_t target)
{
    return (uint64_t)space << 56 | (uint64_t)(context & 0xffffff) << 32 |
           target;
}

static inline uint64_t wf_env1(uint32_t source, uint32_t tag)
{
    return (uint64_t)source << 32 | tag;
}

/* matches no message: no space has this number */
#define WF_ENV0_NONE   UINT64_MAX
#define WF_MASK_SOURCE 0xffffffff00000000u
#define WF_MASK_TAG    0x00000000ffffffffu

static inline int wf_env_source(uint64_t env1)
{
    return (int)(env1 >> 32);
}

static inline int wf_env_tag(uint64_t env1)
{
    return (int)(uint32_t)env1;
}

#endif
