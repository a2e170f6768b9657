#!/usr/bin/env python3
"""mpi.h is accepted by every language level without a warning; functions that
the standard deprecates are warned of, and Fortran's integers left out, where the
user says so.

  dialects.py INCLUDE CC CXX
SPDX-License-Identifier: BSD-3-Clause
"""
import subprocess
import sys

include, cc, cxx = sys.argv[1:4]
STRICT = ["-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-I" + include]
USER = """\
#include <mpi.h>
static MPI_Comm comms[2] = {MPI_COMM_WORLD, MPI_COMM_NULL};
static MPI_Datatype type = MPI_DOUBLE;
int main(int argc, char **argv)
{
#if MPI_VERSION < 5
    wrong
#endif
    MPI_Init(&argc, &argv);
    MPI_Send(&argc, 1, type, 0, 0, comms[0]);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN,
                           &argc, 0);
    switch (argc) {
    case MPI_ERR_COMM:
    case MPI_ERR_TYPE:
        MPI_Pcontrol(1, "more", 2);
    }
    return MPI_Finalize();
}
"""
OLD = ("#include <mpi.h>\nvoid f(void);\nvoid f(void)\n{\n"
       "    int flag;\n    void *v;\n"
       "    MPI_Attr_get(MPI_COMM_WORLD, MPI_TAG_UB, &v, &flag);\n}\n")
failures = []


def accepts(compiler, language, flags, text):
    r = subprocess.run([compiler, "-x", language, *STRICT, *flags, "-"],
                       input=text, capture_output=True, text=True)
    return r.returncode == 0, r.stderr


def expect(what, wanted, result):
    ok, text = result
    if ok != wanted:
        failures.append(what)
        print(f"not so: {what}\n{text}")


# A Fortran layer brings these itself.
OWN_FINT = ("#include <mpi.h>\ntypedef long MPI_Fint;\n"
            "MPI_Fint MPI_Comm_c2f(MPI_Comm comm);\n"
            "MPI_Fint MPI_Comm_c2f(MPI_Comm comm)\n{\n"
            "    return MPI_Comm_toint(comm);\n}\n")
for std in "gnu89", "c99", "gnu99", "c11", "gnu11", "c17":
    expect(f"a program compiles as {std}", True,
           accepts(cc, "c", [f"-std={std}"] + ["-Wpedantic"] * (std != "gnu89"),
                   USER))
for std in "c++11", "gnu++14", "c++17", "c++20":
    expect(f"a program compiles as {std}", True,
           accepts(cxx, "c++", [f"-std={std}", "-Wpedantic"], USER))
expect("a program compiles with hidden visibility", True,
       accepts(cc, "c", ["-fvisibility=hidden"], USER))
expect("a deprecated function is not warned of", True,
       accepts(cc, "c", [], OLD))
expect("WEFT_WARN_DEPRECATED asks for the warning", False,
       accepts(cc, "c", ["-DWEFT_WARN_DEPRECATED"], OLD))
expect("WEFT_NO_FINT leaves the names to others", True,
       accepts(cc, "c", ["-DWEFT_NO_FINT"], OWN_FINT))
expect("without it they are taken", False, accepts(cc, "c", [], OWN_FINT))
sys.exit(1 if failures else 0)
