#include "daemon/settings/webhook_options.h"

#include <algorithm>
#include <set>

#include "base/quote.h"
#include "base/shown_url.h"
#include "daemon/settings/option_kinds.h"
#include "daemon/settings/otlp_export_options.h"
#include "model/rule_id.h"
#include "net/http_url.h"

namespace digd::daemon {

namespace {

using kinds::choice;
using kinds::list;
using kinds::whole_number;
using kinds::words;
using table = std::vector<option>;

constexpr applies at_once = applies::at_once;
constexpr std::int64_t hour_ms = 3'600'000;
constexpr std::size_t max_name_bytes = 64;

const std::vector<std::string_view> sendable = {"interventions", "detections"};
const std::vector<std::string_view> severity_names = {"failure", "warning"};
const std::vector<std::string_view> all_rules(rule_names.begin(), rule_names.end());

// An option with a further check of its value, which returns a problem or nothing.
template <class Check>
option checked(option given_option, Check check) {
  given_option.set = [take = std::move(given_option.set), check](const toml::node& v, config& c) {
    std::string wrong = take(v, c);
    return wrong.empty() ? check(c.webhooks.back()) : wrong;
  };
  return given_option;
}

std::string problem_of_name(const std::string& name) {
  const auto fine = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_'; };
  if (!name.empty() && name.size() <= max_name_bytes && std::all_of(name.begin(), name.end(), fine)) return {};
  return "must be 1 to 64 of a-z, 0-9, - and _";
}

std::string wrong_with_url(const std::string& url) {
  net::http_url ignored;
  return net::parse_http_url(url, ignored);
}

std::string wrong_with_words(const std::vector<std::string>& given, const std::vector<std::string_view>& known) {
  for (const std::string& word : given) {
    if (std::find(known.begin(), known.end(), word) != known.end()) continue;
    std::string choices;
    for (const std::string_view name : known) choices.append(choices.empty() ? "" : ", ").append(digd::quoted(name));
    return "has " + digd::quoted(word) + "; it takes " + choices;
  }
  return {};
}

std::string wrong_with_labels(const std::vector<std::string>& labels) {
  for (const std::string& text : labels) {
    const std::size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos)
      return "has " + digd::quoted(text) + "; a label is written \"name=value\"";
  }
  return {};
}

std::string wrong_with_dashboard(const std::string& url) {
  if (url.empty()) return {};
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.:/_~%[]-";
  if (url.find_first_not_of(plain) != std::string::npos)
    return "must be a URL of letters, digits and . : / _ ~ % [ ] - alone";
  return wrong_with_url(url);
}

void add_target(table& table) {
  table.push_back(checked(words(
                              "webhook.name", at_once, [](auto& c) -> auto& { return c.webhooks.back().name; },
                              "The name in the log, in /v1/webhooks and in the metrics: a-z, 0-9, - and _. Required. "
                              "Waiting callbacks are stored under this name."),
                          [](const webhook_settings& w) { return problem_of_name(w.name); }));
  table.push_back(checked(words(
                              "webhook.url", at_once, [](auto& c) -> auto& { return c.webhooks.back().url; },
                              "The receiver's URL, http or https. Required. digd calls only this host and follows no "
                              "redirects. It shows only host and port anywhere."),
                          [](const webhook_settings& w) { return wrong_with_url(w.url); }));
  table.push_back(choice(
      "webhook.format", {"generic", "slack", "pagerduty"}, at_once,
      [](auto& c) -> auto& { return c.webhooks.back().format; },
      "generic: signed JSON with all data. slack: one text, for Slack and compatible receivers. pagerduty: an alert "
      "for PagerDuty's Events API v2; the secret is the routing key."));
  table.push_back(
      checked(words(
                  "webhook.dashboard", at_once, [](auto& c) -> auto& { return c.webhooks.back().dashboard; },
                  "Where people open the dashboard, for example \"https://digd.example.org\". Posts to Slack "
                  "and PagerDuty then link to the run."),
              [](const webhook_settings& w) { return wrong_with_dashboard(w.dashboard); }));
  table.push_back(words(
      "webhook.secret_file", at_once, [](auto& c) -> auto& { return c.webhooks.back().secret_file; },
      "A file with the signing secret, 16 bytes or more, not counting a final line break. generic needs this or "
      "secret_env. Read at the start and on a reload."));
  table.push_back(words(
      "webhook.secret_env", at_once, [](auto& c) -> auto& { return c.webhooks.back().secret_env; },
      "The environment variable that holds the secret, instead of a file."));
  table.push_back(words(
      "webhook.ca_file", at_once, [](auto& c) -> auto& { return c.webhooks.back().ca_file; },
      "Certificates (PEM) to trust for this webhook, in place of the system's. The receiver's "
      "certificate and name are always checked."));
  table.push_back(kinds::yes_or_no(
      "webhook.hold_links", at_once, [](auto& c) -> auto& { return c.webhooks.back().hold_links; },
      "Whether a callback about a held event has a signed link to a page under `dashboard`. Anyone who has the link "
      "may decide about that event, once, without a token."));
}

void add_filters(table& table) {
  table.push_back(checked(list(
                              "webhook.send", at_once, [](auto& c) -> auto& { return c.webhooks.back().send; },
                              "What digd sends: \"interventions\" (events that digd created or gave back by itself), "
                              "\"detections\" (every time a rule fired)."),
                          [](const webhook_settings& w) {
                            return w.send.empty() ? std::string("must name what to send")
                                                  : wrong_with_words(w.send, sendable);
                          }));
  table.push_back(checked(list(
                              "webhook.rules", at_once, [](auto& c) -> auto& { return c.webhooks.back().rules; },
                              "Only for these rules. Empty: all."),
                          [](const webhook_settings& w) { return wrong_with_words(w.rules, all_rules); }));
  table.push_back(
      checked(list(
                  "webhook.severities", at_once, [](auto& c) -> auto& { return c.webhooks.back().severities; },
                  "Only for these severities: \"failure\", \"warning\". Empty: both."),
              [](const webhook_settings& w) { return wrong_with_words(w.severities, severity_names); }));
  table.push_back(checked(list(
                              "webhook.labels", at_once, [](auto& c) -> auto& { return c.webhooks.back().labels; },
                              "Only for runs with all of these labels in their first hello. Example: \"team=search\". "
                              "Empty: all runs."),
                          [](const webhook_settings& w) { return wrong_with_labels(w.labels); }));
  table.push_back(list(
      "webhook.runs", at_once, [](auto& c) -> auto& { return c.webhooks.back().runs; },
      "Only for runs whose id begins with one of these. Empty: all runs. A token for some runs sees a webhook only if "
      "the token covers all runs of it."));
}

void add_delivery(table& table) {
  table.push_back(whole_number(
      "webhook.timeout_ms", 100, 120'000, at_once, [](auto& c) -> auto& { return c.webhooks.back().timeout_ms; },
      "How long one attempt may take, from the DNS lookup to the response. Milliseconds."));
  table.push_back(whole_number(
      "webhook.attempts", 1, 1'000, at_once, [](auto& c) -> auto& { return c.webhooks.back().attempts; },
      "Attempts to deliver one callback. After that, it becomes a dead letter, and digd sends the run's next "
      "callback."));
  table.push_back(whole_number(
      "webhook.retry_ms", 10, hour_ms, at_once, [](auto& c) -> auto& { return c.webhooks.back().retry_ms; },
      "How long to wait after the first failure. Each further failure doubles the wait; random jitter shortens it "
      "by up to half. Milliseconds."));
  table.push_back(whole_number(
      "webhook.retry_most_ms", 10, 24 * hour_ms, at_once,
      [](auto& c) -> auto& { return c.webhooks.back().retry_most_ms; },
      "The longest wait between attempts. Milliseconds."));
  table.push_back(whole_number(
      "webhook.max_age_ms", 1'000, 28 * 24 * hour_ms, at_once,
      [](auto& c) -> auto& { return c.webhooks.back().max_age_ms; },
      "A callback older than this becomes a dead letter without a further attempt. Milliseconds."));
  table.push_back(whole_number(
      "webhook.concurrency", 1, 64, at_once, [](auto& c) -> auto& { return c.webhooks.back().concurrency; },
      "Posts in progress at the same time, each for a different run. A run's next callback waits for the one "
      "before."));
  table.push_back(whole_number(
      "webhook.dead_letters", 0, 10'000, at_once, [](auto& c) -> auto& { return c.webhooks.back().dead_letters; },
      "Dead letters to keep. Beyond that, digd drops the oldest."));
  table.push_back(whole_number(
      "webhook.group_ms", 0, 24 * hour_ms, at_once, [](auto& c) -> auto& { return c.webhooks.back().group_ms; },
      "slack and pagerduty: digd posts one alert of a rule and an agent in this time, and leaves out further ones. The "
      "next post says how many. A hold is always posted. Milliseconds; 0: every alert is posted."));
  table.push_back(whole_number(
      "webhook.rate", 0, 600, at_once, [](auto& c) -> auto& { return c.webhooks.back().rate; },
      "slack and pagerduty: the most posts a minute; further ones wait. 0: no limit."));
}

table make_webhook_options() {
  table table;
  add_target(table);
  add_filters(table);
  add_delivery(table);
  return table;
}

const webhook_settings* find(const config& in, const std::string& name) {
  for (const webhook_settings& settings : in.webhooks) {
    if (settings.name == name) return &settings;
  }
  return nullptr;
}

}  // namespace

