/* Memory that ranks of one process share, in the form in which a transport
 * provides it: for shared-memory collectives, which take it from the transport
 * that connects their processes.
 *
 *   the rank that allocates it  makes a shared mapping without a name
 *   its key                     is empty: the address is enough
 *   the other ranks             use it where it is, and map it a second time
 *
 * DESIGN  Any memory of the process could be used as it is. But each user keeps
 * a mapping of its own when the rank that allocated this one frees it, and only
 * a MAP_SHARED mapping can be mapped a second time. MPI_Alloc_mem does not call
 * this: for messages between threads all memory is alike (WEFT_CAP_NO_MR).
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "thread/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include "thread/transport.h"

int wf_thread_mem_alloc(weft_ep *e, weft_mem *mem)
{
    int fd = memfd_create("weft-thread-alloc", MFD_CLOEXEC);
    bool made = fd >= 0 && ftruncate(fd, (off_t)mem->len) == 0;

    (void)e;
    mem->base =
        mmap(NULL, mem->len, PROT_READ | PROT_WRITE,
             made ? MAP_SHARED : MAP_SHARED | MAP_ANONYMOUS, made ? fd : -1, 0);
    if (fd >= 0 && (!made || mem->base == MAP_FAILED)) {
        close(fd);
        fd = -1;
    }
    mem->priv = (uint64_t)(int64_t)fd;
    return mem->base == MAP_FAILED ? WEFT_ENOMEM : WEFT_OK;
}

void wf_thread_mem_free(weft_ep *e, weft_mem *mem)
{
    (void)e;
    munmap(mem->base, mem->len);
    if ((int64_t)mem->priv >= 0)
        close((int)mem->priv);
}

int wf_thread_mr_reg(weft_ep *e, void *base, size_t len, weft_mr **mr)
{
    (void)base, (void)len;
    *mr = (weft_mr *)e; /* there is nothing to record */
    return WEFT_OK;
}

void wf_thread_mr_dereg(weft_ep *e, weft_mr *mr)
{
    (void)e, (void)mr;
}

int wf_thread_mr_pack(weft_ep *e, weft_mr *mr, void *rkey, size_t *len)
{
    (void)e, (void)mr, (void)rkey;
    *len = 0;
    return WEFT_OK;
}

int wf_thread_rkey_open(weft_peer *p, const void *rkey, size_t len,
                        weft_rkey **out)
{
    (void)rkey;
    *out = (weft_rkey *)p;
    return len == 0 ? WEFT_OK : WEFT_EINVAL;
}

void wf_thread_rkey_close(weft_peer *p, weft_rkey *k)
{
    (void)p, (void)k;
}

void *wf_thread_rkey_map(weft_rkey *k, uint64_t raddr, size_t len)
{
    (void)k, (void)len;
    return (void *)(uintptr_t)raddr;
}

/* Every rank may operate on all memory of the process: nothing is checked. */
int wf_thread_mr_expose(weft_ep *e, void *base, size_t len, uint32_t access,
                        weft_mr **mr)
{
    (void)access;
    return wf_thread_mr_reg(e, base, len, mr);
}

int wf_thread_rma(weft_peer *p, weft_rma *r)
{
    if (wf_load_relaxed(&p->box->closed) == MAIL_GONE)
        return WEFT_EPEER;
    weft_rma_perform(r, (void *)(uintptr_t)r->raddr);
    return WEFT_DONE;
}
