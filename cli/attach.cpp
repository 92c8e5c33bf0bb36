// digctl attach PROGRAM [MODE]: writes digd's hooks into the settings of a coding agent, or removes them.
#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/daemon_options.h"
#include "cli/files.h"
#include "cli/opencode_plugin.h"
#include "cli/printable.h"
#include "cli/settings_file.h"
#include "cli/shell_word.h"

namespace digd::cli {

namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr std::size_t max_settings_bytes = 4u << 20;

struct attach_options {
  std::string program, mode = "shadow";
  bool project = false, user = false, remove = false, check = false, command = false, dry_run = false;
  daemon_options daemon;
};

using version = std::array<int, 3>;

// A coding agent, as `attach` sees it.
struct attachable {
  const hooked_program& settings;
  const char* folder;           // of the settings, in the home
  const char* project_folder;   // of the settings, in the project
  const char* folder_variable;  // of the environment: names another folder
  const char* file;
  const char* version_command;
  version tried;         // docs/coding-agents.md lists what this version does with the answers
  bool has_http;         // hooks of type `http`
  std::int64_t timeout;  // of a hook, 10 s in the program's unit
  const char* works;
  const char* older;  // what may not work with older versions
};

const std::array<attachable, 4>& programs() {
  static const std::array<attachable, 4> list = {
      {{.settings = claude_code_settings(),
        .folder = ".claude",
        .project_folder = ".claude",
        .folder_variable = "CLAUDE_CONFIG_DIR",
        .file = "settings.json",
        .version_command = "claude --version 2>/dev/null",
        .tried = {2, 1, 330},
        .has_http = true,
        .timeout = 10,
        .works = "see, report, inject (prompts, contexts), give back (denied calls, blocked stops), hold (ask the "
                 "user) and cancel work",
        .older = "Old versions ignore longer prompts for subagents and blocked stops of subagents: see and report "
                 "work, give back may not"},
       {.settings = codex_settings(),
        .folder = ".codex",
        .project_folder = ".codex",
        .folder_variable = "CODEX_HOME",
        .file = "hooks.json",
        .version_command = "codex --version 2>/dev/null",
        .tried = {0, 169, 0},
        .has_http = false,
        .timeout = 10,
        .works = "see, report, inject (messages, contexts) and give back (denied calls, blocked stops) work. Codex "
                 "runs new hooks only after you have trusted them: it asks when it starts",
        .older = "Versions before 0.124 call no hooks unless the feature is enabled"},
       {.settings = gemini_settings(),
        .folder = ".gemini",
        .project_folder = ".gemini",
        .folder_variable = "",
        .file = "settings.json",
        .version_command = "gemini --version 2>/dev/null",
        .tried = {0, 61, 0},
        .has_http = false,
        .timeout = 10'000,
        .works = "see, report, inject (prompts, results) and give back (denied calls, rejected answers) work",
        .older = "Versions before 0.26 call no hooks unless the feature is enabled"},
       {.settings = opencode_program(),
        .folder = ".config/opencode",
        .project_folder = ".opencode",
        .folder_variable = "OPENCODE_CONFIG_DIR",
        .file = "plugins/digd.js",
        .version_command = "opencode --version 2>/dev/null",
        .tried = {1, 18, 33},
        .has_http = true,
        .timeout = 0,
        .works = "see, report, inject (prompts, results) and give back (denied calls) work",
        .older = "Old versions call no hook after a tool: then subagents seem to work forever"}}};
  return list;
}

const attachable& program_of(const attach_options& options) {
  return *std::find_if(programs().begin(), programs().end(),
                       [&](const attachable& each) { return each.settings.name == options.program; });
}

// opencode has a plugin; the others list hooks in their settings.
bool is_plugin(const attachable& program) { return program.settings.hooks.empty(); }

fs::path settings_path(const attach_options& options) {
  const attachable& program = program_of(options);
  if (options.project) return fs::path(program.project_folder) / program.file;
  if (const char* folder = std::getenv(program.folder_variable); folder != nullptr && *folder != '\0') {
    return fs::path(folder) / program.file;
  }
  const char* config = std::getenv("XDG_CONFIG_HOME");
  if (is_plugin(program) && config != nullptr && *config != '\0') {
    return fs::path(config) / "opencode" / program.file;
  }
  const char* home = std::getenv("HOME");
  return fs::path(home == nullptr ? "." : home) / program.folder / program.file;
}

// "2.1.330 (Claude Code)"; empty: the program is not on the PATH.
std::string installed_version(const char* command) {
  std::string text;
  FILE* pipe = popen(command, "r");  // NOLINT(cert-env33-c): a fixed command
  if (pipe == nullptr) return text;
  std::array<char, 128> buffer{};
  if (std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) text = buffer.data();
  pclose(pipe);
  return text.substr(0, text.find_first_of("\r\n"));
}

// All 0: the text does not begin with three numbers.
version version_in(std::string_view text) {
  version is{};
  text.remove_prefix(std::min(text.find_first_of("0123456789"), text.size()));
  for (int& part : is) {
    const auto read = std::from_chars(text.data(), text.data() + text.size(), part);
    if (read.ec != std::errc()) return {};
    text.remove_prefix(std::min<std::size_t>(text.size(), static_cast<std::size_t>(read.ptr - text.data()) + 1));
  }
  return is;
}

// Says what is known about the version. False: it is older than the one tried, or unknown.
bool report_version(const attachable& program) {
  const std::string text = installed_version(program.version_command);
  const version is = version_in(text);
  const std::string tried = std::to_string(program.tried[0]) + '.' + std::to_string(program.tried[1]) + '.' +
                            std::to_string(program.tried[2]);
  if (is == version{}) {
    std::cerr << program.settings.title << " is not on the PATH, so its version is unknown. digd was tested with "
              << tried << ".\n";
    return false;
  }
  if (is < program.tried) {
    std::cerr << program.settings.title << ' ' << printable(text) << " is older than " << tried
              << ", with which digd was tested. " << program.older << ".\n";
    return false;
  }
  std::cerr << program.settings.title << ' ' << printable(text) << ": " << program.works << ".\n";
  return true;
}

std::string hook_url(const attach_options& options, const daemon_end& daemon) {
  const std::string host = daemon.to.host.find(':') == std::string::npos ? daemon.to.host : '[' + daemon.to.host + ']';
  return (daemon.to.tls ? "https://" : "http://") + host + ':' + daemon.to.port + "/v1/hooks/" + options.program +
         "?mode=" + options.mode;
}

json::object handler_for(const attach_options& options, const daemon_end& daemon, std::string_view hook) {
  const attachable& program = program_of(options);
  const std::string name(program.settings.name);
  // Claude Code skips HTTP hooks while a session starts.
  if (options.command || daemon.to.local || !program.has_http || hook == "SessionStart") {
    std::string command = "digctl hook " + name + " --mode " + options.mode;
    // Absolute paths: the agent starts hooks in any folder.
    const auto add = [&](std::string_view option, const std::string& value) {
      command.append(" ").append(option).append(" ").append(shell_word(value));
    };
    if (options.daemon.to != daemon_options().to) add("--to", options.daemon.to);
    if (!options.daemon.token_file.empty()) add("--token-file", fs::absolute(options.daemon.token_file).string());
    if (!options.daemon.authority.empty()) add("--ca", fs::absolute(options.daemon.authority).string());
    return {{"type", "command"}, {"command", command}, {"timeout", program.timeout}};
  }
  json::object handler{{"type", "http"}, {"url", hook_url(options, daemon)}, {"timeout", program.timeout}};
  if (!daemon.token.empty()) {  // by name: the token itself is not written
    handler["headers"] = json::object{{"Authorization", "Bearer $DIGD_TOKEN"}};
    handler["allowedEnvVars"] = json::array{"DIGD_TOKEN"};
  }
  return handler;
}

// The settings as they are. Nothing there: an empty object. nullopt, after a message: they cannot be read.
std::optional<json::object> read_settings(const fs::path& path) {
  std::error_code none;
  if (!fs::exists(path, none)) return json::object();
  std::string problem;
  const auto text = read_file(path, max_settings_bytes, problem);
  if (!text) {
    complain("attach", shown(path) + ": " + problem);
    return {};
  }
  json::error_code ec;
  const json::value value = json::parse(*text, ec);
  if (ec || !value.is_object()) {
    complain("attach", shown(path) + " is not a JSON object; repair it first. Nothing was changed");
    return {};
  }
  if (const json::value* hooks = value.get_object().if_contains("hooks"); hooks != nullptr && !hooks->is_object()) {
    complain("attach", shown(path) + ": `hooks` is not an object; repair it first. Nothing was changed");
    return {};
  }
  return value.get_object();
}

bool is_daemon_there(const attach_options& options) {
  const auto daemon = http_to("attach", options.daemon);
  if (!daemon) return false;
  net::http_answer answer;
  std::string problem = daemon->get("/healthz", answer);
  if (problem.empty() && !answer.good()) problem = complaint_of(*daemon, answer);
  // This path needs the same right as the hooks. With that right, digd still refuses the request, but for another
  // reason: it opens no WebSocket.
  if (problem.empty()) problem = daemon->get("/v1/ingest", answer);
  if (problem.empty() && (answer.status == 401 || answer.status == 403)) problem = complaint_of(*daemon, answer);
  std::cerr << (problem.empty() ? "digd answers at " + daemon->to().shown() + ".\n" : problem + '\n');
  return problem.empty();
}

// Empty: there is no such file, or it cannot be read.
std::string contents_of(const fs::path& path) {
  std::string problem;
  return read_file(path, max_settings_bytes, problem).value_or(std::string());
}

// HTTP hooks send the token only if it was there when they were written.
bool do_hooks_send_token(const attach_options& options, const json::object& settings) {
  const std::string text = json::serialize(settings);
  if (text.find("/v1/hooks/" + options.program) == std::string::npos) return true;
  if (text.find("Bearer $DIGD_TOKEN") != std::string::npos) return true;
  const auto daemon = find_daemon("attach", options.daemon);
  if (!daemon || daemon->token.empty()) return true;
  std::cerr << "The hooks send no token; run digctl attach again with DIGD_TOKEN.\n";
  return false;
}

int check(const attach_options& options, const fs::path& path) {
  const attachable& program = program_of(options);
  if (is_plugin(program)) {
    const bool is_there = is_opencode_plugin(contents_of(path));
    std::cerr << shown(path) << (is_there ? " is digd's plugin.\n" : " is not there, or not digd's plugin.\n");
    const bool is_known = report_version(program);
    return is_daemon_there(options) && is_known && is_there ? done : found;
  }
  auto settings = read_settings(path);
  if (!settings) return wrong_use;
  const bool is_token_sent = do_hooks_send_token(options, *settings);
  const std::size_t hooks = remove_hooks(*settings, program.settings), wanted = program.settings.hooks.size();
  std::cerr << shown(path) << " has " << hooks << " of " << wanted << " hooks of digd.\n";
  const bool is_known = report_version(program);
  return is_daemon_there(options) && is_known && is_token_sent && hooks == wanted ? done : found;
}

// The plugin is a file of its own: nothing is merged.
int attach_plugin(const attach_options& options, const daemon_end& daemon, const fs::path& path) {
  if (daemon.to.local) return complain("attach", "the plugin needs an address of digd; pass --to HOST:PORT");
  std::error_code ec;
  const std::string before = contents_of(path);
  if (fs::exists(path, ec) && !is_opencode_plugin(before)) {
    return complain("attach", shown(path) + " is not digd's plugin. Nothing was changed");
  }
  const std::string after = options.remove ? std::string() : opencode_plugin(hook_url(options, daemon));
  if (before == after) {
    std::cerr << shown(path) << " needs no change.\n";
    return done;
  }
  std::cerr << "  " << (options.remove ? "- " : "+ ") << shown(path) << '\n';
  if (options.dry_run) return done;
  if (options.remove) {
    if (!fs::remove(path, ec)) return complain("attach", shown(path) + ": " + ec.message());
    std::cerr << "Sessions that begin from now on are not watched.\n";
    return done;
  }
  fs::create_directories(path.parent_path(), ec);
  if (const std::string problem = write_file(path, after); !problem.empty())
    return complain("attach", shown(path) + ": " + problem);
  report_version(program_of(options));
  std::cerr << "Sessions that begin from now on are watched (" << options.mode << ").\n";
  return done;
}

int attach(const attach_options& options) {
  const fs::path path = settings_path(options);
  if (options.check) return check(options, path);
  const auto daemon = find_daemon("attach", options.daemon);
  if (!daemon) return wrong_use;
  if (is_plugin(program_of(options))) return attach_plugin(options, *daemon, path);
  auto before = read_settings(path);
  if (!before) return wrong_use;
  json::object after = *before;
  const attachable& program = program_of(options);
  const std::size_t removed = remove_hooks(after, program.settings);
  const bool has_own = !after.empty();
  const std::vector<std::string> added = options.remove ? std::vector<std::string>() : program.settings.hooks;
  for (const std::string& name : added) add_hook(after, name, handler_for(options, *daemon, name));
  if (after == *before) {
    std::cerr << shown(path) << " needs no change.\n";
    return done;
  }
  std::cerr << shown(path) << ":\n";
  if (removed > 0) std::cerr << "  - " << removed << " hooks of digd\n";
  for (const std::string& name : added)
    std::cerr << "  + hooks." << name << ": " << json::serialize(handler_for(options, *daemon, name)) << '\n';
  if (options.dry_run) return done;
  std::error_code ec;
  fs::create_directories(path.parent_path(), ec);
  const fs::path backup = path.string() + ".before-digd";
  // A backup from before the hooks that are replaced now stays: it has the user's original settings.
  const bool has_original = removed > 0 && fs::exists(backup, ec);
  if (has_own && !has_original) {
    fs::copy_file(path, backup, fs::copy_options::overwrite_existing, ec);
    if (ec) return complain("attach", "no backup " + shown(backup) + ": " + ec.message() + ". Nothing was changed");
    std::cerr << "The settings as they were: " << shown(backup) << '\n';
  }
  if (const std::string problem = write_file(path, indented(after)); !problem.empty())
    return complain("attach", shown(path) + ": " + problem);
  if (options.remove) {
    std::cerr << "Sessions that begin from now on are not watched.\n";
    return done;
  }
  report_version(program);
  std::cerr << "Sessions that begin from now on are watched (" << options.mode << ").\n";
  return done;
}

}  // namespace

