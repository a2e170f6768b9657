"""Weft under a real Slurm of two nodes on this machine (slurm.py).

SPDX-License-Identifier: BSD-3-Clause
"""
import os
import subprocess
import tempfile
import unittest

import launch
import slurm

BUILD = os.path.abspath(os.environ.get("BUILD_OF_WEFT", "build"))
MPICC = os.path.join(BUILD, "bin", "mpicc")
SPAWNING = os.path.join(BUILD, "tests", "jobs", "job_spawning")
PROGRAM = r"""
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int rank, size, sum, local;
    MPI_Comm node;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
                        &node);
    MPI_Comm_size(node, &local);
    MPI_Comm_free(&node);
    if (rank == 1 && !strcmp(what, "abort"))
        MPI_Abort(MPI_COMM_WORLD, 42);
    if (rank == 1 && !strcmp(what, "kill"))
        raise(SIGKILL);
    if (*what)
        MPI_Barrier(MPI_COMM_WORLD);
    printf("rank %d of %d, sum %d, %d here, %s\n", rank, size, sum, local,
           getenv("SLURMD_NODENAME"));
    MPI_Finalize();
    return 0;
}
"""


def setUpModule():
    global cluster, program
    lack = slurm.missing()
    if lack:
        raise unittest.SkipTest("Slurm is not installed here: no "
                                + ", ".join(lack))
    folder = tempfile.TemporaryDirectory()
    unittest.addModuleCleanup(folder.cleanup)
    os.chmod(folder.name, 0o755)
    program = os.path.join(folder.name, "program")
    with open(program + ".c", "w", encoding="utf-8") as f:
        f.write(PROGRAM)
    subprocess.run([MPICC, program + ".c", "-o", program], check=True,
                   timeout=launch.LIMIT)
    cluster = slurm.Cluster(launch.LIMIT)
    unittest.enterModuleContext(cluster)


class Slurm(unittest.TestCase):
    def check(self, job, n):
        """All n ranks are one world, on the one machine that the nodes are.
        Returns the nodes."""
        self.assertEqual(job.returncode, 0,
                         job.stdout + job.stderr + cluster.log())
        said = sorted(line.rsplit(", ", 1)[0]
                      for line in job.stdout.splitlines())
        self.assertEqual(said, [f"rank {r} of {n}, sum {n * (n - 1) // 2}, "
                                f"{n} here" for r in range(n)])
        return sorted({line.rsplit(", ", 1)[1]
                       for line in job.stdout.splitlines()})