const std::vector<option>& webhook_options() {
  static const table table = make_webhook_options();
  return table;
}

std::string check_webhook(const webhook_settings& settings) {
  if (settings.name.empty()) return "a webhook needs a `name`";
  const std::string which = "the webhook " + digd::quoted(settings.name) + ' ';
  if (settings.url.empty()) return which + "needs a `url`";
  if (!settings.secret_file.empty() && !settings.secret_env.empty())
    return which + "has both secret_file and secret_env; set only one";
  if (settings.format == "generic" && settings.secret_file.empty() && settings.secret_env.empty()) {
    return which + "needs secret_file or secret_env, so that its receiver can check the sender";
  }
  if (settings.format == "pagerduty" && settings.secret_file.empty() && settings.secret_env.empty()) {
    return which + "needs secret_file or secret_env with the routing key of PagerDuty";
  }
  if (settings.hold_links && settings.dashboard.empty()) return which + "has hold_links and needs a `dashboard`";
  if (settings.retry_ms > settings.retry_most_ms) return which + "has a retry_ms that is larger than its retry_most_ms";
  net::http_url where;
  if (!settings.ca_file.empty() && net::parse_http_url(settings.url, where).empty() && !where.tls) {
    return which + "has a ca_file, and its url is not https";
  }
  return {};
}

