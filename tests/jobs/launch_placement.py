"""Which processors ranks get, on machines that are described to mpirun.

SPDX-License-Identifier: BSD-3-Clause
"""
import os
import re
import tempfile
import unittest

import launch
from machine import Machine


class Placed(unittest.TestCase):
    machine = {}

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        Machine(folder.name, **self.machine)
        self.env = dict(os.environ, WEFT_TEST_SYSFS=folder.name)

    def dry(self, *args):
        return launch.run("--dry-run", *args, "true", env=self.env)

    def cpus(self, *args):
        """Of each process: its processors; None where they are not bound."""
        done = self.dry(*args)
        self.assertEqual(done.returncode, 0, done.stderr)
        got = re.findall(r"^  .* ranks? (\d+).*?(?:processors? ([0-9,-]+) \(.*)?$",
                         done.stdout, re.M)
        return [cpus for _, cpus in sorted(got, key=lambda p: int(p[0]))
                ] if any(cpus for _, cpus in got) else None

    def refused(self, *args):
        done = self.dry(*args)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        return done.stderr


class TwoSockets(Placed):
    """Two sockets of two cores of two threads."""
    machine = {"sockets": 2, "cores": 2, "threads": 2}

    def test_ranks_are_bound_to_cores_in_their_order(self):
        for how in (["--bind-to", "core"], ["--map-by", "core"],
                    ["-bind-to", "core:1"], ["--map-by", "slot:PE=1"],
                    ["--cpus-per-rank", 1]):
            self.assertEqual(self.cpus("-n", 4, *how),
                             ["0,4", "1,5", "2,6", "3,7"], how)

    def test_places_take_turns(self):
        self.assertEqual(self.cpus("-n", 4, "--map-by", "socket", "--bind-to",
                                   "core"), ["0,4", "2,6", "1,5", "3,7"])
        self.assertEqual(self.cpus("-n", 3, "--map-by", "numa"),
                         ["0-1,4-5", "2-3,6-7", "0-1,4-5"])
        self.assertEqual(self.cpus("-n", 2, "--map-by", "l3cache"),
                         ["0-1,4-5", "2-3,6-7"])

    def test_a_larger_part_around_the_place(self):
        for part in ("socket", "package", "numa", "l3cache"):
            self.assertEqual(self.cpus("-n", 3, "--bind-to", part),
                             ["0-1,4-5", "0-1,4-5", "2-3,6-7"])
        self.assertEqual(self.cpus("-n", 1, "--bind-to", "l2cache"), ["0,4"])
        self.assertEqual(self.cpus("-n", 1, "--bind-to", "machine"), ["0-7"])

    def test_hardware_threads(self):
        self.assertEqual(self.cpus("-n", 3, "--bind-to", "hwthread"),
                         ["0", "4", "1"])
        self.assertEqual(self.cpus("-n", 2, "--map-by", "core", "--bind-to",
                                   "hwthread"), ["0", "1"])
        self.assertEqual(self.cpus("-n", 8, "--map-by", "hwthread")[7], "7")
        self.assertEqual(self.cpus("-n", 2, "--bind-to", "hwthread:2"),
                         ["0,4", "1,5"])
        self.assertEqual(self.cpus("-n", 2, "--use-hwthread-cpus", "--map-by",
                                   "socket:PE=3"), ["0-1,4", "2-3,6"])

    def test_several_processors_for_each_rank(self):
        for how in (["--map-by", "slot:PE=2"], ["--bind-to", "core:2"],
                    ["--map-by", ":pe=2"], ["--cpus-per-proc", 2]):
            self.assertEqual(self.cpus("-n", 2, *how), ["0-1,4-5", "2-3,6-7"])
        self.assertEqual(len(self.cpus("--map-by", "core:PE=2")), 2)

    def test_so_many_in_each(self):
        for how in (["--map-by", "ppr:1:socket"], ["--npersocket", 1]):
            self.assertEqual(self.cpus(*how), ["0-1,4-5", "2-3,6-7"], how)
        self.assertEqual(self.cpus("--map-by", "ppr:2:socket:PE=1", "--bind-to",
                                   "core"), ["0,4", "1,5", "2,6", "3,7"])
        self.assertEqual(self.cpus("--map-by", "ppr:2:core", "-n", 3),
                         ["0,4", "0,4", "1,5"])
        self.assertIn("places 2 processes on this host, not 3",
                      self.refused("-n", 3, "--npersocket", 1))

    def test_ranks_are_numbered_over_the_places(self):
        by = ["-n", 4, "--map-by", "socket", "--bind-to", "core", "--rank-by"]
        for how in ("core", "slot", "fill", "socket:fill"):
            self.assertEqual(self.cpus(*by, how), ["0,4", "1,5", "2,6", "3,7"])
        self.assertEqual(self.cpus("-n", 4, "--bind-to", "core", "--rank-by",
                                   "socket"), ["0,4", "2,6", "1,5", "3,7"])

    def test_sets_that_are_written_out(self):
        for word in ("list", "user"):
            self.assertEqual(self.cpus("-n", 3, "--bind-to",
                                       word + ":0+4,1-2"),
                             ["0,4", "1-2", "0,4"])
        self.assertIn("0-7", self.refused("-n", 1, "--bind-to", "list:9"))
        self.assertIn("'x'", self.refused("-n", 2, "--bind-to", "list:0,x"))

    def test_shares(self):
        self.assertEqual(self.cpus("-n", 2, "--bind-to", "share"),
                         ["0-1,4-5", "2-3,6-7"])
        self.assertEqual(self.cpus("-n", 3, "--bind-to", "share"),
                         ["0,4", "1,5", "2-3,6-7"])
        self.assertEqual(self.cpus("-n", 4, "--bind-to", "share",
                                   "--ranks-per-process", 3),
                         ["0-2,4-6", "3,7"])

    def test_only_some_processors(self):
        for option in ("--cpu-set", "--cpu-list"):
            self.assertEqual(self.cpus("-n", 2, option, "2-3,7", "--bind-to",
                                       "core"), ["2", "3,7"])
            self.assertEqual(self.cpus("-n", 5, option, "2-3"), ["2-3"] * 5)
        self.assertEqual(self.cpus("-n", 2, "--cpu-set", "1,2", "--bind-to",
                                   "none"), ["1-2"] * 2)
        self.assertEqual(self.cpus("-n", 2, "--cpu-set", "2-3", "--bind-to",
                                   "socket"), ["2-3"] * 2)
        self.assertEqual(len(self.cpus("--cpu-set", "1,5,2")), 2)
        self.assertIn("0-7", self.refused("-n", 1, "--cpu-set", "7-8"))

    def test_more_ranks_than_processors(self):
        self.assertIn("5 processors, and this job may use 4",
                      self.refused("-n", 5, "--bind-to", "core"))
        self.assertIn("core:overload-allowed",
                      self.refused("-n", 3, "--map-by", "slot:PE=2"))
        self.assertIn("need 9 processors", self.refused("--map-by", ":PE=9"))
        self.assertEqual(self.cpus("-n", 5, "--bind-to",
                                   "core:overload-allowed"),
                         ["0,4", "1,5", "2,6", "3,7", "0,4"])
        self.assertEqual(self.cpus("-n", 5, "--map-by", "core"), None)
        self.assertEqual(self.cpus("-n", 5, "--bind-to", "socket")[4],
                         "0-1,4-5")
        self.assertEqual(self.cpus("-n", 9), None)

    def test_threads_of_a_process_have_a_processor_each(self):
        self.assertEqual(self.cpus("-n", 3, "--ranks-per-process", 2,
                                   "--bind-to", "core"), ["0-1,4-5", "2,6"])

    def test_what_says_the_opposite_is_refused(self):
        for how in (["--bind-to", "share", "--map-by", "socket"],
                    ["--bind-to", "list:0", "--map-by", ":PE=2"],
                    ["--bind-to", "list:0", "--rank-by", "numa"]):
            self.assertIn("leave out", self.refused("-n", 1, *how))


