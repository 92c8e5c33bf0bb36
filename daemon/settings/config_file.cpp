#include "daemon/settings/config_file.h"

#include <toml++/toml.h>

#include <algorithm>

#include "base/quote.h"
#include "daemon/access/payload_policy.h"
#include "daemon/access/tokens.h"
#include "daemon/settings/address.h"
#include "daemon/settings/fleet_options.h"
#include "daemon/settings/options.h"
#include "daemon/settings/otlp_export_options.h"
#include "daemon/settings/price_options.h"
#include "daemon/settings/webhook_options.h"

namespace digd::daemon {

namespace {

bool is_section(std::string_view name) {
  return std::any_of(options().begin(), options().end(), [&](const option& option) {
    return option.name.size() > name.size() && option.name.starts_with(name) && option.name[name.size()] == '.';
  });
}

class loader {
 public:
  loader(std::string_view file, config& into) : file_(file), into_(into) {}

  void load(const toml::table& from, const std::string& prefix) {
    for (const auto& [key, value] : from) {
      const std::string name = prefix + std::string(key.str());
      const auto found =
          std::find_if(options().begin(), options().end(), [&](const option& option) { return option.name == name; });
      if (found != options().end()) {
        if (std::string text = found->set(value, into_); !text.empty()) {
          wrong(value.source().begin, digd::quoted(name) + ' ' + text);
        }
      } else if (name == "prices") {
        load_prices(value, into_, [this](toml::source_position at, const std::string& text) { wrong(at, text); });
      } else if (name == "webhook") {
        load_webhooks(value);
      } else if (is_section(name)) {
        if (const toml::table* section = value.as_table()) {
          load(*section, name + '.');
        } else {
          wrong(value.source().begin, digd::quoted(name) + " must be a table");
        }
      } else {
        const toml::array* several = value.as_array();
        const bool is_several = several != nullptr && several->is_array_of_tables();
        // The name of an option in a misspelled section helps to find the section.
        const toml::table* section = is_several ? several->front().as_table() : value.as_table();
        const bool has_more = section != nullptr && !section->empty();
        unknown(key.source().begin, name, has_more ? name + '.' + std::string(section->begin()->first.str()) : name);
      }
    }
  }

  void wrong(toml::source_position at, const std::string& text) {
    texts_.push_back(file_ + ':' + std::to_string(at.line) + ':' + std::to_string(at.column) + ": " + text);
  }
  std::vector<std::string>& problems() { return texts_; }

 private:
  // [[webhook]]: a table for each.
  void load_webhooks(const toml::node& from) {
    const toml::array* items = from.as_array();
    if (items == nullptr || !items->is_array_of_tables()) {
      return wrong(from.source().begin, "\"webhook\" must be written [[webhook]], once for each");
    }
    for (const toml::node& node : *items) load_webhook(*node.as_table());
  }

  void load_webhook(const toml::table& from) {
    into_.webhooks.emplace_back();
    const std::size_t before = texts_.size();
    for (const auto& [key, value] : from) {
      const std::string name = "webhook." + std::string(key.str());
      const auto& known = webhook_options();
      const auto found =
          std::find_if(known.begin(), known.end(), [&](const option& option) { return option.name == name; });
      if (found == known.end()) {
        unknown(key.source().begin, name, name);
      } else if (std::string text = found->set(value, into_); !text.empty()) {
        wrong(value.source().begin, digd::quoted(name) + ' ' + text);
      }
    }
    if (texts_.size() > before) return;
    if (const std::string text = check_webhook(into_.webhooks.back()); !text.empty()) wrong(from.source().begin, text);
  }

  void unknown(toml::source_position at, const std::string& name, const std::string& known_by) {
    const option* near = nearest_option(known_by);
    wrong(at, "there is no option " + digd::quoted(name) +
                  (near == nullptr ? "" : "; did you mean " + digd::quoted(near->name) + '?'));
  }

  const std::string file_;
  config& into_;
  std::vector<std::string> texts_;
};

}  // namespace

std::vector<std::string> load_config(std::string_view text, std::string_view file, config& into) {
  loader reads(file, into);
  try {
    reads.load(toml::parse(text, file), {});
  } catch (const toml::parse_error& e) {
    reads.wrong(e.source().begin, std::string(e.description()));
  }
  return reads.problems();
}

namespace {

std::string check_access(const config& c) {
  token_table tokens;
  if (!c.tokens.empty()) {
    if (const std::string wrong = token_table::read(c.tokens, tokens); !wrong.empty()) return "tokens: " + wrong;
  }
  if (c.tls.certificate.empty() != c.tls.key.empty())
    return "tls: a certificate needs its key, and a key its certificate";
  if (!c.tls.client_ca.empty() && c.tls.certificate.empty()) return "tls.client_ca: needs tls.certificate and tls.key";
  if (c.payloads.redact.size() > payload_policy::max_patterns) return "payloads.redact: over 100 patterns";
  for (const std::string& pattern : c.payloads.redact) {
    if (const std::string wrong = problem_of_pattern(pattern); !wrong.empty()) {
      return "payloads.redact: " + digd::quoted(pattern) + ": " + wrong;
    }
  }
  return {};
}

std::string check_address(std::string_view option, const std::string& text, const config& c) {
  listen_address where;
  std::string problem;
  if (!parse_address(text, where, problem)) return std::string(option) + ": " + problem;
  if (is_local(where) || !c.tokens.empty()) return {};
  return std::string(option) + ": " + digd::quoted(text) +
         " can be reached from other machines, and no tokens are configured; use 127.0.0.1, [::1] or unix:/path, or "
         "configure tokens";
}

}  // namespace

std::string check_config(const config& c) {
  if (std::string wrong = check_address("listen", c.listen, c); !wrong.empty()) return wrong;
  if (!c.operator_listen.empty()) {
    if (std::string wrong = check_address("operator_listen", c.operator_listen, c); !wrong.empty()) return wrong;
  }
  if (std::string wrong = check_access(c); !wrong.empty()) return wrong;
  const struct limits& d = c.policy.defaults.limits;
  const struct limits& m = c.policy.caps;
  if (d.message_bytes > m.message_bytes) return "limits.message_bytes is larger than caps.message_bytes";
  if (d.sessions > m.sessions) return "limits.sessions is larger than caps.sessions";
  if (std::string wrong = check_fleet(c); !wrong.empty()) return wrong;
  if (std::string wrong = check_otlp_export(c); !wrong.empty()) return wrong;
  return check_webhooks(c);
}

}  // namespace digd::daemon
