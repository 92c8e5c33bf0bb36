#include "daemon/fleet/publisher.h"

#include <spdlog/spdlog.h>
#include <algorithm>
#include <utility>

#include "base/json_writer.h"
#include "base/quote.h"
#include "base/thread_name.h"
#include "base/unix_time.h"
#include "daemon/fleet/shortened_entry.h"

namespace digd::daemon {

namespace {

// The members that name the first home of a run.
void write_origin(const adopted_run& run, json_writer& to) {
  to.key("epoch").integer(run.epoch).key("origin_archive").text(run.origin_archive);
  to.key("origin_run_number").integer(run.origin_number);
}

}  // namespace

std::string subject_of(const fleet_settings& settings) {
  return "digd.archive." + settings.tenant + '.' + settings.host;
}

std::string host_subject_of(const fleet_settings& settings) {
  return "digd.host." + settings.tenant + '.' + settings.host;
}

publisher::publisher(const fleet_settings& settings, std::string archive_path, std::string store_path,
                     stream_connector connect)
    : settings_(settings),
      archive_path_(std::move(archive_path)),
      store_path_(std::move(store_path)),
      connect_to_stream_(std::move(connect)),
      started_ms_(unix_ms()) {}

std::string publisher::start() {
  if (settings_.servers.empty()) return {};
  if (!is_prepared_) {
    if (std::string wrong = prepare(); !wrong.empty()) return wrong;
  }
  spdlog::info("fleet subject={} archive={} from_entry={}", subject_of(settings_), store_.archive_name(),
               store_.position().entry);
  thread_ = std::thread([this] {
    name_this_thread("fleet");
    work();
  });
  return {};
}

std::string publisher::prepare() {
  is_prepared_ = true;
  std::string problem;
  auto opened = archive::entry_stream::open(archive_path_, &problem);
  if (!opened) return digd::quoted(archive_path_) + ": " + problem;
  reads_ = std::move(*opened);
  if (archive::failure fault = store_.open(store_path_)) return fault.about(store_path_);
  const auto highest = reads_->highest_ever();
  if (!highest) return digd::quoted(archive_path_) + ": " + highest.error().message();
  if (store_.position().entry <= *highest) return {};
  spdlog::warn("fleet_restarted reason=\"the archive is not the same as before\"");
  return store_.restart().about(store_path_);
}

void publisher::stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
  if (stream_) announce(true);
  stream_.reset();
}

void publisher::wake() {
  if (settings_.servers.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    has_work_ = true;
  }
  wake_.notify_one();
}

void publisher::forget(std::uint64_t run_number) {
  if (settings_.servers.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    const auto number = static_cast<std::int64_t>(run_number);
    if (found_.erase(number) > 0) return;
    has_work_ = true;
    if (deleted_.size() < max_deletions) {
      deleted_.push_back(number);
    } else {
      must_find_deleted_ = true;
    }
  }
  wake_.notify_one();
}

std::string publisher::problem() const {
  const std::lock_guard lock(mutex_);
  if (!problem_.empty()) return problem_;
  const std::uint64_t lag = counts_.lag.load();
  return lag > max_quiet_lag ? std::to_string(lag) + " entries are not in the stream yet" : std::string();
}

void publisher::set_problem(const std::string& problem) {
  {
    const std::lock_guard lock(mutex_);
    if (problem_ == problem) return;
    problem_ = problem;
  }
  if (problem.empty()) {
    spdlog::info("fleet_connected");
  } else {
    spdlog::warn("fleet_waits reason={}", digd::quoted(problem));
  }
}

void publisher::pause(std::chrono::milliseconds duration) {
  std::unique_lock lock(mutex_);
  wake_.wait_for(lock, duration, [this] { return stopping_.load(); });
}

// ---- its thread

