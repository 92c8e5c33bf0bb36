#include "report/words.h"

#include <algorithm>

#include "report/picture/text.h"

namespace digd::report {

std::string short_name(const std::string& name, std::size_t most) { return picture::fit(picture::safe(name), most); }

std::string grouped(std::uint64_t n) {
  std::string out = std::to_string(n);
  for (std::size_t at = out.size(); at > 3; at -= 3) out.insert(at - 3, 1, ',');
  return out;
}

std::string counted(std::uint64_t n, const char* text, const char* many) {
  return grouped(n) + " " + (n == 1 ? text : many);
}

std::string rule_words(rule_id rule) {
  std::string out(to_string(rule));
  std::replace(out.begin(), out.end(), '_', ' ');
  return out;
}

}  // namespace digd::report
