"""A transport built outside the tree, from the installed header alone.

It is loaded by name and by path, routed to, linked statically, and refused
with a clear message when it does not fit. The contract suite is built outside
the tree, too. BUILD_OF_WEFT names the build directory.
SPDX-License-Identifier: BSD-3-Clause
"""
import os
import re
import shutil
import subprocess
import tempfile
import unittest

BUILD = os.path.abspath(os.environ.get("BUILD_OF_WEFT", "build"))
SOURCES = os.path.dirname(os.path.abspath(__file__))
JOBS = os.path.join(SOURCES, "..", "jobs")
FABRICS = os.path.join(SOURCES, "..", "..", "examples", "fabric")
STRICT = "-std=c11 -O2 -Wall -Wextra -Werror -fPIC -fvisibility=hidden".split()
INI = """
[core]
stats = yes
[transport pipes]
plugin = pipes
enable = yes
%s
[route all]
use = pipes
"""
BAD = """
#include "weft_transport.h"
static int f(void) { return WEFT_ENOTSUP; }
#define F (void *)f
static const weft_option options[] = {{0}};
static const weft_ops ops = {.size = sizeof ops, .open = F, .close = F,
  .attr = F, .address = F, .reach = F, .peer_add = F, .peer_del = F,
  .send = %(send)s, .progress = F, .drain = F};
extern const weft_plugin weft_plugin_2_pipes
  __attribute__((visibility("default")));
const weft_plugin weft_plugin_2_pipes = {sizeof(weft_plugin), %(magic)s,
  %(major)s, 0, %(hdr)s, "%(name)s", "1", "", "", options, 8, 0, &ops};
"""
GOOD = {"send": "F", "magic": "WEFT_MAGIC", "major": "WEFT_ABI_MAJOR",
        "hdr": "WEFT_HDR", "name": "pipes"}


def sh(*command, env=None, cwd=None):
    return subprocess.run([str(c) for c in command], capture_output=True,
                          text=True, timeout=300, cwd=cwd,
                          env={**ENV, **(env or {})})


ENV = {k: v for k, v in os.environ.items() if not k.startswith("WEFT_")}
ENV["WEFT_INI"] = "-"


