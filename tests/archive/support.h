// Shared by the archive's tests: a temporary folder, entries, and a recorder of what is reported durable.
#pragma once

#include <catch2/catch.hpp>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "archive/archive.h"
#include "archive/sqlite.h"

namespace digd::archive::testing {

class temporary_folder {
 public:
  temporary_folder() {
    std::string name = (std::filesystem::temp_directory_path() / "digd-test-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~temporary_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;
  std::string path() const { return path_.string(); }
  std::string file(const std::string& name = "digd.sqlite") const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

inline entry opening(std::uint64_t run, const std::string& id = "r1") {
  entry made;
  made.kind = entry_kind::run_opened;
  made.run_number = run;
  made.run = id;
  made.session = "main";
  made.arrived_ms = 1'700'000'000'000;
  made.type = "hello";
  made.frame = R"({"type":"hello","protocol":1,"run":")" + id + R"("})";
  return made;
}

inline entry message(std::uint64_t run, std::uint64_t seq, const std::string& session = "main") {
  entry made;
  made.run_number = run;
  made.session = session;
  made.seq = seq;
  made.n = seq;
  made.ts = static_cast<std::int64_t>(1000 + seq);
  made.arrived_ms = made.ts;
  made.type = "time";
  made.frame = R"({"type":"time","seq":)" + std::to_string(seq) + "}";
  return made;
}

// Pushes until the entry is accepted; the archive's own bound decides how long that takes.
inline entry_ptr boxed(entry content) { return std::make_unique<entry>(std::move(content)); }

// Once: whether it was taken.
inline bool try_push(producer& to, entry content) {
  entry_ptr next = boxed(std::move(content));
  return to.try_push(next);
}

inline void push(producer& to, entry content) {
  for (entry_ptr next = boxed(std::move(content)); !to.try_push(next);) std::this_thread::yield();
}

// What the archive reports, and a way to wait for it.
class reports {
 public:
  std::function<void(std::span<const durable>)> on_durable() {
    return [this](std::span<const durable> progress) {
      std::lock_guard guard(mutex_);
      for (const auto& progress : progress) {
        if (progress.judgement != 0) {
          judgements_.insert(progress.judgement);
        } else {
          highest_[{progress.run_number, progress.session}] = progress.seq;
        }
      }
      changed_.notify_all();
    };
  }
  std::function<void(const std::string&)> on_health() {
    return [this](const std::string& words) {
      std::lock_guard guard(mutex_);
      health_.push_back(words);
      changed_.notify_all();
    };
  }

  bool wait_for_durable(std::uint64_t run, std::uint64_t seq, const std::string& session = "main") {
    return wait([&] { return highest_[{run, session}] >= seq; });
  }
  bool wait_for_judgement(std::uint64_t ticket) {
    return wait([&] { return judgements_.contains(ticket); });
  }
  bool wait_for_health(const std::string& part) {  // "": well again
    return wait([&] {
      return !health_.empty() &&
             (part.empty() ? health_.back().empty() : health_.back().find(part) != std::string::npos);
    });
  }
  std::uint64_t durable_seq(std::uint64_t run, const std::string& session = "main") {
    std::lock_guard guard(mutex_);
    return highest_[{run, session}];
  }

 private:
  template <class condition>
  bool wait(condition holds) {
    std::unique_lock guard(mutex_);
    return changed_.wait_for(guard, std::chrono::seconds(30), holds);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::pair<std::uint64_t, std::string>, std::uint64_t> highest_;
  std::set<std::uint64_t> judgements_;
  std::vector<std::string> health_;
};

// What a call returns that must succeed.
template <class T>
T good(boost::system::result<T> result) {
  REQUIRE(result.has_value());
  return std::move(*result);
}

inline std::unique_ptr<archive> open_archive(options options, reports& into) {
  options.on_health = into.on_health();
  std::string problem;
  auto opened = archive::open(std::move(options), into.on_durable(), &problem);
  INFO(problem);
  REQUIRE(opened.has_value());
  return std::move(*opened);
}

inline std::unique_ptr<archive> open_archive(const std::string& path, reports& into) {
  options options;
  options.path = path;
  return open_archive(options, into);
}

inline std::vector<stored_entry> entries_of(const archive& from, std::uint64_t run) {
  std::vector<stored_entry> entries;
  REQUIRE(from.each_entry(run, [&](const stored_entry& entry) {
    entries.push_back(entry);
    return true;
  }));
  return entries;
}

// The run's opening and then seq 1, 2, 3 ...
inline bool is_without_gaps(const std::vector<stored_entry>& entries) {
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].seq != i) return false;
  }
  return true;
}

// The first column of the first row, through a connection of its own.
inline std::int64_t ask(const std::string& path, const std::string& sql) {
  connection db;
  REQUIRE_FALSE(db.open(path, open_mode::read_write, {}));
  std::int64_t value = 0;
  failure failed = db.query(sql, value);
  INFO(failed.words);
  REQUIRE_FALSE(failed);
  return value;
}

}  // namespace digd::archive::testing
