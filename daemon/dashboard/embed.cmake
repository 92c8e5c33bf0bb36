# Writes a C++ file that embeds all files of a folder: cmake -DFROM=DIR -DTO=FILE -P embed.cmake
#
# embedded.h describes the table in that file. Without an index.html in the folder the table is empty: the dashboard was
# not built. Each file needs a compressed copy beside it, FILE.gz. The C++ file is written only if it changes.
cmake_minimum_required(VERSION 3.25)

set(paths)
if(EXISTS ${FROM}/index.html)
  file(GLOB_RECURSE paths RELATIVE ${FROM} ${FROM}/*)
  list(FILTER paths EXCLUDE REGEX "\\.gz$")
  list(SORT paths)
endif()

# digd tells browsers not to guess content types, so each file needs one.
function(type_of path out)
  set(html "text/html; charset=utf-8")
  set(js "text/javascript; charset=utf-8")
  set(css "text/css; charset=utf-8")
  set(svg "image/svg+xml")
  cmake_path(GET path EXTENSION LAST_ONLY ending)
  string(SUBSTRING "${ending}" 1 -1 ending)
  if(NOT ending MATCHES "^(html|js|css|svg)$")
    message(FATAL_ERROR "${path}: no content type is known for *.${ending}; add it to daemon/dashboard/embed.cmake")
  endif()
  set(${out} "${${ending}}" PARENT_SCOPE)
endfunction()

set(bytes)
set(rows)
set(n 0)
foreach(path IN LISTS paths)
  type_of(${path} type)
  file(SHA256 ${FROM}/${path} hash)
  string(SUBSTRING ${hash} 0 32 hash)
  set(zipped ${FROM}/${path}.gz)
  if(NOT EXISTS ${zipped})
    message(FATAL_ERROR "${zipped} is missing: build the dashboard with its own npm run build")
  endif()
  set(hashed false)
  if(path MATCHES "^assets/")  # Vite puts a digest of the contents into these names
    set(hashed true)
  endif()
  string(APPEND bytes "BYTES(f${n}, \"${FROM}/${path}\")\nBYTES(z${n}, \"${zipped}\")\n")
  string(APPEND rows "      {\"${path}\", \"${type}\", \"${hash}\", VIEW(f${n}), VIEW(z${n}), ${hashed}},\n")
  math(EXPR n "${n} + 1")
endforeach()

if(n EQUAL 0)
  set(table "std::span<const embedded_file> embedded_files() { return {}; }")
else()
  string(CONCAT table "std::span<const embedded_file> embedded_files() {\n"
    "  static const embedded_file files[] = {\n${rows}  };\n"
    "  return files;\n}")
endif()
file(CONFIGURE OUTPUT ${TO} @ONLY CONTENT [=[
// Written by daemon/dashboard/embed.cmake.
#include "daemon/dashboard/embedded.h"

#define BYTES(name, path)                                                                                   \
  __asm__(".pushsection .rodata,\"a\",@progbits\n.balign 16\ndigd_page_" #name ":\n.incbin \"" path         \
          "\"\ndigd_page_" #name "_end:\n.byte 0\n.popsection\n");                                          \
  extern "C" const char digd_page_##name[], digd_page_##name##_end[];
#define VIEW(name) {digd_page_##name, digd_page_##name##_end}

@bytes@
namespace digd::daemon {

@table@

}  // namespace digd::daemon
]=])
