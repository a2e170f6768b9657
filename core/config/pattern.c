/* Names with ranges: dsp[1-3] stands for dsp1 dsp2 dsp3, node[01-16] keeps its
 * zeros, and [1,3-5] is a list. With several brackets the last one varies
 * fastest.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "config/pattern.h"

#include <stdio.h>

#include "config/select.h"

enum { COUNT_MAX = 65536 };

/* A range "a" or "a-b" within brackets. */
struct part {
    uint64_t lo, hi;
    int width; /* digits when the first one is 0: node01; else 0 */
};

static const char *take_number(const char *at, uint64_t *n, int *digits)
{
    *n = 0;
    *digits = 0;
    while (*at >= '0' && *at <= '9' && *digits < 10) {
        *n = *n * 10 + (uint64_t)(*at++ - '0');
        ++*digits;
    }
    return *digits > 0 ? at : NULL;
}

/* Parse the range at `at`. Returns the ',' or ']' behind it, or NULL. */
static const char *take_range(const char *at, struct part *part)
{
    int digits, more;
    bool zeros = *at == '0';
    at = take_number(at, &part->lo, &digits);
    if (at == NULL)
        return NULL;
    part->hi = part->lo;
    part->width = zeros && digits > 1 ? digits : 0;
    if (*at == '-')
        at = take_number(at + 1, &part->hi, &more);
    if (at == NULL || part->hi < part->lo || (*at != ',' && *at != ']'))
        return NULL;
    return at;
}

/* The number of names that the bracket at `at` makes; *end: after its ']'. */
static uint64_t count_bracket(const char *at, const char **end)
{
    uint64_t n = 0;
    do {
        struct part part;
        at = take_range(at + 1, &part);
        if (at == NULL)
            return 0;
        n += part.hi - part.lo + 1;
    } while (*at == ',');
    *end = at + 1;
    return n > COUNT_MAX ? 0 : n;
}

uint32_t wf_pattern_count(const char *pattern)
{
    uint64_t n = 1;
    while (*pattern != '\0' && n > 0 && n <= COUNT_MAX) {
        if (*pattern == ']')
            return 0;
        if (*pattern == '[')
            n *= count_bracket(pattern, &pattern);
        else
            pattern++;
        if (n == 0)
            return 0;
    }
    return n > COUNT_MAX ? 0 : (uint32_t)n;
}

/* Print the i-th number of a bracket. */
static int print_bracket(const char *at, uint64_t i, char *buf, size_t n)
{
    struct part part;
    for (;;) {
        at = take_range(at + 1, &part);
        uint64_t here = part.hi - part.lo + 1;
        if (i < here)
            return snprintf(buf, n, "%0*llu", part.width,
                            (unsigned long long)(part.lo + i));
        i -= here;
    }
}

bool wf_pattern_expand(const char *pattern, uint32_t i, char *buf, size_t n)
{
    uint64_t behind = wf_pattern_count(pattern); /* names per step here */
    size_t used = 0;
    if (behind == 0 || i >= behind)
        return false;
    while (*pattern != '\0' && used + 1 < n) {
        const char *end;
        if (*pattern != '[') {
            buf[used++] = *pattern++;
            continue;
        }
        behind /= count_bracket(pattern, &end);
        int wrote = print_bracket(pattern, i / behind, buf + used, n - used);
        i %= (uint32_t)behind;
        if (wrote < 0 || (size_t)wrote >= n - used)
            return false;
        used += (size_t)wrote;
        pattern = end;
    }
    buf[used] = '\0';
    return *pattern == '\0';
}

static char to_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Whether the number of `digits` digits at `name` is in the bracket at `at`. */
static bool has_number(const char *at, const char *name, int digits)
{
    uint64_t n;
    int all;
    if (take_number(name, &n, &all) == NULL || all < digits)
        return false;
    for (int drop = all - digits; drop > 0; drop--)
        n /= 10;
    do {
        struct part part;
        at = take_range(at + 1, &part);
        if (at == NULL)
            return false;
        bool form =
            part.width > 0 ? digits == part.width : digits == 1 || *name != '0';
        if (form && n >= part.lo && n <= part.hi)
            return true;
    } while (*at == ',');
    return false;
}

bool wf_pattern_match(const char *pattern, const char *name)
{
    for (; *pattern != '\0' && *pattern != '*'; pattern++, name++) {
        const char *end;
        if (*pattern == '[') {
            if (count_bracket(pattern, &end) == 0)
                return false;
            for (int digits = 1; digits <= 10; digits++) {
                if (name[digits - 1] < '0' || name[digits - 1] > '9')
                    return false;
                if (has_number(pattern, name, digits) &&
                    wf_pattern_match(end, name + digits))
                    return true;
            }
            return false;
        }
        if (*name == '\0' ||
            (*pattern != '?' && to_lower(*pattern) != to_lower(*name)))
            return false;
    }
    if (*pattern == '\0')
        return *name == '\0';
    while (pattern[1] == '*')
        pattern++;
    for (;; name++) {
        if (wf_pattern_match(pattern + 1, name))
            return true;
        if (*name == '\0')
            return false;
    }
}

bool wf_pattern_match_host(const char *pattern, const char *host)
{
    char label[256];
    if (wf_pattern_match(pattern, host))
        return true;
    size_t n = strcspn(host, ".");
    if (strchr(pattern, '.') != NULL || host[n] == '\0' || n >= sizeof label)
        return false;
    memcpy(label, host, n);
    label[n] = '\0';
    return wf_pattern_match(pattern, label);
}
