#include "cli/llm_options.h"

#include <fmt/format.h>

#include <cstdlib>
#include <iostream>

#include "analysis/chief/llm/chief_stages.h"
#include "cli/files.h"
#include "cli/printable.h"

namespace digd::cli {

namespace llm = chief::llm;

void add_llm_options(CLI::App& app, llm_options& how) {
  const std::string group = "With a model";
  app.add_option("--llm", how.url, "an OpenAI-compatible endpoint, such as https://host/v1")->group(group);
  app.add_option("--model", how.model, "the model's name there")->group(group);
  app.add_option("--llm-key-file", how.key_file, "file with the key; else DIGD_LLM_KEY or OPENAI_API_KEY")->group(group);
  app.add_flag("--with-answer", how.with_answer, "tell the model the right answer, if the log has it")->group(group);
  app.add_flag("--dry-run", how.dry_run, "send nothing: print the prompts, estimate tokens and cost")->group(group);
  app.add_option("--llm-ca", how.authority, "with TLS: who signs the endpoint's certificate, PEM; else whom the system trusts")->group(group);
  app.add_option("--llm-cache", how.cache, "folder for the answers; the same prompt is not paid for twice")->group(group);
  app.add_option("--llm-rate", how.per_minute, "most requests a minute; 0: no limit")->check(CLI::NonNegativeNumber)->group(group);
  app.add_option("--llm-tries", how.tries, "of one request")->check(CLI::Range(1, 20))->capture_default_str()->group(group);
  app.add_option("--llm-timeout", how.timeout_s, "seconds a request may take")->check(CLI::Range(1, 3'600))->capture_default_str()->group(group);
  app.add_option("--llm-max-requests", how.max_requests, "stop after so many")->capture_default_str()->group(group);
  app.add_option("--llm-max-tokens", how.max_tokens, "stop after so many, read and written; 0: no limit")->group(group);
  app.add_option("--llm-context", how.context_bytes, "most bytes of steps in one prompt")->check(CLI::Range(1'000, 100'000'000))->capture_default_str()->group(group);
  app.add_option("--llm-answer-tokens", how.answer_tokens, "most tokens of one answer")->check(CLI::Range(16, 1'000'000))->capture_default_str()->group(group);
  app.add_option("--llm-temperature", how.temperature, "below 0: not sent")->capture_default_str()->group(group);
  app.add_option("--price-in", how.price_in, "of a million tokens read")->check(CLI::NonNegativeNumber)->group(group);
  app.add_option("--price-out", how.price_out, "of a million tokens written")->check(CLI::NonNegativeNumber)->group(group);
}

namespace {

// A key is for the endpoint alone; on the way to another machine, without TLS anybody may read it.
bool in_clear(std::string_view url) {
  constexpr std::string_view scheme = "http://";
  if (!url.starts_with(scheme)) return false;
  std::string_view host = url.substr(scheme.size());
  host = host.substr(0, host.find('/'));
  if (host.starts_with("[::1]")) return false;
  host = host.substr(0, host.rfind(':'));
  return host != "localhost" && host != "127.0.0.1";
}

std::string key_from_environment() {
  for (const char* name : {"DIGD_LLM_KEY", "OPENAI_API_KEY"}) {
    if (const char* key = std::getenv(name); key && *key) return key;
  }
  return {};
}

}  // namespace

std::unique_ptr<llm::endpoint> open_endpoint(const llm_options& how, std::string& why) {
  llm::endpoint_options to;
  if (how.url.empty() && !how.dry_run) why = "--llm URL is needed for this method";
  else if (how.model.empty() && !how.dry_run) why = "--model NAME is needed with --llm";
  if (!why.empty()) return nullptr;
  if (!how.key_file.empty()) {
    const auto text = read_file(how.key_file, 64u << 10, why);
    if (!text) {
      why = shown(how.key_file) + ": " + why;
      return nullptr;
    }
    to.key = text->substr(0, text->find_first_of("\r\n"));
  } else {
    to.key = key_from_environment();
  }
  if (!how.dry_run && !to.key.empty() && in_clear(how.url)) {
    why = "--llm: over http:// the key could be read on the way; use https://, or give no key";
    return nullptr;
  }
  to.url = how.url;
  to.model = how.model;
  to.cache = how.cache;
  to.authority = how.authority;
  to.max_tokens_in_all = how.max_tokens;
  to.timeout_ms = how.timeout_s * 1000;
  to.tries = how.tries;
  to.requests_per_minute = how.per_minute;
  to.price_in = how.price_in;
  to.price_out = how.price_out;
  to.temperature = how.temperature;
  to.max_requests = how.max_requests;
  to.max_answer_tokens = how.answer_tokens;
  to.dry_run = how.dry_run;
  to.on_dry_run = [](const std::string& prompt) { std::cout << printable_lines(prompt) << "----\n"; };
  return std::make_unique<llm::endpoint>(std::move(to));
}

llm::judge_options judging(const llm_options& how, const std::string& right_answer) {
  llm::judge_options to;
  to.context_bytes = how.context_bytes;
  if (how.with_answer) to.right_answer = right_answer;
  return to;
}

llm::ruling rule_by(const std::string& method, llm::endpoint& model, const chief::flat_log& log, const llm::judge_options& how,
                    chief::attribution* graph) {
  if (method == "chief-llm") return llm::chief_stages(model, log, how, graph);
  if (method == "all-at-once") return llm::all_at_once(model, log, how);
  if (method == "step-by-step") return llm::step_by_step(model, log, how);
  if (method == "binary-search") return llm::binary_search(model, log, how);
  return llm::hybrid(model, log, how);
}

std::string describe(const llm::usage& u, bool estimated) {
  return fmt::format("{}{} requests ({} retried, {} failed), {} answers from the cache, {} + {} tokens{}, cost {:.4f}",
                     estimated ? "estimate: " : "", u.requests, u.retried, u.failed, u.cached, u.tokens_in, u.tokens_out,
                     u.estimated ? fmt::format(" ({} answers without a count: four bytes a token)", u.estimated) : "", u.cost);
}

}  // namespace digd::cli
