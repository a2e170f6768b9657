/* MPI_Dims_create divides a number into factors that are as close to each other
 * as possible (MPI-5.0 s8.5.2).
 *
 * DESIGN  "Close" is taken literally: the difference between the largest and
 * the smallest factor is as small as possible; then the smallest is as large as
 * possible, then the next one, and so on. The search runs over the divisors,
 * smallest factor first, and leaves a branch as soon as the remaining factors
 * cannot lie between the limits that the best result so far sets. (J. L. Träff
 * and F. D. Lübbe, Specification guideline violations by MPI_Dims_create,
 * EuroMPI 2015, show what greedy factoring misses.)
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "topo/dims.h"

#include <limits.h>
#include <stdlib.h>

#include "core_api.h"
#include "object/error.h"

enum {
    DIVISORS_MAX = 1600, /* 2095133040 has so many, the most below 2^31 */
    FACTORS_MAX = 31     /* one more than such a number has prime factors */
};

struct search {
    int divisors[DIVISORS_MAX], count; /* ascending */
    int spread;                        /* of the best result */
    int best[FACTORS_MAX], trial[FACTORS_MAX];
};

/* Returns base^exponent, or some number above limit if that is larger. */
static int64_t compute_power(int64_t base, int exponent, int64_t limit)
{
    int64_t p = 1;

    while (base > 1 && exponent-- > 0 && p <= limit)
        p *= base;
    return p;
}

static void list_divisors(struct search *s, int n)
{
    int low = 0, high = DIVISORS_MAX;

    for (int d = 1; d <= n / d; d++)
        if (n % d == 0) {
            s->divisors[low++] = d;
            if (d != n / d)
                s->divisors[--high] = n / d;
        }
    memmove(s->divisors + low, s->divisors + high,
            (size_t)(DIVISORS_MAX - high) * sizeof *s->divisors);
    s->count = low + DIVISORS_MAX - high;
}

/* Returns the largest prime factor of n. The largest factor of a sequence is
 * never below it. */
static int find_largest_prime(const struct search *s, int n)
{
    int prime = 1;

    for (int i = 1; i < s->count && n > 1; i++)
        for (; n % s->divisors[i] == 0; n /= s->divisors[i])
            prime = s->divisors[i]; /* smaller divisors are taken out of n */
    return prime;
}

/* Keep the trial, a complete sequence that is better than the best so far. */
static void keep_trial(struct search *s, int k)
{
    memcpy(s->best, s->trial, (size_t)k * sizeof *s->best);
    s->spread = s->trial[k - 1] - s->trial[0];
}

/* Fill trial[at..k-1] with factors of rest: none is below the one before, none
 * so large that the result would not be better. The largest are tried first. */
static void search_factors(struct search *s, int rest, int at, int k)
{
    int last = s->trial[at - 1];

    if (at == k) {
        if (rest == 1)
            keep_trial(s, k);
        return;
    }
    for (int i = s->count - 1; i >= 0 && s->divisors[i] >= last; i--) {
        int d = s->divisors[i];
        int64_t most = (int64_t)s->trial[0] + s->spread - 1;
        if (compute_power(most, k - at, rest) < rest)
            return;
        if (d > most || rest % d || compute_power(d, k - at, rest) > rest)
            continue;
        s->trial[at] = d;
        search_factors(s, rest / d, at + 1, k);
    }
}

int wf_dims_balance(int n, int k, int dims[])
{
    struct search *s = malloc(sizeof *s);
    int prime;

    if (!s)
        return wf_error(MPI_ERR_NO_MEM, "no memory for %d dimensions", k);
    while (k > FACTORS_MAX)
        dims[--k] = 1;
    s->spread = INT_MAX;
    list_divisors(s, n);
    prime = find_largest_prime(s, n);
    for (int i = s->count - 1; i >= 0; i--) {
        s->trial[0] = s->divisors[i];
        if (prime - s->trial[0] < s->spread &&
            compute_power(s->trial[0], k, n) <= n)
            search_factors(s, n / s->trial[0], 1, k);
    }
    for (int d = 0; d < k; d++)
        dims[d] = s->best[k - 1 - d];
    free(s);
    return MPI_SUCCESS;
}

/* Find the quotient of nnodes that the entries which are 0 are to share, and
 * the number of those entries. */
static int find_free_part(int nnodes, int ndims, const int dims[], int *rest,
                          int *open)
{
    *rest = nnodes;
    *open = 0;
    for (int d = 0; d < ndims; d++) {
        if (dims[d] < 0)
            return wf_error(MPI_ERR_DIMS,
                            "dims[%d] is %d but must be 0 or more", d, dims[d]);
        if (dims[d] == 0)
            ++*open;
        else if (*rest % dims[d])
            return wf_error(MPI_ERR_DIMS,
                            "nnodes is %d, no multiple of the "
                            "dimensions that are given, up to dims[%d] = %d",
                            nnodes, d, dims[d]);
        else
            *rest /= dims[d];
    }
    if (!*open && *rest != 1)
        return wf_error(MPI_ERR_DIMS,
                        "all dimensions are given, but their "
                        "product is not nnodes (%d)",
                        nnodes);
    return MPI_SUCCESS;
}

int wf_mpi_dims_create(struct wf_instance *wf, int nnodes, int ndims,
                       int dims[])
{
    int rest, open, rc, *filled;

    if (nnodes < 1)
        return wf_error(MPI_ERR_ARG, "nnodes is %d but must be 1 or more",
                        nnodes);
    rc = find_free_part(nnodes, ndims, dims, &rest, &open);
    if (rc || !open)
        return rc;
    filled = malloc((size_t)open * sizeof *filled);
    if (!filled)
        return wf_error(MPI_ERR_NO_MEM, "no memory for %d dimensions", open);
    rc = wf_dims_balance(rest, open, filled);
    for (int d = 0, i = 0; !rc && d < ndims; d++)
        if (dims[d] == 0)
            dims[d] = filled[i++];
    free(filled);
    return rc;
}
