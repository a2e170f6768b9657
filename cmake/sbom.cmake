# weft.cdx.json: the list of components (SBOM) of this build, which is installed
# beside LICENSE. It is written when the build is configured, and again when one of
# the archives changes, and has no time and no path: the same archives give the
# same bytes.
#
#   inih, libsodium   members are inside libmpi.a and libmpi_abi.so (vendor.cmake)
#   usrsctp           is loaded by the sctp transport, where that knows how
#   pmix              is loaded with the bootstrap for PMIx servers
#   the C library     is inside programs that are linked statically
# SPDX-License-Identifier: BSD-3-Clause
include(CheckIncludeFile)
set(SBOM ${CMAKE_BINARY_DIR}/weft.cdx.json)
set(SBOM_COMPONENTS "") # of each: name, version, archive; "-" for none

# The version that NAME.pc beside the library says.
function(weft_add_component name library archive)
  set(version -)
  get_filename_component(dir "${library}" DIRECTORY)
  set(pc "${dir}/pkgconfig/${name}.pc")
  if(EXISTS "${pc}")
    file(STRINGS "${pc}" line REGEX "^Version:" LIMIT_COUNT 1)
    if(line MATCHES "^Version:[ \t]*([^ \t]+)")
      set(version ${CMAKE_MATCH_1})
    endif()
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${pc}")
  endif()
  if(NOT archive STREQUAL "-")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${archive}")
  endif()
  set(SBOM_COMPONENTS ${SBOM_COMPONENTS} ${name} ${version} ${archive}
    PARENT_SCOPE)
endfunction()

# The C library that the compiler links.
function(weft_add_c_library)
  set(dir ${CMAKE_BINARY_DIR}/CMakeFiles/c_library)
  file(WRITE ${dir}/name.c "#include <features.h>
#ifdef __GLIBC__
#define TEXT(x) #x
#define VERSION(x, y) TEXT(x) \".\" TEXT(y)
const char name[] = \"c_library=glibc=\" VERSION(__GLIBC__, __GLIBC_MINOR__);
#else
const char name[] = \"c_library=musl=-\";
#endif
int main(int argc, char **argv) { return name[argc]; }
")
  try_compile(works ${dir} ${dir}/name.c COPY_FILE ${dir}/name)
  if(works)
    file(STRINGS ${dir}/name said REGEX "c_library="
      LIMIT_COUNT 1)
  endif()
  if(NOT said MATCHES "c_library=([a-z]+)=([0-9.]+|-)")
    message(FATAL_ERROR "cannot tell which C library is linked statically; "
      "-DWEFT_STATIC_LAUNCHER=OFF links none")
  endif()
  set(SBOM_COMPONENTS ${SBOM_COMPONENTS} ${CMAKE_MATCH_1} ${CMAKE_MATCH_2} -
    PARENT_SCOPE)
endfunction()

string(REGEX REPLACE "[.]so$" ".a" SBOM_INIH "${INIH_LIBRARY}") # as vendor.sh
weft_add_component(inih ${SBOM_INIH} ${SBOM_INIH})
weft_add_component(libsodium ${SODIUM_ARCHIVE} ${SODIUM_ARCHIVE})
check_include_file(usrsctp.h WEFT_HAS_USRSCTP_H)
set(SBOM_TRANSPORTS ${WEFT_BUILTIN})
if(NOT WEFT_STATIC)
  list(APPEND SBOM_TRANSPORTS ${WEFT_PLUGINS} ${archives})
endif()
if(WEFT_HAS_USRSCTP_H AND "sctp" IN_LIST SBOM_TRANSPORTS)
  find_library(USRSCTP_LIBRARY NAMES usrsctp) # for its version only
  mark_as_advanced(USRSCTP_LIBRARY)
  weft_add_component(usrsctp "${USRSCTP_LIBRARY}" -)
endif()
if("pmix" IN_LIST WEFT_BUILTIN_BOOTSTRAPS OR TARGET weft_boot_pmix)
  weft_add_component(pmix "${PMIX_LIBRARY}" -)
endif()
if(WEFT_STATIC OR WEFT_STATIC_LAUNCHER)
  weft_add_c_library()
endif()

set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
  ${CMAKE_SOURCE_DIR}/cmake/sbom.py)
execute_process(COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_SOURCE_DIR}/cmake/sbom.py
  ${SBOM} ${PROJECT_VERSION} ${SBOM_COMPONENTS} RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "cmake/sbom.py could not write ${SBOM}")
endif()
install(FILES ${SBOM} DESTINATION ${WEFT_DOCDIR})
