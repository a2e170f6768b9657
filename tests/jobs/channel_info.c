/* The info keys of real-time channels: MPI_Comm_get_info has them where all is
 * reserved, in all members alike, and nowhere else; a wrong value is an error
 * that names key, value and remedy.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "channel.h"

/* All members have the same answer. */
static int is_agreed(int yes)
{
    int all, some;
    MPI_Allreduce(&yes, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    MPI_Allreduce(&yes, &some, 1, MPI_INT, MPI_LOR, MPI_COMM_WORLD);
    CHECK(all == some);
    return yes;
}

static void check_in_force(void)
{
    MPI_Comm c = make_channel(MPI_COMM_WORLD), d;

    CHECK(is_agreed(is_channel(c)) == expects_channel());
    CHECK(has_value(c, "weft_channel_bytes", expects_channel() ? "64" : ""));
    CHECK(has_value(c, "weft_channel_rate", expects_channel() ? "1000" : ""));
    check_talks(c);
    MPI_Comm_dup(c, &d); /* hints are not copied */
    CHECK(!is_channel(d));
    check_talks(d);
    MPI_Comm_free(&d);
    MPI_Comm_free(&c);
    CHECK(dup_with_keys(MPI_COMM_WORLD, "yes", "1K", "2000", &c) ==
          MPI_SUCCESS);
    CHECK(is_channel(c) == expects_channel());
    CHECK(has_value(c, "weft_channel_bytes", expects_channel() ? "1024" : ""));
    CHECK(has_value(c, "weft_channel_rate", expects_channel() ? "2000" : ""));
    MPI_Comm_free(&c);
}

/* Other keys of the same info stay, and "no" asks for nothing. */
static void check_absent(void)
{
    MPI_Comm c;
    MPI_Info info;

    CHECK(dup_with_keys(MPI_COMM_WORLD, "no", "64", NULL, &c) == MPI_SUCCESS);
    CHECK(!is_channel(c) && has_value(c, "weft_channel_bytes", ""));
    MPI_Info_create(&info);
    MPI_Info_set(info, "weft_channel", "true");
    MPI_Info_set(info, "mpi_assert_no_any_tag", "true");
    CHECK(MPI_Comm_set_info(c, info) == MPI_SUCCESS);
    CHECK(!is_channel(c)); /* too late for this communicator */
    CHECK(has_value(c, "mpi_assert_no_any_tag", "true"));
    MPI_Info_free(&info);
    MPI_Comm_free(&c);
}

/* More than can be reserved: the keys are absent everywhere, and messages go
 * all the same. */
static void check_too_much(void)
{
    MPI_Comm c;

    CHECK(dup_with_keys(MPI_COMM_WORLD, "true", "1G", NULL, &c) == MPI_SUCCESS);
    CHECK(size_of(c) == 1 || !is_agreed(is_channel(c)));
    check_talks(c);
    MPI_Comm_free(&c);
    CHECK(dup_with_keys(MPI_COMM_WORLD, "true", NULL, "4000000000", &c) ==
          MPI_SUCCESS);
    CHECK(!is_agreed(is_channel(c)));
    check_talks(c);
    MPI_Comm_free(&c);
}

/* Members that want different things get nothing. */
static void check_different(void)
{
    int odd = rank_in(MPI_COMM_WORLD) % 2;
    MPI_Comm c;

    if (size_of(MPI_COMM_WORLD) == 1)
        return;
    CHECK(dup_with_keys(MPI_COMM_WORLD, "true", odd ? "8" : "16", NULL, &c) ==
          MPI_SUCCESS);
    CHECK(!is_agreed(is_channel(c)));
    MPI_Comm_free(&c);
    CHECK(dup_with_keys(MPI_COMM_WORLD, odd ? NULL : "true", NULL, NULL, &c) ==
          MPI_SUCCESS);
    CHECK(!is_agreed(is_channel(c)));
    check_talks(c);
    MPI_Comm_free(&c);
}

/* MPI_Comm_idup_with_info and MPI_Comm_create_from_group check the values, and
 * reserve nothing. */
static void check_others(void)
{
    MPI_Comm c;
    MPI_Info info;
    MPI_Request r;
    MPI_Group world;
    int rc;

    MPI_Info_create(&info);
    MPI_Info_set(info, "weft_channel", "true");
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    CHECK(MPI_Comm_idup_with_info(MPI_COMM_WORLD, info, &c, &r) ==
          MPI_SUCCESS);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    CHECK(!is_channel(c));
    check_talks(c);
    MPI_Comm_free(&c);
    CHECK(MPI_Comm_create_from_group(world, "channel", info,
                                     MPI_ERRORS_RETURN, &c) == MPI_SUCCESS);
    CHECK(!is_channel(c));
    check_talks(c);
    MPI_Comm_free(&c);
    MPI_Info_set(info, "weft_channel_rate", "-1");
    rc = MPI_Comm_idup_with_info(MPI_COMM_WORLD, info, &c, &r);
    CHECK(class_of(rc) == MPI_ERR_INFO_VALUE && c == MPI_COMM_NULL);
    MPI_Group_free(&world);
    MPI_Info_free(&info);
}

static void check_refused(const char *key, const char *value,
                          const char *remedy, int set)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    MPI_Comm c;
    MPI_Info info;
    int n, rc;

    MPI_Info_create(&info);
    MPI_Info_set(info, key, value);
    rc = set ? MPI_Comm_set_info(MPI_COMM_WORLD, info)
             : MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &c);
    MPI_Error_string(rc, text, &n);
    CHECK(class_of(rc) == MPI_ERR_INFO_VALUE);
    if (!strstr(text, key) || !strstr(text, value) || !strstr(text, remedy)) {
        fprintf(stderr, "the text is: %s\n", text);
        job_failures++;
    }
    MPI_Info_free(&info);
}

/* One member has a wrong value: the others do not wait for it. */
static void check_one_wrong(void)
{
    int last = rank_in(MPI_COMM_WORLD) == size_of(MPI_COMM_WORLD) - 1;
    MPI_Comm c = MPI_COMM_NULL;
    int rc = dup_with_keys(MPI_COMM_WORLD, last ? "maybe" : "true", NULL, NULL,
                           &c);

    CHECK(class_of(rc) == (last ? MPI_ERR_INFO_VALUE : MPI_ERR_NOT_SAME));
    CHECK(c == MPI_COMM_NULL);
}

int main(int argc, char **argv)
{
    job_begin(&argc, &argv);
    check_in_force();
    check_absent();
    check_too_much();
    check_different();
    check_others();
    for (int set = 0; set < 2; set++) {
        check_refused("weft_channel", "maybe", "true or false", set);
        check_refused("weft_channel_bytes", "many", "largest message", set);
        check_refused("weft_channel_rate", "0", "at least 1", set);
        check_refused("weft_channel_rate", "fast", "starts per second", set);
    }
    check_one_wrong();
    check_in_force();
    return job_end();
}