std::string check_webhooks(const config& c) {
  if (c.webhooks.empty()) return {};
  if (!c.archive) return "webhook: webhooks need the archive, which is off; set archive = true";
  if (c.webhooks.size() > max_webhooks) return "webhook: there may be " + std::to_string(max_webhooks) + " at most";
  std::set<std::string> names;
  for (const webhook_settings& settings : c.webhooks) {
    if (!names.insert(settings.name).second)
      return "webhook: the name " + digd::quoted(settings.name) + " is given twice";
  }
  return {};
}

std::vector<std::string> webhook_warnings(const config& c) {
  std::vector<std::string> texts;
  for (const webhook_settings& settings : receivers_of(c)) {
    net::http_url where;
    if (!net::parse_http_url(settings.url, where).empty() || where.tls || where.is_loopback()) continue;
    const bool is_export = settings.name == otlp_export_name;
    const std::string which = is_export ? "[otlp_export]" : "the webhook " + digd::quoted(settings.name);
    texts.push_back(which + " goes to " + digd::quoted(where.shown()) +
                    " over plain HTTP: anyone on the network path can read it; use https");
  }
  return texts;
}

std::string shown_webhooks(const config& c) {
  std::string out;
  for (const webhook_settings& settings : c.webhooks) {
    config alone;
    alone.webhooks.push_back(settings);
    alone.webhooks.back().url = shown_url(settings.url);
    out += "\n[[webhook]]\n";
    for (const option& each : webhook_options())
      out.append(each.key()).append(" = ").append(each.get(alone)).append("\n");
  }
  return out;
}

std::vector<std::string> webhook_changes(const config& before, const config& after) {
  std::vector<std::string> texts;
  for (const webhook_settings& settings : before.webhooks) {
    const webhook_settings* now = find(after, settings.name);
    if (now == nullptr) texts.push_back("webhook." + settings.name + ": removed");
    if (now != nullptr && *now != settings) texts.push_back("webhook." + settings.name + ": changed");
  }
  for (const webhook_settings& settings : after.webhooks) {
    if (find(before, settings.name) == nullptr) texts.push_back("webhook." + settings.name + ": added");
  }
  return texts;
}

}  // namespace digd::daemon
