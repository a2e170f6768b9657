/* Memory that ranks of one process share, in the form in which a transport
 * provides it: for shared-memory collectives, which take it from the transport
 * that connects their processes.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_THREAD_MEMORY_H
#define WF_THREAD_MEMORY_H

#include "base.h"

/* Operations of the ADI (weft_transport.h). */
int wf_thread_mem_alloc(weft_ep *, weft_mem *);
void wf_thread_mem_free(weft_ep *, weft_mem *);
int wf_thread_mr_reg(weft_ep *, void *, size_t, weft_mr **);
void wf_thread_mr_dereg(weft_ep *, weft_mr *);
int wf_thread_mr_pack(weft_ep *, weft_mr *, void *, size_t *);
int wf_thread_rkey_open(weft_peer *, const void *, size_t, weft_rkey **);
void wf_thread_rkey_close(weft_peer *, weft_rkey *);
void *wf_thread_rkey_map(weft_rkey *, uint64_t, size_t);
int wf_thread_mr_expose(weft_ep *, void *, size_t, uint32_t, weft_mr **);
int wf_thread_rma(weft_peer *, weft_rma *);

#endif
