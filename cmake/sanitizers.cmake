# Checking each pointer takes a third of the time to compile code that uses Beast. Without DIGD_SANITIZE_POINTERS only
# the core has these checks: what judges, what decodes and what stores. The address sanitizer still finds the use of a
# null pointer everywhere.
if(DIGD_SANITIZE MATCHES undefined AND NOT DIGD_SANITIZE_POINTERS)
  foreach(target digd_asio digd_net digd_http digd_client digd_cpp_client digd_settings digd_homes digd_daemon
      digd_services digd digd_hooks digd_trace digd_importers digd_mcp digd_otlp digd_otlp_wire digd_picture digd_report
      digd_stored_runs)
    target_compile_options(${target} PRIVATE -fno-sanitize=null,alignment,vptr)
  endforeach()
endif()
