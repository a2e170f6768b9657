/* Error classes, codes and strings that the program adds (MPI-5.0 s9.5).
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_OBJECT_ERROR_USER_H
#define WF_OBJECT_ERROR_USER_H

#include "base.h"

/* The codes that the program has added. wf_error_code_class returns the class
 * of a code, or -1; wf_error_code_text copies its text, or returns false;
 * wf_error_last_code returns MPI_LASTUSEDCODE. */
int wf_error_code_class(int code);
bool wf_error_code_text(int code, char text[MPI_MAX_ERROR_STRING]);
int wf_error_last_code(void);

#endif
