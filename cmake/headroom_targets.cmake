# headroom_library / headroom_test_sources: one folder = one static library = one test program.
include(GoogleTest)
find_package(fmt REQUIRED)
find_package(tl-expected REQUIRED)
find_package(Threads REQUIRED)
if(HEADROOM_TESTS)
  find_package(GTest REQUIRED)
endif()

find_program(CCACHE ccache)
if(CCACHE)
  # Pre-compiled headers are cached safely only with these rules of ccache.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} ${CCACHE})
endif()

add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Werror -Wno-unused-parameter
                    "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
# gcc 12's flow-sensitive warnings misfire inside its own <string> at -O3.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds
                      -Wno-maybe-uninitialized)
endif()
# The engine promises the same bits whatever a request is batched with: no fused or reordered
# arithmetic that the source does not ask for.
add_compile_options(-ffp-contract=off)
if(HEADROOM_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)  # the fuzzers see into the libraries
endif()
if(HEADROOM_SANITIZE)
  add_compile_options(-fsanitize=${HEADROOM_SANITIZE} -fno-omit-frame-pointer
                      -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${HEADROOM_SANITIZE})
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  find_program(LLD ld.lld-19)
  if(LLD)
    add_link_options(-fuse-ld=lld)
  endif()
endif()

# ISA flags belong to files, by name: avx2*.cc, avx512*.cc and avx512_bf16*.cc. A file gets what its
# callers ask of the machine (base/cpu.h) and no more: compilers use whatever is allowed.
set(HEADROOM_AVX2_FLAGS "-mavx2;-mfma;-mf16c;-mbmi2")
set(HEADROOM_AVX512_FLAGS
    "-mavx512f;-mavx512bw;-mavx512dq;-mavx512vl;-mavx2;-mfma;-mf16c;-mbmi2")

function(headroom_isa_flags)
  foreach(file IN LISTS ARGN)
    get_filename_component(stem ${file} NAME)
    if(stem MATCHES "^avx2")
      set_source_files_properties(${file} PROPERTIES COMPILE_OPTIONS "${HEADROOM_AVX2_FLAGS}"
                                  SKIP_PRECOMPILE_HEADERS ON)
    elseif(stem MATCHES "^avx512_bf16")
      set_source_files_properties(${file} PROPERTIES
                                  COMPILE_OPTIONS "${HEADROOM_AVX512_FLAGS};-mavx512bf16"
                                  SKIP_PRECOMPILE_HEADERS ON)
    elseif(stem MATCHES "^avx512")
      set_source_files_properties(${file} PROPERTIES COMPILE_OPTIONS "${HEADROOM_AVX512_FLAGS}"
                                  SKIP_PRECOMPILE_HEADERS ON)
    endif()
  endforeach()
endfunction()

