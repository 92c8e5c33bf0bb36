// Reads the rows of a prepared query whose parameters are bound, and then resets it.
#pragma once

#include <boost/system/result.hpp>
#include <optional>
#include <type_traits>
#include <vector>

#include "archive/error.h"
#include "archive/sqlite.h"

namespace digd::archive {

// The results of `read` for each row, in order.
template <class Read>
auto read_rows(statement& query, Read read)
    -> boost::system::result<std::vector<std::invoke_result_t<Read, const statement&>>> {
  const statement_reset guard(query);
  std::vector<std::invoke_result_t<Read, const statement&>> rows;
  failure failed;
  while (query.step(failed)) rows.push_back(read(query));
  if (failed) return make_error_code(failed.error());
  return rows;
}

// The result of `read` for the first row; nullopt if there is no row.
template <class Read>
auto read_row(statement& query, Read read)
    -> boost::system::result<std::optional<std::invoke_result_t<Read, const statement&>>> {
  const statement_reset guard(query);
  std::optional<std::invoke_result_t<Read, const statement&>> row;
  failure failed;
  if (query.step(failed)) row = read(query);
  if (failed) return make_error_code(failed.error());
  return row;
}

}  // namespace digd::archive
