// Frames as clients send them, one of each kind, and what decoding them gives.
#pragma once

#include <string>
#include <vector>

#include "ingest/protocol/decode.h"

namespace digd {

inline const std::vector<std::string> valid_frames{
    R"({"type":"agent_joined","seq":1,"agent":"reviewer"})",
    R"({"type":"agent_left","seq":1,"ts":-5,"agent":"r\u00e9\ud83d\ude00"})",
    R"({"type":"event","seq":2,"event":{"id":"e1","recipients":["planner"],"kind":"problem","payload":{"text":"a\nb","n":[1,-2.5e+3,true,null]}}})",
    R"({"type":"activation_started","seq":3,"activation":"v1","agent":"planner","inputs":["e1","e2"]})",
    R"({"seq":4,"event":{"id":"e2","source":"v1","recipients":["coder"],"payload":{}},"type":"event"})",
    R"({"type":"activation_ended","seq":5,"activation":"v1","reactions":{"e1":"consume"},"outputs":[{"id":"e3","recipients":["coder","tester"],"payload":{}},{"id":"e4","recipients":["reviewer"],"fyi":true}]})",
    R"({"type":"activation_ended","seq":7,"activation":"v2","reactions":{"e2":"wait","e3":{"reroute":["tester"]},"e9":"discard"},"outputs":[{"id":"e5","recipients":[],"submit":true,"payload":{}}]})",
    R"({"type":"activation_ended","seq":8,"activation":"v3","failed":true,"error":"timeout","as_is":true})",
    R"({"type":"delivery","seq":9,"event":"e3","applied":"as_is","reason":"timeout"})",
    R"({"type":"delivery","seq":9,"of":"sys:1","applied":"created"})",
    R"({"type":"gap","seq":10,"dropped":120})",
    R"({"type":"time","seq":11,"ts":1700000000000})",
    R"({"type":"run_ended","seq":12,"outcome":"success","metrics":{"rmse":0.3}})",
    R"( { "seq" : 13 , "type" : "time" , "more" : [ { } , [ ] , "" , 1e400 ] } )",
    R"({"type":"hello","protocol":1,"run":"r1","session":"main","agents":["planner","coder"],"mode":"enforce","clock":"wall","rules":{"deadlock":{"window_ms":2000},"cross_lineage_aggregation":{"mode":"shadow","kinds":["solution"]}},"healing":{"budget":1000},"limits":{"stalled_ms":300000},"capabilities":{"inject":true,"reroute":true,"create":true},"witness":false,"client":{"name":"digd-python","version":"0.1"},"labels":{"task":"t42","n":7}})",
    R"(["an",{"array":["is"]},"no message"])",
    R"("nor is a string")",
    R"(-1.5e3)",
};

// One hello decoded; its views live as long as this.
struct hello_reading {
  ingest::decoder in;
  hello out;
  refusal_note refused;

  explicit hello_reading(std::string_view frame) { refused = in.decode_hello(frame, out); }
};

// Its code, and the field if there is one: "bad_message mode".
inline std::string hello_refusal_of(std::string_view frame) {
  const hello_reading r(frame);
  std::string text{to_string(r.refused.code)};
  if (!r.refused.field.empty()) text += " " + r.refused.field;
  return text;
}

}  // namespace digd
