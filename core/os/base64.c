/* The codec of base64 without padding.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "os/base64.h"

#include <stdint.h>

static const char alphabet[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void wf_base64_encode(char *out, const void *data, size_t n)
{
    const uint8_t *in = data;
    uint32_t bits = 0;
    int have = 0;
    for (size_t i = 0; i < n; i++) {
        bits = bits << 8 | in[i];
        for (have += 8; have >= 6; have -= 6)
            *out++ = alphabet[bits >> (have - 6) & 63];
    }
    if (have)
        *out++ = alphabet[bits << (6 - have) & 63];
    *out = 0;
}

static int value_of_digit(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

long wf_base64_decode(void *out, const char *text, size_t n)
{
    uint8_t *start = out, *p = out;
    uint32_t bits = 0;
    int have = 0;
    while (n && text[n - 1] == '=')
        n--;
    if (n % 4 == 1)
        return -1;
    for (size_t i = 0; i < n; i++) {
        int d = value_of_digit(text[i]);
        if (d < 0)
            return -1;
        bits = bits << 6 | (uint32_t)d;
        have += 6;
        if (have >= 8) {
            have -= 8;
            *p++ = (uint8_t)(bits >> have);
        }
    }
    return (long)(p - start);
}
