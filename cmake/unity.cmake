# Unity builds compile a target's files eight at a time, which halves the time from nothing. -DCMAKE_UNITY_BUILD=OFF
# compiles each file alone; a change then costs less. The files below share names with their neighbours, or call
# quoted() of base/quote.h beside <filesystem>, which declares std::quoted. They are compiled alone.
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
set_target_properties(digd_daemon digd_services digctl PROPERTIES UNITY_BUILD_BATCH_SIZE 16)

set_target_properties(digd_otlp_wire digd_dashboard PROPERTIES UNITY_BUILD OFF)
digd_compile_alone(digd_archive callback_reader.cpp)
digd_compile_alone(digd_otlp span_tree.cpp timeline.cpp)
digd_compile_alone(digd_report lit_path.cpp observed.cpp pictures.cpp)
digd_compile_alone(digd_settings settings/webhook_options.cpp)
digd_compile_alone(digctl_passes causal.cpp eval_whowhen.cpp)
digd_compile_alone(digctl main.cpp feed_lines.cpp import_otlp.cpp report.cpp runs.cpp token.cpp)
digd_compile_alone(digd_causal eval.cpp report.cpp verify.cpp worldview.cpp)
digd_compile_alone(digd_shapley regression.cpp report.cpp sampling.cpp)
digd_compile_alone(digd_chief orchestrated_features.cpp screening.cpp text.cpp)
digd_compile_alone(digd_report_parts hierarchy_picture.cpp shapley_part.cpp)
digd_compile_alone(digd_test_main analysis/chief/attribution_test.cpp analysis/shapley/parts_test.cpp
  archive/docs_test.cpp archive/judgement_test.cpp daemon/access_test.cpp daemon/overload_test.cpp
  daemon/watching_test.cpp daemon/webhook_store_test.cpp engine/hostile_test.cpp engine/memory_test.cpp
  ingest/hooks/dialect_test.cpp ingest/hooks/limits_table_test.cpp ingest/hooks/litellm_test.cpp
  ingest/hooks/session_test.cpp ingest/hooks/team_test.cpp ingest/importers/whowhen_test.cpp
  rules/orphaned_event_test.cpp)