class Scattered(Placed):
    """Cores 0, 2, 4 and 6 are on one socket."""
    machine = {"sockets": 2, "cores": 4, "scattered": True}

    def test_cores_follow_each_other_in_a_socket(self):
        self.assertEqual(self.cpus("-n", 5, "--bind-to", "core"),
                         ["0", "2", "4", "6", "1"])
        self.assertEqual(self.cpus("-n", 2, "--bind-to", "share"),
                         ["0,2,4,6", "1,3,5,7"])


class ManyParts(Placed):
    """Two sockets of two NUMA nodes of two caches of four cores."""
    machine = {"sockets": 2, "numas": 2, "caches": 2, "cores": 4}

    def test_parts_of_every_size(self):
        for part, cpus in (("socket", ["0-15", "16-31", "0-15"]),
                           ("numa", ["0-7", "8-15", "16-23"]),
                           ("l3cache", ["0-3", "4-7", "8-11"]),
                           ("core", ["0", "1", "2"])):
            self.assertEqual(self.cpus("-n", 3, "--map-by", part), cpus)

    def test_a_full_part_is_passed_over(self):
        self.assertEqual(self.cpus("-n", 3, "--cpu-set", "0-4", "--map-by",
                                   "l3cache"), ["0-3", "4", "0-3"])
        self.assertEqual(self.cpus("-n", 2, "--cpu-set", "0-4", "--map-by",
                                   "l3cache:PE=2"), ["0-1", "2-3"])
        self.assertEqual(self.cpus("-n", 9, "--map-by", "l3cache:PE=3",
                                   "--bind-to", "core:overload-allowed")[8],
                         "0-1,3")

    def test_the_place_is_said_in_words(self):
        done = self.dry("-n", 2, "--bind-to", "numa", "--map-by", "socket")
        self.assertRegex(done.stdout, r"rank 1 +true; bound to processors 16-23 "
                         r"\(socket 1, NUMA node 2, cores 16-23\)")


