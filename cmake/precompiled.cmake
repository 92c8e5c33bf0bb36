# Standard and Boost headers that many files include, compiled once for each group of targets. GCC shares them between
# targets with different -O levels, except -O0, and unrelated macros. Files still include what they use: scripts/lint
# compiles without these headers.
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/empty.cpp CONTENT "")

# digd_precompile(GROUP HEADERS <header>... TARGETS target...): targets that do not exist in this build are ignored.
function(digd_precompile group)
  cmake_parse_arguments(arg "" "" "HEADERS;LIBRARIES;TARGETS" ${ARGN})
  add_library(digd_precompiled_${group} STATIC ${CMAKE_BINARY_DIR}/empty.cpp)
  target_link_libraries(digd_precompiled_${group} PRIVATE ${arg_LIBRARIES})
  target_precompile_headers(digd_precompiled_${group} PRIVATE ${arg_HEADERS})
  foreach(target IN LISTS arg_TARGETS)
    if(TARGET ${target})
      target_precompile_headers(${target} REUSE_FROM digd_precompiled_${group})
    endif()
  endforeach()
endfunction()

# Without <filesystem> and <iomanip>: std::quoted would be found before ours (base/quote.h).
set(standard
  <algorithm> <array> <atomic> <charconv> <chrono> <cmath> <condition_variable> <cstdint> <cstdio> <cstring> <deque>
  <fstream> <functional> <iostream> <iterator> <limits> <map> <memory> <mutex> <numeric> <optional> <set> <span>
  <sstream> <string> <string_view> <thread> <unordered_map> <utility> <variant> <vector>)
set(containers
  <boost/system/result.hpp> <boost/unordered/unordered_flat_map.hpp> <boost/unordered/unordered_flat_set.hpp>)

digd_precompile(core HEADERS ${standard} ${containers} LIBRARIES Boost::headers
  TARGETS digd_base digd_model digd_graph digd_rules digd_healing digd_engine digd_protocol digd_archive digd_causal
          digd_causal_text digd_recorded_run digd_simulation digd_embedded digd-simulate)
digd_precompile(json HEADERS ${standard} ${containers} <boost/json.hpp> LIBRARIES Boost::headers Boost::json
  TARGETS digd_callbacks digd_trace digd_importers digd_hooks digd_otlp digd_picture digd_report digd_stored_runs
          digd_mcp digctl digctl_passes digd_chief digd_chief_llm digd_whowhen digd_report_parts digd_oracle
          digd_test_support digd-oracle-check digd_hook_player digd_bench_healing digd-bench-healing
          fuzz_corpus_engine)
digd_precompile(net HEADERS ${standard} ${containers} <boost/json.hpp>
    <boost/asio/dispatch.hpp> <boost/asio/io_context.hpp>
    <boost/asio/ip/tcp.hpp> <boost/asio/local/stream_protocol.hpp> <boost/asio/post.hpp> <boost/asio/steady_timer.hpp>
    <boost/beast/core/flat_buffer.hpp> <boost/beast/http/message.hpp> <boost/beast/http/parser.hpp>
    <boost/beast/http/read.hpp> <boost/beast/http/string_body.hpp> <boost/beast/http/write.hpp>
    <boost/beast/websocket/stream.hpp>
  LIBRARIES digd_asio Boost::json
  TARGETS digd_net digd_http digd_client digd_cpp_client digd_settings digd_daemon digd_services digd
          fuzz_corpus_daemon)
# These do not use JSON, but a precompiled header is only for targets with its definitions.
foreach(target digd_net digd_http)
  target_compile_definitions(${target} PRIVATE $<TARGET_PROPERTY:Boost::json,INTERFACE_COMPILE_DEFINITIONS>)
endforeach()
if(DIGD_TESTS)
  get_property(test_programs GLOBAL PROPERTY DIGD_TEST_PROGRAMS)
  digd_precompile(tests HEADERS ${standard} ${containers} <boost/json.hpp> <catch2/catch.hpp>
    LIBRARIES Boost::headers Boost::json Catch2::Catch2
    TARGETS digd_scenario ${test_programs})
  target_precompile_headers(adding_a_rule_test PRIVATE ${standard} ${containers})  # has -O0
endif()
