"""Meson finds MPI by the wrapper that is first in PATH, by pkg-config, and, as
CMake does, by the environment of the module.

SPDX-License-Identifier: BSD-3-Clause
"""
import glob
import os
import re
import shutil
import sys
import tempfile
import unittest

from products import BUILD, must

SKIP = 77
PROGRAM = """
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    printf("%d.%d\\n", MPI_VERSION, MPI_SUBVERSION);
    return MPI_Finalize();
}
"""
PROJECT = """
project('p', 'c', 'cpp')
executable('c', 'p.c', dependencies: dependency('mpi', language: 'c'%s))
executable('cxx', 'p.cc', dependencies: dependency('mpi', language: 'cpp'%s))
executable('described', 'p.c', dependencies: dependency('mpi-c'))
"""
# As another MPI library would leave it behind.
OTHER = """
Name: %s
Description: another MPI
Version: 4.1.4
Cflags: -I/nowhere
Libs: -lnowhere
"""


def load_module(prefix, env):
    """Do to env what `module load weft` does: by Tcl where there is one, whose
    language the file is in, else by its prepend-path lines."""
    files = glob.glob(prefix + "/share/modulefiles/weft/*")
    assert len(files) == 1, files
    if shutil.which("tclsh"):
        shell = """
            proc unknown {args} {}
            proc prepend-path {name dir} {puts "$name=$dir"}
            set ModulesCurrentModulefile [lindex $argv 0]
            source $ModulesCurrentModulefile
        """
        said = must("tclsh", "/dev/stdin", files[0], input=shell)
    else:
        here = os.path.dirname(os.path.realpath(files[0]))
        line = r"^prepend-path (\S+) \[file normalize (\S+)\]$"
        with open(files[0]) as f:
            said = "".join(
                f"{name}={os.path.normpath(folder.replace('$here', here))}\n"
                for name, folder in re.findall(line, f.read(), re.M))
    for line in said.splitlines():
        name, folder = line.split("=", 1)
        env[name] = folder + (":" + env[name] if env.get(name) else "")


class Meson(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        temp = tempfile.TemporaryDirectory()
        cls.addClassCleanup(temp.cleanup)
        cls.dir = temp.name
        cls.prefix = os.path.join(cls.dir, "prefix")
        must("cmake", "--install", BUILD, "--prefix", cls.prefix)
        cls.env = {k: v for k, v in os.environ.items() if k not in
                   ("CC", "CXX", "MPICC", "MPICXX", "PKG_CONFIG_PATH")}
        cls.env["PATH"] = cls.prefix + "/bin:" + cls.env["PATH"]

    def build(self, name, pkgconfig, more="", env=None):
        folder = os.path.join(self.dir, name)
        os.mkdir(folder)
        for file, text in (("p.c", PROGRAM), ("p.cc", PROGRAM),
                           ("meson.build", PROJECT % (more, more))):
            with open(os.path.join(folder, file), "w") as f:
                f.write(text)
        env = dict(env or self.env, PKG_CONFIG_LIBDIR=":".join(pkgconfig))
        said = must("meson", "setup", "out", cwd=folder, env=env)
        must("ninja", "-C", "out", cwd=folder, env=env)
        for program in ("c", "cxx", "described"):
            self.assertEqual(must(os.path.join(folder, "out", program)),
                             "5.0\n")
        return said

    def test_by_the_wrapper(self):
        said = self.build("alone", [self.prefix + "/lib/pkgconfig"])
        self.assertIn(self.prefix + "/bin/mpicc", said)

    def describe_another(self):
        other = tempfile.mkdtemp(dir=self.dir)
        for name in ("ompi-c", "ompi-cxx", "mpi-c", "mpi-cxx"):
            with open(os.path.join(other, name + ".pc"), "w") as f:
                f.write(OTHER % name)
        return other

    def test_beside_another_library_when_the_wrapper_is_asked_for(self):
        said = self.build("beside", [self.prefix + "/lib/pkgconfig",
                                     self.describe_another()],
                          ", method: 'config-tool'")
        self.assertIn(self.prefix + "/bin/mpicc", said)

    def test_beside_another_library_with_the_module(self):
        env = {k: v for k, v in self.env.items() if k != "PATH"}
        env["PATH"] = os.environ["PATH"]
        load_module(self.prefix, env)
        self.build("module", [self.describe_another()], env=env)
        self.assertEqual(shutil.which("mpicc", path=env["PATH"]),
                         self.prefix + "/bin/mpicc")
        for folder in (env["MANPATH"], env["CMAKE_PREFIX_PATH"]):
            self.assertTrue(os.path.isdir(folder), folder)


if not shutil.which("meson"):
    print("skipped: no meson (Debian package meson)")
    sys.exit(SKIP)
unittest.main(verbosity=2)