class Silent(Placed):
    """A machine that says nothing of NUMA nodes and L3 caches."""
    machine = {"sockets": 1, "cores": 4, "without": ("numa", "l3")}

    def test_what_is_not_known_is_refused_with_the_nearest(self):
        for option in ("--bind-to", "--map-by", "--rank-by"):
            self.assertIn("l3cache: this host does not say",
                          self.refused("-n", 2, option, "l3cache"))
        self.assertEqual(self.cpus("-n", 2, "--bind-to",
                                   "l3cache:if-supported"), None)

    def test_all_is_one_numa_node(self):
        self.assertEqual(self.cpus("-n", 2, "--map-by", "numa"), ["0-3"] * 2)


class Words(Placed):
    machine = {"sockets": 1, "cores": 2}

    def test_values_that_are_not_there_are_named_with_the_nearest(self):
        for option, value, nearest in (
                ("--map-by", "board", "socket"), ("--map-by", "seq", "hostfile"),
                ("--map-by", "rankfile:FILE=x", "list:"),
                ("--map-by", "core:SPAN", "node"),
                ("--map-by", "socket:2", "PE=N"),
                ("--map-by", "pe-list=1,2", "list:"),
                ("--bind-to", "rr", "hwthread"), ("--bind-to", "l1cache", "core"),
                ("--bind-to", "cpu-list:ordered", "list:"),
                ("--rank-by", "span", "node"), ("--bind-to", "slot", "core"),
                ("--map-by", "ppr:2:slot", "ppr:N:node"),
                ("--bind-to", "socket:2", "core:N")):
            said = self.refused("-n", 1, option, value)
            self.assertIn(nearest, said)
            self.assertIn(option, said)
        for option, value in (("--map-by", "ppr:0:socket"), ("--bind-to", "x"),
                              ("--map-by", "core:PE=0"), ("--cpu-set", "3-1"),
                              ("--map-by", "ppr"), ("-ppn", "0"), ("-N", "x"),
                              ("--bind-to", "list:"), ("--display", "topo")):
            self.assertIn(option, self.refused("-n", 1, option, value))


