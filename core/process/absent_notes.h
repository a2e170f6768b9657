/* Notes by which the linker says why it does not find a function that is not
 * implemented.
 *
 * GNU ld prints the contents of a section .gnu.warning.SYMBOL beside each
 * reference to that symbol, and puts none of it into the program. These
 * sections are in a member of libmpi.a that every program needs. mpicc also
 * asks for it by name (-u weft_absent_notes), for the programs of configure
 * scripts that call only the function for which they test.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_ABSENT_NOTES_H
#define WF_ABSENT_NOTES_H

#include "mpi.h"

#define WF_ABSENT_NOTE(symbol, chapter)                                        \
    __asm__(".pushsection .gnu.warning." symbol ",\"\",%progbits\n"            \
            ".string \"" symbol " is not implemented in Weft " WEFT_VERSION    \
            " (chapter '" chapter "' of the standard) and not in libmpi.a; "   \
            "with libmpi_abi.so (mpicc -shared-mpi) the program links, and "   \
            "the call is an error\"\n"                                         \
            ".popsection");
#define ABSENT(name, chapter)                                                  \
    WF_ABSENT_NOTE(#name, chapter)                                             \
    WF_ABSENT_NOTE("P" #name, chapter)
#include "absent_notes.def"
#undef ABSENT

extern const char weft_absent_notes;
const char weft_absent_notes = 1;

#endif
