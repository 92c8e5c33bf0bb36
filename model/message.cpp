#include "model/message.h"

namespace digd {

void message::clear() {
  type = message_type::time;
  seq = 0;
  ts.reset();
  as_is = false;
  agent = {};
  activation = {};
  inputs.clear();
  events.clear();
  reactions.clear();
  failed = false;
  event.reset();
  of.reset();
  applied = digd::applied::injected;
  dropped = 0;
  outcome = run_outcome::none;
  usage.reset();
}

}  // namespace digd
