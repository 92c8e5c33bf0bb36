#include "daemon/access/tokens.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <toml++/toml.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <utility>

#include "base/enum_name.h"
#include "base/hex.h"
#include "base/quote.h"

namespace digd::daemon {

namespace {

constexpr std::string_view right_names[] = {"none", "ingest", "watch", "read", "operate"};

std::string position_in(std::string_view file, const toml::source_region& region) {
  return std::string(file) + ':' + std::to_string(region.begin.line) + ':' + std::to_string(region.begin.column) + ": ";
}

std::string take_hash(const toml::table& token, token_table::digest& hash) {
  const auto text = token["sha256"].value<std::string_view>();
  constexpr const char* expected = "sha256: expected the 64 hex digits that `digctl token` prints";
  if (!text || text->size() != 64) return expected;
  for (std::size_t i = 0; i < hash.size(); ++i) {
    const int high = hex_value((*text)[2 * i]), low = hex_value((*text)[2 * i + 1]);
    if (high < 0 || low < 0) return expected;
    hash[i] = static_cast<unsigned char>(high << 4 | low);
  }
  return {};
}

std::string take_texts(const toml::table& token, std::string_view name, std::vector<std::string>& texts) {
  const toml::node* given = token.get(name);
  if (given == nullptr) return {};
  const toml::array* list = given->as_array();
  std::string wrong = std::string(name) + ": expected a list of strings";
  if (list == nullptr) return wrong;
  for (const toml::node& node : *list) {
    const auto text = node.value<std::string>();
    if (!text || text->empty()) return wrong;
    texts.push_back(*text);
  }
  return {};
}

std::string take_rights(const toml::table& token, std::vector<right>& rights) {
  std::vector<std::string> names;
  if (std::string wrong = take_texts(token, "rights", names); !wrong.empty()) return wrong;
  if (names.empty()) return "rights: expected at least one of ingest, watch, read, operate";
  for (const std::string& name : names) {
    const auto right = right_from(name);
    if (!right) return "rights: unknown right " + digd::quoted(name) + "; expected ingest, watch, read, operate";
    rights.push_back(*right);
  }
  return {};
}

std::string take_limit(const toml::table& token, std::string_view name, std::int64_t min_value, std::int64_t max_value,
                       std::uint64_t& limit) {
  const toml::node* given = token.get(name);
  if (given == nullptr) return {};
  const auto number = given->value_exact<std::int64_t>();
  if (!number || *number < min_value || *number > max_value) {
    return std::string(name) + ": expected a whole number from " + std::to_string(min_value) + " to " +
           std::to_string(max_value);
  }
  limit = static_cast<std::uint64_t>(*number);
  return {};
}

std::string take_limits(const toml::table& token, token_limits& limits) {
  std::string wrong = take_limit(token, "rate", 1, 10'000'000, limits.rate);
  if (wrong.empty()) wrong = take_limit(token, "byte_rate", 1'000, 10'000'000'000, limits.byte_rate);
  if (wrong.empty()) wrong = take_limit(token, "max_connections", 1, 1'000'000, limits.max_connections);
  if (wrong.empty()) wrong = take_limit(token, "max_runs", 1, 10'000'000, limits.max_runs);
  if (wrong.empty()) wrong = take_limit(token, "max_bytes", 1'000, 1'000'000'000'000'000, limits.max_bytes);
  return wrong;
}

std::string unknown_member(const toml::table& token) {
  constexpr std::string_view known[] = {"name",      "sha256",          "rights",   "runs",     "rate",
                                        "byte_rate", "max_connections", "max_runs", "max_bytes"};
  for (const auto& [key, value] : token) {
    if (std::find(std::begin(known), std::end(known), key.str()) != std::end(known)) continue;
    std::string wrong = "there is no " + digd::quoted(key.str()) + "; a token has ";
    for (const std::string_view name : known) wrong.append(name == known[0] ? "" : ", ").append(name);
    return wrong;
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
  const std::optional<right> found = enum_from_name<right>(name, right_names);
  return found == right::none ? std::nullopt : found;
}

std::chrono::nanoseconds grant::take(std::chrono::steady_clock::time_point now, std::size_t bytes) const {
  constexpr std::uint64_t max_units = std::uint64_t{1} << 33;
  return std::max(rate_.take(now), byte_rate_.take(now, std::min<std::uint64_t>(bytes, max_units)));
}

ticket_ptr grant::take(const count_ptr& count, std::uint64_t max_count) {
  struct kept_count {
    explicit kept_count(count_ptr kept) : count(std::move(kept)), ticket(*count) {}
    const count_ptr count;
    counted_ticket ticket;
  };
  const auto taken = std::make_shared<kept_count>(count);
  return max_count != 0 && count->load() > max_count ? nullptr : ticket_ptr(taken, &taken->ticket);
}

bool grant::may(right needed) const {
  return needed == right::none || std::find(rights_.begin(), rights_.end(), needed) != rights_.end();
}

bool grant::covers(std::string_view run) const {
  return runs_.empty() ||
         std::any_of(runs_.begin(), runs_.end(), [&](const std::string& prefix) { return run.starts_with(prefix); });
}

bool grant::is_equal(const grant& other) const {
  return name_ == other.name_ && rights_ == other.rights_ && runs_ == other.runs_ && limits_ == other.limits_;
}

std::string token_table::read(const std::string& file, token_table& into) {
  std::ifstream in(file, std::ios::binary);
  std::string text(max_bytes + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!in.is_open() || in.bad()) return "cannot read the tokens in " + digd::quoted(file);
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (text.size() > max_bytes) return digd::quoted(file) + " is over 8 MiB";
  return parse(text, file, into);
}

std::string token_table::parse(std::string_view text, std::string_view file, token_table& into) {
  toml::table table;
  try {
    table = toml::parse(text);
  } catch (const toml::parse_error& e) {
    return position_in(file, e.source()) + std::string(e.description());
  }
  for (const auto& [key, value] : table) {
    if (key.str() != "token")
      return position_in(file, value.source()) + "there is no " + digd::quoted(key.str()) + "; expected [[token]]";
  }
  const toml::array* list = table["token"].as_array();
  if (list == nullptr || list->empty()) return std::string(file) + ": expected at least one [[token]]";
  if (list->size() > max_tokens) return std::string(file) + ": over " + std::to_string(max_tokens) + " tokens";
  for (const toml::node& node : *list) {
    const toml::table* token = node.as_table();
    if (token == nullptr) return position_in(file, node.source()) + "expected [[token]]";
    entry parsed;
    std::vector<right> rights;
    std::vector<std::string> runs;
    token_limits limits;
    const std::string name = (*token)["name"].value_or(std::string());
    std::string wrong = unknown_member(*token);
    if (wrong.empty() && (name.empty() || name.size() > 64)) wrong = "name: expected 1 to 64 bytes";
    if (wrong.empty()) wrong = take_hash(*token, parsed.hash);
    if (wrong.empty()) wrong = take_rights(*token, rights);
    if (wrong.empty()) wrong = take_texts(*token, "runs", runs);
    if (wrong.empty()) wrong = take_limits(*token, limits);
    if (wrong.empty() && token->contains("runs") && runs.empty())
      wrong = "runs: an empty list allows no run; omit it to allow all runs";
    for (const entry& each : into.entries_) {
      if (wrong.empty() && each.granted->name() == name) wrong = "name: duplicate token name " + digd::quoted(name);
      if (wrong.empty() && each.hash == parsed.hash)
        wrong = "sha256: duplicate sha256, already given for " + digd::quoted(each.granted->name());
    }
    if (!wrong.empty()) return position_in(file, node.source()) + wrong;
    parsed.granted = std::make_shared<const grant>(name, std::move(rights), std::move(runs), limits);
    into.entries_.push_back(std::move(parsed));
  }
  return {};
}

grant_ptr token_table::find(std::string_view token) const {
  const digest hash = hash_of(token);
  const entry* found = nullptr;
  for (const entry& each : entries_) {
    if (CRYPTO_memcmp(each.hash.data(), hash.data(), hash.size()) == 0) found = &each;
  }
  return found == nullptr ? nullptr : found->granted;
}

byte_limits token_table::byte_limits_of_tokens() const {
  byte_limits limits;
  for (const entry& each : entries_) {
    if (const std::uint64_t bytes = each.granted->max_bytes(); bytes > 0) limits[each.granted->name()] = bytes;
  }
  return limits;
}

void token_table::succeed(const token_table& before) {
  for (const entry& old : before.entries_) {
    const auto kept =
        std::find_if(entries_.begin(), entries_.end(), [&](const entry& each) { return each.hash == old.hash; });
    if (kept != entries_.end() && kept->granted->is_equal(*old.granted)) {
      kept->granted = old.granted;
    } else {
      old.granted->revoked_.store(true, std::memory_order_relaxed);
    }
  }
}

}  // namespace digd::daemon
