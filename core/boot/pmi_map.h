/* The process mapping of PMI: which rank runs on which node.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_BOOT_PMI_MAP_H
#define WF_BOOT_PMI_MAP_H

#include "base.h"

/* Parse "(vector,(first,nodes,ppn),...)" into the node of each rank. Blocks
 * are repeated when they cover fewer than size ranks. 0, or -1 when the text is
 * malformed; then node_of holds nothing usable. */
int wf_pmi_map_parse(const char *text, size_t len, uint32_t size,
                     uint32_t *node_of, uint32_t *node_count);

#endif
