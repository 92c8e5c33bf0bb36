// A damaged archive: the store, the reader and the browser open it, read it to the end, export it and replay it.
//
// The input describes damage to a valid archive, which is made once. Two bytes give the share of the file that is kept,
// in 1/65535. A third has flags: 1 also write to it, 2 also check it. The rest are changes: an offset (three bytes) and
// the new byte.
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>

#include "archive/browser.h"
#include "archive/reader.h"
#include "archive/store.h"
#include "archive/trace_export.h"
#include "ingest/protocol/replay.h"
#include "tests/fuzz/target.h"

using namespace digd;
using fuzz::must;
namespace fs = std::filesystem;

namespace {

archive::entry entry(std::uint64_t run, std::uint64_t n, archive::entry_kind kind, std::string frame) {
  archive::entry e;
  e.kind = kind;
  e.run_number = run;
  e.n = n;
  e.session = "main";
  e.arrived_ms = e.ts = static_cast<std::int64_t>(1'000 + n);
  e.frame = std::move(frame);
  e.type = kind == archive::entry_kind::message ? "event" : "hello";
  return e;
}

std::string hello_of(std::uint64_t run) {
  return R"({"type":"hello","protocol":1,"run":"r)" + std::to_string(run) + R"(","clock":"trace"})";
}

class valid_archive {
 public:
  valid_archive() {
    std::string name = (fs::temp_directory_path() / "digd-fuzz-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    {
      archive::store store;
      must(!store.open({.path = file("valid"), .vfs = {}, .check_bytes = 0}), "a new archive opens");
      for (std::uint64_t run = 1; run <= 3; ++run) fill(store, run);
      must(!store.checkpoint(true), "the log is moved into the file");
    }
    std::ifstream in(file("valid"), std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(in), {});
    must(bytes_.size() > 4'096, "the valid archive has pages");
  }
  ~valid_archive() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  // Writes the damaged copy. Removes the files that SQLite left beside the last copy.
  std::string damaged(std::string_view text) {
    std::string bytes = bytes_;
    const auto at = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
    const std::size_t kept_share = static_cast<std::size_t>(at(0)) << 8 | at(1);
    for (std::size_t i = 3; i + 4 <= text.size(); i += 4) {
      const std::size_t offset =
          static_cast<std::size_t>(at(i)) << 16 | static_cast<std::size_t>(at(i + 1)) << 8 | at(i + 2);
      bytes[offset % bytes.size()] = text[i + 3];
    }
    bytes.resize(bytes.size() * kept_share / 0xffff);
    const std::string path = file("damaged");
    for (const char* suffix : {"-wal", "-shm", "-journal", ".lock"}) fs::remove(path + suffix);
    std::ofstream(path, std::ios::binary | std::ios::trunc)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return path;
  }

 private:
  std::string file(const char* name) const { return (folder_ / name).string(); }

  static void fill(archive::store& store, std::uint64_t run) {
    using kind = archive::entry_kind;
    archive::batch batches;
    const auto add = [&](archive::entry e) { batches.push_back(std::make_unique<archive::entry>(std::move(e))); };
    archive::entry opening = entry(run, 1, kind::run_opened, hello_of(run));
    opening.run = "r" + std::to_string(run);
    add(std::move(opening));
    add(entry(run, 2, kind::session_joined, hello_of(run)));
    for (std::uint64_t seq = 1; seq <= 40; ++seq) {
      archive::entry e = entry(run, seq + 2, kind::message,
                               R"({"type":"event","seq":)" + std::to_string(seq) + R"(,"event":{"id":"e)" +
                                   std::to_string(seq) + R"(","recipients":["a"]}})");
      e.seq = seq;
      e.verdicts =
          R"({"type":"verdicts","seq":)" + std::to_string(seq) + R"(,"verdicts":[{"event":"e","action":"deliver"}]})";
      if (seq % 10 == 0) {
        e.detections.push_back({.rule = "orphaned_event", .severity = "failure", .ts = 5, .reason = "r", .json = "{}"});
        e.interventions.push_back({.id = "sys:" + std::to_string(seq), .action = "create", .ts = 5, .json = "{}"});
        e.outcomes.push_back({.rule = "orphaned_event", .outcome = "cleared", .ts = 6, .detected_ts = 5});
      }
      add(std::move(e));
    }
    must(!store.write(batches).failed, "the valid archive is written");
  }

  fs::path folder_;
  std::string bytes_;
};

void read(const std::string& path) {
  std::string problem;
  const auto opened = archive::reader::open(path, {}, &problem);
  if (!opened) return must(!problem.empty(), "a refused archive has a reason");
  const auto runs = (*opened)->runs();
  if (!runs) return;
  for (const archive::stored_run& run : *runs) {
    fuzz::touch(run.run);
    ingest::replay through(run_policy{}, {});
    bool replaying = true;
    archive::trace_export lines([&](std::string_view line) { replaying = replaying && through.line(line); });
    std::size_t entries = 0;
    (void)(*opened)->each_entry(run.number, [&](const archive::stored_entry& e) {
      lines.take(e);
      return ++entries < 10'000;
    });
    must(entries < 10'000, "reading a damaged archive ends");
    lines.finish();
    (void)(*opened)->unanswered(run.number);
  }
}

void browse(const std::string& path) {
  std::string problem;
  const auto opened = archive::browser::open(path, &problem);
  if (!opened) return must(!problem.empty(), "a refused archive has a reason");
  archive::browser& browser = **opened;
  if (const auto runs = browser.runs(0, 100)) {
    must(runs->size() <= 100, "a page has at most the requested rows");
    for (const archive::run_row& run : *runs) {
      (void)browser.find(run.run);
      (void)browser.tally(run.number);
      (void)browser.detection_counts(run.number);
      (void)browser.detections(run.number, 0, 100);
    }
  }
  (void)browser.last_seq();
  std::int64_t after = 0;
  for (int pages = 0; pages < 100; ++pages) {
    const auto entries = browser.entries_after(after, 0);
    if (!entries || entries->empty()) break;
    must(entries->back().id > after, "a tail moves forward");
    after = entries->back().id;
  }
}

void write(const std::string& path, bool checks) {
  archive::store opened;
  if (const auto trouble = opened.open({.path = path, .vfs = {}, .check_bytes = checks ? 1 << 30 : 0})) {
    return must(!trouble.words.empty(), "a refused archive has a reason");
  }
  archive::batch batches;
  archive::entry opening = entry(opened.next_run_number(), 1, archive::entry_kind::run_opened, hello_of(99));
  opening.run = "new";
  batches.push_back(std::make_unique<archive::entry>(std::move(opening)));
  (void)opened.write(batches);
  (void)opened.checkpoint(false);
}

}  // namespace

FUZZ_TARGET(archive_file) {
  static valid_archive valid;
  if (size < 3) return 0;
  const std::string path = valid.damaged(fuzz::text_of(data, size));
  if (data[2] & 1) write(path, data[2] & 2);
  read(path);
  browse(path);
  return 0;
}
