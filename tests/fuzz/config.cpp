// The configuration: daemon::load_config and what is checked of the whole.
#include "daemon/settings/config.h"
#include "daemon/settings/option.h"
#include "tests/fuzz/target.h"

using namespace digd;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  daemon::config loaded;
  const std::vector<std::string> wrong = daemon::load_config(text, "digd.toml", loaded);
  for (const std::string& text : wrong) {
    fuzz::must(text.starts_with("digd.toml:"), "a mistake is told with its place", text);
  }
  fuzz::touch(daemon::check_config(loaded));
  if (!wrong.empty()) return 0;

  // Written out, every option reads back as itself.
  std::string written, section;
  for (const daemon::option& option : daemon::options()) {
    if (option.section() != section) written += "[" + std::string(section = option.section()) + "]\n";
    written += std::string(option.key()) + " = " + option.get(loaded) + "\n";
  }
  daemon::config again;
  const std::vector<std::string> broken = daemon::load_config(written, "digd.toml", again);
  fuzz::must(broken.empty(), "what is written can be read", broken.empty() ? "" : broken.front() + "\n" + written);
  for (const daemon::option& option : daemon::options()) {
    fuzz::must(option.get(again) == option.get(loaded), "an option reads back as itself", option.name);
  }
  return 0;
}
