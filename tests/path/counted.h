/* For programs whose calls are counted: short_path.py.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef PATH_COUNTED_H
#define PATH_COUNTED_H

enum { ROUNDS = 9 };

/* Never merged with a function of the same text. */
#if __has_attribute(noipa)
#define COUNTED __attribute__((noipa)) static
#else
#define COUNTED __attribute__((noinline)) static
#endif

/* One function for each round, so that what disturbs a round, such as a peer
 * that had no processor, is seen in the count of that round only. */
#define ROUND(name, i, ...)                                                    \
    COUNTED void counted_##name##_##i(void)                                    \
    {                                                                          \
        __VA_ARGS__;                                                           \
    }
#define COUNTED_CALL(name, ...)                                                \
    ROUND(name, 0, __VA_ARGS__)                                                \
    ROUND(name, 1, __VA_ARGS__)                                                \
    ROUND(name, 2, __VA_ARGS__)                                                \
    ROUND(name, 3, __VA_ARGS__)                                                \
    ROUND(name, 4, __VA_ARGS__)                                                \
    ROUND(name, 5, __VA_ARGS__)                                                \
    ROUND(name, 6, __VA_ARGS__)                                                \
    ROUND(name, 7, __VA_ARGS__)                                                \
    ROUND(name, 8, __VA_ARGS__)                                                \
    static void (*const counted_##name[])(void) = {                            \
        counted_##name##_0, counted_##name##_1, counted_##name##_2,            \
        counted_##name##_3, counted_##name##_4, counted_##name##_5,            \
        counted_##name##_6, counted_##name##_7, counted_##name##_8};

#endif
