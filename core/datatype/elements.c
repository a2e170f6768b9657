/* MPI_Get_count, MPI_Get_elements and the setters of MPI_Status count received
 * data, MPI-5.0 s3.2.5, s5.1.11.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "core_api.h"
#include "datatype/blocks.h"
#include "datatype/derive.h"
#include "datatype/derived.h"
#include "datatype/predefined.h"
#include "datatype/type.h"
#include "object/error.h"
#include "object/status.h"

/* Returns the bytes of the first basic element of a predefined type. */
static int64_t first_part_size(const struct wf_type *t)
{
    const struct wf_predefined *p = wf_predefined(t);

    return p->value ? wf_type_find_predefined(0x200u + p->value)->size
                    : t->size;
}

/* A position in a typemap: bytes of the packed stream, and the basic elements
 * in them. It advances until one of the two limits is reached. */
struct count {
    int64_t bytes, elements;         /* so far */
    int64_t max_bytes, max_elements; /* stop at the first limit */
};

/* Returns how many times `size` bytes with `each` elements fit below both
 * limits, at most n. */
static int64_t count_fitting(const struct count *c, int64_t size, int64_t each,
                             int64_t n)
{
    int64_t by_bytes = (c->max_bytes - c->bytes) / size;
    int64_t by_elements = (c->max_elements - c->elements) / each;
    int64_t fit = by_bytes < by_elements ? by_bytes : by_elements;

    return fit < n ? fit : n;
}

static void count_run(struct count *c, const struct wf_type *t, int64_t n);

/* Counts the beginning of one element that does not fit whole. */
static void count_partial(struct count *c, const struct wf_type *t)
{
    struct wf_type_block b;
    int64_t blocks;

    if (t->predefined) {
        if (wf_type_elements(t) > 1 &&
            count_fitting(c, first_part_size(t), 1, 1)) {
            c->bytes += first_part_size(t);
            c->elements++;
        }
        return;
    }
    blocks = wf_type_block_count(t);
    for (int64_t i = 0; i < blocks; i++) {
        int64_t before = c->bytes;

        wf_type_block(t, i, &b);
        if (b.n == 0 || b.type->size == 0)
            continue;
        count_run(c, b.type, b.n);
        if (c->bytes - before < b.n * b.type->size)
            return;
    }
}

/* Counts as much of n elements as fits. */
static void count_run(struct count *c, const struct wf_type *t, int64_t n)
{
    int64_t each = wf_type_elements(t);
    int64_t whole = count_fitting(c, t->size, each, n);

    c->bytes += whole * t->size;
    c->elements += whole * each;
    if (whole < n)
        count_partial(c, t);
}

int wf_mpi_get_count(struct wf_instance *wf, const MPI_Status *status,
                     struct wf_type *datatype, MPI_Count *count)
{
    uint64_t bytes = wf_status_bytes(status), size = (uint64_t)datatype->size;
    uint64_t whole;

    if (size == 0)
        whole = 0;
    else if ((bytes | size) <= UINT32_MAX) /* a short division is faster */
        whole = (uint32_t)bytes / (uint32_t)size;
    else
        whole = bytes / size;
    *count = whole * size == bytes ? (MPI_Count)whole : MPI_UNDEFINED;
    return MPI_SUCCESS;
}

int wf_mpi_get_elements(struct wf_instance *wf, const MPI_Status *status,
                        struct wf_type *datatype, MPI_Count *count)
{
    struct count c = {.max_bytes = (int64_t)wf_status_bytes(status),
                      .max_elements = INT64_MAX};

    if (datatype->size > 0)
        count_run(&c, datatype, INT64_MAX);
    *count = c.bytes == c.max_bytes ? c.elements : MPI_UNDEFINED;
    return MPI_SUCCESS;
}

int wf_mpi_get_elements_x(struct wf_instance *wf, const MPI_Status *status,
                          struct wf_type *datatype, MPI_Count *count)
{
    return wf_mpi_get_elements(wf, status, datatype, count);
}

int wf_mpi_status_set_elements(struct wf_instance *wf, MPI_Status *status,
                               struct wf_type *datatype, MPI_Count count)
{
    struct count c = {.max_bytes = INT64_MAX, .max_elements = count};

    if (count < 0)
        return wf_error(MPI_ERR_COUNT, "count %lld is negative",
                        (long long)count);
    if (datatype->size > 0)
        count_run(&c, datatype, INT64_MAX);
    if (c.elements != count)
        return wf_error(MPI_ERR_COUNT,
                        "%lld elements of %s are more than 2^63 - 1 bytes or "
                        "than an empty datatype has",
                        (long long)count, wf_type_name(datatype));
    wf_status_set_bytes(status, (uint64_t)c.bytes);
    return MPI_SUCCESS;
}

int wf_mpi_status_set_elements_x(struct wf_instance *wf, MPI_Status *status,
                                 struct wf_type *datatype, MPI_Count count)
{
    return wf_mpi_status_set_elements(wf, status, datatype, count);
}
