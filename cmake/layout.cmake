# Where the installation has what, and how one part of it finds another.
#
# The directories are those of GNUInstallDirs, so CMAKE_INSTALL_LIBDIR and its
# kin mean what they mean elsewhere, with one exception: below a prefix other
# than /usr the library directory is lib on every system, and configuration
# stays below the prefix. Configuration is SYSCONFDIR/weft/mpi.ini, plugins from
# files are in LIBDIR/weft.
#
# A directory below the prefix is found from where the program, the wrapper or
# the .pc file lies, and so may be moved with it. A directory elsewhere is found
# by its name. Below /usr the whole system counts as one installation, of which
# /etc is a part.
if(CMAKE_INSTALL_PREFIX MATCHES "^/usr/*$")
  set(WEFT_OF_SYSTEM TRUE)
elseif(NOT DEFINED CACHE{CMAKE_INSTALL_LIBDIR})
  set(CMAKE_INSTALL_LIBDIR lib)
endif()
include(GNUInstallDirs)

foreach(kind BIN LIB INCLUDE SYSCONF MAN DOC DATA)
  set(WEFT_${kind}DIR ${CMAKE_INSTALL_${kind}DIR})
endforeach()
if(WEFT_OF_SYSTEM)
  set(WEFT_SYSCONFDIR ${CMAKE_INSTALL_FULL_SYSCONFDIR})
endif()
set(WEFT_PLUGINDIR ${WEFT_LIBDIR}/weft)
set(WEFT_INSTALL_PKGCONFIGDIR "" CACHE STRING
  "directory of the .pc files, if it is not LIBDIR/pkgconfig")
set(WEFT_INSTALL_CMAKEDIR "" CACHE STRING
  "directory of WeftConfig.cmake, if it is not LIBDIR/cmake/weft")
set(WEFT_PKGCONFIGDIR ${WEFT_LIBDIR}/pkgconfig)
set(WEFT_CMAKEDIR ${WEFT_LIBDIR}/cmake/weft)
foreach(kind PKGCONFIG CMAKE)
  if(WEFT_INSTALL_${kind}DIR)
    set(WEFT_${kind}DIR ${WEFT_INSTALL_${kind}DIR})
  endif()
endforeach()

set(WEFT_PROGRAM_SUFFIX "" CACHE STRING
  "added to the installed names of programs that every MPI has, as mpirun")

# DIR as seen from FROM: "../lib", or an absolute path.
function(weft_way out from dir)
  foreach(name from dir)
    get_filename_component(${name} "${${name}}" ABSOLUTE BASE_DIR
      "${CMAKE_INSTALL_PREFIX}")
  endforeach()
  string(FIND "${from}/" "${CMAKE_INSTALL_PREFIX}/" from_prefix)
  string(FIND "${dir}/" "${CMAKE_INSTALL_PREFIX}/" dir_prefix)
  if(WEFT_OF_SYSTEM OR (from_prefix EQUAL 0 AND dir_prefix EQUAL 0))
    file(RELATIVE_PATH dir "${from}" "${dir}")
  endif()
  set(${out} "${dir}" PARENT_SCOPE)
endfunction()

# The same for a text in which BASE stands for the directory FROM.
function(weft_way_below out base from dir)
  weft_way(way ${from} ${dir})
  if(NOT IS_ABSOLUTE "${way}")
    string(REGEX REPLACE "/$" "" way "${base}/${way}")
  endif()
  set(${out} "${way}" PARENT_SCOPE)
endfunction()

weft_way(WEFT_MPIRUN_FROM_PREFIX . ${WEFT_BINDIR}/mpirun${WEFT_PROGRAM_SUFFIX})
weft_way(WEFT_LIB_FROM_BIN ${WEFT_BINDIR} ${WEFT_LIBDIR})
weft_way(WEFT_PLUGINS_FROM_BIN ${WEFT_BINDIR} ${WEFT_PLUGINDIR})
weft_way(WEFT_INI_FROM_BIN ${WEFT_BINDIR} ${WEFT_SYSCONFDIR}/weft/mpi.ini)
weft_way(WEFT_MPIRUN_FROM_LIB ${WEFT_LIBDIR} ${WEFT_BINDIR}/mpirun${WEFT_PROGRAM_SUFFIX})
weft_way(WEFT_INI_FROM_LIB ${WEFT_LIBDIR} ${WEFT_SYSCONFDIR}/weft/mpi.ini)
get_filename_component(WEFT_BIN_NAME ${WEFT_BINDIR} NAME)
configure_file(${CMAKE_CURRENT_LIST_DIR}/layout.h.in ${GENERATED}/layout.h @ONLY)

# The build tree is bin, lib, lib/weft and include whatever the names in the
# installation are; a link lets it be used under those, too.
function(weft_build_link name dir)
  if(NOT IS_ABSOLUTE ${dir} AND NOT ${dir} STREQUAL ${name}
      AND NOT EXISTS ${CMAKE_BINARY_DIR}/${dir})
    get_filename_component(parent ${CMAKE_BINARY_DIR}/${dir} DIRECTORY)
    file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/${name} ${parent})
    file(CREATE_LINK ${CMAKE_BINARY_DIR}/${name} ${CMAKE_BINARY_DIR}/${dir}
      SYMBOLIC)
  endif()
endfunction()
if(IS_SYMLINK ${CMAKE_BINARY_DIR}/include) # of an earlier version
  file(REMOVE ${CMAKE_BINARY_DIR}/include)
endif()
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/include)
file(GLOB HEADERS CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/include/*.h)
foreach(header IN LISTS HEADERS)
  get_filename_component(name ${header} NAME)
  file(CREATE_LINK ${header} ${CMAKE_BINARY_DIR}/include/${name} SYMBOLIC)
endforeach()
weft_build_link(lib ${WEFT_LIBDIR})
weft_build_link(bin ${WEFT_BINDIR})
weft_build_link(include ${WEFT_INCLUDEDIR})
