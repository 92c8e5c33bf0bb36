// digctl completion bash|zsh|fish|man: prints a shell's completion script, or the commands' part of the manual page.
// Both are made from the commands themselves, so that neither lacks a command. --help does not show it: packages call
// it.
#include <fmt/format.h>

#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "cli/commands.h"

namespace digd::cli {

namespace {

using apps = std::vector<const CLI::App*>;
using names = std::vector<std::string>;

apps commands_of(const CLI::App& app) {
  apps shown;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App* a) { return !a->get_group().empty(); })) {
    shown.push_back(sub);
  }
  return shown;
}

std::vector<const CLI::Option*> options_of(const CLI::App& app, bool positional) {
  std::vector<const CLI::Option*> shown;
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_group().empty() && option->get_positional() == positional) shown.push_back(option);
  }
  return shown;
}

names flags_of(const CLI::Option& option) {
  names names;
  for (const std::string& name : option.get_snames()) names.push_back('-' + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

// The values that an option allows, read from its type, such as "TEXT:{table,jsonl}"; empty: any value.
names choices_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t begin = type.find('{'), end = type.find('}');
  names names;
  if (begin == type.npos || end == type.npos) return names;
  std::istringstream list(type.substr(begin + 1, end - begin - 1));
  for (std::string word; std::getline(list, word, ',');) names.push_back(word);
  return names;
}

std::string joined(const names& names) {
  std::string out;
  for (const std::string& text : names) out += (out.empty() ? "" : " ") + text;
  return out;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string replaced(std::string text, const std::string& given_text, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(given_text, at)) != text.npos; at += by.size())
    text.replace(at, given_text.size(), by);
  return text;
}

std::string shell_quoted(const std::string& text) { return '\'' + replaced(text, "'", "'\\''") + '\''; }

// Calls `each` with every command and the words that lead to it.
template <class Each>
void walk(const CLI::App& app, const std::string& path, Each each) {
  each(app, path);
  for (const CLI::App* sub : commands_of(app)) walk(*sub, path + ' ' + sub->get_name(), each);
}

// ---- bash

void print_bash(const CLI::App& root) {
  std::ostringstream leads, values, words;
  walk(root, "digctl", [&](const CLI::App& app, const std::string& path) {
    if (path != "digctl") leads << "      " << shell_quoted(path) << ") path=" << shell_quoted(path) << " ;;\n";
    names flags, subcommands;
    for (const CLI::Option* option : options_of(app, false)) {
      const names its = flags_of(*option);
      flags.insert(flags.end(), its.begin(), its.end());
      if (!takes_value(*option)) continue;
      const names choices = choices_of(*option);
      const std::string reply = choices.empty() ? "return" : "offer " + shell_quoted(joined(choices)) + "; return";
      for (const std::string& flag : its)
        values << "    " << shell_quoted(fmt::format("{} {}", path, flag)) << ") " << reply << " ;;\n";
    }
    for (const CLI::App* sub : commands_of(app)) subcommands.push_back(sub->get_name());
    words << "    " << shell_quoted(path) << ")\n      if [[ $cur == -* ]]; then offer " << shell_quoted(joined(flags))
          << "; else offer " << shell_quoted(joined(subcommands)) << "; fi ;;\n";
  });
  std::cout << "# bash completion for digctl; written by `digctl completion bash`\n"
               "_digctl() {\n"
               "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} path=digctl i\n"
               "  offer() { mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$cur\"); }\n"
               "  COMPREPLY=()\n"
               "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
               "    case \"$path ${COMP_WORDS[i]}\" in\n"
            << leads.str()
            << "    esac\n"
               "  done\n"
               "  case \"$path $prev\" in\n"
            << values.str()
            << "  esac\n"
               "  case $path in\n"
            << words.str()
            << "  esac\n"
               "}\n"
               "complete -o default -F _digctl digctl\n";
}

// ---- zsh

std::string zsh_text(const std::string& text) {
  std::string out = first_line(text);
  for (const char* special : {"\\", "[", "]", ":"}) out = replaced(out, special, std::string("\\") + special);
  return out;
}

void print_zsh_options(const CLI::App& app) {
  for (const CLI::Option* option : options_of(app, false)) {
    const names choices = choices_of(*option);
    std::string value;
    if (takes_value(*option)) value = choices.empty() ? ":value:_files" : ":value:(" + joined(choices) + ")";
    for (const std::string& flag : flags_of(*option)) {
      std::cout << "    " << shell_quoted(fmt::format("*{}[{}]{}", flag, zsh_text(option->get_description()), value))
                << " \\\n";
    }
  }
}

void print_zsh(const CLI::App& root) {
  std::cout << "#compdef digctl\n# zsh completion for digctl; written by `digctl completion zsh`\n\n";
  walk(root, "digctl", [](const CLI::App& app, const std::string& path) {
    const std::string function = '_' + replaced(path, " ", "__");
    const apps subcommands = commands_of(app);
    std::cout << function
              << "() {\n  local curcontext=$curcontext state line\n  typeset -A opt_args\n  _arguments -C \\\n";
    print_zsh_options(app);
    if (subcommands.empty()) {
      std::cout << "    '*:file:_files'\n}\n\n";
      return;
    }
    std::cout << "    '1: :->command' '*:: :->rest'\n  case $state in\n  command)\n    local -a commands=(\n";
    for (const CLI::App* sub : subcommands) {
      std::cout << "      " << shell_quoted(sub->get_name() + ':' + zsh_text(sub->get_description())) << '\n';
    }
    std::cout << "    )\n    _describe command commands ;;\n  rest)\n    case $line[1] in\n";
    for (const CLI::App* sub : subcommands) {
      std::cout << "    " << sub->get_name() << ") " << function << "__" << sub->get_name() << " ;;\n";
    }
    std::cout << "    esac ;;\n  esac\n}\n\n";
  });
  std::cout << "_digctl \"$@\"\n";
}

