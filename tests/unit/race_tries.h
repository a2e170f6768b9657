/* How often a test tries to win a race against a check of trust.
 *
 * The environment's RACE_TRIES, or 20 000: enough that each order of events is
 * met many times, and short. A run by hand with 100 000 is the full test:
 *
 *   RACE_TRIES=100000 build/tests/unit/unit_trust_open
 *   RACE_TRIES=100000 build/tests/unit/unit_trust_load
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_TEST_RACE_TRIES_H
#define WF_TEST_RACE_TRIES_H

#include <stdbool.h>
#include <stdlib.h>

enum { RACE_TRIES_USUAL = 20000, RACE_EXTENSION = 20 };

static inline int race_tries(void)
{
    const char *text = getenv("RACE_TRIES");
    return text ? atoi(text) : RACE_TRIES_USUAL;
}

/* Go on with try i? Beyond the number of tries only until both outcomes were
 * seen, and not for ever. */
static inline bool race_goes_on(int i, bool both_seen)
{
    int tries = race_tries();
    return i < tries || (!both_seen && i < RACE_EXTENSION * tries);
}

#endif
