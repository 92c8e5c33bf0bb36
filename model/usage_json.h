// Usage as JSON, with the names of the protocol: the members of `usage` messages, of runs and of holds.
#pragma once

#include "base/json_writer.h"
#include "model/guard.h"
#include "model/message.h"

namespace digd {

// The members, in an object that the caller opens and closes. The cost is in the user's currency.
inline void write_usage_members(json_writer& to, const usage_amounts& used) {
  to.key("input_tokens").integer(used.input_tokens).key("output_tokens").integer(used.output_tokens);
  to.key("cost").raw(decimal_of_millionths(used.cost));
  to.key("model_calls").integer(used.model_calls).key("tool_calls").integer(used.tool_calls);
}

inline void write_usage(json_writer& to, const usage_amounts& used) {
  to.open_object();
  write_usage_members(to, used);
  to.close_object();
}

}  // namespace digd
