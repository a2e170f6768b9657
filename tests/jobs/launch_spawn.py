"""mpirun as it serves requests to spawn: the jobs, their ends, what is left.

The ranks are scripts that speak PMI (pmi_client.py).
SPDX-License-Identifier: BSD-3-Clause
"""
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import launch
import pmi_client

HERE = os.path.dirname(os.path.abspath(__file__))
MARK = "SPAWN_TEST_MARK"
PROCESSORS = len(os.sched_getaffinity(0))


class Spawn(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.mark = f"{MARK}={self.folder}"
        self.env = dict(os.environ, PYTHONPATH=HERE, **{MARK: self.folder})

    def words(self, script):
        return [sys.executable, "-c", pmi_client.HEAD + script]

    def run_script(self, script, *options, n=1, **kw):
        return launch.run(*options, "-n", n, *self.words(script), env=self.env,
                          **kw)

    def start_script(self, script, *options, n=1, **kw):
        p = launch.start(*options, "-n", n, *self.words(script), env=self.env,
                         **kw)
        self.addCleanup(p.communicate)
        self.addCleanup(p.kill)
        return p

    def path(self, name):
        return os.path.join(self.folder, name)

    def wait_for(self, *names):
        for name in names:
            self.assertTrue(launch.wait_until(
                lambda name=name: os.path.exists(self.path(name))), name)

    def assert_nothing_left(self):
        self.assertTrue(launch.wait_until(
            lambda: not launch.processes_with(self.mark)),
            launch.processes_with(self.mark))

    def check(self, script, *options, **kw):
        done = self.run_script(script, *options, **kw)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_nothing_left()
        return sorted(done.stdout.splitlines())

    # -- the job --------------------------------------------------------------

    def test_a_job_has_its_own_ranks_and_values(self):
        out = self.check("""
p = Pmi()
p.ask("cmd=put kvsname=x key=ours value=1")
say(p.rank, "key", p.get("weft.key"))
if p.rank == 0:
    why = p.spawn_script(3, '''
c = Pmi()
say("child", c.rank, os.environ["PMI_SIZE"], os.environ["PMI_SPAWNED"],
    c.get("a"), c.get("ours"), c.ask("cmd=get_universe_size")["size"],
    c.ask("cmd=get_appnum")["appnum"])
say("child", c.rank, "key", c.get("weft.key"))
c.finalize()
''', preput=[("a", "b_c" * 300)])
    say("spawned", why, p.get("a"))
p.finalize()
""", n=2)
        self.assertIn("spawned None unknown", out)
        for r in range(3):
            self.assertIn(f"child {r} 3 1 {'b_c' * 300} unknown "
                          f"{max(2, PROCESSORS)} 0", out)
        keys = {line.split()[-1] for line in out if "key" in line}
        self.assertEqual(len(keys), 2, out)

    def test_several_commands(self):
        os.mkdir(self.path("there"))
        with open(self.path("there/prog"), "w", encoding="ascii") as f:
            f.write("#!/bin/sh\necho prog $PMI_RANK/$PMI_SIZE \"$@\" in $PWD "
                    "A=$A B=$B\n")
        os.chmod(self.path("there/prog"), 0o755)
        there = self.path("there")
        out = self.check(f"""
p = Pmi()
say(p.spawn((1, ["prog", "a b", ""], {{"path": "/nowhere:{there}"}}),
            (2, ["./prog", ":", "x\\ny"], {{"wdir": {there!r}, "env": "A=1 2\\nB=3"}}),
            (0, ["prog"], {{"path": {there!r}, "soft": "0:2"}})))
p.finalize()
""", cwd="/")
        self.assertEqual(out, sorted([
            "None", "prog 0/3 a b  in / A= B=",
            f"prog 1/3 : x", f"y in {there} A=1 2 B=3",
            f"prog 2/3 : x", f"y in {there} A=1 2 B=3"]))

    def test_a_client_of_another_mpi(self):
        out = self.check("""
p = Pmi()
say(p.spawn((2, ["sh", "-c", "echo 50%41 $PMI_RANK"]), words=False))
p.finalize()
""")
        self.assertEqual(out, ["50%41 0", "50%41 1", "None"])

    def test_a_spawned_job_spawns_others(self):
        out = self.check("""
p = Pmi()
say(p.spawn_script(2, '''
c = Pmi()
if c.rank == 1:
    say(c.spawn((2, ["sh", "-c", "echo grandchild $PMI_RANK"])))
c.finalize()
'''))
p.finalize()
""")
        self.assertEqual(out, ["None", "None", "grandchild 0", "grandchild 1"])

    def test_many_jobs_in_turn_leave_no_descriptors(self):
        out = self.check("""
p = Pmi()
def count():
    return len(os.listdir("/proc/%d/fd" % os.getppid()))
for i in range(40):
    assert p.spawn((2, ["true"])) is None
    if i == 3:
        early = count()
deadline = time.monotonic() + 400
while count() > early and time.monotonic() < deadline:
    time.sleep(0.01)
say(count() <= early)
p.finalize()
""")
        self.assertEqual(out, ["True"])

    # -- what cannot be started -------------------------------------------------

    def test_what_cannot_be_started_is_told_to_the_asker(self):
        with open(self.path("plain"), "w", encoding="ascii"):
            pass
        cases = [
            ('(2, ["no-such-prog"])', "no-such-prog: no such program"),
            (f'(1, [{self.path("plain")!r}])', "is not an executable file"),
            ('(1, ["true"], {"wdir": "/no/such/dir"})', "/no/such/dir"),
            ('(1, ["true"], {"arch": "pdp11"})', "pdp11"),
            ('(1, ["true"]), (2, ["no-such-prog"])', "no-such-prog"),
            ('(0, ["true"])', "no process"),
            ('(-3, ["true"])', "number of processes"),
            ('(1, [""])', "no program"),
            ('(99999999, ["true"])', "number of processes"),
            ('(1, ["true"]), preput=[("a", "x" * 1025)]', "too long")]
        script = "p = Pmi()\n"
        script += "".join(f"say(p.spawn({case}))\n" for case, _ in cases)
        script += 'say(p.spawn((1, ["true"])))\np.finalize()\n'
        done = self.run_script(script)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, "")
        said = done.stdout.splitlines()
        for (case, why), line in zip(cases, said):
            self.assertIn(why, line, case)
        self.assertEqual(said[-1], "None")
        self.assert_nothing_left()

    def test_lines_that_are_no_request(self):
        for lines, answer in (
                ("mcmd=spawn\\nendcmd", "rc=-1"),
                ("mcmd=other\\nnprocs=1\\nendcmd", "rc=-1"),
                ("mcmd=spawn\\nnprocs=1\\nexecname=true\\ntotspawns=2\\n"
                 "spawnssofar=2\\nendcmd", "rc=-1"),
                ("mcmd=spawn\\nnprocs=1\\nexecname=true\\ntotspawns=1\\n"
                 "spawnssofar=1\\narg7=x\\nendcmd", "rc=-1"),
                ("mcmd=spawn\\nnprocs=1\\nexecname=true\\ntotspawns=1\\n"
                 "spawnssofar=1\\ninfo_key_0=wdir\\nendcmd", "rc=-1")):
            out = self.check(f"""
p = Pmi()
p.send("{lines}")
say(p.file.readline().strip())
p.finalize()
""")
            self.assertIn(answer, out[0], lines)

    # -- ends -------------------------------------------------------------------

    def test_the_status_of_a_spawned_job_counts(self):
        for code, status in (("exit 5", 5), ("kill -9 $$", 137)):
            done = self.run_script(f"""
p = Pmi()
p.spawn((2, ["sh", "-c", "{code}"]))
p.finalize()
""")
            self.assertEqual(done.returncode, status, done.stderr)
            self.assertIn("mpirun: job 1: rank ", done.stderr)
            self.assert_nothing_left()

    def test_an_abort_ends_its_own_job_only(self):
        p = self.start_script(f"""
p = Pmi()
p.spawn_script(2, '''
c = Pmi()
open({self.path("pid")!r} + str(c.rank), "w").close()
if c.rank == 0:
    c.send("cmd=abort exitcode=7")
wait_for_ever()
''')
sys.stdin.readline()
say("still here")
p.finalize()
""", stdin=subprocess.PIPE)
        self.wait_for("pid0")
        self.assertTrue(launch.wait_until(
            lambda: len(self.scripts()) == 1), self.scripts())
        out, err = p.communicate("\n", timeout=launch.LIMIT)
        self.assertEqual(out, "still here\n")
        self.assertIn("job 1: rank 0", err)
        self.assertIn("aborted the job with code 7", err)
        self.assertEqual(p.returncode, 7)
        self.assert_nothing_left()

    def scripts(self):
        """The processes that run a script of this case."""
        found = []
        for pid in launch.processes_with(self.mark):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as f:
                    if f.read().startswith(sys.executable.encode() + b"\0-c"):
                        found.append(pid)
            except OSError:
                pass
        return found

    def test_mpirun_ends_with_the_last_job(self):
        p = self.start_script(f"""
p = Pmi()
p.spawn_script(1, '''
c = Pmi()
open({self.path("child")!r}, "w").close()
while not os.path.exists({self.path("go")!r}):
    time.sleep(0.01)
say("child ends")
c.finalize()
''')
p.send("cmd=abort exitcode=9")
wait_for_ever()
""")
        self.wait_for("child")
        self.assertTrue(launch.wait_until(lambda: len(self.scripts()) == 1))
        self.assertIsNone(p.poll())
        open(self.path("go"), "w", encoding="ascii").close()
        out, err = p.communicate(timeout=launch.LIMIT)
        self.assertEqual(out, "child ends\n")
        self.assertEqual(p.returncode, 9, err)
        self.assert_nothing_left()

    SLEEPERS = """
p = Pmi()
p.spawn_script(2, '''
c = Pmi()
if c.rank == 0:
    c.spawn((1, ["sh", "-c", "setsid sleep 1000 & touch %(f)s/grandchild; wait"]))
subprocess.Popen(["setsid", "sleep", "1000"])
open("%(f)s/child" + str(c.rank), "w").close()
wait_for_ever()
''')
open("%(f)s/parent", "w").close()
wait_for_ever()
"""

    def start_sleepers(self):
        p = self.start_script(self.SLEEPERS % {"f": self.folder})
        self.wait_for("parent", "child0", "child1", "grandchild")
        return p

    def test_nothing_is_left_when_mpirun_is_ended(self):
        # launchers that notice the death of mpirun may be killed at any time
        for sig in (signal.SIGKILL,) * 8 + (signal.SIGTERM, signal.SIGINT):
            with self.subTest(sig=sig):
                p = self.start_sleepers()
                p.send_signal(sig)
                p.communicate(timeout=launch.LIMIT)
                self.assert_nothing_left()
                for name in os.listdir(self.folder):
                    os.unlink(self.path(name))

    def launcher_of_child(self, p):
        """The launcher of job 1: it is mpirun's child, and no guard."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/stat", encoding="ascii") as f:
                    name, rest = f.read().rsplit(")", 1)
                if int(rest.split()[1]) == p.pid and name.endswith("(mpirun"):
                    found.append(int(pid))
            except OSError:
                pass
        self.assertEqual(len(found), 1)
        return found[0]

    def test_a_launcher_that_is_killed_takes_its_jobs_along(self):
        p = self.start_sleepers()
        os.kill(self.launcher_of_child(p), signal.SIGKILL)
        self.assertTrue(launch.wait_until(lambda: len(self.scripts()) == 1))
        self.assertIsNone(p.poll())
        os.kill(self.scripts()[0], signal.SIGKILL)
        _, err = p.communicate(timeout=launch.LIMIT)
        self.assertIn("the launcher of job 1 was killed by signal 9", err)
        self.assert_nothing_left()

    def test_mpirun_is_killed_at_any_time(self):
        for ms in range(0, 60, 6):
            p = self.start_script("""
