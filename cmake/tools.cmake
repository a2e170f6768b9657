# Programs, wrappers and install rules.
#
# The build tree is laid out like an installation (bin, lib, lib/weft, include),
# so that build/bin/mpicc and build/bin/mpirun can be used without installing.
include(CMakePackageConfigHelpers)
include(CheckFunctionExists)

option(WEFT_STATIC "link the programs statically; no plugins from files" OFF)
set(WEFT_LIBDIR "lib" CACHE STRING "library directory below the prefix")

set_target_properties(mpi mpi_abi PROPERTIES
  ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/${WEFT_LIBDIR}
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/${WEFT_LIBDIR})
execute_process(COMMAND ${CMAKE_COMMAND} -E create_symlink
  ${CMAKE_SOURCE_DIR}/include ${CMAKE_BINARY_DIR}/include)
# -lmpi is the shared library, and with -static the archive.
set(MPI_SO ${CMAKE_BINARY_DIR}/${WEFT_LIBDIR}/libmpi.so)
if(WEFT_STATIC)
  set_target_properties(mpi_abi PROPERTIES EXCLUDE_FROM_ALL TRUE)
  file(REMOVE ${MPI_SO})
else()
  add_custom_command(TARGET mpi_abi POST_BUILD COMMAND ${CMAKE_COMMAND} -E
    create_symlink libmpi_abi.so ${MPI_SO})
endif()

# A program of ours that uses the library, in DIR/bin or elsewhere.
function(weft_link_program name)
  target_link_libraries(${name} PRIVATE mpi)
  if(WEFT_STATIC)
    target_link_options(${name} PRIVATE -static -Wl,-u,weft_cipher)
  else()
    target_link_options(${name} PRIVATE -Wl,-u,weft_dl_loader,-u,weft_cipher)
    target_link_libraries(${name} PRIVATE ${CMAKE_DL_LIBS})
  endif()
endfunction()

