"""The arguments of a binding: what is checked of each, and what the core
function gets in its place.

The checks follow from the standard's parameter kinds (parameters.csv) and the
exceptions of rules.py; what a failed check says is in check.c.
SPDX-License-Identifier: BSD-3-Clause
"""
import rules
import standard
from body import Body
from standard import wrap

LENGTH_KINDS = {"ARRAY_LENGTH", "ARRAY_LENGTH_NNI", "ARRAY_LENGTH_PI",
                "NUM_DIMS", "DEGREE"}
COUNT_KINDS = {"POLYXFER_NUM_ELEM_NNI", "POLYDTYPE_NUM_ELEM_NNI",
               "POLYDTYPE_NUM_ELEM", "POLYXFER_NUM_ELEM", "XFER_NUM_ELEM_NNI"}
SIZE_KINDS = LENGTH_KINDS | {
    "POLYNUM_BYTES_NNI", "POLYDTYPE_PACK_SIZE", "POLYNUM_PARAM_VALUES",
    "INFO_VALUE_LENGTH", "ALLOC_MEM_NUM_BYTES", "XFER_NUM_ELEM"}
# Lowest value of an array's elements and the error class of a lower one.
ELEMENT_KINDS = {
    "POLYXFER_NUM_ELEM_NNI": (0, "MPI_ERR_COUNT"),
    "POLYDTYPE_NUM_ELEM_NNI": (0, "MPI_ERR_ARG"),
    "POLYDTYPE_NUM_ELEM_PI": (1, "MPI_ERR_ARG"),
}
# Pointers that may be NULL, or that only the core function can judge.
FREE_POINTERS = {"BUFFER", "EXTRA_STATE", "EXTRA_STATE2", "ARGUMENT_COUNT",
                 "ARGUMENT_LIST", "WEIGHT", "LOGICAL_VOID", "ERROR_CODE_ARRAY",
                 "STRING_ARRAY", "STRING_2DARRAY"}
RESOLVE = {
    "COMMUNICATOR": ("wf_comm", "wf_api_comm(wf, {})", "WF_KIND_COMM"),
    "DATATYPE": ("wf_type", "wf_api_type({})", "WF_KIND_TYPE"),
    "GROUP": ("wf_group", "wf_api_group(wf, {})", "WF_KIND_GROUP"),
    "INFO": ("wf_info", "wf_info_of(wf, {})", "WF_KIND_INFO"),
    "ERRHANDLER": ("wf_errhandler", "wf_errhandler_of({})",
                   "WF_KIND_ERRHANDLER"),
    "OPERATION": ("wf_op", "wf_op_of({})", "WF_KIND_OP"),
    "REQUEST": ("wf_req", "wf_req_of({})", "WF_KIND_REQUEST"),
    "SESSION": ("wf_session", "wf_session_of({})", "WF_KIND_SESSION"),
    "WINDOW": ("wf_win", "wf_win_of_handle({})", "WF_KIND_WIN"),
    "FILE": ("wf_file", "wf_file_of({})", "WF_KIND_FILE"),
}


def element(c_type):
    """The type of an array's elements."""
    return c_type.replace("const ", "").replace("[]", "")


