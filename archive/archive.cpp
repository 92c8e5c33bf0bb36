#include "archive/archive.h"

#include <chrono>
#include <utility>

#include "archive/damage_watch.h"
#include "archive/reader.h"
#include "archive/store.h"
#include "archive/write_queue.h"
#include "archive/writer.h"

namespace digd::archive {

namespace {

// Shared by the producers, which may outlive the archive, and the writer.
struct shared_queue {
  explicit shared_queue(const options& options)
      : queue({options.max_queued_entries, options.max_queued_bytes, options.max_producers}) {}

  counters counted;
  write_queue queue;
};

}  // namespace

struct producer::state {
  std::shared_ptr<shared_queue> at;  // destroyed after `token`, which points into it
  std::unique_ptr<write_queue::push_token> token;
};

producer::producer(std::unique_ptr<state> s) : state_(std::move(s)) {}
producer::~producer() = default;

parcel_ptr producer::make_parcel() { return state_->at->queue.make_parcel(*state_->token); }

bool producer::try_push(parcel_ptr& parcel) {
  auto& at = *state_->at;
  if (at.queue.push(*state_->token, parcel)) return true;
  if (!at.queue.is_closed()) at.counted.queue_full.fetch_add(1);
  return false;
}

bool producer::try_push(entry_ptr& entry) {
  parcel_ptr alone = make_parcel();
  alone->add(std::move(entry));
  if (try_push(alone)) return true;
  entry = alone->take_whole();
  state_->at->queue.keep_spare(*state_->token, std::move(alone));
  return false;
}

// Members are destroyed in reverse order: the writer thread first, the file last.
struct archive::state {
  digd::archive::options options;
  store file;
  std::unique_ptr<reader> reads, names;
  std::atomic<std::uint64_t> next_run{1};
  std::shared_ptr<shared_queue> at;
  std::unique_ptr<writer> writes;
  std::unique_ptr<damage_watch> watch;  // null: none
};

namespace {

// Joins what is wrong with writing and with the file, and reports each change. Any thread.
class health_report {
 public:
  explicit health_report(std::function<void(const std::string&)> report) : report_(std::move(report)) {}

  void writing(const std::string& words) { note(writing_, words); }
  void damage(const std::string& words) { note(damage_, words); }

 private:
  void note(std::string& part, const std::string& words) {
    const std::lock_guard guard(mutex_);
    part = words;
    if (report_) report_(writing_.empty() || damage_.empty() ? writing_ + damage_ : writing_ + "; " + damage_);
  }

  const std::function<void(const std::string&)> report_;
  std::mutex mutex_;
  std::string writing_, damage_;
};

}  // namespace

archive::archive(std::unique_ptr<state> s) : state_(std::move(s)) {}

archive::~archive() { stop(); }

boost::system::result<std::unique_ptr<archive>> archive::open(options options,
                                                              std::function<void(std::span<const durable>)> on_durable,
                                                              std::string* problem) {
  auto made = std::make_unique<state>();
  made->options = std::move(options);
  const auto health = std::make_shared<health_report>(std::move(made->options.on_health));
  made->options.on_health = [health](const std::string& words) { health->writing(words); };
  const auto& o = made->options;
  if (auto found = made->file.open({o.path, o.vfs, o.check_bytes, o.max_value_bytes, o.on_migration})) {
    if (problem != nullptr) *problem = found.words;
    return make_error_code(found.error);
  }
  auto reads = reader::open(o.path, o.vfs, problem);
  if (!reads) return reads.error();
  made->reads = std::move(*reads);
  auto names = reader::open(o.path, o.vfs, problem);
  if (!names) return names.error();
  made->names = std::move(*names);
  made->next_run = made->file.next_run_number();
  made->at = std::make_shared<shared_queue>(o);
  made->writes = std::make_unique<writer>(o, made->at->counted, made->at->queue, made->file, std::move(on_durable));
  if (o.look_for_damage_ms > 0) {
    made->watch = std::make_unique<damage_watch>(o.path, o.vfs, std::chrono::milliseconds(o.look_for_damage_ms),
                                                 [health](const std::string& words) { health->damage(words); });
  }
  return std::unique_ptr<archive>(new archive(std::move(made)));
}

std::unique_ptr<producer> archive::make_producer() {
  auto token = state_->at->queue.make_token();
  if (!token) return nullptr;
  auto made = std::make_unique<producer::state>();
  made->at = state_->at;
  made->token = std::move(token);
  return std::unique_ptr<producer>(new producer(std::move(made)));
}

std::uint64_t archive::next_run_number() { return state_->next_run.fetch_add(1); }

void archive::stop() {
  if (state_->watch) state_->watch->stop();
  state_->writes->stop();
}

const counters& archive::counted() const { return state_->at->counted; }

std::string archive::health() const {
  const std::string writing = state_->writes->health(), damage = state_->watch ? state_->watch->words() : "";
  return writing.empty() || damage.empty() ? writing + damage : writing + "; " + damage;
}

const options& archive::settings() const { return state_->options; }

std::size_t archive::queued() const { return state_->at->queue.held(); }

std::size_t archive::spare_bytes() const { return state_->at->queue.spare_bytes() + state_->writes->spare_bytes(); }

boost::system::result<std::vector<stored_run>> archive::runs() const { return state_->reads->runs(); }

boost::system::result<std::vector<stored_run>> archive::open_runs() const { return state_->reads->open_runs(); }

boost::system::result<std::uint64_t> archive::count_ended() const { return state_->reads->count_ended(); }

boost::system::result<std::vector<std::uint64_t>> archive::numbers_of(std::string_view run) const {
  return state_->names->numbers_of(run);
}

boost::system::result<void> archive::each_entry(std::uint64_t run_number,
                                                const std::function<bool(const stored_entry&)>& each) const {
  return state_->reads->each_entry(run_number, each);
}

boost::system::result<std::vector<stored_answer>> archive::answers(answer_range& range) const {
  return state_->reads->answers(range);
}

boost::system::result<std::vector<intervention_row>> archive::unanswered(std::uint64_t run_number) const {
  return state_->reads->unanswered(run_number);
}

}  // namespace digd::archive
