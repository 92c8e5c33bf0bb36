// A small JSON writer: keys in the order written, numbers as the shortest text that reads back. Same calls, same bytes.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include "analysis/causal/csv.h"
#include "base/quote.h"

namespace digd::causal {

class json_writer {
 public:
  json_writer& open(char bracket) {
    comma();
    out_ += bracket;
    fresh_ = true;
    return *this;
  }
  json_writer& close(char bracket) {
    out_ += bracket;
    fresh_ = false;
    return *this;
  }
  json_writer& key(std::string_view name) {
    comma();
    append_quoted(out_, name);
    out_ += ':';
    fresh_ = true;
    return *this;
  }
  json_writer& text(std::string_view value) {
    comma();
    append_quoted(out_, value);
    return *this;
  }
  json_writer& number(double value) {
    comma();
    out_ += std::isfinite(value) ? number_text(value) : "null";
    return *this;
  }
  json_writer& integer(std::uint64_t value) {
    comma();
    out_ += std::to_string(value);
    return *this;
  }
  json_writer& boolean(bool value) {
    comma();
    out_ += value ? "true" : "false";
    return *this;
  }
  json_writer& null() {
    comma();
    out_ += "null";
    return *this;
  }
  std::string take() { return std::move(out_); }

 private:
  void comma() {
    if (!fresh_) out_ += ',';
    fresh_ = false;
  }
  std::string out_;
  bool fresh_ = true;
};

}  // namespace digd::causal
