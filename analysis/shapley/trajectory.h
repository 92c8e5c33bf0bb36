// Trajectory files: the recording of a scenario as JSON (docs/shapley.md, "Trajectory files").
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "analysis/shapley/econ.h"
#include "analysis/shapley/social.h"
#include "analysis/shapley/twin.h"

namespace digd::shapley {

struct trajectory_result {
  std::string problem;  // empty: `game` is set; else the field and the expectation
  std::unique_ptr<shapley::game> game;
};

bool is_trajectory(std::string_view text);
trajectory_result read_trajectory(std::string_view text);

std::string to_json(const econ_trajectory& t);
std::string to_json(const twin_trajectory& t);
std::string to_json(const social_trajectory& t);

// Bounds: see `generate`. `views` applies to socialnetwork only.
struct scenario_request {
  std::string scenario;  // econagent, twinmarket, socialnetwork
  std::size_t agents = 0, steps = 0;
  std::size_t views = 5;
  std::uint64_t seed = 1;
};
struct generated {
  std::string problem;
  std::unique_ptr<shapley::game> game;
  std::string json;  // filled if `with_json`
};
generated generate(const scenario_request& request, bool with_json);

}  // namespace digd::shapley
