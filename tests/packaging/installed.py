"""What is installed finds its installation: programs by their library, wherever
they lie, and weft-info and mpirun by where they are.

Which mpi.ini is read is told by a mistake in it. BUILD_OF_WEFT is a build whose
products are installed.
SPDX-License-Identifier: BSD-3-Clause
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from products import (BUILD, SOURCE, configure_again, install_products,
                      read_places)

ENV = {k: v for k, v in os.environ.items()
       if not k.startswith(("WEFT_", "PMI_")) and k != "HOME"}
NOBODY = 65534
ROOT = os.geteuid() == 0
MISTAKEN = 78  # sysexits.h: the configuration is wrong
PROGRAM = """
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    int rank, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    printf("ran %d\\n", sum);
    return MPI_Finalize();
}
"""
LIBRARY = "#include <mpi.h>\nint go(void) { MPI_Init(0, 0); return MPI_Finalize(); }\n"
MINE = r"""
#include "weft_transport.h"
static const weft_option options[] = {{0}};
static int no(void) { return WEFT_ENOTSUP; }
#define F (void *)no
static const weft_ops ops = {.size = sizeof ops, .open = F, .close = F,
  .attr = F, .address = F, .reach = F, .peer_add = F, .peer_del = F,
  .send = F, .progress = F, .drain = F};
