// Rows a second into the archive, compared with a plain SQLite program that inserts the same rows, in batches of the
// same size, into a table with the same columns and index; block by block in one run.
//
//   digd-archive-rows FOLDER [--rows N] [--blocks N] [--bytes N]
//
// Prints one JSON line: rows a second of both, bytes on disk and bytes received, and the nanoseconds for which handing
// an entry to the writer holds up the engine thread, without the cost of reading the clock.
#include <sqlite3.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <iostream>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "archive/archive.h"
#include "archive/schema.h"
#include "bench/histogram.h"
#include "bench/tool.h"

namespace digd::bench {

namespace {

namespace fs = std::filesystem;
using steady = std::chrono::steady_clock;

std::uint64_t now_ns() { return static_cast<std::uint64_t>(steady::now().time_since_epoch().count()); }

struct row_texts {
  std::string frame, verdicts, event_ids;
};

row_texts texts_of(std::uint64_t seq, std::size_t bytes) {
  const std::string number = std::to_string(seq);
  row_texts t;
  t.frame = R"({"type":"event","seq":)" + number + R"(,"event":{"id":"e)" + number +
            R"(","recipients":["a"],"payload":{"text":")";
  t.frame.append(bytes > t.frame.size() + 4 ? bytes - t.frame.size() - 4 : 0, 'x').append("\"}}}");
  t.verdicts =
      R"({"type":"verdicts","seq":)" + number + R"(,"verdicts":[{"event":"e)" + number + R"(","action":"deliver"}]})";
  t.event_ids = R"(["e)" + number + R"("])";
  return t;
}

std::uint64_t disk_bytes(const fs::path& file) {
  std::uint64_t sum = 0;
  for (const char* more : {"", "-wal"}) {
    std::error_code none;
    const auto size = fs::file_size(file.string() + more, none);
    if (!none) sum += size;
  }
  return sum;
}

// ---- the archive

class archived {
 public:
  archived(const fs::path& folder, std::size_t bytes) : bytes_(bytes), file_(folder / "archive.sqlite") {
    archive::options options;
    options.path = file_;
    std::string problem;
    auto opened = archive::archive::open(
        options,
        [this](std::span<const archive::durable> batch_durable) {
          const std::lock_guard hold(mutex_);
          for (const auto& entry : batch_durable) durable_ = std::max(durable_, entry.seq);
          changed_.notify_one();
        },
        &problem);
    if (!opened) throw std::runtime_error("the archive: " + problem);
    to_ = std::move(*opened);
    producer_ = to_->make_producer();
    archive::entry opening;
    opening.kind = archive::entry_kind::run_opened;
    opening.run_number = run_ = to_->next_run_number();
    opening.run = "bench";
    opening.n = ++n_;
    opening.frame = R"({"type":"hello","protocol":1,"run":"bench"})";
    auto first = std::make_unique<archive::entry>(std::move(opening));
    producer_->try_push(first);
  }

  // Nanoseconds until `rows` more entries are durable.
  std::uint64_t play(std::size_t rows) {
    std::vector<row_texts> made;
    for (std::size_t i = 0; i < rows; ++i) made.push_back(texts_of(seq_ + i + 1, bytes_));
    const std::uint64_t begun = now_ns();
    for (const row_texts& texts : made) push(texts);
    hand_over_parcel();
    wait_until_durable();
    return now_ns() - begun;
  }

  // Measures handing over each of `rows` more entries, whose texts were made just before as on an engine thread.
  void hand_over(std::size_t rows) {
    for (std::size_t i = 0; i < rows; ++i) {
      const row_texts texts = texts_of(seq_ + 1, bytes_);
      const std::uint64_t before = now_ns(), begun = now_ns();
      const bool taken = push(texts);
      const std::uint64_t spent = now_ns() - begun, looking = begun - before;
      if (taken) pushes_.add(spent > looking ? spent - looking : 0);
    }
    hand_over_parcel();
    wait_until_durable();
  }

  void stop() { to_->stop(); }
  std::uint64_t received() const { return received_; }
  std::uint64_t on_disk() const { return disk_bytes(file_); }
  const histogram& pushes() const { return pushes_; }

 private:
  // False: the queue was full.
  bool push(const row_texts& texts) {
    ++seq_;
    received_ += texts.frame.size();
    if (!parcel_) parcel_ = producer_->make_parcel();
    parcel_->add({.only_deliveries = true,
                  .run_number = run_,
                  .seq = seq_,
                  .n = ++n_,
                  .ts = static_cast<std::int64_t>(seq_),
                  .arrived_ms = static_cast<std::int64_t>(seq_),
                  .session = "main",
                  .type = "event",
                  .frame = texts.frame,
                  .verdicts = texts.event_ids});
    if (!parcel_->is_full() || producer_->try_push(parcel_)) return true;
    hand_over_parcel();
    return false;
  }

  void hand_over_parcel() {
    // While the queue is full, the daemon would keep a backlog.
    while (parcel_ && !producer_->try_push(parcel_)) std::this_thread::yield();
  }

  void wait_until_durable() {
    std::unique_lock hold(mutex_);
    changed_.wait(hold, [&] { return durable_ >= seq_; });
  }

