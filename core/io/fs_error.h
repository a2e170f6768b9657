/* The error class of each errno that a call on a file may give.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_IO_FS_ERROR_H
#define WF_IO_FS_ERROR_H

/* Returns the error class of an errno of a call on files (fs_error.c). */
int wf_fs_error_class(int error);

#endif
