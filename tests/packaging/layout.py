"""The standard directories of an installation are honoured, its parts find each
other there, and the manual pages say what the programs say.

BUILD_OF_WEFT is a build whose products are installed as another one's.
SPDX-License-Identifier: BSD-3-Clause
"""
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from products import (BUILD, SOURCE, configure_again, install_products, must,
                      read_places)

PROGRAM = """
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    printf("rank %d\\n", rank);
    return MPI_Finalize();
}
"""
PACKAGE = """
cmake_minimum_required(VERSION 3.16)
project(p C)
find_package(Weft REQUIRED)
add_executable(p p.c)
target_link_libraries(p MPI::MPI_C)
execute_process(COMMAND ${MPIEXEC_EXECUTABLE} --version COMMAND_ERROR_IS_FATAL ANY)
"""


class Layout(unittest.TestCase):
    def setUp(self):
        temp = tempfile.TemporaryDirectory()
        self.addCleanup(temp.cleanup)
        self.dir = temp.name
        self.build = os.path.join(self.dir, "build")
        self.stage = os.path.join(self.dir, "stage")

    def configure(self, prefix, **dirs):
        configure_again(self.build, prefix, **dirs)

    def install(self):
        install_products(self.build, self.stage)

    def assert_there(self, root, *names):
        for name in names:
            self.assertTrue(os.path.exists(os.path.join(root, name)), name)

    def installation(self, mpirun):
        """What mpirun tells its ranks of the installation."""
        told = must(mpirun, "-n", "1", "env")
        return dict(s.split("=", 1) for s in told.splitlines()
                    if s.startswith("WEFT_LAUNCHER_"))

    def assert_builds(self, bindir, pkgconfigdir, cmakedir):
        source = os.path.join(self.dir, "p.c")
        with open(source, "w") as f:
            f.write(PROGRAM)
        with open(os.path.join(self.dir, "CMakeLists.txt"), "w") as f:
            f.write(PACKAGE)
        program = os.path.join(self.dir, "p")
        mpirun = os.path.join(bindir, "mpirun")
        must(os.path.join(bindir, "mpicc"), source, "-o", program)
        self.assertEqual(sorted(must(mpirun, "-n", "2", program).split("\n")),
                         ["", "rank 0", "rank 1"])
        flags = must("pkg-config", "--cflags", "--libs", "mpi-c", env=dict(
            os.environ, PKG_CONFIG_LIBDIR=pkgconfigdir)).split()
        must("cc", source, "-o", program, *flags)
        self.assertEqual(must(program), "rank 0\n")
        used = os.path.join(self.dir, "used")
        must("cmake", "-S", self.dir, "-B", used,
             "-DWeft_DIR=" + cmakedir)
        must("cmake", "--build", used)
        self.assertEqual(must(os.path.join(used, "p")), "rank 0\n")

    def test_every_directory_can_be_named(self):
        self.configure("/opt/own", CMAKE_INSTALL_BINDIR="tools",
                       CMAKE_INSTALL_LIBDIR="lib64",
                       CMAKE_INSTALL_INCLUDEDIR="include/weft",
                       CMAKE_INSTALL_SYSCONFDIR="/etc/own",
                       CMAKE_INSTALL_MANDIR="man", CMAKE_INSTALL_DOCDIR="doc")
        self.install()
        self.assert_there(
            self.stage, "etc/own/weft/mpi.ini", *(f"opt/own/{name}" for name in (
                "tools/mpirun", "tools/mpiexec", "tools/mpicc",
                "lib64/libmpi.a", "lib64/libmpi_abi.so.1",
                "lib64/weft/weft_tcp.so", "lib64/pkgconfig/weft.pc",
                "lib64/cmake/weft/WeftConfig.cmake", "include/weft/mpi.h",
                "man/man1/mpirun.1", "man/man3/MPI_Send.3",
                "man/man5/mpi.ini.5", "doc/LICENSE", "doc/README.md",
                "doc/docs/user/running.md", "doc/docs/internals/00-map.md",
                "doc/weft.cdx.json")))
        prefix = os.path.join(self.dir, "moved here")
        os.rename(os.path.join(self.stage, "opt", "own"), prefix)
        told = self.installation(prefix + "/tools/mpirun")
        self.assertEqual(told["WEFT_LAUNCHER_PLUGINS"], prefix + "/lib64/weft")
        self.assertNotIn("WEFT_LAUNCHER_INI", told)  # no /etc/own here
        plain = os.path.join(self.dir, "moved")  # pkg-config splits at blanks
        os.rename(prefix, plain)
        self.assert_builds(plain + "/tools", plain + "/lib64/pkgconfig",
                           plain + "/lib64/cmake/weft")

    def test_below_usr_the_configuration_is_in_etc(self):
        before = os.listdir(os.path.join(SOURCE, "include"))
        self.configure("/usr", CMAKE_INSTALL_LIBDIR="lib/any-linux-gnu",
                       CMAKE_INSTALL_INCLUDEDIR="include/any-linux-gnu/weft",
                       WEFT_INSTALL_PKGCONFIGDIR="share/pkgconfig")
        # a build has its directories before it is installed
        self.assert_there(self.build, "include/any-linux-gnu/weft/mpi.h",
                          "lib/any-linux-gnu/pkgconfig/mpi.pc")
        self.assertEqual(os.listdir(os.path.join(SOURCE, "include")), before)
        self.install()
        usr = os.path.join(self.stage, "usr")
        lib = "/usr/lib/any-linux-gnu"
        for name in ("lib/any-linux-gnu/libmpi.a", "bin/mpirun",
                     "bin/weft-info"):
            self.assertEqual(read_places(f"{usr}/{name}"),
                             [lib, "/etc/weft/mpi.ini"])
        self.assertEqual(self.installation(usr + "/bin/mpirun"), {
            "WEFT_LAUNCHER_MOVED": f"{lib}:{self.stage}{lib}",
            "WEFT_LAUNCHER_PLUGINS": usr + "/lib/any-linux-gnu/weft",
            "WEFT_LAUNCHER_INI": self.stage + "/etc/weft/mpi.ini"})
        self.assert_builds(usr + "/bin", usr + "/share/pkgconfig",
                           usr + "/lib/any-linux-gnu/cmake/weft")
        self.assert_there(usr, "share/man/man1/mpicc.1")

    def test_a_directory_outside_the_prefix_keeps_its_name(self):
        self.configure("/opt/own", CMAKE_INSTALL_LIBDIR="/srv/own/lib",
                       CMAKE_INSTALL_INCLUDEDIR="/opt/own/include/5.0")
        with open(os.path.join(self.build, "generated", "layout.h")) as f:
            self.assertIn('WF_PLUGINS_FROM_BIN "/srv/own/lib/weft"', f.read())
        with open(os.path.join(self.build, "lib/pkgconfig/mpi.pc")) as f:
            text = f.read()
        self.assertIn("libdir=/srv/own/lib\n", text)
        self.assertIn("includedir=${prefix}/include/5.0\n", text)


