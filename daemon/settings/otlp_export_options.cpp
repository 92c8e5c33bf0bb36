#include "daemon/settings/otlp_export_options.h"

#include "base/quote.h"
#include "daemon/settings/option_kinds.h"
#include "net/http_url.h"

namespace digd::daemon {

namespace {

using namespace kinds;

constexpr applies export_applies = applies::at_once;
constexpr std::int64_t max_export_age_ms = 28LL * 24 * 3'600'000;

void add_export_receiver(std::vector<option>& table) {
  table.push_back(url(
      "otlp_export.url", export_applies, [](auto& c) -> auto& { return c.otlp_export.url; },
      "The receiver's URL with its path, for example \"http://127.0.0.1:4318/v1/traces\". Empty: digd exports nothing. "
      "digd sends protobuf."));
  table.push_back(words(
      "otlp_export.headers_file", export_applies, [](auto& c) -> auto& { return c.otlp_export.headers_file; },
      "A file with the headers of each request, a line each: \"Authorization: Bearer …\". 16 to 4096 bytes. Read at "
      "the start and on a reload."));
  table.push_back(words(
      "otlp_export.headers_env", export_applies, [](auto& c) -> auto& { return c.otlp_export.headers_env; },
      "The environment variable that holds these lines, instead of a file."));
  table.push_back(words(
      "otlp_export.ca_file", export_applies, [](auto& c) -> auto& { return c.otlp_export.ca_file; },
      "Certificates (PEM) to trust for this receiver, in place of the system's."));
  table.push_back(words(
      "otlp_export.dashboard", export_applies, [](auto& c) -> auto& { return c.otlp_export.dashboard; },
      "Where people open the dashboard, for example \"https://digd.example.org\". Spans then have digd.url, the page "
      "of "
      "the run."));
}

void add_export_delivery(std::vector<option>& table) {
  table.push_back(whole_number(
      "otlp_export.timeout_ms", 100, 120'000, export_applies, [](auto& c) -> auto& { return c.otlp_export.timeout_ms; },
      "How long one attempt may take, from the DNS lookup to the response. Milliseconds."));
  table.push_back(whole_number(
      "otlp_export.attempts", 1, 1'000, export_applies, [](auto& c) -> auto& { return c.otlp_export.attempts; },
      "Attempts to deliver one span. After that, it becomes a dead letter."));
  table.push_back(whole_number(
      "otlp_export.max_age_ms", 1'000, max_export_age_ms, export_applies,
      [](auto& c) -> auto& { return c.otlp_export.max_age_ms; },
      "A span older than this becomes a dead letter without a further attempt. Milliseconds."));
  table.push_back(whole_number(
      "otlp_export.concurrency", 1, 64, export_applies, [](auto& c) -> auto& { return c.otlp_export.concurrency; },
      "Requests in progress at the same time, each for a different run."));
}

}  // namespace

void add_otlp_export_options(std::vector<option>& table) {
  add_export_receiver(table);
  add_export_delivery(table);
}

std::string check_otlp_export(const config& c) {
  const otlp_export_settings& s = c.otlp_export;
  if (s.url.empty()) return {};
  net::http_url where;
  if (const std::string wrong = net::parse_http_url(s.url, where); !wrong.empty()) return "otlp_export.url: " + wrong;
  if (!c.archive) return "otlp_export.url: the export needs the archive, which is off; set archive = true";
  if (!s.headers_file.empty() && !s.headers_env.empty())
    return "otlp_export: has both headers_file and headers_env; set only one";
  if (!s.ca_file.empty() && !where.tls) return "otlp_export.ca_file: the url is not https";
  net::http_url page;
  if (!s.dashboard.empty()) {
    if (const std::string wrong = net::parse_http_url(s.dashboard, page); !wrong.empty())
      return "otlp_export.dashboard: " + wrong;
  }
  for (const webhook_settings& webhook : c.webhooks) {
    if (webhook.name == otlp_export_name)
      return "webhook: the name " + digd::quoted(webhook.name) + " belongs to [otlp_export]";
  }
  return {};
}

std::vector<webhook_settings> receivers_of(const config& c) {
  std::vector<webhook_settings> receivers = c.webhooks;
  const otlp_export_settings& s = c.otlp_export;
  if (s.url.empty()) return receivers;
  receivers.push_back({.name = std::string(otlp_export_name),
                       .url = s.url,
                       .format = "otlp",
                       .dashboard = s.dashboard,
                       .secret_file = s.headers_file,
                       .secret_env = s.headers_env,
                       .ca_file = s.ca_file,
                       .timeout_ms = s.timeout_ms,
                       .attempts = s.attempts,
                       .max_age_ms = s.max_age_ms,
                       .concurrency = s.concurrency});
  return receivers;
}

}  // namespace digd::daemon
