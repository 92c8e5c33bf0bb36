// The latest outputs of each agent, as the guard `repetition` compares them: a hash of the recipients and fingerprint.
//
// One per run, on its engine thread. Bounds: at most one entry for each agent that the run knows, with the agent's
// latest `window` outputs.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/nodes.h"

namespace digd {

class repeats {
 public:
  // The key of an output; nothing if the client gave neither fingerprint nor payload. The order of `to` is irrelevant.
  static std::optional<std::uint64_t> key_of(std::span<const graph::agent_index> to,
                                             const std::optional<std::uint64_t>& fingerprint);

  void add(graph::agent_index sender, std::optional<std::uint64_t> key, std::string_view id, std::size_t window);
  // How many of the sender's outputs in the window have the key of the latest one, itself included; 0 without a key.
  std::size_t count(graph::agent_index sender) const;
  // The ids of the earlier ones, sorted bytewise.
  std::vector<std::string> earlier(graph::agent_index sender) const;

 private:
  struct history {
    std::vector<std::uint64_t> keys;                                 // a ring; 0: without a key
    std::vector<std::string> ids;                                    // of the same outputs
    boost::unordered_flat_map<std::uint64_t, std::uint32_t> counts;  // of the keys in the window
    std::size_t latest = 0;
  };
  std::vector<history> agents_;  // by agent_index
};

}  // namespace digd
