// The body of a callback about a detection or an intervention, as digd posts it to a webhook's receiver. The daemon
// does the posting (daemon/webhook). Pure functions.
//
// Agents chose some of the text in a callback: names, ids, and sentences that contain them. Such text is data. JSON
// quotes it, and a message for Slack puts it into code spans. It cannot end its span, mention anybody or become a link.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/callback.h"

namespace digd {

// For example "3f9a1c07b2d4e5f6-intervention-17": the same at every attempt and for every webhook. `archive_prefix`:
// the random prefix of the archive's callbacks.
std::string callback_id(std::string_view archive_prefix, callback_kind kind, std::int64_t row);

// {"id":…,"run":…,"intervention":{…}}, or with "detection"; of a hold also "hold" and "link".
std::string generic_body(std::string_view id, callback_kind kind, const callback_text& callback);

// {"text":…}. `dashboard`: where people open the dashboard, for a link to the run; empty: no link. Slack splits a text
// of more than 4,000 characters, and the split could end a code span. So the text before the links has at most
// `max_slack_text_bytes` bytes.
inline constexpr std::size_t max_slack_text_bytes = 3'200;
std::string slack_body(callback_kind kind, const callback_text& callback, std::string_view dashboard = {});

// A trigger event of PagerDuty's Events API v2. PagerDuty joins alerts with the same dedup_key, which consists of the
// rule and the agent. A healed detection and an intervention have severity info.
std::string pagerduty_body(std::string_view id, callback_kind kind, const callback_text& callback,
                           std::string_view routing_key, std::string_view dashboard = {});

// The page of a run: `dashboard` with the run's id, percent-encoded.
std::string link_to_run(std::string_view dashboard, std::string_view run);

// Untrusted text as a code span of Slack's mrkdwn (and of Markdown), on one line. Escapes &, <, > and control
// characters, and turns backticks into apostrophes. A zero-width space breaks what Slack could take for a mention or a
// link. The span has at most `max_bytes`, escapes included; a longer text is cut and ends with "…".
inline constexpr std::size_t max_span_bytes = 1'500;
std::string slack_code(std::string_view text, std::size_t max_bytes = max_span_bytes);

}  // namespace digd
