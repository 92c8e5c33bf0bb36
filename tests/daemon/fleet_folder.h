// A folder for the files of a fleet's tests, and an archive in it.
#pragma once

#include <catch2/catch.hpp>
#include <future>
#include <memory>
#include <span>
#include <string>

#include "archive/archive.h"
#include "archive/sqlite.h"
#include "tests/archive/support.h"

namespace digd::daemon {

class fleet_folder : public archive::testing::temporary_folder {
 public:
  // Changes a file as another program would.
  void execute(const char* name, const std::string& sql) const {
    archive::connection db;
    REQUIRE_FALSE(db.open(file(name), archive::open_mode::create, {}));
    const archive::failure failed = db.execute(sql);
    INFO(failed.words);
    REQUIRE_FALSE(failed);
  }
  std::int64_t number(const char* name, const std::string& query) const {
    archive::connection db;
    REQUIRE_FALSE(db.open(file(name), archive::open_mode::create, {}));
    std::int64_t found = 0;
    REQUIRE_FALSE(db.query(query, found));
    return found;
  }
};

// The archive digd.sqlite in the folder.
class fleet_archive {
 public:
  explicit fleet_archive(const fleet_folder& in) {
    archive::options options;
    options.path = in.file("digd.sqlite");
    auto opened = archive::archive::open(options, [this](std::span<const archive::durable> progress) {
      for (const archive::durable& at : progress) {
        if (at.barrier != 0) passed_.set_value();
      }
    });
    REQUIRE(opened);
    archive_ = std::move(*opened);
    producer_ = archive_->make_producer();
  }

  archive::archive& get() { return *archive_; }
  archive::producer& producer() { return *producer_; }

  std::uint64_t open_run(const std::string& run) {
    auto opening = std::make_unique<archive::entry>();
    opening->kind = archive::entry_kind::run_opened;
    opening->run_number = archive_->next_run_number();
    opening->run = run;
    opening->n = 1;
    opening->frame = "{}";
    const std::uint64_t number = opening->run_number;
    REQUIRE(producer_->try_push(opening));
    wait_until_durable();
    return number;
  }
  std::string wait_until_durable() {
    passed_ = {};
    auto barrier = std::make_unique<archive::entry>();
    barrier->kind = archive::entry_kind::barrier;
    barrier->seq = 1;
    REQUIRE(producer_->try_push(barrier));
    passed_.get_future().wait();
    return {};
  }

 private:
  std::promise<void> passed_;
  std::unique_ptr<archive::archive> archive_;
  std::unique_ptr<archive::producer> producer_;
};

}  // namespace digd::daemon