void add_attach(CLI::App& app, int& status) {
  auto options = std::make_shared<attach_options>();
  CLI::App* sub = app.add_subcommand("attach", "Lets digd watch a coding agent: writes its hooks into the settings");
  sub->add_option("PROGRAM", options->program, "the coding agent")
      ->required()
      ->check(CLI::IsMember({"claude-code", "codex", "gemini", "opencode"}));
  sub->add_option("MODE", options->mode, "shadow: digd reports what it would do. enforce: digd does it")
      ->check(CLI::IsMember({"off", "observe", "shadow", "enforce"}))
      ->capture_default_str();
  auto* project = sub->add_flag("--project", options->project, "the settings of the project in this folder");
  sub->add_flag("--user", options->user, "the settings of the user (default)")->excludes(project);
  sub->add_flag("--remove", options->remove, "remove digd's hooks");
  sub->add_flag("--check", options->check, "change nothing; check the hooks, the version, the daemon and the token");
  sub->add_flag("--command", options->command,
                "write hooks that start `digctl hook`: for hosts without HTTP hooks, and to report usage");
  sub->add_flag("--dry-run", options->dry_run, "only show the change");
  add_daemon_options(*sub, options->daemon);
  sub->footer(
      "With DIGD_TOKEN or --token-file, HTTP hooks send the token from the environment's DIGD_TOKEN. Hooks that start "
      "`digctl hook` read the token file that --token-file names, else DIGD_TOKEN.");
  sub->callback([options, &status] { status = attach(*options); });
}

}  // namespace digd::cli
