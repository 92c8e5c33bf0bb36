// What a client is sent, as rows of a table for people: the same for a replay and for a live daemon.
#pragma once

#include <string_view>

#include "cli/table.h"

namespace digd::cli {

table frame_table(const table::look& how);
// Adds what a frame says: a row for each verdict, one for an intervention or an error. Others are left out.
void add_frame(table& to, std::string_view frame);

}  // namespace digd::cli
