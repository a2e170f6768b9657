/* The key by which launchers of one user know each other when one of them keeps
 * names for the others (name_server.h).
 *
 * It is a file, $WEFT_NAMES_KEY or ~/.config/weft/names.key, of the user and of
 * mode 0600. `mpirun --names` makes it if it is not there.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MPIRUN_NAME_KEY_H
#define WF_MPIRUN_NAME_KEY_H

#include <stdbool.h>
#include <stddef.h>

enum { NAME_KEY = 32 };

/* Read the key; make: make the file first if it is not there. Returns false,
 * with a sentence in why. */
bool wf_name_key_read(bool make, unsigned char key[NAME_KEY], char *why,
                      size_t n);

#endif
