/* A sentence for each predefined error class, MPI_Error_class and
 * MPI_Error_string (MPI-5.0 s9.4).
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "object/error_text.h"

#include <stdio.h>

#include "core_api.h"
#include "object/error.h"
#include "object/error_user.h"

struct class_text {
    int mpi_class;
    const char *name, *sentence;
};

/* clang-format off */
#define TEXT(c, sentence) {c, #c, sentence}
/* clang-format on */

static const struct class_text texts[] = {
    TEXT(MPI_SUCCESS, "No error"),
    TEXT(MPI_ERR_BUFFER, "The buffer address is not valid for this call"),
    TEXT(MPI_ERR_COUNT, "The count is negative or too large"),
    TEXT(MPI_ERR_TYPE, "The datatype is not valid or not committed"),
    TEXT(MPI_ERR_TAG, "The tag is outside 0..MPI_TAG_UB"),
    TEXT(MPI_ERR_COMM, "The communicator is not valid for this call"),
    TEXT(MPI_ERR_RANK, "The rank is outside the group it addresses"),
    TEXT(MPI_ERR_REQUEST, "The request is not valid for this call"),
    TEXT(MPI_ERR_ROOT, "The root is outside the communicator's group"),
    TEXT(MPI_ERR_GROUP, "The group is not valid for this call"),
    TEXT(MPI_ERR_OP, "The reduction operation is not valid for this call"),
    TEXT(MPI_ERR_TOPOLOGY, "The communicator has no topology of this kind"),
    TEXT(MPI_ERR_DIMS, "The dimensions are not valid"),
    TEXT(MPI_ERR_ARG, "An argument is not valid"),
    TEXT(MPI_ERR_UNKNOWN, "An error of unknown kind occurred"),
    TEXT(MPI_ERR_TRUNCATE,
         "The message is longer than the receive buffer it matched"),
    TEXT(MPI_ERR_OTHER, "The call cannot be made now"),
    TEXT(MPI_ERR_INTERN, "The library found an error in itself"),
    TEXT(MPI_ERR_PENDING,
         "The operation is neither complete nor failed: another one failed"),
    TEXT(MPI_ERR_IN_STATUS, "The error code is in the status of an operation"),
    TEXT(MPI_ERR_ACCESS, "Permission to the file was denied"),
    TEXT(MPI_ERR_AMODE, "The access mode of the file is not valid"),
    TEXT(MPI_ERR_ASSERT, "The assertion argument is not valid"),
    TEXT(MPI_ERR_BAD_FILE, "The file name is not valid"),
    TEXT(MPI_ERR_BASE, "The base address of the window is not valid"),
    TEXT(MPI_ERR_CONVERSION, "A data conversion function of the user failed"),
    TEXT(MPI_ERR_DISP, "The displacement is not valid"),
    TEXT(MPI_ERR_DUP_DATAREP, "The data representation is already registered"),
    TEXT(MPI_ERR_FILE_EXISTS, "The file exists already"),
    TEXT(MPI_ERR_FILE_IN_USE, "The file is open in some process"),
    TEXT(MPI_ERR_FILE, "The file handle is not valid"),
    TEXT(MPI_ERR_INFO_KEY, "The info key is empty or too long"),
    TEXT(MPI_ERR_INFO_NOKEY, "The info object has no such key"),
    TEXT(MPI_ERR_INFO_VALUE, "The info value is too long or not valid"),
    TEXT(MPI_ERR_INFO, "The info object is not valid for this call"),
    TEXT(MPI_ERR_IO, "Reading or writing failed"),
    TEXT(MPI_ERR_KEYVAL, "The attribute key is not valid for this call"),
    TEXT(MPI_ERR_LOCKTYPE, "The lock type is not valid"),
    TEXT(MPI_ERR_NAME, "The service name was not published"),
    TEXT(MPI_ERR_NO_MEM, "There is not enough memory"),
    TEXT(MPI_ERR_NOT_SAME,
         "The processes gave different arguments to a collective call"),
    TEXT(MPI_ERR_NO_SPACE, "There is no space left for the file"),
    TEXT(MPI_ERR_NO_SUCH_FILE, "The file does not exist"),
    TEXT(MPI_ERR_PORT, "The port name is not valid"),
    TEXT(MPI_ERR_QUOTA, "The disk quota is exceeded"),
    TEXT(MPI_ERR_READ_ONLY, "The file or file system is read-only"),
    TEXT(MPI_ERR_RMA_ATTACH, "The memory cannot be attached to the window"),
    TEXT(MPI_ERR_RMA_CONFLICT, "Accesses to the window conflict"),
    TEXT(MPI_ERR_RMA_RANGE, "The target memory is not part of the window"),
    TEXT(MPI_ERR_RMA_SHARED, "The memory cannot be shared by these processes"),
    TEXT(MPI_ERR_RMA_SYNC, "The call is outside the epoch it needs"),
    TEXT(MPI_ERR_SERVICE, "The service name is not valid for this call"),
    TEXT(MPI_ERR_SIZE, "The size is not valid"),
    TEXT(MPI_ERR_SPAWN, "The processes could not be started"),
    TEXT(MPI_ERR_UNSUPPORTED_DATAREP,
         "The data representation is not supported"),
    TEXT(MPI_ERR_UNSUPPORTED_OPERATION,
         "The operation is not supported on this object or at this time"),
    TEXT(MPI_ERR_WIN, "The window is not valid for this call"),
    TEXT(MPI_ERR_RMA_FLAVOR, "The window has the wrong flavor for this call"),
    TEXT(MPI_ERR_PROC_ABORTED, "A process of the operation has ended"),
    TEXT(MPI_ERR_VALUE_TOO_LARGE,
         "A result does not fit the type of its argument: use the _c form"),
    TEXT(MPI_ERR_SESSION, "The session is not valid for this call"),
    TEXT(MPI_ERR_ERRHANDLER, "The error handler is not valid for this call"),
    TEXT(MPI_ERR_ABI, "The call does not fit the application binary interface"),
    TEXT(MPI_T_ERR_CANNOT_INIT, "The tool interface cannot be initialized"),
    TEXT(MPI_T_ERR_NOT_ACCESSIBLE, "The tool interface is not accessible"),
    TEXT(MPI_T_ERR_NOT_INITIALIZED, "The tool interface is not initialized"),
    TEXT(MPI_T_ERR_NOT_SUPPORTED, "The tool interface does not support this"),
    TEXT(MPI_T_ERR_MEMORY, "The tool interface has not enough memory"),
    TEXT(MPI_T_ERR_INVALID, "The use of the tool interface is not valid"),
    TEXT(MPI_T_ERR_INVALID_INDEX, "The index is not valid or was removed"),
    TEXT(MPI_T_ERR_INVALID_ITEM, "The item index is out of range"),
    TEXT(MPI_T_ERR_INVALID_SESSION, "The tool session is not valid"),
    TEXT(MPI_T_ERR_INVALID_HANDLE, "The handle of the variable is not valid"),
    TEXT(MPI_T_ERR_INVALID_NAME, "No variable or category has this name"),
    TEXT(MPI_T_ERR_OUT_OF_HANDLES, "No more handles are available"),
    TEXT(MPI_T_ERR_OUT_OF_SESSIONS, "No more tool sessions are available"),
    TEXT(MPI_T_ERR_CVAR_SET_NOT_NOW,
         "The control variable cannot be set at this time"),
    TEXT(MPI_T_ERR_CVAR_SET_NEVER,
         "The control variable cannot be set until the program ends"),
    TEXT(MPI_T_ERR_PVAR_NO_WRITE, "The performance variable is read-only"),
    TEXT(MPI_T_ERR_PVAR_NO_STARTSTOP,
         "The performance variable cannot be started or stopped"),
    TEXT(MPI_T_ERR_PVAR_NO_ATOMIC,
         "The performance variable cannot be read and reset in one step"),
    TEXT(MPI_ERR_LASTCODE, "This is the last predefined error code"),
};