class Manual(unittest.TestCase):
    def page(self, name):
        with open(os.path.join(BUILD, "man", name)) as f:
            return f.read().replace("\\-", "-").replace("\\e", "\\")

    def test_each_option_of_mpirun_is_in_its_page(self):
        help_ = must(os.path.join(BUILD, "bin", "mpirun"), "--help")
        options = re.findall(r"^  (-\S*?),? ", help_, re.M)
        self.assertGreater(len(options), 20)
        for option in options:
            self.assertRegex(self.page("man1/mpirun.1"),
                             rf"\n\.TP\n\\fB{re.escape(option)}\b")

    def test_each_line_of_the_help_of_the_others_is_in_their_pages(self):
        for name, option in (("mpicc", "-help"), ("weft-info", "--help")):
            said = must(os.path.join(BUILD, "bin", name), option).splitlines()
            self.assertGreater(len(said), 10)
            page = self.page(f"man1/{name}.1")
            for line in said:
                with self.subTest(page=name, line=line):
                    self.assertIn(line + "\n", page)

    def test_each_key_of_the_core_is_in_the_page_of_mpi_ini(self):
        said = must(os.path.join(BUILD, "bin", "weft-info"), "--json")
        keys = [option["key"] for option in json.loads(said)["core"]]
        self.assertGreater(len(keys), 5)
        for key in keys:
            self.assertIn(f"\n.TP\n\\fB{key}\\fR\n",
                          self.page("man5/mpi.ini.5"))

    def functions(self):
        """The functions that are implemented."""
        said = must(os.path.join(BUILD, "bin", "weft-info"), "--json",
                    "--functions")
        return [f["name"] for f in json.loads(said)["functions"]
                if f["implemented"]]

    def test_each_implemented_function_has_a_page(self):
        functions = self.functions()
        self.assertGreater(len(functions), 400)
        pages = os.listdir(os.path.join(BUILD, "man", "man3"))
        self.assertEqual(sorted(name + ".3" for name in functions),
                         sorted(pages))

    def test_the_page_of_a_function_has_its_synopsis_and_errors(self):
        page = self.page("man3/MPI_Send.3")
        for text in ("int MPI_Send(const void *buf, int count,",
                     "int MPI_Send_c(const void *buf, MPI_Count count,",
                     ".TP\n\\fIdest\\fR (in)\n",
                     ".TP\n\\fBMPI_ERR_RANK\\fR\n", "chapter 3"):
            self.assertIn(text.replace("\\", "\\"), page)
        self.assertEqual(self.page("man3/MPI_Send_c.3"),
                         ".so man3/MPI_Send.3\n")

    @unittest.skipUnless(shutil.which("groff"), "no groff to read the pages")
    def test_groff_reads_the_pages_of_functions_without_a_warning(self):
        pages = sorted(os.listdir(os.path.join(BUILD, "man", "man3")))
        done = subprocess.run(
            ["groff", "-man", "-ww", "-Tutf8"] +
            ["man3/" + name for name in pages],
            cwd=os.path.join(BUILD, "man"), capture_output=True, text=True,
            timeout=300)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    @unittest.skipUnless(shutil.which("groff"), "no groff to read the pages")
    def test_groff_reads_the_pages_without_a_warning(self):
        for folder in ("man1", "man5"):
            for name in os.listdir(os.path.join(BUILD, "man", folder)):
                done = subprocess.run(
                    ["groff", "-man", "-ww", "-Tutf8", f"{folder}/{name}"],
                    cwd=os.path.join(BUILD, "man"), capture_output=True,
                    text=True, timeout=60)
                self.assertEqual((done.returncode, done.stderr), (0, ""), name)


unittest.main(verbosity=2)
