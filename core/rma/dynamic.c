/* Memory attached to a dynamic window (MPI-5.0 s12.2.4): an array of regions
 * without overlap, by address. Regions that touch each other are one for an
 * operation.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "rma/dynamic.h"

#include <stdlib.h>

#include "core_api.h"
#include "object/error.h"
#include "rma/win.h"

/* Returns the index of the first region that ends above an address. */
static size_t find_above(const struct wf_win *win, uint64_t address)
{
    size_t low = 0, high = win->region_count;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        const struct wf_region *r = &win->regions[mid];

        if (address - r->base < r->size || address < r->base)
            high = mid;
        else
            low = mid + 1;
    }
    return low;
}

bool wf_region_has(const struct wf_win *win, uint64_t address, uint64_t n)
{
    size_t i = find_above(win, address);

    if (n == 0)
        return true;
    for (; i < win->region_count; i++) {
        const struct wf_region *r = &win->regions[i];
        uint64_t here;

        if (address < r->base)
            return false;
        here = r->size - (address - r->base);
        if (n <= here)
            return true;
        address += here;
        n -= here;
    }
    return false;
}

static int check_dynamic(const struct wf_win *win, const char *verb)
{
    if (win->flavor == MPI_WIN_FLAVOR_DYNAMIC)
        return MPI_SUCCESS;
    return wf_error(MPI_ERR_RMA_FLAVOR,
                    "memory can be %s only a window of "
                    "MPI_Win_create_dynamic",
                    verb);
}

int wf_mpi_win_attach(struct wf_instance *wf, struct wf_win *win, void *base,
                      MPI_Aint size)
{
    uint64_t at = (uintptr_t)base, n = (uint64_t)size;
    size_t i;
    int rc = check_dynamic(win, "attached to");

    if (rc)
        return rc;
    if (size < 0 || at > UINT64_MAX - n)
        return wf_error(MPI_ERR_SIZE, "size is %lld but must be 0 or more",
                        (long long)size);
    if (!base && size)
        return wf_error(MPI_ERR_BASE, "base is NULL but size is %lld",
                        (long long)size);
    if (size == 0)
        return MPI_SUCCESS;
    i = find_above(win, at);
    if (i < win->region_count && win->regions[i].base < at + n)
        return wf_error(MPI_ERR_RMA_ATTACH,
                        "the %lld bytes at %p overlap memory that is attached "
                        "at %p",
                        (long long)size, base,
                        (void *)(uintptr_t)win->regions[i].base);
    if (win->region_count == win->region_room) {
        size_t room = win->region_room ? 2 * win->region_room : 8;
        struct wf_region *more = realloc(win->regions, room * sizeof *more);
        if (!more)
            return wf_error(MPI_ERR_NO_MEM, "no memory to attach a region");
        win->regions = more;
        win->region_room = room;
    }
    memmove(&win->regions[i + 1], &win->regions[i],
            (win->region_count - i) * sizeof *win->regions);
    win->regions[i] = (struct wf_region){at, n};
    win->region_count++;
    return MPI_SUCCESS;
}

int wf_mpi_win_detach(struct wf_instance *wf, struct wf_win *win,
                      const void *base)
{
    uint64_t at = (uintptr_t)base;
    size_t i;
    int rc = check_dynamic(win, "detached from");

    if (rc)
        return rc;
    i = find_above(win, at);
    if (i == win->region_count || win->regions[i].base != at)
        return wf_error(MPI_ERR_RMA_ATTACH,
                        "no memory is attached that begins at %p", base);
    win->region_count--;
    memmove(&win->regions[i], &win->regions[i + 1],
            (win->region_count - i) * sizeof *win->regions);
    return MPI_SUCCESS;
}
