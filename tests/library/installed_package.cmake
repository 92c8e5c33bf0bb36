# Installs digd's libraries below the build folder, builds two examples against them alone, and checks what they print.
#
#   cmake -DBUILD=… -DSOURCE=… -DCOMPILER=… -DBUILD_TYPE=… -P installed_package.cmake
set(prefix ${BUILD}/installed_package/prefix)
file(REMOVE_RECURSE ${BUILD}/installed_package)

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ARGN}\nfailed with ${status}:\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

# Sets `output` to what the example prints.
function(run_example name)
  set(folder ${BUILD}/installed_package/${name})
  run(${CMAKE_COMMAND} -S ${SOURCE}/examples/${name} -B ${folder} -G Ninja -DCMAKE_PREFIX_PATH=${prefix}
    -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_BUILD_TYPE=${BUILD_TYPE})
  run(${CMAKE_COMMAND} --build ${folder})
  run(${folder}/${name})
  set(output "${output}" PARENT_SCOPE)
endfunction()

function(expect)
  foreach(expected IN LISTS ARGN)
    string(FIND "${output}" "${expected}" found)
    if(found EQUAL -1)
      message(FATAL_ERROR "no ${expected} in the output:\n${output}")
    endif()
  endforeach()
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD} --component dev --prefix ${prefix})

# A detection and the verdict that heals it; a detection by time and the intervention that heals it.
run_example(embedded)
expect([=["rule":"orphaned_event"]=] [=["event":"tests","action":"reroute","recipients":["planner"]]=]
  [=["rule":"missing_termination"]=] [=["type":"intervention","id":"sys:1","action":"create"]=])
string(FIND "${output}" [=["type":"error"]=] refused)
if(NOT refused EQUAL -1)
  message(FATAL_ERROR "digd refused a frame of the example:\n${output}")
endif()

# Without a daemon the team works on, and loses a message. Nothing listens on the discard port.
set(ENV{DIGD_URL} 127.0.0.1:9)
run_example(cpp_team)
expect("lost: 'try it' for 'tester'" "reviewer: 'here it is'" "no daemon at 127.0.0.1:9")
