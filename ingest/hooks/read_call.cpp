#include "ingest/hooks/read_call.h"

#include "base/deep_json.h"
#include "ingest/hooks/transcript.h"

namespace digd::hooks {

namespace json = boost::json;

boost::system::result<call, bad_call> read_call(const dialect& as, std::string_view body) {
  json::error_code ec;
  const json::value value = parse_json(body, ec);
  if (ec) return bad_call{"", "the body is not JSON: " + ec.message()};
  const json::object* hook = value.if_object();
  if (hook == nullptr) return bad_call{"", "expected a JSON object"};
  auto made = as.read(*hook);
  if (made && !made->usage) {
    made->transcript = transcript_for(as.name, *hook);
    made->may_read_long = is_long_transcript_read(made->name);
  }
  return made;
}

}  // namespace digd::hooks
