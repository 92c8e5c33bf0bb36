#include "daemon/access/tokens.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <toml++/toml.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "base/quote.h"

namespace digd::daemon {

namespace {

constexpr std::string_view right_names[] = {"none", "ingest", "watch", "read", "operate"};

std::string at(std::string_view file, const toml::source_region& where) {
  return std::string(file) + ':' + std::to_string(where.begin.line) + ':' + std::to_string(where.begin.column) + ": ";
}

std::string take_hash(const toml::table& of, token_table::digest& into) {
  const auto text = of["sha256"].value<std::string_view>();
  constexpr const char* expected = "sha256: expected the 64 hex digits that `digctl token` prints";
  if (!text || text->size() != 64) return expected;
  for (std::size_t i = 0; i < into.size(); ++i) {
    unsigned value = 0;
    for (const char c : text->substr(2 * i, 2)) {
      const bool digit = c >= '0' && c <= '9', low = c >= 'a' && c <= 'f', high = c >= 'A' && c <= 'F';
      if (!digit && !low && !high) return expected;
      value = value * 16 + static_cast<unsigned>(digit ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    into[i] = static_cast<unsigned char>(value);
  }
  return {};
}

std::string take_texts(const toml::table& of, std::string_view name, std::vector<std::string>& into) {
  const toml::node* given = of.get(name);
  if (given == nullptr) return {};
  const toml::array* list = given->as_array();
  const std::string wrong = std::string(name) + ": expected a list of strings";
  if (list == nullptr) return wrong;
  for (const toml::node& node : *list) {
    const auto text = node.value<std::string>();
    if (!text || text->empty()) return wrong;
    into.push_back(*text);
  }
  return {};
}

std::string take_rights(const toml::table& of, std::vector<right>& into) {
  std::vector<std::string> names;
  if (std::string wrong = take_texts(of, "rights", names); !wrong.empty()) return wrong;
  if (names.empty()) return "rights: expected at least one of ingest, watch, read, operate";
  for (const std::string& name : names) {
    const auto right = right_from(name);
    if (!right) return "rights: there is no " + quoted(name) + "; expected ingest, watch, read, operate";
    into.push_back(*right);
  }
  return {};
}

std::string take_rate(const toml::table& of, std::uint64_t& into) {
  const toml::node* given = of.get("rate");
  if (given == nullptr) return {};
  const auto number = given->value_exact<std::int64_t>();
  if (!number || *number < 1 || *number > 10'000'000) return "rate: expected a whole number from 1 to 10000000";
  into = static_cast<std::uint64_t>(*number);
  return {};
}

std::string unknown_member(const toml::table& of) {
  constexpr std::string_view known[] = {"name", "sha256", "rights", "runs", "rate"};
  for (const auto& [key, value] : of) {
    if (std::find(std::begin(known), std::end(known), key.str()) == std::end(known)) {
      return "there is no " + quoted(key.str()) + "; a token has name, sha256, rights, runs, rate";
    }
  }
  return {};
}

token_table::digest hash_of(std::string_view token) {
  token_table::digest hash;
  SHA256(reinterpret_cast<const unsigned char*>(token.data()), token.size(), hash.data());
  return hash;
}

}  // namespace

std::string_view to_string(right right) { return right_names[static_cast<std::size_t>(right)]; }

std::optional<right> right_from(std::string_view name) {
  for (const right current_right : {right::ingest, right::watch, right::read, right::operate}) {
    if (to_string(current_right) == name) return current_right;
  }
  return std::nullopt;
}

std::chrono::nanoseconds message_rate::take(std::chrono::steady_clock::time_point now) {
  if (between_ == 0) return {};
  const std::int64_t at = now.time_since_epoch() / std::chrono::nanoseconds(1);
  std::int64_t before = due_.load(std::memory_order_relaxed), after = 0;
  do {
    after = std::max(before, at) + static_cast<std::int64_t>(between_);
  } while (!due_.compare_exchange_weak(before, after, std::memory_order_relaxed));
  return std::chrono::nanoseconds(std::max<std::int64_t>(0, after - at - burst_ns));
}

bool grant::may(right given_right) const {
  return given_right == right::none || std::find(rights_.begin(), rights_.end(), given_right) != rights_.end();
}

bool grant::covers(std::string_view run) const {
  return runs_.empty() ||
         std::any_of(runs_.begin(), runs_.end(), [&](const std::string& p) { return run.starts_with(p); });
}

bool grant::says_the_same(const grant& other) const {
  return name_ == other.name_ && rights_ == other.rights_ && runs_ == other.runs_ &&
         rate_a_second_ == other.rate_a_second_;
}

std::string token_table::read(const std::string& file, token_table& into) {
  std::ifstream in(file, std::ios::binary);
  std::string text(most_bytes + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!in.is_open() || in.bad()) return "cannot read the tokens in " + quoted(file);
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (text.size() > most_bytes) return quoted(file) + " is over 8 MiB";
  return parse(text, file, into);
}

std::string token_table::parse(std::string_view text, std::string_view file, token_table& into) {
  toml::table table;
  try {
    table = toml::parse(text);
  } catch (const toml::parse_error& e) {
    return at(file, e.source()) + std::string(e.description());
  }
  for (const auto& [key, value] : table) {
    if (key.str() != "token")
      return at(file, value.source()) + "there is no " + quoted(key.str()) + "; expected [[token]]";
  }
  const toml::array* list = table["token"].as_array();
  if (list == nullptr || list->empty()) return std::string(file) + ": expected at least one [[token]]";
  if (list->size() > most_tokens) return std::string(file) + ": over " + std::to_string(most_tokens) + " tokens";
  for (const toml::node& node : *list) {
    const toml::table* table = node.as_table();
    if (table == nullptr) return at(file, node.source()) + "expected [[token]]";
    entry made;
    std::vector<right> rights;
    std::vector<std::string> runs;
    std::uint64_t rate = 0;
    const std::string name = (*table)["name"].value_or(std::string());
    std::string wrong = unknown_member(*table);
    if (wrong.empty() && (name.empty() || name.size() > 64)) wrong = "name: expected 1 to 64 bytes";
    if (wrong.empty()) wrong = take_hash(*table, made.hash);
    if (wrong.empty()) wrong = take_rights(*table, rights);
    if (wrong.empty()) wrong = take_texts(*table, "runs", runs);
    if (wrong.empty()) wrong = take_rate(*table, rate);
    if (wrong.empty() && table->contains("runs") && runs.empty())
      wrong = "runs: empty, so no run; leave it out for all";
    for (const entry& each : into.entries_) {
      if (wrong.empty() && each.grant_ptr->name() == name) wrong = "name: " + quoted(name) + " is there twice";
      if (wrong.empty() && each.hash == made.hash)
        wrong = "sha256: " + quoted(each.grant_ptr->name()) + " has the same";
    }
    if (!wrong.empty()) return at(file, node.source()) + wrong;
    made.grant_ptr = std::make_shared<const grant>(name, std::move(rights), std::move(runs), rate);
    into.entries_.push_back(std::move(made));
  }
  return {};
}

grant_ptr token_table::find(std::string_view token) const {
  const digest hash = hash_of(token);
  const entry* found = nullptr;
  for (const entry& each : entries_) {
    if (CRYPTO_memcmp(each.hash.data(), hash.data(), hash.size()) == 0) found = &each;
  }
  return found == nullptr ? nullptr : found->grant_ptr;
}

void token_table::succeed(const token_table& before) {
  for (const entry& old : before.entries_) {
    const auto same =
        std::find_if(entries_.begin(), entries_.end(), [&](const entry& each) { return each.hash == old.hash; });
    if (same != entries_.end() && same->grant_ptr->says_the_same(*old.grant_ptr)) {
      same->grant_ptr = old.grant_ptr;
    } else {
      old.grant_ptr->revoked_.store(true, std::memory_order_relaxed);
    }
  }
}

}  // namespace digd::daemon
