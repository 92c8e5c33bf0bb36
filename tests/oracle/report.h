// The canonical answer lines: compact JSON with keys in a fixed order, so that tests compare answers as strings.
#pragma once

#include "message.h"

namespace oracle {

struct detection {
  rule rule_;
  std::optional<std::int64_t> at_;
  std::int64_t ts_ = 0;
  std::optional<std::string> session_;
  std::optional<std::string> event_;
  std::optional<std::string> agent_;
  std::set<std::string> evidence_;
  bool healed_ = false;
  std::optional<std::string> healing_;
  std::optional<std::string> cause_;
  std::optional<std::string> action_;  // of a guard
  std::vector<std::string> limits_;    // of a guard
};

struct verdict {
  std::int64_t seq_ = 0;
  std::string session_;
  std::string event_;
  std::string action_;
  std::optional<std::vector<std::string>> recipients_;
  bool inject_ = false;
  std::size_t hold_ = 0;
};

struct intervention {
  std::string id_;
  std::string action_;
  std::optional<std::string> event_;
  std::set<std::string> recipients_;
  bool inject_ = false;
  std::vector<std::string> activations_;  // of cancel
};

std::string line_of(const detection& d);
std::string line_of(const verdict& v);
std::string line_of(const intervention& i);
std::string error_line(std::optional<std::int64_t> seq, const std::string& session, error_code code,
                       const std::optional<std::string>& field);
std::string status_line(const history& h);

}  // namespace oracle
