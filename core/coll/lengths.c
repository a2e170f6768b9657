/* The lengths of what a schedule moves: of messages, and of blocks that are
 * copied within the process.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll/lengths.h"

#include "coll/vertex.h"
#include "datatype/move.h"
#include "object/error.h"

int wf_sched_bad_length(int source, uint64_t got, uint64_t expected)
{
    return wf_error(MPI_ERR_COUNT,
                    "rank %d sent %llu bytes where %llu are expected: the "
                    "processes have called different collectives, or one with "
                    "different counts or datatypes, or it has failed there",
                    source, (unsigned long long)got,
                    (unsigned long long)expected);
}

int wf_sched_copy_now(struct wf_sched_block from, struct wf_sched_block to)
{
    uint64_t have = from.count * (uint64_t)from.type->size;
    uint64_t room = to.count * (uint64_t)to.type->size;

    if (wf_unlikely(have != room))
        return wf_error(have > room ? MPI_ERR_TRUNCATE : MPI_ERR_COUNT,
                        "the contribution of this rank to itself has %llu "
                        "bytes, its receive block holds %llu",
                        (unsigned long long)have, (unsigned long long)room);
    if (wf_likely(wf_type_is_contiguous(from.type) &&
                  wf_type_is_contiguous(to.type))) {
        if (have)
            memcpy(wf_type_data(to.type, to.buf),
                   wf_type_data(from.type, from.buf), have);
        return MPI_SUCCESS;
    }
    return wf_type_copy(from.type, from.buf, from.count, to.type, to.buf,
                        to.count);
}
