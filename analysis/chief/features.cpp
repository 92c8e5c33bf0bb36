#include "analysis/chief/features.h"

namespace digd::chief {

std::string_view to_string(stage s) {
  switch (s) {
    case stage::oracle: return "virtual-oracle";
    case stage::local: return "local";
    case stage::planning_control: return "planning-control";
    case stage::data_flow: return "data-flow";
    case stage::deviation: return "deviation-aware";
    case stage::order: return "order";
  }
  return "?";
}

}  // namespace digd::chief
