#include "daemon/fleet/view/fleet_view.h"

#include <fcntl.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <boost/json/parse.hpp>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <utility>

#include "archive/files.h"
#include "base/child_process.h"
#include "base/descriptor.h"
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

// The lines of a pipe. An unfinished last one does not count.
class line_reader {
 public:
  enum class result : std::uint8_t { line, nothing_yet, too_long, ended };

  explicit line_reader(int from) : from_(from) {}

  // `line` stays valid until the next call.
  result next(std::string_view& line, std::chrono::milliseconds max_wait) {
    for (;;) {
      if (const std::size_t end = text_.find('\n', searched_); end != text_.npos) {
        line = std::string_view(text_).substr(begin_, end - begin_);
        begin_ = searched_ = end + 1;
        return result::line;
      }
      text_.erase(0, std::exchange(begin_, 0));
      searched_ = text_.size();
      if (text_.size() > fleet_view::max_line_bytes) return result::too_long;
      pollfd readable{.fd = from_, .events = POLLIN, .revents = 0};
      if (::poll(&readable, 1, static_cast<int>(max_wait.count())) <= 0) return result::nothing_yet;
      text_.resize(searched_ + chunk_bytes);
      const ssize_t count = ::read(from_, text_.data() + searched_, chunk_bytes);
      text_.resize(searched_ + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
      if (count == 0 || (count < 0 && errno != EINTR)) return result::ended;
    }
  }

 private:
  static constexpr std::size_t chunk_bytes = 65'536;

  const int from_;
  std::string text_;
  std::size_t begin_ = 0, searched_ = 0;
};

}  // namespace

fleet_view::fleet_view(const fleet_settings& settings, std::string folder)
    : fleet_view(settings, std::move(folder), time_limits()) {}

fleet_view::fleet_view(const fleet_settings& settings, std::string folder, const time_limits& limits)
    : settings_(settings), folder_(std::move(folder)), archive_path_(folder_ + "/fleet-view.sqlite"), limits_(limits) {}

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
    stopped_at_ = std::chrono::steady_clock::now();
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
    json_writer to(line);
    to.open_object().key("id").integer(last_question_ + 1).key("ask").text(question).key("with").open_object();
    for (const auto& [name, value] : given) to.key(name).text(value);
    to.close_object().close_object();
    if (to_ < 0) refusal = problem_;
    if (questions_.size() >= max_questions) refusal = "too many questions wait; try again";
    if (line.size() > max_question_bytes) refusal = "the question is too long";
    if (refusal.empty()) {
      questions_.emplace(++last_question_, waiting_question{std::move(then), std::chrono::steady_clock::now()});
      reads_nothing_ = reads_nothing_ || !send(line + '\n');
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
  {
    const std::lock_guard lock(mutex_);
    const auto [at, is_new] = runs_.try_emplace(run);
    at->second.last_use = ++last_use_;
    const auto closing = std::find_if(closing_.begin(), closing_.end(),
                                      [&](const closing_run& each) { return each.name == run && !each.is_asked; });
    if (is_new && closing != closing_.end()) {  // its rows are still there
      at->second.number = closing->number;
      closing_.erase(closing);
      counts_.runs = runs_.size();
    }
    const bool is_read = at->second.number != 0;
    const bool is_full = at->second.waiting.size() >= max_questions;
    if (!is_read && !is_full) at->second.waiting.push_back(std::exchange(then, nullptr));
    if (!is_read && !is_new && !is_full) return;
    if (!is_read && is_full) refusal = away("too many requests wait for this run; try again");
    take_surplus();
  }
  close_surplus();
  if (then) return then(std::move(refusal));
  ask("open", {{"run", run}}, [this, run](http_response&& answer) { complete_opening(run, std::move(answer)); });
}

