#include "daemon/webhook/hold_links.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "base/entropy.h"
#include "base/hex.h"
#include "base/json_writer.h"
#include "base/quote.h"
#include "daemon/webhook/signature.h"

namespace digd::daemon {

namespace {

namespace json = boost::json;

constexpr std::size_t key_bytes = 32;

std::string problem_of(const std::string& path, int reason) {
  return digd::quoted(path) + ": " + std::strerror(reason);
}

std::string read_key(int file, const std::string& path, std::string& key) {
  struct stat found {};
  std::array<char, key_bytes + 1> bytes{};
  if (::fstat(file, &found) != 0) return problem_of(path, errno);
  if ((found.st_mode & 077) != 0) return digd::quoted(path) + " must be readable by its owner only (chmod 600)";
  const ssize_t size = ::read(file, bytes.data(), bytes.size());
  if (size < 0) return problem_of(path, errno);
  if (size != static_cast<ssize_t>(key_bytes)) {
    return digd::quoted(path) + " must have " + std::to_string(key_bytes) + " bytes; remove it to get a new key";
  }
  key.assign(bytes.data(), key_bytes);
  return {};
}

std::string make_key(const std::string& path, std::string& key) {
  std::array<unsigned char, key_bytes> bytes{};
  if (!random_bytes(bytes)) return "the system has no random numbers";
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return problem_of(path, errno);
  const bool written =
      ::write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()) && ::fsync(file) == 0;
  const int reason = errno;
  ::close(file);
  if (!written) {
    ::unlink(path.c_str());
    return problem_of(path, reason);
  }
  key.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return {};
}

std::string text_of(const json::array& fields, std::size_t i) {
  const json::string& text = fields[i].as_string();
  return {text.data(), text.size()};
}

}  // namespace

std::string hold_links::open(const std::string& key_path) {
  const std::lock_guard lock(mutex_);
  if (!key_.empty()) return {};
  const int file = ::open(key_path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0 && errno != ENOENT) return problem_of(key_path, errno);
  if (file < 0) return make_key(key_path, key_);
  std::string problem = read_key(file, key_path, key_);
  ::close(file);
  return problem;
}

void hold_links::set_archive(std::string name) {
  const std::lock_guard lock(mutex_);
  archive_ = std::move(name);
}

void hold_links::set_webhooks(std::set<std::string> names) {
  const std::lock_guard lock(mutex_);
  webhooks_ = std::move(names);
}

std::string hold_links::signature_of(std::string_view fields) const {
  const std::lock_guard lock(mutex_);
  if (key_.empty()) return {};
  std::string signed_text = "hold-link-v1\n" + archive_ + '\n';
  signed_text += fields;
  return hmac_hex(key_, signed_text);
}

std::string hold_links::path_of(const hold_link& link) const {
  std::string fields;
  json_writer to(fields);
  to.open_array().text(link.webhook).text(link.run).text(link.event);
  to.integer(link.run_number).integer(link.hold).integer(link.expires_ms).close_array();
  return std::string(page_path) + "?link=" + to_hex(fields) + '.' + signature_of(fields);
}

hold_links::state hold_links::read(std::string_view text, std::int64_t now_ms, hold_link& into) const {
  const std::size_t dot = text.find('.');
  if (text.size() > max_link_bytes || dot == std::string_view::npos) return state::forged;
  const auto fields = from_hex(text.substr(0, dot));
  const std::string_view given = text.substr(dot + 1);
  if (!fields) return state::forged;
  const std::string expected = signature_of(*fields);
  if (expected.empty() || given.size() != expected.size() ||
      CRYPTO_memcmp(given.data(), expected.data(), given.size()) != 0) {
    return state::forged;
  }
  // digd signed it, so that its form is known.
  const json::value parsed = json::parse(*fields);
  const json::array& list = parsed.as_array();
  into = {.webhook = text_of(list, 0),
          .run = text_of(list, 1),
          .run_number = list[3].to_number<std::uint64_t>(),
          .hold = list[4].to_number<std::uint64_t>(),
          .event = text_of(list, 2),
          .expires_ms = list[5].to_number<std::int64_t>()};
  if (now_ms >= into.expires_ms) return state::expired;
  const std::lock_guard lock(mutex_);
  return webhooks_.contains(into.webhook) ? state::valid : state::revoked;
}

}  // namespace digd::daemon
