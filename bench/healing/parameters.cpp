#include "bench/healing/parameters.h"

namespace digd::bench {

std::span<const named_parameter> named_parameters() {
  static constexpr named_parameter table[] = {
      {"second_root", &parameters::second_root}, {"call_median_ms", &parameters::call_median_ms},
      {"error_most", &parameters::error_most},   {"error_half", &parameters::error_half},
      {"overlook", &parameters::overlook},       {"early_submit", &parameters::early_submit},
      {"forgetful", &parameters::forgetful},     {"hang", &parameters::hang},
      {"vague_part", &parameters::vague_part},   {"vague_sum", &parameters::vague_sum},
      {"follow", &parameters::follow},           {"care", &parameters::care},
      {"patience", &parameters::patience},       {"ask_named", &parameters::ask_named},
  };
  return table;
}

}  // namespace digd::bench