// With the mutex. While there are too many runs, moves the run with the oldest last use to `closing_`. Runs that are
// being read stay.
void fleet_view::take_surplus() {
  while (runs_.size() > max_runs) {
    auto oldest = runs_.end();
    for (auto at = runs_.begin(); at != runs_.end(); ++at) {
      if (at->second.number == 0) continue;
      if (oldest == runs_.end() || at->second.last_use < oldest->second.last_use) oldest = at;
    }
    if (oldest == runs_.end()) return;
    closing_.push_back({.name = oldest->first, .number = oldest->second.number});
    runs_.erase(oldest);
    counts_.runs = runs_.size();
    counts_.evicted.fetch_add(1);
  }
}

// Asks the process to send no more rows of closing runs. It asks again later for runs that the process refuses to
// close.
void fleet_view::close_surplus() {
  std::vector<closing_run> asked;
  {
    const std::lock_guard lock(mutex_);
    for (closing_run& run : closing_) {
      if (run.is_asked || runs_.contains(run.name)) continue;
      run.is_asked = true;
      asked.push_back(run);
    }
  }
  for (const closing_run& run : asked) {
    ask("close", {{"run", run.name}}, [this, number = run.number](http_response&& answer) {
      complete_closing(number, answer.result() == http::status::ok);
    });
  }
}

void fleet_view::complete_closing(std::int64_t number, bool is_closed) {
  const std::lock_guard lock(mutex_);
  const auto at =
      std::find_if(closing_.begin(), closing_.end(), [&](const closing_run& run) { return run.number == number; });
  if (at == closing_.end()) return;
  at->is_asked = false;
  if (!is_closed) return;
  closing_.erase(at);
  evicted_.push_back(number);  // no row of the run follows
  // A request to open it again may have overtaken the one to close it, and was answered with this number.
  std::erase_if(runs_, [&](const auto& run) { return run.second.number == number; });
  counts_.runs = runs_.size();
}

void fleet_view::complete_opening(const std::string& run, http_response&& answer) {
  std::vector<opened> waiting;
  std::optional<http_response> refusal;
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
    if (answer.result() != http::status::ok) {
      refusal = std::move(answer);
    } else if (number == nullptr || !number->is_int64() || number->get_int64() <= 0) {
      refusal = away("digd.fleet names no number of the run");
    }
    if (refusal) {
      runs_.erase(at);
    } else {
      at->second.number = number->get_int64();
    }
    take_surplus();
    counts_.runs = runs_.size();
  }
  for (const opened& then : waiting) then(refusal);
  close_surplus();
}

// ---- its thread

