#include "ingest/trace/import_result.h"

#include <boost/system/system_error.hpp>
#include <utility>

namespace digd::importers {
namespace {

class category final : public boost::system::error_category {
 public:
  const char* name() const noexcept override { return "digd.import"; }
  std::string message(int code) const override {
    switch (static_cast<import_errc>(code)) {
      case import_errc::bad_json: return "not valid JSON";
      case import_errc::too_large: return "too large";
      case import_errc::wrong_shape: return "not the shape of this format";
      case import_errc::wrong_value: return "a value that this format does not know";
      case import_errc::unsupported_schema: return "unsupported schema";
      case import_errc::bad_option: return "option out of range";
      case import_errc::internal: return "the importer failed";
    }
    return "unknown import error";
  }
};

void add(link_counts& to, const link_counts& more) {
  to.stated += more.stated;
  to.inferred += more.inferred;
}

void say(std::string& out, const char* text, const link_counts& links) {
  if (links.stated + links.inferred == 0) return;
  if (out.back() != '(') out += ", ";
  out += std::string(text) + ' ' + std::to_string(links.stated) + '/' + std::to_string(links.inferred);
}

// Every count other than those of links, with the words that `describe` uses for it.
constexpr std::pair<std::size_t import_counts::*, const char*> remarks[] = {
    {&import_counts::thoughts, "thoughts"},
    {&import_counts::notices, "notices"},
    {&import_counts::next_speaker, "recipients known only as the next speaker"},
    {&import_counts::fallback_recipients, "recipients guessed for an unanswered last message"},
    {&import_counts::remembered_inputs, "inputs taken from the agent's last turn"},
    {&import_counts::late_outputs, "outputs later than their activation"},
    {&import_counts::system_activations, "system activations left out"},
    {&import_counts::system_reroutes, "reroutes by the system"},
    {&import_counts::dropped_reroutes, "reroutes dropped"},
    {&import_counts::unknown_inputs, "inputs not in the graph"},
    {&import_counts::unknown_sources, "sources not in the graph"},
    {&import_counts::reordered, "starts moved behind their inputs"},
    {&import_counts::renamed, "names or ids changed"},
    {&import_counts::cut_payloads, "payloads cut"},
};

}  // namespace

const boost::system::error_category& import_category() noexcept {
  static const category instance;
  return instance;
}

boost::system::error_code make_error_code(import_errc code) noexcept {
  return {static_cast<int>(code), import_category()};
}

link_counts import_counts::links() const {
  link_counts link_counts;
  for (const auto& part : {sources, recipients, inputs, reactions, submits}) add(link_counts, part);
  return link_counts;
}

import_counts& import_counts::operator+=(const import_counts& more) {
  messages += more.messages;
  agents += more.agents;
  events += more.events;
  activations += more.activations;
  add(sources, more.sources);
  add(recipients, more.recipients);
  add(inputs, more.inputs);
  add(reactions, more.reactions);
  add(submits, more.submits);
  add(times, more.times);
  for (const auto& [member, words] : remarks) this->*member += more.*member;
  return *this;
}

std::string describe(const import_counts& counts) {
  const auto link_counts = counts.links();
  std::string out = std::to_string(counts.messages) + " messages: " + std::to_string(counts.activations) +
                    " activations, " + std::to_string(counts.events) + " events, " + std::to_string(counts.agents) +
                    " agents. Links: " + std::to_string(link_counts.stated) + " stated, " +
                    std::to_string(link_counts.inferred) + " inferred";
  std::string parts = " (";
  say(parts, "sources", counts.sources);
  say(parts, "recipients", counts.recipients);
  say(parts, "inputs", counts.inputs);
  say(parts, "reactions", counts.reactions);
  say(parts, "submits", counts.submits);
  if (parts.size() > 2) out += parts + ")";
  out += ". Times: " + std::to_string(counts.times.stated) + " stated, " + std::to_string(counts.times.inferred) +
         " inferred.";
  const char* before = " Of these: ";
  for (const auto& [member, words] : remarks) {
    if (counts.*member == 0) continue;
    out += before + std::to_string(counts.*member) + ' ' + words;
    before = ", ";
  }
  if (*before == ',') out += '.';
  return out;
}

void throw_exception_from_error(const import_failure& failure, const boost::source_location&) {
  throw boost::system::system_error(failure.code, failure.message);
}

}  // namespace digd::importers
