"""Ranks of other hosts: agents, the tree of them, and who ends each wait.

The hosts are this one: a remote shell that stays here stands for ssh.
SPDX-License-Identifier: BSD-3-Clause
"""
import hashlib
import os
import random
import re
import signal
import struct
import subprocess
import tempfile
import time
import unittest
import uuid

import launch

BUILD = os.path.abspath(os.environ.get("BUILD_OF_WEFT", "build"))
WHERE = os.path.join(BUILD, "tests", "jobs", "job_state_report_ranks")
HEAD = struct.Struct("<BxxxiiI")
OUT, ENDED = 5, 13  # tools/mpirun/channel.h
SILENCE = 15  # seconds


class Hosts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="hosts")
        self.addCleanup(folder.cleanup)
        self.dir = folder.name
        self.shell = launch.remote_shell(self.dir)
        self.mark = "LAUNCH_HOSTS_MARK=" + uuid.uuid4().hex
        name, value = self.mark.split("=")
        self.env = dict(os.environ, **{name: value})

    def script(self, text):
        """Another remote shell: $host, and the agent's command in $*."""
        path = os.path.join(self.dir, "shell")
        with open(path, "w", encoding="ascii") as f:
            f.write("#!/bin/sh\nhost=$1\nshift\n" + text)
        os.chmod(path, 0o755)
        return path

    def words(self, hosts, *args, shell=None):
        return ["--host", hosts, "--launcher-exec", shell or self.shell, *args]

    def run_on(self, hosts, *args, shell=None, **kw):
        kw.setdefault("env", self.env)
        return launch.run(*self.words(hosts, *args, shell=shell), **kw)

    def start_on(self, hosts, *args, shell=None, **kw):
        job = launch.start(*self.words(hosts, *args, shell=shell), env=self.env,
                           **kw)
        self.addCleanup(job.communicate)
        self.addCleanup(job.kill)
        return job

    def nothing_is_left(self):
        # the margin is for a machine that is busy with other things
        self.assertTrue(launch.wait_until(
            lambda: not launch.processes_with(self.mark), 30))


