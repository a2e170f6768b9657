# sctp over the kernel: where it has SCTP, and everywhere over a fake.

# Where there is none the test says so.
foreach(name p2p_order p2p_window p2p_threads)
  add_test(NAME job_${name}_n4_kernel_sctp
    COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/need_sctp.py
            ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/run_job.py
            ${CMAKE_BINARY_DIR}/bin/mpirun -n 4 --timeout 240 --route sctp
            --set transport.sctp.stack=kernel $<TARGET_FILE:job_${name}>)
  set_tests_properties(job_${name}_n4_kernel_sctp PROPERTIES TIMEOUT 300
    SKIP_RETURN_CODE 77 ENVIRONMENT "${impossible_sizes}")
endforeach()

# before: the environment in which the kernel is a fake.
function(weft_fake_sctp suffix name before)
  weft_job_run(${suffix} ${name} 4 --route sctp
    --set transport.sctp.stack=${ARGN})
  set_property(TEST job_${name}_n4_${suffix} APPEND PROPERTY ENVIRONMENT
    ${before})
endfunction()

# A sanitizer wants to be loaded first itself.
set(sanitizer)
if(WEFT_SANITIZE)
  string(REGEX MATCH "address|thread|undefined" sanitizer "${WEFT_SANITIZE}")
  string(SUBSTRING ${sanitizer} 0 1 sanitizer) # asan, tsan, ubsan
  string(REPLACE "u" "ub" sanitizer ${sanitizer})
  execute_process(OUTPUT_VARIABLE sanitizer OUTPUT_STRIP_TRAILING_WHITESPACE
    COMMAND ${CMAKE_C_COMPILER} -print-file-name=lib${sanitizer}san.so)
  string(APPEND sanitizer ":")
endif()
add_library(fake_sctp MODULE ${CMAKE_SOURCE_DIR}/tests/fake/fake_sctp.c)
target_compile_options(fake_sctp PRIVATE -Wall -Wextra)
set(fake JOB_PRELOAD=${sanitizer}$<TARGET_FILE:fake_sctp>)
weft_fake_sctp(fake_kernel p2p_order "${fake}" kernel)
weft_fake_sctp(fake_kernel p2p_window "${fake}" kernel)
weft_fake_sctp(fake_pieces p2p_order "${fake};FAKE_SCTP_PIECES=3000" kernel
  --set transport.sctp.associations=4)
weft_fake_sctp(fake_poor p2p_order "${fake};FAKE_SCTP_POOR=7" kernel)
weft_fake_sctp(fake_poor p2p_window "${fake};FAKE_SCTP_POOR=3" kernel)
weft_fake_sctp(fake_mute p2p_order "${fake};FAKE_SCTP_MUTE=1" auto)
