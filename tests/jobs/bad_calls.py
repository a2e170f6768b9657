"""What a user reads after a mistake in a program: the function, the object,
the values, and where there is one the remedy.

SPDX-License-Identifier: BSD-3-Clause
"""
import os
import tempfile
import unittest

import launch

CALL = os.path.join(os.environ.get("JOBS", "."), "job_bad_call")


class Calls(unittest.TestCase):
    def says(self, mistake, *texts, options=()):
        job = launch.run("-n", 2, *options, CALL, mistake)
        self.assertNotEqual(job.returncode, 0)
        for text in texts:
            self.assertIn(text, job.stderr)

    def test_a_call_before_init(self):
        self.says("before_init", "MPI_Barrier failed",
                  "called before MPI_Init or MPI_Init_thread")

    def test_a_destination_outside_the_communicator(self):
        self.says("to_a_rank_that_is_not", "MPI_Send on MPI_COMM_WORLD failed",
                  "dest is 7", "'MPI_COMM_WORLD' has ranks 0..1")

    def test_a_call_of_the_large_count_form(self):
        for mistake, name in (
                ("large_to_a_rank_that_is_not", "MPI_Send_c"),
                ("more_than_an_int_to_a_rank_that_is_not", "MPI_Send_c"),
                ("large_from_a_root_that_is_not", "MPI_Bcast_c"),
                ("large_whose_handler_calls", "MPI_Send"),
                ("small_after_large", "MPI_Bcast")):
            self.says(mistake, f"{name} on MPI_COMM_WORLD failed")

    def test_a_buffer_smaller_than_the_message(self):
        self.says("into_too_small_a_buffer", "MPI_Recv on MPI_COMM_WORLD",
                  "from rank 0 with tag 3 has 40 bytes",
                  "the receive buffer holds 20")

    def test_a_freed_communicator(self):
        self.says("with_a_freed_communicator", "MPI_Barrier failed",
                  "which is a freed object and not a communicator")

    def test_a_handle_that_is_none(self):
        self.says("with_a_type_that_is_none", "MPI_Type_commit failed",
                  "no MPI object, or one that was freed", "not a datatype")

    def test_a_message_shorter_than_was_promised(self):
        for mistake in ("shorter_than_promised", "shorter_than_posted"):
            self.says(mistake, "failed", "from rank 0 with tag 3 has 16 bytes",
                      "holds 32, and mpi_assert_exact_length is true",
                      options=("--set", "core.exact_length=yes"))
        self.says("nothing_where_posted", "has 0 bytes",
                  options=("--set", "core.exact_length=yes"))

    def test_a_shorter_message_where_nobody_asks(self):
        for mistake in ("shorter_than_promised", "shorter_than_posted",
                        "nothing_where_posted"):
            job = launch.run("-n", 2, CALL, mistake)
            self.assertEqual(job.returncode, 0, job.stderr)

    def test_operations_on_characters_where_the_standard_counts(self):
        strict = ("--set", "core.strict=yes")
        self.says("a_sum_of_characters", "MPI_Allreduce",
                  "MPI_SUM is not defined on MPI_CHAR",
                  "core.strict is yes", "use MPI_SIGNED_CHAR", options=strict)
        self.says("a_maximum_of_characters", "MPI_Accumulate",
                  "MPI_MAX is not defined on MPI_CHAR", options=strict)
        self.says("a_swap_of_characters", "MPI_Compare_and_swap",
                  "MPI_CHAR cannot be compared", options=strict)

    def test_nothing_is_said_where_nothing_is_wrong(self):
        job = launch.run("-n", 2, CALL, "no mistake")
        self.assertEqual((job.returncode, job.stderr), (0, ""))

    def unfinished(self, what, *lines, **kw):
        job = launch.run("-n", 2, "--set", "core.log=info", CALL, what, **kw)
        self.assertEqual(job.returncode, 0, job.stderr)
        for line in lines:
            self.assertIn(line, job.stderr)
        quiet = launch.run("-n", 2, CALL, what, **kw)
        self.assertEqual((quiet.returncode, quiet.stderr), (0, ""))
        return job.stderr

    def test_messages_that_nobody_wants(self):
        self.unfinished(
            "unmatched",
            "weft[1]: unfinished at the end: a receive from any rank with "
            "tag 7, 20 bytes on MPI_COMM_WORLD\n",
            "a receive from rank 1 with any tag, 24 bytes on",
            "a message from rank 0 with tag 8, 12 bytes\n",
            "a message from rank 0 with tag 9, 16 bytes\n",
            "weft[0]: unfinished at the end: a send to rank 1 with tag 9, "
            "16 bytes on MPI_COMM_WORLD")

    def test_what_is_unfinished_at_the_end(self):
        said = self.unfinished(
            "unfinished",
            "weft[1]: unfinished at the end: a collective operation on "
            "MPI_COMM_WORLD\n",
            "weft[1]: unfinished at the end: a generalized request\n",
            "weft[0]: unfinished at the end: a partitioned operation on "
            "MPI_COMM_WORLD\n",
            # what such an operation holds is the program's leak
            env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"})
        self.assertEqual(said.count("partitioned"), 1, said)

    def test_processes_that_call_different_collectives(self):
        self.says("other_collectives", "MPI_Barrier on MPI_COMM_WORLD failed",
                  "rank 0 sent 4 bytes where 1 are expected",
                  "have called different collectives")

    def test_processes_that_call_a_collective_with_other_counts(self):
        self.says("other_counts", "MPI_Bcast on MPI_COMM_WORLD failed",
                  "rank 0 sent 256 bytes where 16 are expected",
                  "different counts or datatypes")

    def test_a_pair_without_a_route(self):
        with tempfile.NamedTemporaryFile("w", suffix=".ini") as ini:
            ini.write("[route apart]\nfrom = node:*\nuse = shm\n")
            ini.flush()
            for call in ("a_send", "a_barrier", "a_dup",
                         "a_communicator_of_a_group"):
                job = launch.run("-n", 2, "--nodes", 2, "--ini", ini.name,
                                 CALL, call)
                self.assertNotEqual(job.returncode, 0)
                self.assertRegex(
                    job.stderr, r"failed: MPI_ERR_OTHER: route 'apart' \(\S*:1\): "
                    r"no transport reaches rank [01] \(\S+\) from rank "
                    r"[01] \(\S+\): self: another process; "
                    r"shm: another machine or container.*; "
                    r"tcp: not allowed by this route")

    def test_a_request_that_cannot_be_started(self):
        self.says("a_request_that_is_not_persistent", "MPI_Start failed",
                  "not persistent", "MPI_Send_init, MPI_Recv_init")

    def test_a_mistake_that_the_program_names(self):
        self.says("of_the_program", "MPI_COMM_WORLD failed",
                  "the rows are not sorted")
        self.says("of_a_class", "MPI_COMM_WORLD failed: MPI_ERR_TAG: ")
        self.assertNotIn("no detail is known",
                         launch.run("-n", 2, CALL, "of_a_class").stderr)

    def test_a_grid_larger_than_its_communicator(self):
        self.says("a_grid_that_is_too_large", "MPI_Cart_create on",
                  "the grid has 5 cells or more", "only 2 processes")

    def test_dimensions_whose_product_does_not_divide(self):
        self.says("dimensions_that_do_not_divide", "MPI_Dims_create failed",
                  "nnodes is 7", "dims[1] = 5")


if __name__ == "__main__":
    launch.main()
