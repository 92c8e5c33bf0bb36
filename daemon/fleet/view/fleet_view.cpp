#include "daemon/fleet/view/fleet_view.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <boost/json/parse.hpp>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "archive/files.h"
#include "base/child_process.h"
#include "base/json_writer.h"
#include "base/quote.h"
#include "base/thread_name.h"
#include "ingest/protocol/decode.h"

namespace digd::daemon {

namespace {

namespace http = boost::beast::http;
namespace json = boost::json;

constexpr int input_buffer_bytes = 1 << 20;  // more than `max_questions` of `max_question_bytes`

std::optional<usage_amounts> usage_of(std::string_view frame) {
  thread_local ingest::decoder decoder;
  message decoded;
  if (decoder.decode(frame, decoded).refused) return std::nullopt;
  return decoded.usage;
}

std::string interpreter() {
  const char* named = std::getenv("DIGD_PYTHON");
  return named != nullptr && *named != '\0' ? named : "python3";
}

http_response away(const std::string& problem) { return busy("the fleet cannot be read: " + problem); }

// Takes the first word off a line.
std::string_view take_word(std::string_view& line) {
  const std::size_t end = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return word;
}

template <class Number>
Number number_of(std::string_view text) {
  Number value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// The lines of a descriptor, which it closes.
class line_reader {
 public:
  explicit line_reader(int from) : file_(::fdopen(from, "r")) {}
  ~line_reader() {
    if (file_ != nullptr) std::fclose(file_);
    std::free(line_);
  }
  line_reader(const line_reader&) = delete;
  line_reader& operator=(const line_reader&) = delete;

  bool next(std::string_view& line) {
    const ssize_t length = file_ == nullptr ? -1 : ::getline(&line_, &room_, file_);
    if (length <= 0) return false;
    line = {line_, static_cast<std::size_t>(length) - (line_[length - 1] == '\n')};
    return true;
  }

 private:
  std::FILE* file_;
  char* line_ = nullptr;
  std::size_t room_ = 0;
};

}  // namespace

fleet_view::fleet_view(const fleet_settings& settings, std::string folder)
    : settings_(settings), folder_(std::move(folder)), archive_path_(folder_ + "/fleet-view.sqlite") {}

std::string fleet_view::prepare() {
  std::string problem;
  const auto taken = lock_.take(folder_ + "/fleet-view.lock", problem);
  if (taken == archive::file_lock::result::held_by_another) return "another viewer uses this data directory";
  if (taken == archive::file_lock::result::failed) return problem;
  archive::remove_archive_file(archive_path_);
  const archive::open_trouble trouble = import_.open(archive_path_, usage_of);
  if (trouble) return digd::quoted(archive_path_) + ": " + trouble.words;
  const archive::failure unpublished = import_.publish();
  return unpublished ? digd::quoted(archive_path_) + ": " + unpublished.words : std::string();
}

void fleet_view::start(listeners to) {
  listeners_ = std::move(to);
  thread_ = std::thread([this] {
    name_this_thread("view");
    work();
  });
}

void fleet_view::stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    if (to_ >= 0) ::shutdown(to_, SHUT_RDWR);  // the process ends with its input
  }
  wake_.notify_all();
  thread_.join();
  archive::remove_archive_file(archive_path_);
}

std::string fleet_view::problem() const {
  const std::lock_guard lock(mutex_);
  return problem_;
}

// ---- questions

void fleet_view::ask(std::string_view question, const parameters& given, answered then) {
  std::string line;
  std::string refusal;
  {
    const std::lock_guard lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (!questions_.empty() && now - questions_.begin()->second.since > max_answer_time && to_ >= 0) {
      ::shutdown(to_, SHUT_RDWR);  // it hangs: its thread starts another one
    }
    json_writer to(line);
    to.open_object().key("id").integer(last_question_ + 1).key("ask").text(question).key("with").open_object();
    for (const auto& [name, value] : given) to.key(name).text(value);
    to.close_object().close_object();
    if (to_ < 0) refusal = problem_;
    if (questions_.size() >= max_questions) refusal = "too many questions wait; try again";
    if (line.size() > max_question_bytes) refusal = "the question is too long";
    if (refusal.empty()) {
      questions_.emplace(++last_question_, waiting_question{std::move(then), now});
      if (!send(line + '\n')) ::shutdown(to_, SHUT_RDWR);
      return;
    }
    counts_.refused.fetch_add(1);
  }
  then(away(refusal));
}

