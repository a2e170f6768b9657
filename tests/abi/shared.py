#!/usr/bin/env python3
"""Libraries that use MPI and programs that use such libraries: one copy of MPI in
a process, and the reason where there are two.

BUILD_OF_WEFT names the build directory.
SPDX-License-Identifier: BSD-3-Clause
"""
import os
import shutil
import subprocess
import tempfile
import unittest

BUILD = os.path.abspath(os.environ.get("BUILD_OF_WEFT", "build"))
LIB = os.path.join(BUILD, "lib")
FILES = {
    "sum.c": r"""
#include <mpi.h>
int sum_of_ranks(MPI_Comm comm)
{
    int rank, sum;
    MPI_Comm_rank(comm, &rank);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    return sum;
}
""",
    "outer.c": r"""
int sum_of_ranks(void *comm);
int outer(void *comm) { return sum_of_ranks(comm); }
""",
    "main.c": r"""
#include <mpi.h>
#include <stdio.h>
int FUNCTION(MPI_Comm);
int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int sum = FUNCTION(MPI_COMM_WORLD);
    if (rank == 0)
        printf("sum %d\n", sum);
    return MPI_Finalize();
}
""",
    "late.c": r"""
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    void *lib = dlopen(argv[1], RTLD_NOW);
    if (!lib)
        return puts(dlerror()), 2;
    ((int (*)(MPI_Comm))dlsym(lib, "sum_of_ranks"))(MPI_COMM_WORLD);
    return MPI_Finalize();
}
""",
    "plain.c": r"""
#include <mpi.h>
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Finalize();
}
""",
    "tool.c": r"""
#include <mpi.h>
#include <stdio.h>
int MPI_Init(int *argc, char ***argv)
{
    puts("tool: MPI_Init");
    return PMPI_Init(argc, argv);
}
int MPI_Barrier(MPI_Comm comm)
{
    puts("tool: MPI_Barrier");
    return PMPI_Barrier(comm);
}
""",
    "CMakeLists.txt": """
cmake_minimum_required(VERSION 3.16)
project(p C CXX)
find_package(${PACKAGE} REQUIRED)
add_library(sum SHARED sum.c)
target_link_libraries(sum PUBLIC MPI::MPI_C)
add_executable(main main.c)
target_compile_definitions(main PRIVATE FUNCTION=sum_of_ranks)
target_link_libraries(main sum MPI::MPI_C)
""",
}
ENV = {k: v for k, v in os.environ.items()
       if k not in ("WEFT_LINK", "LD_PRELOAD", "LD_LIBRARY_PATH", "CC", "CXX")}


def sh(*command, **more):
    return subprocess.run([str(c) for c in command], capture_output=True,
                          text=True, timeout=300, env={**ENV, **more})


