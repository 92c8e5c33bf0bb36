#include "rules/guards/repeats.h"

#include <algorithm>

namespace digd {

namespace {

// The finaliser of splitmix64.
std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

}  // namespace

std::optional<std::uint64_t> repeats::key_of(std::span<const graph::agent_index> to,
                                             const std::optional<std::uint64_t>& fingerprint) {
  if (!fingerprint) return std::nullopt;
  std::uint64_t recipients = 0;
  for (const graph::agent_index a : to) recipients += mixed(a + 0x9e3779b97f4a7c15U);
  const std::uint64_t key = mixed(recipients ^ mixed(*fingerprint));
  return key == 0 ? 1 : key;
}

void repeats::add(graph::agent_index sender, std::optional<std::uint64_t> key, std::string_view id,
                  std::size_t window) {
  if (agents_.size() <= sender) agents_.resize(std::size_t{sender} + 1);
  history& of = agents_[sender];
  if (key) ++of.counts[*key];
  if (of.keys.size() < window) {
    of.latest = of.keys.size();
    of.keys.push_back(key.value_or(0));
    of.ids.emplace_back(id);
    return;
  }
  of.latest = (of.latest + 1) % window;
  if (const auto left = of.counts.find(of.keys[of.latest]); left != of.counts.end() && --left->second == 0)
    of.counts.erase(left);
  of.keys[of.latest] = key.value_or(0);
  of.ids[of.latest] = id;
}

std::size_t repeats::count(graph::agent_index sender) const {
  const history& of = agents_[sender];
  const std::uint64_t key = of.keys[of.latest];
  return key == 0 ? 0 : of.counts.at(key);
}

std::vector<std::string> repeats::earlier(graph::agent_index sender) const {
  const history& of = agents_[sender];
  std::vector<std::string> ids;
  for (std::size_t i = 0; i < of.keys.size(); ++i) {
    if (i != of.latest && of.keys[i] == of.keys[of.latest]) ids.push_back(of.ids[i]);
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());  // a forgotten id may be used again
  return ids;
}

}  // namespace digd
