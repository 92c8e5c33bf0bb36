// What a stranger's HTTP request says: its target and parameters, Host and Origin. One a line: the target, then lines
// that are tried as Host, as Origin and as a list of subprotocols.
#include "daemon/http/request_target.h"
#include "daemon/http/request_check.h"
#include "tests/fuzz/target.h"

using namespace digd::daemon;
using digd::fuzz::must;

namespace {

void check_target(std::string_view text) {
  const auto target = split_target(text);
  if (!target) return;
  must(target->path.size() <= most_parts && target->query.size() <= most_parts, "a target has few parts", text);
  std::size_t bytes = 0;
  for (const std::string& part : target->path) bytes += part.size();
  for (const auto& [name, value] : target->query) {
    bytes += name.size() + value.size();
    must(target->parameter(name) != nullptr, "a parameter is found by its name", name);
    digd::fuzz::touch(value);
    if (const auto n = whole_number(value))
      must(value.find_first_not_of("0123456789") == std::string::npos, "a count", value);
  }
  must(bytes <= text.size(), "decoding makes nothing longer", text);
}

void check_header(std::string_view text) {
  listen_address bound;
  std::string why;
  if (!parse_address(text, bound, why)) {
    must(!why.empty(), "an address that is refused is told why", text);
  } else {
    listen_address again;
    must(parse_address(to_string(bound), again, why) && to_string(again) == to_string(bound),
         "an address reads back as itself", text);
  }
  static const trusted_names local({tcp_address{boost::asio::ip::make_address("127.0.0.1"), 7344}}, {"digd.example"},
                                   {});
  must(!local.is_trusted_host(text) || text.find("evil") == std::string_view::npos, "a stranger's host", text);
  must(!local.is_trusted_origin(text, "127.0.0.1:7344") || text.find("evil") == std::string_view::npos,
       "a stranger's origin", text);
  names_token(text, "digd.v1");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest = digd::fuzz::text_of(data, size), line;
  if (digd::fuzz::take_line(rest, line)) check_target(line);
  while (digd::fuzz::take_line(rest, line)) check_header(line);
  return 0;
}