class Work(Hosts):
    def test_status_and_signal_name_the_host(self):
        done = self.run_on("a:2,b:2", "sh", "-c", "[ $PMI_RANK = 2 ] && exit 7; "
                           "exec sleep 100")
        self.assertEqual(done.returncode, 7)
        self.assertRegex(done.stderr, r"^mpirun: rank 2 \(sh, pid \d+, host b\) "
                         r"exited with status 7\n$")
        done = self.run_on("a:2,b:2", "sh", "-c", "[ $PMI_RANK = 1 ] && kill -9 "
                           "$$; exec sleep 100")
        self.assertEqual(done.returncode, 128 + signal.SIGKILL)
        self.assertRegex(done.stderr, r"^mpirun: rank 1 \(sh, pid \d+, host a\) "
                         r"was killed by signal 9 \(Killed\)\n$")
        self.nothing_is_left()

    def test_a_rank_that_is_killed_while_others_wait_for_it_is_named(self):
        ring = os.path.join(BUILD, "examples", "ring")
        for killed in (0, 1):
            parts = [[ring], ["sh", "-c", "sleep 0.5; kill -9 $$"]]
            done = self.run_on("a,b", "-n", 1, *parts[1 - killed], ":", "-n", 1,
                               *parts[killed])
            self.assertEqual(done.returncode, 128 + signal.SIGKILL)
            self.assertRegex(done.stderr, rf"^mpirun: rank {killed} \(sh, pid \d+, "
                             rf"host {'ab'[killed]}\) was killed by signal 9 "
                             r"\(Killed\)\n$")

    def test_a_program_that_is_not_there_is_one_message(self):
        done = self.run_on("a:4,b:4", "no-such-program")
        self.assertEqual(done.returncode, 127)
        self.assertRegex(done.stderr, r"^mpirun: host [ab]: no-such-program: no "
                         r"such program\n$")

    def test_input_reaches_one_rank_or_all_byte_by_byte(self):
        data = random.Random(1).randbytes(3 << 20)
        want = hashlib.sha256(data).hexdigest()
        for stdin, ranks in (("0", [0]), ("3", [3]), ("all", [0, 1, 2, 3])):
            done = self.run_on("a:2,b:2", "-l", "--stdin", stdin, "sha256sum",
                               input=data)
            lines = done.stdout.decode().splitlines()
            self.assertEqual(
                [n for n in range(4) if f"[{n}] {want}  -" in lines], ranks)
            self.assertEqual((done.returncode, len(lines)), (0, 4))
        done = self.run_on("a", "cat", stdin=subprocess.DEVNULL)
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_much_output_arrives_whole(self):
        done = self.run_on("a:2,b:2", "-l", "sh", "-c",
                           "seq 200000; echo end of $PMI_RANK >&2")
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        for rank in range(4):
            own = [line.split()[1] for line in lines
                   if line.startswith(f"[{rank}] ")]
            self.assertEqual(own, [str(i) for i in range(1, 200001)])
        self.assertEqual(sorted(done.stderr.splitlines()),
                         [f"[{r}] end of {r}" for r in range(4)])

    def test_a_slow_reader_of_the_output_stops_nothing_else(self):
        go = os.path.join(self.dir, "go")
        os.mkfifo(go)
        job = self.start_on("a:2", "sh", "-c", "[ $PMI_RANK = 0 ] && exec seq "
                            f"2000000; read x <{go}; echo $x >&2")
        # rank 0 has filled every buffer when it sleeps
        self.assertTrue(launch.wait_until(lambda: self.writer_sleeps()))
        with open(go, "w", encoding="ascii") as f:
            f.write("passes\n")
        self.assertEqual(job.stderr.readline(), "passes\n")
        self.assertEqual(len(job.communicate(timeout=launch.LIMIT)[0].split()),
                         2000000)
        self.assertEqual(job.returncode, 0)

    def writer_sleeps(self):
        seen = [0, 0]
        for i in range(2):
            for pid in launch.processes_with(self.mark):
                try:
                    with open(f"/proc/{pid}/comm", encoding="ascii") as f:
                        if f.read() != "seq\n":
                            continue
                    with open(f"/proc/{pid}/io", encoding="ascii") as f:
                        seen[i] = int(f.read().split("write_bytes")[0]
                                      .split("wchar: ")[1].split()[0])
                except OSError:
                    continue
            time.sleep(0.3)
        return seen[0] == seen[1] > 0

    def test_signals_reach_the_ranks(self):
        job = self.start_on("a,b", "sh", "-c", "trap 'echo got; exit 0' USR1; "
                            "echo ready; while :; do sleep 0.05; done")
        for _ in range(2):
            self.assertEqual(job.stdout.readline(), "ready\n")
        job.send_signal(signal.SIGUSR1)
        out, _ = job.communicate(timeout=launch.LIMIT)
        self.assertEqual((job.returncode, out), (0, "got\ngot\n"))

    def test_an_interrupt_ends_the_job(self):
        job = self.start_on("a,b", "sh", "-c", "echo ready; exec sleep 1000")
        for _ in range(2):
            self.assertEqual(job.stdout.readline(), "ready\n")
        job.send_signal(signal.SIGINT)
        _, err = job.communicate(timeout=launch.LIMIT)
        self.assertEqual((job.returncode, err), (128 + signal.SIGINT, ""))
        self.nothing_is_left()

    def test_the_same_last_words_are_said_once(self):
        done = self.run_on("a:3,b:3", os.path.join(BUILD, "examples", "ring"),
                           env=dict(self.env, WEFT_SET="core.nonsense=1"))
        self.assertEqual(done.stderr.count("unknown key 'nonsense'"), 1, done.stderr)
        # the first one that ends may end the others before they say it
        self.assertRegex(done.stderr, r"mpirun: ranks \d[-, \d]* ended with "
                         "the same message")

    def test_what_login_scripts_say_goes_to_standard_error(self):
        shell = self.script('printf "welcome\nto $host: "; exec sh -c "$*"\n')
        done = self.run_on("a", "echo", "x", shell=shell)
        self.assertEqual((done.returncode, done.stdout, done.stderr),
                         (0, "x\n", "welcome\nto a: "))

    def test_a_prefix_is_where_weft_is_on_other_hosts(self):
        prefix = os.path.join(self.dir, "weft")
        os.symlink(BUILD, prefix)
        words = ["sh", "-c", "echo $PATH; echo $LD_LIBRARY_PATH"]
        done = self.run_on("a", "--prefix", prefix, *words,
                           env=dict(self.env, LD_LIBRARY_PATH="/other"))
        self.assertEqual(done.returncode, 0, done.stderr)
        path, libraries = done.stdout.splitlines()
        self.assertRegex(path, "^/.*/bin:" + re.escape(os.environ["PATH"]) + "$")
        self.assertRegex(libraries, "^/.*/lib.*:/other$")
        shell = self.script('echo "$*" >&2; exec sh -c "$*"\n')
        done = self.run_on("a", "--prefix", prefix, "true", shell=shell)
        self.assertIn(f"{prefix}/bin/mpirun", done.stderr)


