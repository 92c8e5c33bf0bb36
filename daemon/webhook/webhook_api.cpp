#include "daemon/webhook/webhook_api.h"

#include <optional>
#include <utility>

#include "base/quote.h"
#include "daemon/process/log.h"
#include "daemon/webhook/callback_body.h"
#include "report/stored_runs/json_text.h"

namespace digd::daemon {

namespace {

using boost::beast::http::status;

void append_list(std::string& out, std::string_view name, const std::vector<std::string>& texts) {
  stored::append_member(out, name);
  out += '[';
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (i > 0) out += ',';
    append_quoted(out, texts[i]);
  }
  out += ']';
}

std::optional<std::int64_t> time_or_none(std::int64_t unix_ms) {
  return unix_ms == 0 ? std::nullopt : std::optional(unix_ms);
}

void append_status(std::string& out, const webhook_status& s) {
  out += '{';
  stored::append_text(out, "name", s.name);
  stored::append_text(out, "url", s.shown_url);
  stored::append_text(out, "format", s.format);
  append_list(out, "send", s.send);
  append_list(out, "rules", s.rules);
  append_list(out, "severities", s.severities);
  append_list(out, "labels", s.labels);
  stored::append_text(out, "state", s.last_failure.empty() ? "well" : "failing");
  stored::append_number(out, "delivered", static_cast<std::int64_t>(s.posted));
  stored::append_number(out, "failed", static_cast<std::int64_t>(s.failed));
  stored::append_number(out, "retried", static_cast<std::int64_t>(s.retried));
  stored::append_number(out, "died", static_cast<std::int64_t>(s.died));
  stored::append_number(out, "dead_dropped", static_cast<std::int64_t>(s.dead_dropped));
  stored::append_number(out, "dead", static_cast<std::int64_t>(s.dead));
  stored::append_number(out, "waiting", static_cast<std::int64_t>(s.waiting));
  stored::append_number(out, "under_way", static_cast<std::int64_t>(s.under_way));
  stored::append_number(out, "retrying", static_cast<std::int64_t>(s.retrying));
  stored::append_number(out, "unread", static_cast<std::int64_t>(s.unread));
  stored::append_number_or_null(out, "last_delivered_ms", time_or_none(s.last_posted_ms));
  stored::append_number_or_null(out, "last_failed_ms", time_or_none(s.last_failed_ms));
  stored::append_text_or_null(out, "last_failure", s.last_failure);
  out += '}';
}

void append_dead(std::string& out, const std::string& prefix, const dead_letter& dead_letter, const std::string& run) {
  out += '{';
  stored::append_text(out, "id", callback_id(prefix, dead_letter.callback.kind, dead_letter.callback.row));
  stored::append_text(out, "run", run);
  stored::append_text(out, "kind", to_string(dead_letter.callback.kind));
  stored::append_text(out, "rule", dead_letter.callback.rule);
  stored::append_number(out, "since_ms", dead_letter.callback.since_ms);
  stored::append_number(out, "attempts", dead_letter.callback.attempts);
  stored::append_number(out, "died_ms", dead_letter.died_ms);
  stored::append_text(out, "why", dead_letter.why);
  out += '}';
}

http_response no_such_webhook(const std::string& name) {
  return respond_error(status::not_found, "no_such_webhook", "there is no webhook " + quoted(name));
}

http_response unreadable(const std::string& words) {
  spdlog::error("webhook_trouble why={}", quoted(words));
  return respond_error(status::internal_server_error, "webhooks_unreadable",
                       "webhooks.db or the archive fails: " + words);
}

using visibility = std::function<bool(std::string_view run)>;

http_response dead_page(webhook_server& from, const std::string& name, const page_request& page,
                        const visibility& may_see) {
  if (from.find(name) == nullptr) return no_such_webhook(name);
  std::vector<dead_letter> found;
  const archive::failure why = from.store().dead(name, static_cast<std::int64_t>(page.cursor), page.limit + 1, found);
  if (why) return unreadable(why.words);
  const bool more = found.size() > page.limit;
  if (more) found.pop_back();
  std::string out = "{\"webhook\":";
  append_quoted(out, name);
  out += ",\"dead\":[";
  bool first = true;
  for (const dead_letter& dead_letter : found) {
    const auto run = from.reads().run_of(dead_letter.callback.run_number);
    if (!run) return unreadable(run.error().message());
    if (!*run || !may_see(**run)) continue;  // just deleted, or not for whoever asks
    if (!std::exchange(first, false)) out += ',';
    append_dead(out, from.store().prefix(), dead_letter, **run);
  }
  out += "],\"next\":";
  out += more ? '"' + std::to_string(found.back().callback.id) + '"' : "null";
  return respond_json(out + "}\n");
}

void answer_on(webhook_server& from, const webhook_answer& then, std::function<http_response(webhook_server&)> make) {
  from.ask([then, make = std::move(make)](webhook_server& server) { then(make(server)); },
           [&then] { then(busy("the daemon stops")); });
}

}  // namespace

void list_webhooks(webhook_server& from, const webhook_answer& then) {
  answer_on(from, then, [](webhook_server& server) {
    std::string out = "{\"webhooks\":[";
    const char* between = "";
    for (const auto& webhook : server.all()) {
      out += std::exchange(between, ",");
      append_status(out, webhook->status());
    }
    return respond_json(out + "]}\n");
  });
}

void list_dead_letters(webhook_server& from, const std::string& name, const page_request& page, visibility may_see,
                       const webhook_answer& then) {
  answer_on(from, then, [name, page, may_see = std::move(may_see)](webhook_server& server) {
    return dead_page(server, name, page, may_see);
  });
}

void retry_dead_letters(webhook_server& from, const std::string& name, const webhook_answer& then) {
  answer_on(from, then, [name](webhook_server& server) {
    webhook* webhook = server.find(name);
    if (webhook == nullptr) return no_such_webhook(name);
    std::uint64_t revived = 0;
    if (const archive::failure why = webhook->revive(revived)) return unreadable(why.words);
    spdlog::info("webhook_dead_retried name={} count={}", quoted(name), revived);
    return respond_json("{\"retried\":" + std::to_string(revived) +
                        ",\"dead\":" + std::to_string(webhook->status().dead) + "}\n");
  });
}

}  // namespace digd::daemon
