/* The functions that the vendored libsodium members call and whose
 * original file would pull in the whole library.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "crypto/vendor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

void wf_vendor_sodium_memzero(void *p, size_t n)
{
    explicit_bzero(p, n);
}

int wf_vendor_sodium_memcmp(const void *x, const void *y, size_t n)
{
    const volatile unsigned char *a = x, *b = y;
    unsigned char differ = 0;
    for (size_t i = 0; i < n; i++)
        differ |= a[i] ^ b[i];
    return differ ? -1 : 0;
}

/* End the process. libsodium calls this for a text longer than the cipher
 * allows; containers are far shorter. */
void wf_vendor_sodium_misuse(void)
{
    abort();
}

/* Fill a buffer with random bytes. It cannot report failure and must not return
 * predictable bytes, so it ends the process instead. */
void wf_vendor_randombytes_buf(void *buf, size_t n)
{
    unsigned char *at = buf;
    while (n > 0) {
        ssize_t got = getrandom(at, n, 0);
        if (got < 0 && errno != EINTR)
            abort();
        if (got > 0) {
            at += got;
            n -= (size_t)got;
        }
    }
}
