// digctl backup and restore: copies an archive while digd runs, and puts a copy back.
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>

#include "archive/backup.h"
#include "base/quote.h"
#include "cli/commands.h"
#include "cli/daemon_options.h"
#include "cli/files.h"
#include "cli/progress.h"
#include "report/words.h"

namespace digd::cli {

namespace {

struct backup_options {
  std::string file;
  std::string data_dir;
  bool replace = false;
};

std::string archive_in(const std::string& data_dir) { return data_dir + "/digd.sqlite"; }

// While `work` runs, shows how much of `from` has been copied to `into`. A copy may be smaller than its source.
template <class Work>
auto with_progress(const std::string& from, const std::string& into, const Work& work) {
  const auto size_of = [](const std::string& file) -> std::uint64_t {
    std::error_code ec;
    const std::uintmax_t size = std::filesystem::file_size(file, ec);
    return ec ? 0 : size;
  };
  return show_while(
      {.name = "copying", .total = size_of(from), .unit = "bytes", .measure = [=] { return size_of(into); }}, work);
}

void print(const char* did, const std::string& file, const archive::backup_result& result) {
  std::cerr << did << ' ' << digd::quoted(file) << ": " << report::counted(result.runs, "run", "runs") << ", "
            << report::counted(result.entries, "entry", "entries") << ", "
            << report::counted(result.bytes, "byte", "bytes") << '\n';
}

int back_up(const backup_options& options) {
  const std::string from = archive_in(options.data_dir);
  std::string problem = no_folder_reason(options.data_dir);
  if (!problem.empty()) return complain("backup", shown(options.data_dir) + ": " + problem);
  const auto result = with_progress(from, archive::unfinished_copy_of(options.file),
                                    [&] { return archive::back_up(from, options.file, &problem); });
  if (!result) return complain("backup", problem);
  print("wrote", options.file, *result);
  return done;
}

int restore(const backup_options& options) {
  const std::string to = archive_in(options.data_dir);
  std::string problem = unreadable_reason(options.file);
  if (!problem.empty()) return complain("restore", shown(options.file) + ": " + problem);
  problem = no_folder_reason(options.data_dir);
  if (!problem.empty()) return complain("restore", shown(options.data_dir) + ": " + problem);
  const auto result = with_progress(options.file, archive::unfinished_copy_of(to),
                                    [&] { return archive::restore(options.file, to, options.replace, &problem); });
  if (!result) return complain("restore", problem);
  if (!result->aside.empty()) std::cerr << "the old archive is now " << digd::quoted(result->aside) << '\n';
  print("restored", to, *result);
  return done;
}

CLI::App* add(CLI::App& app, const char* name, const char* summary, const std::shared_ptr<backup_options>& options) {
  CLI::App* sub = app.add_subcommand(name, summary);
  sub->add_option("FILE", options->file, "the copy")->required();
  sub->add_option("--data-dir", options->data_dir, "the daemon's folder, which contains digd.sqlite")->required();
  return sub;
}

}  // namespace

void add_backup(CLI::App& app, int& status) {
  auto options = std::make_shared<backup_options>();
  CLI::App* sub = add(app, "backup", "Copies the archive of a daemon, which may be running", options);
  sub->footer(
      "The copy holds everything that was acknowledged when the command began. It is checked before it gets its "
      "name.");
  sub->callback([options, &status] { status = back_up(*options); });
}

void add_restore(CLI::App& app, int& status) {
  auto options = std::make_shared<backup_options>();
  CLI::App* sub = add(app, "restore", "Puts a copy of `digctl backup` in the folder of a stopped daemon", options);
  sub->add_flag("--replace", options->replace, "rename an existing archive");
  sub->footer("The copy itself does not change.");
  sub->callback([options, &status] { status = restore(*options); });
}

}  // namespace digd::cli
