/* Tasks that one engine gives another (core/progress/engines.c): a queue under
 * a section, and a word beside it that is read without.
 * CLAIM  A posted task is run once, after what its poster wrote, or not at all
 * if it was called off; an engine that slept is not left asleep.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "machine.h"

enum { WF_ENGINES_MAX = 1 };
//@ core/progress/engines.h: wf_engine_task{posted} wf_engine_tasks

struct wf_engines {
    struct wf_engine_tasks tasks[WF_ENGINES_MAX];
    rl::mutex section;
};
struct wf_instance {
    struct wf_engines *engines;
    unsigned number;
    wf_atomic_u32 bell;
};
#define wf_engines(wf) ((wf)->engines)
#define WF_SECTION(name, all)                                                  \
    for (bool once = ((all)->section.lock($), true); once;                     \
         once = ((all)->section.unlock($), false))

/* A bell keeps its ring until somebody takes it. */
static void wf_progress_wake_leader(struct wf_instance *wf)
{
    wf->bell.exchange(1, rl::mo_acq_rel, $); /* the kernel has a lock */
    wf_futex_wake(&wf->bell);
}
//@ core/progress/engines.c: wf_engine_task_put wf_engine_task_cancel
//@ core/progress/engines.c: take_next_task wf_engine_tasks_run

enum { ENGINE, POSTER, CALLER };

struct tasks_run : rl::test_suite<tasks_run, 3> {
    struct job {
        struct wf_engine_task task; /* first */
        plain<int> message, times;
    };
    struct wf_engines engines;
    struct wf_instance wf;
    struct job posted, called_off;

    static void run(struct wf_engine_task *e)
    {
        struct job *j = (struct job *)e;
        RL_ASSERT(j->message == 1);
        j->times++;
    }

    void before()
    {
        struct wf_engine_tasks *q = &engines.tasks[0];
        q->last = &q->first;
        wf.engines = &engines;
        wf.number = 0;
        posted.task.run = called_off.task.run = run;
    }

    /* As a leader: tasks, sleep, tasks. */
    void poll_and_sleep()
    {
        while (wf_engine_tasks_run(&wf), posted.times == 0) {
            wf_futex_wait(&wf.bell, 0, NULL);
            wf.bell.exchange(0, rl::mo_acq_rel, $);
        }
    }

    void post(struct job *j)
    {
        j->message = 1;
        wf_engine_task_put(&wf, &j->task);
    }

    void thread(unsigned me)
    {
        if (me == ENGINE) {
            poll_and_sleep();
        } else if (me == POSTER) {
            post(&posted);
        } else {
            post(&called_off);
            /* it stands there once */
            wf_engine_task_put(&wf, &called_off.task);
            wf_engine_task_cancel(&wf, &called_off.task);
        }
    }

    void after()
    {
        RL_ASSERT(posted.times == 1);
        RL_ASSERT(called_off.times <= 2);
        RL_ASSERT(!engines.tasks[0].first);
        RL_ASSERT(engines.tasks[0].last == &engines.tasks[0].first);
    }
};

int main(int argc, char **argv)
{
    read_arguments(argc, argv);
    return !does_hold<tasks_run>();
}
