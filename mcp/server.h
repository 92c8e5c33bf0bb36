// A server of the Model Context Protocol: answers one JSON-RPC message, with digd's HTTP API behind the tools. It keeps
// no state between messages, so that any process or thread can answer the next.
//
// The caller sends the API requests in the name of the tools' user: it adds the user's token, and the API checks the
// rights. Texts that agents wrote are quoted in JSON, and each good result says that they are data.
//
// Thread: any; `api` decides on which thread the answer comes. Bounds: a message has at most `max_message_bytes`, a
// result about `max_result_bytes` (tools.h): a longer report has pages, and a longer list fewer elements. Failure: a
// JSON-RPC error, or a result with `isError`.
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