// ---- fish

// True where the words before the cursor lead to this command, and, if `is_open`, to none of its subcommands.
std::string fish_condition(const CLI::App& app, const std::string& path, bool is_open) {
  std::istringstream words(path);
  std::string condition, word;
  for (words >> word; words >> word;) {
    condition += (condition.empty() ? "" : "; and ") + ("__fish_seen_subcommand_from " + word);
  }
  names subcommands;
  for (const CLI::App* sub : commands_of(app)) subcommands.push_back(sub->get_name());
  if (!is_open || subcommands.empty()) return condition;
  return condition + (condition.empty() ? "" : "; and ") + "not __fish_seen_subcommand_from " + joined(subcommands);
}

void print_fish(const CLI::App& root) {
  std::cout << "# fish completion for digctl; written by `digctl completion fish`\n";
  walk(root, "digctl", [](const CLI::App& app, const std::string& path) {
    const std::string open = shell_quoted(fish_condition(app, path, true));
    for (const CLI::App* sub : commands_of(app)) {
      std::cout << "complete -c digctl -f -n " << open << " -a " << sub->get_name() << " -d "
                << shell_quoted(first_line(sub->get_description())) << '\n';
    }
    const std::string inside = fish_condition(app, path, false);
    for (const CLI::Option* option : options_of(app, false)) {
      std::cout << "complete -c digctl" << (inside.empty() ? "" : " -n " + shell_quoted(inside));
      for (const std::string& name : option->get_snames()) std::cout << " -s " << name;
      for (const std::string& name : option->get_lnames()) std::cout << " -l " << name;
      const names choices = choices_of(*option);
      if (!choices.empty()) std::cout << " -x -a " << shell_quoted(joined(choices));
      if (choices.empty() && takes_value(*option)) std::cout << " -r";
      std::cout << " -d " << shell_quoted(first_line(option->get_description())) << '\n';
    }
  });
}

// ---- the manual page, mdoc(7)

void print_roff(const std::string& text) {
  std::istringstream words(replaced(replaced(text, "\\", "\\e"), "-", "\\-"));
  std::string line;
  const auto flush = [&] {
    if (!line.empty()) std::cout << (line[0] == '.' || line[0] == '\'' ? "\\&" : "") << line << '\n';
    line.clear();
  };
  for (std::string word; words >> word;) {
    if (line.size() + word.size() > 72) flush();
    line += (line.empty() ? "" : " ") + word;
    if (word.back() == '.') flush();
  }
  flush();
}

void print_man_options(const CLI::App& app) {
  std::vector<const CLI::Option*> options = options_of(app, true);
  const auto flags = options_of(app, false);
  options.insert(options.end(), flags.begin(), flags.end());
  if (options.empty()) return;
  std::cout << ".Bl -tag -width Ds\n";
  for (const CLI::Option* option : options) {
    std::cout << ".It";
    if (option->get_positional()) {
      std::cout << " Ar " << option->get_single_name();
    } else {
      const char* between = " ";
      for (const std::string& flag : flags_of(*option)) {
        std::cout << between << "Fl " << replaced(flag.substr(1), "-", "\\-");
        between = " , ";
      }
      const names choices = choices_of(*option);
      if (takes_value(*option))
        std::cout << " Ar " << (choices.empty() ? "value" : replaced(joined(choices), " ", "|\\:"));
    }
    std::cout << '\n';
    print_roff(option->get_description());
    if (!option->get_default_str().empty()) print_roff("Default: " + option->get_default_str() + '.');
  }
  std::cout << ".El\n";
}

void print_man(const CLI::App& root) {
  walk(root, "digctl", [&](const CLI::App& app, const std::string& path) {
    if (path == "digctl") return;
    std::cout << ".Ss " << path << '\n';
    print_roff(app.get_description() + (app.get_description().ends_with('.') ? "" : "."));
    print_man_options(app);
    if (app.get_footer() != root.get_footer()) print_roff(app.get_footer());  // else inherited
  });
}

}  // namespace

void add_completion(CLI::App& app, int& status) {
  auto shell = std::make_shared<std::string>();
  CLI::App* sub = app.add_subcommand("completion", "Prints a shell's completion script, or the manual page");
  sub->group("");  // not in --help
  sub->add_option("SHELL", *shell, "bash, zsh, fish, or man")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish", "man"}));
  sub->callback([shell, &app, &status] {
    if (*shell == "bash") print_bash(app);
    if (*shell == "zsh") print_zsh(app);
    if (*shell == "fish") print_fish(app);
    if (*shell == "man") print_man(app);
    status = done;
  });
}

}  // namespace digd::cli
