// What the model is told and how its replies are read. Our own wording; replies are JSON objects. A log's text is data:
// it stands between marks, and the model is told that nothing in it is an instruction.
#pragma once

#include <boost/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/chief/flat_log.h"
#include "analysis/chief/llm/endpoint.h"

namespace digd::chief::llm {

struct judge_options {
  std::string right_answer;             // told to the model if not empty ("with ground truth")
  std::size_t context_bytes = 200'000;  // of steps in one prompt; long steps are cut in their middle, evenly
  std::size_t repairs = 1;              // times that a reply which is no JSON is asked for again
};

// The steps [from, to] as text: "[3] Agent: …".
std::string shown_steps(const flat_log&, std::size_t from, std::size_t to, std::size_t most_bytes);

// System and user message: who the model is, the task, the right answer if told, the steps, what to do.
std::vector<message> prompt(const flat_log&, const judge_options&, std::size_t from, std::size_t to,
                            std::string_view text);

// The first JSON object in a reply, also within a code fence.
std::optional<boost::json::object> object_in(std::string_view reply);

// Asks, reads the object, asks again if it is none. `dry_reply` is what a dry run takes for the reply.
boost::system::result<boost::json::object> ask_for_object(endpoint&, std::vector<message>, const judge_options&,
                                                          const std::string& dry_reply);

// A step number (a number, or text that is one) that the log has; a name, if one of the log's agents (case and a
// trailing parenthesis do not count).
std::optional<std::size_t> step_in(const boost::json::object&, std::string_view key, const flat_log&);
std::optional<std::string> agent_in(const boost::json::object&, std::string_view key, const flat_log&);
std::string text_in(const boost::json::object&, std::string_view key);

}  // namespace digd::chief::llm
