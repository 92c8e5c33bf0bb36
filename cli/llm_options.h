// The options of commands that may ask a language model.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "analysis/chief/attribute.h"
#include "analysis/chief/llm/judges.h"

namespace digd::cli {

struct llm_options {
  std::string url, model, key_file, cache, authority;
  double per_minute = 0, price_in = 0, price_out = 0, temperature = 0;
  std::size_t tries = 5, max_requests = 100'000, max_tokens = 0, context_bytes = 200'000, answer_tokens = 4'096;
  long timeout_s = 180;
  bool dry_run = false, with_answer = false;

  bool wanted() const { return !url.empty() || dry_run; }
};

void add_llm_options(CLI::App& app, llm_options& options);

// nullopt, with `problem` set: the key file cannot be read, the model has no name, or the key would be sent in clear
// text. The key: --llm-key-file, else the environment's DIGD_LLM_KEY, else OPENAI_API_KEY. With --dry-run prompts go to
// standard output.
std::unique_ptr<chief::llm::endpoint> open_endpoint(const llm_options&, std::string& problem);

chief::llm::judge_options judging(const llm_options&, const std::string& right_answer);

inline const std::vector<std::string> llm_methods{"chief-llm",     "all-at-once", "step-by-step",
                                                  "binary-search", "hybrid",      "shortlist"};
// `graph`: receives the graph of chief-llm, with the model's subtasks. Other methods do not set it.
chief::llm::ruling rule_by(const std::string& method, chief::llm::endpoint&, const chief::flat_log&,
                           const chief::llm::judge_options&, chief::attribution* graph = nullptr);

// "12 requests (1 retried, 0 failed), 3 answers from the cache, 10234 + 512 tokens, cost 0.0321".
std::string describe(const chief::llm::usage&, bool estimated);

}  // namespace digd::cli
