#include "daemon/webhook/webhook_api.h"

#include <spdlog/spdlog.h>
#include <algorithm>
#include <optional>
#include <utility>

#include "base/json_writer.h"
#include "base/quote.h"
#include "healing/callback_body.h"

namespace digd::daemon {

namespace {

using boost::beast::http::status;

void write_list(json_writer& to, std::string_view name, const std::vector<std::string>& texts) {
  to.key(name).open_array();
  for (const std::string& text : texts) to.text(text);
  to.close_array();
}

std::optional<std::int64_t> time_or_none(std::int64_t unix_ms) {
  return unix_ms == 0 ? std::nullopt : std::optional(unix_ms);
}

void write_status(json_writer& to, const webhook_status& s) {
  to.open_object().key("name").text(s.name).key("url").text(s.shown_url).key("format").text(s.format);
  write_list(to, "send", s.send);
  write_list(to, "rules", s.rules);
  write_list(to, "severities", s.severities);
  write_list(to, "labels", s.labels);
  write_list(to, "runs", s.runs);
  to.key("state").text(s.last_failure.empty() ? "well" : "failing");
  to.key("delivered").integer(s.posted).key("failed").integer(s.failed).key("retried").integer(s.retried);
  to.key("died").integer(s.died).key("dead_dropped").integer(s.dead_dropped).key("dead").integer(s.dead);
  to.key("waiting").integer(s.waiting).key("under_way").integer(s.under_way).key("retrying").integer(s.retrying);
  to.key("joined").integer(s.joined).key("rate_waits").integer(s.rate_waits).key("unread").integer(s.unread);
  to.key("last_delivered_ms").integer_or_null(time_or_none(s.last_posted_ms));
  to.key("last_failed_ms").integer_or_null(time_or_none(s.last_failed_ms));
  to.key("last_failure").text_or_null(s.last_failure).close_object();
}

void write_dead(json_writer& to, const std::string& prefix, const dead_letter& dead_letter, const std::string& run) {
  const stored_callback& callback = dead_letter.callback;
  to.open_object().key("id").text(callback_id(prefix, callback.kind, callback.row)).key("run").text(run);
  to.key("kind").text(to_string(callback.kind)).key("rule").text(callback.rule);
  to.key("since_ms").integer(callback.since_ms).key("attempts").integer(callback.attempts);
  to.key("died_ms").integer(dead_letter.died_ms).key("why").text(dead_letter.problem).close_object();
}

http_response no_such_webhook(const std::string& name) {
  return respond_error(status::not_found, "no_such_webhook", "there is no webhook " + digd::quoted(name));
}

http_response webhooks_unreadable(const std::string& words) {
  spdlog::error("webhook_storage_error reason={}", digd::quoted(words));
  return respond_error(status::internal_server_error, "webhooks_unreadable",
                       "cannot read webhooks.db or the archive: " + words);
}

// A token sees a webhook only if it covers all of the webhook's runs. A token for `prod-` sees a webhook for
// `prod-eu-`, but not one for all runs.
bool may_see(const grant_ptr& viewer, const std::vector<std::string>& runs) {
  if (!viewer || viewer->covers_all_runs()) return true;
  return !runs.empty() &&
         std::all_of(runs.begin(), runs.end(), [&](const std::string& prefix) { return viewer->covers(prefix); });
}

http_response dead_page(webhook_server& server, const std::string& name, const page_request& page,
                        const grant_ptr& viewer) {
  webhook* const webhook = server.find(name);
  if (webhook == nullptr || !may_see(viewer, webhook->status().runs)) return no_such_webhook(name);
  std::vector<dead_letter> letters;
  const archive::failure failed =
      server.store().dead_letters(name, static_cast<std::int64_t>(page.cursor), page.limit + 1, letters);
  if (failed) return webhooks_unreadable(failed.words);
  const bool more = letters.size() > page.limit;
  if (more) letters.pop_back();
  std::string out;
  json_writer to(out);
  to.open_object().key("webhook").text(name).key("dead").open_array();
  for (const dead_letter& dead_letter : letters) {
    const auto run = server.reads().run_of(dead_letter.callback.run_number);
    if (!run) return webhooks_unreadable(run.error().message());
    if (!*run || (viewer && !viewer->covers(**run))) continue;  // the run was just deleted, or is not the viewer's
    write_dead(to, server.store().prefix(), dead_letter, **run);
  }
  to.close_array().key("next").text_or_null(more ? std::to_string(letters.back().callback.id) : "").close_object();
  return respond_json(out + '\n');
}

void answer_on_thread(webhook_server& server, const webhook_answer& on_answer,
                      std::function<http_response(webhook_server&)> make) {
  server.run([on_answer, make = std::move(make)](webhook_server& self) { on_answer(make(self)); },
             [&on_answer] { on_answer(stopping()); });
}

}  // namespace

void list_webhooks(webhook_server& server, grant_ptr viewer, const webhook_answer& on_answer) {
  answer_on_thread(server, on_answer, [viewer = std::move(viewer)](webhook_server& self) {
    std::string out;
    json_writer to(out);
    to.open_object().key("webhooks").open_array();
    for (const auto& webhook : self.webhooks()) {
      const webhook_status status = webhook->status();
      if (may_see(viewer, status.runs)) write_status(to, status);
    }
    to.close_array().close_object();
    return respond_json(out + '\n');
  });
}

void list_dead_letters(webhook_server& server, const std::string& name, const page_request& page, grant_ptr viewer,
                       const webhook_answer& on_answer) {
  answer_on_thread(server, on_answer, [name, page, viewer = std::move(viewer)](webhook_server& self) {
    return dead_page(self, name, page, viewer);
  });
}

void retry_dead_letters(webhook_server& server, const std::string& name, const webhook_answer& on_answer) {
  answer_on_thread(server, on_answer, [name](webhook_server& self) {
    webhook* webhook = self.find(name);
    if (webhook == nullptr) return no_such_webhook(name);
    std::uint64_t revived = 0;
    if (const archive::failure failed = webhook->revive(revived)) return webhooks_unreadable(failed.words);
    spdlog::info("webhook_dead_retried name={} count={}", digd::quoted(name), revived);
    std::string body;
    json_writer to(body);
    to.open_object().key("retried").integer(revived).key("dead").integer(webhook->status().dead).close_object();
    return respond_json(body + '\n');
  });
}

}  // namespace digd::daemon
