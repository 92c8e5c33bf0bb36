#include "cli/fleet_options.h"

namespace digd::cli {

fleet_options& common_fleet() {
  static fleet_options options;
  return options;
}

void add_fleet_access(CLI::App& app, fleet_options& options) {
  app.add_option(
         "--fleet", options.urls,
         "read a fleet (docs/fleet.md): the folder or s3:// URL of its Parquet files, nats:// of its stream; may "
         "be repeated")
      ->allow_extra_args(false)
      ->group("A fleet");
  app.add_option("--fleet-credentials", options.credentials, "with --fleet: a credentials file of NATS")
      ->envname("DIGD_FLEET_CREDENTIALS")
      ->group("A fleet");
  app.add_option("--fleet-ca", options.authority,
                 "with --fleet: a PEM file of who may sign the certificates of NATS; default: the system's")
      ->envname("DIGD_FLEET_CA")
      ->group("A fleet");
}

void add_fleet_options(CLI::App& app, fleet_options& options) {
  add_fleet_access(app, options);
  app.add_option("--where", options.where, "with --fleet: an SQL condition on the columns of `runs`")->group("A fleet");
}

void add_common_fleet_options(CLI::App& app) {
  app.add_option("--fleet", common_fleet().urls, "for commands that read runs: read a fleet (docs/fleet.md)")
      ->allow_extra_args(false);
}

fleet_options effective_fleet(const fleet_options& options) {
  fleet_options out = options;
  out.urls.insert(out.urls.begin(), common_fleet().urls.begin(), common_fleet().urls.end());
  return out;
}

}  // namespace digd::cli
