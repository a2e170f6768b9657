# Members of well-kept static libraries that travel inside libmpi.a under
# private names (wf_vendor_*), so that a program links nothing else and its own
# copy of the library does not clash.
set(VENDOR_OBJECTS ${CMAKE_BINARY_DIR}/vendor/vendor.o
                   ${CMAKE_BINARY_DIR}/vendor/vendor_cipher.o)
add_custom_command(OUTPUT ${VENDOR_OBJECTS}
  COMMAND ${CMAKE_SOURCE_DIR}/cmake/vendor.sh ${CMAKE_BINARY_DIR}/vendor
          ${CMAKE_LINKER} ${CMAKE_NM} ${CMAKE_OBJCOPY} ${CMAKE_AR}
          ${INIH_LIBRARY} ${SODIUM_ARCHIVE}
  DEPENDS ${CMAKE_SOURCE_DIR}/cmake/vendor.sh
  COMMENT "Vendoring inih and libsodium members" VERBATIM)
set_source_files_properties(${VENDOR_OBJECTS} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
