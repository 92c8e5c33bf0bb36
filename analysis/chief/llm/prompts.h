// The prompts of the judges, and the reading of replies, which are JSON objects.
//
// The text of a log is data: it stands between marks, and the system message says that nothing in it is an instruction.
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
  std::string right_answer;             // given to the model if not empty ("with ground truth")
  std::size_t context_bytes = 200'000;  // of the steps in one prompt; long steps are shortened in their middle
  std::size_t repairs = 1;              // number of times that an invalid reply is asked for again
  std::vector<std::size_t> suspects;    // of `shortlist`: distinct steps; empty: the first five of the default method
};

// The steps as text: "[3] Agent: …".
std::string shown_steps(const flat_log&, const std::vector<std::size_t>& steps, std::size_t max_bytes);
// The steps [from, to].
std::string shown_steps(const flat_log&, std::size_t from, std::size_t to, std::size_t max_bytes);

// System and user message: the role, the task, the right answer if given, the steps, the instruction `text`.
std::vector<message> prompt(const flat_log&, const judge_options&, std::size_t from, std::size_t to,
                            std::string_view text);
// The same with these steps only. `heading` says which they are.
std::vector<message> prompt(const flat_log&, const judge_options&, const std::vector<std::size_t>& steps,
                            const std::string& heading, std::string_view text);

// The first JSON object in a reply, even within a code fence.
std::optional<boost::json::object> object_in(std::string_view reply);

// Asks for a JSON object, and again if the reply has none. A dry run reads `dry_reply`.
boost::system::result<boost::json::object> ask_for_object(endpoint&, std::vector<message>, const judge_options&,
                                                          const std::string& dry_reply);

// The member as a step of the log (a number, or a text with one), as an agent of the log (ignoring case and a trailing
// parenthesis), or as text. None or empty if it is not.
std::optional<std::size_t> step_in(const boost::json::object&, std::string_view key, const flat_log&);
std::optional<std::string> agent_in(const boost::json::object&, std::string_view key, const flat_log&);
std::string text_in(const boost::json::object&, std::string_view key);

}  // namespace digd::chief::llm