class Tree(Hosts):
    HOSTS = ",".join(f"h{i}" for i in range(40))

    def test_more_hosts_than_its_width_start_each_other(self):
        for width, children in ((32, 32), (3, 3), (1, 1)):
            job = self.start_on(self.HOSTS, "--tree-width", width, "sh", "-c",
                                "echo $FAR_HOST; exec sleep 1000")
            told = sorted(job.stdout.readline() for _ in range(40))
            self.assertEqual(told, sorted(f"h{i}\n" for i in range(40)))
            own = 0
            for pid in launch.processes_with(self.mark):
                with open(f"/proc/{pid}/stat", encoding="ascii") as f:
                    parent = int(f.read().rsplit(")")[1].split()[1])
                with open(f"/proc/{pid}/cmdline", encoding="ascii") as f:
                    own += parent == job.pid and "--agent" in f.read()
            self.assertEqual(own, children)
            job.kill()
            job.wait()
            self.nothing_is_left()

    def test_a_job_runs_in_a_deep_tree(self):
        done = self.run_on(",".join(f"h{i}" for i in range(8)), "--tree-width",
                           2, os.path.join(BUILD, "examples", "ring"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("the sum of all ranks is 28", done.stdout)

    def test_input_output_and_ends_go_through_the_tree(self):
        data = "".join(f"{i}\n" for i in range(100000))
        done = self.run_on("a,b,c,d", "--tree-width", 1, "--stdin", "3", "cat",
                           input=data)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertTrue(done.stdout == data)
        done = self.run_on("a,b,c,d", "--tree-width", 1, "sh", "-c",
                           "[ $PMI_RANK = 3 ] && exit 5; exec sleep 1000")
        self.assertEqual(done.returncode, 5)
        self.assertIn("host d) exited with status 5", done.stderr)

    def test_the_host_that_is_lost_is_named_not_those_before_it(self):
        for rank in (1, 3):
            done = self.run_on("a,b,c,d", "--tree-width", 1, "sh", "-c",
                               f"[ $PMI_RANK = {rank} ] && kill -9 $PPID; "
                               "exec sleep 1000")
            self.assertEqual(done.returncode, 255)
            self.assertRegex(done.stderr, f"^mpirun: host {'abcd'[rank]} is lost:"
                             r" .* was killed by signal 9 \(Killed\)\n$")
            self.nothing_is_left()

    def test_a_host_that_an_agent_cannot_start_is_named(self):
        shell = self.script('[ $host = c ] && exit 9; exec sh -c "$*"\n')
        done = self.run_on("a,b,c,d", "--tree-width", 1, "sleep", 1000,
                           shell=shell)
        self.assertEqual(done.returncode, 255)
        self.assertRegex(done.stderr, "^mpirun: host c: no agent could be "
                         "started: '.* c .*' exited with status 9\n$")
        self.nothing_is_left()


class Waits(Hosts):
    def test_a_shell_that_hangs(self):
        shell = self.script('[ $host = b ] && exec sleep 1000; exec sh -c "$*"\n')
        done = self.run_on("a,b", "--host-timeout", 2, "sleep", 1000,
                           shell=shell)
        self.assertEqual(done.returncode, 255)
        self.assertRegex(done.stderr, "^mpirun: host b: no answer within 2 s from "
                         "'.* b .*'; is it up, .*--wait-hosts\\)\n$")
        self.nothing_is_left()

    def test_a_shell_that_hangs_and_heeds_no_signal(self):
        shell = self.script("trap '' TERM INT HUP; while :; do sleep 0.1; done\n")
        done = self.run_on("a", "--host-timeout", 1, "true", shell=shell)
        self.assertEqual(done.returncode, 255)
        self.nothing_is_left()

    def test_an_interrupt_while_a_shell_hangs(self):
        shell = self.script('echo started >&2; exec sleep 1000\n')
        job = self.start_on("a,b", "--host-timeout", 1000, "true", shell=shell)
        for _ in range(2):
            self.assertEqual(job.stderr.readline(), "started\n")
        job.send_signal(signal.SIGINT)
        job.communicate(timeout=launch.LIMIT)
        self.assertNotEqual(job.returncode, 0)
        self.nothing_is_left()

    def test_an_agent_that_is_killed(self):
        done = self.run_on("a:2,b:2", "sh", "-c", "[ $PMI_RANK = 2 ] && kill -9 "
                           "$PPID; sleep 1000 & setsid sleep 1000 & wait")
        self.assertEqual(done.returncode, 255)
        self.assertRegex(done.stderr, "^mpirun: host b is lost: '.* b .*' was "
                         r"killed by signal 9 \(Killed\)\n$")
        self.nothing_is_left()

    def test_an_agent_that_is_stopped(self):
        begin = time.monotonic()
        done = self.run_on("a,b", "sh", "-c", "[ $PMI_RANK = 1 ] && kill -STOP "
                           "$PPID; exec sleep 1000")
        self.assertEqual((done.returncode, done.stderr),
                         (255, "mpirun: host b is lost: its agent has not "
                          f"answered for {SILENCE} s\n"))
        self.assertGreater(time.monotonic() - begin, SILENCE - 1)
        self.nothing_is_left()

    def test_mpirun_that_is_killed(self):
        for options in ((), ("--tree-width", 1)):
            job = self.start_on("a:2,b:2,c", *options, "sh", "-c", "sleep 1000 & "
                                "setsid sleep 1000 & echo ready; wait")
            for _ in range(5):
                self.assertEqual(job.stdout.readline(), "ready\n")
            job.kill()
            job.wait()
            self.nothing_is_left()

    def listening_for(self, seconds):
        """A remote shell whose agents end when they hear nothing for so long; what
        they say is in self.said."""
        self.said = os.path.join(self.dir, f"said{seconds}")
        return self.script(f"export LISTENS={self.mark}{seconds}\n"
                           f'exec 2>>{self.said}\nexec sh -c "$* {seconds}"\n')

    def be_silent(self, seconds, *options):
        """Stop mpirun unheard until no process of its two hosts is left; the
        hosts that say why."""
        job = self.start_on("a,b", *options, "sh", "-c", "sleep 1000 & setsid "
                            "sleep 1000 & echo ready; wait",
                            shell=self.listening_for(seconds))
        for _ in range(2):
            self.assertEqual(job.stdout.readline(), "ready\n")
        job.send_signal(signal.SIGSTOP)
        self.assertTrue(launch.wait_until(
            lambda: not launch.processes_with(f"LISTENS={self.mark}{seconds}")))
        job.send_signal(signal.SIGCONT)
        job.communicate(timeout=launch.LIMIT)
        self.assertIn(job.returncode, (255, 128 + signal.SIGKILL))
        with open(self.said) as f:
            said = f.read()
        os.remove(self.said)
        text = (r"mpirun: host (\w): nothing was heard from mpirun for "
                f"{seconds} s, so the ranks here were killed\n")
        self.assertEqual(re.sub(text, "", said), "")
        return "".join(sorted(re.findall(text, said)))

    def test_mpirun_that_is_silent(self):
        self.assertEqual(self.be_silent(8, "--tree-width", 1), "a")

    def test_the_limit_of_an_agent_is_a_number_of_seconds(self):
        for limit in ("0", "-1", "x", "3x", "1e3", "99999999999", ""):
            done = launch.run("--agent", limit)
            self.assertEqual((done.returncode, done.stdout), (255, ""))
            self.assertIn(f"--agent '{limit}': give the seconds of silence, 1 to ", done.stderr)

    def test_mpirun_that_is_stopped_and_continued(self):
        job = self.start_on("a", "sh", "-c", "echo ready; read x; echo $x",
                            shell=self.listening_for(5), stdin=subprocess.PIPE)
        self.assertEqual(job.stdout.readline(), "ready\n")
        job.send_signal(signal.SIGTSTP)
        stopped = lambda: " T " in open(f"/proc/{job.pid}/stat").read()
        self.assertTrue(launch.wait_until(stopped))
        # for longer than its agent listens, but that has been told
        self.assertEqual(self.be_silent(8), "ab")
        job.send_signal(signal.SIGCONT)
        out, err = job.communicate("word\n", timeout=launch.LIMIT)
        self.assertEqual((job.returncode, out), (0, "word\n"), err)

    def test_hosts_are_waited_for(self):
        count = os.path.join(self.dir, "count")
        shell = self.script(f'echo x >>{count}; echo not yet >&2\n'
                            f'[ $(wc -l <{count}) -lt 3 ] && exit 255\n'
                            'exec sh -c "$*"\n')
        done = self.run_on("a", "--wait-hosts", 100, "echo", "x", shell=shell)
        self.assertEqual((done.returncode, done.stdout, done.stderr),
                         (0, "x\n", ""))
        shell = self.script("echo refused >&2; exit 255\n")
        done = self.run_on("a", "--wait-hosts", 1, "echo", "x", shell=shell)
        self.assertEqual(done.returncode, 255)
        self.assertRegex(done.stderr, "^refused\nmpirun: host a: no agent could "
                         "be started: .* exited with status 255\n$")


class Strangers(Hosts):
    """What is said to be an agent, or to have started one."""

    def refuse(self, script, why):
        done = self.run_on("a", "true", shell=self.script(script))
        self.assertEqual(done.returncode, 255, done.stderr)
        self.assertRegex(done.stderr, why)

    def test_an_agent_that_is_not_there(self):
        done = self.run_on("a", "--prefix", "/nowhere", "true")
        self.assertEqual(done.returncode, 255)
        self.assertRegex(done.stderr, "host a: no agent could be started: .* exited"
                         " with status 127; is Weft there .*--prefix")

    def test_another_version(self):
        self.refuse("echo weft-agent 0 0.0.7; exec sleep 1000\n", r"^mpirun: host "
                    r"a: '.*' is another version of Weft there \('weft-agent 0 "
                    r"0.0.7' instead of 'weft-agent \d+ [\d.]+'\)\n$")

    def test_a_program_that_is_no_agent(self):
        self.refuse("exec cat /dev/null\n", "exited with status 0")
        self.refuse("exec true\n", "exited with status 0")
        self.refuse(r'printf "weft-agent "; yes | head -c 1000; exec sleep 1000',
                    "another version")

    def recorded(self):
        """The bytes that a job's channel carried, down and up."""
        down, up = (os.path.join(self.dir, n) for n in ("down", "up"))
        shell = self.script(f'tee {down} | sh -c "$*" | tee {up}\n')
        done = self.run_on("a:2", "sh", "-c", "cat; echo x >&2", shell=shell,
                           input="line\n")
        self.assertEqual((done.returncode, done.stdout), (0, "line\n"),
                         done.stderr)
        with open(down, "rb") as d, open(up, "rb") as u:
            return d.read(), u.read()

    @staticmethod
    def damaged(rng, data):
        data = bytearray(data)
        for _ in range(rng.choice((1, 1, 2, 8))):
            at = rng.randrange(len(data))
            data[at] = rng.choice((0, 1, 0x7f, 0x80, 0xff, rng.randrange(256)))
        return bytes(data[:rng.randrange(len(data))] if rng.random() < .3
                     else data)

    def test_damaged_orders_crash_no_agent(self):
        rng, (down, _) = random.Random(3), self.recorded()
        for _ in range(60):
            # without environment: what survives the damage must do no harm
            done = subprocess.run([launch.MPIRUN, "--agent"],
                                  input=self.damaged(rng, down), env=self.env,
                                  capture_output=True, timeout=launch.LIMIT)
            self.assertIn(done.returncode, (0, 255), done.stderr)
            self.assertNotIn(b"Sanitizer", done.stderr)
        self.nothing_is_left()

    def test_an_agent_that_ends_takes_no_further_orders(self):
        down, _ = self.recorded()
        order = down[:12] + bytes(4) + b"\n"  # an empty launch request
        done = subprocess.run([launch.MPIRUN, "--agent"], input=order + down,
                              env=self.env, capture_output=True,
                              timeout=launch.LIMIT)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
        self.assertIn(b"cannot read its launch request", done.stderr)
        self.nothing_is_left()

    def test_damaged_news_crash_no_mpirun(self):
        rng, (_, up) = random.Random(4), self.recorded()
        greeting = up.index(b"\n") + 1
        news = os.path.join(self.dir, "news")
        shell = self.script(f"cat {news}; exec sleep 0.2\n")
        for _ in range(60):
            with open(news, "wb") as f:
                f.write(up[:greeting] + self.damaged(rng, up[greeting:]))
            done = self.run_on("a:2", "true", shell=shell, input=b"")
            self.assertGreaterEqual(done.returncode, 0, done.stderr)
            self.assertNotIn(b"Sanitizer", done.stderr)

    def test_news_of_what_is_not_ones_own_are_ignored(self):
        _, up = self.recorded()
        greeting = up[:up.index(b"\n") + 1]
        news = os.path.join(self.dir, "news")
        frames = b"".join(HEAD.pack(kind, node, rank, len(data)) + data + b"\n"
                          for node, rank in ((1, 1), (0, 1), (7, 0), (-1, 0))
                          for kind, data in ((OUT, b"forged\n"),
                                             (ENDED, struct.pack("<I", 0))))
        with open(news, "wb") as f:
            f.write(greeting + frames)
        shell = self.script(f'[ $host = a ] && {{ cat {news}; exec sleep 1; }}\n'
                            'exec sh -c "$*"\n')
        done = self.run_on("a,b", "sh", "-c", "exec sleep 1000", shell=shell)
        self.assertEqual((done.returncode, done.stdout), (255, ""))
        self.assertIn("host a is lost", done.stderr)
        self.nothing_is_left()


launch.main()
