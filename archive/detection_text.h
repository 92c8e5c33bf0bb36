// How the archive stores detections, verdicts and interventions in bounded space, and gives verdicts back byte for
// byte.
//
// Verdicts refer by `detections.id` to the detections that are stored with them. An id in JSON may take six bytes for
// one character. So if a detection's evidence is too long as JSON, only its first ids stay in the JSON; a column of its
// own keeps the others unescaped.
//
// These functions take JSON as text: a stored row, or a row of another archive, has nothing else. An entry on its way
// to the writer takes the same path. The texts come from ingest/protocol/encode.h; a text that could not be restored
// exactly is stored unchanged. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "archive/entry.h"

namespace digd::archive {

inline constexpr std::size_t max_evidence_json = 4'400;      // in `detections.json`; beyond it the evidence is split
inline constexpr std::size_t max_intervention_json = 4'096;  // beyond it the intervention is cut
inline constexpr std::size_t max_kept_names_json = 1'024;    // of a list that is split or cut

// A detection as stored: its JSON, and the ids of its evidence that the JSON leaves out (empty: none).
struct stored_detection {
  std::string json, more_evidence;
};

// If the evidence is too long, the result's JSON has only its first ids, and `evidence_total` with the number of all.
stored_detection split_detection(const std::string& json);
// The complete detection again, byte for byte.
std::string join_detection(std::string_view json, std::string_view more_evidence);

// Shortens an intervention that is too long. It drops the witnesses first. If that is not enough, it keeps only rule
// and severity of each detection; then only the first recipients and activations, with the numbers of all in
// `recipients_total` and `activations_total`.
std::string cut_intervention(const std::string& json);

// Replaces each detection of a `verdicts` frame by its id: the first of `rows` has `first_id`. The name of the list
// becomes `detections_with_witness` if the client was sent witnesses.
std::string refer_to_detections(std::string_view frame, std::span<const detection_row> rows, std::int64_t first_id);
// The frame again, byte for byte. `whole` gives a complete detection; nullopt: it cannot be read.
using detection_source = std::function<std::optional<std::string>(std::int64_t id)>;
std::optional<std::string> insert_detections(std::string_view stored, const detection_source& whole);
bool refers_to_detections(std::string_view stored);

// Appends a character.
void append_utf8(std::string& out, std::uint32_t c);

}  // namespace digd::archive
