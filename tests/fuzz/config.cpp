// The configuration: daemon::load_config, daemon::check_config, and writing it out reloaded.
#include "daemon/settings/config_file.h"
#include "daemon/settings/options.h"
#include "tests/fuzz/target.h"

using namespace digd;

FUZZ_TARGET(config) {
  const std::string_view text = fuzz::text_of(data, size);
  daemon::config loaded;
  const std::vector<std::string> mistakes = daemon::load_config(text, "digd.toml", loaded);
  for (const std::string& mistake : mistakes) {
    fuzz::must(mistake.starts_with("digd.toml:"), "a mistake is reported with its place", mistake);
  }
  fuzz::touch(daemon::check_config(loaded));
  if (!mistakes.empty()) return 0;

  // Every option that is written out reads back as the same value.
  std::string written, section;
  for (const daemon::option& option : daemon::options()) {
    if (option.section() != section) written += "[" + std::string(section = option.section()) + "]\n";
    written += std::string(option.key()) + " = " + option.get(loaded) + "\n";
  }
  daemon::config reloaded;
  const std::vector<std::string> unreadable = daemon::load_config(written, "digd.toml", reloaded);
  fuzz::must(unreadable.empty(), "a written configuration can be read",
             unreadable.empty() ? "" : unreadable.front() + "\n" + written);
  for (const daemon::option& option : daemon::options()) {
    fuzz::must(option.get(reloaded) == option.get(loaded), "an option reads back as the same value", option.name);
  }
  return 0;
}