p = Pmi()
open("%s/go", "w").close()
for i in range(20):
    p.ask_to_spawn((3, ["sleep", "1000"]))
    p.file.readline()
wait_for_ever()
""" % self.folder)
            self.wait_for("go")
            with self.assertRaises(subprocess.TimeoutExpired):
                p.wait(ms / 1000 + 0.001)
            p.kill()
            p.communicate(timeout=launch.LIMIT)
            self.assert_nothing_left()
            os.unlink(self.path("go"))

    def test_a_job_whose_asker_has_ended_ends(self):
        """The job cannot run yet: its host does not answer."""
        silent = self.path("silent")
        with open(silent, "w", encoding="ascii") as f:
            f.write("#!/bin/sh\nexec sleep 1000\n")
        os.chmod(silent, 0o755)
        done = self.run_script("""
p = Pmi()
p.ask_to_spawn((2, ["true"], {"host": "far"}))
os._exit(0)
""", "--continuous", "--launcher-exec", silent, "--host-timeout", 900)
        self.assert_nothing_left()
        self.assertNotIn("cannot", done.stderr)

    def test_the_time_limit_is_for_all_jobs(self):
        done = self.run_script("""
p = Pmi()
p.spawn((1, ["sleep", "1000"]))
p.finalize()
""", "--timeout", 1)
        self.assertEqual(done.returncode, 124, done.stderr)
        self.assert_nothing_left()

    # -- output, names, hosts ----------------------------------------------------

    def test_output_has_the_job(self):
        script = """
