#include "daemon/webhook/webhook_options.h"

#include <algorithm>
#include <set>

#include "daemon/option_kinds.h"
#include "daemon/webhook/endpoint.h"
#include "engine/quote.h"
#include "rules/rule_id.h"

namespace digd::daemon {

namespace {

using kinds::choice;
using kinds::list;
using kinds::whole_number;
using kinds::words;
using table = std::vector<option>;

constexpr applies when = applies::at_once;
constexpr std::int64_t hour_ms = 3'600'000, week_ms = 7 * 24 * hour_ms;
constexpr std::size_t longest_name = 64;

const std::vector<std::string_view> sendable = {"interventions", "detections"};
const std::vector<std::string_view> severity_names = {"failure", "warning"};
const std::vector<std::string_view> all_rules(rule_names.begin(), rule_names.end());

// An option whose value is looked at by `wrong_with` as well; that says what is wrong with it, or nothing.
template <class Check>
option checked(option one, Check wrong_with) {
  one.set = [take = std::move(one.set), wrong_with](const toml::node& v, config& c) {
    std::string wrong = take(v, c);
    return wrong.empty() ? wrong_with(c.webhooks.back()) : wrong;
  };
  return one;
}

std::string wrong_with_name(const std::string& name) {
  const auto fine = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_'; };
  if (!name.empty() && name.size() <= longest_name && std::all_of(name.begin(), name.end(), fine)) return {};
  return "must be 1 to 64 of a-z, 0-9, - and _";
}

std::string wrong_with_url(const std::string& url) {
  endpoint ignored;
  return parse_endpoint(url, ignored);
}

std::string wrong_with_words(const std::vector<std::string>& given, const std::vector<std::string_view>& known) {
  for (const std::string& one : given) {
    if (std::find(known.begin(), known.end(), one) != known.end()) continue;
    std::string all;
    for (const std::string_view name : known) all.append(all.empty() ? "" : ", ").append(quoted(name));
    return "has " + quoted(one) + "; it takes " + all;
  }
  return {};
}

std::string wrong_with_labels(const std::vector<std::string>& labels) {
  for (const std::string& one : labels) {
    const std::size_t equals = one.find('=');
    if (equals == 0 || equals == std::string::npos) return "has " + quoted(one) + "; a label is written \"name=value\"";
  }
  return {};
}

void add_target(table& all) {
  all.push_back(checked(words(
                            "webhook.name", when, [](auto& c) -> auto& { return c.webhooks.back().name; },
                            "What it is called, in the log, in /v1/webhooks and in the metrics: a-z, 0-9, - and _. It "
                            "has to be given. What waits for it is kept under this name."),
                        [](const webhook_settings& w) { return wrong_with_name(w.name); }));
  all.push_back(checked(words(
                            "webhook.url", when, [](auto& c) -> auto& { return c.webhooks.back().url; },
                            "Where to, http or https; it has to be given. Only this host is ever called: redirects "
                            "are not followed. Shown nowhere beyond host and port."),
                        [](const webhook_settings& w) { return wrong_with_url(w.url); }));
  all.push_back(choice(
      "webhook.format", {"generic", "slack"}, when,
      [](auto& c) -> auto& { return c.webhooks.back().format; },
      "generic: the whole of it in JSON, signed. slack: one text, for Slack and what understands the same."));
  all.push_back(words(
      "webhook.secret_file", when, [](auto& c) -> auto& { return c.webhooks.back().secret_file; },
      "A file with the secret that signs, 16 bytes or more; a line break at its end does not count. "
      "generic needs this or secret_env. Read at the start and on a reload."));
  all.push_back(words(
      "webhook.secret_env", when, [](auto& c) -> auto& { return c.webhooks.back().secret_env; },
      "Instead, the environment variable that holds the secret."));
  all.push_back(words(
      "webhook.ca_file", when, [](auto& c) -> auto& { return c.webhooks.back().ca_file; },
      "Certificates (PEM) to trust for this webhook, in place of the system's. The receiver's "
      "certificate and name are always checked."));
}

void add_filters(table& all) {
  all.push_back(checked(list(
                            "webhook.send", when, [](auto& c) -> auto& { return c.webhooks.back().send; },
                            "What is sent: \"interventions\" (what the monitor did of itself), \"detections\" (every "
                            "time a rule fired)."),
                        [](const webhook_settings& w) {
                          return w.send.empty() ? std::string("must name what to send") : wrong_with_words(w.send, sendable);
                        }));
  all.push_back(checked(list(
                            "webhook.rules", when, [](auto& c) -> auto& { return c.webhooks.back().rules; },
                            "Only of these rules. Empty: all."),
                        [](const webhook_settings& w) { return wrong_with_words(w.rules, all_rules); }));
  all.push_back(checked(list(
                            "webhook.severities", when, [](auto& c) -> auto& { return c.webhooks.back().severities; },
                            "Only of these: \"failure\", \"warning\". Empty: both."),
                        [](const webhook_settings& w) { return wrong_with_words(w.severities, severity_names); }));
  all.push_back(checked(list(
                            "webhook.labels", when, [](auto& c) -> auto& { return c.webhooks.back().labels; },
                            "Only of runs with all of these labels in their first hello: \"team=search\". Empty: all runs."),
                        [](const webhook_settings& w) { return wrong_with_labels(w.labels); }));
}

void add_delivery(table& all) {
  all.push_back(whole_number(
      "webhook.timeout_ms", 100, 120'000, when,
      [](auto& c) -> auto& { return c.webhooks.back().timeout_ms; },
      "How long one attempt may take, from the name's look-up to the answer. Milliseconds."));
  all.push_back(whole_number(
      "webhook.attempts", 1, 1'000, when,
      [](auto& c) -> auto& { return c.webhooks.back().attempts; },
      "Attempts at one callback; then it is a dead letter, and the run's next has its turn."));
  all.push_back(whole_number(
      "webhook.retry_ms", 10, hour_ms, when,
      [](auto& c) -> auto& { return c.webhooks.back().retry_ms; },
      "How long to wait after a first failure; doubled with each one, and by chance up to half "
      "shorter. Milliseconds."));
  all.push_back(whole_number(
      "webhook.retry_most_ms", 10, 24 * hour_ms, when,
      [](auto& c) -> auto& { return c.webhooks.back().retry_most_ms; },
      "The longest wait between attempts. Milliseconds."));
  all.push_back(whole_number(
      "webhook.max_age_ms", 1'000, 4 * week_ms, when,
      [](auto& c) -> auto& { return c.webhooks.back().max_age_ms; },
      "A callback that is older than this is not sent any more, but a dead letter. Milliseconds."));
  all.push_back(whole_number(
      "webhook.concurrency", 1, 64, when,
      [](auto& c) -> auto& { return c.webhooks.back().concurrency; },
      "Posts under way at once, each for another run: a run's next waits for the one before."));
  all.push_back(whole_number(
      "webhook.dead_letters", 0, 10'000, when,
      [](auto& c) -> auto& { return c.webhooks.back().dead_letters; },
      "Dead letters kept; beyond, the oldest goes."));
}

table all_options() {
  table all;
  add_target(all);
  add_filters(all);
  add_delivery(all);
  return all;
}

const webhook_settings* find(const config& in, const std::string& name) {
  for (const webhook_settings& one : in.webhooks) {
    if (one.name == name) return &one;
  }
  return nullptr;
}

}  // namespace

const std::vector<option>& webhook_options() {
  static const table all = all_options();
  return all;
}

std::string check_webhook(const webhook_settings& one) {
  if (one.name.empty()) return "a webhook needs a `name`";
  const std::string which = "the webhook " + quoted(one.name) + ' ';
  if (one.url.empty()) return which + "needs a `url`";
  if (!one.secret_file.empty() && !one.secret_env.empty()) return which + "has both secret_file and secret_env; give one";
  if (one.format == "generic" && one.secret_file.empty() && one.secret_env.empty()) {
    return which + "needs secret_file or secret_env, so that its receiver can tell who calls";
  }
  if (one.retry_ms > one.retry_most_ms) return which + "has a retry_ms that is larger than its retry_most_ms";
  endpoint where;
  if (!one.ca_file.empty() && parse_endpoint(one.url, where).empty() && !where.tls) {
    return which + "has a ca_file, and its url is not https";
  }
  return {};
}

std::string check_webhooks(const config& c) {
  if (c.webhooks.empty()) return {};
  if (!c.archive) return "webhook: webhooks are read from the archive, and it is off; set archive = true";
  if (c.webhooks.size() > most_webhooks) return "webhook: there may be " + std::to_string(most_webhooks) + " at most";
  std::set<std::string> names;
  for (const webhook_settings& one : c.webhooks) {
    if (!names.insert(one.name).second) return "webhook: the name " + quoted(one.name) + " is given twice";
  }
  return {};
}

std::vector<std::string> webhook_warnings(const config& c) {
  std::vector<std::string> all;
  for (const webhook_settings& one : c.webhooks) {
    endpoint where;
    if (!parse_endpoint(one.url, where).empty() || where.tls || where.is_loopback()) continue;
    all.push_back("the webhook " + quoted(one.name) + " goes to " + quoted(where.shown()) +
                  " over plain HTTP: others on the way can read it; use https");
  }
  return all;
}

std::string shown_webhooks(const config& c) {
  std::string out;
  for (const webhook_settings& one : c.webhooks) {
    config alone;
    alone.webhooks.push_back(one);
    endpoint where;
    if (parse_endpoint(one.url, where).empty()) alone.webhooks.back().url = where.shown();
    out += "\n[[webhook]]\n";
    for (const option& each : webhook_options()) out.append(each.key()).append(" = ").append(each.get(alone)).append("\n");
  }
  return out;
}

std::vector<std::string> webhook_changes(const config& before, const config& after) {
  std::vector<std::string> all;
  for (const webhook_settings& one : before.webhooks) {
    const webhook_settings* now = find(after, one.name);
    if (now == nullptr) all.push_back("webhook." + one.name + ": removed");
    if (now != nullptr && *now != one) all.push_back("webhook." + one.name + ": changed");
  }
  for (const webhook_settings& one : after.webhooks) {
    if (find(before, one.name) == nullptr) all.push_back("webhook." + one.name + ": added");
  }
  return all;
}

}  // namespace digd::daemon
