/* Submissions to a section (core/lock/critical.h, the granularity lock-free):
 * submitters that do not wait, others that enter by ticket, on processors with
 * store buffers. core/os/mutex.h has the tickets, tests/unit/mutex_model.c the
 * bias, which nobody who submits meets: he holds a ticket and waits for the
 * owner's exit.
 *
 * A thread's plain store waits in its buffer until any later step takes it to
 * memory; its own loads see it. Of those there is one, the ticket that is passed
 * on; locked instructions and full fences empty the buffer.
 *
 * CLAIMS  One thread is inside at a time. When all have gone nothing that was
 * submitted is left.
 *
 * -DNO_LOOK   who leaves does not look: the second claim fails
 * -DNO_TRY    the submitter does not try to enter: the same
 * -DNO_FENCE  no fence between the ticket that is passed on and the look: the same
 * -DGIVE_BACK somebody takes a ticket, finds that he may not enter, and passes it
 *             on without a look, as wf_mutex_try does: the same
 * -DREACH     all can come to their end: fails when they do
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define SUBMITTERS 2
#define ENTERERS   1
#ifdef GIVE_BACK
#define VISITORS   1
#else
#define VISITORS   0
#endif
#define ALL        (SUBMITTERS + ENTERERS + VISITORS)

byte next, serving;   /* tickets: memory */
bool waits[ALL];      /* a store of serving, in the buffer */
byte stored[ALL];
byte queue;           /* submissions, a bit each */
byte inside, ended;

inline flush()
{
    if
    :: waits[me] -> serving = stored[me]; waits[me] = false
    :: else
    fi
}

inline load_serving(to)
{
    atomic {
        if
        :: waits[me] -> to = stored[me]
        :: else -> to = serving
        fi
    }
}

inline be_inside()
{
    inside++;
    assert(inside == 1);
    atomic { flush(); queue = 0 } /* all are run */
    inside--
}

inline pass()
{
    atomic { stored[me] = ticket + 1; waits[me] = true };
#ifndef NO_FENCE
    atomic { flush() }
#endif
}

inline end()
{
    atomic {
        flush(); /* in the end every store comes to memory */
        ended++;
        assert(ended < ALL || queue == 0);
#ifdef REACH
        assert(ended < ALL)
#endif
    }
}

/* wf_cs_try_run_submitted */
inline come_back()
{
    do
    :: atomic { flush() };
       load_serving(ticket);
       atomic {
           flush();
           if
           :: next == ticket -> next++; mine = true
           :: else -> mine = false
           fi
       };
       if
       :: !mine -> break
       :: else -> be_inside(); pass()
       fi;
       if
       :: queue == 0 -> break
       :: else
       fi
    od
}

proctype Submitter(byte me)
{
    byte ticket;
    bool mine;

    atomic { flush(); queue = queue | (1 << me) };
#ifndef NO_TRY
    come_back();
#endif
    end()
}

proctype Enterer(byte me)
{
    byte ticket, turn;
    bool mine;

    atomic { flush(); ticket = next; next++ };
    do
    :: load_serving(turn);
       if
       :: turn == ticket -> break
       :: else
       fi
    od;
    be_inside();
    pass();
#ifndef NO_LOOK
    if
    :: queue == 0
    :: else -> come_back()
    fi;
#endif
    end()
}

proctype Visitor(byte me)
{
    byte ticket;
    bool mine;

    load_serving(ticket);
    atomic {
        flush();
        if
        :: next == ticket -> next++; mine = true
        :: else -> mine = false
        fi
    };
    if
    :: mine -> pass()
    :: else
    fi;
    end()
}

active proctype Buffers()
{
    byte i;

    do
    :: atomic { ended == ALL -> break }
    :: atomic {
           select (i : 0 .. ALL - 1);
           if
           :: waits[i] -> serving = stored[i]; waits[i] = false
           :: else
           fi
       }
    od
}

init
{
    byte i;

    atomic {
        for (i : 0 .. SUBMITTERS - 1) {
            run Submitter(i)
        }
        for (i : SUBMITTERS .. SUBMITTERS + ENTERERS - 1) {
            run Enterer(i)
        }
#ifdef GIVE_BACK
        run Visitor(ALL - 1)
#endif
    }
}
