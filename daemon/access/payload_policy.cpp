#include "daemon/access/payload_policy.h"

#include <openssl/sha.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <optional>
#include <stdexcept>

#include "base/enum_name.h"
#include "base/hex.h"
#include "base/json_writer.h"
#include "base/quote.h"
#include "ingest/protocol/payloads.h"

namespace digd::daemon {

namespace {

constexpr std::string_view keeping_names[] = {"full", "digest", "none"};

re2::RE2::Options quiet() {
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(1 << 20);
  return options;
}

std::string digest_of(std::string_view value) {
  unsigned char hash[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(value.data()), value.size(), hash);
  std::string out;
  json_writer(out)
      .open_object()
      .key("sha256")
      .text(to_hex(hash, sizeof hash))
      .key("bytes")
      .integer(value.size())
      .close_object();
  return out;
}

}  // namespace

std::string_view to_string(payload_keeping keeping) { return keeping_names[static_cast<std::size_t>(keeping)]; }

std::optional<payload_keeping> payload_keeping_from(std::string_view name) {
  return enum_from_name<payload_keeping>(name, keeping_names);
}

std::string problem_of_pattern(const std::string& pattern) {
  if (pattern.empty()) return "an empty pattern matches everything";
  const re2::RE2 compiled(pattern, quiet());
  return compiled.ok() ? std::string() : compiled.error();
}

payload_policy::payload_policy(const payload_settings& settings) : settings_(settings) {
  for (const std::string& pattern : settings.redact) {
    if (const std::string wrong = problem_of_pattern(pattern); !wrong.empty()) {
      throw std::runtime_error("payloads.redact: " + digd::quoted(pattern) + ": " + wrong);
    }
    patterns_.push_back(std::make_unique<re2::RE2>(pattern, quiet()));
  }
}

std::string payload_policy::stored(std::string_view frame) const {
  return ingest::rewrite_members(frame, {"payload", "error", "reason", "metrics"},
                                 [this](std::string_view name, std::string_view value) -> std::optional<std::string> {
                                   if (name != "payload") return redacted(value);
                                   switch (settings_.keep) {
                                     case payload_keeping::none: return std::nullopt;
                                     case payload_keeping::digest: return digest_of(redacted(value));
                                     case payload_keeping::full: break;
                                   }
                                   return redacted(value);
                                 });
}

std::string payload_policy::redacted(std::string_view value) const {
  if (patterns_.empty()) return std::string(value);
  return ingest::rewrite_strings(value, [this](std::string_view token) { return redacted_token(token); });
}

std::string payload_policy::redacted_token(std::string_view token) const {
  boost::system::error_code ec;
  const boost::json::value parsed = boost::json::parse({token.data(), token.size()}, ec);
  if (ec || !parsed.is_string()) return "\"[redacted]\"";  // a lone surrogate: digd cannot search such a string
  const boost::json::string& decoded = parsed.get_string();
  std::string text(decoded.data(), decoded.size());
  bool changed = false;
  for (const auto& pattern : patterns_) changed = re2::RE2::GlobalReplace(&text, *pattern, "[redacted]") > 0 || changed;
  if (!changed) return std::string(token);
  std::string out;
  append_quoted(out, text);
  return out;
}

}  // namespace digd::daemon
