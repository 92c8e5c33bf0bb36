// How the tools reach digd's HTTP API: the caller supplies a function that sends a request.
#pragma once

#include <functional>
#include <string>

namespace digd::mcp {

struct api_request {
  std::string method, target, body;
};
struct api_answer {
  unsigned status = 0;  // 0: there is no answer, and `body` is the reason
  std::string body;
  bool good() const { return status >= 200 && status < 300; }
};
// Calls back once, on any thread.
using api_call = std::function<void(api_request&&, std::function<void(api_answer&&)>)>;

}  // namespace digd::mcp
