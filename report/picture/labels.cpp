#include "report/picture/labels.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "report/picture/text.h"

namespace digd::picture {

namespace {

// A larger count of milliseconds counts as a date: September 2001.
constexpr milliseconds first_date = 1'000'000'000'000;

std::string counted(std::size_t n, std::string_view text, std::string_view many) {
  return std::to_string(n) + " " + std::string(n == 1 ? text : many);
}

std::string printed(const char* format, double value) {
  char text[48];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

// Seconds, rounded to tenths here: printf and JavaScript round 1.25 differently.
double tenths(double ms) { return std::round(ms / 100) / 10; }

double difference(milliseconds a, milliseconds b) { return static_cast<double>(a) - static_cast<double>(b); }

}  // namespace

time_scale time_scale::of(const model& m) {
  if (m.rows.empty()) return {};
  milliseconds first = m.rows.front().ts, last = first;
  for (const row& r : m.rows) {
    first = std::min(first, r.ts);
    last = std::max(last, r.ts);
  }
  return of(first, last);
}

time_scale time_scale::of(milliseconds first, milliseconds last) {
  time_scale scale;
  scale.dated = first >= first_date;
  scale.zero = first;
  scale.seconds = difference(last, scale.zero) >= 10'000;
  return scale;
}

std::string time_scale::at(milliseconds ts) const {
  const double ms = difference(ts, zero);
  return seconds ? printed("%.2f", ms / 1000) : printed("%.0f", ms);
}

// dashboard/src/scene/text.ts writes times in the same way.
std::string time_scale::moment(milliseconds ts) const {
  const double ms = difference(ts, zero);
  if (std::abs(ms) < 1000) return printed("%.0f ms", ms);
  if (std::abs(ms) < 100'000) return printed("%.1f s", tenths(ms));
  const long long s = static_cast<long long>(ms) / 1000;
  char text[64];
  if (std::abs(s) < 3600) std::snprintf(text, sizeof text, "%lld:%02lld", s / 60, std::abs(s % 60));
  else std::snprintf(text, sizeof text, "%lld:%02lld:%02lld", s / 3600, std::abs(s / 60 % 60), std::abs(s % 60));
  return text;
}

std::string time_scale::start() const {
  if (!dated) return {};
  const std::time_t whole = static_cast<std::time_t>(zero / 1000);
  std::tm utc{};
  char text[64];
  if (gmtime_r(&whole, &utc) == nullptr || std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &utc) == 0) return {};
  char fraction[24];
  std::snprintf(fraction, sizeof fraction, ".%03d UTC", static_cast<int>(zero % 1000));
  return std::string(text) + fraction;
}

std::string duration(milliseconds ms) {
  if (ms < 1000) return std::to_string(ms) + " ms";
  if (ms < 60'000) return printed("%.1f s", tenths(static_cast<double>(ms)));
  return std::to_string(ms / 60'000) + " min " + std::to_string(ms % 60'000 / 1000) + " s";
}

std::string summary(const model& m) {
  const auto agents = static_cast<std::size_t>(
      std::count_if(m.lanes.begin(), m.lanes.end(), [](const lane& l) { return l.member || l.acted; }));
  const auto announced = static_cast<std::size_t>(
      std::count_if(m.events.begin(), m.events.end(), [](const event& e) { return !e.placeholder; }));
  std::string text = (m.mode.empty() ? "" : m.mode + " · ") + counted(agents, "agent", "agents") + " · " +
                     counted(m.activations.size(), "activation", "activations") + " · " +
                     counted(announced, "event", "events") + " · ";
  if (m.findings.empty()) return text + "no failure found";
  return text + counted(m.findings.size(), "detection", "detections") + ", " + std::to_string(m.healed) + " healed";
}

std::string finding_title(const detection& d) {
  std::string title = std::string(code_of(d.rule)) + " " + std::string(digd::to_string(d.rule));
  if (d.event) title += " · " + safe(*d.event);
  if (d.agent) title += " · " + safe(*d.agent);
  return title;
}

std::string finding_outcome(const detection& d) {
  if (!d.healed && d.cause == cause::mode && d.healing != action::none)
    return "not healed (mode); it would be: " + std::string(digd::to_string(d.healing));
  if (!d.healed) return "not healed (" + std::string(digd::to_string(d.cause)) + ")";
  switch (d.healing) {
    case action::inject: return "healed: told with the delivery";
    case action::reroute: return "healed: given back";
    case action::create: return "healed: a system event";
    default: return "healed";
  }
}

std::string_view sign(reaction reaction) {
  switch (reaction) {
    case reaction::consume: return "✓";
    case reaction::wait: return "…";
    case reaction::discard: return "✗";
    case reaction::reroute: return "↪";
    case reaction::none: break;
  }
  return "·";
}

std::string_view sign(fate fate) {
  switch (fate) {
    case fate::pending: return "○";
    case fate::lost: return "✕";
    case fate::withdrawn: return "⊖";
    case fate::unknown: return "?";
    default: return "";
  }
}

}  // namespace digd::picture