void fleet_view::work() {
  std::chrono::milliseconds wait = first_pause;
  for (bool is_first = true;; is_first = false) {
    if (!is_first) counts_.restarts.fetch_add(1);
    const auto begun = std::chrono::steady_clock::now();
    std::string problem = converse();
    std::unique_lock lock(mutex_);
    problem_ = stopping_ ? "digd stops" : problem;
    if (stopping_) break;
    lock.unlock();
    spdlog::warn("view_restarts reason={}", digd::quoted(problem));
    fail_all(problem);
    if (const std::string wrong = forget_all(problem); !wrong.empty()) {
      spdlog::error("view_archive reason={}", digd::quoted(wrong));
    }
    if (std::chrono::steady_clock::now() - begun > max_pause) wait = first_pause;
    lock.lock();
    if (wake_.wait_for(lock, wait, [this] { return stopping_; })) {
      problem_ = "digd stops";
      break;
    }
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

// The URLs, a line each, for an environment variable: the list of processes must not show their passwords.
std::string fleet_view::urls() const {
  std::string lines;
  for (const std::string& url : settings_.view) lines.append(url).append("\n");
  return lines;
}

// One process, to its end. Returns why it ended.
std::string fleet_view::converse() {
  std::array<int, 2> ends{-1, -1};
  // A socket for its input: a write to a process that has ended must not raise SIGPIPE.
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return std::string("no socket: ") + std::strerror(errno);
  }
  descriptor to(ends[0]), in(ends[1]);
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return std::string("no pipe: ") + std::strerror(errno);
  descriptor from(ends[0]), out(ends[1]);
  ::setsockopt(to.number(), SOL_SOCKET, SO_SNDBUF, &input_buffer_bytes, sizeof input_buffer_bytes);
  child_process program;
  std::string problem = program.start(
      {.words = command(), .variables = {{"DIGD_VIEW_URLS", urls()}}, .input = in.number(), .output = out.number()});
  in.close();
  out.close();
  if (!problem.empty()) return problem;
  problem = begin_questions(to.number()) ? read_answers(from.number()) : "digd stops";
  end_questions(problem);
  to.close();
  from.close();  // a process that writes must not wait for a reader
  program.end();
  return problem;
}

bool fleet_view::begin_questions(int to) {
  const std::lock_guard lock(mutex_);
  if (stopping_) return false;
  to_ = to;
  reads_nothing_ = false;
  last_row_ = std::chrono::steady_clock::now();
  problem_.clear();
  return true;
}

void fleet_view::end_questions(const std::string& problem) {
  const std::lock_guard lock(mutex_);
  to_ = -1;
  problem_ = problem;
}

std::string fleet_view::read_answers(int from) {
  line_reader lines(from);
  std::string_view line;
  auto next_check = std::chrono::steady_clock::now();
  for (std::string problem;;) {
    switch (lines.next(line, check_every)) {
      case line_reader::result::line: problem = take_line(line); break;
      case line_reader::result::nothing_yet: problem = remove_evicted(); break;
      case line_reader::result::too_long: problem = "a line of digd.fleet is too long"; break;
      case line_reader::result::ended: problem = "digd.fleet ended; its reason is in the log of standard error"; break;
    }
    const auto now = std::chrono::steady_clock::now();
    if (problem.empty() && now >= next_check) {
      next_check = now + check_every;
      close_surplus();
      problem = find_hang();
    }
    if (!problem.empty()) return problem;
  }
}

// Why the process must be ended; empty: it works.
std::string fleet_view::find_hang() {
  const std::lock_guard lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  if (stopping_ && now - stopped_at_ > limits_.max_end) return "digd stops";
  if (reads_nothing_) return "digd.fleet reads no questions";
  if (questions_.empty()) return {};
  const auto since = questions_.begin()->second.since;
  if (now - std::max(since, last_row_) > limits_.max_answer || now - since > limits_.max_reading) {
    return "digd.fleet did not answer a question in time";
  }
  return {};
}

std::string fleet_view::take_line(std::string_view line) {
  if (std::string wrong = remove_evicted(); !wrong.empty()) return wrong;
  const std::string_view word = take_word(line);
  archive::failure bad;
  if (word == "row") {
    bad = import_.add(line);
    counts_.rows.fetch_add(1);
    const std::lock_guard lock(mutex_);
    last_row_ = std::chrono::steady_clock::now();
  } else if (word == "commit") {
    bad = import_.publish();
    if (!bad) listeners_.changed();
  } else if (word == "forget") {
    const auto number = number_of<std::int64_t>(line);
    if (number <= 0) return "digd.fleet forgets a run without a number";
    forget_run(number);
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

void fleet_view::forget_run(std::int64_t number) {
  const std::lock_guard lock(mutex_);
  std::erase_if(runs_, [&](const auto& run) { return run.second.number == number; });
  std::erase_if(closing_, [&](const closing_run& run) { return run.number == number; });
  counts_.runs = runs_.size();
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

std::string fleet_view::forget_all(const std::string& problem) {
  std::vector<std::int64_t> numbers;
  std::vector<opened> waiting;
  {
    const std::lock_guard lock(mutex_);
    for (auto& [name, run] : runs_) {
      if (run.number != 0) numbers.push_back(run.number);
      waiting.insert(waiting.end(), std::move_iterator(run.waiting.begin()), std::move_iterator(run.waiting.end()));
    }
    for (const closing_run& run : closing_) numbers.push_back(run.number);
    numbers.insert(numbers.end(), evicted_.begin(), evicted_.end());
    runs_.clear();
    closing_.clear();
    evicted_.clear();
    counts_.runs = 0;
  }
  for (const opened& then : waiting) then(away(problem));
  const archive::failure bad = import_.discard();
  std::string wrong = bad.words;
  for (const std::int64_t number : numbers) {
    if (std::string failed = remove(number); !failed.empty()) wrong = failed;
  }
  return wrong;
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