class Shared(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temp = tempfile.TemporaryDirectory()
        for name, text in FILES.items():
            with open(cls.path(name), "w") as f:
                f.write(text)
        cls.must("mpicc", "-shared", "-fPIC", "sum.c", "-o", "libsum.so")
        # its own use of MPI is hidden behind another library
        cls.must("cc", "-shared", "-fPIC", "outer.c", "libsum.so", "-o",
                 "libouter.so", f"-Wl,-rpath,{cls.temp.name}")

    @classmethod
    def tearDownClass(cls):
        cls.temp.cleanup()

    @classmethod
    def path(cls, name):
        return os.path.join(cls.temp.name, name)

    @classmethod
    def build(cls, compiler, *args, **more):
        if compiler.startswith("mpi"):
            compiler = os.path.join(BUILD, "bin", compiler)
        return subprocess.run([compiler, *args], cwd=cls.temp.name,
                              capture_output=True, text=True, timeout=300,
                              env={**ENV, **more})

    @classmethod
    def must(cls, *command, **more):
        done = cls.build(*command, **more)
        if done.returncode or done.stderr:
            raise AssertionError(f"{command}: {done.stderr}")

    def dynamic(self, name):
        return sh("readelf", "-dW", self.path(name)).stdout

    def needs(self, name):
        return "libmpi_abi.so.1" in self.dynamic(name)

    def job(self, program, *args, **more):
        return sh(os.path.join(BUILD, "bin", "mpirun"), "-n", 3, "--timeout",
                  100, self.path(program), *args, **more)

    def runs(self, program):
        done = self.job(program)
        self.assertEqual((done.returncode, done.stdout), (0, "sum 3\n"),
                         done.stderr)

    # ---- one copy ---------------------------------------------------------

    def test_a_shared_library_has_no_copy_of_mpi(self):
        self.assertTrue(self.needs("libsum.so"))
        defined = sh("nm", "-D", "--defined-only", self.path("libsum.so"))
        self.assertIn("sum_of_ranks", defined.stdout)
        self.assertNotIn("MPI", defined.stdout)

    def test_a_program_shares_the_copy_of_the_libraries_it_is_linked_with(self):
        here = self.temp.name
        find = ["-L" + here, f"-Wl,-rpath,{here}"]
        with open(self.path("response"), "w") as f:
            f.write("\n".join([*find, "-lsum"]))
        for name, function, args in (
                ("by_name", "sum_of_ranks", [*find, "-lsum"]),
                ("apart", "sum_of_ranks", ["-L", here, *find[1:], "-l", "sum"]),
                ("by_path", "sum_of_ranks", [self.path("libsum.so")]),
                ("by_file", "sum_of_ranks", [*find[1:], "libsum.so"]),
                ("by_response", "sum_of_ranks", ["@response"]),
                ("indirect", "outer", [*find, "-louter"])):
            with self.subTest(name):
                self.must("mpicc", f"-DFUNCTION={function}", "main.c", *args,
                          "-o", name)
                self.assertTrue(self.needs(name))
                self.runs(name)

    def test_other_programs_have_mpi_inside(self):
        self.must("mpicc", "plain.c", "-lm", "-o", "inside")
        self.assertFalse(self.needs("inside"))
        self.must("mpicc", "plain.c", "-lmpi", "-o", "inside") # of some LIBS
        self.assertFalse(self.needs("inside"))
        self.must("mpicc", "-static-mpi", "-DFUNCTION=sum_of_ranks", "main.c",
                  "sum.c", "-o", "inside")
        self.assertFalse(self.needs("inside"))
        self.runs("inside")

    def test_one_can_choose(self):
        for name, command, more in (
                ("option", ["mpicc", "-shared-mpi"], {}),
                ("abi", ["mpicc", "-mpi-abi"], {}),
                ("environment", ["mpicc"], {"WEFT_LINK": "shared"}),
                ("wrapper", ["mpicc_abi"], {}),
                ("wrapper_cxx", ["mpicxx_abi"], {}),
                ("by_hand", ["mpicc", "-lmpi_abi"], {})):
            with self.subTest(name):
                self.must(*command, "plain.c", "-o", name, **more)
                self.assertTrue(self.needs(name))
                self.assertIn(f"[{LIB}]", self.dynamic(name))
                self.assertEqual(self.job(name).returncode, 0)
        self.must("mpicc_abi", "plain.c", "-o", "chosen", WEFT_LINK="static")
        self.assertFalse(self.needs("chosen"))
        done = self.build("mpicc", "plain.c", WEFT_LINK="statically")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("there are static, shared and auto", done.stderr)

    def test_the_place_need_not_be_remembered(self):
        self.must("mpicc", "-no-rpath", "-shared-mpi", "plain.c", "-o", "norp")
        self.assertNotIn(LIB, self.dynamic("norp"))
        done = self.job("norp", LD_LIBRARY_PATH=LIB)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_dash_lmpi_is_shared_and_with_static_the_archive(self):
        flags = ["-I", os.path.join(BUILD, "include"), "plain.c", "-L" + LIB,
                 "-lmpi", "-lpthread", "-o"]
        self.must("cc", *flags, "hand")
        self.assertTrue(self.needs("hand"))
        self.must("cc", "-static", *flags, "hand_static")
        self.assertEqual(self.job("hand_static").returncode, 0)

    @unittest.skipUnless(shutil.which("cmake"), "no cmake")
    def test_cmake_links_libraries_and_programs_with_one_copy(self):
        path = os.path.join(BUILD, "bin") + ":" + ENV["PATH"]
        for package, more in (("MPI", {"PATH": path}),
                              ("Weft", {"CMAKE_PREFIX_PATH": BUILD})):
            with self.subTest(package):
                build = self.path("cmake_" + package)
                for command in (["-S", self.temp.name, "-B", build,
                                 f"-DPACKAGE={package}"], ["--build", build]):
                    done = sh("cmake", *command, **more)
                    self.assertEqual(done.returncode, 0,
                                     done.stdout + done.stderr)
                for name in ("libsum.so", "main"):
                    self.assertTrue(self.needs(os.path.join(build, name)))
                self.runs(os.path.join(build, "main"))

    # ---- two copies ---------------------------------------------------------

    def refused(self, done, *names):
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("two copies of Weft", done.stderr)
        self.assertIn("-shared-mpi", done.stderr)
        for name in names:
            self.assertIn(name, done.stderr)

    def test_two_copies_are_refused_at_the_start(self):
        here = self.temp.name
        self.must("mpicc", "-static-mpi", "-DFUNCTION=sum_of_ranks", "main.c",
                  "-L" + here, "-lsum", f"-Wl,-rpath,{here}", "-o", "two")
        self.refused(self.job("two"), "MPI_Init", "the program",
                     "libmpi_abi.so.1")

    def test_a_copy_that_is_loaded_later_says_so(self):
        self.must("mpicc", "late.c", "-ldl", "-o", "late")
        done = self.job("late", self.path("libsum.so"))
        self.refused(done, "MPI_Comm_rank", "the program", "libmpi_abi.so.1")

    def test_a_copy_inside_a_library_is_its_own(self):
        self.must("mpicc", "-shared", "-fPIC", "-static-mpi", "sum.c", "-o",
                  "libown.so")
        defined = sh("nm", "-D", "--defined-only", self.path("libown.so"))
        self.assertNotIn("MPI_", defined.stdout)
        self.must("mpicc", "-shared-mpi", "late.c", "-ldl", "-o", "late2")
        done = self.job("late2", self.path("libown.so"))
        self.refused(done, "libown.so", "libmpi_abi.so.1")

    # ---- tools --------------------------------------------------------------

    def test_a_preloaded_tool_sees_a_program_with_the_shared_library(self):
        self.must("mpicc", "-shared", "-fPIC", "tool.c", "-o", "libtool.so")
        self.must("mpicc", "-shared-mpi", "plain.c", "-o", "watched")
        done = sh(self.path("watched"), LD_PRELOAD=self.path("libtool.so"))
        self.assertEqual(done.stdout, "tool: MPI_Init\ntool: MPI_Barrier\n",
                         done.stderr)

    def test_a_tool_that_sees_nothing_is_told(self):
        self.must("mpicc", "plain.c", "-o", "unwatched")
        self.must("cc", "-shared", "-fPIC", "-I", os.path.join(BUILD, "include"),
                  "tool.c", "-o", "libblind.so")
        done = sh(self.path("unwatched"), LD_PRELOAD=self.path("libblind.so"))
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertRegex(done.stderr, "libblind.so defines MPI_Init.*"
                         "-shared-mpi")
        self.must("mpicc", "-shared", "-fPIC", "tool.c", "-o", "libtool2.so")
        self.refused(sh(self.path("unwatched"),
                        LD_PRELOAD=self.path("libtool2.so")), "the program")

    def test_a_tool_can_be_linked_in(self):
        self.must("mpicc", "-c", "tool.c")
        self.must("ar", "rc", "libinner.a", "tool.o")
        self.must("mpicc", "-shared", "-fPIC", "tool.c", "-o", "libbeside.so")
        for name in "inner", "beside":
            self.must("mpicc", f"-profile={name}", "plain.c",
                      "-L" + self.temp.name, f"-Wl,-rpath,{self.temp.name}",
                      "-o", "with_tool")
            self.assertEqual(self.needs("with_tool"), name == "beside")
            done = sh(self.path("with_tool"))
            self.assertEqual(done.stderr, "")
            self.assertEqual(done.stdout,
                             "tool: MPI_Init\ntool: MPI_Barrier\n")


if __name__ == "__main__":
    unittest.main(verbosity=2)
