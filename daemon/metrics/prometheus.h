// Writes the Prometheus text format, version 0.0.4: families with help and type, samples with escaped labels. Use one
// writer for one answer, on one thread.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace digd::daemon {

class prometheus_text {
 public:
  using label = std::pair<std::string_view, std::string_view>;

  // Begins a family. The samples up to the next family belong to it.
  void family(std::string_view name, std::string_view type, std::string_view help);
  void sample(std::uint64_t value, std::initializer_list<label> labels = {}, std::string_view suffix = {});
  void sample(double value, std::initializer_list<label> labels = {}, std::string_view suffix = {});

  void counter(std::string_view name, std::string_view help, std::uint64_t value) {
    family(name, "counter", help);
    sample(value);
  }
  void gauge(std::string_view name, std::string_view help, std::uint64_t value) {
    family(name, "gauge", help);
    sample(value);
  }
  std::string take() { return std::move(out_); }

 private:
  void start(std::initializer_list<label> labels, std::string_view suffix);

  std::string out_, name_;
};

}  // namespace digd::daemon
