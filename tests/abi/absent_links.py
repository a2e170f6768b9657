#!/usr/bin/env python3
"""A program that contains a call of a function which is not implemented: it
does not link with libmpi.a, and the linker says why; with libmpi_abi.so it
links and starts, with all symbols bound at the start, too.

  absent_links.py GENERATOR BUILD SANITIZER

SANITIZER is empty in a usual build; with one there are no static programs.

SPDX-License-Identifier: BSD-3-Clause
"""
import os
import re
import subprocess
import sys
import tempfile

generator, build, sanitizer = sys.argv[1:4]
sys.path.insert(0, os.path.dirname(generator))
import absent  # noqa: E402

PROGRAM = """
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    void *none = (void *)%s;
    MPI_Init(&argc, &argv);
    printf("started %%d\\n", none != 0);
    return MPI_Finalize();
}
"""

# As configure scripts ask for a function: nothing else of MPI is called.
PROBE = """
char %s(void);
int main(void)
{
    return %s();
}
"""


def sh(*command, **kw):
    return subprocess.run(command, capture_output=True, text=True,
                          timeout=200, **kw)


def must(condition, what, done):
    if not condition:
        sys.exit(f"not so: {what}\n{done.stdout}{done.stderr}")


def must_say_chapter(name, chapter, done):
    must(done.returncode != 0 and f"'{chapter}'" in done.stderr and
         f"{name} is not implemented in Weft" in done.stderr,
         "the linker says of which chapter it is", done)


def says_notes(mpicc):
    """GNU ld does; gold and lld do not know the sections."""
    linker = sh(mpicc, "-Wl,--version", "-show").stdout.split()[0]
    return "GNU ld" in sh(linker, "-Wl,--version").stdout


def main():
    functions = [(f.name, title) for title, fs in absent.functions().items()
                 for f in fs]
    if not functions:
        print("all functions of the standard are implemented")
        return
    name, chapter = functions[0]
    mpicc = os.path.join(build, "bin", "mpicc")
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "no_usrsctp.c")
        program = os.path.join(folder, "absent")
        with open(source, "w") as f:
            f.write(PROGRAM % name)
        probe = os.path.join(folder, "probe.c")
        with open(probe, "w") as f:
            f.write(PROBE % (name, name))
        done = sh(mpicc, source, "-o", program)
        must(done.returncode != 0, "libmpi.a does not have " + name, done)
        must(re.search(f"undefined.*{name}", done.stderr),
             "the linker names " + name, done)
        if says_notes(mpicc):
            must_say_chapter(name, chapter, done)
            for kind in ("-static-mpi", *(["-static"] if not sanitizer else [])):
                done = sh(mpicc, kind, probe, "-o", program)
                must_say_chapter(name, chapter, done)
        else:
            print("the linker is not GNU ld and names the symbol only")
        done = sh(mpicc, "-shared-mpi", "-Wl,-z,now", source, "-o", program)
        must(done.returncode == 0 and not done.stderr,
             "it links with libmpi_abi.so without a word", done)
        env = dict(os.environ, LD_BIND_NOW="1",
                   LD_LIBRARY_PATH=os.path.join(build, "lib"))
        done = sh(program, env=env)
        must((done.returncode, done.stdout) == (0, "started 1\n"),
             "it starts", done)


main()
