"""The short way of the functions in rules.SHORT: the usual call is tried
before all checks, as it is, or by a thread that is a rank, or else by who
was inside the section last (fastpath.h).
SPDX-License-Identifier: BSD-3-Clause
"""
import rules
from body import Body
from standard import wrap


class ShortWay(Body):
    """Functions: alone_MPI_X, which goes on to shared_MPI_X, and thread_MPI_X, which
    goes on to inside_MPI_X; all go on to long_MPI_X. Its checks and call, or those
    of either_MPI_X, to which it passes a large count, come after what is written
    here. MPI_X asks which of the three it is, and leaves the arguments where they
    are. Where threads are ranks, no process has a world that its threads share."""

    def text(self):
        """The lines before the checks and the call."""
        large = self.f
        self.f = self.f.base
        name = self.f.name
        rest = ", ".join(p.name for p in self.f.parameters)
        of_thread = "{comm}" in rules.SHORT[self.family][0]
        self.declare("long", "shared", *["alone", "thread", "inside"] * of_thread,
                     *["beside"] * (self.family in rules.NOWHERE))
        both = wrap(f"static {large.prototype('either_' + name)}")
        if large.large:
            self.out.append(f"{both} WF_SLOW_PATH;")
        self.out.append(wrap("WF_SLOW_PATH " * large.large +
                             self.f.prototype("P" + name)) + "\n{")
        if of_thread:
            self.line("if (wf_likely(wf_fastpath_is_open()))")
            self.line(f"    return alone_{name}({rest});")
            self.line("if (wf_likely(wf_read_pointer(&wf_fastpath_shared_world) != NULL))")
            self.line(f"    return shared_{name}({rest});")
            self.line("if (wf_unlikely(wf_thread_process != NULL))")
            self.line(f"    return thread_{name}({rest});")
            self.line(f"return shared_{name}({rest});")
            self.out.append("}\n")
            self.begin("alone")
        self.attempt("wf_fastpath_comm_of(comm)")
        self.line(f"return shared_{name}({rest});")
        self.out.append("}\n")
        if of_thread:
            self.begin("thread")
            self.attempt("wf_fastpath_thread_comm_of(comm)")
            self.line(f"return inside_{name}({rest});")
            self.out.append("}\n")
            self.between("inside", "wf_fastpath_enter_thread_rank", name, rest)
        self.between("shared", "wf_fastpath_enter", name, rest)
        if self.family in rules.NOWHERE:
            self.sent_beside(name, rest)
        self.begin("long")
        if large.large:
            self.line(f"return either_{name}({rest});")
            self.out.append("}\n\n" + both + "\n{")
        self.line("wf_cs_run_deferred_unlock();")
        return self.out

    def declare(self, *ways):
        for way in ways:
            prototype = self.f.prototype(f"{way}_{self.f.name}")
            self.out.append(wrap(f"static WF_SLOW_PATH {prototype};"))

    def begin(self, way):
        prototype = self.f.prototype(f"{way}_{self.f.name}")
        self.out.append(wrap(f"static {prototype}") + "\n{")

    def between(self, way, enter, name, rest):
        """The short way of who was inside the section last: wf_fastpath_enter, or
        wf_fastpath_enter_thread_rank in a thread that is a rank."""
        family = self.family
        declared, test, then = self.words("c")
        if family in rules.POLLING:
            test = f"wf_progress_is_only_thread(wf) && {test}" # and wakes nobody
        if family == "wait":
            test = "wf_fastpath_wait_inside(wf, request, status, &rc)"
        self.begin(way)
        if family in rules.NOWHERE and way == "shared":
            self.nowhere()
            self.beside(rest)
        if family == "wait":
            self.line("struct wf_instance *wf = wf_fastpath_enter_request(request);")
            self.line("if (wf_unlikely(!wf))")
        else:
            self.line(f"const struct wf_comm *c = {enter}(comm);")
            self.line("if (wf_unlikely(!c))")
        self.line(f"    return long_{name}({rest});")
        if family != "wait":
            self.line("struct wf_instance *wf = c->wf;")
        self.line(declared)
        self.line(f"if (wf_unlikely(!({test}))) {{")
        self.line("    wf_fastpath_defer_unlock(wf);")
        self.line(f"    return long_{name}({rest});")
        self.line("}")
        if then:
            self.line(f"int rc = {then};")
        self.line("wf_fastpath_leave(wf);")
        if then:
            self.line("return rc;")
        else:
            self.line("return wf_likely(!rc) ? rc : wf_raise(wf, NULL, "
                      f'"{name}", wf_error_class(rc));')
        self.out.append("}\n")

    def nowhere(self):
        """A send to nobody is over."""
        request = self.family == "isend"
        self.line("if (wf_unlikely(dest == MPI_PROC_NULL)) {")
        self.line("    const struct wf_comm *c = wf_fastpath_to_proc_null(comm, buf, "
                  "count, datatype, tag);")
        self.line("    if (wf_likely(c" + (" && request" if request else "") +
                  ")) {")
        if request:
            self.line("        *request = (MPI_Request)&c->wf->engine->sent;")
        self.line("        return MPI_SUCCESS;")
        self.line("    }")
        self.line("}")

    def beside(self, rest):
        """A send by the send side of a peer, which needs no section."""
        self.line("if (wf_unlikely(wf_fastpath_is_lent(comm, dest)))")
        self.line(f"    return beside_{self.f.name}({rest});")

    def sent_beside(self, name, rest):
        request = self.family == "isend"
        self.begin("beside")
        self.line("const struct wf_comm *c = " + "!request ? NULL : " * request +
                  "wf_fastpath_send_beside(comm, buf, count, datatype, dest, tag);")
        self.line("if (wf_unlikely(!c))")
        self.line(f"    return long_{name}({rest});")
        if request:
            self.line("*request = (MPI_Request)&c->wf->engine->sent;")
        self.line("return MPI_SUCCESS;")
        self.out.append("}\n")

    def words(self, comm):
        """What an attempt declares, asks and then calls; None: the question
        was the call, and rc the status of its result."""
        question, answer = rules.SHORT[self.family]
        question = question.format(comm=comm)
        if not answer:
            return "int rc;", f"wf_fastpath_{self.family}({question})", None
        flags = "WF_CALLER_INSIDE" if comm == "c" else "0"
        test = f"wf_fastpath_may_send(&way, {question})"
        for p in self.f.parameters:
            if p.kind == "REQUEST":
                test = f"{p.name} && {test}"
        return ("struct wf_fastpath_args way;", test, f"wf_fastpath_{self.family}(&way, "
                f"{answer.format(flags=flags)})")

    def attempt(self, comm):
        """Return what the short way returns, if this call may take it."""
        declared, test, then = self.words(comm)
        if not then:
            then = ("wf_likely(!rc) ? rc : wf_raise(wf_current(), NULL, "
                    f'"{self.f.name}", wf_error_class(rc))')
        for line in (declared, f"if (wf_likely({test}))"):
            self.out.append(wrap(line, 4))
        self.out.append(wrap(f"return {then};", 8))
