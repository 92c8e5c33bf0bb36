#include "archive/error.h"

#include <boost/system/error_category.hpp>
#include <string>

namespace digd::archive {

namespace {

class archive_category final : public boost::system::error_category {
 public:
  const char* name() const noexcept override { return "archive"; }

  std::string message(int value) const override {
    switch (static_cast<archive_error>(value)) {
      case archive_error::none: return "no error";
      case archive_error::cannot_open: return "the archive cannot be opened";
      case archive_error::not_an_archive: return "the file is not a digd archive";
      case archive_error::newer_schema: return "the archive was written by a newer digd";
      case archive_error::older_schema: return "the archive was written by an older digd and has not been migrated";
      case archive_error::locked: return "another digd has the archive open";
      case archive_error::corrupt: return "the archive is damaged";
      case archive_error::io: return "reading or writing the archive failed";
      case archive_error::run_deleted: return "the run was deleted while it was read";
    }
    return "unknown archive error";
  }
};

}  // namespace

boost::system::error_code make_error_code(archive_error error) {
  static const archive_category category;
  return {static_cast<int>(error), category};
}

}  // namespace digd::archive
