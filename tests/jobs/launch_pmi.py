"""Both directions of PMI-1: Weft programs under Hydra, MPICH programs here.

BUILD_OF_WEFT names the build directory; what is not installed is skipped.
SPDX-License-Identifier: BSD-3-Clause
"""
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest

import launch

MPICC = os.path.join(os.environ.get("BUILD_OF_WEFT", "build"), "bin", "mpicc")
HELLO = r"""
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    int rank, size, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (argc > 1 && rank == 1)
        MPI_Abort(MPI_COMM_WORLD, 42);
    if (argc > 1)
        MPI_Barrier(MPI_COMM_WORLD);
    printf("%d\n", sum * 100 + size);
    MPI_Finalize();
    return 0;
}
"""


def build(compiler, directory):
    source = os.path.join(directory, "hello.c")
    program = os.path.join(directory, "hello-" + os.path.basename(compiler))
    with open(source, "w") as f:
        f.write(HELLO)
    subprocess.run([compiler, source, "-o", program], check=True,
                   timeout=launch.LIMIT * 2)
    return program


class Program(unittest.TestCase):
    """Tests of a program of Weft: cls.weft."""

    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.TemporaryDirectory()
        cls.weft = build(MPICC, cls.dir.name)

    @classmethod
    def tearDownClass(cls):
        cls.dir.cleanup()


