#include "daemon/fleet/homes/home_records.h"

#include <openssl/evp.h>

#include <array>
#include <boost/json.hpp>
#include <limits>

#include "base/hex.h"
#include "base/json_writer.h"

namespace digd::daemon {

namespace {

namespace json = boost::json;

constexpr std::string_view state_names[] = {"live", "lapsed", "drained"};

// 32 hexadecimal digits of SHA-256: nobody can find two run ids with the same key.
std::string hash_of(std::string_view run) {
  constexpr std::size_t kept_bytes = 16;
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  EVP_Digest(run.data(), run.size(), digest.data(), &size, EVP_sha256(), nullptr);
  return to_hex(digest.data(), kept_bytes);
}

// Reads the fields of an object. A missing or wrong one makes the whole wrong.
class fields {
 public:
  explicit fields(std::string_view text) {
    boost::system::error_code ec;
    parsed_ = json::parse(text, ec);
    is_good_ = !ec && parsed_.is_object();
  }

  void text(std::string_view name, std::string& into) {
    if (const json::value* found = find(name); found != nullptr && found->is_string()) {
      into = found->get_string();
    } else {
      is_good_ = false;
    }
  }
  template <class Number>
  void number(std::string_view name, Number& into) {
    const json::value* found = find(name);
    boost::system::error_code ec;
    if (found != nullptr && found->is_number()) {
      const auto value = found->to_number<std::uint64_t>(ec);
      into = static_cast<Number>(value);
      if (!ec) return;
    }
    is_good_ = false;
  }
  void flag(std::string_view name, bool& into) {
    if (const json::value* found = find(name); found != nullptr && found->is_bool()) {
      into = found->get_bool();
    } else {
      is_good_ = false;
    }
  }
  bool is_good() const { return is_good_; }

 private:
  const json::value* find(std::string_view name) const {
    return is_good_ ? parsed_.get_object().if_contains(name) : nullptr;
  }

  json::value parsed_;
  bool is_good_ = false;
};

}  // namespace

std::string host_key(std::string_view tenant, std::string_view host) {
  return "host." + std::string(tenant) + '.' + std::string(host);
}

std::string run_key(std::string_view tenant, std::string_view run) {
  return "run." + std::string(tenant) + '.' + hash_of(run);
}

std::string encode(const host_record& host) {
  std::string out;
  json_writer to(out);
  to.open_object().key("incarnation").text(host.incarnation).key("process").text(host.process);
  to.key("archive").text(host.archive).key("url").text(host.url).key("lease_ms").integer(host.length.count());
  to.key("state").text(state_names[static_cast<std::size_t>(host.is)]).key("renewals").integer(host.renewals);
  to.close_object();
  return out;
}

std::string encode(const run_record& run) {
  std::string out;
  json_writer to(out);
  to.open_object().key("run").text(run.run).key("host").text(run.host).key("incarnation").text(run.incarnation);
  to.key("archive").text(run.archive).key("number").integer(run.number).key("epoch").integer(run.epoch);
  to.key("origin_archive").text(run.origin_archive).key("origin_number").integer(run.origin_number);
  to.key("start").integer(run.start).key("pinned").boolean(run.pinned).close_object();
  return out;
}

std::optional<host_record> host_record_of(std::string_view text) {
  fields from(text);
  host_record host;
  std::string state;
  std::uint64_t length = 0;
  from.text("incarnation", host.incarnation);
  from.text("process", host.process);
  from.text("archive", host.archive);
  from.text("url", host.url);
  from.number("lease_ms", length);
  from.text("state", state);
  from.number("renewals", host.renewals);
  if (!from.is_good() || length == 0 || length > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  host.length = std::chrono::milliseconds(length);
  for (std::size_t i = 0; i < std::size(state_names); ++i) {
    if (state != state_names[i]) continue;
    host.is = static_cast<host_record::state>(i);
    return host;
  }
  return std::nullopt;
}

std::optional<run_record> run_record_of(std::string_view text) {
  fields from(text);
  run_record run;
  from.text("run", run.run);
  from.text("host", run.host);
  from.text("incarnation", run.incarnation);
  from.text("archive", run.archive);
  from.number("number", run.number);
  from.number("epoch", run.epoch);
  from.text("origin_archive", run.origin_archive);
  from.number("origin_number", run.origin_number);
  from.number("start", run.start);
  from.flag("pinned", run.pinned);
  return from.is_good() ? std::optional(run) : std::nullopt;
}

}  // namespace digd::daemon