// With the mutex. The buffer has room for all questions, so a full one means a process that reads nothing.
bool fleet_view::send(std::string_view line) {
  return ::send(to_, line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(line.size());
}

void fleet_view::open(const std::string& run, opened then) {
  std::optional<http_response> refusal;
  std::optional<std::pair<std::string, std::int64_t>> surplus;
  {
    const std::lock_guard lock(mutex_);
    const auto [at, is_new] = runs_.try_emplace(run);
    at->second.last_use = ++last_use_;
    const bool is_read = !is_new && at->second.number != 0;
    const bool is_full = at->second.waiting.size() >= max_questions;
    if (!is_read && !is_full) at->second.waiting.push_back(std::exchange(then, nullptr));
    if (!is_read && !is_new && !is_full) return;
    if (is_full) refusal = away("too many requests wait for this run; try again");
    if (is_new) surplus = take_surplus();
  }
  if (then) return then(std::move(refusal));
  if (surplus) {
    ask("close", {{"run", surplus->first}}, [this, number = surplus->second](http_response&&) {
      const std::lock_guard lock(mutex_);
      evicted_.push_back(number);  // no row of the run follows
    });
  }
  ask("open", {{"run", run}}, [this, run](http_response&& answer) { complete_opening(run, std::move(answer)); });
}

// With the mutex. The run that nobody has asked for the longest time, if there are too many. Those that are being read
// stay.
std::optional<std::pair<std::string, std::int64_t>> fleet_view::take_surplus() {
  if (runs_.size() <= max_runs) return std::nullopt;
  auto oldest = runs_.end();
  for (auto at = runs_.begin(); at != runs_.end(); ++at) {
    if (at->second.number == 0) continue;
    if (oldest == runs_.end() || at->second.last_use < oldest->second.last_use) oldest = at;
  }
  if (oldest == runs_.end()) return std::nullopt;
  std::pair<std::string, std::int64_t> found{oldest->first, oldest->second.number};
  runs_.erase(oldest);
  counts_.evicted.fetch_add(1);
  return found;
}

void fleet_view::complete_opening(const std::string& run, http_response&& answer) {
  std::vector<opened> waiting;
  const bool is_open = answer.result() == http::status::ok;
  {
    const std::lock_guard lock(mutex_);
    const auto at = runs_.find(run);
    if (at == runs_.end()) return;
    waiting = std::move(at->second.waiting);
    at->second.waiting.clear();
    json::error_code ec;
    const json::value value = json::parse(answer.body(), ec);
    const json::object* fields = ec ? nullptr : value.if_object();
    const json::value* number = fields == nullptr ? nullptr : fields->if_contains("number");
    at->second.number = is_open && number != nullptr && number->is_int64() ? number->get_int64() : 0;
    if (at->second.number == 0) runs_.erase(at);
    counts_.runs = runs_.size();
  }
  for (const opened& then : waiting) then(is_open ? std::nullopt : std::optional<http_response>(answer));
}

// ---- its thread

void fleet_view::work() {
  std::chrono::milliseconds wait = first_pause;
  for (bool is_first = true;; is_first = false) {
    if (!is_first) counts_.restarts.fetch_add(1);
    const auto begun = std::chrono::steady_clock::now();
    std::string problem = converse();
    std::unique_lock lock(mutex_);
    if (stopping_) break;
    problem_ = problem;
    lock.unlock();
    spdlog::warn("view_restarts reason={}", digd::quoted(problem));
    fail_all(problem);
    if (const std::string wrong = forget_all(); !wrong.empty()) spdlog::error("view_archive reason={}", wrong);
    if (std::chrono::steady_clock::now() - begun > max_pause) wait = first_pause;
    lock.lock();
    if (wake_.wait_for(lock, wait, [this] { return stopping_; })) break;
    wait = std::min(wait * 2, max_pause);
  }
  fail_all("digd stops");
}

std::vector<std::string> fleet_view::command() const {
  std::vector<std::string> words{interpreter(),         "-m",
                                 "digd.fleet",          "view",
                                 "--folder=" + folder_, "--first=" + std::to_string(import_.highest() + 1)};
  if (!settings_.credentials.empty()) words.push_back("--credentials=" + settings_.credentials);
  if (!settings_.ca.empty()) words.push_back("--ca=" + settings_.ca);
  return words;
}

// The URLs, a line each. They may have passwords, which the list of processes must not show.
std::string fleet_view::urls() const {
  std::string lines;
  for (const std::string& url : settings_.view) lines.append(url).append("\n");
  return lines;
}

// One process, to its end. Returns why it ended.
std::string fleet_view::converse() {
  std::array<int, 2> in{-1, -1}, out{-1, -1};
  // A socket for its input: a write to a process that has ended must not raise SIGPIPE.
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in.data()) != 0 || ::pipe2(out.data(), O_CLOEXEC) != 0) {
    return std::string("no pipe: ") + std::strerror(errno);
  }
  ::setsockopt(in[0], SOL_SOCKET, SO_SNDBUF, &input_buffer_bytes, sizeof input_buffer_bytes);
  child_process program;
  line_reader lines(out[0]);
  std::string problem =
      program.start({.words = command(), .variables = {{"DIGD_VIEW_URLS", urls()}}, .input = in[1], .output = out[1]});
  ::close(in[1]);
  ::close(out[1]);
  {
    const std::lock_guard lock(mutex_);
    to_ = problem.empty() && !stopping_ ? in[0] : -1;
    if (problem.empty()) problem_.clear();
  }
  std::string_view line;
  while (problem.empty() && lines.next(line)) problem = take_line(line);
  {
    const std::lock_guard lock(mutex_);
    to_ = -1;
  }
  ::close(in[0]);
  program.end();
  if (problem.empty()) problem = "digd.fleet ended; its reason is in the log of standard error";
  return problem;
}