struct config { int x; };
WEFT_PLUGIN(mine, "1", "reaches nobody", options, struct config, &ops);
"""
CALLER = "int go(void); int main(void) { return go(); }\n"


def sh(*command, env=None, **kw):
    return subprocess.run([str(c) for c in command], capture_output=True,
                          text=True, timeout=600, env={**ENV, **(env or {})},
                          **kw)


def must(*command, **kw):
    done = sh(*command, **kw)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write(text)
    return path


class Here(unittest.TestCase):
    """A directory with the sources, and one to work in."""
    @classmethod
    def setUpClass(cls):
        temp = tempfile.TemporaryDirectory()
        cls.addClassCleanup(temp.cleanup)
        cls.dir = os.path.realpath(temp.name)
        os.chmod(cls.dir, 0o755)
        cls.source = write(cls.dir + "/program.c", PROGRAM)

    def setUp(self):
        self.cwd = tempfile.mkdtemp(dir=self.dir)
        os.chmod(self.cwd, 0o755)

    def mpicc(self, prefix, *options, name="program"):
        out = os.path.join(self.cwd, name)
        must(prefix + "/bin/mpicc", self.source, *options, "-o", out)
        return out

    def mistake(self, ini):
        """Makes a mistake in a file, and takes it back after the test."""
        if os.path.exists(ini):
            with open(ini) as f:
                self.addCleanup(write, ini, f.read())
        return write(ini, "[core]\njbo = x\n")

    def run_in_cwd(self, *command, **kw):
        return sh(*command, cwd=self.cwd, **kw)

    def assert_reads(self, ini, *command, **kw):
        done = self.run_in_cwd(*command, **kw)
        self.assertEqual(done.returncode, MISTAKEN, done.stdout + done.stderr)
        self.assertIn(f"{ini}:2:1: unknown key 'jbo'", done.stderr)

    def assert_runs(self, *command, said="ran 0\n", **kw):
        done = self.run_in_cwd(*command, **kw)
        self.assertEqual((done.returncode, done.stdout), (0, said),
                         done.stderr)


class Installed(Here):
    """One installation, in which nothing is changed for good."""
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.prefix = cls.dir + "/weft"
        must("cmake", "--install", BUILD, "--prefix", cls.prefix)
        cls.bin = cls.prefix + "/bin"
        cls.ini = cls.prefix + "/etc/weft/mpi.ini"

    # ---- programs -----------------------------------------------------------
    def test_a_program_reads_the_configuration_of_its_library(self):
        self.mistake(self.ini)
        for options in ([], ["-static"], ["-static-mpi"], ["-shared-mpi"]):
            with self.subTest(options=options):
                self.assert_reads(self.ini, self.mpicc(self.prefix, *options))

    def test_it_runs_with_the_configuration_as_it_is_installed(self):
        for options in ([], ["-static"], ["-shared-mpi"]):
            with self.subTest(options=options):
                self.assert_runs(self.mpicc(self.prefix, *options))

    def test_what_is_near_a_program_means_nothing(self):
        self.mistake(self.cwd + "/etc/weft/mpi.ini")
        for folder in ("bin", "lib"):
            os.mkdir(os.path.join(self.cwd, folder))
            self.assert_runs(self.mpicc(self.prefix, name=folder + "/program"))
            self.assert_runs(self.mpicc(self.prefix, "-static",
                                        name=folder + "/static"))

    def test_a_link_to_a_program_changes_nothing(self):
        program = self.mpicc(self.prefix)
        self.mistake(self.cwd + "/etc/weft/mpi.ini")
        os.mkdir(self.cwd + "/bin")
        os.symlink(program, self.cwd + "/bin/link")
        self.assert_runs(self.cwd + "/bin/link")
        self.mistake(self.ini)
        self.assert_reads(self.ini, self.cwd + "/bin/link")

    def test_libmpi_a_inside_a_library_means_its_own_installation(self):
        write(self.cwd + "/go.c", LIBRARY)
        write(self.cwd + "/main.c", CALLER)
        os.mkdir(self.cwd + "/lib")
        self.mistake(self.cwd + "/etc/weft/mpi.ini")
        self.run_in_cwd(self.bin + "/mpicc", "-shared", "-fPIC", "-static-mpi",
                        "go.c", "-o", "lib/libgo.so")
        must("cc", "main.c", "lib/libgo.so", "-o", "main", cwd=self.cwd)
        env = {"LD_LIBRARY_PATH": self.cwd + "/lib"}
        self.assert_runs("./main", said="", env=env)
        self.mistake(self.ini)
        self.assert_reads(self.ini, "./main", env=env)

    def test_it_finds_the_plugins_of_its_library(self):
        program = self.mpicc(self.prefix)
        env = {"WEFT_SET": "transport.udp-reliable.enable=yes"}
        self.assert_runs(program, env=env)
        plugin = self.prefix + "/lib/weft/weft_udp_reliable.so"
        os.rename(plugin, plugin + ".away")
        self.addCleanup(os.rename, plugin + ".away", plugin)
        done = self.run_in_cwd(program, env=env)
        self.assertEqual(done.returncode, MISTAKEN)
        self.assertIn(f"was not found; tried {plugin}: No such", done.stderr)
        done = self.run_in_cwd(self.bin + "/mpirun", "-n", 1, program, env=env)
        self.assertEqual(done.stderr.count(plugin), 1, done.stderr)

    def test_the_library_counts_more_than_the_launcher(self):
        other = self.cwd + "/other"
        must("cmake", "--install", BUILD, "--prefix", other)
        self.mistake(self.ini)
        program = self.mpicc(self.prefix)
        self.assert_reads(self.ini, other + "/bin/mpirun", "-n", 1, program)
        os.rename(self.ini, self.ini + ".away")
        self.addCleanup(os.rename, self.ini + ".away", self.ini)
        self.mistake(other + "/etc/weft/mpi.ini")
        self.assert_reads(other + "/etc/weft/mpi.ini", other + "/bin/mpirun",
                          "-n", 1, program)

    def test_nearer_files_count_more_than_the_installation(self):
        program = self.mpicc(self.prefix)
        self.mistake(self.ini)
        here = write(self.cwd + "/mpi.ini", "")
        self.assert_runs(program)
        os.unlink(here)
        self.assert_runs(program, env={"WEFT_INI": "-"})
        write(self.cwd + "/home/.config/weft/mpi.ini", "")
        self.assert_runs(program, env={"HOME": self.cwd + "/home"})

    def test_a_program_of_the_build_tree_reads_nothing_of_the_prefix(self):
        for name in ("lib/libmpi.a", "bin/weft-info", "bin/mpirun"):
            self.assertEqual(read_places(os.path.join(BUILD, name)), ["", ""])
        self.mistake(self.ini)
        self.assert_runs(self.mpicc(BUILD))

    # ---- trust --------------------------------------------------------------
    def test_a_configuration_that_others_may_write_stops_the_program(self):
        program = self.mpicc(self.prefix, "-static")
        self.addCleanup(os.chmod, self.ini, 0o644)
        os.chmod(self.ini, 0o666)
        done = self.run_in_cwd(program)
        self.assertEqual(done.returncode, MISTAKEN, done.stdout)
        self.assertIn(self.ini + ": found here and not used: others may write",
                      done.stderr)

    @unittest.skipUnless(ROOT, "needs root: a program that is setuid")
    def test_a_setuid_program_reads_its_installation_and_no_variable(self):
        program = self.mpicc(self.prefix, "-static")
        os.chmod(program, 0o4755)
        if os.statvfs(program).f_flag & os.ST_NOSUID:
            self.skipTest(f"{self.dir} is mounted nosuid")
        bad = self.mistake(self.cwd + "/lib/../etc/weft/mpi.ini")
        moved = f"{self.prefix}/lib:{self.cwd}/lib"
        who = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        for env in ({"WEFT_LAUNCHER_INI": bad, "WEFT_LAUNCHER_MOVED": moved},
                    {"WEFT_LAUNCHER_PLUGINS": self.cwd}):
            self.assert_runs(program, env=env, **who)
        self.mistake(self.ini)
        done = self.run_in_cwd(program, env={"WEFT_LAUNCHER_MOVED": moved},
                               **who)
        self.assertEqual(done.returncode, MISTAKEN, done.stderr)
        self.assertIn(self.ini, done.stderr)

    # ---- weft-info ----------------------------------------------------------
    def assert_finds(self, *command, **kw):
        """weft-info finds the configuration and a plugin."""
        said = must(*command, "--route", "udp-reliable", cwd=self.cwd, **kw)
        self.assertIn(f"configuration: {self.ini}\n", said)
        self.assertRegex(said, r"plugin udp-reliable \S+ \(loaded\)")

    def test_weft_info_finds_its_installation(self):
        self.assert_finds(self.bin + "/weft-info")

    def test_weft_info_finds_it_by_path(self):
        self.assert_finds("weft-info", env={
            "PATH": self.bin + ":" + ENV["PATH"]})
        self.assert_finds("weft-info", env={"PATH": os.path.relpath(
            self.bin, self.cwd) + ":" + ENV["PATH"]})

    def test_weft_info_finds_it_by_a_link_in_path(self):
        os.mkdir(self.cwd + "/bin")
        os.symlink(self.bin + "/weft-info", self.cwd + "/bin/weft-info")
        self.assert_finds("weft-info", env={
            "PATH": self.cwd + "/bin:" + ENV["PATH"]})

    def test_a_copy_of_weft_info_alone_finds_where_it_was_installed(self):
        os.makedirs(self.cwd + "/bin")
        os.makedirs(self.cwd + "/lib")
        shutil.copy(self.bin + "/weft-info", self.cwd + "/bin")
        self.assert_finds(self.cwd + "/bin/weft-info")


class Tables(Here):
    """Programs with transports of their own choice (weft-info --table)."""
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.prefix = cls.dir + "/weft"
        must("cmake", "--install", BUILD, "--prefix", cls.prefix)

    def info(self, *words):
        return self.run_in_cwd(self.prefix + "/bin/weft-info", *words)

    def table(self, *names):
        made = self.info("--table", *names)
        self.assertEqual(made.returncode, 0, made.stderr)
        return write(self.cwd + "/table.c", made.stdout)

    def assert_goes(self, program, route, *options):
        self.assert_runs(self.prefix + "/bin/mpirun", "-n", 2, "--route",
                         route, "--set", "core.stats=yes", *options, program,
                         said="ran 1\nran 1\n")

    def test_archives_of_the_other_transports_are_installed(self):
        for name in ("udp_reliable", "sctp"):
            self.assertTrue(os.path.exists(
                f"{self.prefix}/lib/libweft_{name}.a"), name)

    def test_mpicc_links_what_the_table_names(self):
        table = self.table("tcp", "udp-reliable")
        for style in (["-static"], ["-static-mpi"], []):
            with self.subTest(style=style):
                program = self.mpicc(self.prefix, table, *style)
                self.assert_goes(program, "udp-reliable")
                self.assert_goes(program, "tcp")
        done = self.run_in_cwd(self.prefix + "/bin/mpirun", "-n", 2, "--route",
                               "shm", self.mpicc(self.prefix, table, "-static"))
        self.assertIn("plugin 'shm' of transport 'shm' is not built in",
                      done.stderr)
        self.assertIn("weft-info --table", done.stderr)

    def test_sctp_is_linked_and_says_what_it_is(self):
        table = self.table("sctp")
        program = self.mpicc(self.prefix, table, "-static")
        self.assert_runs(program, env={"WEFT_SET":
                                       "transport.sctp.enable=auto"})
        with open(program, "rb") as f:
            self.assertIn(b"libusrsctp.so", f.read())

    def test_a_directory_with_blanks_is_no_obstacle(self):
        to = self.cwd + "/a directory"
        os.rename(shutil.copytree(self.prefix, self.cwd + "/copy",
                                  symlinks=True), to)
        table = self.table("udp-reliable")
        self.assert_goes(self.mpicc(to, table, "-static"), "udp-reliable")

    def test_a_program_without_a_table_has_nothing_of_the_archives(self):
        said = must("nm", self.mpicc(self.prefix, "-static"))
        self.assertNotIn("weft_plugin_2_udp_reliable", said)
        self.assertIn("weft_plugin_2_tcp", said)

    def test_the_answer_for_build_systems_has_the_archives(self):
        table = self.table("udp-reliable")
        for style in (["-static"], ["-static-mpi"]):
            flags = must(self.prefix + "/bin/mpicc", *style, "-showme:link")
            out = self.cwd + "/answered"
            must("cc", *style[:style == ["-static"]], "-I",
                 self.prefix + "/include", self.source, table, "-o", out,
                 *flags.split())
            self.assert_goes(out, "udp-reliable")
        shared = must(self.prefix + "/bin/mpicc", "-shared-mpi",
                      "-showme:link")
        self.assertNotIn("weft_udp_reliable", shared)

    @unittest.skipUnless(shutil.which("pkg-config"), "no pkg-config")
    def test_pkg_config_links_what_the_table_names(self):
        flags = must("pkg-config", "--cflags", "--libs", "weft", env={
            "PKG_CONFIG_LIBDIR": self.prefix + "/lib/pkgconfig"}).split()
        out = self.cwd + "/described"
        must("cc", "-static", self.source, self.table("udp-reliable"), "-o",
             out, *flags)
        self.assert_goes(out, "udp-reliable")

    def test_cmake_links_what_the_table_names(self):
        self.table("udp-reliable", "tcp")
        shutil.copy(self.source, self.cwd)
        write(self.cwd + "/CMakeLists.txt", """
