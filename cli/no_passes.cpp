#include "cli/passes.h"

namespace digd::cli {

void add_pass_commands(CLI::App&, int&) {}

std::optional<std::vector<report::part>> attributed(const std::string& source, const attribution_options&, kept_trace&,
                                                    const report::gathered&, progress&) {
  return report::not_run(report::on_command_line(source), "this digctl was built without the attribution methods.");
}

}  // namespace digd::cli
