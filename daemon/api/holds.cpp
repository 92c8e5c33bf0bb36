#include "daemon/api/holds.h"

#include <spdlog/spdlog.h>

#include <boost/asio/post.hpp>
#include <boost/json/parse.hpp>
#include <memory>
#include <utility>

#include "base/json_writer.h"
#include "base/quote.h"
#include "daemon/api/http_services.h"
#include "daemon/runs/run_host.h"

namespace digd::daemon {

namespace {

namespace http = boost::beast::http;
namespace json = boost::json;

constexpr std::size_t max_name_bytes = 256;

http_response bad_decision(std::string_view message) {
  return respond_error(http::status::bad_request, "bad_decision", message);
}

// The text of a member; nothing if it is missing, null, too long or no string.
std::string text_of(const json::object& from, std::string_view name, std::size_t max_bytes, bool& good) {
  const json::value* value = from.if_contains(name);
  if (value == nullptr || value->is_null()) return {};
  const json::string* text = value->if_string();
  if (text == nullptr || text->size() > max_bytes) {
    good = false;
    return {};
  }
  return {text->data(), text->size()};
}

}  // namespace

std::variant<ingest::own_line, http_response> read_decision(std::string_view hold, std::string_view body,
                                                            std::string_view authenticated) {
  constexpr std::string_view expected =
      "expected {\"decision\":\"release\"} or \"return\", with an optional text and by";
  const auto number = number_in(hold, "hold:");
  if (!number) return bad_decision("expected a hold as hold:1 in the path");
  json::error_code ec;
  const json::value value = json::parse({body.data(), body.size()}, ec);
  const json::object* fields = ec ? nullptr : value.if_object();
  if (fields == nullptr) return bad_decision(expected);
  bool good = true;
  const auto decision = hold_end_from(text_of(*fields, "decision", max_name_bytes, good));
  ingest::own_line line{.kind = ingest::record_kind::decision, .hold = *number};
  line.text = text_of(*fields, "text", max_decision_text_bytes, good);
  line.by = text_of(*fields, "by", max_name_bytes, good);
  if (!good || !decision) return bad_decision(expected);
  line.decision = *decision;
  if (!authenticated.empty()) line.by = authenticated;
  return line;
}

void decide_hold(const run_control& runs, const std::string& run, std::uint64_t run_number, ingest::own_line decision,
                 std::function<void(http_response&&)> done) {
  engine_thread& owner = runs.threads.owner_of(run);
  boost::asio::post(owner.context(), [&owner, run, run_number, decision = std::move(decision), done = std::move(done)] {
    const std::shared_ptr<run_host> host = owner.runs().find(run);
    if (!host && owner.runs().is_being_read(run)) return done(busy("the run is being read back; try again"));
    if (!host || (run_number != 0 && host->number() != run_number)) return done(no_such_run(run));
    const refusal_note refused = host->decide(decision);
    if (refused) return done(respond_error(http::status::conflict, "hold_closed", refused.text));
    spdlog::warn("hold_decided run={} hold={} decision={} by={}", digd::quoted(run), decision.hold,
                 to_string(decision.decision), digd::quoted(decision.by));
    std::string out;
    json_writer to(out);
    to.open_object().key("hold").text("hold:" + std::to_string(decision.hold));
    to.key("decision").text(to_string(decision.decision)).key("by").text_or_null(decision.by).close_object();
    done(respond_json(out + '\n'));
  });
}

}  // namespace digd::daemon