class Srun(Slurm):
    """srun --mpi=pmi2 starts the ranks."""

    def srun(self, n, *args):
        return cluster.run("srun", "--mpi=pmi2", "-N2", "-n", n,
                           "--distribution=block", "--ntasks-per-node",
                           (n + 1) // 2, program, *args)

    def test_all_ranks_are_one_world_over_two_nodes(self):
        nodes = self.check(self.srun(4), 4)
        self.assertEqual(nodes, ["weft1", "weft2"])

    def test_an_abort_ends_the_step(self):
        job = self.srun(4, "abort")  # of all tasks' codes srun has the highest
        self.assertGreaterEqual(job.returncode, 42, job.stderr)
        self.assertIn("called MPI_Abort with error code 42", job.stderr)
        self.assertEqual(job.stdout, "")

    def test_the_death_of_a_rank_ends_the_step(self):
        job = self.srun(4, "kill")
        self.assertNotEqual(job.returncode, 0)
        self.assertEqual(job.stdout, "")

    def test_without_a_pmi_the_remedy_is_named(self):
        job = cluster.run("srun", "--mpi=none", "-n2", program)
        self.assertNotEqual(job.returncode, 0)
        self.assertIn("use srun --mpi=pmi2", job.stderr)


class Spawn(Slurm):
    """Ranks under srun --mpi=pmi2 spawn others, which Slurm places in the
    allocation if steps may overlap."""

    def spawn(self, n, *args, **env):
        return cluster.run("salloc", "--quiet", "-N2", "-n4", "srun", "-Q",
                           "--mpi=pmi2", "-N", min(n, 2), "-n", n, SPAWNING,
                           *args, env=dict(env, SLURM_OVERLAP="1"))

    def test_processes_that_talk_to_their_parents(self):
        for n in (1, 2):
            job = self.spawn(n, "basic", 3)
            self.assertEqual(job.returncode, 0, job.stderr + cluster.log())

    def test_a_program_that_does_not_exist(self):
        """Slurm does not say so, in either of two ways: it never answers, or it
        has started the processes. The library gives up."""
        job = self.spawn(1, "fatal", "/no/such/program",
                         WEFT_SET="core.start_timeout=15s")
        self.assertNotEqual(job.returncode, 0)
        self.assertIn("MPI_ERR_SPAWN: ", job.stderr)
        self.assertIn("within 15 s (core.start_timeout)", job.stderr)


class Mpirun(Slurm):
    """mpirun inside an allocation starts an agent on each node by srun."""

    def salloc(self, *args, n=4):
        return cluster.run("salloc", "--quiet", "-N2", "-n", n,
                           launch.MPIRUN, *args)

    def test_the_allocation_says_where_and_how_many(self):
        nodes = self.check(self.salloc(program), 4)
        self.assertEqual(nodes, ["weft1", "weft2"])

    def test_fewer_ranks_and_all_output_of_many_lines(self):
        job = self.salloc("-n", 2, "--map-by", "node", "sh", "-c",
                          "echo $SLURMD_NODENAME; seq 3000; printf end >&2")
        self.assertEqual(job.returncode, 0, job.stderr)
        self.assertEqual(len(job.stdout.split()), 2 * 3001)
        self.assertIn("weft1", job.stdout)
        self.assertIn("weft2", job.stdout)
        self.assertEqual(job.stderr, "endend")

    def test_input_and_the_status_pass_through(self):
        job = cluster.run("salloc", "--quiet", "-N2", "-n2", launch.MPIRUN,
                          "sh", "-c", '[ "$PMI_RANK" = 1 ] || { cat; exit 7; }',
                          input="a line\n")
        self.assertEqual((job.returncode, job.stdout), (7, "a line\n"),
                         job.stderr)

    def test_a_batch_script(self):
        script = cluster.path("script")
        with open(script, "w", encoding="utf-8") as f:
            f.write(f"#!/bin/sh\n{launch.MPIRUN} {program}\n")
        job = cluster.run("sbatch", "--wait", "-N2", "-n4",
                          f"--output={cluster.path('output')}", script)
        with open(cluster.path("output"), encoding="utf-8") as f:
            job.stdout = f.read()
        self.check(job, 4)

    def test_the_death_of_a_rank_ends_the_job_and_is_named(self):
        job = self.salloc(program, "kill")
        self.assertEqual(job.returncode, 128 + 9, job.stderr)
        self.assertRegex(job.stderr, r"rank 1 .*signal 9")

    def test_the_end_of_the_allocation_ends_all(self):
        mark = f"WEFT_TEST_MARK={os.getpid()}"
        job = subprocess.Popen(
            ["salloc", "-N2", "-n2", launch.MPIRUN, "sleep", "1000"],
            env=dict(cluster.env, WEFT_TEST_MARK=str(os.getpid())),
            stderr=subprocess.PIPE, text=True)
        number = job.stderr.readline().split()[-1]
        self.assertTrue(launch.wait_until(lambda: len(
            launch.processes_with(mark)) > 6))
        subprocess.run(["scancel", number], env=cluster.env, check=True)
        job.communicate(timeout=launch.LIMIT)
        self.assertTrue(launch.wait_until(
            lambda: not launch.processes_with(mark)))


if __name__ == "__main__":
    launch.main()
