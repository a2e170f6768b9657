/* MPI_Get_library_version: the line that belongs into bug reports.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdio.h>

#include "api/check.h"

#define WF_TEXT(x) #x
#define WF_NUMBER(x) WF_TEXT(x)

int PMPI_Get_library_version(char *version, int *resultlen)
{
    if (!version || !resultlen)
        return wf_bad_pointer(wf_current(), NULL, "MPI_Get_library_version",
                              version ? "resultlen" : "version");
    static const char text[] =
        "Weft " WEFT_VERSION ", MPI " WF_NUMBER(MPI_VERSION) "." WF_NUMBER(
            MPI_SUBVERSION) ", ABI " WF_NUMBER(MPI_ABI_VERSION) "."
        WF_NUMBER(MPI_ABI_SUBVERSION) ", compiler " __VERSION__;
    _Static_assert(sizeof(text) <= MPI_MAX_LIBRARY_VERSION_STRING, "fits");
    memcpy(version, text, sizeof(text));
    *resultlen = (int)sizeof(text) - 1;
    return MPI_SUCCESS;
}
WF_WEAK(MPI_Get_library_version);
