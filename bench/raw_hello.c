/* This smallest C program measures the size of files and the cost of a process.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdio.h>

int main(void)
{
    puts("hello");
    return 0;
}
