#include "tests/simulation/disk.h"

namespace digd::simulation {

void disk::push(const std::string& run, tests::recorded_entry&& entry) {
  if (fault_ == fault::durable_at_once && entry.stored.seq > 0) {
    clock_.after(0,
                 [this, run, session = entry.stored.session, seq = entry.stored.seq] { durable_(run, session, seq); });
  }
  queue_.push_back({run, std::move(entry)});
  write_next();
}

microseconds disk::commit_time() {
  if (troubled_ && chance_.one_in(40)) return chance_.between(100'000, 3'000'000);  // the disk stalls
  if (troubled_ && chance_.one_in(8)) return chance_.between(10'000, 200'000);
  return chance_.between(100, 3'000);
}

void disk::write_next() {
  if (!batch_.empty() || queue_.empty()) return;
  batch_.swap(queue_);
  clock_.after(commit_time(), [this, life = life_] { finish(life); });
}

void disk::finish(std::uint64_t life) {
  if (life != life_) return;
  if (troubled_ && chance_.one_in(25)) {  // the commit failed and wrote nothing: try again later
    ++failed_;
    return clock_.after(chance_.between(1'000, 500'000), [this, life] { finish(life); });
  }
  std::map<std::pair<std::string, std::string>, std::uint64_t> durable_seqs;
  for (const queued_entry& p : batch_) {
    if (p.entry.stored.seq > 0) durable_seqs[{p.run, p.entry.stored.session}] = p.entry.stored.seq;
  }
  store_batch();
  for (const auto& [session, seq] : durable_seqs) durable_(session.first, session.second, seq);
  write_next();
}

void disk::store_batch() {
  for (queued_entry& p : batch_) {
    if (p.entry.stored.seq > 0) seqs_[{p.run, p.entry.stored.session}] = p.entry.stored.seq;
    stored_[p.run].push_back(std::move(p.entry));
  }
  batch_.clear();
}

void disk::kill() {
  ++life_;
  if (chance_.one_in(2)) store_batch();  // committed, but not reported
  batch_.clear();
  queue_.clear();
  for (auto& [run, entries] : stored_) {
    if (fault_ == fault::forgets_at_a_kill && entries.size() > 2) entries.pop_back();
  }
}

std::uint64_t disk::stored_seq(const std::string& run, const std::string& session) const {
  const auto found = seqs_.find({run, session});
  return found == seqs_.end() ? 0 : found->second;
}

}  // namespace digd::simulation
