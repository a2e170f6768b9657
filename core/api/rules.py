"""What the tables of the standard do not say, as data: which functions may be
called when, which arguments are optional, which arrays have which length.
Families are named as in wf_mpi_<family>.
SPDX-License-Identifier: BSD-3-Clause
"""

# May be called before MPI_Init and after MPI_Finalize (MPI-5.0 s11.4.1,
# s11.6): the instance may be absent.
EARLY = set("""
info_create info_create_env info_set info_delete info_get info_get_valuelen
info_get_string info_get_nkeys info_get_nthkey info_dup info_free
error_class error_string
add_error_class add_error_code add_error_string
remove_error_class remove_error_code remove_error_string
comm_create_errhandler file_create_errhandler session_create_errhandler
win_create_errhandler errhandler_free
session_init abi_get_info abi_get_version abi_get_fortran_info
abi_set_fortran_info abi_get_fortran_booleans abi_set_fortran_booleans
get_library_version get_version initialized finalized pcontrol
""".split())

INITIAL = {"init", "init_thread"}
# Run outside the API section: they make the instance or end it.
OUTSIDE = INITIAL | {"finalize", "session_init", "session_finalize"} | {
    # enter the sections of all engines, or end registrations, which does so
    "t_event_handle_alloc", "t_event_handle_free", "t_finalize"}

# One-sided calls whose core functions enter the section themselves, if they
# need it: core/rma/open.h.
ONE_SIDED = set("""
put get accumulate get_accumulate fetch_and_op compare_and_swap
rput rget raccumulate rget_accumulate
win_flush win_flush_all win_flush_local win_flush_local_all
win_lock win_unlock win_lock_all win_unlock_all
""".split())

# Of these, the ones that try the usual call before all checks
# (core/rma/fastpath.h), with these arguments.
ONE_SIDED_SHORT = {
    **{family: "win, &(struct wf_rma_usual){origin_addr, origin_count, "
               "origin_datatype, target_rank, target_disp, target_count, "
               "target_datatype}" + more
       for family, more in (("put", ""), ("get", ""), ("accumulate", ", op"))},
    **{family: "win, &(struct wf_rma_single){origin_addr, result_addr, datatype, "
               "target_rank, target_disp}, " + more
       for family, more in (("fetch_and_op", "op"),
                            ("compare_and_swap", "compare_addr"))},
    "win_flush": "win, rank",
    "win_lock": "win, lock_type, rank, assert",
    "win_unlock": "win, rank",
    "win_lock_all": "win, assert",
    "win_unlock_all": "win",
}

# Short-message paths: the section is entered inline.
HOT = set("""
send recv isend irecv sendrecv wait test waitall waitany testall testany
iprobe start pready
""".split())

# They find their instance, communicator, type and window inline; all others do that
# out of line. The last row is what libraries call in each call of their own.
APART = HOT | set("""
barrier bcast gather scatter allgather alltoall reduce allreduce reduce_local scan
exscan reduce_scatter reduce_scatter_block neighbor_allgather
neighbor_alltoall pack unpack send_init recv_init
win_fence win_post win_start win_complete win_wait
comm_group group_free comm_get_attr comm_set_attr type_get_attr win_get_attr
""".split())

# Their core functions enter the engine themselves (section engine), where the
# build's granularity is finer than the call: core/lock/critical.h.
BRIEF = set("""
send recv isend irecv sendrecv wait test waitall waitany testall testany
""".split())

# Cannot fail, and read only what does not change while their objects exist,
# which the caller keeps alive: they need no section, and find what they need
# inline.
FIXED = set("""
comm_rank comm_size comm_test_inter group_rank group_size
type_size type_size_x type_get_extent type_get_extent_x
type_get_true_extent type_get_true_extent_x
get_count get_elements get_elements_x
""".split())

# Of these, the ones that are called so often that the errors stay out of the way.
QUERIES = set("""
comm_rank comm_size group_rank group_size type_size get_count
""".split())

