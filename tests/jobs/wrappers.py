"""mpicc and its kin, pkg-config, find_package, and an installation that moves.

BUILD_OF_WEFT names the build directory. Everything is checked on an installed
tree that has been renamed.
SPDX-License-Identifier: BSD-3-Clause
"""
import os
import shutil
import subprocess
import tempfile
import unittest

BUILD = os.path.abspath(os.environ.get("BUILD_OF_WEFT", "build"))
PROGRAM = r"""
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    int major, minor;
    MPI_Init(&argc, &argv);
    MPI_Get_version(&major, &minor);
    printf("%d.%d\n", major, minor);
    return MPI_Finalize();
}
"""
CMAKE = """
cmake_minimum_required(VERSION 3.16)
project(p C CXX)
find_package(%s REQUIRED)
add_executable(c hello.c)
target_link_libraries(c MPI::MPI_C)
add_executable(cxx hello.cc)
target_link_libraries(cxx MPI::MPI_CXX)
"""
ENV = {k: v for k, v in os.environ.items()
       if k not in ("WEFT_CC", "MPICH_CC", "OMPI_CC", "CC", "CXX", "CFLAGS")}


def sh(*command, **kw):
    kw.setdefault("env", ENV)
    return subprocess.run(list(map(str, command)), capture_output=True,
                          text=True, timeout=300, **kw)


