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
                     ["--bind-to", "socket", "true"],
                     ["--hostfile", "/nonexistent", "true"],
                     ["-n", 100000, "--nooversubscribe", "true"]):
            self.assertTrue(self.refused(*args), args)

    def places(self, *args):
        """Of each rank: its host, its node, its number there."""
        with tempfile.NamedTemporaryFile("w") as f:
            f.write('echo "$PMI_RANK $1 $WEFT_NODE $MPI_LOCALRANKID"')
            f.flush()
            out = self.out(*args, "--launcher-exec", f"sh {f.name} %h", "true")
        ranks = sorted((line.split() for line in out.splitlines()),
                       key=lambda words: int(words[0]))
        return [" ".join(words[1:]) for words in ranks]

    def test_ranks_fill_the_slots_of_hosts(self):
        self.assertEqual(self.places("-H", "nodea:2,nodeb,nodeb"),
                         ["nodea node0 0", "nodea node0 1", "nodeb node1 0",
                          "nodeb node1 1"])
        self.assertEqual(self.places("-n", 2, "--host", "nodea:1,nodeb:3"),
                         ["nodea node0 0", "nodeb node1 0"])
        self.assertEqual([p.split()[0] for p in
                          self.places("-n", 6, "-H", "nodea:1,nodeb:2")],
                         ["nodea"] * 2 + ["nodeb"] * 4)
        with tempfile.NamedTemporaryFile("w") as f:
            f.write("nodea slots=2\r\n# c\n\nnodeb:1 # d\nlocalhost\n")
            f.flush()
            self.assertEqual([p.split()[0] for p in
                              self.places("--hostfile", f.name)],
                             ["nodea"] * 2 + ["nodeb", "localhost"])

    def test_other_hosts_are_reached_by_ssh(self):
        with tempfile.TemporaryDirectory() as folder:
            fake = os.path.join(folder, "ssh")
            with open(fake, "w", encoding="ascii") as f:
                f.write('#!/bin/sh\necho "$1" >&2; shift; exec sh -c "$*"\n')
            os.chmod(fake, 0o755)
            path = f"{folder}:{os.environ['PATH']}"
            done = launch.run("-H", "nodea,localhost", "sh", "-c",
                              "echo $PMI_RANK $WEFT_NODE",
                              env=dict(os.environ, PATH=path))
        self.assertEqual((done.returncode, sorted(done.stdout.splitlines())),
                         (0, ["0 node0", "1 node1"]), done.stderr)
        self.assertEqual(done.stderr.split(), ["nodea"])

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


launch.main()