# Families that can wait for another process, be it for its address on the first
# message to it: their bindings leave the name of the function where a thread
# that goes to sleep finds it (core/report/state.h). The test functions are not
# among them: they never wait, and name themselves when they have asked in vain.
NAMED = set("""
init init_thread finalize session_init session_finalize
send ssend rsend bsend isend issend irsend ibsend recv irecv
sendrecv sendrecv_replace isendrecv isendrecv_replace
probe mprobe iprobe improbe mrecv imrecv
wait waitall waitany waitsome start startall
send_init ssend_init rsend_init bsend_init recv_init
psend_init precv_init pready pready_list pready_range
buffer_detach buffer_flush comm_detach_buffer comm_flush_buffer
session_detach_buffer session_flush_buffer
comm_accept comm_connect comm_join
comm_create comm_create_from_group comm_create_group comm_disconnect comm_dup
comm_spawn comm_spawn_multiple
comm_dup_with_info comm_free comm_idup comm_idup_with_info comm_split
comm_split_type comm_set_info
intercomm_create intercomm_create_from_groups intercomm_merge
cart_create cart_map cart_sub graph_create graph_map dist_graph_create
dist_graph_create_adjacent
win_create win_allocate win_allocate_shared win_create_dynamic win_free
put get accumulate get_accumulate fetch_and_op compare_and_swap
rput rget raccumulate rget_accumulate
win_fence win_post win_start win_complete win_wait
win_lock win_lock_all win_unlock win_unlock_all
win_flush win_flush_all win_flush_local win_flush_local_all
file_open file_close file_set_size file_preallocate file_set_view file_set_info
file_set_atomicity
""".split()) | {f"{i}{name}{init}" for i, init in (("", ""), ("i", ""), ("", "_init"))
                for name in """
allgather allgatherv allreduce alltoall alltoallv alltoallw barrier bcast exscan
gather gatherv reduce reduce_scatter reduce_scatter_block scan scatter scatterv
neighbor_allgather neighbor_allgatherv neighbor_alltoall neighbor_alltoallv
neighbor_alltoallw
""".split()}

# Take requests that may be of several engines (core/progress/engines.h).
SEVERAL = set("""
waitall waitany waitsome testall testany testsome startall
request_get_status_all request_get_status_any request_get_status_some
""".split())

# A shorter way for the usual call, tried before all checks: the arguments of
# the question and of the answer, if they are two (core/protocol/fastpath.h).
SHORT = {
    "send": ("{comm}, buf, count, datatype, dest, tag", "buf, dest, tag, {flags}"),
    "isend": ("{comm}, buf, count, datatype, dest, tag",
              "buf, dest, tag, {flags}, request"),
    "recv": ("{comm}, buf, count, datatype, source, tag, status, &rc", None),
    "irecv": ("{comm}, buf, count, datatype, source, tag, request, &rc", None),
    "wait": ("request, status, &rc", None),
}

# Of these, the ones that are over at once where the destination is nobody.
NOWHERE = {"send", "isend"}

# Of these, the ones that poll for a communicator's message.
POLLING = {"recv"}

# Receives and probes that accept MPI_ANY_SOURCE and MPI_ANY_TAG.
WILDCARD = set("""
recv irecv recv_init probe iprobe mprobe improbe
sendrecv sendrecv_replace isendrecv isendrecv_replace
""".split())

# MPI_INFO_NULL is no argument for functions about the info object itself.
INFO_NEEDED = set("""
info_set info_delete info_get info_get_valuelen info_get_string
info_get_nkeys info_get_nthkey info_dup abi_set_fortran_info
""".split())

# MPI_REQUEST_NULL is no argument: MPI-5.0 s3.7.3 (free), s3.8.4 (cancel),
# s3.9 (start), s13.2 (generalized).
REQUEST_NEEDED = set("""
request_free cancel start grequest_complete parrived pready pready_list
pready_range
""".split())

# Handles passed by pointer and read: direction "inout", and these.
READ_HANDLES = {("cancel", "request")}

# The handler for what the call makes is the one for its errors, too (MPI-5.0
# s7.4.2, s11.3.1).
OWN_HANDLER = {"session_init", "comm_create_from_group",
               "intercomm_create_from_groups"}

# The null handle is an argument like any other: it has a name (MPI-5.0 s7.8).
NULL_NAMED = {"comm_get_name": "MPI_COMM_NULL",
              "type_get_name": "MPI_DATATYPE_NULL",
              "win_get_name": "MPI_WIN_NULL",
              # the handler for errors of calls without a file (s14.7)
              "file_set_errhandler": "MPI_FILE_NULL",
              "file_get_errhandler": "MPI_FILE_NULL",
              "file_call_errhandler": "MPI_FILE_NULL"}

# Of the chapter on files, but not about one.
NO_FILE = {"file_create_errhandler"}

# Collective calls that agree on an outcome (core/io/vote.h) on so many words that
# must be equal in all processes: one with a wrong argument takes part, so that the
# others learn of its error instead of waiting for it.
FILE_AGREED = {"file_open": 2, "file_set_view": 2, "file_set_info": 0}

