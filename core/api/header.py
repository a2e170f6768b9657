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
 *   handle and pointer constants . MPI_ functions . PMPI_ functions
 *
 * Define WEFT_NO_DEPRECATION to compile old programs without warnings about
 * functions that the standard deprecates.
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

#if defined(__GNUC__) && !defined(WEFT_NO_DEPRECATION)
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
    section(out, "handle, pointer and size constants")
    pointer_constants(out, rows)
    functions(out)
    out.write("\n#ifdef __cplusplus\n}\n#endif\n#endif\n")