void publisher::work() {
  std::chrono::milliseconds wait = first_pause;
  while (!is_stopping()) {
    bool more = false;
    std::string problem = connect();
    if (problem.empty()) problem = publish_deletions();
    if (problem.empty()) problem = publish_piece(more);
    if (stream_ && std::chrono::steady_clock::now() >= next_announcement_) announce(false);
    if (is_stopping()) return;
    set_problem(problem);
    if (!problem.empty()) {
      ++counts_.failed;
      if (stream_ && ++failures_ >= max_failures) replace_connection();
      pause(wait);
      wait = std::min(wait * 2, max_pause);
      continue;
    }
    wait = first_pause;
    failures_ = 0;
    if (more) continue;
    std::unique_lock lock(mutex_);
    wake_.wait_for(lock, idle_check, [this] { return has_work_ || stopping_; });
    has_work_ = false;
  }
}

std::string publisher::connect() {
  count_lag();
  if (stream_ && stream_->is_closed()) replace_connection();
  if (stream_) return {};
  std::string problem;
  stream_ = connect_to_stream_(settings_, problem);
  return problem;
}

void publisher::replace_connection() {
  stream_.reset();
  failures_ = 0;
  ++counts_.reconnects;
}

// A count reads all entries that wait, so there is at most one in `count_every`. In between, `publish_piece` subtracts
// the entries that it published.
void publisher::count_lag() {
  const auto now = std::chrono::steady_clock::now();
  if (now < next_count_) return;
  next_count_ = now + count_every;
  if (const auto behind = reads_->count_after(store_.position().entry)) {
    counts_.lag = static_cast<std::uint64_t>(*behind);
  }
}

// A record that replaces the one before: docs/fleet.md.
void publisher::announce(bool stopping) {
  next_announcement_ = std::chrono::steady_clock::now() + announce_every;
  std::string body;
  json_writer to(body);
  to.open_object().key("format").integer(1).key("kind").text("host").key("version").text(DIGD_VERSION);
  to.key("started_ms").integer(started_ms_).key("sent_ms").integer(unix_ms());
  to.key("every_ms").integer(std::chrono::milliseconds(announce_every).count());
  to.key("published").integer(counts_.published.load()).key("failed").integer(counts_.failed.load());
  to.key("lag").integer(counts_.lag.load());
  if (open_runs_) to.key("open_runs").integer(open_runs_());
  to.key("stopping").boolean(stopping).close_object();
  stream_->announce(body, stopping);
}

std::string publisher::publish_piece(bool& more) {
  auto piece = reads_->after(store_.position());
  if (!piece) return digd::quoted(archive_path_) + ": " + piece.error().message();
  if (piece->entries.empty()) {
    counts_.lag = 0;
    ++empty_rounds_;
    return {};
  }
  const std::size_t max_bytes = stream_->max_message_bytes();
  std::uint64_t cut_entries = 0;
  std::vector<std::int64_t> bare_ids;
  std::vector<stream_message> messages;
  messages.reserve(piece->entries.size());
  for (archive::streamed_entry& entry : piece->entries) {
    if (!add_origin(entry)) continue;
    if (entry.json.size() > max_bytes) {
      const shortening result = shorten_entry(entry.json, max_bytes);
      if (result == shortening::too_large) {
        return "entry " + std::to_string(entry.id) + ": the stream takes at most " + std::to_string(max_bytes) +
               " bytes in a message, too few for this entry even without its texts";
      }
      ++cut_entries;
      if (result == shortening::bare) bare_ids.push_back(entry.id);
    }
    messages.push_back({store_.archive_name() + ':' + std::to_string(entry.id), entry.json});
  }
  if (std::string problem = stream_->publish(messages, [this] { return is_stopping(); }); !problem.empty()) {
    return problem;
  }
  if (archive::failure failed = store_.move(piece->upto, piece->entries)) return failed.about(store_path_);
  if (on_published_) on_published_(piece->entries);
  for (const std::int64_t id : bare_ids) {
    spdlog::warn("fleet_entry_bare entry={} reason=\"it exceeds the largest message of the stream\"", id);
  }
  counts_.cut += cut_entries;
  counts_.bare += bare_ids.size();
  counts_.published += messages.size();
  counts_.lag -= std::min<std::uint64_t>(counts_.lag, piece->entries.size());
  more = true;
  return {};
}

