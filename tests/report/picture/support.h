// Traces as pictures for the tests of picture/.
#pragma once

#include <catch2/catch.hpp>
#include <initializer_list>
#include <string>

#include "report/picture/model.h"

namespace digd::picture {

inline model picture_of(const std::vector<std::string>& lines) {
  recorder through;
  for (const std::string& line : lines) {
    INFO(line << "\n" << through.problem());
    REQUIRE(through.line(line));
  }
  return through.finish();
}

// An event is orphaned, the answer comes too early and is given back, then everybody waits.
inline const std::vector<std::string> troubled{
    R"({"type":"hello","protocol":1,"run":"r1","agents":["planner","coder","tester"],"clock":"trace","rules":{"deadlock":{"window_ms":2000}}})",
    R"({"type":"event","seq":1,"ts":0,"event":{"id":"e1","recipients":["planner"],"kind":"problem","payload":{"text":"do\n it"}}})",
    R"({"type":"activation_started","seq":2,"ts":10,"activation":"v1","agent":"planner","inputs":["e1"]})",
    R"({"type":"activation_ended","seq":3,"ts":20,"activation":"v1","outputs":[{"id":"e2","recipients":["coder"]},{"id":"e3","recipients":["tester","nobody"]},{"id":"e4","recipients":["reviewer"]}]})",
    R"({"type":"activation_started","seq":4,"ts":30,"activation":"v2","agent":"coder","inputs":["e2"]})",
    R"({"type":"activation_ended","seq":5,"ts":40,"activation":"v2","outputs":[{"id":"e5","recipients":[],"submit":true}]})",
    R"({"type":"time","seq":6,"ts":2500})"};

// Everything that an agent can do with an input.
inline const std::vector<std::string> reactions{
    R"({"type":"hello","protocol":1,"run":"r2","agents":["a","b"],"clock":"trace","mode":"observe"})",
    R"({"type":"event","seq":1,"ts":0,"event":{"id":"w","recipients":["a"]}})",
    R"({"type":"event","seq":2,"ts":0,"event":{"id":"d","recipients":["a"]}})",
    R"({"type":"event","seq":3,"ts":0,"event":{"id":"r","recipients":["a"]}})",
    R"({"type":"activation_started","seq":4,"ts":1,"activation":"v1","agent":"a","inputs":["w","d","r","never"]})",
    R"({"type":"activation_ended","seq":5,"ts":2,"activation":"v1","reactions":{"w":"wait","d":"discard","r":{"reroute":["b"]}}})",
    R"({"type":"activation_started","seq":6,"ts":3,"activation":"v2","agent":"a","inputs":["w"]})",
    R"({"type":"activation_ended","seq":7,"ts":4,"activation":"v2","failed":true,"error":"x"})",
    R"({"type":"activation_started","seq":8,"ts":5,"activation":"v3","agent":"b","inputs":["r"]})"};

// A run whose every name wants out of whatever it is put into.
inline std::vector<std::string> hostile() {
  const std::string name = R"(]]><script>alert(1)</script>&amp;\"';\n\u0000\u0007\u001b[31m\u202e\ufffe--> 名前)";
  return {R"({"type":"hello","protocol":1,"run":")" + name + R"(","agents":["a)" + name + R"("],"clock":"trace"})",
          R"({"type":"event","seq":1,"event":{"id":"e)" + name + R"(","kind":"k)" + name + R"(","recipients":["a)" +
              name + R"(","gone)" + name + R"("],"payload":{"text":")" + name + R"("}}})",
          R"({"type":"activation_started","seq":2,"activation":"v)" + name + R"(","agent":"a)" + name +
              R"(","inputs":["e)" + name + R"("]})",
          R"({"type":"activation_ended","seq":3,"activation":"v)" + name + R"(","outputs":[{"id":"o)" + name +
              R"(","recipients":["x)" + name + R"("]}]})"};
}

}  // namespace digd::picture
