# Unity builds compile all files of a target together, which takes half the time from nothing: headers are read once
# and templates are compiled once. -DCMAKE_UNITY_BUILD=OFF compiles each file alone; a change then costs
# less. The largest group needs 2.4 GB of memory.

# digd_compile_alone(target FILE...): files that share names with their neighbours.
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

# digd_compile_apart(target FOLDER...): a group for each of these folders, whose files share names with the others.
function(digd_compile_apart target)
  if(TARGET ${target})
    set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
    get_target_property(files ${target} SOURCES)
    get_target_property(root ${target} SOURCE_DIR)
    foreach(file IN LISTS files)
      set(group other)
      cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY ${root} OUTPUT_VARIABLE path)
      cmake_path(RELATIVE_PATH path BASE_DIRECTORY ${root})  # a folder above may have such a name
      foreach(folder IN LISTS ARGN)
        if(path MATCHES "(^|/)${folder}/")
          set(group ${folder})
        endif()
      endforeach()
      set_property(SOURCE ${file} TARGET_DIRECTORY ${target} PROPERTY UNITY_GROUP ${group})
    endforeach()
  endif()
endfunction()

# As one group, GCC inlines less of the decoder (scripts/measure-held-path: 2 % more instructions to decode).
set_target_properties(digd_protocol PROPERTIES UNITY_BUILD_BATCH_SIZE 8)
set_target_properties(digd_services PROPERTIES UNITY_BUILD_BATCH_SIZE 32)  # three groups: less memory
set_target_properties(digd_otlp_wire digd_dashboard PROPERTIES UNITY_BUILD OFF)
# With simdjson's intrinsics GCC drops a target's own -O1.
digd_compile_alone(digd_otlp protobuf_check.cpp)

digd_compile_apart(ingest_test hooks otlp)
digd_compile_apart(analysis_test shapley)
digd_compile_alone(digd_test_main analysis/chief/attribution_test.cpp archive/docs_test.cpp daemon/access_test.cpp
  daemon/overload_test.cpp daemon/watching_test.cpp daemon/webhook_store_test.cpp engine/hostile_test.cpp
  ingest/importers/whowhen_test.cpp)
