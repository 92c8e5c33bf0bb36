// The page behind a signed link to a hold (docs/webhooks.md). GET only shows the hold, so that a program that previews
// the link decides nothing. POST decides.
#include <algorithm>
#include <boost/json/serialize.hpp>
#include <string>
#include <string_view>

#include "base/deep_json.h"
#include "base/unix_time.h"
#include "daemon/api/call.h"
#include "daemon/api/hold_lists.h"
#include "daemon/api/holds.h"
#include "daemon/webhook/webhook_server.h"
#include "report/picture/xml.h"

namespace digd::daemon {

namespace {

namespace http = boost::beast::http;
namespace json = boost::json;
using picture::xml;

// `frame-ancestors`: no other page can embed this one and lay its own buttons over it.
constexpr std::string_view hold_page_policy =
    "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

constexpr std::string_view head =
    "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>digd: held event</title>"
    "<meta name=\"viewport\" content=\"width=device-width\"><meta name=\"robots\" content=\"noindex\"><style>"
    "body{font:16px/1.5 system-ui,sans-serif;max-width:42rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a;"
    "background:#fff}dt{font-weight:600;margin-top:.75rem}dd{margin:0;overflow-wrap:anywhere}pre{white-space:pre-wrap;"
    "overflow-wrap:anywhere;background:#f2f2f2;padding:.75rem;max-height:20rem;overflow:auto}textarea{width:100%;"
    "box-sizing:border-box;font:inherit}button{font:inherit;padding:.5rem 1rem;margin:.5rem .5rem 0 0}"
    "</style></head><body>";

http_response page(http::status status, const std::string& body) {
  http_response response = respond(status, "text/html; charset=utf-8", std::string(head) + body + "</body></html>\n");
  response.set("Content-Security-Policy", {hold_page_policy.data(), hold_page_policy.size()});
  // With `no-referrer` a browser's POST would have no usable Origin.
  response.set("Referrer-Policy", "same-origin");
  return response;
}

http_response notice(http::status status, std::string_view title, std::string_view text) {
  return page(status, "<h1>" + xml(title) + "</h1><p>" + xml(text) + "</p>");
}

http_response hold_ended() {
  return notice(http::status::gone, "This hold has ended",
                "The event no longer waits for a decision: somebody decided, the time was over, or the run ended.");
}

std::string entry(std::string_view name, std::string_view text) {
  return "<dt>" + xml(name) + "</dt><dd>" + xml(text) + "</dd>";
}

std::string text_in(const json::object& from, std::string_view name) {
  const json::value* value = from.if_contains(name);
  if (value == nullptr || value->is_null()) return {};
  const json::string* text = value->if_string();
  return text == nullptr ? json::serialize(*value) : std::string(text->data(), text->size());
}

std::string names_in(const json::object& from, std::string_view name) {
  std::string out;
  for (const json::value& value : from.at(name).as_array()) {
    const json::string& text = value.as_string();
    out.append(out.empty() ? "" : ", ").append(text.data(), text.size());
  }
  return out;
}

std::string seconds(std::int64_t ms) { return std::to_string(std::max<std::int64_t>(0, ms) / 1000) + " s"; }

std::string timing_of(const json::object& hold) {
  const std::string on_timeout = text_in(hold, "on_timeout") == "return" ? "returned" : "released";
  const auto since = hold.at("since").to_number<std::int64_t>(), due = hold.at("due").to_number<std::int64_t>();
  if (text_in(hold, "clock") != "wall") return seconds(due - since) + " of the run's clock; then it is " + on_timeout;
  const std::int64_t now = unix_ms();
  return "for " + seconds(now - since) + "; in " + seconds(due - now) + " it is " + on_timeout;
}

std::string spent_text(const json::object& used) {
  return text_in(used, "cost") + " (cost), " + text_in(used, "input_tokens") + " input and " +
         text_in(used, "output_tokens") + " output tokens, " + text_in(used, "model_calls") + " model calls, " +
         text_in(used, "tool_calls") + " tool calls";
}

std::string payload_block(const json::object& hold) {
  const json::value& payload = hold.at("payload");
  if (!payload.is_null()) return "<dt>Payload</dt><dd><pre>" + xml(json::serialize(payload)) + "</pre></dd>";
  const std::string bytes = text_in(hold, "payload_bytes");
  return entry("Payload", bytes.empty() ? "not kept" : "too large to show: " + bytes + " bytes");
}

http_response hold_page(const hold_link& link, const std::string& text) {
  json::error_code ec;
  const json::value parsed = parse_json(text, ec);
  const json::object* const fields = ec ? nullptr : parsed.if_object();
  if (fields == nullptr || text_in(*fields, "event") != link.event) return hold_ended();
  const json::object& hold = *fields;
  const std::string sender = text_in(hold, "sender");
  const json::object& spent = hold.at("spent").as_object();
  std::string body = "<h1>An event waits for your decision</h1><dl>";
  body += entry("Run", link.run) + entry("From", sender.empty() ? "outside of the system" : sender);
  body += entry("To", names_in(hold, "recipients")) + entry("Event", link.event);
  body += entry("Why", text_in(hold, "guard") + ": " + text_in(hold, "reason")) + entry("Waits", timing_of(hold));
  body += entry("Spent by the run", spent_text(spent.at("run").as_object()));
  if (!sender.empty()) body += entry("Spent by " + sender, spent_text(spent.at("sender").as_object()));
  body += payload_block(hold) + "</dl><form method=\"post\"><p><label>Text for the agent (optional)<br>";
  body += "<textarea name=\"text\" rows=\"3\" maxlength=\"4000\"></textarea></label></p>";
  body += "<button name=\"decision\" value=\"release\">Release: deliver the event</button>";
  body += "<button name=\"decision\" value=\"return\">Return: give it back to its sender</button></form>";
  return page(http::status::ok, body);
}

http_response decided(hold_end decision, const http_response& from) {
  if (from.result() == http::status::ok) {
    const bool released = decision == hold_end::release;
    return notice(http::status::ok, released ? "Released" : "Returned",
                  released ? "The event goes to its recipients." : "The event goes back to its sender.");
  }
  const bool ended = from.result() == http::status::conflict || from.result() == http::status::not_found;
  return ended ? hold_ended() : notice(from.result(), "Not decided", "digd could not take the decision; try again.");
}

http_response bad_form() {
  return notice(http::status::bad_request, "Not decided", "The form was not complete. Open the link again.");
}

routed take_decision(call& in, const hold_link& link) {
  const auto form = split_target("/?" + std::string(in.body));
  const std::string* word = form ? form->parameter("decision") : nullptr;
  const auto decision = word == nullptr ? std::nullopt : hold_end_from(*word);
  const std::string* text = form ? form->parameter("text") : nullptr;
  if (!decision || (text != nullptr && text->size() > max_decision_text_bytes)) return bad_form();
  ingest::own_line line{.kind = ingest::record_kind::decision, .hold = link.hold};
  line.decision = *decision;
  if (text != nullptr) line.text = *text;
  line.by = "webhook " + link.webhook;
  return deferred_response{[&runs = in.services.runs, link, line](const response_callback& respond_to) {
    decide_hold(runs, link.run, link.run_number, line,
                [end = line.decision, respond_to](http_response&& response) { respond_to(decided(end, response)); });
  }};
}

routed show(call& in, const hold_link& link) {
  return deferred_response{[&runs = in.services.runs, reads = reads_of(in), link](const response_callback& respond_to) {
    show_hold(runs, reads, link.run, link.run_number, link.hold, [link, respond_to](const std::string& text) {
      respond_to(text.empty() ? hold_ended() : hold_page(link, text));
    });
  }};
}

}  // namespace

routed get_or_post_hold_page(call& in) {
  hold_link link;
  const std::string* text = in.target.parameter("link");
  const auto state = text == nullptr || in.services.webhooks == nullptr ? hold_links::state::forged
                                                                        : in.services.webhooks->read_link(*text, link);
  if (state == hold_links::state::forged) {
    return notice(http::status::forbidden, "This link is not valid",
                  "digd did not make it, or it is not complete. Copy the whole link from the message.");
  }
  if (state == hold_links::state::expired) {
    return notice(http::status::gone, "This link has expired", "Decide with `digctl hold` or on the dashboard.");
  }
  if (state == hold_links::state::revoked) {
    return notice(http::status::gone, "This link was revoked",
                  "The webhook that posted it sends no links any more. Decide with `digctl hold` or on the dashboard.");
  }
  return in.request.method() == http::verb::post ? take_decision(in, link) : show(in, link);
}

}  // namespace digd::daemon
