// `POST /v1/runs/ID/detections/N/judgement`: a person's opinion on a detection, right or wrong. The response is sent
// once the judgement is durable.
//
// Thread: `judge` any; the answer comes on a thread of the read pool, an engine thread or the archive's writer.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "daemon/http/responses.h"
#include "report/stored_runs/pilot.h"

namespace digd::daemon {

struct client_reads;
struct run_control;

struct judgement_request {
  static constexpr std::size_t max_name_bytes = 256;

  std::string run;
  stored::detection_name detection;
  std::string judgement;  // right, wrong; empty: withdrawn
  std::string judged_by;
};

// Reads {"judgement":"right","by":"ann"}. null withdraws the judgement. `default_by`: used if `by` is missing or empty.
std::variant<judgement_request, http_response> read_judgement(std::string_view run, std::string_view detection,
                                                              std::string_view body, std::string_view default_by);

// Answers 200 with the judgement as stored, 404 if there is no such detection, or 503 if too many requests wait.
void judge(const client_reads& reads, const run_control& runs, judgement_request request,
           const std::function<void(http_response&&)>& answer);

}  // namespace digd::daemon