static const struct class_text *find_class_text(int mpi_class)
{
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (texts[i].mpi_class == mpi_class)
            return &texts[i];
    return NULL;
}

const char *wf_error_name(int mpi_class)
{
    static _Thread_local char number[40];
    const struct class_text *t = find_class_text(mpi_class);
    if (t)
        return t->name;
    snprintf(number, sizeof number, "error code %d", mpi_class);
    return number;
}

const char *wf_error_sentence(int mpi_class)
{
    const struct class_text *t = find_class_text(mpi_class);
    return t ? t->sentence : NULL;
}

int wf_mpi_error_class(struct wf_instance *wf, int errorcode, int *errorclass)
{
    if (errorcode > MPI_ERR_LASTCODE) {
        int c = wf_error_code_class(errorcode);
        if (c < 0)
            return wf_error(MPI_ERR_ARG, "error code %d was never added",
                            errorcode);
        *errorclass = c;
        return MPI_SUCCESS;
    }
    if (!find_class_text(errorcode))
        return wf_error(MPI_ERR_ARG, "%d is not an error code", errorcode);
    *errorclass = errorcode;
    return MPI_SUCCESS;
}

/* If the code is that of the last error of this thread, the detail of that
 * error follows the sentence of the class: a program that asks right after a
 * failed call learns the cause. */
int wf_mpi_error_string(struct wf_instance *wf, int errorcode, char *string,
                        int *resultlen)
{
    char text[MPI_MAX_ERROR_STRING];
    const struct class_text *t = find_class_text(errorcode);
    const struct wf_error_record *r = wf_error_last();
    if (!t) {
        if (!wf_error_code_text(errorcode, text))
            return wf_error(MPI_ERR_ARG, "%d is not an error code", errorcode);
    } else if (errorcode != MPI_SUCCESS && r->text[0] &&
               wf_error_class(r->status) == errorcode) {
        snprintf(text, sizeof text, "%s: %s: %.390s.", t->name, t->sentence,
                 r->text);
    } else {
        snprintf(text, sizeof text, "%s: %s.", t->name, t->sentence);
    }
    *resultlen = (int)strlen(text);
    memcpy(string, text, (size_t)*resultlen + 1);
    return MPI_SUCCESS;
}
