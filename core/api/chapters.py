"""The chapter of the standard that a function belongs to.
SPDX-License-Identifier: BSD-3-Clause
"""
import re

# Chapter of the standard by name, the first that matches.
CHAPTERS = [
    ("Tool support", r"T_|Pcontrol"),
    ("Application binary interface", r"Abi_|.*_(toint|fromint)$"),
    ("Deprecated interfaces",
     r"Attr_|Keyval_|Info_get$|Info_get_valuelen|.*_x$"),
    ("The info object", r"Info_"),
    ("I/O", r"File_|Register_datarep"),
    ("One-sided communication",
     r"Win_|R?(put|get|accumulate|get_accumulate)(_c)?$|Put|Get(_c)?$|"
     r"Accumulate|Get_accumulate|Fetch_and_op|Compare_and_swap"),
    ("Partitioned communication", r"Precv|Psend|Pready|Parrived"),
    ("Process topologies",
     r"Cart|Graph|Dist_graph|Dims_|Topo_|I?neighbor_|Neighbor_"),
    ("Collective communication",
     r"I?(all|bcast|barrier|exscan|gather|reduce|scan|scatter)|All(gather|"
     r"reduce|toall)|Barrier|Bcast|Exscan|Gather|Reduce|Scan|Scatter|Op_"),
    ("Process initialization, creation, and management",
     r"Abort|Finalize|Init|Is_thread|Query_thread|.*_port|.*publish_name|"
     r"Lookup_name|Publish_name|Get_hw|Session_(init|finalize|get_(?!err))|"
     r"Comm_(accept|connect|disconnect|get_parent|join|spawn)"),
    ("Environmental management",
     r".*errhandler|Errhandler|Error|Add_error|Remove_error|Wti|"
     r"Get_(library_)?version|Get_processor|Alloc_mem|Free_mem"),
    ("Datatypes",
     r"Type_(?!.*(keyval|_attr|_name)$)|Pack|Unpack|Get_address|"
     r"Get_elements|Aint_|Status_set_elements"),
    ("Groups, contexts, communicators, and caching",
     r"Comm_(?!.*buffer)|Group_|Intercomm_|Type_"),
    ("External interfaces", r"Grequest|Status_set"),
    ("Point-to-point communication", r""),
]


# Classes of calls by name (core/report/call_time.h), the first that matches; all
# others are OTHER.
CLASSES = [
    ("COMPLETION", r"(Wait|Test)(all|any|some)?$|Request_get_status"),
    ("PROBE", r"[IM]?m?[Pp]robe$"),
    ("COLLECTIVE", r"I?neighbor_|Neighbor_"),
]
CLASS_OF_CHAPTER = {"Point-to-point communication": "POINT_TO_POINT",
                    "Partitioned communication": "POINT_TO_POINT",
                    "Collective communication": "COLLECTIVE"}


def call_class(name):
    short = name.removeprefix("MPI_").removesuffix("_c")
    for title, pattern in CLASSES:
        if re.match(pattern, short):
            return title
    if short.startswith("Op_"):
        return "OTHER"
    return CLASS_OF_CHAPTER.get(chapter(name.removesuffix("_c")), "OTHER")


def chapter(name):
    short = name.removeprefix("MPI_")
    for title, pattern in CHAPTERS:
        if re.match(pattern, short):
            return title
    return None
