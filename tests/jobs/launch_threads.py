"""mpirun --ranks-per-process: which ranks live where, and how such jobs end.

BUILD_OF_WEFT names the build directory.
SPDX-License-Identifier: BSD-3-Clause
"""
import os
import re
import subprocess
import tempfile
import unittest

import launch

BUILD = os.path.abspath(os.environ.get("BUILD_OF_WEFT", "build"))
MPICC = os.path.join(BUILD, "bin", "mpicc")

# Each rank says its number and its process; argument 1: who returns 3.
PLACES = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    int rank, size, sum, odd = argc > 1 ? atoi(argv[1]) : -1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    printf("%d %d %d\n", rank, (int)getpid(), sum == size * (size - 1) / 2);
    MPI_Finalize();
    return rank == odd ? 3 : 0;
}
"""
# The program's own threads become ranks.
OWN_THREADS = r"""
#include <mpix.h>
#include <pthread.h>
#include <stdio.h>
static void *rank_thread(void *arg)
{
    int provided, rank, sum;
    MPI_Init_thread(NULL, NULL, MPIX_THREAD_AS_RANK, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    printf("%d %d %d\n", rank, provided == MPIX_THREAD_AS_RANK, sum);
    MPI_Finalize();
    return NULL;
}
int main(void)
{
    pthread_t t[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, rank_thread, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    return 0;
}
"""

# Small collectives: 100 of 8000 bytes.
SMALL = r"""
#include <mpi.h>
int main(int argc, char **argv)
{
    static _Thread_local double in[1000], out[1000];
    MPI_Init(&argc, &argv);
    for (int i = 0; i < 100; i++)
        MPI_Allreduce(in, out, 1000, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
"""

# One barrier.
BARRIER = r"""
#include <mpi.h>
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
"""

# Eight small collectives; rank 0 prints a line of /proc/self/smaps_rollup, in
# KB, while the others wait in a barrier.
MEMORY = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
    char line[256];
    int rank, sum;
    FILE *f;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 8; i++)
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    f = rank == 0 ? fopen("/proc/self/smaps_rollup", "r") : NULL;
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, argv[1], strlen(argv[1])) == 0)
            printf("%d\n", atoi(line + strlen(argv[1])));
    if (f)
        fclose(f);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
"""


class Threads(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def build(self, name, text, *flags):
        source = os.path.join(self.folder.name, name + ".c")
        program = os.path.join(self.folder.name, name)
        with open(source, "w") as f:
            f.write(text)
        subprocess.run([MPICC, *flags, source, "-o", program], check=True)
        return program

    def places(self, *args):
        """Ranks by process, in the order of the ranks."""
        done = launch.run(*args)
        self.assertEqual(done.returncode, 0, done.stderr)
        said = sorted(tuple(map(int, line.split()))
                      for line in done.stdout.splitlines())
        self.assertTrue(all(fine for _, _, fine in said))
        self.assertEqual([rank for rank, _, _ in said], list(range(len(said))))
        sizes, last = [], None
        for _, pid, _ in said:
            if pid != last:
                sizes.append(0)
            sizes[-1] += 1
            last = pid
        return sizes

    def test_ranks_are_threads_of_their_processes(self):
        program = self.build("places", PLACES, "-fthread-ranks")
        self.assertEqual(self.places("-n", 8, "--ranks-per-process", 4,
                                     program), [4, 4])
        self.assertEqual(self.places("-n", 7, "--ranks-per-process", 3,
                                     program), [3, 3, 1])
        self.assertEqual(self.places("-n", 4, "--ranks-per-process", 2,
                                     "--nodes", 2, program), [2, 2])
        self.assertEqual(self.places(
            "-n", 2, program, ":", "-n", 4, "--ranks-per-process", 4, program),
            [1, 1, 4])
        self.assertEqual(self.places("-n", 2, program), [1, 1])

    def test_the_status_of_a_rank_is_that_of_its_process(self):
        program = self.build("status", PLACES, "-fthread-ranks")
        done = launch.run("-n", 4, "--ranks-per-process", 2, program, 3)
        self.assertEqual(done.returncode, 3)

    def test_a_program_that_was_not_built_for_it_says_so(self):
        program = self.build("plain", PLACES)
        done = launch.run("-n", 4, "--ranks-per-process", 4, program)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("-fthread-ranks", done.stderr)

    def bytes_sent(self, program, *args):
        """By all ranks."""
        done = launch.run("-n", 4, "--set", "core.stats=yes", *args, program)
        self.assertEqual(done.returncode, 0, done.stderr)
        return sum(int(n) for n in re.findall(
            r"(?:thread|shm|tcp) +sent \d+ messages, (\d+) bytes", done.stderr))

    def test_small_collectives_need_no_messages_after_a_few_calls(self):
        """Only empty ones, which wake who sleeps."""
        program = self.build("small", SMALL, "-fthread-ranks")
        every = 4 * 100 * 8000
        self.assertLess(self.bytes_sent(program, "--ranks-per-process", 4),
                        every // 4)
        self.assertLess(self.bytes_sent(program), every // 4)
        self.assertLess(self.bytes_sent(program, "--ranks-per-process", 2),
                        every // 4)
        self.assertLess(self.bytes_sent(program, "--ranks-per-process", 3),
                        every // 4)
        self.assertGreater(self.bytes_sent(
            program, "--ranks-per-process", 2, "--route", "thread tcp"),
            every // 2)

    def test_a_first_barrier_connects_one_pair_for_each_rank(self):
        """Connecting is most of what it costs, and of the memory of a rank."""
        program = self.build("barrier", BARRIER, "-fthread-ranks")
        done = launch.run("-n", 32, "--ranks-per-process", 32, "--set",
                          "core.log=debug", program)
        self.assertEqual(done.returncode, 0, done.stderr)
        pairs = {frozenset(pair) for pair in re.findall(
            r"weft\[(\d+)\]: thread: connected to process (\d+)",
            done.stderr)}
        self.assertEqual(len(pairs), 31)

    def kilobytes(self, program, ranks, line):
        done = launch.run("-n", ranks, "--ranks-per-process", ranks, program,
                          line)
        self.assertEqual(done.returncode, 0, done.stderr)
        return int(done.stdout)

    def test_the_memory_of_a_rank_is_bounded(self):
        """Also when there are many; and no rank has the pages of all mapped
        before it has used them."""
        if "-fsanitize" in subprocess.run([MPICC, "-show"], text=True,
                                          capture_output=True).stdout:
            self.skipTest("a sanitizer has memory of its own")
        program = self.build("memory", MEMORY, "-fthread-ranks")
        few, many = (self.kilobytes(program, n, "Pss:") for n in (64, 256))
        self.assertLess((many - few) / (256 - 64), 100)
        self.assertLess(self.kilobytes(program, 16, "Rss:"), 20000)

    def test_threads_of_the_program_become_ranks(self):
        program = self.build("own", OWN_THREADS)
        done = launch.run("-n", 6, "--ranks-per-process", 3, program)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(done.stdout.splitlines()),
                         [f"{rank} 1 15" for rank in range(6)])


if __name__ == "__main__":
    launch.main()
