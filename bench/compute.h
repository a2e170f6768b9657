/* The computation needs nothing but time: a chain of multiplications in
 * registers. The empty statement keeps the compiler from knowing the result.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef COMPUTE_H
#define COMPUTE_H

static inline void compute_turns(long turns)
{
    unsigned long x = 1;

    for (long i = 0; i < turns; i++) {
        x = x * 6364136223846793005u + 1;
        __asm__ volatile("" : "+r"(x));
    }
}

#endif
