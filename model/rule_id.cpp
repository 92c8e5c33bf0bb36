#include "model/rule_id.h"

#include "base/enum_name.h"

namespace digd {

std::optional<rule_id> rule_from(std::string_view name) { return enum_from_name<rule_id>(name, rule_names); }

}  // namespace digd