class Pmi(Program):
    def check(self, command, n):
        done = subprocess.run(list(map(str, command)), capture_output=True,
                              text=True, timeout=launch.LIMIT)
        self.assertEqual(done.returncode, 0, done.stderr)
        want = str(n * (n - 1) // 2 * 100 + n)
        self.assertEqual(done.stdout.split(), [want] * n)

    def test_own_programs(self):
        for n in (1, 2, 5):
            self.check([launch.MPIRUN, "-n", n, self.weft], n)
        self.check([launch.MPIRUN, "-n", 4, "--nodes", 2, self.weft], 4)
        self.check([self.weft], 1)

    def test_parts_of_one_job_are_one_world(self):
        self.check([launch.MPIRUN, "-n", 1, self.weft, ":", "-n", 2,
                    self.weft], 3)

    @unittest.skipUnless(shutil.which("mpicc.mpich"), "MPICH is not installed")
    def test_mpich_programs_run_under_our_mpirun(self):
        mpich = build("mpicc.mpich", self.dir.name)
        for n in (1, 2, 4):
            self.check([launch.MPIRUN, "-n", n, mpich], n)

    @unittest.skipUnless(shutil.which("mpiexec.hydra"), "Hydra is not installed")
    def test_our_programs_run_under_hydra(self):
        for n in (1, 2, 4):
            self.check(["mpiexec.hydra", "-n", n, self.weft], n)
        self.check(["mpiexec.hydra", "-pmi-port", "-n", 3, self.weft], 3)

    def test_abort_ends_the_job_with_its_code(self):
        done = launch.run("-n", 3, self.weft, "abort")
        self.assertEqual(done.returncode, 42, done.stderr)
        self.assertEqual(done.stdout, "")

    def test_a_rank_that_never_calls_init_is_named(self):
        done = launch.run("-n", 2, "sh", "-c",
                          f"[ $PMI_RANK = 1 ] && exit 0; exec {self.weft}")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("without calling MPI_Init", done.stderr)

    def test_a_wrapper_script_between_does_no_harm(self):
        self.check([launch.MPIRUN, "-n", 2, "sh", "-c", self.weft + "; :"], 2)


PROCESSORS = len(os.sched_getaffinity(0))


class Wire(unittest.TestCase):
    """What a rank may say to mpirun; the answers are those of PMI-1."""

    SCRIPT = r"""
import os, socket, sys
s = socket.socket(fileno=int(os.environ["PMI_FD"]))
for request in sys.argv[1].split("|"):
    s.sendall(request.encode() + b"\n")
    if not request.startswith("mcmd") and request != "x=1":
        print(s.recv(4096).decode().strip())
"""

    def say(self, requests, n=1):
        done = launch.run("-q", "-n", n, sys.executable, "-c", self.SCRIPT, requests)
        return done.stdout.splitlines()

    def test_how_many_processes_there_is_room_for(self):
        nodes = tempfile.NamedTemporaryFile("w")
        self.addCleanup(nodes.close)
        nodes.write("localhost\n" * 11)
        nodes.flush()
        slots = {"PBS_NODEFILE": nodes.name}
        for options, given, room in (
                ((), {}, PROCESSORS), (("--nodes", 1), {}, PROCESSORS),
                (("--host", "localhost:5"), {}, 5),
                (("--host", "localhost:1,127.0.0.1:2"), {}, 3),
                (("-usize", 9, "--host", "localhost:5"), {}, 9),
                (("-usize", 1), {}, 1), ((), slots, 11),
                (("--host", "localhost:2"), slots, 2)):
            done = launch.run(
                *options, "-q", "-n", 1, sys.executable, "-c", self.SCRIPT,
                "cmd=get_universe_size", env=dict(os.environ, **given))
            self.assertEqual(done.stdout, f"cmd=universe_size size={room} rc=0\n",
                             (options, done.stderr))
        more = 2 * PROCESSORS + 3  # ranks
        self.assertEqual(self.say("cmd=get_universe_size", n=more),
                         [f"cmd=universe_size size={more} rc=0"] * more)

    def test_each_request_has_its_answer(self):
        answers = self.say("cmd=init pmi_version=1 pmi_subversion=1|"
                           "cmd=get_maxes|cmd=put kvsname=k key=a value=b=c|"
                           "cmd=get kvsname=k key=a|cmd=get kvsname=k key=no|"
                           "cmd=get kvsname=k key=weft.hosts|"
                           "cmd=get_appnum|cmd=get_universe_size|"
                           "cmd=get kvsname=k key=PMI_process_mapping|"
                           "cmd=barrier_in|cmd=nonsense|cmd=finalize")
        self.assertEqual(answers, [
            "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0",
            "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024",
            "cmd=put_result rc=0 msg=success",
            "cmd=get_result rc=0 msg=success value=b=c",
            "cmd=get_result rc=-1 msg=no_such_key value=unknown",
            "cmd=get_result rc=0 msg=success value=1,await",
            "cmd=appnum appnum=0", f"cmd=universe_size size={PROCESSORS} rc=0",
            "cmd=get_result rc=0 msg=success value=(vector,(0,1,1))",
            "cmd=barrier_out", "cmd=nonsense_result rc=-1 msg=not_supported",
            "cmd=finalize_ack"])

    def test_the_mapping_says_on_which_node_each_rank_is(self):
        ask = ("cmd=init pmi_version=1 pmi_subversion=1|"
               "cmd=get kvsname=k key=PMI_process_mapping|cmd=finalize")
        for options, want in (
                (["-n", 5], "(vector,(0,1,3),(1,1,2))"),
                (["-n", 4], "(vector,(0,2,2))"),
                (["-n", 5, "--map-by", "node"], "(vector,(0,2,1))"),
                (["-n", 7, "-ppn", 2], "(vector,(0,2,2))"),
                (["-n", 4, "--ranks-per-process", 2], "(vector,(0,2,2))")):
            done = launch.run("-q", "-l", "--nodes", 2, *options, sys.executable,
                              "-c", self.SCRIPT, ask)
            said = [line.split("value=")[1] for line in done.stdout.splitlines()
                    if "value=" in line]
            self.assertEqual(set(said), {want}, options)

    def test_who_runs_is_told(self):
        ask = "cmd=weft_runs rank=0"
        answers = self.say("cmd=init pmi_version=1 pmi_subversion=1|"
                           f"{ask}|cmd=finalize|{ask}")
        self.assertEqual(answers[1:], ["cmd=weft_state rank=0 runs=1",
                                       "cmd=finalize_ack",
                                       "cmd=weft_state rank=0 runs=0"])

    def test_nothing_is_told_of_a_rank_that_is_none(self):
        for rank in ("1", "-1", "x"):
            answers = self.say(f"cmd=weft_runs rank={rank}\ncmd=get_appnum")
            self.assertEqual(answers, ["cmd=appnum appnum=0"])

    def test_a_rank_that_has_ended_is_told(self):
        script = (
            "import os, socket\n"
            "s = socket.socket(fileno=int(os.environ['PMI_FD']))\n"
            "while os.environ['PMI_RANK'] == '0':\n"
            "    s.sendall(b'cmd=weft_runs rank=1\\n')\n"
            "    if s.recv(99) == b'cmd=weft_state rank=1 runs=0\\n':\n"
            "        break\n"
            "print('heard', flush=True)\n")
        done = launch.run("--continuous", "-n", 2, sys.executable, "-c", script)
        self.assertEqual(done.stdout.split(), ["heard"] * 2, done.stderr)

    def test_a_rank_is_asked_whether_it_is_in_mpi(self):
        # rank 1 answers twice; each question of rank 0 has the count so far
        script = (
            "import os, socket\n"
            "s = socket.socket(fileno=int(os.environ['PMI_FD']))\n"
            "lines = s.makefile()\n"
            "def say(line):\n"
            "    s.sendall(line.encode() + b'\\n')\n"
            "say('cmd=init pmi_version=1 pmi_subversion=1')\n"
            "lines.readline()\n"
            "if os.environ['PMI_RANK'] == '1':\n"
            "    for i in range(2):\n"
            "        print(lines.readline().strip(), flush=True)\n"
            "        say('cmd=weft_here')\n"
            "count = 0\n"
            "while os.environ['PMI_RANK'] == '0' and count < 2:\n"
            "    say('cmd=weft_runs rank=1')\n"
            "    told = lines.readline().strip().split(' answers=')\n"
            "    assert told[0] == 'cmd=weft_state rank=1 runs=1', told\n"
            "    new = int(told[1]) if told[1:] else 0\n"
            "    assert new in (count, count + 1), told\n"
            "    count = new\n"
            "for end in ('barrier_in', 'barrier_out'), "
            "('finalize', 'finalize_ack'):\n"
            "    say('cmd=' + end[0])\n"
            "    while end[1] not in lines.readline():\n"
            "        pass\n")
        done = launch.run("-n", 2, sys.executable, "-c", script)
        self.assertEqual(done.stdout.split(), ["cmd=weft_called"] * 2,
                         done.stderr)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_too_long_names_and_values_are_refused(self):
        answers = self.say(f"cmd=put kvsname=k key={'k' * 65} value=1|"
                           f"cmd=put kvsname=k key=k value={'v' * 1025}|"
                           f"cmd=put kvsname=k key=k value={'v' * 1024}|"
                           "cmd=put kvsname=k key=k")
        self.assertEqual([a.split("rc=")[1][:2].strip() for a in answers],
                         ["-1", "-1", "0", "-1"])

    def test_last_words_count_where_no_answer_can_be_given(self):
        script = (
            "import os, socket\n"
            "s = socket.socket(fileno=int(os.environ['PMI_FD']))\n"
            "s.shutdown(socket.SHUT_RD)\n"
            "s.sendall(b'cmd=get_maxes\\ncmd=abort exitcode=42\\n')\n"
            "os._exit(3)\n")
        for options in ([], ["--nodes", 2, "--launcher-exec", "env X=%n"]):
            done = launch.run("-n", 2, *options, sys.executable, "-c", script)
            self.assertEqual(done.returncode, 42, done.stderr)
            self.assertIn("aborted the job with code 42", done.stderr)

    def test_nonsense_ends_only_the_connection(self):
        done = launch.run("-n", 1, "sh", "-c",
                          "printf 'GET / HTTP/1.1\\n' >&$PMI_FD; "
                          "head -c 200000 /dev/zero >&$PMI_FD; echo alive")
        self.assertEqual(done.stdout, "alive\n")


class Deserted(Program):
    """A launcher that fails in the middle of the start: the program says once
    why it cannot go on."""

    ANSWERS = {"init": "response_to_init pmi_version=1 pmi_subversion=1 rc=0",
               "get_maxes": "maxes kvsname_max=256 keylen_max=64 "
                            "vallen_max=1024",
               "get_my_kvsname": "my_kvsname kvsname=k",
               "get_appnum": "appnum appnum=0",
               "get_universe_size": "universe_size size=2 rc=0",
               "get": "get_result rc=-1", "put": "put_result rc=0",
               "barrier_in": "barrier_out"}

    def serve(self, launcher, failing, answer):
        """Answer each request; the one that contains `failing` with `answer`, or
        by hanging up."""
        for line in launcher.makefile():
            command = line.split("cmd=")[1].split()[0]
            reply = self.ANSWERS[command]
            if failing in line:
                reply = answer
            if reply is None:
                return
            launcher.sendall(f"cmd={reply}\n".encode())

    def start(self, failing, answer=None):
        """Rank 0 of 2 under a launcher that fails: what it prints."""
        ours, its = socket.socketpair()
        env = dict(os.environ, PMI_FD=str(its.fileno()), PMI_RANK="0",
                   PMI_SIZE="2")
        with subprocess.Popen([self.weft], env=env, pass_fds=[its.fileno()],
                              stderr=subprocess.PIPE, text=True) as program:
            its.close()
            self.serve(ours, failing, answer)
            ours.close()
            said = program.communicate(timeout=launch.LIMIT)[1]
        self.assertNotEqual(program.returncode, 0)
        self.assertNotIn("code -", said)
        self.assertIn("MPI_Init", said)
        return said

    def check(self, cause, failing, answer=None):
        said = self.start(failing, answer)
        self.assertEqual(said.count(cause), 1, said)
        self.assertIn("MPI_ERR_OTHER", said)

    def test_the_launcher_hangs_up(self):
        self.check("PMI get: the launcher is gone", "key=weft.key")
        self.check("PMI put: the launcher is gone", "cmd=put")
        self.check("PMI barrier: the launcher is gone", "cmd=barrier_in")

    def test_an_answer_is_not_pmi(self):
        self.check("PMI get: the launcher's answer is not PMI-1",
                   "key=weft.key", "nonsense")

    def test_the_launcher_refuses_a_value(self):
        self.check("PMI put of weft.key was refused", "cmd=put",
                   "put_result rc=-1 msg=full")

    def test_a_value_does_not_fit(self):
        self.check("is too long for the launcher", "cmd=get_maxes",
                   "maxes keylen_max=8 vallen_max=1024")


launch.main()
