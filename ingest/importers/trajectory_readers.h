// Readers of the frameworks' trajectories: JSON into turns. Internal to the importers.
#pragma once

#include <boost/json/object.hpp>
#include <deque>
#include <string>
#include <string_view>

#include "ingest/importers/conversation.h"
#include "ingest/importers/framework.h"
#include "ingest/trace/json_reader.h"

namespace digd::importers {

// The turns, and the texts that the reader composed. The turns hold views of `texts`, whose elements never move.
struct trajectory {
  conversation log;
  std::deque<std::string> texts;
};

// A file whose top is a list is given as an object with the member `events`. The failure is in `reader`.
void read_trajectory(framework from, const boost::json::object& top, json_reader& reader, name_table& names,
                     std::size_t max_items, trajectory& into);

}  // namespace digd::importers
