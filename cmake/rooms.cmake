# One CMake target per folder of src/ ("room"). A room sees the public headers, its own headers and those of
# the rooms it names after USES, and nothing else: an include against the direction of the data flow does not
# compile. docs/architecture.md draws the plan.

add_library(rpinn_flags INTERFACE)
target_compile_options(rpinn_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wstrict-prototypes -Wmissing-prototypes
  -Wvla -Wundef -Wformat=2 -Wno-format-nonliteral
  # clang means INFINITY and NAN as well, which are floats, and dislikes enum constants as sizes in formulas.
  $<IF:$<C_COMPILER_ID:GNU>,-Wdouble-promotion,-Wno-enum-float-conversion>
  $<$<BOOL:${RPINN_WERROR}>:-Werror>
  # gcc cannot see that rpinn_fail_at never returns RPINN_OK and takes results for unset after RPINN_TRY.
  $<$<C_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>
  # The same expression must give the same bits under every compiler: no contraction behind our back. Kernels
  # that want fused multiply-adds write them out.
  -ffp-contract=off)
if(RPINN_FUZZ)
  if(NOT CMAKE_C_COMPILER_ID MATCHES Clang)
    message(FATAL_ERROR "RPINN_FUZZ needs clang: configure with -DCMAKE_C_COMPILER=clang")
  endif()
  # Every room tells libFuzzer which branches an input takes; tests/fuzz links libFuzzer itself.
  set(fuzz_sanitizers -fsanitize=fuzzer-no-link,address,undefined)
  target_compile_options(rpinn_flags INTERFACE ${fuzz_sanitizers} -fno-sanitize-recover=all
                                               -fno-omit-frame-pointer -g)
  target_link_options(rpinn_flags INTERFACE ${fuzz_sanitizers})
elseif(RPINN_SANITIZE)
  target_compile_options(rpinn_flags INTERFACE -fsanitize=${RPINN_SANITIZE} -fno-sanitize-recover=all
                                               -fno-omit-frame-pointer -g)
  target_link_options(rpinn_flags INTERFACE -fsanitize=${RPINN_SANITIZE})
endif()

# rpinn_room(NAME SOURCES a.c b.c [USES base problem ...] [LINKS target ...])
function(rpinn_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;USES;LINKS" ${ARGN})
  set(target rpinn_${name})
  add_library(${target} OBJECT ${ROOM_SOURCES})
  set_property(TARGET ${target} PROPERTY RPINN_ROOM_DIR ${CMAKE_CURRENT_SOURCE_DIR})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/include
                                               ${CMAKE_CURRENT_SOURCE_DIR})
  foreach(used ${ROOM_USES})
    get_property(dir TARGET rpinn_${used} PROPERTY RPINN_ROOM_DIR)
    target_include_directories(${target} PRIVATE ${dir})
  endforeach()
  target_compile_definitions(${target} PRIVATE RPINN_BUILDING_LIBRARY _POSIX_C_SOURCE=200809L)
  target_link_libraries(${target} PRIVATE rpinn_flags ${ROOM_LINKS})
  set_property(GLOBAL APPEND PROPERTY RPINN_ROOMS ${target})
  set_property(GLOBAL APPEND PROPERTY RPINN_ROOM_DIRS ${CMAKE_CURRENT_SOURCE_DIR})
  set_property(GLOBAL APPEND PROPERTY RPINN_ROOM_LINKS ${ROOM_LINKS})
endfunction()

# rpinn_room_variant(NAME VARIANT SOURCES a.c [DEFINITIONS ...] [OPTIONS ...]): sources of the room NAME compiled once
# more, as the target rpinn_NAME_VARIANT, with definitions and compile options of their own. The room itself must
# exist already; what it may include, its variants may.
function(rpinn_room_variant name variant)
  cmake_parse_arguments(VARIANT "" "" "SOURCES;DEFINITIONS;OPTIONS" ${ARGN})
  set(target rpinn_${name}_${variant})
  add_library(${target} OBJECT ${VARIANT_SOURCES})
  target_include_directories(${target} PRIVATE $<TARGET_PROPERTY:rpinn_${name},INCLUDE_DIRECTORIES>)
  target_compile_definitions(${target} PRIVATE $<TARGET_PROPERTY:rpinn_${name},COMPILE_DEFINITIONS>
                                               ${VARIANT_DEFINITIONS})
  target_compile_options(${target} PRIVATE ${VARIANT_OPTIONS})
  get_target_property(links rpinn_${name} LINK_LIBRARIES)
  if(RPINN_FUZZ)
    # Kernels see no input of a fuzzer, and instrumented vector code takes minutes to compile.
    list(REMOVE_ITEM links rpinn_flags)
    target_compile_options(${target} PRIVATE -O1)
  endif()
  target_link_libraries(${target} PRIVATE ${links})
  set_property(GLOBAL APPEND PROPERTY RPINN_ROOMS ${target})
endfunction()
