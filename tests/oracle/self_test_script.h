// Hand-written traces for the oracle's own tests. The script fills in sequence numbers; helpers count answers by kind.
#pragma once

#include "oracle.h"

#include <algorithm>
#include <string>
#include <vector>

namespace oracle_test {

class script {
 public:
  // `settings` are further members of the hello, beginning with a comma if there are any.
  explicit script(const std::string& settings = R"(,"agents":["a","b","c"])") {
    send_line(R"({"type":"hello","protocol":1,"run":"r","clock":"trace")" + settings + "}");
  }

  // Sends a message, given as its members without the seq. Returns the answers without the status line.
  std::vector<std::string> send(const std::string& members) {
    return send_line("{\"seq\":" + std::to_string(judge_.expected_seq("main")) + "," + members + "}");
  }

  std::vector<std::string> send_line(const std::string& line) {
    lines_.push_back(line);
    std::vector<std::string> answers = judge_.step(line);
    status_ = answers.back();
    answers.pop_back();
    return answers;
  }

  std::vector<std::string> root(const std::string& id, const std::string& recipients, const std::string& more = "") {
    return send(R"("type":"event","event":{"id":")" + id + R"(","recipients":)" + recipients + more + "}");
  }
  std::vector<std::string> output(const std::string& id, const std::string& source, const std::string& recipients,
                                  const std::string& more = "") {
    return root(id, recipients, R"(,"source":")" + source + '"' + more);
  }
  std::vector<std::string> start(const std::string& id, const std::string& agent, const std::string& inputs) {
    return send(R"("type":"activation_started","activation":")" + id + R"(","agent":")" + agent + R"(","inputs":)" +
                inputs);
  }
  std::vector<std::string> end(const std::string& id, const std::string& reactions = "{}",
                               const std::string& outputs = "[]", const std::string& more = "") {
    return send(R"("type":"activation_ended","activation":")" + id + R"(","reactions":)" + reactions +
                R"(,"outputs":)" + outputs + more);
  }
  std::vector<std::string> time(int ts) { return send(R"("type":"time","ts":)" + std::to_string(ts)); }

  const std::string& status() const { return status_; }
  bool reachable(const std::string& ids) const { return status_.find("\"reachable\":" + ids) != std::string::npos; }
  bool terminal() const { return status_.find("\"terminal\":true") != std::string::npos; }
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  oracle::evaluator judge_;
  std::vector<std::string> lines_;
  std::string status_;
};

inline std::size_t count(const std::vector<std::string>& answers, const std::string& part) {
  return static_cast<std::size_t>(std::count_if(answers.begin(), answers.end(), [&](const std::string& answer) {
    return answer.find(part) != std::string::npos;
  }));
}

inline std::size_t fired(const std::vector<std::string>& answers, const std::string& rule) {
  return count(answers, "{\"d\":\"" + rule + "\"");
}

inline bool refused(const std::vector<std::string>& answers, const std::string& code) {
  return answers.size() == 1 && count(answers, "\"code\":\"" + code + "\"") == 1;
}

}  // namespace oracle_test
