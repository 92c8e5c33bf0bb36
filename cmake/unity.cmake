# Unity builds compile a target's files eight at a time, which halves the time from nothing. -DCMAKE_UNITY_BUILD=OFF
# compiles each file alone; a change then costs less. Files that share names with their neighbours are compiled alone.
function(digd_compile_alone target)
  if(TARGET ${target})
    get_target_property(folder ${target} SOURCE_DIR)
    foreach(file IN LISTS ARGN)
      cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY ${folder} OUTPUT_VARIABLE path)
      list(APPEND paths ${path})
    endforeach()
    set_source_files_properties(${paths} TARGET_DIRECTORY ${target} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
endfunction()

# These include much of Beast and Boost.JSON: their larger groups need a fifth less of the processor.
set_target_properties(digd_daemon digd_services PROPERTIES UNITY_BUILD_BATCH_SIZE 16)
# Two groups each. They parse Eigen, and digctl generates the code of CLI11 in each group.
set_target_properties(digctl PROPERTIES UNITY_BUILD_BATCH_SIZE 32)
if(DIGD_ANALYSIS)
  set_target_properties(digd_causal PROPERTIES UNITY_BUILD_BATCH_SIZE 15)
  set_target_properties(digd_shapley PROPERTIES UNITY_BUILD_BATCH_SIZE 12)
endif()

set_target_properties(digd_otlp_wire digd_dashboard PROPERTIES UNITY_BUILD OFF)
digd_compile_alone(digd_test_main analysis/chief/attribution_test.cpp archive/docs_test.cpp daemon/access_test.cpp
  daemon/overload_test.cpp daemon/watching_test.cpp daemon/webhook_store_test.cpp engine/hostile_test.cpp
  ingest/importers/whowhen_test.cpp)
