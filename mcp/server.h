// A server of the Model Context Protocol: answers one JSON-RPC message, with digd's HTTP API behind the tools. It keeps
// no state between messages, so that any process or thread can answer the next.
//
// The caller reaches the API as the user of the tools: it adds the token, and the API checks the rights. Texts that
// agents wrote are quoted in JSON, and each tool says that its result is data.
//
// Thread: any; `api` decides on which thread the answer comes. Bounds: `max_message_bytes`, and in tools.h
// `max_result_bytes` a result (a longer report has pages, and a longer list fewer elements). Failure: a JSON-RPC error,
// or a result with `isError`.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "mcp/api.h"

namespace digd::mcp {

inline constexpr std::size_t max_message_bytes = 64 * 1024;

// Calls `respond` once; with an empty text if the message is a notification.
void answer(std::string_view message, const api_call& api, std::function<void(std::string&&)> respond);

}  // namespace digd::mcp
