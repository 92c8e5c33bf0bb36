// Finished estimates on disk, so that the same estimate is not computed twice.
//
// The file name is a digest of the game's content, the estimator, the samples and the seed; the number of threads does
// not matter. Not cached: interrupted estimates, and games that may answer differently next time. Failure: a file that
// cannot be read or written, or has unexpected content, counts as absent. A file appears by rename, so a reader never
// sees half of one. Thread: one at a time in a process; several processes may share the folder. Bounds: none; old files
// are not deleted.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "analysis/shapley/estimate.h"

namespace digd::shapley {

class cache {
 public:
  explicit cache(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // $XDG_CACHE_HOME/digd/shapley, else ~/.cache/digd/shapley; empty if there is neither.
  static std::filesystem::path usual_folder();
  static std::string key_of(const game& game, const estimate_options& options);

  std::optional<estimate_result> find(const std::string& key, const game& game) const;
  void keep(const std::string& key, const estimate_result& result) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace digd::shapley
