/* Agreement of the members of a collective call: one reduction.
 *
 *   [0]     error class and rank, or 0
 *   [1]     the word of which the greatest counts
 *   [2..]   each word that must be equal, and its complement: the greatest of
 *           both tell the greatest and the least
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "io/vote.h"

#include "core_api.h"
#include "datatype/op.h"
#include "datatype/predefined.h"
#include "io/file.h"
#include "object/error.h"
#include "object/error_text.h"
#include "process/instance.h"

enum { SAME = 3, WORDS = 2 + 2 * SAME };

/* The greater class wins, then the lower rank. */
int64_t wf_file_encode_vote(int rc, int rank)
{
    return rc ? (int64_t)rc << 32 | (INT32_MAX - rank) : 0;
}

int wf_file_record_vote(int64_t word)
{
    int rc = (int)(word >> 32);
    const char *sentence = wf_error_sentence(rc);

    return wf_error(rc, "rank %d has failed: %s%s%s",
                    (int)(INT32_MAX - (word & INT32_MAX)), wf_error_name(rc),
                    sentence ? ": " : "", sentence ? sentence : "");
}

static int reduce_words(struct wf_comm *comm, const int64_t *in, int64_t *out,
                        int words)
{
    if (comm->size > 1)
        return wf_mpi_allreduce(comm->wf, in, out, words,
                                wf_type_of(MPI_INT64_T), wf_op_of(MPI_MAX),
                                comm);
    memcpy(out, in, (size_t)words * sizeof *in);
    return MPI_SUCCESS;
}

int wf_file_vote(struct wf_comm *comm, struct wf_file_vote *vote)
{
    int64_t in[WORDS], out[WORDS];
    int rc, words = 2;

    in[0] = wf_file_encode_vote(vote->rc, comm->rank);
    in[1] = vote->most;
    for (int i = 0; i < SAME && vote->names[i]; i++) {
        in[words++] = vote->same[i];
        in[words++] = ~vote->same[i];
    }
    rc = reduce_words(comm, in, out, words);
    if (rc)
        return vote->rc = rc;
    vote->most = out[1];
    if (out[0] != in[0] || !vote->rc)
        vote->rc = out[0] ? wf_file_record_vote(out[0]) : MPI_SUCCESS;
    for (int i = 0; !vote->rc && i < SAME && vote->names[i]; i++) {
        bool is_same = out[2 + 2 * i] == ~out[3 + 2 * i];

        if (vote->is_same[i])
            *vote->is_same[i] = is_same;
        else if (!is_same)
            vote->rc =
                wf_error(MPI_ERR_NOT_SAME,
                         "%s is not the same in all processes", vote->names[i]);
    }
    return vote->rc;
}

int wf_file_vote_hints(struct wf_comm *comm, struct wf_file *f,
                       struct wf_file_vote *vote)
{
    vote->most = f && f->hints.sieve.write == WF_SIEVE_ALWAYS;
    if (wf_file_vote(comm, vote) == MPI_SUCCESS)
        f->sieves_writes = vote->most > 0;
    return vote->rc;
}

int wf_file_agree(struct wf_comm *comm, int rc)
{
    struct wf_file_vote vote = {.rc = rc};

    return wf_file_vote(comm, &vote);
}

int wf_file_refuse_vote(struct wf_comm *comm, int rc, int words)
{
    struct wf_file_vote vote = {.rc = rc};

    WF_ASSERT(words <= SAME);
    for (int i = 0; i < words; i++)
        vote.names[i] = "";
    if (!comm->inter) /* of which all members refuse to open a file */
        WF_SECTION(api, comm->wf)
            wf_file_vote(comm, &vote);
    return rc;
}
