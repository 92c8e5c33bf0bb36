#include "tests/simulation/disk.h"

namespace digd::simulation {

void disk::push(const std::string& run, tests::recorded_entry&& entry) {
  if (lie_ == lie::durable_at_once && entry.stored.seq > 0) {
    clock_.after(0,
                 [this, run, session = entry.stored.session, seq = entry.stored.seq] { durable_(run, session, seq); });
  }
  queue_.push_back({run, std::move(entry)});
  write_on();
}

microseconds disk::commit_takes() {
  if (troubled_ && chance_.one_in(40)) return chance_.between(100'000, 3'000'000);  // it stands still
  if (troubled_ && chance_.one_in(8)) return chance_.between(10'000, 200'000);
  return chance_.between(100, 3'000);
}

void disk::write_on() {
  if (!batch_.empty() || queue_.empty()) return;
  batch_.swap(queue_);
  clock_.after(commit_takes(), [this, life = life_] { finish(life); });
}

void disk::finish(std::uint64_t life) {
  if (life != life_) return;
  if (troubled_ && chance_.one_in(25)) {  // full, or it failed: again later, nothing was written
    ++failed_;
    return clock_.after(chance_.between(1'000, 500'000), [this, life] { finish(life); });
  }
  std::map<std::pair<std::string, std::string>, std::uint64_t> news;
  for (const parcel& p : batch_) {
    if (p.entry.stored.seq > 0) news[{p.run, p.entry.stored.session}] = p.entry.stored.seq;
  }
  store_batch();
  for (const auto& [who, seq] : news) durable_(who.first, who.second, seq);
  write_on();
}

void disk::store_batch() {
  for (parcel& p : batch_) {
    if (p.entry.stored.seq > 0) seqs_[{p.run, p.entry.stored.session}] = p.entry.stored.seq;
    stored_[p.run].push_back(std::move(p.entry));
  }
  batch_.clear();
}

void disk::kill() {
  ++life_;
  if (chance_.one_in(2)) store_batch();  // committed, and nobody was told
  batch_.clear();
  queue_.clear();
  for (auto& [run, entries] : stored_) {
    if (lie_ == lie::forgets_at_a_kill && entries.size() > 2) entries.pop_back();
  }
}

std::uint64_t disk::stored_seq(const std::string& run, const std::string& session) const {
  const auto found = seqs_.find({run, session});
  return found == seqs_.end() ? 0 : found->second;
}

}  // namespace digd::simulation
