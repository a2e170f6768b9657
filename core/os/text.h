/* Compares words without regard to case, ASCII only. The locale must not change
 * what mpi.ini means, and the functions of libc cost a static program 25 KB.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_TEXT_H
#define WF_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static inline char wf_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Tells whether the first n characters of both are the same, up to an end of
 * text. */
static inline bool wf_same_start(const char *a, const char *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (wf_lower(a[i]) != wf_lower(b[i]))
            return false;
        else if (a[i] == '\0')
            return true;
    return true;
}

static inline bool wf_same_word(const char *a, const char *b)
{
    return wf_same_start(a, b, strlen(a) + 1);
}

#endif
