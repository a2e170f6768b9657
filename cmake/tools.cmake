# Programs, wrappers and install rules.
#
# The build tree is laid out like an installation (bin, lib, lib/weft, include),
# so that build/bin/mpicc and build/bin/mpirun can be used without installing.
include(CMakePackageConfigHelpers)
include(CheckFunctionExists)

option(WEFT_STATIC "link the programs statically; no plugins from files" OFF)
option(WEFT_STATIC_LAUNCHER
  "link mpirun statically: it starts faster" ON)
if(WEFT_SANITIZE) # sanitizers need a dynamic linker
  set(WEFT_STATIC_LAUNCHER OFF)
endif()

set_target_properties(mpi mpi_abi PROPERTIES
  ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
# -lmpi is the shared library, and with -static the archive.
set(MPI_SO ${CMAKE_BINARY_DIR}/lib/libmpi.so)
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
    target_link_options(${name} PRIVATE -static -Wl,-u,weft_cipher,-u,weft_helpers)
  else()
    target_link_options(${name} PRIVATE -Wl,-u,weft_dl_loader,-u,weft_cipher,-u,weft_helpers)
    target_link_libraries(${name} PRIVATE ${CMAKE_DL_LIBS})
  endif()
endfunction()

# ---- mpirun ---------------------------------------------------------------
file(GLOB MPIRUN_SOURCES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tools/mpirun/*.c)
add_executable(mpirun ${MPIRUN_SOURCES} ${CMAKE_SOURCE_DIR}/core/os/base64.c
  ${CMAKE_SOURCE_DIR}/core/boot/pmi_line.c
  ${CMAKE_SOURCE_DIR}/core/boot/pmi_word.c ${CMAKE_SOURCE_DIR}/core/os/prefix.c
  ${CMAKE_SOURCE_DIR}/core/os/place.c ${CMAKE_SOURCE_DIR}/core/os/place_moved.c
  ${CMAKE_SOURCE_DIR}/core/os/secret.c ${CMAKE_SOURCE_DIR}/core/os/hosts.c
  ${CMAKE_SOURCE_DIR}/core/os/hardware.c ${CMAKE_SOURCE_DIR}/core/config/pattern.c
  ${CMAKE_SOURCE_DIR}/core/os/trust.c ${CMAKE_SOURCE_DIR}/core/os/shortage.c
  ${CMAKE_SOURCE_DIR}/core/crypto/cipher.c ${CMAKE_SOURCE_DIR}/core/crypto/vendor.c
  ${VENDOR_OBJECTS})
target_include_directories(mpirun PRIVATE ${CMAKE_SOURCE_DIR}/core
  ${CMAKE_SOURCE_DIR}/include ${GENERATED})
target_compile_definitions(mpirun PRIVATE _GNU_SOURCE)
target_compile_options(mpirun PRIVATE ${WEFT_CFLAGS})
set_target_properties(mpirun PROPERTIES
  RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
if(WEFT_STATIC_LAUNCHER)
  target_link_options(mpirun PRIVATE -static)
endif()
foreach(name mpiexec weftrun)
  add_custom_command(TARGET mpirun POST_BUILD COMMAND ${CMAKE_COMMAND} -E
    create_symlink mpirun ${CMAKE_BINARY_DIR}/bin/${name})
endforeach()

# ---- main in each rank thread: mpicc -fthread-ranks -------------------------
set(THREAD_RANKS ${CMAKE_BINARY_DIR}/lib/weft/thread_ranks.o)
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
add_executable(weft-info ${INFO_SOURCES})
target_include_directories(weft-info PRIVATE ${CMAKE_SOURCE_DIR}/core
  ${CMAKE_SOURCE_DIR}/include ${GENERATED})
target_compile_options(weft-info PRIVATE ${WEFT_CFLAGS})
target_link_libraries(weft-info PRIVATE m)
set_target_properties(weft-info PROPERTIES
  RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
weft_link_program(weft-info)

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
string(REPLACE ";" " " WRAPPER_LIBS "${BOOTSTRAP_LIBRARIES}")
if(NOT DLOPEN_IN_LIBC AND NOT WEFT_STATIC)
  string(APPEND WRAPPER_LIBS " -ldl")
  string(STRIP "${WRAPPER_LIBS}" WRAPPER_LIBS)
endif()
set(WRAPPER_FLAGS "")
if(WEFT_SANITIZE) # a program must be linked as its library was compiled
  set(WRAPPER_FLAGS "-fsanitize=${WEFT_SANITIZE}")
endif()

weft_way(PREFIX_FROM_BIN ${WEFT_BINDIR} .)
weft_way_below(WRAPPER_INCLUDEDIR "$prefix" . ${WEFT_INCLUDEDIR})
weft_way_below(WRAPPER_LIBDIR "$prefix" . ${WEFT_LIBDIR})

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
set(WEFT_WRAPPERS mpicc mpicc_abi mpicxx mpicxx_abi mpic++ mpiCC)

# ---- pkg-config and CMake -------------------------------------------------
weft_way_below(PC_PREFIX "\${pcfiledir}" ${WEFT_PKGCONFIGDIR} .)
weft_way_below(PC_INCLUDEDIR "\${prefix}" . ${WEFT_INCLUDEDIR})
weft_way_below(PC_LIBDIR "\${prefix}" . ${WEFT_LIBDIR})
set(PC_DIR ${CMAKE_BINARY_DIR}/lib/pkgconfig)
set(PC_LIBS "-L\${libdir} -Wl,-rpath,\${libdir} -lmpi")
if(WEFT_STATIC)
  set(PC_LIBS "-Wl,-u,weft_dl_loader,-u,weft_cipher,-u,weft_helpers \${libdir}/libmpi.a")
endif()
foreach(name mpi mpi-c mpi-cxx weft-c weft-cxx) # the last two are of no other MPI
  set(PC_NAME ${name})
  set(PC_DESCRIPTION "MPI 5.0 (Weft)")
  configure_file(cmake/mpi.pc.in ${PC_DIR}/${name}.pc @ONLY)
endforeach()
set(MESON_DIR ${CMAKE_BINARY_DIR}/lib/meson) # docs/user/running.md
foreach(LANGUAGE c cxx)
  configure_file(cmake/ompi.pc.in ${MESON_DIR}/ompi-${LANGUAGE}.pc @ONLY)
endforeach()
set(PC_NAME weft)
set(PC_LIBS "")
foreach(name IN LISTS archives)
  string(APPEND PC_LIBS "\${libdir}/libweft_${name}.a ")
endforeach()
string(APPEND PC_LIBS "\${libdir}/libmpi.a")
foreach(library IN LISTS BOOTSTRAP_LIBRARIES)
  string(APPEND PC_LIBS " ${library}")
endforeach()
set(PC_DESCRIPTION
  "MPI 5.0 (Weft) inside the program, with the transports that are in it only")
configure_file(cmake/mpi.pc.in ${PC_DIR}/weft.pc @ONLY)
foreach(kind INCLUDE LIB PLUGIN BIN)
  weft_way_below(CONFIG_${kind}DIR "\${WEFT_HERE}" ${WEFT_CMAKEDIR}
    ${WEFT_${kind}DIR})
endforeach()
set(CONFIG_DIR ${CMAKE_BINARY_DIR}/lib/cmake/weft)
configure_file(cmake/WeftConfig.cmake.in ${CONFIG_DIR}/WeftConfig.cmake @ONLY)
write_basic_package_version_file(${CONFIG_DIR}/WeftConfigVersion.cmake
  COMPATIBILITY SameMajorVersion)

# ---- a module for environment-modules and Lmod -----------------------------
set(MODULE_AT ${WEFT_DATADIR}/modulefiles/weft)
set(WEFT_MESONDIR ${WEFT_DATADIR}/weft/meson)
foreach(kind BIN MAN MESON)
  weft_way_below(MODULE_${kind}DIR "\$here" ${MODULE_AT} ${WEFT_${kind}DIR})
endforeach()
weft_way_below(MODULE_PCDIR "\$here" ${MODULE_AT} ${WEFT_PKGCONFIGDIR})
weft_way_below(MODULE_PREFIX "\$here" ${MODULE_AT} .)
configure_file(cmake/modulefile.in
  ${CMAKE_BINARY_DIR}/lib/modulefiles/${PROJECT_VERSION} @ONLY)

# ---- manual pages ---------------------------------------------------------
# Those of functions follow from the tables of the standard and the sources.
# Those of programs repeat what the programs say of themselves, so the programs
# are run.
set(MAN_DIR ${CMAKE_BINARY_DIR}/man)
file(GLOB MAN3_TEXTS CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tools/man3/*.txt)
add_custom_command(OUTPUT ${MAN_DIR}/made3
  COMMAND ${CMAKE_COMMAND} -E make_directory ${MAN_DIR}
  COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_SOURCE_DIR}/tools/man3.py ${MAN_DIR}
    ${PROJECT_VERSION} "${WEFT_PROGRAM_SUFFIX}"
  COMMAND ${CMAKE_COMMAND} -E touch ${MAN_DIR}/made3
  DEPENDS ${CMAKE_SOURCE_DIR}/tools/man3.py ${MAN3_TEXTS} ${BINDING_TABLES}
    ${BINDING_SCANNED}
  COMMENT "Writing the manual pages of functions" VERBATIM)
add_custom_target(manual3 ALL DEPENDS ${MAN_DIR}/made3)
if(WEFT_SANITIZE) # may not run but with less of the kernel's randomisation
  set(WEFT_MANUAL FALSE)
elseif(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
  set(WEFT_MANUAL FALSE)
  message(STATUS "No manual pages: they need CMAKE_CROSSCOMPILING_EMULATOR")
else()
  set(WEFT_MANUAL TRUE)
  add_custom_command(OUTPUT ${MAN_DIR}/made
    COMMAND ${CMAKE_COMMAND} -E make_directory ${MAN_DIR}
    COMMAND mpirun --help > ${MAN_DIR}/mpirun.help
    COMMAND weft-info --help > ${MAN_DIR}/weft-info.help
    COMMAND ${CMAKE_BINARY_DIR}/bin/mpicc -help > ${MAN_DIR}/mpicc.help
    COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_SOURCE_DIR}/tools/manual.py
      ${MAN_DIR} ${PROJECT_VERSION} "${WEFT_PROGRAM_SUFFIX}" mpirun=${MAN_DIR}/mpirun.help
      mpicc=${MAN_DIR}/mpicc.help weft-info=${MAN_DIR}/weft-info.help
    COMMAND ${CMAKE_COMMAND} -E touch ${MAN_DIR}/made
    DEPENDS mpirun weft-info ${CMAKE_BINARY_DIR}/bin/mpicc
      ${CMAKE_SOURCE_DIR}/tools/manual.py
      ${CMAKE_SOURCE_DIR}/docs/user/running.md
      ${CMAKE_SOURCE_DIR}/docs/user/appliances.md
      ${CMAKE_SOURCE_DIR}/tools/README.md ${CMAKE_SOURCE_DIR}/docs/user/mpi-ini.md
    COMMENT "Writing the manual pages" VERBATIM)
  add_custom_target(manual ALL DEPENDS ${MAN_DIR}/made)
endif()

# All but the tests: what is installed, and the examples.
add_custom_target(weft DEPENDS mpi mpirun weft-info thread_ranks_object
  ${EXAMPLE_TARGETS})
add_dependencies(weft manual3)
foreach(name IN LISTS archives)
  add_dependencies(weft archive_${name})
endforeach()
if(WEFT_MANUAL)
  add_dependencies(weft manual)
endif()
if(NOT WEFT_STATIC)
  add_dependencies(weft mpi_abi)
  foreach(name IN LISTS WEFT_PLUGINS)
    add_dependencies(weft weft_${name})
  endforeach()
  foreach(name IN LISTS BOOTSTRAP_FILES)
    add_dependencies(weft ${name})
  endforeach()
endif()

# ---- install --------------------------------------------------------------
install(PROGRAMS $<TARGET_FILE:mpirun> DESTINATION ${WEFT_BINDIR}
  RENAME mpirun${WEFT_PROGRAM_SUFFIX})
install(TARGETS weft-info RUNTIME DESTINATION ${WEFT_BINDIR})
foreach(name ${WEFT_WRAPPERS})
  install(PROGRAMS ${CMAKE_BINARY_DIR}/bin/${name} DESTINATION ${WEFT_BINDIR}
    RENAME ${name}${WEFT_PROGRAM_SUFFIX})
endforeach()
set(links ${CMAKE_BINARY_DIR}/links)
file(MAKE_DIRECTORY ${links})
foreach(name mpiexec${WEFT_PROGRAM_SUFFIX} weftrun)
  file(CREATE_LINK mpirun${WEFT_PROGRAM_SUFFIX} ${links}/${name} SYMBOLIC)
  install(FILES ${links}/${name} DESTINATION ${WEFT_BINDIR})
endforeach()
install(TARGETS mpi ARCHIVE DESTINATION ${WEFT_LIBDIR})
foreach(name IN LISTS archives)
  install(TARGETS archive_${name} ARCHIVE DESTINATION ${WEFT_LIBDIR})
endforeach()
if(NOT WEFT_STATIC)
  install(TARGETS mpi_abi LIBRARY DESTINATION ${WEFT_LIBDIR})
  install(FILES ${MPI_SO} DESTINATION ${WEFT_LIBDIR})
  foreach(name IN LISTS WEFT_PLUGINS)
    install(TARGETS weft_${name} LIBRARY DESTINATION ${WEFT_PLUGINDIR})
  endforeach()
  foreach(name IN LISTS BOOTSTRAP_FILES)
    install(TARGETS ${name} LIBRARY DESTINATION ${WEFT_PLUGINDIR})
  endforeach()
endif()
install(FILES ${HEADERS} DESTINATION ${WEFT_INCLUDEDIR})
install(FILES ${THREAD_RANKS} DESTINATION ${WEFT_PLUGINDIR})
install(DIRECTORY ${PC_DIR}/ DESTINATION ${WEFT_PKGCONFIGDIR})
if(NOT WEFT_OF_SYSTEM) # there all stands where it is looked for
  install(DIRECTORY ${MESON_DIR}/ DESTINATION ${WEFT_MESONDIR})
  install(FILES ${CMAKE_BINARY_DIR}/lib/modulefiles/${PROJECT_VERSION}
    DESTINATION ${MODULE_AT})
endif()
install(DIRECTORY ${CONFIG_DIR}/ DESTINATION ${WEFT_CMAKEDIR})
install(DIRECTORY ${MAN_DIR}/man3 DESTINATION ${WEFT_MANDIR})
if(WEFT_MANUAL)
  install(DIRECTORY ${MAN_DIR}/man1 ${MAN_DIR}/man5 DESTINATION ${WEFT_MANDIR})
endif()
install(FILES LICENSE README.md DESTINATION ${WEFT_DOCDIR})
install(DIRECTORY docs DESTINATION ${WEFT_DOCDIR} FILES_MATCHING PATTERN "*.md")
install(DIRECTORY examples/ DESTINATION ${WEFT_DATADIR}/weft/examples
  FILES_MATCHING PATTERN "*.c")
install(DIRECTORY tests/conform/ DESTINATION ${WEFT_DATADIR}/weft/conform
  FILES_MATCHING PATTERN "*.[ch]" PATTERN "Makefile")
install(FILES mpi.ini DESTINATION ${WEFT_SYSCONFDIR}/weft)

# libmpi.a, and the programs that contain it or start others, know where they
# were installed.
set(WEFT_PLACED ${WEFT_LIBDIR}/libmpi.a ${WEFT_BINDIR}/weft-info
  ${WEFT_BINDIR}/mpirun${WEFT_PROGRAM_SUFFIX})
install(CODE "
  set(python \"${Python3_EXECUTABLE}\")
  set(script \"${CMAKE_SOURCE_DIR}/cmake/place.py\")
  set(paths \"${WEFT_LIBDIR};${WEFT_SYSCONFDIR}/weft/mpi.ini;${WEFT_PLACED}\")")
install(SCRIPT cmake/place.cmake)
