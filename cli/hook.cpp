// digctl hook PROGRAM: a hook of type `command`. Passes the call on standard input to the daemon and prints its
// answer. Adds what only the user may read: usage from transcripts, the branch, which tool call started a subagent.
//
// With CALL, the program gives the call as an argument, as Codex does with `notify`.
//
// It fails open: whatever goes wrong, it prints nothing, says why on standard error, and exits with 0.
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>

#include "base/deep_json.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/daemon_options.h"
#include "cli/files.h"
#include "ingest/hooks/dialect.h"
#include "ingest/hooks/transcript.h"

namespace digd::cli {

namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr std::size_t max_call_bytes = 4u << 20;
constexpr std::size_t max_folders_up = 64;
constexpr std::chrono::milliseconds max_connect_time{100};

struct hook_options {
  std::string program;
  std::string mode = "shadow";
  std::string call;  // empty: it comes on standard input
  daemon_options daemon;
};

int fail_open(const std::string& problem) {
  std::cerr << "digctl hook: " << problem << "; the agent continues without digd\n";
  return done;
}

json::object usage_json(const hooks::usage_totals& usage) {
  return {
      {"input_tokens", usage.input_tokens}, {"output_tokens", usage.output_tokens}, {"model_calls", usage.model_calls}};
}

// The folder with the HEAD of the repository that `folder` is in; empty: it is in none.
fs::path repository_of(fs::path folder) {
  std::error_code none;
  for (std::size_t up = 0; up < max_folders_up && folder.is_absolute(); ++up, folder = folder.parent_path()) {
    fs::path git = folder / ".git";
    if (fs::is_directory(git, none)) return git;
    // A working tree beside the repository, and a submodule, have a file: "gitdir: FOLDER".
    std::string problem;
    const auto link = fs::exists(git, none) ? read_file(git, 4096, problem) : std::nullopt;
    constexpr std::string_view prefix = "gitdir: ";
    if (link && link->starts_with(prefix)) {
      return folder / link->substr(prefix.size(), link->find_first_of("\r\n") - prefix.size());
    }
    if (folder == folder.root_path()) break;
  }
  return {};
}

// Empty: the folder is in no repository, or no branch is checked out.
std::string branch_of(const std::string& folder) {
  const fs::path repository = repository_of(folder);
  if (repository.empty()) return {};
  std::string problem;
  const auto head = read_file(repository / "HEAD", 4096, problem);
  constexpr std::string_view prefix = "ref: refs/heads/";
  if (!head || !head->starts_with(prefix)) return {};
  return head->substr(prefix.size(), head->find_first_of("\r\n") - prefix.size());
}

void add_usage(const fs::path& transcript, std::size_t max_bytes, json::object& into) {
  std::string problem;
  const auto text = read_file(transcript, max_bytes, problem);
  if (!text) return;
  const hooks::transcript_facts facts = hooks::read_transcript(*text);
  into["usage"] = usage_json(facts.usage);
  into["model"] = facts.model;
}

// The file beside a subagent's transcript names the tool call that started it.
void add_tool_use(const json::object& call, json::object& into) {
  std::string problem;
  const auto text = read_file(hooks::subagent_file(call, ".meta.json"), 64 * 1024, problem);
  json::error_code ec;
  const json::value meta = text ? json::parse(*text, ec) : json::value();
  if (!ec && meta.is_object()) into["tool_use_id"] = hooks::text_of(meta.get_object(), "toolUseId");
}

json::object additions_to(const json::object& call, std::string_view program) {
  const std::string hook = hooks::text_of(call, "hook_event_name");
  json::object added;
  if (hook == "UserPromptSubmit" || hook == "SessionStart") added["branch"] = branch_of(hooks::text_of(call, "cwd"));
  if (hook == "SubagentStart") add_tool_use(call, added);
  if (const std::string file = hooks::transcript_for(program, call); !file.empty()) {
    const bool may_be_long = hooks::is_long_transcript_read(hook);
    add_usage(file, may_be_long ? hooks::max_transcript_bytes : hooks::max_transcript_bytes_per_tool, added);
  }
  return added;
}

int pass_on(const hook_options& options) {
  std::string problem;
  const auto text = options.call.empty() ? read_file("-", max_call_bytes, problem) : options.call;
  if (!text) return fail_open("the call " + problem);
  json::error_code ec;
  json::value call = parse_json(*text, ec);
  if (ec || !call.is_object()) return fail_open("the call is not a JSON object");
  auto daemon = http_to("hook", options.daemon);
  if (!daemon) return done;
  daemon->connect_within(max_connect_time);
  // Checks that there is a daemon before it reads a transcript: without one, the agent need not wait for that.
  if (problem = daemon->reach(); !problem.empty()) return fail_open(problem);
  if (json::object added = additions_to(call.get_object(), options.program); !added.empty())
    call.get_object()["digd"] = std::move(added);
  net::http_answer answer;
  problem = daemon->ask("POST", "/v1/hooks/" + percent_encoded(options.program) + "?mode=" + options.mode,
                        json::serialize(call), answer);
  if (!problem.empty()) return fail_open(problem);
  if (!answer.good()) return fail_open(complaint_of(*daemon, answer));
  if (!(std::cout << answer.body << std::endl)) return fail_open("standard output cannot be written to");
  return done;
}

}  // namespace

void add_hook(CLI::App& app, int& status) {
  auto options = std::make_shared<hook_options>();
  CLI::App* sub = app.add_subcommand("hook", "Passes a coding agent's hook call to the daemon; `attach` sets it up");
  sub->add_option("PROGRAM", options->program, "the coding agent")
      ->required()
      ->check(CLI::IsMember(hooks::dialect_names()));
  sub->add_option("CALL", options->call, "the call, if it does not come on standard input (`notify` of Codex)");
  sub->add_option("--mode", options->mode, "the mode of this session")
      ->check(CLI::IsMember({"off", "observe", "shadow", "enforce"}))
      ->capture_default_str();
  add_daemon_options(*sub, options->daemon);
  options->daemon.timeout_s = 5;
  sub->footer(
      "Reads the call on standard input, or takes it as CALL. If no daemon answers, the agent continues as without "
      "digd.");
  sub->callback([options, &status] { status = pass_on(*options); });
}

}  // namespace digd::cli
