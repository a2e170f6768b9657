/* MPI_Pack_external and its relatives convert to and from the canonical
 * representation "external32", MPI-5.0 s5.3 and s15.5.2.
 *
 * It is big-endian, without padding, and every basic type has the fixed size
 * that the standard gives it. A value that does not fit there (a long beyond 32
 * bits) is an error, never cut silently. long double travels as IEEE binary128.
 * Types whose values have the same size there are moved as streams in
 * big-endian order; others are converted element by element.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "core_api.h"
#include "datatype/blocks.h"
#include "datatype/derive.h"
#include "datatype/derived.h"
#include "datatype/move.h"
#include "datatype/predefined.h"
#include "datatype/swap.h"
#include "object/error.h"

typedef uintptr_t addr; /* an address of user memory: MPI_BOTTOM is legal */

enum { WIDEST = 16 };

/* The state of a conversion, which walks over all values in order. */
struct walk {
    unsigned char *at; /* next byte of the external form */
    bool unpack;
};

/* ---- single numbers --------------------------------------------------- */

static bool is_little_endian(void)
{
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
}

/* Converts n bytes between this machine's order and big-endian. */
static void swap_bytes(unsigned char *to, const unsigned char *from, int n)
{
    for (int i = 0; i < n; i++)
        to[i] = from[is_little_endian() ? n - 1 - i : i];
}

/* Converts a big-endian integer of from_n bytes to to_n bytes; false: it does
 * not fit. */
static bool resize_integer(unsigned char *to, int to_n,
                           const unsigned char *from, int from_n,
                           bool is_signed)
{
    int cut = from_n - to_n;
    unsigned char fill = is_signed && (from[0] & 0x80) ? 0xff : 0;

    for (int i = 0; i < cut; i++)
        if (from[i] != fill)
            return false;
    if (cut > 0 && is_signed && ((from[cut] ^ fill) & 0x80))
        return false;
    for (int i = 0; i < to_n; i++)
        to[i] = i + cut < 0 ? fill : from[i + cut];
    return true;
}

static int report_no_fit(const struct wf_predefined *p)
{
    return wf_error(MPI_ERR_CONVERSION,
                    "a value of %s does not fit the %d bytes it has on the "
                    "other side of external32",
                    p->name, p->external);
}

static int move_integer(struct walk *w, addr user, int n, bool is_signed,
                        const struct wf_predefined *p)
{
    unsigned char big[WIDEST];
    unsigned char *mine = (unsigned char *)user;

    if (w->unpack) {
        if (!resize_integer(big, n, w->at, p->external, is_signed))
            return report_no_fit(p);
        swap_bytes(mine, big, n);
    } else {
        swap_bytes(big, mine, n);
        if (!resize_integer(w->at, p->external, big, n, is_signed))
            return report_no_fit(p);
    }
    w->at += p->external;
    return MPI_SUCCESS;
}

static int move_same_size(struct walk *w, addr user, int n)
{
    if (w->unpack)
        swap_bytes((unsigned char *)user, w->at, n);
    else
        swap_bytes(w->at, (unsigned char *)user, n);
    w->at += n;
    return MPI_SUCCESS;
}

#if WF_HAVE_F128
static int move_long_double(struct walk *w, addr user)
{
    unsigned char native[sizeof(wf_f128)];
    long double mine;
    wf_f128 wide;

    if (w->unpack) {
        swap_bytes(native, w->at, sizeof native);
        memcpy(&wide, native, sizeof wide);
        mine = (long double)wide;
        memcpy((void *)user, &mine, sizeof mine);
    } else {
        memcpy(&mine, (const void *)user, sizeof mine);
        wide = (wf_f128)mine;
        memcpy(native, &wide, sizeof wide);
        swap_bytes(w->at, native, sizeof native);
    }
    w->at += sizeof native;
    return MPI_SUCCESS;
}
#else
static int move_long_double(struct walk *w, addr user)
{
    return wf_error(MPI_ERR_CONVERSION,
                    "this build has no 128-bit floating point and cannot "
                    "convert long double to external32");
}
#endif

/* Moves one value of a predefined type that is not a pair. */
static int move_value(struct walk *w, addr user, const struct wf_type *t)
{
    const struct wf_predefined *p = wf_predefined(t);
    int half = (int)t->size / 2, rc;

    switch (p->scalar) {
    case WF_SCALAR_F16:
    case WF_SCALAR_F32:
    case WF_SCALAR_F64:
    case WF_SCALAR_F128:
        return move_same_size(w, user, (int)t->size);
    case WF_SCALAR_FLD:
        return move_long_double(w, user);
    case WF_SCALAR_CLD:
        rc = move_long_double(w, user);
        return rc ? rc : move_long_double(w, user + (addr)half);
    case WF_SCALAR_C16:
    case WF_SCALAR_C32:
    case WF_SCALAR_C64:
    case WF_SCALAR_C128:
        move_same_size(w, user, half);
        return move_same_size(w, user + (addr)half, half);
    default:
        return move_integer(
            w, user, (int)t->size,
            p->scalar >= WF_SCALAR_I8 && p->scalar <= WF_SCALAR_I128, p);
    }
}

/* ---- whole types ------------------------------------------------------ */