cmake_minimum_required(VERSION 3.16)
project(p C)
set(Weft_USE_STATIC_LIBS ON)
find_package(Weft REQUIRED)
add_executable(p program.c table.c)
target_link_libraries(p MPI::MPI_C)
""")
        must("cmake", "-S", ".", "-B", "used",
             "-DWeft_DIR=" + self.prefix + "/lib/cmake/weft", cwd=self.cwd)
        must("cmake", "--build", "used", cwd=self.cwd)
        self.assert_goes(self.cwd + "/used/p", "udp-reliable")

    def test_a_name_without_an_archive_is_refused(self):
        done = self.info("--table", "tcp", "udp")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("no transport is named 'udp'; there are self, thread, ",
                      done.stderr)
        self.assertIn(f"sctp, udp-reliable in archives of {self.prefix}/lib",
                      done.stderr)
        archive = self.prefix + "/lib/libweft_udp_reliable.a"
        os.rename(archive, archive + ".away")
        self.addCleanup(os.rename, archive + ".away", archive)
        self.assertEqual(self.info("--table", "udp-reliable").returncode, 2)

    def test_an_archive_of_somebody_else_beside_ours_has_a_name(self):
        """A program takes it as it takes ours."""
        source = write(self.cwd + "/mine.c", MINE)
        must("cc", "-c", "-I", self.prefix + "/include", source, "-o",
             self.cwd + "/mine.o")
        archive = self.prefix + "/lib/libweft_mine.a"
        self.addCleanup(os.unlink, archive)
        must("ar", "rcs", archive, self.cwd + "/mine.o")
        self.assert_runs(self.mpicc(self.prefix, self.table("mine", "tcp"),
                                    "-static"))


class Moved(Here):
    """Installations that are where they were not installed."""
    def install(self, name="weft"):
        prefix = os.path.join(self.cwd, name)
        must("cmake", "--install", BUILD, "--prefix", prefix)
        return prefix

    def moved(self, prefix):
        to = self.cwd + "/moved"
        os.rename(prefix, to)
        self.mistake(to + "/etc/weft/mpi.ini")
        return to

    def test_the_shared_library_moves_its_installation(self):
        to = self.moved(self.install())
        self.assert_reads(to + "/etc/weft/mpi.ini",
                          self.mpicc(to, "-shared-mpi"))

    def test_mpirun_tells_its_ranks_where_it_moved(self):
        prefix = self.install()
        for options in ([], ["-static"]):
            program = self.mpicc(prefix, *options, name="p" + "".join(options))
        to = self.moved(prefix)
        for name in ("p", "p-static"):
            program = os.path.join(self.cwd, name)
            self.assert_reads(to + "/etc/weft/mpi.ini", to + "/bin/mpirun",
                              "-n", 1, program)
            self.assert_runs(program)  # there is nothing left

    def test_plugins_move_with_mpirun(self):
        prefix = self.install()
        program = self.mpicc(prefix)
        os.rename(prefix, self.cwd + "/moved")
        self.assert_runs(self.cwd + "/moved/bin/mpirun", "-n", 2, "--route",
                         "udp-reliable", program, said="ran 1\nran 1\n")

    def test_a_copy_is_an_installation_of_its_own(self):
        prefix = self.install()
        copy = shutil.copytree(prefix, self.cwd + "/copy", symlinks=True)
        program = self.mpicc(copy)
        self.mistake(copy + "/etc/weft/mpi.ini")
        self.assert_reads(copy + "/etc/weft/mpi.ini", copy + "/bin/mpirun",
                          "-n", 1, program)
        self.assert_runs(prefix + "/bin/mpirun", "-n", 1, program)
        self.assert_runs(program)
        self.assert_reads(copy + "/etc/weft/mpi.ini", copy + "/bin/weft-info")

    def test_weft_info_moves_with_its_installation(self):
        to = self.moved(self.install())
        self.assert_reads(to + "/etc/weft/mpi.ini", to + "/bin/weft-info")
        write(to + "/etc/weft/mpi.ini", "")
        self.assertRegex(must(to + "/bin/weft-info", "--route", "udp-reliable",
                              cwd=self.cwd), r"udp-reliable \S+ \(loaded\)")

    def test_an_installation_over_another_one_is_complete(self):
        prefix = self.install()
        before = read_places(prefix + "/lib/libmpi.a")
        self.assertEqual(before, [prefix + "/lib",
                                  prefix + "/etc/weft/mpi.ini"])
        self.install()
        self.assertEqual(read_places(prefix + "/lib/libmpi.a"), before)

    def test_files_that_are_links_into_the_build_stay_as_they_are_there(self):
        must("cmake", "--install", BUILD, "--prefix", self.cwd + "/weft",
             env={"CMAKE_INSTALL_MODE": "ABS_SYMLINK"})
        self.assertEqual(read_places(self.cwd + "/weft/lib/libmpi.a")[0],
                         self.cwd + "/weft/lib")
        self.assertEqual(read_places(BUILD + "/lib/libmpi.a"), ["", ""])


class Configured(Here):
    """The places that a configuration names, written into products."""
    def install(self, prefix, stage="", **dirs):
        build = self.cwd + "/build"
        configure_again(build, prefix, **dirs)
        install_products(build, stage)

    def test_a_staged_installation_knows_where_it_will_be(self):
        final, stage = self.cwd + "/final", self.cwd + "/stage"
        self.install(final, stage)
        self.assertEqual(read_places(stage + final + "/lib/libmpi.a"),
                         [final + "/lib", final + "/etc/weft/mpi.ini"])
        self.assertFalse(os.path.exists(final))
        os.rename(stage + final, final)
        self.mistake(final + "/etc/weft/mpi.ini")
        for command in ([self.mpicc(final)], [final + "/bin/weft-info"],
                        [self.mpicc(final, "-static")]):
            self.assert_reads(final + "/etc/weft/mpi.ini", *command)

    def test_the_directory_of_configurations_may_be_elsewhere(self):
        prefix, etc = self.cwd + "/opt", self.cwd + "/somewhere/etc"
        self.install(prefix, CMAKE_INSTALL_SYSCONFDIR=etc,
                     CMAKE_INSTALL_LIBDIR="lib64/own")
        self.mistake(etc + "/weft/mpi.ini")
        self.assert_reads(etc + "/weft/mpi.ini", self.mpicc(prefix))
        self.assert_runs(self.mpicc(prefix), env={
            "WEFT_INI": "-", "WEFT_SET": "transport.udp-reliable.enable=yes"})


class Script(Here):
    def place(self, *words):
        return sh(sys.executable, "-B", SOURCE + "/cmake/place.py", *words)

    def test_a_file_without_room_is_an_error(self):
        path = write(self.cwd + "/file", "no room\n")
        done = self.place("/a", "/b", path)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(path + " does not have one place", done.stderr)

    def test_paths_that_are_too_long_are_an_error(self):
        path = shutil.copy(BUILD + "/lib/libmpi.a", self.cwd)
        done = self.place("/" + 1024 * "a", "/b", path)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("use a shorter prefix", done.stderr)
        self.assertEqual(read_places(path), ["", ""])


unittest.main(verbosity=2)
