# Plugins for launchers whose protocol a library speaks (include/weft_bootstrap.h):
# weft_boot_NAME.so, built where the library and its header are. What is built in
# makes a program of libmpi.a need the library, too.
#
#   plugins/pmix   libpmix 4.1 or later: Open MPI's mpirun, srun --mpi=pmix, PRRTE
set(WEFT_BOOTSTRAPS "pmix" CACHE STRING
  "bootstraps built as weft_boot_NAME.so, where their libraries are")
set(WEFT_BUILTIN_BOOTSTRAPS "" CACHE STRING
  "bootstraps linked into libmpi.a and libmpi_abi.so: they must be there")
set(BOOTSTRAP_FILES "")
set(BOOTSTRAP_LIBRARIES "") # of those that are built in
set(boot_decl "")
set(boot_list "")

# Sets PMIX_FOUND, PMIX_INCLUDE_DIR and PMIX_LIBRARY.
function(weft_find_pmix)
  include(CheckCSourceCompiles)
  find_package(PkgConfig QUIET)
  if(PkgConfig_FOUND AND NOT CMAKE_CROSSCOMPILING)
    pkg_check_modules(PC_PMIX QUIET pmix)
  endif()
  find_path(PMIX_INCLUDE_DIR pmix.h HINTS ${PC_PMIX_INCLUDE_DIRS}
    ${PC_PMIX_INCLUDEDIR} PATH_SUFFIXES pmix2/include
    lib/${CMAKE_LIBRARY_ARCHITECTURE}/pmix2/include)
  find_library(PMIX_LIBRARY pmix PATHS ${PC_PMIX_LIBRARY_DIRS}
    ${PC_PMIX_LIBDIR})
  mark_as_advanced(PMIX_INCLUDE_DIR PMIX_LIBRARY)
  set(PMIX_FOUND FALSE)
  if(PMIX_INCLUDE_DIR AND PMIX_LIBRARY)
    set(CMAKE_REQUIRED_INCLUDES ${PMIX_INCLUDE_DIR})
    set(CMAKE_REQUIRED_LIBRARIES ${PMIX_LIBRARY})
    check_c_source_compiles("#include <pmix.h>
#if !defined(PMIX_ERR_LOST_CONNECTION) || !defined(PMIX_QUERY_PSET_MEMBERSHIP)
#error too old
#endif
int main(void) { return PMIx_Init(0, 0, 0); }" WEFT_HAS_PMIX)
    set(PMIX_FOUND ${WEFT_HAS_PMIX})
  endif()
  set(PMIX_FOUND ${PMIX_FOUND} PARENT_SCOPE)
endfunction()

weft_find_pmix()
foreach(name IN LISTS WEFT_BOOTSTRAPS WEFT_BUILTIN_BOOTSTRAPS)
  string(TOUPPER ${name} found)
  if(TARGET bootstrap_${name})
    continue()
  elseif(NOT EXISTS ${CMAKE_SOURCE_DIR}/plugins/${name}/client.h)
    message(FATAL_ERROR "There is no bootstrap '${name}': there is pmix")
  elseif(NOT ${found}_FOUND AND name IN_LIST WEFT_BUILTIN_BOOTSTRAPS)
    message(FATAL_ERROR "WEFT_BUILTIN_BOOTSTRAPS has ${name}, whose library "
      "was not found (Debian: lib${name}-dev)")
  elseif(NOT ${found}_FOUND)
    message(STATUS "No bootstrap ${name}: its library was not found")
    continue()
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/plugins/${name}/*.c)
  add_library(bootstrap_${name} OBJECT ${sources})
  target_include_directories(bootstrap_${name} PRIVATE
    ${CMAKE_SOURCE_DIR}/include)
  target_include_directories(bootstrap_${name} SYSTEM PRIVATE
    ${${found}_INCLUDE_DIR})
  target_compile_options(bootstrap_${name} PRIVATE ${WEFT_CFLAGS})
endforeach()

foreach(name IN LISTS WEFT_BUILTIN_BOOTSTRAPS)
  string(TOUPPER ${name} found)
  list(APPEND BUILTIN_OBJECTS $<TARGET_OBJECTS:bootstrap_${name}>)
  list(APPEND BOOTSTRAP_LIBRARIES ${${found}_LIBRARY})
  string(APPEND boot_decl "extern const weft_bootstrap weft_boot_1_${name};\n")
  string(APPEND boot_list "    &weft_boot_1_${name},\n")
endforeach()
file(CONFIGURE OUTPUT ${GENERATED}/builtin_boot.c CONTENT
"/* The bootstraps linked into this library. Generated. */
#include \"weft_bootstrap.h\"
extern const weft_bootstrap *const weft_boot_builtin[];
${boot_decl}const weft_bootstrap *const weft_boot_builtin[] = {
${boot_list}    0
};
" @ONLY)

if(NOT WEFT_STATIC)
  foreach(name IN LISTS WEFT_BOOTSTRAPS)
    if(TARGET bootstrap_${name})
      string(TOUPPER ${name} found)
      add_library(weft_boot_${name} MODULE $<TARGET_OBJECTS:bootstrap_${name}>)
      target_link_libraries(weft_boot_${name} PRIVATE ${${found}_LIBRARY})
      set_target_properties(weft_boot_${name} PROPERTIES PREFIX ""
        LINKER_LANGUAGE C INSTALL_RPATH_USE_LINK_PATH TRUE
        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/weft)
      target_link_options(weft_boot_${name} PRIVATE -Wl,-z,defs)
      list(APPEND BOOTSTRAP_FILES weft_boot_${name})
    endif()
  endforeach()
endif()
