/* Fuzz target: any bytes as a line of PMI-1 and as a process mapping.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>

#include "base.h"
#include "boot/pmi_line.h"
#include "boot/pmi_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_line(const char *text)
{
    static const char *const keys[] = {"cmd", "rc", "value", "size", "", "a"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *value;
        char out[16];
        size_t n;
        int number;
        if (wf_pmi_field(text, keys[i], &value, &n) &&
            (value < text || value + n > text + strlen(text)))
            abort();
        if (wf_pmi_field_copy(text, keys[i], out, sizeof out) &&
            strlen(out) >= sizeof out)
            abort();
        wf_pmi_field_int(text, keys[i], &number);
        wf_pmi_field_is(text, keys[i], "init");
    }
}

static void try_mapping(const char *text, size_t n)
{
    for (uint32_t size = 0; size <= 9; size += 3) {
        uint32_t *node_of = malloc((size + 1) * sizeof *node_of), count = 0;
        node_of[size] = 0x5aa5;
        if (wf_pmi_map_parse(text, n, size, node_of, &count) == 0)
            for (uint32_t i = 0; i < size; i++)
                if (node_of[i] >= count)
                    abort();
        if (node_of[size] != 0x5aa5)
            abort();
        free(node_of);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    try_line(text);
    try_mapping((const char *)data, size);
    free(text);
    return 0;
}