// Adds the names of the first home to an entry of a run that was taken over. False: an earlier home has published the
// entry.
bool publisher::add_origin(archive::streamed_entry& entry) const {
  if (homes_ == nullptr) return true;
  const auto adopted = homes_->adopted(static_cast<std::uint64_t>(entry.run_number));
  if (!adopted) return true;
  if (entry.n <= adopted->kept) return false;
  std::string with_origin;
  json_writer to(with_origin);
  to.open_object().members_of(entry.json);
  write_origin(*adopted, to);
  to.close_object();
  entry.json = std::move(with_origin);
  return true;
}

// Empty: this daemon deleted only its copy. The run's home is elsewhere, or the copy was incomplete.
std::string publisher::deletion_of(std::int64_t number) const {
  std::string body;
  json_writer to(body);
  to.open_object().key("format").integer(1).key("kind").text("run_deleted").key("run_number").integer(number);
  if (homes_ != nullptr) {
    if (homes_->has_moved(static_cast<std::uint64_t>(number))) return {};
    if (const auto adopted = homes_->adopted(static_cast<std::uint64_t>(number))) {
      if (!adopted->is_complete) return {};
      write_origin(*adopted, to);
    }
  }
  to.close_object();
  return body;
}

void publisher::find_deleted_runs() {
  {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(must_find_deleted_, false)) return;
  }
  std::vector<std::int64_t> known, gone;
  bool is_complete = !store_.runs(known);
  for (const std::int64_t number : known) {
    const auto found = reads_->exists(number);
    is_complete = is_complete && found.has_value();
    if (found && !*found) gone.push_back(number);
  }
  const std::lock_guard lock(mutex_);
  must_find_deleted_ = must_find_deleted_ || !is_complete;
  const boost::unordered_flat_set<std::int64_t> waiting(deleted_.begin(), deleted_.end());
  for (const std::int64_t number : gone) {
    if (waiting.contains(number)) continue;
    deleted_.push_back(number);
    found_.insert(number);
  }
}

std::string publisher::publish_deletions() {
  find_deleted_runs();
  std::vector<std::int64_t> deleted;
  {
    const std::lock_guard lock(mutex_);
    deleted.assign(deleted_.begin(), deleted_.end());
  }
  if (deleted.empty()) return {};
  std::vector<std::string> bodies;
  bodies.reserve(deleted.size());
  for (const std::int64_t number : deleted) bodies.push_back(deletion_of(number));
  std::vector<stream_message> messages;
  messages.reserve(deleted.size());
  for (std::size_t i = 0; i < deleted.size(); ++i) {
    if (bodies[i].empty()) continue;
    messages.push_back({store_.archive_name() + ":deleted:" + std::to_string(deleted[i]), bodies[i]});
  }
  if (std::string problem = stream_->publish(messages, [this] { return is_stopping(); }); !problem.empty()) {
    return problem;
  }
  for (const std::int64_t number : deleted) {
    if (std::string problem = complete_deletion(number); !problem.empty()) return problem;
  }
  counts_.deletions += messages.size();
  return {};
}

// Afterwards homes.db no longer shows that the run's home was elsewhere. So the run leaves `deleted_` here: a retry for
// other runs must not publish its deletion.
std::string publisher::complete_deletion(std::int64_t number) {
  if (archive::failure failed = store_.remove_run(number)) return failed.about(store_path_);
  if (homes_ != nullptr) {
    if (archive::failure failed = homes_->forget(static_cast<std::uint64_t>(number))) {
      return "homes.db: " + failed.words;
    }
  }
  const std::lock_guard lock(mutex_);
  deleted_.pop_front();
  return {};
}

}  // namespace digd::daemon