p = Pmi()
os.write(1, b"parent\\n")
p.spawn((1, ["sh", "-c", "echo child; echo wrong >&2"]))
p.finalize()
"""
        done = self.run_script(script, "-l")
        self.assertEqual(sorted(done.stdout.splitlines()),
                         ["1:[0] child", "[0] parent"], done.stderr)
        self.assertEqual(done.stderr, "1:[0] wrong\n")
        self.run_script(script, "--output-filename", self.path("out"))
        for name, text in (("1/rank.0/stdout", "parent\n"),
                           ("1.1/rank.0/stdout", "child\n"),
                           ("1.1/rank.0/stderr", "wrong\n")):
            with open(self.path("out/" + name), encoding="ascii") as f:
                self.assertEqual(f.read(), text)
        self.run_script(script, "--outfile-pattern", self.path("f%r"))
        with open(self.path("f0"), encoding="ascii") as f:
            self.assertEqual(f.read(), "parent\n")
        with open(self.path("f0.1"), encoding="ascii") as f:
            self.assertEqual(f.read(), "child\n")

    def test_names_are_those_of_all_jobs_of_a_launcher(self):
        out = self.check("""
p = Pmi()
p.ask("cmd=publish_name service=top port=p1")
p.spawn_script(1, '''
c = Pmi()
say("child sees", c.ask("cmd=lookup_name service=top")["port"])
c.spawn_script(1, \"\"\"
g = Pmi()
say("grandchild sees", g.ask("cmd=lookup_name service=top").get("port"))
say("published", g.ask("cmd=publish_name service=deep port=p3")["rc"])
say("again", g.ask("cmd=publish_name service=top port=p3")["rc"])
say("not its own", g.ask("cmd=unpublish_name service=top")["rc"])
while g.ask("cmd=lookup_name service=over")["rc"] != "0":
    time.sleep(0.01)
g.finalize()
\"\"\")
while c.ask("cmd=lookup_name service=over")["rc"] != "0":
    time.sleep(0.01)
c.finalize()
''')
while p.ask("cmd=lookup_name service=deep").get("port") != "p3":
    time.sleep(0.01)