# One pre-compiled header serves every library, one (with GoogleTest) every test program.
function(headroom_make_pch)
  file(WRITE ${CMAKE_BINARY_DIR}/pch.cc "// carries the shared pre-compiled header\n")
  add_library(headroom_pch STATIC ${CMAKE_BINARY_DIR}/pch.cc)
  target_include_directories(headroom_pch PUBLIC ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(headroom_pch PUBLIC fmt::fmt tl::expected Threads::Threads)
  target_precompile_headers(headroom_pch PRIVATE <algorithm> <array> <cmath> <cstdint> <cstring>
    <functional> <map> <memory> <optional> <span> <string> <string_view> <utility> <vector>
    <fmt/format.h> <tl/expected.hpp>)
  if(HEADROOM_TESTS)
    add_library(headroom_test_pch STATIC ${CMAKE_BINARY_DIR}/pch.cc)
    target_link_libraries(headroom_test_pch PUBLIC headroom_pch GTest::gmock)
    target_precompile_headers(headroom_test_pch PRIVATE <gmock/gmock.h> <gtest/gtest.h>
      <algorithm> <cstring> <fstream> <functional> <memory> <random> <span> <string> <vector>
      <fmt/format.h> <tl/expected.hpp>)
  endif()
endfunction()
headroom_make_pch()

# headroom_library(name [DEPS ours...] [LIBS third-party...]): every .cc below the calling folder but
# tests, benchmarks and fuzz targets; the tests become program <name>_test.
function(headroom_library name)
  cmake_parse_arguments(ARG "" "" "DEPS;LIBS;TEST_DEPS;TEST_LIBS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  set(tests ${sources})
  set(benches ${sources})
  list(FILTER sources EXCLUDE REGEX "_(test|bench|fuzz)\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER benches INCLUDE REGEX "_bench\\.cc$")
  if(NOT sources)  # headers only so far
    add_library(headroom_${name} INTERFACE)
    return()
  endif()
  headroom_isa_flags(${sources})
  add_library(headroom_${name} STATIC ${sources})
  target_include_directories(headroom_${name} PUBLIC ${CMAKE_SOURCE_DIR}/src)
  list(TRANSFORM ARG_DEPS PREPEND headroom_)
  list(TRANSFORM ARG_TEST_DEPS PREPEND headroom_)
  target_link_libraries(headroom_${name} PUBLIC ${ARG_DEPS} fmt::fmt tl::expected Threads::Threads
                        PRIVATE ${ARG_LIBS})
  target_precompile_headers(headroom_${name} REUSE_FROM headroom_pch)
  if(HEADROOM_TESTS AND tests)
    headroom_test(${name}_test SOURCES ${tests} DEPS ${name} LIBS ${ARG_TEST_DEPS} ${ARG_LIBS} ${ARG_TEST_LIBS})
  endif()
  if(benches)
    set_property(GLOBAL APPEND PROPERTY HEADROOM_BENCH_SOURCES ${benches})
    set_property(GLOBAL APPEND PROPERTY HEADROOM_BENCH_LIBS headroom_${name})
  endif()
endfunction()

# headroom_test(name SOURCES ... DEPS ... LIBS ...): a GoogleTest program whose cases ctest lists.
function(headroom_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;LIBS;LABELS" ${ARGN})
  list(TRANSFORM ARG_DEPS PREPEND headroom_)
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} ${ARG_LIBS} GTest::gmock GTest::gtest_main)
  target_precompile_headers(${name} REUSE_FROM headroom_test_pch)
  target_compile_definitions(${name} PRIVATE HEADROOM_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
                             HEADROOM_BINARY_DIR="${CMAKE_BINARY_DIR}")
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
                       PROPERTIES TIMEOUT 300 LABELS "${ARG_LABELS}")
endfunction()

# headroom_fuzzer(name SOURCES ... DEPS ...): libFuzzer with clang and HEADROOM_FUZZ. In every other
# build the same target replays its seeds and mutations of them, as a test.
function(headroom_fuzzer name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  list(TRANSFORM ARG_DEPS PREPEND headroom_)
  string(REGEX REPLACE "_fuzz$" "" seeds ${name})
  set(seeds ${CMAKE_CURRENT_SOURCE_DIR}/seeds/${seeds})
  if(HEADROOM_FUZZ)
    add_executable(${name} ${ARG_SOURCES})
    target_compile_options(${name} PRIVATE -fsanitize=fuzzer)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    add_test(NAME fuzz.${name} COMMAND ${name} -runs=0 ${seeds})
  elseif(HEADROOM_TESTS)
    add_executable(${name} ${ARG_SOURCES} replay_main.cc)
    add_test(NAME fuzz.${name} COMMAND ${name} ${seeds})
  else()
    return()
  endif()
  target_link_libraries(${name} PRIVATE ${ARG_DEPS})
  set_tests_properties(fuzz.${name} PROPERTIES TIMEOUT 300)
endfunction()

# headroom_embed(name files...): compiles files into library <name>, which gives them by
# headroom::<name>::embedded_files().
function(headroom_embed name)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/embedded.cc)
  add_custom_command(OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -D "OUT=${out}" -D "NAMESPACE=${name}" -D "FILES=${ARGN}"
            -P ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${ARGN} ${CMAKE_SOURCE_DIR}/cmake/embed.cmake VERBATIM)
  target_sources(headroom_${name} PRIVATE ${out})
endfunction()
