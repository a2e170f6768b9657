/* This program packs and unpacks by hand, as a program without datatypes does.
 *
 *   raw_pack pack|unpack CASE MS
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "raw.h"

#include "pack_cases.h"

struct job {
    struct pack_data data;
    int unpack;
    long times;
};

static double time_loops(void *what)
{
    struct job *j = what;
    double start = now_us();

    for (long i = 0; i < j->times; i++)
        by_hand(&j->data, j->unpack);
    return (now_us() - start) / (double)j->times;
}

int main(int argc, char **argv)
{
    static double v[BATCHES];
    int n;

    if (argc != 4)
        return 2;
    struct job j = {pack_make(argv[2]), strcmp(argv[1], "unpack") == 0, 1};
    bind_rank(0);
    j.times = calibrate_batch(time_loops, &j);
    n = repeat_batches(time_loops, &j, atof(argv[3]) * 1e3, v);
    print_rates("gbs", 0, v, n, (double)j.data.bytes / 1e3);
    return 0;
}
