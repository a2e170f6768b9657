/* A job of two ranks in which one allocation or descriptor of a rank fails.
 *
 *   sweep_job PHASE RANK memory|files N once|forever fatal|return [alone]
 *
 * PHASE is init, finalize, session, or one of sweep_p2p.c, sweep_coll.c,
 * sweep_comm.c and sweep_objects.c; the failure happens in it. N 0 counts the
 * calls instead: the rank prints "sweep: K calls" on standard output. With
 * "return" errors are returned, also those of MPI_Init, and what can be tried
 * again is. A rank that got an error leaves it to the one that lacked something
 * to end the job by MPI_Abort; with "alone" each ends for itself, and the other
 * must notice.
 *
 * Status: 0 all went well, SWEEP_ENDED an error was returned, SWEEP_WRONG.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "sweep_job.h"

#include <signal.h>
#include <unistd.h>

struct inject sweep_plan;
_Thread_local int sweep_rank, sweep_victim, sweep_cut_off;
static int returns, alone;
static _Thread_local int secondary; /* the error told that another has failed */
static _Thread_local int inside; /* between MPI_Init and MPI_Finalize */

_Noreturn void sweep_end(int status)
{
    inject_spare(1);
    if (status == SWEEP_WRONG && inject_fired())
        inject_trace();
    /* the one that lacked something ends the job, and says why */
    while (status == SWEEP_ENDED && (!sweep_victim || secondary) &&
           !sweep_cut_off && !alone)
        pause();
    if (inside && !alone)
        MPI_Abort(MPI_COMM_WORLD, status);
    exit(status);
}

/* "MPI_Send" of "MPI_Send(buf, ...)". */
static int name_length(const char *call)
{
    return (int)strcspn(call, "(");
}

static const char *class_name(int class)
{
    static const struct {
        int class;
        const char *name;
    } names[] = {
        {MPI_ERR_NO_MEM, "MPI_ERR_NO_MEM"},
        {MPI_ERR_OTHER, "MPI_ERR_OTHER"},
        {MPI_ERR_PROC_ABORTED, "MPI_ERR_PROC_ABORTED"},
        {MPI_ERR_INTERN, "MPI_ERR_INTERN"},
        {MPI_ERR_COUNT, "MPI_ERR_COUNT"},
        {MPI_ERR_NOT_SAME, "MPI_ERR_NOT_SAME"},
        {MPI_ERR_IN_STATUS, "MPI_ERR_IN_STATUS"},
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].class == class)
            return names[i].name;
    return "another class";
}

int sweep_failed(const char *call, int rc, int attempt)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int n, class = -1;
    inject_spare(1);
    MPI_Error_class(rc, &class);
    MPI_Error_string(rc, text, &n);
    fprintf(stderr, "sweep: rank %d: attempt %d: %.*s: %s (%d): %s\n",
            sweep_rank, attempt, name_length(call), call, class_name(class),
            class, text);
    inject_spare(0);
    sweep_cut_off = strstr(text, "cannot be reached") != NULL ||
                    strstr(text, "refused the call") != NULL ||
                    strstr(text, "turned away") != NULL;
    secondary = class == MPI_ERR_NOT_SAME || class == MPI_ERR_COUNT;
    return attempt == 1 && sweep_victim && inject_fired() &&
           !sweep_plan.forever;
}

void sweep_fill(char *buf, int n, int rank, int tag)
{
    for (int i = 0; i < n; i++)
        buf[i] = (char)(i * 7 + rank * 31 + tag * 13);
}

void sweep_check(const char *buf, int n, int rank, int tag)
{
    for (int i = 0; i < n; i++)
        if (buf[i] != (char)(i * 7 + rank * 31 + tag * 13)) {
            fprintf(stderr, "sweep: byte %d of %d from %d, tag %d is wrong\n",
                    i, n, rank, tag);
            sweep_end(SWEEP_WRONG);
        }
}

char *sweep_memory(int n)
{
    inject_spare(1);
    char *p = calloc(1, (size_t)n);
    inject_spare(0);
    return p;
}

/* ---- phases of the start and the end ------------------------------------- */

