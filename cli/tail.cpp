// digctl tail [RUN]: the feed as it comes, over restarts of the daemon, without a gap and without repeating anything.
//
// It keeps the `seq` of the last complete entry and resumes after it (docs/feed.md). Before the first entry it uses the
// `seq` that the daemon sent when it accepted the connection. The daemon sends an incomplete entry again; the part that
// was already printed is not printed twice.
#include <signal.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value_to.hpp>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>
#include <thread>

#include "archive/browser.h"
#include "archive/detection_text.h"
#include "base/deep_json.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/daemon_options.h"
#include "cli/feed_lines.h"
#include "cli/fleet.h"
#include "cli/json_fields.h"
#include "cli/json_records.h"
#include "cli/local_time.h"
#include "cli/printable.h"
#include "cli/terminal_options.h"
#include "report/picture/text.h"
#include "report/stored_runs/feed_frames.h"

namespace digd::cli {

namespace json = boost::json;

namespace {

struct tail_options {
  std::string run;
  std::string format = "text";
  bool is_jsonl = false, payloads = false;
  std::optional<std::int64_t> since;
  unsigned tries = 60;
  daemon_options daemon;
  terminal_options terminal;
};

constexpr std::string_view subprotocol = "digd.feed.v1";
constexpr std::chrono::milliseconds min_pause{100}, max_pause{5'000}, signal_check{100};

// Ctrl-C ends a tail. One that prints a JSON array also ends the array.
volatile std::sig_atomic_t is_interrupted = 0;

void end_on_signals() {
  struct sigaction action {};
  action.sa_handler = [](int) { is_interrupted = 1; };  // without SA_RESTART: reading a fleet ends too
  for (const int signal : {SIGINT, SIGTERM}) ::sigaction(signal, &action, nullptr);
}

bool is_wanted() { return std::cout && is_interrupted == 0; }

void pause_for(std::chrono::milliseconds time) {
  const auto until = std::chrono::steady_clock::now() + time;
  while (is_wanted() && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::min(signal_check, time));
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t number = 0;
  const char* const last = text.data() + text.size();
  const auto [end, ec] = std::from_chars(text.data(), last, number);
  return ec == std::errc{} && end == last ? std::optional(number) : std::nullopt;
}

// Unix time as the time of day; the count of another clock unchanged.
std::string time_text(std::int64_t ts) {
  constexpr std::int64_t surely_unix_ms = 1'000'000'000'000;  // since 2001
  if (ts < surely_unix_ms) return std::to_string(ts);
  char milliseconds[8];
  std::snprintf(milliseconds, sizeof milliseconds, ".%03d", static_cast<int>(ts % 1000));
  return local_time(ts, "%H:%M:%S") + milliseconds;
}

// Prints frames of the feed, each wrapped to the terminal or as a record.
class feed_printer {
 public:
  explicit feed_printer(const tail_options& options)
      : options_(options), records_(options.is_jsonl ? "jsonl" : options.format), color_(options.terminal.colored()) {
    if (options.format == "json") end_on_signals();
  }

  // No more frames will come.
  void finish() {
    records_.finish();
    std::cout.flush();
  }

  bool prints_records() const { return records_.is_on(); }

  // `host`: of a fleet; empty: there is one daemon.
  void print(const std::string& text, const json::object& frame, const std::string& host = {}) {
    if (records_.is_on()) {
      records_.add(printable(text));
      return;
    }
    const json::value* run = frame.if_contains("run");
    std::string before = time_text(integer_in(frame, "ts")) + "  ";
    if (!host.empty()) before += picture::safe(host) + "  ";
    if (options_.run.empty() && run && run->is_string()) {
      before += picture::safe({run->get_string().data(), run->get_string().size()}) + "  ";
    }
    const std::string indent(std::min<std::size_t>(picture::width_of(before), 24), ' ');
    const table::look look = table_look(options_.terminal);
    for (const feed_line& line : feed_lines(frame)) {
      const std::size_t room = look.width > indent.size() + 24 ? look.width - indent.size() : 0;
      const auto wrapped = room == 0 ? std::vector{line.text} : picture::wrapped(line.text, room);
      for (std::size_t i = 0; i < wrapped.size(); ++i) {
        if (color_) std::cout << "\x1b[2m";
        std::cout << (i == 0 ? before : indent);
        if (color_) std::cout << "\x1b[0m" << sgr(line.tone);
        std::cout << wrapped[i] << (color_ ? "\x1b[0m\n" : "\n");
      }
    }
  }

 private:
  const tail_options& options_;
  json_records records_;
  const bool color_;
};

class follower {
 public:
  explicit follower(const tail_options& options) : options_(options), printer_(options) {}

  int run(const daemon_end& daemon) {
    auto pause = min_pause;
    for (unsigned lost = 0;; ++lost) {
      const std::string problem = follow(daemon);
      if (!was_connected_ && is_wanted()) return complain("tail", problem);
      if (!is_wanted()) {  // nobody reads any more, or Ctrl-C
        printer_.finish();
        return done;
      }
      if (std::exchange(progress_, false)) {
        lost = 0;
        pause = min_pause;
      }
      if (lost >= options_.tries) {
        printer_.finish();
        return complain("tail", "the daemon is still unreachable: " + problem);
      }
      if (lost == 0) std::cerr << "digctl tail: " << problem << "; reconnecting\n";
      pause_for(pause);
      pause = std::min(pause * 2, max_pause);
    }
  }

 private:
  std::string target() const {
    std::string out = "/v1/feed?payloads=" + std::string(options_.payloads ? "1" : "0");
    if (!options_.run.empty()) out += "&run=" + percent_encoded(options_.run);
    if (at_) out += "&since=" + std::to_string(*at_);
    return out;
  }

  // One connection, until it is lost; why it was.
  std::string follow(const daemon_end& daemon) {
    boost::asio::io_context io{1};
    const auto socket = net::websocket_client::make(io, subprotocol);
    if (!at_) at_ = options_.since;
    if (std::string problem = socket->open(daemon.to, target(), daemon.token, options_.daemon.patience());
        !problem.empty()) {
      return problem;
    }
    if (!at_ && !socket->feed_seq().empty() && !(at_ = whole_number(socket->feed_seq())))
      return "the feed's position is not a number; is that digd?";
    if (was_connected_) std::cerr << "digctl tail: connected again\n";
    was_connected_ = progress_ = true;
    of_entry_ = 0;
    while (is_wanted()) {
      while (const auto frame = socket->take()) show(*frame);
      std::cout.flush();
      if (!socket->is_open()) return "the feed was lost (" + socket->close_reason() + ")";
      io.restart();
      io.run_one_for(signal_check);
    }
    socket->abort();
    return {};
  }

  void show(const std::string& text) {
    json::error_code ec;
    const json::value value = parse_json(text, ec);
    if (ec || !value.is_object()) return;
    const json::object& frame = value.get_object();
    const std::int64_t seq = integer_in(frame, "seq");
    if (seq != entry_) {
      entry_ = seq;
      shown_ = of_entry_ = 0;
    }
    const bool is_new = of_entry_++ >= shown_;
    if (is_new) {
      ++shown_;
      printer_.print(text, frame);
    }
    if (frame.contains("last")) {
      at_ = seq;
      of_entry_ = 0;
    }
  }

  const tail_options& options_;
  feed_printer printer_;
  std::optional<std::int64_t> at_;  // the last entry that was printed completely
  std::int64_t entry_ = -1;         // the current entry
  std::uint64_t shown_ = 0;         // frames of the current entry that were printed
  std::uint64_t of_entry_ = 0;      // frames of the current entry on this connection
  bool was_connected_ = false, progress_ = false;
};

std::string string_in(const json::object& from, std::string_view key) { return std::string(text_in(from, key)); }

// Calls `each` for the objects of a list.
template <class Each>
void each_in(const json::object& from, std::string_view key, const Each& each) {
  for (const json::value& item : array_in(from, key)) {
    if (item.is_object()) each(item.get_object());
  }
}

// A message of the fleet's stream (docs/fleet.md) as a daemon would read it from its archive.
archive::watched_entry entry_of(const json::object& message) {
  archive::watched_entry entry{
      .id = integer_in(message, "entry"),
      .run = string_in(message, "run"),
      .session = string_in(message, "session"),
      .type = string_in(message, "type"),
      .frame = string_in(message, "frame"),
      .verdicts = string_in(message, "verdicts"),
      .kind =
          archive::entry_kind_from(text_in(message, "kind")).value_or(archive::entry_kind::run_opened),  // is not shown
      .seq = static_cast<std::uint64_t>(integer_in(message, "seq")),
      .ts = integer_in(message, "ts")};
  each_in(message, "detections", [&](const json::object& row) {
    if (entry.detections.empty()) entry.first_detection = integer_in(row, "id");
    entry.detections.push_back(archive::join_detection(text_in(row, "detection"), text_in(row, "more_evidence")));
  });
  each_in(message, "interventions",
          [&](const json::object& row) { entry.interventions.push_back(string_in(row, "intervention")); });
  each_in(message, "outcomes", [&](const json::object& row) {
    archive::outcome_row outcome{.rule = string_in(row, "rule"),
                                 .outcome = string_in(row, "outcome"),
                                 .ts = integer_in(row, "ts"),
                                 .detected_ts = integer_in(row, "detected_ts")};
    if (const std::string event = string_in(row, "event"); !event.empty()) outcome.event = event;
    entry.outcomes.push_back(std::move(outcome));
  });
  archive::expand_verdicts(entry);
  return entry;
}

// The same frames as the feeds of all daemons would send; a record also has `tenant` and `host`.
int tail_fleet(const tail_options& options, const fleet_options& fleet) {
  if (options.since) return complain("tail", "--since names an entry of one daemon; the tail of a fleet begins now");
  std::vector<std::string> words = fleet_words("tail", fleet);
  if (!options.run.empty()) words.push_back("--run=" + options.run);
  fleet_lines messages;
  if (const std::string problem = messages.start(words); !problem.empty()) return complain("tail", problem);
  feed_printer printer(options);
  for (std::string_view line; is_wanted() && messages.next(line);) {
    json::error_code ec;
    const json::value value = parse_json(line, ec);
    if (ec || !value.is_object()) continue;
    const json::object& message = value.get_object();
    if (message.empty()) {
      std::cerr << "digctl tail: listening\n";
      continue;
    }
    const std::string host = string_in(message, "host");
    for (const std::string& text : stored::feed_frames(entry_of(message), options.payloads)) {
      json::value parsed = parse_json(text, ec);
      if (ec || !parsed.is_object()) continue;
      json::object& frame = parsed.get_object();
      frame["tenant"] = text_in(message, "tenant");
      frame["host"] = host;
      printer.print(printer.prints_records() ? json::serialize(frame) : text, frame, host);
    }
    std::cout.flush();
  }
  printer.finish();
  const std::string problem = is_wanted() ? messages.finish() : std::string();
  return problem.empty() ? done : complain("tail", problem);
}

int tail(const tail_options& options) {
  if (const fleet_options fleet = effective_fleet(options.daemon.fleet); !fleet.urls.empty())
    return tail_fleet(options, fleet);
  const auto daemon = find_daemon("tail", options.daemon);
  if (!daemon) return wrong_use;
  return follower(options).run(*daemon);
}

}  // namespace

void add_tail(CLI::App& app, int& status) {
  auto options = std::make_shared<tail_options>();
  CLI::App* sub = app.add_subcommand("tail", "Follows runs live: messages, detections, healings");
  sub->add_option("RUN", options->run, "the run's id, which need not exist yet; default: all runs");
  sub->add_option("--format", options->format, "text for people; json, or jsonl: the frames of the feed (docs/feed.md)")
      ->check(CLI::IsMember({"text", "json", "jsonl"}))
      ->capture_default_str();
  sub->add_flag("--jsonl", options->is_jsonl, "short for --format jsonl")->excludes("--format");
  sub->add_option("--since", options->since,
                  "begin after this seq of the feed; 0: at the beginning of the archive; default: now")
      ->check(CLI::NonNegativeNumber);
  sub->add_flag("--payloads", options->payloads, "show the payloads of events");
  sub->add_option("--tries", options->tries, "attempts to reconnect before digctl gives up; pauses grow to 5 s")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  add_daemon_options(*sub, options->daemon);
  add_fleet_options(*sub, options->daemon.fleet);
  add_terminal_options(*sub, options->terminal);
  sub->footer(
      "After a lost connection, digctl reconnects, misses nothing and repeats nothing. Ends with Ctrl-C, which also "
      "ends "
      "the array of json.");
  sub->callback([options, &status] { status = tail(*options); });
}

}  // namespace digd::cli