# ---- mpirun ---------------------------------------------------------------
file(GLOB MPIRUN_SOURCES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tools/mpirun/*.c)
add_executable(mpirun ${MPIRUN_SOURCES} ${CMAKE_SOURCE_DIR}/core/boot/base64.c
  ${CMAKE_SOURCE_DIR}/core/boot/pmi_line.c ${CMAKE_SOURCE_DIR}/core/os/prefix.c
  ${CMAKE_SOURCE_DIR}/core/os/secret.c ${CMAKE_SOURCE_DIR}/core/os/hosts.c
  ${CMAKE_SOURCE_DIR}/core/os/hardware.c ${CMAKE_SOURCE_DIR}/core/route/pattern.c)
target_include_directories(mpirun PRIVATE ${CMAKE_SOURCE_DIR}/core
  ${CMAKE_SOURCE_DIR}/include)
target_compile_definitions(mpirun PRIVATE _GNU_SOURCE)
target_compile_options(mpirun PRIVATE ${WEFT_CFLAGS})
set_target_properties(mpirun PROPERTIES
  RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
# It starts fastest without a dynamic linker; sanitizers need one.
if(NOT WEFT_SANITIZE)
  target_link_options(mpirun PRIVATE -static)
endif()
foreach(name mpiexec weftrun)
  add_custom_command(TARGET mpirun POST_BUILD COMMAND ${CMAKE_COMMAND} -E
    create_symlink mpirun ${CMAKE_BINARY_DIR}/bin/${name})
endforeach()

# ---- main in each rank thread: mpicc -fthread-ranks -------------------------
set(THREAD_RANKS ${CMAKE_BINARY_DIR}/${WEFT_LIBDIR}/weft/thread_ranks.o)
add_library(thread_ranks OBJECT ${CMAKE_SOURCE_DIR}/tools/thread-ranks/main.c)
target_include_directories(thread_ranks PRIVATE ${CMAKE_SOURCE_DIR}/include)
target_compile_options(thread_ranks PRIVATE -Wall -Wextra)
add_custom_command(OUTPUT ${THREAD_RANKS} COMMAND ${CMAKE_COMMAND} -E copy
  $<TARGET_OBJECTS:thread_ranks> ${THREAD_RANKS}
  DEPENDS thread_ranks $<TARGET_OBJECTS:thread_ranks>)
add_custom_target(thread_ranks_object ALL DEPENDS ${THREAD_RANKS})

# A program of ours whose main may run in several threads.
function(weft_thread_program name)
  add_dependencies(${name} thread_ranks_object)
  target_link_options(${name} PRIVATE -Wl,--wrap=main)
  target_sources(${name} PRIVATE $<TARGET_OBJECTS:thread_ranks>)
endfunction()

# ---- weft-info ------------------------------------------------------------
file(GLOB INFO_SOURCES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tools/weft-info/*.c)
set(WEFT_PROGRAMS mpirun)
if(INFO_SOURCES)
  add_executable(weft-info ${INFO_SOURCES})
  target_include_directories(weft-info PRIVATE ${CMAKE_SOURCE_DIR}/core
    ${CMAKE_SOURCE_DIR}/include ${GENERATED})
  target_compile_options(weft-info PRIVATE ${WEFT_CFLAGS})
  target_link_libraries(weft-info PRIVATE m)
  set_target_properties(weft-info PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
  weft_link_program(weft-info)
  list(APPEND WEFT_PROGRAMS weft-info)
endif()

# ---- examples -------------------------------------------------------------
file(GLOB EXAMPLES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/examples/*.c)
set(EXAMPLE_TARGETS "")
foreach(source IN LISTS EXAMPLES)
  get_filename_component(name ${source} NAME_WE)
  add_executable(example_${name} ${source})
  set_target_properties(example_${name} PROPERTIES OUTPUT_NAME ${name}
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/examples)
  target_compile_options(example_${name} PRIVATE -Wall -Wextra)
  target_link_libraries(example_${name} PRIVATE m)
  weft_link_program(example_${name})
  list(APPEND EXAMPLE_TARGETS example_${name})
endforeach()

# ---- compiler wrappers ----------------------------------------------------
check_function_exists(dlopen DLOPEN_IN_LIBC)
set(WRAPPER_LIBS "")
if(NOT DLOPEN_IN_LIBC AND NOT WEFT_STATIC)
  set(WRAPPER_LIBS "-ldl")
endif()
set(WRAPPER_FLAGS "")
if(WEFT_SANITIZE) # a program must be linked as its library was compiled
  set(WRAPPER_FLAGS "-fsanitize=${WEFT_SANITIZE}")
endif()

# The name by which a user calls the compiler we were built with.
function(weft_wrapper name lang)
  set(WRAPPER_NAME ${name})
  if(lang STREQUAL CXX)
    set(WRAPPER_VAR CXX)
    get_filename_component(WRAPPER_COMPILER ${CMAKE_CXX_COMPILER} NAME)
  else()
    set(WRAPPER_VAR CC)
    get_filename_component(WRAPPER_COMPILER ${CMAKE_C_COMPILER} NAME)
  endif()
  configure_file(${CMAKE_SOURCE_DIR}/tools/mpicc.in
    ${CMAKE_BINARY_DIR}/bin/${name} @ONLY)
  execute_process(COMMAND chmod 755 ${CMAKE_BINARY_DIR}/bin/${name})
endfunction()
foreach(name mpicc mpicc_abi)
  weft_wrapper(${name} C)
endforeach()
foreach(name mpicxx mpicxx_abi mpic++ mpiCC)
  weft_wrapper(${name} CXX)
endforeach()

# ---- pkg-config and CMake -------------------------------------------------
file(RELATIVE_PATH WEFT_PREFIX_FROM_PC /p/${WEFT_LIBDIR}/pkgconfig /p)
file(RELATIVE_PATH WEFT_PREFIX_FROM_CMAKE /p/${WEFT_LIBDIR}/cmake/weft /p)
foreach(path PC CMAKE)
  string(REGEX REPLACE "/$" "" WEFT_PREFIX_FROM_${path}
    "${WEFT_PREFIX_FROM_${path}}")
endforeach()
set(PC_DIR ${CMAKE_BINARY_DIR}/${WEFT_LIBDIR}/pkgconfig)
set(PC_LIBS "-L\${libdir} -Wl,-rpath,\${libdir} -lmpi")
if(WEFT_STATIC)
  set(PC_LIBS "-Wl,-u,weft_dl_loader,-u,weft_cipher \${libdir}/libmpi.a")
endif()
foreach(name mpi mpi-c mpi-cxx)
  set(PC_NAME ${name})
  set(PC_DESCRIPTION "MPI 5.0 (Weft)")
  configure_file(cmake/mpi.pc.in ${PC_DIR}/${name}.pc @ONLY)
endforeach()
set(PC_NAME weft)
set(PC_LIBS "\${libdir}/libmpi.a")
set(PC_DESCRIPTION
  "MPI 5.0 (Weft) inside the program, with the built-in transports only")
configure_file(cmake/mpi.pc.in ${PC_DIR}/weft.pc @ONLY)
set(CONFIG_DIR ${CMAKE_BINARY_DIR}/${WEFT_LIBDIR}/cmake/weft)
configure_file(cmake/WeftConfig.cmake.in ${CONFIG_DIR}/WeftConfig.cmake @ONLY)
write_basic_package_version_file(${CONFIG_DIR}/WeftConfigVersion.cmake
  COMPATIBILITY SameMajorVersion)

# All but the tests: what is installed, and the examples.
add_custom_target(weft DEPENDS mpi ${WEFT_PROGRAMS} thread_ranks_object
  ${EXAMPLE_TARGETS})
if(NOT WEFT_STATIC)
  add_dependencies(weft mpi_abi)
  foreach(name IN LISTS WEFT_PLUGINS)
    add_dependencies(weft weft_${name})
  endforeach()
endif()

# ---- install --------------------------------------------------------------
install(TARGETS ${WEFT_PROGRAMS} RUNTIME DESTINATION bin)
install(PROGRAMS ${CMAKE_BINARY_DIR}/bin/mpicc ${CMAKE_BINARY_DIR}/bin/mpicc_abi
  ${CMAKE_BINARY_DIR}/bin/mpicxx ${CMAKE_BINARY_DIR}/bin/mpicxx_abi
  ${CMAKE_BINARY_DIR}/bin/mpic++ ${CMAKE_BINARY_DIR}/bin/mpiCC DESTINATION bin)
install(FILES ${CMAKE_BINARY_DIR}/bin/mpiexec ${CMAKE_BINARY_DIR}/bin/weftrun
  DESTINATION bin)
install(TARGETS mpi ARCHIVE DESTINATION ${WEFT_LIBDIR})
if(NOT WEFT_STATIC)
  install(TARGETS mpi_abi LIBRARY DESTINATION ${WEFT_LIBDIR})
  install(FILES ${MPI_SO} DESTINATION ${WEFT_LIBDIR})
  foreach(name IN LISTS WEFT_PLUGINS)
    install(TARGETS weft_${name} LIBRARY DESTINATION ${WEFT_LIBDIR}/weft)
  endforeach()
endif()
install(FILES include/mpi.h include/mpix.h include/weft_transport.h DESTINATION include)
install(FILES ${THREAD_RANKS} DESTINATION ${WEFT_LIBDIR}/weft)
install(DIRECTORY ${PC_DIR} DESTINATION ${WEFT_LIBDIR})
install(DIRECTORY ${CONFIG_DIR} DESTINATION ${WEFT_LIBDIR}/cmake)
install(FILES LICENSE DESTINATION share/doc/weft)
install(DIRECTORY examples/ DESTINATION share/weft/examples
  FILES_MATCHING PATTERN "*.c")
if(EXISTS ${CMAKE_SOURCE_DIR}/mpi.ini)
  install(FILES mpi.ini DESTINATION etc)
endif()