static void arm_injector(void)
{
    if (sweep_victim)
        inject_arm(&sweep_plan);
}

static void disarm_injector(void)
{
    if (!sweep_victim)
        return;
    long n = inject_disarm();
    if (!sweep_plan.nth)
        printf("sweep: %ld calls\n", n);
}

static void check_initialize(int armed)
{
    if (armed)
        arm_injector();
    RETRY(MPI_Init(NULL, NULL));
    inside = 1;
    if (armed)
        disarm_injector();
    MPI_Comm_rank(MPI_COMM_WORLD, &sweep_rank);
    if (returns)
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (returns)
        MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
}

static void finalize_case(int armed)
{
    if (armed)
        arm_injector();
    int rc = MPI_Finalize();
    inside = 0;
    if (rc != MPI_SUCCESS) {
        sweep_failed("MPI_Finalize", rc, 1);
        sweep_end(SWEEP_ENDED);
    }
    if (armed)
        disarm_injector();
}

static void talk_to_peers(void)
{
    int sum = -1;
    ONCE(MPI_Allreduce(&sweep_rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    RIGHT(sum == 1);
}

/* All there is of a session, and nothing of the world. */
static void session_only(void)
{
    MPI_Session s;
    MPI_Group g;
    MPI_Comm c;
    int sum = -1;
    MPI_Errhandler h = returns ? MPI_ERRORS_RETURN : MPI_ERRORS_ARE_FATAL;
    arm_injector();
    RETRY(MPI_Session_init(MPI_INFO_NULL, h, &s));
    RETRY(MPI_Group_from_session_pset(s, "mpi://WORLD", &g));
    MPI_Group_rank(g, &sweep_rank);
    ONCE(MPI_Comm_create_from_group(g, "weft://sweep", MPI_INFO_NULL, h, &c));
    ONCE(MPI_Allreduce(&sweep_rank, &sum, 1, MPI_INT, MPI_SUM, c));
    RIGHT(sum == 1);
    ONCE(MPI_Comm_free(&c));
    ONCE(MPI_Group_free(&g));
    ONCE(MPI_Session_finalize(&s));
    disarm_injector();
}

/* ---- the program --------------------------------------------------------- */

static const struct sweep_phase *find_item(const char *name)
{
    const struct sweep_phase *const all[] = {sweep_p2p, sweep_coll, sweep_comm,
                                             sweep_objects};
    for (int i = 0; i < 4; i++)
        for (const struct sweep_phase *p = all[i]; p->name; p++)
            if (!strcmp(p->name, name))
                return p;
    fprintf(stderr, "sweep: no phase is called %s\n", name);
    exit(2);
}

static void make_world(const char *name)
{
    int start = !strcmp(name, "init"), end = !strcmp(name, "finalize");
    const struct sweep_phase *p = start || end ? NULL : find_item(name);
    check_initialize(start);
    if (!p || !p->cold)
        talk_to_peers();
    if (p) {
        arm_injector();
        p->run();
        disarm_injector();
        talk_to_peers();
    }
    finalize_case(end);
}

int main(int argc, char **argv)
{
    const char *rank = getenv("PMI_RANK");
    if (argc < 7 || argc > 8) {
        fprintf(stderr, "usage: sweep_job PHASE RANK memory|files N "
                        "once|forever fatal|return [alone]\n");
        return 2;
    }
    if (!rank)
        rank = getenv("WEFT_RANK");
    sweep_rank = rank ? atoi(rank) : 0;
    sweep_victim = sweep_rank == atoi(argv[2]);
    sweep_plan = (struct inject){
        .kind = strcmp(argv[3], "files") ? INJECT_MEMORY : INJECT_FILES,
        .nth = atol(argv[4]),
        .forever = !strcmp(argv[5], "forever")};
    returns = !strcmp(argv[6], "return");
    alone = argc == 8;
    if (returns)
        setenv("WEFT_INITIAL_ERRHANDLER", "mpi_errors_return", 1);
    if (!strcmp(argv[1], "session"))
        session_only();
    else
        make_world(argv[1]);
    return 0;
}
