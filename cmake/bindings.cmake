# Bindings: one source per MPI function family, from core/api/standard and the
# definitions of wf_mpi_* and wf_build_* in the core (core/api/generate.py).
#
# They are written when CMake runs. generated/families.txt lists the families;
# with Ninja it is brought up to date before every build and a change of the
# list runs CMake again. With other generators any change of a core source does.
set(BINDING_GENERATOR ${Python3_EXECUTABLE} -B
    ${CMAKE_SOURCE_DIR}/core/api/generate.py)
file(GLOB BINDING_TABLES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/core/api/*.py
     ${CMAKE_SOURCE_DIR}/core/api/standard/*.csv)
file(GLOB BINDING_SCANNED CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/core/*/*.c)

execute_process(COMMAND ${BINDING_GENERATOR} bindings ${GENERATED}
  RESULT_VARIABLE binding_failed)
if(binding_failed)
  message(FATAL_ERROR "core/api/generate.py could not write the bindings")
endif()
file(STRINGS ${GENERATED}/families.txt binding_families)
set(BINDING_SOURCES "")
set(FORM_SOURCES "")
foreach(line IN LISTS binding_families)
  string(REGEX REPLACE " .*" "" family "${line}")
  set(source ${GENERATED}/api/mpi_${family}.c)
  list(APPEND BINDING_SOURCES ${source})
  if(line MATCHES " form") # of a collective: the core function, generated too
    list(APPEND FORM_SOURCES ${GENERATED}/coll/${family}.c)
  endif()
  if(WEFT_UNITY) # options of each would prevent it
    continue()
  elseif(NOT line MATCHES " hot") # small before fast; one way out for all checks
    set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS
      "$<$<NOT:$<CONFIG:Debug>>:-Os;-fno-optimize-sibling-calls>")
  else() # two words are not worth a detour through vector registers
    set_source_files_properties(${source} PROPERTIES
      COMPILE_OPTIONS -fno-tree-slp-vectorize)
  endif()
endforeach()

set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
  ${BINDING_TABLES})
if(CMAKE_GENERATOR MATCHES Ninja)
  add_custom_command(OUTPUT ${GENERATED}/families.txt
    COMMAND ${BINDING_GENERATOR} families ${GENERATED}/families.txt
    DEPENDS ${BINDING_SCANNED} VERBATIM
    COMMENT "Looking for implemented MPI functions")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
    ${GENERATED}/families.txt)
  add_custom_target(bindings DEPENDS ${GENERATED}/families.txt)
else()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
    ${BINDING_SCANNED})
  add_custom_target(bindings)
endif()
