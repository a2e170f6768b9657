"""Writes include/mpi.h, the header of the MPI 5.0 ABI, from the tables.
SPDX-License-Identifier: BSD-3-Clause
"""
import standard

TOP = """\
/* mpi.h - the MPI 5.0 application binary interface, ABI version 1.0.
 *
 * Generated from core/api/standard by core/api/generate.py; do not edit.
 *
 *   version . types . integer constants . user function types .
 *   handle and pointer constants . MPI_ functions . PMPI_ functions .
 *   Fortran's integers
 *
 * Define WEFT_WARN_DEPRECATED to be warned of functions that the standard
 * deprecates, and WEFT_NO_FINT to do without MPI_Fint and what belongs to it,
 * which the standard's ABI leaves to whoever brings the Fortran bindings.
 *
 * MPI_Psend_init and MPI_Precv_init take an MPI_Count, as in the text of the
 * standard (MPI-5.0 s4.2.1), in MPICH and in Open MPI. The header that the Forum
 * publishes for the ABI has an int there; its MPI_Psend_init_c and
 * MPI_Precv_init_c, which the text does not have, are the same functions here.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef MPI_H_ABI
#define MPI_H_ABI

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_VERSION    "0.1.0"
#define WEFT_NUMVERSION 100 /* major * 10000 + minor * 100 + patch */

#if defined(__GNUC__) && defined(WEFT_WARN_DEPRECATED)
#define WEFT_DEPRECATED(text) __attribute__((deprecated(text)))
#else
#define WEFT_DEPRECATED(text)
#endif
"""

TYPES = """
typedef intptr_t MPI_Aint;
typedef int64_t MPI_Offset;
typedef int64_t MPI_Count;

typedef struct MPI_Status {
    int MPI_SOURCE;
    int MPI_TAG;
    int MPI_ERROR;
    int MPI_internal[5];
} MPI_Status;
"""

HANDLE_TYPES = ("Comm Datatype Errhandler File Group Info Message Op Request "
                "Session Win").split()
TOOL_HANDLE_TYPES = ("cvar_handle enum event_instance event_registration "
                     "pvar_handle pvar_session").split()
# Enumerations that are types of their own: prefix of their constants.
ENUM_TYPES = {"MPI_T_CB_REQUIRE_": "MPI_T_cb_safety",
              "MPI_T_SOURCE_": "MPI_T_source_order"}
# What the groups of the table do not say about pointer-valued constants.
POINTER_TITLES = {
    "MPI_Op": "Reduction operations", "MPI_Comm": "Communicators",
    "MPI_Group": "Groups", "MPI_Win": "Windows", "MPI_File": "Files",
    "MPI_Session": "Sessions", "MPI_Message": "Messages",
    "MPI_Info": "Info objects", "MPI_Errhandler": "Error handlers",
    "MPI_Request": "Requests", "MPI_Datatype": "Datatypes",
    "void*": "Buffer addresses", "char**": "Arguments that may be left out",
    "MPI_Offset": "File positions",
    "MPI_Copy_function*": "Predefined attribute functions",
    "MPI_Datarep_conversion_function*": "Predefined conversion functions",
    "MPI_T_enum": "Tool handles",
}
TITLES = {
    "Fortran 1977 Status Size and Indices": "Fortran 77 status array",
    "Communicator": "Predefined attributes of communicators",
    "Window": "Predefined attributes of windows",
    "MPI_T types and constants": "Tool interface",
    "Multi-purpose sentinel": "No value",
}


# The names by which other headers know the types of error handlers.
ERRHANDLER_FN = "Comm File Session Win".split()
# Kinds of handles that have an integer, as in MPI_X_toint.
FINT_KINDS = ("Comm Errhandler File Group Info Message Op Request Session "
              "Type Win").split()
FINT_TOP = """
/* C programs convert handles for a part that is written in Fortran, or to keep
 * them in an int. Fortran's status holds the same words as MPI_Status. */
#ifndef WEFT_NO_FINT

typedef int MPI_Fint;
typedef MPI_Status MPI_F08_status;

"""
FINT_STATUS = """
#if defined(__cplusplus) || \\
    (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 199901L)
#define WEFT_INLINE static inline
#elif defined(__GNUC__)
#define WEFT_INLINE static __inline__
#else
#define WEFT_INLINE static
#endif

/* from, which is a status, to to; MPI_STATUS_IGNORE is none. */
WEFT_INLINE int weft_status_copy(const void *from, void *to)
{
    const int *in = (const int *)from;
    int *out = (int *)to, i;
    if (!in || !out)
        return MPI_ERR_ARG;
    for (i = 0; i < (int)(sizeof(MPI_Status) / sizeof(int)); i++)
        out[i] = in[i];
    return MPI_SUCCESS;
}

"""
# (name, from, to)
FINT_STATUSES = (("c2f", "MPI_Status", "MPI_Fint"),
                 ("f2c", "MPI_Fint", "MPI_Status"),
                 ("c2f08", "MPI_Status", "MPI_F08_status"),
                 ("f082c", "MPI_F08_status", "MPI_Status"),
                 ("f2f08", "MPI_Fint", "MPI_F08_status"),
                 ("f082f", "MPI_F08_status", "MPI_Fint"))


