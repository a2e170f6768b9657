"""The functions that access files through one body (core/api/file_access.c), and
their bindings: all but the blocking ones of one process, where speed counts.
SPDX-License-Identifier: BSD-3-Clause
"""
from standard import wrap


def together(pointer, perform, **more):
    return dict(pointer=pointer, perform=perform, refuse="wf_file_refuse",
                **more)


def ordered(perform, **more):
    return dict(pointer="STREAM", perform=perform,
                refuse="wf_file_refuse_ordered", **more)


def table():
    """{family: fields of struct wf_file_function (core/io/function.h)}"""
    out = {}
    for access in ("read", "write"):
        for at, pointer in (("", "POSITION"), ("_at", "OFFSET")):
            all_ = f"file_{access}{at}_all"
            out |= {
                f"file_i{access}{at}": dict(
                    pointer=pointer, perform="start_alone", has_request=True),
                all_: together(pointer, "run_together", waits=True),
                f"file_i{access}{at}_all": together(
                    pointer, "start_together", has_request=True),
                all_ + "_begin": together(
                    pointer, "begin_together",
                    split=f"{access}{at}_all".upper())}
        out |= {
            f"file_{access}_shared": dict(
                pointer="STREAM", perform="run_shared", waits=True),
            f"file_i{access}_shared": dict(
                pointer="STREAM", perform="start_shared", has_request=True),
            f"file_{access}_ordered": ordered("run_ordered", waits=True),
            f"file_{access}_ordered_begin": ordered(
                "begin_ordered", split=f"{access}_ordered".upper())}
    return out


TABLE = table()
# {family of MPI_File_x_end: what it ends}
ENDS = {family.replace("_begin", "_end"): way["split"]
        for family, way in TABLE.items() if "split" in way}
FAMILIES = {*TABLE, *ENDS}


def texts(functions):
    """The text of the bindings of a family."""
    if functions[0].family in ENDS:
        return end(functions[0])
    small, large = sorted(functions, key=lambda f: f.large)
    way = TABLE[small.family]
    fields = [f'.name = "{small.name}"',
              f".perform = wf_file_{way['perform']}",
              f".pointer = WF_AT_{way['pointer']}"]
    if "refuse" in way:
        fields.append(f".refuse = {way['refuse']}")
    if "split" in way:
        fields.append(f".split = WF_SPLIT_{way['split']}")
    fields += [f".{name} = true" for name in ("has_request", "waits")
               if name in way]
    if "write" in small.family:
        fields.append(".write = true")
    text = wrap("static const struct wf_file_function "
                f"about_{small.name} = {{{', '.join(fields)}}};") + "\n\n"
    return text + "\n".join(binding(f, small.name) for f in (small, large))


def end(f):
    return (wrap(f.prototype("P" + f.name)) + "\n{\n" +
            wrap(f'return wf_api_end_split(fh, status, "{f.name}", '
                 f"WF_SPLIT_{ENDS[f.family]});", 4) +
            f"\n}}\nWF_WEAK({f.name});\n")


def binding(f, small):
    names = [p.name for p in f.parameters]
    offset = "offset" if "offset" in names else "0"
    out = next((n for n in names if n in ("status", "request")), "NULL")
    elements = "(struct wf_file_elements){count, datatype}"
    call = "wf_api_access" + ("_large" if f.large else "")
    return (wrap(f.prototype("P" + f.name)) + "\n{\n" +
            wrap(f"return {call}(fh, {offset}, buf, {elements}, {out}, "
                 f"&about_{small});", 4) + f"\n}}\nWF_WEAK({f.name});\n")
