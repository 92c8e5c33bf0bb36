#include "cli/browser_pdf.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <vector>

#include "cli/files.h"

extern char** environ;

namespace digd::cli {

namespace fs = std::filesystem;

namespace {

constexpr int max_wait_ms = 60'000;

class scratch_folder {
 public:
  scratch_folder() {
    std::error_code none;
    std::string pattern = (fs::temp_directory_path(none) / "digctl-XXXXXX").string();
    if (::mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  ~scratch_folder() {
    std::error_code none;
    if (!path_.empty()) fs::remove_all(path_, none);
  }
  scratch_folder(const scratch_folder&) = delete;
  scratch_folder& operator=(const scratch_folder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// Kills the browser if it takes too long.
std::string wait_for(pid_t child) {
  const int fd = static_cast<int>(::syscall(SYS_pidfd_open, child, 0));
  pollfd ended{.fd = fd, .events = POLLIN, .revents = 0};
  const bool late = fd >= 0 && ::poll(&ended, 1, max_wait_ms) == 0;
  if (late) ::kill(child, SIGKILL);
  if (fd >= 0) ::close(fd);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (late) return "the browser took more than a minute";
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? std::string() : "the browser failed";
}

}  // namespace

std::string find_browser() {
  if (const char* named = std::getenv("DIGD_BROWSER"); named != nullptr && *named != '\0') return named;
  const char* path = std::getenv("PATH");
  for (const char* name : {"chromium", "chromium-browser", "google-chrome-stable", "google-chrome"}) {
    std::istringstream folders(path != nullptr ? path : "");
    for (std::string folder; std::getline(folders, folder, ':');) {
      std::string file = folder + '/' + name;
      if (::access(file.c_str(), X_OK) == 0) return file;
    }
  }
  return {};
}

std::string print_pdf(const std::string& html, const std::string& pdf) {
  const std::string browser = find_browser();
  if (browser.empty())
    return "pdf needs Chromium: install it, name it in DIGD_BROWSER, or use --format html and print that";
  const scratch_folder scratch;
  if (scratch.path().empty()) return std::string("no temporary folder: ") + std::strerror(errno);
  const fs::path page = scratch.path() / "report.html", made = scratch.path() / "report.pdf";
  if (std::string problem = write_file(page, html); !problem.empty()) return problem;
  std::vector<std::string> words{browser,
                                 "--headless",
                                 "--disable-gpu",
                                 "--no-first-run",
                                 "--no-pdf-header-footer",
                                 "--host-resolver-rules=MAP * ~NOTFOUND",
                                 "--user-data-dir=" + (scratch.path() / "profile").string(),
                                 "--print-to-pdf=" + made.string(),
                                 "file://" + page.string()};
  if (::geteuid() == 0) words.insert(words.begin() + 1, "--no-sandbox");  // Chromium has none for root
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t quiet;
  posix_spawn_file_actions_init(&quiet);
  for (const int fd : {0, 1, 2}) posix_spawn_file_actions_addopen(&quiet, fd, "/dev/null", O_RDWR, 0);
  pid_t child = 0;
  const int failed = ::posix_spawnp(&child, browser.c_str(), &quiet, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&quiet);
  if (failed != 0) return browser + ": " + std::strerror(failed);
  if (std::string problem = wait_for(child); !problem.empty()) return problem;
  std::string problem;
  const auto text = read_file(made, std::size_t{1} << 30, problem);
  return text ? write_file(pdf, *text) : "the browser wrote no PDF: " + problem;
}

}  // namespace digd::cli
