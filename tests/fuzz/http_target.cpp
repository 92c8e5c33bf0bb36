// Parts of an untrusted HTTP request. The first line is the target. Each further line is tried as an address, as Host,
// as Origin and as a list of subprotocols.
#include "daemon/http/request_check.h"
#include "daemon/http/request_target.h"
#include "tests/fuzz/target.h"

using namespace digd::daemon;
using digd::fuzz::must;

namespace {

void check_target(std::string_view text) {
  const auto target = split_target(text);
  if (!target) return;
  must(target->path.size() <= max_parts && target->query.size() <= max_parts, "a target has few parts", text);
  std::size_t bytes = 0;
  for (const std::string& part : target->path) bytes += part.size();
  for (const auto& [name, value] : target->query) {
    bytes += name.size() + value.size();
    must(target->parameter(name) != nullptr, "a parameter is found by its name", name);
    digd::fuzz::touch(value);
    if (const auto n = whole_number(value))
      must(value.find_first_not_of("0123456789") == std::string::npos, "a whole number has only digits", value);
  }
  must(bytes <= text.size(), "decoding does not lengthen a target", text);
}

void check_header(std::string_view text) {
  listen_address bound;
  std::string problem;
  if (!parse_address(text, bound, problem)) {
    must(!problem.empty(), "a refused address has a reason", text);
  } else {
    listen_address parsed_again;
    must(parse_address(to_string(bound), parsed_again, problem) && to_string(parsed_again) == to_string(bound),
         "an address reads back as the same address", text);
  }
  static const trusted_names local({tcp_address{boost::asio::ip::make_address("127.0.0.1"), 7344}}, {"digd.example"},
                                   {});
  must(!local.is_trusted_host(text, false) || text.find("evil") == std::string_view::npos,
       "an unknown host is not trusted", text);
  must(!local.is_trusted_origin(text, "127.0.0.1:7344", false) || text.find("evil") == std::string_view::npos,
       "an unknown origin is not trusted", text);
  names_token(text, "digd.v1");
}

}  // namespace

FUZZ_TARGET(http_target) {
  std::string_view rest = digd::fuzz::text_of(data, size), line;
  if (digd::fuzz::take_line(rest, line)) check_target(line);
  while (digd::fuzz::take_line(rest, line)) check_header(line);
  return 0;
}