std::string fleet_view::take_line(std::string_view line) {
  if (std::string wrong = remove_evicted(); !wrong.empty()) return wrong;
  const std::string_view word = take_word(line);
  archive::failure bad;
  if (word == "row") {
    bad = import_.add(line);
    counts_.rows.fetch_add(1);
  } else if (word == "commit") {
    bad = import_.publish();
    if (!bad) listeners_.changed();
  } else if (word == "forget") {
    const auto number = number_of<std::int64_t>(line);
    {
      const std::lock_guard lock(mutex_);
      std::erase_if(runs_, [&](const auto& run) { return run.second.number == number; });
      counts_.runs = runs_.size();
    }
    return remove(number);
  } else if (word == "answer") {
    take_answer(line);
  }
  return bad ? "the archive of opened runs: " + bad.words : std::string();
}

void fleet_view::take_answer(std::string_view line) {
  const auto id = number_of<std::uint64_t>(take_word(line));
  const auto status = number_of<unsigned>(take_word(line));
  answered then;
  {
    const std::lock_guard lock(mutex_);
    const auto found = questions_.find(id);
    if (found == questions_.end()) return;
    then = std::move(found->second.then);
    questions_.erase(found);
  }
  counts_.questions.fetch_add(1);
  then(respond(http::int_to_status(status), "application/json", std::string(line) + '\n'));
}

std::string fleet_view::remove_evicted() {
  std::vector<std::int64_t> evicted;
  {
    const std::lock_guard lock(mutex_);
    evicted.swap(evicted_);
  }
  std::string problem;
  for (const std::int64_t number : evicted) {
    if (problem.empty()) problem = remove(number);
  }
  return problem;
}

std::string fleet_view::remove(std::int64_t run_number) {
  const archive::failure bad = import_.remove(run_number);
  listeners_.removed(static_cast<std::uint64_t>(run_number));
  return bad ? "the archive of opened runs: " + bad.words : std::string();
}

std::string fleet_view::forget_all() {
  std::vector<std::int64_t> numbers;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [name, run] : runs_) numbers.push_back(run.number);
    runs_.clear();
    counts_.runs = 0;
    numbers.insert(numbers.end(), evicted_.begin(), evicted_.end());
    evicted_.clear();
  }
  const archive::failure bad = import_.discard();
  std::string problem = bad.words;
  for (const std::int64_t number : numbers) {
    if (std::string wrong = remove(number); !wrong.empty()) problem = wrong;
  }
  return problem;
}

void fleet_view::fail_all(const std::string& problem) {
  std::map<std::uint64_t, waiting_question> failed;
  {
    const std::lock_guard lock(mutex_);
    failed.swap(questions_);
  }
  for (auto& [id, question] : failed) question.then(away(problem));
}

}  // namespace digd::daemon
