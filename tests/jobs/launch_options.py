"""The command line: options of several launchers, environment, parts.

SPDX-License-Identifier: BSD-3-Clause
"""
import os
import subprocess
import tempfile
import unittest

import launch


class Options(unittest.TestCase):
    def out(self, *args, **kw):
        done = launch.run(*args, **kw)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def refused(self, *args):
        done = launch.run(*args)
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(done.stdout, "")
        return done.stderr

    def test_programs_that_know_no_mpi_run(self):
        self.assertEqual(len(self.out("-n", 3, "uname").split()), 3)

    def test_every_way_to_write_the_number_of_ranks(self):
        for opt in (["-n", "2"], ["-np", "2"], ["--np=2"], ["-c", "2"],
                    ["--n", "2"], ["-n=2"]):
            self.assertEqual(self.out(*opt, "echo", "x"), "x\nx\n")

    def test_two_dashes_alone_end_the_options(self):
        self.assertEqual(self.out("-n", 1, "--", "echo", "-n", "a"), "a")

    def test_arguments_of_the_program_stay_its_own(self):
        self.assertEqual(self.out("-n", 1, "echo", "a b", "--timeout", "-q"),
                         "a b --timeout -q\n")

    def test_parts_have_their_own_programs_counts_and_environment(self):
        out = self.out("-l", "-n", 1, "sh", "-c", "echo A $X", ":",
                       "-n", 2, "-env", "X", "1", "sh", "-c", "echo B $X")
        self.assertEqual(sorted(out.splitlines()),
                         ["[0] A", "[1] B 1", "[2] B 1"])

    def test_environment_options(self):
        env = dict(os.environ, KEEP="k", DROP="d")
        show = ["/bin/sh", "-c", "echo ${KEEP-no} ${DROP-no} ${NEW-no}"]
        for opts, want in (
                ([], "k d no"), (["-x", "NEW=1 2"], "k d 1 2"),
                (["-genv", "NEW", "v"], "k d v"),
                (["-genv", "NEW=v"], "k d v"),
                (["-genvlist", "KEEP"], "k no no"),
                (["-genvnone"], "no no no"),
                (["-envnone", "-env", "NEW", "w"], "no no w"),
                (["-genvnone", "-x", "DROP"], "no d no"),
                (["-genvnone", "-envall"], "k d no")):
            self.assertEqual(self.out("-n", 1, *opts, *show, env=env),
                             want + "\n", opts)

    def test_settings_of_weft_travel_as_its_variables(self):
        with tempfile.NamedTemporaryFile(suffix=".ini") as ini:
            env = dict(os.environ, WEFT_SET="core.log=info")
            out = self.out("-n", 1, "--route", "shm tcp", "--set",
                           "core.eager=0", "--set", "core.spin=0", "--ini",
                           os.path.relpath(ini.name), "sh", "-c",
                           'echo "$WEFT_ROUTE|$WEFT_SET|$WEFT_INI"', env=env)
            self.assertEqual(out, "shm tcp|core.log=info; core.eager=0; "
                             f"core.spin=0|{os.path.realpath(ini.name)}\n")

    def test_nodes_makes_blocks(self):
        out = self.out("-n", 5, "--nodes", 2, "-l", "sh", "-c",
                       "echo $WEFT_NODE $MPI_LOCALRANKID $MPI_LOCALNRANKS")
        self.assertEqual(sorted(out.splitlines()),
                         ["[0] node0 0 3", "[1] node0 1 3", "[2] node0 2 3",
                          "[3] node1 0 2", "[4] node1 1 2"])
        self.assertIn("--nodes 3", self.refused("-n", 2, "--nodes", 3, "true"))

    def test_an_outer_launcher_does_not_show_through(self):
        env = dict(os.environ, PMI_RANK="9", PMI_PORT="x:1", WEFT_RANK="3",
                   OMPI_COMM_WORLD_RANK="4", WEFT_NODE="n")
        out = self.out("-n", 1, "sh", "-c", "echo $PMI_RANK ${PMI_PORT-no} "
                       "${WEFT_RANK-no} ${OMPI_COMM_WORLD_RANK-no} "
                       "${WEFT_NODE-no}", env=env)
        self.assertEqual(out, "0 no no no no\n")

    def test_working_directory(self):
        with tempfile.TemporaryDirectory() as d:
            real = os.path.realpath(d)
            for opt in ("-wdir", "-wd", "--wdir"):
                self.assertEqual(self.out("-n", 1, opt, real, "pwd"),
                                 real + "\n")
            self.assertIn("no such directory",
                          self.refused("--wdir", real + "/x", "true"))

    def test_argument_file(self):
        with tempfile.NamedTemporaryFile("w") as f:
            f.write("# comment\r\n-n 1 echo 'a  b' \"c\\\"d\"\n\n"
                    "-n 2 \\\n echo x # more")
            f.flush()
            for opt in ("-configfile", "--app"):
                out = self.out("-l", opt, f.name)
                self.assertEqual(sorted(out.splitlines()),
                                 ['[0] a  b c"d', "[1] x", "[2] x"])

    def test_unknown_options_are_named_with_the_nearest(self):
        self.assertIn("'--tmeout'; did you mean '--timeout'",
                      self.refused("--tmeout", 3, "true"))
        self.assertIn("unknown option '-foo'", self.refused("-foo", "true"))
        self.assertIn("--route", self.refused("--mca", "btl", "tcp", "true"))

    def test_impossible_requests_are_refused(self):
        for args in (["-n", 0, "true"], ["-n", "x", "true"], ["-n"], [],
                     ["-n", 2], ["--timeout", "-1", "true"],
                     ["--set", "eager=1", "true"], ["--stdin", 5, "-n", 2, "cat"],
                     ["--ini", "/nonexistent.ini", "true"],
                     ["--bind-to", "board", "true"],
                     ["--hostfile", "/nonexistent", "true"],
                     ["--nodes", 2, "-H", "nodea:2", "true"],
                     ["--host-timeout", "x", "true"],
                     ["--wait-hosts", "-1", "true"],
                     ["--tree-width", 0, "true"], ["--prefix", "x", "true"],
                     ["-n", 100000, "--nooversubscribe", "true"]):
            self.assertTrue(self.refused(*args), args)

    def places(self, *args):
        """Of each rank: its host, its number there, how many are there."""
        with tempfile.TemporaryDirectory() as folder:
            out = self.out(*args, "--launcher-exec", launch.remote_shell(folder),
                           "sh", "-c", "echo $PMI_RANK ${FAR_HOST-here} "
                           "$MPI_LOCALRANKID $MPI_LOCALNRANKS")
        ranks = sorted((line.split() for line in out.splitlines()),
                       key=lambda words: int(words[0]))
        return [" ".join(words[1:]) for words in ranks]

    def test_ranks_fill_the_slots_of_hosts(self):
        self.assertEqual(self.places("-H", "nodea:2,nodeb,nodeb"),
                         ["nodea 0 2", "nodea 1 2", "nodeb 0 2", "nodeb 1 2"])
        self.assertEqual(self.places("-n", 2, "--host", "nodea:1,nodeb:3"),
                         ["nodea 0 1", "nodeb 0 1"])
        self.assertEqual([p.split()[0] for p in
                          self.places("-n", 6, "-H", "nodea:1,nodeb:2")],
                         ["nodea"] * 2 + ["nodeb"] * 4)
        with tempfile.NamedTemporaryFile("w") as f:
            f.write("nodea slots=2\r\n# c\n\nnodeb:1 # d\nlocalhost\n")
            f.flush()
            self.assertEqual([p.split()[0] for p in
                              self.places("--hostfile", f.name)],
                             ["nodea"] * 2 + ["nodeb", "here"])

    def test_names_of_this_host_are_one_host(self):
        own = os.uname().nodename
        self.assertEqual(self.places("-H", f"localhost:1,{own},nodea,127.0.0.1"),
                         ["here 0 3", "here 1 3", "here 2 3", "nodea 0 1"])

    def test_only_pretended_hosts_are_named_after_their_node(self):
        with tempfile.TemporaryDirectory() as folder:
            far = ["--launcher-exec", launch.remote_shell(folder)]
            show = ["sh", "-c", "echo ${FAR_HOST-here} ${WEFT_NODE-none}"]
            self.assertEqual(self.out("-H", "nodea,localhost", *far, *show),
                             "here none\nnodea none\n")
            out = self.out("-n", 2, "--nodes", 2, "--launcher-exec",
                           f"{far[1]} x%n", *show)
            self.assertEqual(sorted(out.splitlines()), ["x0 node0", "x1 node1"])

    def test_other_hosts_are_reached_by_ssh_unless_something_else_is_said(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("ssh", "rsh", "other"):
                launch.remote_shell(folder, name)
            env = dict(os.environ, PATH=f"{folder}:{os.environ['PATH']}")
            for options, tool in (((), "ssh"), (("--launcher", "rsh"), "rsh"),
                                  (("--launcher-exec", "other"), "other")):
                out = self.out("-H", "nodea", *options, "--dry-run", "true",
                               env=env)
                self.assertRegex(out, f"nodea +by {tool} nodea ")
                self.assertEqual(self.out("-H", "nodea", *options, "sh", "-c",
                                          "echo $FAR_HOST", env=env), "nodea\n")
        self.assertIn("there are ssh, rsh",
                      self.refused("--launcher", "telnet", "true"))
        self.assertIn("%h and %n", self.refused("--launcher-exec", "env %r",
                                                "true"))

    def test_the_map_is_shown_and_a_dry_run_starts_nothing(self):
        out = self.out("--dry-run", "-H", "nodea:2,nodeb", "-n", 3, "/no/such")
        self.assertRegex(out, r"3 ranks on 2 hosts\n +nodea +ranks 0-1 +/no/such\n"
                         r" +nodeb +rank 2 +/no/such\n")
        done = launch.run("--display-map", "-n", 2, "--nodes", 2, "true")
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertIn("2 ranks on 2 hosts", done.stderr)

    def test_the_pid_of_mpirun_is_reported(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "pid")
            job = launch.start("--report-pid", path, "-n", 1, "true")
            job.communicate(timeout=launch.LIMIT)
            with open(path, encoding="ascii") as f:
                self.assertEqual(f.read(), f"{job.pid}\n")
        job = launch.start("--report-pid", "-", "-n", 1, "true")
        self.assertEqual(job.communicate(timeout=launch.LIMIT)[0], f"{job.pid}\n")
        self.assertIn("--report-pid /no/such: ",
                      self.refused("--report-pid", "/no/such", "true"))

    def test_this_host_may_be_named(self):
        self.out("-H", "localhost:2", "-n", 2, "true")
        self.out("--host", os.uname().nodename, "-n", 2, "true")
        self.refused("-H", "localhost:0", "true")
        self.refused("-H", "nodeb:x", "true")

    def test_what_other_launchers_need_is_accepted(self):
        done = launch.run("--allow-run-as-root", "--oversubscribe", "--map-by",
                          ":OVERSUBSCRIBE", "-ppn", 2, "-n", 20, "true")
        self.assertEqual((done.returncode, done.stdout, done.stderr),
                         (0, "", ""))

    def test_binding(self):
        out = self.out("-n", 1, "--bind-to", "core", "nproc")
        self.assertEqual(out, "1\n")
        self.assertEqual(self.out("-n", 1, "nproc"),
                         subprocess.check_output(["nproc"], text=True))

    def test_bound_ranks_know_that_they_share_no_processor(self):
        say = ["sh", "-c", "echo bound $WEFT_BOUND_CPUS"]
        n = min(2, len(os.sched_getaffinity(0)))
        self.assertEqual(self.out("-n", n, "--bind-to", "core", *say),
                         f"bound {n}\n" * n)
        self.assertEqual(self.out("-n", n, *say), "bound\n" * n)

    def test_version_and_help_go_to_stdout(self):
        for opt in ("-V", "--version"):
            self.assertIn("Weft", self.out(opt))
        for opt in ("-h", "--help", "-help"):
            self.assertIn("--timeout", self.out(opt))


class Net(unittest.TestCase):
    """--check-net: one process on each host, no ranks."""

    def run_on(self, hosts, *args):
        with tempfile.TemporaryDirectory() as folder:
            return launch.run("--host", hosts, "--launcher-exec",
                              launch.remote_shell(folder), *args)

    def test_one_process_of_each_host_looks_whatever_the_slots_are(self):
        done = self.run_on("a:3,b:2", "--check-net")
        self.assertEqual((done.returncode, done.stdout, done.stderr),
                         (0, "2 hosts: all 2 pairs reach each other\n", ""))

    def test_what_is_for_ranks_is_refused_by_its_name(self):
        for option in (["-n", 4], ["-ppn", 2], ["-perhost=2"], ["-N", 2],
                       ["--npersocket", 1], ["-rr"], ["--map-by", "node"],
                       ["--bynode"], ["--byslot"], ["--rank-by", "core"],
                       ["--bind-to", "core"], ["--cpu-set", "0"],
                       ["--cpus-per-rank", 1], ["--use-hwthread-cpus"],
                       ["--nooversubscribe"], ["--report-bindings"],
                       ["--ranks-per-process", 2], ["--wdir", "/"],
                       ["-env", "A", "1"], ["-envnone"], ["-envlist", "A"],
                       ["-envall"], ["--stdin", "all"], ["-usize", 4]):
            for args in ([*option, "--check-net"],
                         ["--check-ports", "5000", *option]):
                done = self.run_on("a,b", *args)
                self.assertEqual((done.returncode, done.stdout), (2, ""), args)
                self.assertEqual(
                    done.stderr, f"mpirun: {str(option[0]).split('=')[0]} is for "
                    "ranks, and --check-net starts one process on each host and "
                    "no rank: leave it out\n")

    def test_what_is_for_any_job_is_taken(self):
        done = self.run_on("a,b", "--check-net", "-l", "-x", "A=1", "--timeout",
                           100, "--oversubscribe")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout,
                         "[0] 2 hosts: all 2 pairs reach each other\n")
        done = self.run_on("a,b", "--check-net", "--dry-run")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stdout, r"\ba\b[^!]*\bb\b")

    def test_a_program_or_one_host_is_refused(self):
        for hosts, words in (("a,b", ["true"]), ("a", [])):
            done = self.run_on(hosts, "--check-net", *words)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn("starts no program, and needs two hosts", done.stderr)


launch.main()