class Outside(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temp = tempfile.TemporaryDirectory()
        cls.dir = os.path.realpath(cls.temp.name)
        cls.prefix = os.path.join(cls.dir, "weft")
        subprocess.run(["cmake", "--install", BUILD, "--prefix", cls.prefix],
                       check=True, stdout=subprocess.DEVNULL)
        cls.bin = os.path.join(cls.prefix, "bin")
        cls.include = os.path.join(cls.dir, "include")
        os.mkdir(cls.include) # nothing else of Weft can be seen from here
        for header in ("transport", "transport_rma", "channel", "channel_link",
                       "channel_impl"):
            shutil.copy(os.path.join(cls.prefix, "include",
                                     f"weft_{header}.h"), cls.include)
        cls.plugins = os.path.join(cls.dir, "plugins")
        os.mkdir(cls.plugins)
        cls.compile_plugin("pipes")
        cls.compile_plugin("loop")
        cls.compile_plugin("dgrams", os.path.join(FABRICS, "dgrams.c"))
        cls.ring = cls.link_ring("ring")
        cls.window = os.path.join(cls.dir, "window")
        cls.must(os.path.join(cls.bin, "mpicc"), "-O1", "-fthread-ranks",
                 os.path.join(JOBS, "rma_exposed.c"), "-o", cls.window)

    @classmethod
    def tearDownClass(cls):
        cls.temp.cleanup()

    # ---- tools --------------------------------------------------------------
    @classmethod
    def must(cls, *command):
        done = sh(*command)
        if done.returncode:
            raise AssertionError(f"{command}\n{done.stdout}{done.stderr}")
        return done

    @classmethod
    def compile_plugin(cls, name, source=None, plugins=None, flags=()):
        source = source or os.path.join(SOURCES, name + ".c")
        obj = os.path.join(plugins or cls.dir, name + ".o")
        so = os.path.join(plugins or cls.plugins, f"weft_{name}.so")
        cls.must("cc", *STRICT, *flags, "-c", "-I", cls.include, source, "-o",
                 obj)
        cls.must("cc", "-shared", "-Wl,-z,defs", obj, "-o", so)
        return so

    @classmethod
    def link_ring(cls, name, *more):
        out = os.path.join(cls.dir, name)
        cls.must(os.path.join(cls.bin, "mpicc"), "-O1",
                 os.path.join(SOURCES, "ring.c"), *more, "-o", out)
        return out

    def ini(self, more="", text=INI):
        path = os.path.join(self.dir, self.id().split(".")[-1] + ".ini")
        with open(path, "w") as f:
            f.write(text % more)
        return path

    def mpirun(self, *args, **kw):
        return sh(os.path.join(self.bin, "mpirun"), "--timeout", 120, *args,
                  **kw)

    def info(self, *args, **kw):
        return sh(os.path.join(self.bin, "weft-info"), *args, **kw)

    @classmethod
    def conform(cls, *args):
        program = os.path.join(cls.dir, "conform")
        if not os.path.exists(program):
            cls.must("make", "-C",
                     os.path.join(cls.prefix, "share", "weft", "conform"),
                     f"DESTINATION={program}")
        return subprocess.run([program, *args], capture_output=True,
                              text=True, timeout=1200, check=False)

    def assert_pipes_carried(self, job, ranks, name="pipes"):
        self.assertEqual(job.returncode, 0, job.stdout + job.stderr)
        self.assertIn(f"0 of {ranks} ranks wrong", job.stdout)
        sent = re.findall(r"rank (\d+): " + name +
                          r" +sent (\d+) messages", job.stderr)
        self.assertEqual({int(r) for r, _ in sent}, set(range(ranks)))
        self.assertTrue(all(int(n) > 0 for _, n in sent))
        self.assertIsNone(re.search(r": (shm|tcp) +sent", job.stderr))

    # ---- loading and routing ------------------------------------------------
    def test_a_plugin_is_found_by_name_in_WEFT_PLUGIN_PATH(self):
        env = {"WEFT_PLUGIN_PATH": "/nowhere:" + self.plugins}
        for ranks in (2, 4):
            job = self.mpirun("-n", ranks, "--ini", self.ini(), self.ring,
                              env=env)
            self.assert_pipes_carried(job, ranks)

    def test_a_plugin_is_loaded_from_path(self):
        path = f"path = {self.plugins}/weft_pipes.so"
        job = self.mpirun("-n", 2, "--ini", self.ini(path), self.ring)
        self.assert_pipes_carried(job, 2)

    def test_a_plugin_is_found_in_plugin_path_of_the_configuration(self):
        job = self.mpirun("-n", 2, "--ini", self.ini(), "--set",
                          f"core.plugin_path={self.plugins}", self.ring)
        self.assert_pipes_carried(job, 2)

    def test_a_plugin_is_found_beside_the_installed_ones(self):
        target = os.path.join(self.prefix, "lib", "weft", "weft_pipes.so")
        shutil.copy(os.path.join(self.plugins, "weft_pipes.so"), target)
        self.addCleanup(os.unlink, target)
        ring = os.path.join(self.bin, "ring")
        shutil.copy(self.ring, ring)
        self.addCleanup(os.unlink, ring)
        job = self.mpirun("-n", 2, "--ini", self.ini(), ring)
        self.assert_pipes_carried(job, 2)

    def test_its_options_are_checked_like_all_others(self):
        env = {"WEFT_PLUGIN_PATH": self.plugins}
        job = self.mpirun("-n", 2, "--ini", self.ini("buffer = 32K"),
                          self.ring, env=env)
        self.assert_pipes_carried(job, 2)
        job = self.mpirun("-n", 2, "--ini", self.ini("bufer = 32K"),
                          self.ring, env=env)
        self.assertNotEqual(job.returncode, 0)
        self.assertIn("bufer", job.stderr)
        self.assertIn("buffer", job.stderr)
        job = self.mpirun("-n", 2, "--ini", self.ini("buffer = 1G"),
                          self.ring, env=env)
        self.assertNotEqual(job.returncode, 0)
        self.assertIn("0..64M", job.stderr)

    def test_weft_info_explains_the_route_and_lists_the_options(self):
        env = {"WEFT_PLUGIN_PATH": self.plugins}
        ini = self.ini()
        say = self.info("--ini", ini, "--explain", "0->1", env=env)
        self.assertIn("pipes", say.stdout, say.stderr)
        say = self.info("--ini", ini, env=env)
        self.assertEqual(say.returncode, 0, say.stderr)
        self.assertIn("[transport pipes]  plugin pipes 1.0", say.stdout)
        self.assertIn("send buffer of a connection", say.stdout)

    # ---- operations on windows -----------------------------------------------
    def operate(self, ranks, *options, program=None):
        """The operations on windows that each transport of a rank took."""
        job = self.mpirun("-n", ranks, "--set", "core.stats=yes", *options,
                          program or self.window,
                          env={"WEFT_PLUGIN_PATH": self.plugins})
        self.assertEqual(job.returncode, 0, job.stdout + job.stderr)
        self.assertIn(f"0 of {ranks} ranks wrong", job.stdout)
        return {(int(rank), name): int(n) for rank, name, n in re.findall(
            r"rank (\d+): (\S+) +took (\d+) operations", job.stderr)}

    def test_windows_use_its_operations(self):
        for ranks in (2, 5):
            took = self.operate(ranks, "--ini", self.ini())
            self.assertEqual(set(took), {(r, "pipes") for r in range(ranks)})
            self.assertGreater(min(took.values()), 100)

    def test_windows_use_its_operations_once_a_key_can_be_opened(self):
        took = self.operate(2, "--ini", self.ini("keys_refused = 9"))
        self.assertEqual(set(took), {(r, "pipes") for r in range(2)})
        self.assertGreater(min(took.values()), 100)

    def test_windows_use_operations_of_shm_and_thread(self):
        took = self.operate(4, "--route", "shm")
        # Ranks 0 and 2 may have come to the end before the other's memory is
        # mapped.
        self.assertLessEqual({(1, "shm"), (3, "shm")}, set(took))
        self.assertEqual({name for _, name in took}, {"shm"})
        took = self.operate(4, "--ranks-per-process", 2)
        self.assertIn((0, "thread"), took)
        self.assertIn((3, "shm"), took)

    def test_windows_of_routes_with_failover_and_of_tcp_are_messages(self):
        self.assertEqual(self.operate(3, "--route", "tcp"), {})
        ini = self.ini("", INI.replace("use = pipes",
                                       "use = shm, tcp\nfailover = yes"))
        self.assertEqual(self.operate(2, "--ini", ini), {})

    def test_failover_from_it_is_refused(self):
        """It has no send_short, which numbered messages need."""
        ini = self.ini("", INI.replace("use = pipes",
                                       "use = pipes, tcp\nfailover = yes"))
        env = {"WEFT_PLUGIN_PATH": self.plugins}
        say = self.info("--ini", ini, "--explain", "0->1", env=env)
        self.assertIn("no failover from the first, whose plugin has no "
                      "send_short", say.stdout, say.stderr)
        for program in (self.ring, self.window):
            job = self.mpirun("-n", 3, "--ini", ini, program, env=env)
            self.assertNotEqual(job.returncode, 0)
            self.assertIn("its route says failover = yes, and transport "
                          "'pipes' cannot carry that: it has no send_short",
                          job.stderr)

    def test_operations_on_a_rank_that_dies_end(self):
        job = self.mpirun("-n", 2, "--continuous", "--ini", self.ini(),
                          self.window, "death",
                          env={"WEFT_PLUGIN_PATH": self.plugins})
        self.assertIn("operations ended", job.stdout, job.stderr)

    def test_weft_info_explains_windows(self):
        say = self.info("--ini", self.ini(), "--explain", "0->1",
                        env={"WEFT_PLUGIN_PATH": self.plugins})
        self.assertIn("windows: operations of 'pipes', or messages", say.stdout)

    def test_a_plugin_of_an_earlier_minor_is_used(self):
        where = tempfile.mkdtemp(dir=self.dir)
        self.compile_plugin("pipes", plugins=where, flags=["-DMINOR_3"])
        ini = self.ini(f"path = {where}/weft_pipes.so")
        job = self.mpirun("-n", 2, "--ini", ini, self.ring)
        self.assert_pipes_carried(job, 2)
        self.assertEqual(self.operate(2, "--ini", ini), {})

    # ---- static -------------------------------------------------------------
    def table(self, *names):
        path = os.path.join(self.dir, "table.c")
        say = self.info("--table", *names)
        self.assertEqual(say.returncode, 0, say.stderr)
        with open(path, "w") as f:
            f.write(say.stdout)
        return path

    def test_the_same_object_is_linked_into_a_program(self):
        objects = [os.path.join(self.dir, "pipes.o"),
                   self.table("shm", "tcp", os.path.join(self.dir, "pipes.o"))]
        styles = [[]]
        if not BuildFlags.sanitized:
            styles.append(["-static"])
        for style in styles:
            with self.subTest(style=style):
                ring = self.link_ring("static_ring", *objects, *style)
                job = self.mpirun("-n", 2, "--ini", self.ini(), ring)
                self.assert_pipes_carried(job, 2)

    # ---- refusals -----------------------------------------------------------
    def refuse(self, so, *expected, env=None, more=None):
        path = f"path = {so}" if more is None else more
        job = self.mpirun("-n", 2, "--ini", self.ini(path), self.ring, env=env)
        self.assertNotEqual(job.returncode, 0)
        for text in expected:
            self.assertIn(text, job.stderr)

    def bad(self, **change):
        where = tempfile.mkdtemp(dir=self.dir)
        source = os.path.join(where, "bad.c")
        so = os.path.join(where, "weft_pipes.so")
        with open(source, "w") as f:
            f.write(BAD % {**GOOD, **change})
        self.must("cc", "-w", "-shared", "-fPIC", "-I", self.include, source,
                  "-o", so)
        return so

    def test_another_ABI_is_refused(self):
        so = self.bad(major="7")
        self.refuse(so, so, "plugin ABI 7.0", "has 2.", "weft_transport.h")

    def test_another_header_size_is_refused(self):
        self.refuse(self.bad(hdr="48"), "headers of 48 bytes", "64")

    def test_a_missing_operation_is_named(self):
        self.refuse(self.bad(send="0"), "operation 'send' is missing")

    def test_a_plugin_of_another_name_is_refused(self):
        self.refuse(self.bad(name="other"), "is plugin 'other', not 'pipes'")

    def test_another_magic_is_refused(self):
        self.refuse(self.bad(magic="1"), "not a Weft transport")

    def test_a_thread_without_a_descriptor_to_sleep_on_is_refused(self):
        ini = self.ini("progress = thread",
                       INI.replace("plugin = pipes", "plugin = loop"))
        job = self.mpirun("-n", 2, "--ini", ini, self.ring,
                          env={"WEFT_PLUGIN_PATH": self.plugins})
        self.assertEqual(job.returncode, 78, job.stderr)
        self.assertIn("has no descriptor on which a thread could sleep",
                      job.stderr)

    def test_a_library_that_is_no_plugin_is_refused(self):
        so = os.path.join(self.plugins, "weft_loop.so")
        self.refuse(so, "no symbol weft_plugin_2_pipes")

    def test_a_file_that_is_no_library_is_refused(self):
        so = os.path.join(tempfile.mkdtemp(dir=self.dir), "weft_pipes.so")
        with open(so, "w") as f:
            f.write("not a library\n" * 100)
        self.refuse(so, f"cannot be loaded; tried {so}: invalid ELF header")

    def test_a_missing_plugin_names_every_path_that_was_tried(self):
        self.refuse(None, "plugin 'pipes'",
                    "/nowhere/a/weft_pipes.so", "/nowhere/b/weft_pipes.so",
                    "lib/weft/weft_pipes.so", "was not found", more="",
                    env={"WEFT_PLUGIN_PATH": "/nowhere/a:/nowhere/b"})

    def test_a_file_as_the_name_of_a_plugin_is_refused_with_the_remedy(self):
        ini = self.ini("", INI.replace("plugin = pipes",
                                       "plugin = /nowhere/weft_pipes.so"))
        job = self.mpirun("-n", 2, "--ini", ini, self.ring)
        self.assertEqual(job.returncode, 78, job.stderr)
        self.assertIn("a file is named with path =", job.stderr)

    def test_a_file_without_an_interface_is_not_passed_over(self):
        """Another file of this name, which could be used, comes later."""
        where = tempfile.mkdtemp(dir=self.dir)
        so = os.path.join(where, "weft_pipes.so")
        shutil.copy(os.path.join(self.plugins, "weft_loop.so"), so)
        env = {"WEFT_PLUGIN_PATH": f"{where}:{self.plugins}"}
        said = (f"plugin 'pipes' of transport 'pipes' cannot be loaded; tried "
                f"{so}: exports no symbol weft_plugin_2_pipes", "WEFT_PLUGIN")
        self.refuse(so, *said, env=env, more="")
        say = self.info("--ini", self.ini(), env=env)
        for text in said:
            self.assertIn(text, say.stdout)

    def test_a_file_for_another_kind_of_machine_is_passed_over(self):
        where = tempfile.mkdtemp(dir=self.dir)
        with open(os.path.join(self.plugins, "weft_pipes.so"), "rb") as f:
            head = bytearray(f.read())
        head[18:20] = b"\xf7\0"  # BPF, on which nothing of Weft runs
        with open(os.path.join(where, "weft_pipes.so"), "wb") as f:
            f.write(head)
        job = self.mpirun("-n", 2, "--ini", self.ini(), self.ring, env={
            "WEFT_PLUGIN_PATH": f"{where}:{self.plugins}"})
        self.assert_pipes_carried(job, 2)

    def test_what_others_may_write_is_not_loaded(self):
        where = tempfile.mkdtemp(dir=self.dir)
        so = os.path.join(where, "weft_pipes.so")
        shutil.copy(os.path.join(self.plugins, "weft_pipes.so"), so)
        os.chmod(so, 0o777)
        self.refuse(so, so, "others may write ")
        os.chmod(so, 0o755)
        os.chmod(where, 0o777)
        self.refuse(so, so, "others may write ")
        os.chmod(where, 0o755)
        job = self.mpirun("-n", 2, "--ini", self.ini(f"path = {so}"),
                          self.ring)
        self.assert_pipes_carried(job, 2)

    def test_a_program_without_loader_says_how_to_get_one(self):
        out = os.path.join(self.dir, "bare")
        flags = BuildFlags.flags.split()
        self.must("cc", "-pthread", *flags, "-I",
                  os.path.join(self.prefix, "include"),
                  os.path.join(SOURCES, "ring.c"),
                  os.path.join(self.prefix, "lib", "libmpi.a"), "-o", out)
        job = self.mpirun("-n", 2, "--ini", self.ini(), out,
                          env={"WEFT_PLUGIN_PATH": self.plugins})
        self.assertNotEqual(job.returncode, 0)
        self.assertIn("link with mpicc or add -Wl,-u,weft_dl_loader",
                      job.stderr)

    # ---- the contract -------------------------------------------------------
    def test_the_examples_keep_the_contract(self):
        for name in ("loop", "pipes", "dgrams"):
            done = self.conform(os.path.join(self.plugins, f"weft_{name}.so"))
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_a_channel_with_small_packets_keeps_the_contract(self):
        so = os.path.join(self.plugins, "weft_dgrams.so")
        for words in ("block", "room", "rx_resume", "flood"):
            done = self.conform("-o", "packet=512", so, words)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_a_channel_carries_jobs(self):
        text = INI.replace("pipes", "dgrams")
        for packet in ("16K", "512"):
            ini = self.ini(f"packet = {packet}", text)
            for ranks in (2, 4):
                job = self.mpirun("-n", ranks, "--ini", ini, self.ring,
                                  env={"WEFT_PLUGIN_PATH": self.plugins})
                self.assert_pipes_carried(job, ranks, "dgrams")

    # A fabric that lets messages pass each other: REORDER says where.
    def test_a_fabric_that_reorders_breaks_the_contract(self):
        so = self.compile_plugin("loop", plugins=tempfile.mkdtemp(dir=self.dir),
                                 flags=["-DREORDER=7"])
        done = self.conform(so, "many messages under way arrive once")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertRegex(done.stderr, "message \\d+ from 0 came instead of")

    def test_a_capability_that_the_core_does_not_know_is_refused(self):
        where = tempfile.mkdtemp(dir=self.dir)
        so = self.compile_plugin("pipes", plugins=where,
                                 flags=["-DMORE_CAPS=0x40000000"])
        self.refuse(so, "plugin 'pipes'", "capability bit 30",
                    "this library (ABI 2.", "does not know")
        say = self.info("--ini", self.ini(f"path = {so}"))
        self.assertIn("capability bit 30", say.stdout + say.stderr)
        done = self.conform(so, "each capability")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)


class BuildFlags:
    with open(os.path.join(BUILD, "CMakeCache.txt")) as cache:
        value = re.search(r"^WEFT_SANITIZE:STRING=(.*)$", cache.read(), re.M)
    sanitized = bool(value and value.group(1))
    flags = f"-fsanitize={value.group(1)}" if sanitized else ""


if __name__ == "__main__":
    unittest.main(verbosity=2)
