/* Dice for tests: the same throws again from the same seed, on every machine.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_TEST_DICE_H
#define WF_TEST_DICE_H

#include <stdint.h>

static uint64_t dice_state = 1;

static inline uint32_t roll_dice(uint32_t sides)
{
    dice_state = dice_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(dice_state >> 33) % sides;
}

#endif
