#include "cli/llm_options.h"

#include <fmt/format.h>

#include <cstdlib>
#include <iostream>

#include "analysis/chief/llm/chief_stages.h"
#include "cli/files.h"
#include "cli/printable.h"
#include "net/http_url.h"

namespace digd::cli {

namespace llm = chief::llm;

void add_llm_options(CLI::App& app, llm_options& options) {
  const std::string group = "With a model";
  app.add_option("--llm", options.url, "an OpenAI-compatible endpoint, such as https://host/v1")->group(group);
  app.add_option("--model", options.model, "the model's name at the endpoint")->group(group);
  app.add_option("--llm-key-file", options.key_file,
                 "file with the key; default: DIGD_LLM_KEY, otherwise OPENAI_API_KEY")
      ->group(group);
  app.add_flag("--with-answer", options.with_answer, "tell the model the right answer, if the log has it")
      ->group(group);
  app.add_flag("--dry-run", options.dry_run, "send nothing: print the prompts, estimate tokens and cost")->group(group);
  app.add_option("--llm-ca", options.authority,
                 "with TLS: the authority of the endpoint's certificate (PEM); default: the system's")
      ->group(group);
  app.add_option("--llm-cache", options.cache, "folder that caches answers, so that no prompt is paid for twice")
      ->group(group);
  app.add_option("--llm-rate", options.per_minute, "maximum number of requests a minute; 0: no limit")
      ->check(CLI::NonNegativeNumber)
      ->group(group);
  app.add_option("--llm-tries", options.tries, "maximum attempts of one request")
      ->check(CLI::Range(1, 20))
      ->capture_default_str()
      ->group(group);
  app.add_option("--llm-timeout", options.timeout_s, "time limit of a request, in seconds")
      ->check(CLI::Range(1, 3'600))
      ->capture_default_str()
      ->group(group);
  app.add_option("--llm-max-requests", options.max_requests, "stop after this many requests")
      ->capture_default_str()
      ->group(group);
  app.add_option("--llm-max-tokens", options.max_tokens, "stop after this many tokens, read and written; 0: no limit")
      ->group(group);
  app.add_option("--llm-context", options.context_bytes, "maximum bytes of steps in one prompt")
      ->check(CLI::Range(1'000, 100'000'000))
      ->capture_default_str()
      ->group(group);
  app.add_option("--llm-answer-tokens", options.answer_tokens, "maximum tokens of one answer")
      ->check(CLI::Range(16, 1'000'000))
      ->capture_default_str()
      ->group(group);
  app.add_option("--llm-temperature", options.temperature, "below 0: not sent")->capture_default_str()->group(group);
  app.add_option("--price-in", options.price_in, "price of a million tokens read")
      ->check(CLI::NonNegativeNumber)
      ->group(group);
  app.add_option("--price-out", options.price_out, "price of a million tokens written")
      ->check(CLI::NonNegativeNumber)
      ->group(group);
}

namespace {

std::string key_from_environment() {
  for (const char* name : {"DIGD_LLM_KEY", "OPENAI_API_KEY"}) {
    if (const char* key = std::getenv(name); key && *key) return key;
  }
  return {};
}

}  // namespace

std::unique_ptr<llm::endpoint> open_endpoint(const llm_options& options, std::string& problem) {
  llm::endpoint_options to;
  if (options.url.empty() && !options.dry_run) problem = "--llm URL is needed for this method";
  else if (options.model.empty() && !options.dry_run) problem = "--model NAME is needed with --llm";
  if (!problem.empty()) return nullptr;
  if (!options.key_file.empty()) {
    const auto text = read_file(options.key_file, 64u << 10, problem);
    if (!text) {
      problem = shown(options.key_file) + ": " + problem;
      return nullptr;
    }
    to.key = text->substr(0, text->find_first_of("\r\n"));
  } else {
    to.key = key_from_environment();
  }
  net::http_url url;
  if (!options.dry_run) {
    if (const std::string url_problem = net::parse_http_url(options.url, url); !url_problem.empty()) {
      problem = "--llm " + url_problem;
      return nullptr;
    }
  }
  // Only the endpoint may see the key. Without TLS, others can read it on the way to another machine.
  if (!options.dry_run && !to.key.empty() && !url.tls && !url.is_loopback()) {
    problem = "--llm: http:// would send the key unencrypted; use https://, or give no key";
    return nullptr;
  }
  to.url = options.url;
  to.model = options.model;
  to.cache = options.cache;
  to.authority = options.authority;
  to.max_tokens_in_all = options.max_tokens;
  to.timeout_ms = options.timeout_s * 1000;
  to.tries = options.tries;
  to.requests_per_minute = options.per_minute;
  to.price_in = options.price_in;
  to.price_out = options.price_out;
  to.temperature = options.temperature;
  to.max_requests = options.max_requests;
  to.max_answer_tokens = options.answer_tokens;
  to.dry_run = options.dry_run;
  to.on_dry_run = [](const std::string& prompt) { std::cout << printable_lines(prompt) << "----\n"; };
  return std::make_unique<llm::endpoint>(std::move(to));
}

llm::judge_options judging(const llm_options& options, const std::string& right_answer) {
  llm::judge_options to;
  to.context_bytes = options.context_bytes;
  if (options.with_answer) to.right_answer = right_answer;
  return to;
}

llm::ruling rule_by(const std::string& method, llm::endpoint& model, const chief::flat_log& log,
                    const llm::judge_options& options, chief::attribution* graph) {
  if (method == "chief-llm") return llm::chief_stages(model, log, options, graph);
  if (method == "all-at-once") return llm::all_at_once(model, log, options);
  if (method == "step-by-step") return llm::step_by_step(model, log, options);
  if (method == "binary-search") return llm::binary_search(model, log, options);
  if (method == "shortlist") return llm::shortlist(model, log, options);
  return llm::hybrid(model, log, options);
}

std::string describe(const llm::usage& u, bool estimated) {
  return fmt::format(
      "{}{} requests ({} retried, {} failed), {} answers from the cache, {} + {} tokens{}, cost {:.4f}",
      estimated ? "estimate: " : "", u.requests, u.retried, u.failed, u.cached, u.tokens_in, u.tokens_out,
      u.estimated ? fmt::format(" ({} answers without a count, estimated at four bytes a token)", u.estimated) : "",
      u.cost);
}

}  // namespace digd::cli
