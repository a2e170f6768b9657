/* The keyed code of a datagram.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MAC_H
#define WF_MAC_H

#include <sys/uio.h>

#include "base.h"

uint64_t wf_mac64(const uint64_t key[2], uint64_t nonce, const struct iovec *,
                  int n);

#endif