class Nodes(unittest.TestCase):
    """Which host a rank is on; nobody is started there."""

    def hosts(self, *args):
        done = launch.run("--dry-run", *args, "true")
        self.assertEqual(done.returncode, 0, done.stderr)
        got = {}
        for host, low, high in re.findall(
                r"^  (\S+) +ranks? (\d+)(?:-(\d+))? ", done.stdout, re.M):
            for rank in range(int(low), int(high or low) + 1):
                got[rank] = host[-1]
        return "".join(got[i] for i in sorted(got))

    def test_so_many_on_each(self):
        pair = ["-H", "nodea:4,nodeb:4"]
        for option in ("-N", "--npernode", "-ppn", "-perhost", "-grr"):
            self.assertEqual(self.hosts(*pair, option, 1), "ab")
            self.assertEqual(self.hosts(*pair, option, 2, "-n", 3), "aab")
        self.assertEqual(self.hosts(*pair, "--map-by", "ppr:2:node"), "aabb")
        self.assertEqual(self.hosts(*pair, "-ppn", 1, "-n", 5), "ababa")
        self.assertEqual(self.hosts(*pair, "-rr", "-n", 3), "aba")
        done = launch.run(*pair, "-N", 1, "-n", 3, "--dry-run", "true")
        self.assertIn("-ppn 1", done.stderr)

    def test_hosts_take_turns(self):
        for how in (["--map-by", "node"], ["--bynode"]):
            self.assertEqual(self.hosts("-H", "nodea:3,nodeb:1,nodec:2", *how),
                             "abcaca")
            self.assertEqual(self.hosts("--nodes", 2, "-n", 4, *how), "0101")
        self.assertEqual(self.hosts("-H", "nodea,nodeb", "--map-by", "node",
                                    "-n", 5), "ababa")

    def test_ranks_are_numbered_over_hosts(self):
        pair = ["-H", "nodea:2,nodeb:2"]
        self.assertEqual(self.hosts(*pair, "--rank-by", "node"), "abab")
        self.assertEqual(self.hosts(*pair, "--map-by", "node", "--rank-by",
                                    "slot"), "aabb")
        self.assertEqual(self.hosts("-H", "nodea:1,nodeb:3", "--map-by", "slot",
                                    "--rank-by", "node"), "abbb")

    def test_no_more_than_slots(self):
        for args in (["-H", "nodea:2,nodeb:2", "-n", 5],
                     ["-H", "nodea:1,nodeb:3", "-ppn", 2],
                     ["-H", "localhost:1", "-n", 2]):
            for how in (["--nooversubscribe"],
                        ["--map-by", ":NOOVERSUBSCRIBE"]):
                done = launch.run("--dry-run", *args, *how, "true")
                self.assertEqual(done.returncode, 2, args)
                self.assertIn("--nooversubscribe", done.stderr)
        self.assertEqual(self.hosts("-H", "nodea,nodeb", "-n", 4,
                                    "--nooversubscribe", "--oversubscribe"),
                         "aabb")

    def test_only_the_other_host_knows_its_sockets(self):
        done = launch.run("--dry-run", "-H", "nodea,nodeb", "--npersocket", 2,
                          "true")
        self.assertEqual(done.returncode, 2)
        self.assertIn("needs -n", done.stderr)

    def test_jobs_run_with_ranks_in_turn(self):
        out = launch.run("-l", "-n", 5, "--nodes", 2, "--map-by", "node", "sh",
                         "-c", "echo $WEFT_NODE $MPI_LOCALRANKID "
                         "$MPI_LOCALNRANKS").stdout
        self.assertEqual(sorted(out.splitlines()),
                         ["[0] node0 0 3", "[1] node1 0 2", "[2] node0 1 3",
                          "[3] node1 1 2", "[4] node0 2 3"])


