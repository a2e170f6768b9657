/* udp-reliable's link between two processes: call, transfer, parting, over a
 * network that loses, doubles and reorders.
 *
 * THE NETWORK is a set: what was said once may be heard any number of times, in
 * any order, or never. Who says something again adds nothing to it.
 *
 * dialler   HELLO, PROOF -> open: UNITS of data, the last of them the goodbye;
 *           turned away, it begins again with another id
 * listener  ANSWER, ACCEPT -> open; may forget a caller, may take data late
 *
 * CLAIMS  No attempt is ended by an answer to an earlier one. Data is delivered
 * in order, once. Who leaves has been heard to the end, and the other one does
 * not take him for dead.
 *
 * -DKEEP_ID      the dialler begins again with the same id: the first claim
 *                fails
 * -DJUDGE_EARLY  the listener judges that the dialler is gone before everything
 *                was delivered: the last claim fails
 * -DREACH        the end can be reached: fails when it is
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define ATTEMPTS 3
#define LINKS    3
#define UNITS    3 /* the last is the goodbye */
#define WINDOW   2

#define AT(n, l) ((n) * (LINKS + 1) + (l))

#ifdef KEEP_ID
#define SAME(m, n) true
#else
#define SAME(m, n) ((m) == (n))
#endif

/* the network: by attempt (what the dialler's key was for) and link */
bool hello[ATTEMPTS + 1];
bool answer[16], proof[16], accept[16], reset[16];
bool data[16];     /* by link and unit */
bool ack[20];      /* by link and next unit */

mtype = { idle, called, proving, up, left, broken };
mtype dialler = idle, listener = idle;

byte attempt = 1; /* of the dialler */
byte his_link;    /* that the answer named */
byte una;         /* units acknowledged */
byte sent;        /* units sent once */

byte caller, link, links; /* of the listener: whom, by which id, ids used */
byte whole;               /* units that are here */
byte next;                /* units delivered */

#define DATA(l, u) data[(l) * (UNITS + 1) + (u)]
#define ACK(l, u)  ack[(l) * (UNITS + 2) + (u)]

active proctype Dialler()
{
    byte m, l, u;

end:
    do
    :: dialler == idle -> atomic { hello[attempt] = true; dialler = called }

    :: dialler == called -> /* hear an ANSWER to any attempt */
       atomic {
           select (m : 1 .. ATTEMPTS); select (l : 1 .. LINKS);
           if
           :: answer[AT(m, l)] && SAME(m, attempt) ->
              assert(m == attempt); /* else: the wrong key, and the end */
              his_link = l; proof[AT(attempt, l)] = true; dialler = proving
           :: else -> skip
           fi
       }

    :: dialler == proving ->
       atomic {
           if
           :: accept[AT(attempt, his_link)] -> dialler = up
           :: reset[AT(attempt, his_link)] && attempt < ATTEMPTS ->
              attempt++; dialler = idle
           :: else -> skip
           fi
       }

    :: dialler == up && sent < UNITS && sent < una + WINDOW ->
       atomic { sent++; DATA(his_link, sent) = true }

    :: dialler == up ->
       atomic {
           select (u : 1 .. UNITS);
           if
           :: ACK(his_link, u) && u > una -> assert(u <= sent); una = u
           :: else -> skip
           fi
       }

    :: dialler == up && una == UNITS -> /* everything was acknowledged */
       atomic { assert(whole == UNITS); dialler = left }
    od
}

active proctype Listener()
{
    byte m, l;

end:
    do
    :: listener == idle && links < LINKS -> /* any HELLO, also an old one */
       atomic {
           select (m : 1 .. ATTEMPTS);
           if
           :: hello[m] ->
              links++; link = links; caller = m;
              answer[AT(m, link)] = true; listener = called
           :: else -> skip
           fi
       }

    :: listener == called -> listener = idle /* nobody proves it: forget */

    :: atomic { /* any PROOF */
           select (m : 1 .. ATTEMPTS); select (l : 1 .. LINKS);
           if
           :: !proof[AT(m, l)] -> skip
           :: else ->
              if
              :: listener == called && l == link && m == caller ->
                 accept[AT(m, l)] = true; listener = up
              :: listener == up && l == link -> accept[AT(m, l)] = true
              :: listener != broken && l != link -> reset[AT(m, l)] = true
              :: listener == idle -> reset[AT(m, l)] = true
              :: else -> skip
              fi
           fi
       }

    :: listener == up && whole < UNITS && DATA(link, whole + 1) ->
       whole++

    :: listener == up -> ACK(link, whole) = true

    :: listener == up && next < whole -> /* the core takes it, at last */
       atomic { assert(DATA(link, next + 1)); next++ }

    :: listener == up && dialler == left -> /* nobody receives there */
       atomic {
           if
#ifndef JUDGE_EARLY
           :: next < whole -> skip /* judged when everything was read */
#endif
           :: else ->
              if
              :: next == UNITS -> listener = left /* he said goodbye */
              :: else -> listener = broken; assert(false)
              fi
           fi
       }
    od
}

#ifdef REACH
active proctype End()
{
    dialler == left && listener == left -> assert(false)
}
#endif