# A predefined type that the Fortran compiler does not have is an argument of
# the functions that say so (MPI-5.0 s21.4).
ABSENT_TYPES = {"type_size", "type_size_x"}

# The only buffers that may be MPI_IN_PLACE (MPI-5.0 s6.2.3), by operation.
IN_PLACE = dict.fromkeys("""
allgather allgatherv alltoall alltoallv alltoallw allreduce reduce_scatter
reduce_scatter_block scan exscan gather gatherv reduce
""".split(), "sendbuf") | {"scatter": "recvbuf", "scatterv": "recvbuf"}

# Arguments that MPI does not read unless a condition holds (MPI-5.0 s12.3.4).
IGNORED = dict.fromkeys(
    ("get_accumulate", "rget_accumulate"),
    ("op != MPI_NO_OP", {"origin_addr", "origin_count", "origin_datatype"}))

# Rooted collectives: arguments of the processes that are not the root.
ROOTED = {
    "bcast": [],
    "gather": ["sendbuf", "sendcount", "sendtype"],
    "gatherv": ["sendbuf", "sendcount", "sendtype"],
    "scatter": ["recvbuf", "recvcount", "recvtype"],
    "scatterv": ["recvbuf", "recvcount", "recvtype"],
    "reduce": ["sendbuf"],
}

# Collectives whose count arrays have an entry per rank that can be addressed.
PER_RANK = {"gatherv", "scatterv", "allgatherv", "alltoallv", "alltoallw"}

# Lengths of arrays that are not the nearest length before them; None: the
# length is known only to the core function.
LENGTHS = {
    ("type_get_contents", "array_of_integers"): "max_integers",
    ("type_get_contents", "array_of_addresses"): "max_addresses",
    ("type_get_contents", "array_of_datatypes"): "max_datatypes",
    ("type_get_contents_c", "array_of_integers"): "max_integers",
    ("type_get_contents_c", "array_of_addresses"): "max_addresses",
    ("type_get_contents_c", "array_of_large_counts"): "max_large_counts",
    ("type_get_contents_c", "array_of_datatypes"): "max_datatypes",
    ("comm_spawn_multiple", "array_of_errcodes"): None,
    ("dist_graph_create", "destinations"): None,
    ("graph_create", "edges"): None,
    ("graph_map", "edges"): None,
    ("cart_rank", "coords"): "wf_api_ndims(comm_p)",
    ("cart_sub", "remain_dims"): "wf_api_ndims(comm_p)",
    ("graph_get", "indx"): "maxindex",
    ("graph_get", "edges"): "maxedges",
}

# An int function whose result does not fit answers MPI_UNDEFINED (MPI-5.0
# s3.2.5, s3.6, s5.1.5 to s5.1.8); all others fail: MPI_ERR_VALUE_TOO_LARGE.
UNDEFINED_IF_LARGE = set("""
get_count get_elements type_size type_get_extent type_get_true_extent
buffer_detach comm_detach_buffer session_detach_buffer
""".split())

# Constructors whose envelope differs for the large-count form (MPI-5.0
# s5.1.13): the core function reads wf_call_now.large.
LARGE_CALLS = set("""
type_contiguous type_vector type_create_hvector type_indexed
type_create_hindexed type_create_indexed_block type_create_hindexed_block
type_create_struct type_create_subarray type_create_darray type_create_resized
""".split())

# (family, pointer): may be NULL when this holds.
NULLABLE = {("info_get_string", "value"): "*buflen == 0",
            ("session_get_nth_pset", "pset_name"): "*pset_len == 0",
            # MPI_ERRCODES_IGNORE
            ("comm_spawn", "array_of_errcodes"): "1",
            ("comm_spawn_multiple", "array_of_errcodes"): "1"}

# A user function that must not be NULL.
FUNCTION_NEEDED = {"op_create", "comm_create_errhandler",
                   "file_create_errhandler", "win_create_errhandler",
                   "session_create_errhandler"}

# Conversions between handles and integers, by kind of object. (Of windows and
# files there are predefined handles, at least.)
INTEGER_HANDLES = {
    "comm": "MPI_Comm", "errhandler": "MPI_Errhandler", "file": "MPI_File",
    "group": "MPI_Group", "info": "MPI_Info", "message": "MPI_Message",
    "op": "MPI_Op", "request": "MPI_Request", "session": "MPI_Session",
    "type": "MPI_Datatype", "win": "MPI_Win",
}


def operation(family):
    """The collective operation of a family: igather_init -> gather."""
    name = family.removesuffix("_init")
    if name.startswith("i") and name[1:] in (ROOTED | IN_PLACE):
        name = name[1:]
    return name
