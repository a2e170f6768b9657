/* The message authentication code (MAC) of a datagram.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MAC_H
#define WF_MAC_H

#include <sys/uio.h>

#include "base.h"

/* The SipHash-2-4 of the nonce and n pieces of data. */
uint64_t wf_mac64(const uint64_t key[2], uint64_t nonce, const struct iovec *,
                  int n);

#endif
