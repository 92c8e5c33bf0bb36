// Finished estimates on disk, by content: the same game asked in the same way is not computed twice.
//
// A file is named after the digest of the game's whole content, the estimator, the samples and the seed; not after
// threads, which do not matter. Interrupted estimates and games that may answer differently next time are not kept. A
// file that cannot be read or written, or that is not what it should be, is as none.
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
