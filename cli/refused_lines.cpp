#include "cli/refused_lines.h"

#include <iostream>

#include "base/quote.h"
#include "cli/commands.h"
#include "cli/files.h"
#include "cli/printable.h"

namespace digd::cli {

void refused_lines::add(std::uint64_t line, std::string_view code, std::string_view field, std::string_view reason) {
  ++count_;
  if (shown_.size() >= max_shown) return;
  std::string text = line == 0 ? std::string() : "line " + std::to_string(line) + ": ";
  text += printable(code);
  if (!field.empty()) text += " (field " + digd::quoted(field) + ")";
  shown_.push_back(text + ": " + printable(reason));
}

int refused_lines::report(std::string_view command, const std::string& trace) const {
  const std::string name = "digctl " + std::string(command) + ": " + shown(trace);
  for (const std::string& line : shown_) std::cerr << name << ": " << line << '\n';
  if (count_ > shown_.size()) std::cerr << name << ": " << count_ - shown_.size() << " more messages were refused\n";
  return wrong_use;
}

}  // namespace digd::cli
