/* Functions of inih and libsodium that travel inside the library under private
 * names (cmake/vendor.sh makes the object). Nothing else includes ini.h or
 * sodium.h.
 *
 * Hidden: a reference with hidden visibility hides the definition too, so that
 * the shared library exports none of them.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_VENDOR_H
#define WF_VENDOR_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* ---- inih ----
 * The handler returns nonzero to go on; name and value are valid during the
 * call only. The reader works as fgets does (at most n bytes with the NUL); a
 * reader that counts the lines it hands out knows the line of each call. How
 * long a line may be, and that a line which begins with white space continues
 * the value before it, depend on how inih was built. Returns 0, or the line
 * of the first error, or -2 without memory. */
typedef int (*wf_vendor_ini_handler)(void *user, const char *section,
                                     const char *name, const char *value);
typedef char *(*wf_vendor_ini_reader)(char *buf, int n, void *stream);

int wf_vendor_ini_parse_stream(wf_vendor_ini_reader, void *stream,
                               wf_vendor_ini_handler, void *user);

/* ---- libsodium ---- */
int wf_vendor_crypto_auth_hmacsha256(unsigned char mac[32],
                                     const unsigned char *in,
                                     unsigned long long n,
                                     const unsigned char key[32]);
/* 0 when equal; takes the same time wherever they differ. */
int wf_vendor_crypto_verify_32(const unsigned char x[32],
                               const unsigned char y[32]);

/* vendor.c: functions of the rest of libsodium that its members call. */
void wf_vendor_sodium_memzero(void *p, size_t n);
int wf_vendor_sodium_memcmp(const void *x, const void *y, size_t n);
void wf_vendor_sodium_misuse(void);
void wf_vendor_randombytes_buf(void *buf, size_t n);

#pragma GCC visibility pop

#endif