class Arguments(Body):
    """The beginning of a body: the instance, then one argument after the
    other."""

    # ---- what the other arguments make of one ---------------------------

    def significant(self, p):
        """The condition under which MPI reads the argument, or None."""
        conditions = []
        ignored = rules.IGNORED.get(self.operation)
        if ignored and p.name in ignored[1]:
            conditions.append(ignored[0])
        if self.rooted:
            others = rules.ROOTED.get(self.operation)
            if others is not None and p.name in others:
                conditions.append("role & WF_ROLE_OTHER")
            elif p.root_only:
                conditions.append("role & WF_ROLE_ROOT")
            elif others is not None and (p.kind in ("BUFFER", "DATATYPE",
                                                    "OPERATION")
                                         or p.kind in COUNT_KINDS):
                conditions.append("role")
        if self.neighborhood and p.kind == "BUFFER":
            conditions.append(f"{self.neighbors(p)} > 0")
        place = self.place
        if place and p.name != place and self.same_side(p.name, place):
            conditions.append(f"{place} != MPI_IN_PLACE")
        if len(conditions) > 1:
            conditions = [f"({c})" if "&" in c else c for c in conditions]
        return " && ".join(conditions) or None

    def same_side(self, name, place):
        """Arguments that describe the MPI_IN_PLACE buffer alone."""
        if place == "sendbuf":
            return name in ("sendcount", "sendcounts", "sdispls", "sendtype",
                            "sendtypes")
        return name in ("recvcount", "recvtype")

    def neighbors(self, p):
        """C expression of the number of neighbours on p's side."""
        side = "destinations" if p.name.startswith("s") else "sources"
        return f"wf_api_{side}({self.comm})"

    def length(self, p):
        """C expression of the number of elements of array p, or None."""
        if (self.family, p.name) in rules.LENGTHS:
            return rules.LENGTHS[self.family, p.name]
        if self.neighborhood:
            return self.neighbors(p)
        if self.operation in rules.PER_RANK:
            return f"wf_api_ranks({self.comm})"
        if self.operation == "reduce_scatter":
            return f"{self.comm}->size"
        found = None
        for q in self.f.parameters:
            if q is p:
                return found
            if "*" in q.c_type or "[" in q.c_type:
                continue
            if q.kind in LENGTH_KINDS or (q.kind == "POLYDTYPE_NUM_ELEM_NNI"
                                          and q.name == "count"):
                found = q.name
        return found

    # ---- one argument after the other -----------------------------------

    def prologue(self):
        name = self.f.base.name if self.shared else self.f.name
        self.line(f'static const char fn[] = "{name}";')
        self.line("struct wf_instance *wf = wf_current();")
        if self.family in rules.INITIAL:
            self.check("wf_api_phase() != WF_PHASE_BEFORE",
                       "wf_bad_restart(fn)")
        elif not self.early:
            self.check("!wf", "wf_bad_phase(fn)")

    def window_or_file(self):
        """The window or file of the call, to which its errors belong."""
        for p in self.f.parameters:
            if p.kind == "WINDOW" and p.c_type == "MPI_Win":
                self.handle(p)
                self.object = f"{p.name}_p"
            elif p.kind == "FILE" and p.c_type == "MPI_File":
                self.handle(p)
                self.object = f"{p.name}_p"
                if self.family in rules.NULL_NAMED:
                    self.object = f"wf_file_or_null(wf, {p.name}_p)"
                self.refuse_agreement(f"{p.name}_p->comm")

    def refuse_agreement(self, comm):
        if self.family in rules.FILE_AGREED:
            self.refuse = (f"wf_file_refuse_vote({comm}, {{}}, "
                           f"{rules.FILE_AGREED[self.family]})")

    def own_handler(self):
        if self.family in rules.OWN_HANDLER:
            self.handle(next(p for p in self.f.parameters
                             if p.kind == "ERRHANDLER"))
            self.object = "errhandler_p"

    def communicators(self):
        comms = [p for p in self.f.parameters
                 if p.kind == "COMMUNICATOR" and p.c_type == "MPI_Comm"]
        for p in comms:
            if p.name == "peer_comm":
                continue
            self.line(f"struct wf_comm *{p.name}_p = wf_api_comm(wf, "
                      f"{p.name});")
            wrong = self.unless_named(f"!{p.name}_p", p)
            self.check(wrong, self.bad(
                "handle", f'"{p.name}"', p.name, "WF_KIND_COMM"))
            self.args[p.name] = f"{p.name}_p"
            if self.comm == "NULL":
                self.comm = f"{p.name}_p"
        if len(comms) == 1 and self.comm != "NULL" and not self.early:
            self.engine_of_comm()  # before others are in registers
            self.refuse_agreement(self.comm)
        root = any(p.name == "root" for p in self.f.parameters)
        self.rooted = root and self.comm != "NULL"
        if self.rooted:
            self.check(f"!wf_api_root({self.comm}, root)",
                       self.bad("root", "root"))
            self.line(f"int role = wf_api_role({self.comm}, root);")
        self.place = rules.IN_PLACE.get(self.operation)
        if self.place:
            # a process that has its own side only has nothing in place
            where = ("role == WF_ROLE_OTHER" if self.rooted
                     else f"{self.comm}->inter")
            wrong = f"{where} && {self.place} == MPI_IN_PLACE"
            self.check(wrong, self.bad("place", f'"{self.place}"'))

    def engine_of_comm(self):
        if self.engine_known:
            return
        self.engine_known = True
        if self.family in rules.NULL_NAMED:
            self.line(f"if ({self.comm})")
            self.line(f"    wf = {self.comm}->wf;")
        else:
            self.line(f"wf = {self.comm}->wf;")

    def handle(self, p):
        """A handle passed by value."""
        struct, resolve, kind = RESOLVE[p.kind]
        var, guard = f"{p.name}_p", self.significant(p)
        value = resolve.format(p.name)
        if p.name == "peer_comm":  # significant at the leader, MPI-5.0 s7.6.2
            guard = f"{self.comm}->rank == local_leader"
        if guard:
            value = f"{guard} ? {value} : NULL"
        self.guard(None)
        self.line(f"struct {struct} *{var} = {value};")
        self.args[p.name] = var
        wrong = f"!{var}"
        if p.kind == "INFO" and self.family not in rules.INFO_NEEDED:
            wrong += f" && {p.name} != MPI_INFO_NULL"
        if p.kind == "REQUEST" and self.family not in rules.REQUEST_NEEDED:
            wrong += f" && {p.name} != MPI_REQUEST_NULL"
        failure = self.bad("handle", f'"{p.name}"', p.name, kind)
        wrong = self.unless_named(wrong, p)
        if p.kind == "DATATYPE" and self.communicates(p):
            wrong = f"!wf_api_committed({var})" + self.unless_nowhere(p)
            failure = self.bad("committed", f'"{p.name}"', p.name)
        self.check(wrong, failure, guard)
        if p.kind in ("SESSION", "GROUP") and self.object == "NULL":
            self.object = var
        if p.kind == "DATATYPE":
            self.flush_buffers(var)

    def unless_named(self, wrong, p):
        if self.family in rules.ABSENT_TYPES:
            return f"{wrong} && !wf_type_is_removed({p.name})"
        null = rules.NULL_NAMED.get(self.family)
        if self.about_files and p.kind != "FILE":
            return wrong
        return f"{wrong} && {p.name} != {null}" if null else wrong

    def unless_nowhere(self, p):
        """MPI_DATATYPE_NULL describes the nothing that is exchanged with
        MPI_PROC_NULL: the call goes on with a type in its place."""
        send = not p.name.startswith("recv")
        for rank in (["dest"] if send else []) + ["source"]:
            if any(q.name == rank and q.kind == "RANK"
                   for q in self.f.parameters):
                count = p.name.replace("datatype", "count")
                count = count.replace("type", "count")
                return (f" && !({p.name}_p = wf_api_null_type({p.name}, "
                        f"{count}, {rank}))")
        return ""

    def communicates(self, p):
        """The type describes data that this call moves."""
        return any(q.kind == "BUFFER" for q in self.f.parameters)

    def flush_buffers(self, type_p):
        for b, count in self.buffers:
            guard = self.significant(b)
            if b.name == self.place:
                guard = " && ".join(filter(None, [
                    guard and (f"({guard})" if "&" in guard else guard),
                    f"{b.name} != MPI_IN_PLACE"]))
            size = count or "0"
            self.check(f"wf_api_is_special({b.name}) && "
                       f"wf_api_no_buffer({b.name}, {size}, {type_p})",
                       self.bad("buffer", f'"{b.name}"', b.name, size), guard)
        self.buffers = []

    def read_handle(self, p):
        """A handle passed by pointer and used."""
        null = self.bad("pointer", f'"{p.name}"')
        self.check(f"!{p.name}", null)
        if p.kind == "MESSAGE":
            self.check(f"!wf_api_message(*{p.name})", self.bad(
                "handle", f'"{p.name}"', f"*{p.name}", "WF_KIND_MESSAGE"))
            return
        struct, resolve, kind = RESOLVE[p.kind]
        failure = self.bad("handle", f'"{p.name}"', f"*{p.name}", kind)
        if p.kind == "COMMUNICATOR":
            self.line(f"struct wf_comm *{p.name}_p = wf_api_comm(wf, "
                      f"*{p.name});")
            self.check(f"!{p.name}_p", failure)
            self.comm = f"{p.name}_p"
        elif p.kind in ("WINDOW", "FILE"):
            self.line(f"struct {struct} *{p.name}_p = "
                      f"{resolve.format('*' + p.name)};")
            self.check(f"!{p.name}_p", failure)
            self.object = f"{p.name}_p"
        elif p.kind == "REQUEST" and self.family not in rules.REQUEST_NEEDED:
            self.check(f"!wf_api_request(*{p.name})", failure)
        else:
            self.check(f"!{resolve.format('*' + p.name)}", failure)

    def number(self, p):
        guard = self.significant(p)
        if p.kind in COUNT_KINDS and p.poly and "block" not in p.name:
            failure = self.bad("count", f'"{p.name}"', p.name)
        else:
            c = ("MPI_ERR_COUNT" if "count" in p.name else
                 "MPI_ERR_DIMS" if p.kind == "NUM_DIMS" else "MPI_ERR_ARG")
            failure = self.bad("number", f'"{p.name}"', p.name, c)
        self.check(f"{p.name} < 0", failure, guard)
        for i, (b, count) in enumerate(self.buffers):
            if count is None:
                self.buffers[i] = (b, p.name)
                if p.kind not in COUNT_KINDS:  # bytes: no type will follow
                    self.check(f"!{b.name} && {p.name} > 0",
                               self.bad("pointer", f'"{b.name}"'))
        if p.kind not in COUNT_KINDS:
            self.buffers = [x for x in self.buffers if x[1] != p.name]

    def rank(self, p):
        if self.comm == "NULL" or p.name == "root":
            return
        wrong = f"!wf_api_rank({self.comm}, {p.name})"
        others = '""'
        if p.name == "dest":
            wrong += " && dest != MPI_PROC_NULL"
            others = '"MPI_PROC_NULL"'
        elif p.name == "source" and self.family in rules.WILDCARD:
            wrong += (f" && !wf_api_any_source({self.comm}, source) && "
                      "source != MPI_PROC_NULL")
            others = '"MPI_ANY_SOURCE or MPI_PROC_NULL"'
        elif p.name == "source":
            wrong += " && source != MPI_PROC_NULL"
            others = '"MPI_PROC_NULL"'
        elif p.name == "remote_leader":
            self.check(f"!wf_api_rank(peer_comm_p, {p.name})",
                       self.bad("leader", p.name, "peer_comm_p"),
                       "peer_comm_p")
            return
        self.check(wrong, self.bad("rank", f'"{p.name}"', p.name, others))

    def tag(self, p):
        if self.comm == "NULL":
            return
        wrong = f"{p.name} < 0"
        if self.family in rules.WILDCARD and p.name != "sendtag":
            wrong += f" && !wf_api_any_tag({self.comm}, {p.name})"
        self.check(wrong, self.bad("tag", f'"{p.name}"', p.name))

    # ---- arrays ---------------------------------------------------------

    def array(self, p):
        guard, n = self.significant(p), self.length(p)
        wide = standard.core_type(p) == "struct wf_ints"
        view = f"(struct wf_ints){{{p.name}, {self.width(p)}}}"
        if wide:
            self.args[p.name] = view
        for i, (b, count) in enumerate(self.buffers):
            if count is None:
                self.buffers[i] = (b, self.most_elements(b, p, view, n))
        if p.kind in FREE_POINTERS or n is None:
            return
        always = "ranks(" in n or n == f"{self.comm}->size"
        empty = "" if always else f"{n} > 0 && "
        self.check(f"{empty}!{p.name}", self.bad("pointer", f'"{p.name}"'),
                   guard)
        if p.kind in ELEMENT_KINDS and wide:
            self.elements(p, view, n, guard)
        elif p.kind == "REQUEST":
            self.guard(guard)
            self.find(p, f"wf_api_find_bad_request({n}, {p.name})",
                      self.bad("handle_at", f'"{p.name}"', "bad",
                               f"{p.name}[bad]"))
        elif p.kind == "DATATYPE" and p.direction == "in":
            counts = "(struct wf_ints){NULL, 0}"
            if self.communicates(p):
                c = p.name.replace("types", "counts")
                counts = self.args[c]
            self.guard(guard)
            self.find(p, f"wf_api_find_bad_type({n}, {p.name}, {counts})",
                      self.bad("handle_at", f'"{p.name}"', "bad",
                               f"{p.name}[bad]"))
            if self.communicates(p):  # most_elements looks at the types
                self.flush_buffers("wf_type_of(MPI_BYTE)")
        elif p.kind == "RANK" and self.family.startswith("group_") and \
                p.direction == "in" and "[3]" not in p.c_type:
            self.group_ranks(p, n)

    def most_elements(self, b, p, view, n):
        """C expression of the number of elements at buffer b that NULL cannot
        stand for, when array p has the counts of the blocks there."""
        if p.kind not in COUNT_KINDS:
            return "0"
        if self.operation == "reduce_scatter" and b.name == "recvbuf":
            return f"wf_int_at({view}, (size_t){self.comm}->rank)"
        side = p.name.removesuffix("counts")
        displs = self.parameter_named(f"{side[:1]}displs", "displs")
        places = (f"(struct wf_ints){{{displs.name}, {self.width(displs)}}}"
                  if displs else "(struct wf_ints){NULL, 0}")
        types = self.parameter_named(f"{side}types")
        return (f"wf_api_largest_count({view}, {places}, {n}, "
                f"{types.name if types else 'NULL'})")

    def parameter_named(self, *names):
        return next((q for q in self.f.parameters if q.name in names), None)

    def width(self, p):
        """C expression of the bytes of an array's element."""
        if not self.shared:
            return f"sizeof(*{p.name})"
        both = [element(q.c_type) for q in (p, self.small(p))]
        return f"wf_call_now.large ? sizeof({both[0]}) : sizeof({both[1]})"

    def small(self, p):
        """The same parameter of the int function."""
        return next(q for q in self.f.base.parameters if q.name == p.name)

    def find(self, p, search, failure):
        """A search for a bad element, in a block of its own."""
        pad = 8 if self.guard_now else 4
        self.out.append(" " * pad + "{")
        self.out.append(wrap(f"MPI_Count bad = {search};", pad + 4))
        self.out.append(wrap("if (wf_unlikely(bad >= 0))", pad + 4))
        self.out.append(wrap(f"return {failure};", pad + 8))
        self.out.append(" " * pad + "}")

    def elements(self, p, view, n, guard):
        low, error = ELEMENT_KINDS[p.kind]
        self.guard(guard)
        self.find(p, f"wf_api_find_outside({view}, {n}, {low}, {low - 1})",
                  self.bad("element", f'&(struct wf_bad_element){{'
                           f'"{p.name}", bad, wf_int_at({view}, (size_t)bad), '
                           f'{low}, {low - 1}, {error}}}'))

    def group_ranks(self, p, n):
        group = [q.name for q in self.f.parameters if q.kind == "GROUP"][0]
        null = "true" if "translate" in self.family else "false"
        self.guard(None)
        self.find(p, f"wf_api_find_bad_rank({p.name}, {n}, {group}_p->size, "
                  f"{null})",
                  self.bad("element", f'&(struct wf_bad_element){{'
                           f'"{p.name}", bad, {p.name}[bad], 0, '
                           f'{group}_p->size - 1, MPI_ERR_RANK}}'))

    # ---- pointers -------------------------------------------------------

    def pointer(self, p):
        core = standard.core_type(p)
        nullable = rules.NULLABLE.get((self.family, p.name))
        status = p.kind == "STATUS" and p.direction == "out"
        free = (p.kind in FREE_POINTERS or status or
                (p.kind == "ATTRIBUTE_VAL" and p.direction == "in") or
                (p.kind == "ATTRIBUTE_VAL_10" and p.direction == "in") or
                self.tool)
        if not free:
            wrong = f"!{p.name}"
            if nullable:
                wrong += f" && !({nullable})"
            self.check(wrong, self.bad("pointer", f'"{p.name}"'),
                       self.significant(p))
        if core == "MPI_Count *" and p.c_type != "MPI_Count *":
            self.narrow(p)

    def narrow(self, p):
        """A 64-bit result through a narrower pointer of the int function."""
        wide, base = f"{p.name}_w", p.c_type.rstrip(" *")
        self.guard(None)
        start = f"*{p.name}" if p.direction == "inout" else "0"
        self.line(f"MPI_Count {wide} = {start};")
        self.args[p.name] = f"&{wide}"
        if self.family in rules.UNDEFINED_IF_LARGE:
            self.after.append(f"*{p.name} = ({base}){wide} == {wide} ? "
                              f"({base}){wide} : MPI_UNDEFINED;")
        else:
            self.after.append((f"({base}){wide} != {wide}", self.bad(
                "narrow", f'"{p.name}"', wide)))
            self.after.append(f"*{p.name} = ({base}){wide};")

    # ---- the whole ------------------------------------------------------

    def parameter(self, p):
        pointer = p.c_type.endswith("*")
        if p.name in self.args:
            return
        if p.kind == "BUFFER":
            self.buffers.append((p, None))
        elif self.tool:
            self.tool_parameter(p, pointer)
        elif p.kind in RESOLVE and p.c_type == \
                standard.HANDLES[p.kind][0]:
            self.handle(p)
        elif (p.kind in RESOLVE or p.kind == "MESSAGE") and pointer and \
                (p.direction == "inout" or
                 (self.family, p.name) in rules.READ_HANDLES):
            self.read_handle(p)
        elif "[" in p.c_type and "char" not in p.c_type:
            self.array(p)
        elif p.kind in ("POLYFUNCTION", "FUNCTION_SMALL"):
            self.function(p)
        elif pointer or p.c_type.endswith("]"):
            self.pointer(p)
        elif p.kind in COUNT_KINDS | SIZE_KINDS and p.name != "stride":
            self.number(p)
        elif p.kind == "RANK":
            self.rank(p)
        elif p.kind == "TAG":
            self.tag(p)
        elif p.kind == "COLOR":
            self.check(f"{p.name} < 0 && {p.name} != MPI_UNDEFINED",
                       self.bad("color", p.name))

    def tool_parameter(self, p, pointer):
        """The tool chapter judges its arguments itself: it has error codes
        of its own and nearly every pointer is optional."""
        if p.kind == "INFO" and not pointer:
            self.line(f"struct wf_info *{p.name}_p = wf_info_of(wf, "
                      f"{p.name});")
            self.args[p.name] = f"{p.name}_p"
        elif pointer:
            self.pointer(p)

    def function(self, p):
        if self.family in rules.FUNCTION_NEEDED:
            self.check(f"!{p.name}", self.bad("pointer", f'"{p.name}"'))
        if p.kind == "POLYFUNCTION":
            large = "true" if self.f.large else "false"
            self.args[p.name] = (f"(struct wf_polyfn){{(void (*)(void))"
                                 f"{p.name}, {large}}}")