class Elsewhere(unittest.TestCase):
    """The agent of another host looks at the processors there."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.far = ["--launcher-exec", launch.remote_shell(folder.name)]
        self.cpu = str(min(os.sched_getaffinity(0)))

    def test_ranks_are_bound_there(self):
        done = launch.run("-H", "nodea,nodeb", *self.far, "--cpu-set", self.cpu,
                          "--report-bindings", "sh", "-c",
                          "grep Cpus_allowed_list /proc/self/status; "
                          "echo $WEFT_BOUND_CPUS")
        self.assertEqual(sorted(done.stdout.splitlines()), ["1", "1"] + [
            f"Cpus_allowed_list:\t{self.cpu}"] * 2)
        for rank, host in enumerate(("nodea", "nodeb")):
            self.assertIn(f"host {host}: rank {rank} is bound to processor "
                          f"{self.cpu} (", done.stderr)

    def test_what_is_not_there_is_refused_with_the_host(self):
        for how, why in ((["--cpu-set", "8000"], "--cpu-set 8000: this job may"),
                         (["--bind-to", "list:8000"], "'8000' is no set"),
                         (["-n", 9000, "--npersocket", 1], "ppr:1:socket places"),
                         (["-n", 1, "--map-by", "core:PE=8000"],
                          "the ranks need 8000 processors")):
            done = launch.run("-H", "nodea", *self.far, *how, "true")
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("host nodea: ", done.stderr)
            self.assertIn(why, done.stderr)

    def test_agents_on_one_machine_share_its_processors(self):
        cpus = sorted(os.sched_getaffinity(0))
        chosen = [cpus[0], cpus[-1]]
        far = ["--launcher-exec", self.far[1] + " x%n"]
        done = launch.run("-n", 2, "--nodes", 2, *far, "--bind-to",
                          "list:%d,%d" % tuple(chosen), "--report-bindings", "sh",
                          "-c", "grep Cpus_allowed_list /proc/self/status")
        self.assertEqual(sorted(line.split()[1] for line in
                                done.stdout.splitlines()),
                         sorted(map(str, chosen)), done.stderr)
        for rank, cpu in enumerate(chosen):
            self.assertIn(f"rank {rank} is bound to processor {cpu} (",
                          done.stderr)

    def test_mpirun_does_not_guess_them(self):
        done = launch.run("-H", "nodea:2,localhost:1", *self.far, "--bind-to",
                          "core", "--dry-run", "true")
        self.assertRegex(done.stdout, r"nodea +ranks 0-1 +true; bound there\n")
        self.assertRegex(done.stdout, r"rank 2 +true; bound to processor")


class Bound(unittest.TestCase):
    """On this machine, as the kernel sees it."""

    def setUp(self):
        self.cpus = sorted(os.sched_getaffinity(0))

    def test_the_kernel_has_bound_the_rank(self):
        show = ["sh", "-c", "grep Cpus_allowed_list /proc/self/status"]
        done = launch.run("-n", 1, "--bind-to", f"list:{self.cpus[-1]}", *show)
        self.assertEqual(done.stdout.split()[1], str(self.cpus[-1]))
        done = launch.run("-n", 1, "--cpu-set", self.cpus[0], *show)
        self.assertEqual(done.stdout.split()[1], str(self.cpus[0]))

    def test_the_report_says_what_the_kernel_says(self):
        done = launch.run("-n", 1, "--report-bindings", "--bind-to",
                          f"list:{self.cpus[-1]}", "sleep", "0.2")
        self.assertIn(f"rank 0 is bound to processor {self.cpus[-1]} (socket ",
                      done.stderr)
        done = launch.run("-n", 1, "--report-bindings", "--bind-to", "none",
                          "sleep", "0.2")
        self.assertIn("rank 0 is not bound: processor", done.stderr)

    def test_processors_of_the_mask_only(self):
        done = launch.run("-n", 1, "--bind-to", f"list:{self.cpus[-1] + 1}",
                          "true")
        self.assertEqual(done.returncode, 2)

    def test_a_dry_run_starts_nothing(self):
        with tempfile.TemporaryDirectory() as d:
            for option in ("--dry-run", "--do-not-launch",
                           "--map-by=:DONOTLAUNCH"):
                done = launch.run("-n", 2, option, "touch", d + "/there")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertRegex(done.stdout, "ranks 0-1 +touch")
            self.assertEqual(os.listdir(d), [])
            for option in ("--display-map", "--display=map",
                           "--map-by=:DISPLAY"):
                done = launch.run("-n", 1, option, "echo", "x")
                self.assertRegex(done.stderr, "rank 0 +echo")
                self.assertEqual(done.stdout, "x\n")


launch.main()