def section(out, title):
    out.write(f"\n/* ---- {title} " + "-" * (69 - len(title)) + " */\n")


def enumerators(out, rows, indent="    "):
    width = max(len(r["name"]) for r in rows)
    for i, r in enumerate(rows):
        comma = "," if i + 1 < len(rows) else ""
        out.write(f"{indent}{r['name']:<{width}} = {r['value']}{comma}\n")


def integer_constants(out, rows):
    groups = {}
    for r in rows:
        if r["c_type"] != "enum int":
            continue
        prefix = next((p for p in ENUM_TYPES if r["name"].startswith(p)), None)
        groups.setdefault(prefix or r["group"], []).append(r)
    for group, members in groups.items():
        if group in ENUM_TYPES:
            name = ENUM_TYPES[group]
            out.write(f"\ntypedef enum {name} {{\n")
            enumerators(out, members)
            out.write(f"}} {name};\n")
            continue
        out.write(f"\n/* {TITLES.get(group, group)} */\nenum {{\n")
        enumerators(out, members)
        out.write("};\n")


def macro(r):
    value = r["value"]
    if r["c_type"] not in ("int", "alias"):
        c_type = r["c_type"].replace("*", " *", 1)
        value = f"(({c_type}){value})"
    return value


def macros(out, rows):
    width = max(len(r["name"]) for r in rows)
    for r in rows:
        out.write(f"#define {r['name']:<{width}} {macro(r)}\n")


def version_macros(out, rows):
    out.write("\n")
    macros(out, [r for r in rows if r["c_type"] == "int"
                 and not r["group"]])


def pointer_constants(out, rows):
    """Handles and addresses, a block for each type (aliases stay in place)."""
    block, title = [], None
    for r in rows:
        if r["c_type"] == "enum int":
            continue
        if r["c_type"] == "int":
            new = r["group"]
            if not new:
                continue
        else:
            new = POINTER_TITLES.get(r["c_type"], title)
        if new != title and block:
            out.write(f"\n/* {title} */\n")
            macros(out, block)
            block = []
        title = new
        block.append(r)
    out.write(f"\n/* {title} */\n")
    macros(out, block)


def prototype(f, name, tail=""):
    return standard.wrap(f.prototype(name) + tail + ";") + "\n"


def functions(out):
    fs = standard.functions().values()
    out.write("\n#ifdef __GNUC__\n#pragma GCC visibility push(default)\n"
              "#endif\n")
    section(out, "MPI functions")
    out.write("\n")
    for f in fs:
        tail = ""
        if f.history.startswith("deprecated"):
            tail = f' WEFT_DEPRECATED("{f.history}")'
        out.write(prototype(f, f.name, tail))
    section(out, "the same under their profiling names")
    out.write("\n")
    for f in fs:
        out.write(prototype(f, "P" + f.name))
    out.write("\n#ifdef __GNUC__\n#pragma GCC visibility pop\n#endif\n")


def errhandler_names(out):
    for kind in ERRHANDLER_FN:
        out.write(f"typedef MPI_{kind}_errhandler_function "
                  f"MPI_{kind}_errhandler_fn;\n")


def fortran_integers(out):
    section(out, "Fortran's integers")
    out.write(FINT_TOP)
    for p in ("", "P"):
        for kind in FINT_KINDS:
            for name, call in (("c2f", "toint"), ("f2c", "fromint")):
                out.write(f"#define {p}MPI_{kind}_{name}(handle) "
                          f"{p}MPI_{kind}_{call}(handle)\n")
    out.write(FINT_STATUS)
    for name, source, target in FINT_STATUSES:
        out.write(f"WEFT_INLINE int MPI_Status_{name}(const {source} *from, "
                  f"{target} *to)\n{{\n    return weft_status_copy(from, to);\n"
                  "}\n")
    for name, _, _ in FINT_STATUSES:
        out.write(f"#define PMPI_Status_{name} MPI_Status_{name}\n")
    out.write("\n#endif\n")


def write(out):
    rows = standard.rows("constants.csv")
    out.write(TOP)
    section(out, "version")
    version_macros(out, rows)
    section(out, "types")
    out.write(TYPES + "\n")
    for h in HANDLE_TYPES:
        out.write(f"typedef struct MPI_ABI_{h} *MPI_{h};\n")
    for h in TOOL_HANDLE_TYPES:
        out.write(f"typedef struct MPI_ABI_T_{h} *MPI_T_{h};\n")
    section(out, "integer constants")
    integer_constants(out, rows)
    section(out, "types of user functions")
    out.write("\n")
    for c in standard.rows("callbacks.csv"):
        text = f"typedef {c['returns']} {c['name']}({c['parameters']});"
        out.write(standard.wrap(text) + "\n")
    errhandler_names(out)
    section(out, "handle, pointer and size constants")
    pointer_constants(out, rows)
    functions(out)
    fortran_integers(out)
    out.write("\n#ifdef __cplusplus\n}\n#endif\n#endif\n")