class Wrappers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temp = tempfile.TemporaryDirectory()
        first = os.path.join(cls.temp.name, "first")
        cls.plain = os.path.join(cls.temp.name, "moved")
        cls.blank = os.path.join(cls.temp.name, "a b")
        subprocess.run(["cmake", "--install", BUILD, "--prefix", first],
                       check=True, stdout=subprocess.DEVNULL)
        os.rename(first, cls.plain)
        shutil.copytree(cls.plain, cls.blank, symlinks=True)
        cls.mpicc = os.path.join(cls.plain, "bin", "mpicc")
        cls.has_shared = os.path.exists(cls.plain + "/lib/libmpi_abi.so")
        cls.sanitized = "-fsanitize" in sh(cls.mpicc, "-show").stdout
        for name in ("hello.c", "hello.cc"):
            with open(os.path.join(cls.temp.name, name), "w") as f:
                f.write(PROGRAM)

    @classmethod
    def tearDownClass(cls):
        cls.temp.cleanup()

    def path(self, name):
        return os.path.join(self.temp.name, name)

    def says(self, *args, **kw):
        done = sh(self.mpicc, *args, **kw)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count("\n"), 1)
        self.assertNotIn('"', done.stdout)
        return done.stdout.strip()

    def runs(self, program):
        done = sh(program)
        self.assertEqual((done.returncode, done.stdout), (0, "5.0\n"),
                         done.stderr)

    def builds(self, *command, **kw):
        done = sh(*command, cwd=self.temp.name, **kw)
        self.assertEqual((done.returncode, done.stdout, done.stderr),
                         (0, "", ""))

    def test_the_installed_tree_is_complete(self):
        for name in ("bin/mpirun bin/mpiexec bin/mpicc bin/mpicxx bin/mpic++ "
                     "include/mpi.h include/weft_transport.h lib/libmpi.a "
                     "lib/pkgconfig/mpi.pc lib/pkgconfig/mpi-c.pc "
                     "lib/pkgconfig/mpi-cxx.pc lib/pkgconfig/weft.pc "
                     "lib/cmake/weft/WeftConfig.cmake").split():
            self.assertTrue(os.path.exists(os.path.join(self.plain, name)),
                            name)

    def test_queries_of_open_mpi(self):
        inc, lib = self.plain + "/include", self.plain + "/lib"
        compile_ = self.says("--showme:compile")
        self.assertTrue(compile_.startswith(f"-I{inc} -pthread"), compile_)
        self.assertIn(f"-L{lib} ", self.says("-showme:link"))
        self.assertTrue(self.says("-showme:link").endswith(
            "-lmpi" if self.has_shared else self.plain + "/lib/libmpi.a"))
        self.assertEqual(self.says("-showme:incdirs"), inc)
        self.assertEqual(self.says("--showme:libdirs"), lib)
        self.assertEqual(self.says("--showme:libs"), "mpi")
        self.assertIn("Weft", self.says("--showme:version"))
        self.assertIn("gcc", self.says("--showme:command",
                                       env=dict(ENV, WEFT_CC="gcc")))
        self.assertIn("-o x x.c", self.says("--showme", "-o", "x", "x.c"))

    def test_queries_of_mpich(self):
        self.assertIn(self.plain + "/include", self.says("-compile-info"))
        self.assertIn("mpi", self.says("-link-info").split(self.plain)[-1])
        self.assertEqual(self.says("-link_info"), self.says("-showme:link"))
        # without a file that is the answer for all; else what would be done
        self.assertTrue(self.says("-show").endswith(self.says("-link-info")))
        self.assertTrue(self.says("-show", "x.c").endswith("/lib/libmpi.a"))
        self.assertNotIn("lib", self.says("-show", "-c", "x.c").replace(
            self.plain, ""))

    def test_an_unknown_query_fails_and_prints_nothing(self):
        for query in ("-showme:nonsense", "--cray-print-opts=all",
                      "-nonsense-info"):
            done = sh(self.mpicc, query)
            self.assertNotEqual(done.returncode, 0, query)
            self.assertEqual(done.stdout, "")

    def test_the_compiler_can_be_chosen(self):
        for var in ("WEFT_CC", "MPICH_CC", "OMPI_CC"):
            self.assertEqual(self.says("-showme:command",
                                       env=dict(ENV, **{var: "my-cc -x"})),
                             "my-cc -x")
        self.assertEqual(self.says("-cc=abc", "-showme:command"), "abc")
        # a wrapper that names a wrapper does not call itself for ever
        self.assertNotIn("mpicc", self.says("-showme:command", env=dict(
            ENV, MPICH_CC=self.mpicc)))

    def test_programs_are_built_and_run(self):
        for compiler in ("mpicc", "mpicxx", "mpic++", "mpiCC",
                         *["mpicc_abi", "mpicxx_abi"] * self.has_shared):
            self.builds(os.path.join(self.plain, "bin", compiler), "hello.c",
                        "-o", "p-" + compiler)
            self.runs(self.path("p-" + compiler))
        self.builds(self.mpicc, "-c", "hello.c", "-o", "hello.o")
        self.builds(self.mpicc, "hello.o", "-o", "linked")
        self.runs(self.path("linked"))

    def test_another_mpi_library_in_a_named_directory_is_not_taken(self):
        other = self.path("other")
        os.mkdir(other)
        for name in ("libmpi.a", "libmpi.so", "libmpi_abi.so"):
            with open(os.path.join(other, name), "w") as f:
                f.write("no library at all\n")
        self.builds(self.mpicc, f"-L{other}", "hello.c", "-o", "beside")
        self.runs(self.path("beside"))
        if self.has_shared:
            self.builds(self.mpicc, "-shared-mpi", f"-L{other}",
                        "hello.c", "-o", "beside")
            self.runs(self.path("beside"))

    def test_arguments_with_blanks_stay_whole(self):
        self.builds(self.mpicc, '-DTEXT="a b"', "hello.c", "-o", "a out")
        self.runs(self.path("a out"))

    def test_a_prefix_with_a_blank_works(self):
        self.builds(self.blank + "/bin/mpicc", "hello.c", "-o", "blank")
        self.runs(self.path("blank"))

    def words(self, name, text):
        """The argument for a response file that says text."""
        with open(self.path(name), "w") as f:
            f.write(text)
        return "@" + name

    def test_a_program_may_come_from_standard_input(self):
        for compiler, flags in (("mpicc", ["-x", "c"]), ("mpicc", ["-xc"]),
                                ("mpicxx", ["-x", "c++"]),
                                ("mpicc", ["-fthread-ranks", "-xc"]),
                                ("mpicc", [self.words("x", "-x c\n")])):
            for at in (self.plain, self.blank):
                program = self.path("from-input")
                self.builds(os.path.join(at, "bin", compiler), *flags, "-",
                            "-o", program, input=PROGRAM)
                self.runs(program)
                os.remove(program)
        self.builds(self.mpicc, "-x", "c", "-c", "-", "-o", "input.o",
                    input=PROGRAM)
        self.builds(self.mpicc, "input.o", "-o", "from-object")
        self.runs(self.path("from-object"))

    def test_a_named_language_is_not_that_of_the_library(self):
        os.symlink("hello.c", self.path("hello.source"))
        for flags in (["-x", "c", "hello.source"], ["hello.c", "-xc"]):
            self.builds(self.mpicc, *flags, "-o", "named")
            self.runs(self.path("named"))
            said = self.says("-show", *flags)
            self.assertTrue(said.endswith(
                f" -Xlinker {self.plain}/lib/libmpi.a"), said)

    def test_a_response_file_is_read_as_the_compiler_reads_it(self):
        os.mkdir(self.path("with blank"))
        shutil.copy(self.path("hello.c"), self.path("with blank/hello.c"))
        inner = self.words("inner", "-DOTHER='a -c b' \"with blank/hello.c\"\n")
        for text in (inner, "with\\ blank/hello.c\n-o\n-c\n",
                     f'"-DMORE=\\"-c\\"" {inner}\n'):
            self.builds(self.mpicc, self.words("outer", text), "-o", "response")
            self.runs(self.path("response"))
        self.builds(self.mpicc, self.words("only", "-c hello.c -o only.o\n"))
        self.builds(self.mpicc, "only.o", "-o", "response")
        self.runs(self.path("response"))
        done = sh(self.mpicc, self.words("endless", "@endless @endless"),
                  cwd=self.temp.name)
        self.assertNotEqual(done.returncode, 0)
        self.assertNotEqual(sh(self.mpicc, "@none").returncode, 0)
        if not self.has_shared:
            return
        for text in ("-shared", "-Wall\n-lmpi_abi\n", "-lmpi"):
            said = self.says("-show", "x.c", self.words("kind", text),
                             cwd=self.temp.name)
            self.assertTrue(said.endswith("/libmpi_abi.so"), said)

    def test_what_the_linker_is_told_is_linked(self):
        self.builds(self.mpicc, "-c", "hello.c", "-o", "told.o")
        for flags in (["-Wl,told.o"], ["-Xlinker", "told.o"]):
            self.builds(self.mpicc, *flags, "-o", "told")
            self.runs(self.path("told"))
        done = sh(self.mpicc, "-Wl,--version")
        self.assertEqual((done.returncode, done.stdout.count("ld") > 0),
                         (0, True), done.stderr)

    def test_after_two_dashes_every_name_is_a_file(self):
        shutil.copy(self.path("hello.c"), self.path("-c.c"))
        for flags in (["--", "hello.c"], ["--", "-c.c"]):
            self.builds(self.mpicc, "-o", "dashes", *flags)
            self.runs(self.path("dashes"))

    def test_the_name_of_a_library_may_be_a_word_of_its_own(self):
        self.builds(self.mpicc, "hello.c", "-l", "mpi", "-l", "m", "-o", "word")
        self.runs(self.path("word"))
        self.assertNotIn("-lmpi", self.says("-show", "x.c", "-l", "mpi"))

    def test_a_static_program_links_without_a_warning(self):
        if self.sanitized:
            self.skipTest("sanitizers do not link statically")
        done = sh(self.mpicc, "-static", "hello.c", "-o", "static",
                  cwd=self.temp.name)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.runs(self.path("static"))

    def test_the_shared_library_is_there_on_request(self):
        if not self.has_shared:
            done = sh(self.mpicc, "-shared-mpi", "hello.c")
            self.assertIn("this build has no libmpi_abi.so", done.stderr)
            self.skipTest("a static build has none")
        self.builds(self.mpicc, "-shared-mpi", "hello.c", "-o", "shared")
        self.runs(self.path("shared"))
        self.builds(self.blank + "/bin/mpicc", "-shared-mpi", "hello.c", "-o",
                    "shared-blank")
        self.runs(self.path("shared-blank"))

    def test_a_tool_library_stands_before_mpi(self):
        words = self.says("-profile=tool", "-show", "x.c").split()
        self.assertEqual(words[-2:], ["-ltool", self.plain + "/lib/libmpi.a"])
        words = self.says("-profile=tool", "-link-info").split()
        self.assertEqual(words[-2], "-ltool")

    def test_it_works_through_links_and_from_path(self):
        os.symlink(self.mpicc, self.path("link-cc"))
        done = sh(self.path("link-cc"), "-showme:incdirs")
        self.assertEqual(done.stdout.strip(), self.plain + "/include")
        env = dict(ENV, PATH=self.plain + "/bin:" + ENV["PATH"])
        done = sh("sh", "-c", "mpicc -showme:libdirs", env=env)
        self.assertEqual(done.stdout.strip(), self.plain + "/lib")

    def test_compiler_questions_reach_the_compiler(self):
        for query in ("--version", "-dumpversion", "-v"):
            self.assertEqual(sh(self.mpicc, query).returncode, 0, query)

    @unittest.skipUnless(shutil.which("pkg-config"), "no pkg-config")
    def test_pkg_config_moves_with_the_tree(self):
        if self.sanitized:
            self.skipTest("the files describe plain builds")
        env = dict(ENV, PKG_CONFIG_PATH=self.plain + "/lib/pkgconfig")
        for name in ("mpi", "mpi-c", "mpi-cxx", "weft"):
            done = sh("sh", "-c", "cc hello.c -o pc $(pkg-config --static "
                      f"--cflags --libs {name})", env=env, cwd=self.temp.name)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.runs(self.path("pc"))

    def cmake(self, package, *args, **env):
        with open(self.path("CMakeLists.txt"), "w") as f:
            f.write(CMAKE % package)
        build = tempfile.mkdtemp(dir=self.temp.name)
        for command in (["cmake", "-S", ".", "-B", build, *args],
                        ["cmake", "--build", build]):
            done = sh(*command, cwd=self.temp.name, env=dict(ENV, **env))
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.runs(os.path.join(build, "c"))
        self.runs(os.path.join(build, "cxx"))
        with open(os.path.join(build, "CMakeCache.txt")) as f:
            return f.read()

    def test_cmake_find_package_mpi(self):
        if self.sanitized:
            self.skipTest("FindMPI drops the sanitizer's flags")
        path = self.plain + "/bin:" + ENV["PATH"]
        cache = self.cmake("MPI", PATH=path)
        name = "libmpi.so" if self.has_shared else "libmpi.a"
        self.assertIn(f"{self.plain}/lib/{name}", cache)
        self.cmake("MPI", "-DCMAKE_PREFIX_PATH=" + self.plain)
        cache = self.cmake("MPI", PATH=path, WEFT_LINK="static")
        self.assertIn(f"{self.plain}/lib/libmpi.a", cache)

    def test_cmake_find_package_weft(self):
        if self.sanitized:
            self.skipTest("the package describes plain builds")
        self.cmake("Weft", "-DCMAKE_PREFIX_PATH=" + self.plain)
        self.cmake("Weft", "-DCMAKE_PREFIX_PATH=" + self.plain,
                   "-DWeft_USE_STATIC_LIBS=ON")


unittest.main(verbosity=2)