static int move_predefined(struct walk *w, addr user, const struct wf_type *t)
{
    const struct wf_predefined *p = wf_predefined(t);
    int rc;

    if (!p->value)
        return move_value(w, user, t);
    rc = move_value(w, user, wf_type_find_predefined(0x200u + p->value));
    if (rc)
        return rc;
    return move_value(w, user + p->index_offset,
                      wf_type_find_predefined(0x200u + p->index));
}

static int move_element(struct walk *w, addr user, const struct wf_type *t);

static int move_run(struct walk *w, addr user, const struct wf_type *t,
                    int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        int rc = move_element(w, user + (addr)(i * t->extent), t);

        if (rc)
            return rc;
    }
    return MPI_SUCCESS;
}

static int move_element(struct walk *w, addr user, const struct wf_type *t)
{
    struct wf_type_block b;
    int64_t blocks;

    if (t->predefined)
        return move_predefined(w, user, t);
    blocks = wf_type_block_count(t);
    for (int64_t i = 0; i < blocks; i++) {
        int rc;

        wf_type_block(t, i, &b);
        if (b.type->size == 0)
            continue;
        rc = move_run(w, user + (addr)b.disp, b.type, b.n);
        if (rc)
            return rc;
    }
    return MPI_SUCCESS;
}

/* ---- types that keep their size ---------------------------------------- */

static void pack_stream(const struct wf_type *t, const void *buf,
                        uint64_t count, void *out)
{
    uint64_t n = count * (uint64_t)t->size;

    if (is_little_endian())
        wf_type_pack_swapped(t, buf, count, 0, out, n);
    else
        wf_type_pack(t, buf, count, 0, out, n);
}

static void unpack_stream(const struct wf_type *t, void *buf, uint64_t count,
                          const void *in)
{
    uint64_t n = count * (uint64_t)t->size;

    if (is_little_endian())
        wf_type_unpack_swapped(t, buf, count, 0, in, n);
    else
        wf_type_unpack(t, buf, count, 0, in, n);
}

/* ---- MPI functions ---------------------------------------------------- */

static int check_arguments(const char *datarep, MPI_Count count,
                           const struct wf_type *t, int64_t *need)
{
    if (strcmp(datarep, "external32") != 0)
        return wf_error(MPI_ERR_UNSUPPORTED_DATAREP,
                        "datarep \"%.40s\" is unknown; use \"external32\"",
                        datarep);
    if (count < 0)
        return wf_error(MPI_ERR_COUNT, "count %lld is negative",
                        (long long)count);
    if (__builtin_mul_overflow(count, wf_type_external(t), need))
        return wf_error(MPI_ERR_COUNT, "count %lld is more than memory holds",
                        (long long)count);
    return MPI_SUCCESS;
}

static int check_room(MPI_Count size, MPI_Count position, int64_t need)
{
    if (position < 0 || position > size)
        return wf_error(MPI_ERR_ARG, "position %lld is outside 0..%lld",
                        (long long)position, (long long)size);
    if (need > size - position)
        return wf_error(MPI_ERR_TRUNCATE,
                        "the buffer holds %lld bytes after position %lld; the "
                        "data needs %lld",
                        (long long)(size - position), (long long)position,
                        (long long)need);
    return MPI_SUCCESS;
}

int wf_mpi_pack_external(struct wf_instance *wf, const char *datarep,
                         const void *inbuf, MPI_Count incount,
                         struct wf_type *datatype, void *outbuf,
                         MPI_Count outsize, MPI_Count *position)
{
    struct walk w = {.unpack = false};
    int64_t need = 0;
    int rc = check_arguments(datarep, incount, datatype, &need);

    if (!rc)
        rc = check_room(outsize, *position, need);
    if (rc || need == 0)
        return rc;
    w.at = (unsigned char *)outbuf + *position;
    if (wf_type_needs_conversion(datatype))
        rc = move_run(&w, (addr)inbuf, datatype, incount);
    else
        pack_stream(datatype, inbuf, (uint64_t)incount, w.at);
    if (!rc)
        *position += need;
    return rc;
}

int wf_mpi_unpack_external(struct wf_instance *wf, const char datarep[],
                           const void *inbuf, MPI_Count insize,
                           MPI_Count *position, void *outbuf,
                           MPI_Count outcount, struct wf_type *datatype)
{
    struct walk w = {.unpack = true};
    int64_t need = 0;
    int rc = check_arguments(datarep, outcount, datatype, &need);

    if (!rc)
        rc = check_room(insize, *position, need);
    if (rc || need == 0)
        return rc;
    w.at = (unsigned char *)inbuf + *position;
    if (wf_type_needs_conversion(datatype))
        rc = move_run(&w, (addr)outbuf, datatype, outcount);
    else
        unpack_stream(datatype, outbuf, (uint64_t)outcount, w.at);
    if (!rc)
        *position += need;
    return rc;
}

int wf_mpi_pack_external_size(struct wf_instance *wf, const char *datarep,
                              MPI_Count incount, struct wf_type *datatype,
                              MPI_Count *size)
{
    int64_t need = 0;
    int rc = check_arguments(datarep, incount, datatype, &need);

    if (!rc)
        *size = need;
    return rc;
}