p.ask("cmd=publish_name service=over port=x")
while p.ask("cmd=lookup_name service=deep")["rc"] == "0":
    time.sleep(0.01)
say("gone with its owner")
p.finalize()
""", "-q")
        self.assertEqual(out, ["again 1", "child sees p1",
                               "gone with its owner", "grandchild sees p1",
                               "not its own 1", "published 0"])

    def test_jobs_on_other_hosts(self):
        shell = launch.remote_shell(self.folder)
        out = self.check("""
p = Pmi()
if p.rank == 1:
    say(p.spawn((4, ["sh", "-c", "echo $FAR_HOST $PMI_RANK $PMI_SPAWNED"])))
    say(p.spawn((2, ["sh", "-c", "echo $FAR_HOST-$PMI_RANK"], {"host": "b"}),
                (1, ["sh", "-c", "echo $FAR_HOST-$PMI_RANK"], {"host": "c"})))
    say(p.spawn((1, ["no-such-prog"], {"host": "b"})))
p.finalize()
""", "--launcher-exec", shell, "--host", "a:1,b:1", n=2)
        self.assertEqual(out, sorted([
            "None", "None", "host b: no-such-prog: no such program",
            "a 0 1", "a 1 1", "b 2 1", "b 3 1", "b-0", "b-1", "c-2"]))

    def test_a_host_that_cannot_be_reached(self):
        out = self.check("""