  std::size_t bytes_;
  fs::path file_;
  std::unique_ptr<archive::archive> to_;
  std::unique_ptr<archive::producer> producer_;
  archive::parcel_ptr parcel_;  // to be filled; may be null
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t durable_ = 0, seq_ = 0, n_ = 0, run_ = 0, received_ = 0;
  histogram pushes_;
};

// ---- the plain program

class plain {
 public:
  plain(const fs::path& folder, std::size_t bytes) : bytes_(bytes) {
    check(sqlite3_open((folder / "plain.sqlite").c_str(), &db_));
    run("PRAGMA page_size = 4096; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
        "CREATE TABLE entries (id INTEGER PRIMARY KEY, run INTEGER NOT NULL, n INTEGER NOT NULL, kind TEXT NOT NULL, "
        "session TEXT,"
        " seq INTEGER, ts INTEGER NOT NULL, arrived_ms INTEGER NOT NULL, type TEXT, code TEXT, verdicts TEXT, frame "
        "TEXT) STRICT;"
        "CREATE INDEX entries_by_run ON entries (run);");
    check(sqlite3_prepare_v2(
        db_,
        "INSERT INTO entries (run, n, kind, session, seq, ts, arrived_ms, type, code, verdicts, frame)"
        " VALUES (1, ?1, 'message', 'main', ?2, ?3, ?4, 'event', NULL, ?5, ?6)",
        -1, &insert_, nullptr));
  }
  ~plain() {
    sqlite3_finalize(insert_);
    sqlite3_close(db_);
  }

  std::uint64_t play(std::size_t rows) {
    std::vector<row_texts> made;
    for (std::size_t i = 0; i < rows; ++i) made.push_back(texts_of(seq_ + i + 1, bytes_));
    const std::uint64_t begun = now_ns();
    for (std::size_t i = 0; i < rows; ++i) {
      if (i % batch == 0) run(i == 0 ? "BEGIN" : "COMMIT; BEGIN");
      const auto seq = static_cast<sqlite3_int64>(++seq_);
      for (int at = 1; at <= 4; ++at) sqlite3_bind_int64(insert_, at, seq);
      sqlite3_bind_text(insert_, 5, made[i].verdicts.data(), static_cast<int>(made[i].verdicts.size()), SQLITE_STATIC);
      sqlite3_bind_text(insert_, 6, made[i].frame.data(), static_cast<int>(made[i].frame.size()), SQLITE_STATIC);
      if (sqlite3_step(insert_) != SQLITE_DONE) check(SQLITE_ERROR);
      sqlite3_reset(insert_);
    }
    run("COMMIT");
    return now_ns() - begun;
  }

 private:
  const std::size_t batch = archive::options{}.max_batch_entries;  // the writer's largest commit

  void check(int rc) {
    if (rc != SQLITE_OK) throw std::runtime_error(std::string("the plain program: ") + sqlite3_errmsg(db_));
  }
  void run(const char* sql) { check(sqlite3_exec(db_, sql, nullptr, nullptr, nullptr)); }

  std::size_t bytes_;
  sqlite3* db_ = nullptr;
  sqlite3_stmt* insert_ = nullptr;
  std::uint64_t seq_ = 0;
};

int run(int argc, char** argv) {
  CLI::App app("Rows a second into the archive, beside a plain SQLite program.");
  std::string folder;
  std::size_t rows = 40'960, blocks = 10, bytes = 600;
  app.add_option("FOLDER", folder, "on the disk to be measured; two files are made in it")
      ->required()
      ->check(CLI::ExistingDirectory);
  app.add_option("--rows", rows, "a block")->check(CLI::Range(1, 60'000))->capture_default_str();
  app.add_option("--blocks", blocks)->check(CLI::Range(1, 10'000))->capture_default_str();
  app.add_option("--bytes", bytes, "of a message")->check(CLI::Range(100, 1'000'000))->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  archived ours(folder, bytes);
  plain theirs(folder, bytes);
  std::uint64_t our_ns = 0, their_ns = 0;
  for (std::size_t i = 0; i <= blocks; ++i) {  // the first warms up
    const std::uint64_t a = ours.play(rows), b = theirs.play(rows);
    our_ns += i > 0 ? a : 0;
    their_ns += i > 0 ? b : 0;
    ours.hand_over(rows);
  }
  ours.stop();
  const auto per_second = [&](std::uint64_t ns) {
    return static_cast<double>(rows * blocks) / (static_cast<double>(ns) / 1e9);
  };
  std::cout << "{\"rows_per_second\":" << per_second(our_ns) << ",\"plain_rows_per_second\":" << per_second(their_ns)
            << ",\"received_bytes\":" << ours.received() << ",\"disk_bytes\":" << ours.on_disk()
            << ",\"enqueue_p50_ns\":" << ours.pushes().at(0.5) << ",\"enqueue_p99_ns\":" << ours.pushes().at(0.99)
            << "}\n";
  return 0;
}

}  // namespace

}  // namespace digd::bench

int main(int argc, char** argv) {
  return digd::bench::as_tool("digd-archive-rows", [&] { return digd::bench::run(argc, argv); });
}
