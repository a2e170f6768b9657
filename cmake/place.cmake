# Run by the installation: writes where it is into its files (place.py). paths:
# the library directory, mpi.ini, the files; below the prefix or absolute.
get_filename_component(prefix "${CMAKE_INSTALL_PREFIX}" ABSOLUTE)
set(known "")
foreach(path IN LISTS paths)
  get_filename_component(path "${path}" ABSOLUTE BASE_DIR "${prefix}")
  list(LENGTH known n)
  if(n LESS 2) # texts; the others are the files, wherever they are staged
    list(APPEND known "${path}")
  else()
    list(APPEND known "$ENV{DESTDIR}${path}")
  endif()
endforeach()
execute_process(COMMAND "${python}" -B "${script}" ${known}
  RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "The installation below $ENV{DESTDIR}${prefix} is not complete.")
endif()