p = Pmi()
say(p.spawn((1, ["true"], {"host": "no-host.invalid"})))
p.finalize()
""", "--launcher-exec", "false", "--host-timeout", 5)
        self.assertIn("no-host.invalid", out[0])

    # -- without mpirun ----------------------------------------------------------

    def singleton(self, script, **kw):
        head = f"p = start_launcher({launch.MPIRUN!r})\n"
        p = subprocess.Popen(self.words(head + script), env=self.env, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             **kw)
        self.addCleanup(p.communicate)
        self.addCleanup(p.kill)
        return p

    def test_a_process_without_mpirun(self):
        p = self.singleton(f"""
say(p.spawn((2, ["sh", "-c", "echo child $PMI_RANK"])))
say(p.spawn((1, ["no-such-prog"])))
say(p.spawn_script(1, '''
c = Pmi()
say(c.ask("cmd=get_universe_size")["size"])
while not os.path.exists({self.path("go")!r}):
    time.sleep(0.01)
say("alone")
c.finalize()
'''))
p.finalize()
open({self.path("ended")!r}, "w").close()
""")
        self.wait_for("ended")
        self.assertTrue(launch.wait_until(lambda: p.poll() is not None))
        open(self.path("go"), "w", encoding="ascii").close()
        out, err = p.communicate(timeout=launch.LIMIT)
        self.assertEqual(sorted(out.splitlines()), sorted([
            "None", "None", "no-such-prog: no such program", "child 0",
            "child 1", str(PROCESSORS), "alone"]), err)
        self.assert_nothing_left()

    def test_a_process_without_mpirun_is_killed(self):
        p = self.singleton(self.SLEEPERS.replace("p = Pmi()", "", 1) %
                           {"f": self.folder})
        self.wait_for("parent", "child0", "child1", "grandchild")
        p.kill()
        p.communicate(timeout=launch.LIMIT)
        self.assert_nothing_left()

    def named(self, name):
        """The processes of this test that have this name."""
        found = []
        for pid in launch.processes_with(self.mark):
            with contextlib.suppress(OSError):  # it has ended meanwhile
                with open(f"/proc/{pid}/comm", encoding="ascii") as f:
                    if f.read().strip() == name:
                        found.append(pid)
        return found

    def test_the_launcher_of_a_process_is_killed(self):
        p = self.singleton(self.SLEEPERS.replace("p = Pmi()", "", 1) %
                           {"f": self.folder})
        self.wait_for("parent", "child0", "child1", "grandchild")
        # a guard that has not run yet looks like its launcher
        self.assertTrue(launch.wait_until(
            lambda: len(self.named("mpirun-guard")) == 3))
        for pid in self.named("mpirun"):
            with contextlib.suppress(OSError):  # it dies with its parent
                os.kill(pid, signal.SIGKILL)
        mine = {p.pid}
        self.assertTrue(launch.wait_until(
            lambda: set(launch.processes_with(self.mark)) == mine))

    def test_the_option_is_for_the_library(self):
        done = launch.run("--singleton", stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 2)
        self.assertIn("for the library", done.stderr)


if __name__ == "__main__":
    launch.main()
