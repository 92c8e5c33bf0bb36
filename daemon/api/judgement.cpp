#include "daemon/api/judgement.h"

#include <atomic>
#include <boost/asio/post.hpp>
#include <boost/json/parse.hpp>
#include <memory>
#include <utility>

#include "base/quote.h"
#include "daemon/api/read_pool.h"
#include "daemon/process/log.h"
#include "daemon/runs/run_host.h"
#include "daemon/shared_state.h"
#include "report/stored_runs/json_text.h"

namespace digd::daemon {

namespace {

namespace http = boost::beast::http;
namespace json = boost::json;

http_response bad_judgement(std::string_view message) {
  return respond_error(http::status::bad_request, "bad_judgement", message);
}

http_response no_such_detection(std::string_view run, std::string_view detection) {
  return respond_error(
      http::status::not_found, "no_such_detection",
      "the run " + quoted(run) + " has no detection " + quoted(detection) + "; /v1/runs/ID/detections lists them");
}

http_response stored(const judgement_request& pending) {
  std::string out = "{";
  stored::append_text(out, "run", pending.run);
  stored::append_text(out, "detection", to_string(pending.detection));
  stored::append_text_or_null(out, "judgement", pending.judgement);
  stored::append_text_or_null(out, "by",
                              pending.judgement.empty() ? std::string_view() : std::string_view(pending.judged_by));
  return respond_json(out + "}\n");
}

// A judgement on its way: found in the archive, then handed to its writer.
struct pending_judgement {
  judgement_request asked;
  std::uint64_t run_number = 0;
  std::int64_t detection = 0;  // detections.id
};

http_response find(archive::browser& from, pending_judgement& pending) {
  const auto unreadable = [](const boost::system::error_code& ec) {
    return respond_error(http::status::internal_server_error, "archive_unreadable",
                         "the archive cannot be read: " + ec.message());
  };
  const auto run = from.find(pending.asked.run);
  if (!run) return unreadable(run.error());
  if (!*run) return no_such_run(pending.asked.run);
  pending.run_number = (**run).number;
  const auto found =
      from.find_detection(pending.run_number, pending.asked.detection.entry, pending.asked.detection.place_in_entry);
  if (!found) return unreadable(found.error());
  if (!*found) return no_such_detection(pending.asked.run, to_string(pending.asked.detection));
  pending.detection = **found;
  return respond_nothing();
}

void store(shared_state& shared, const std::shared_ptr<pending_judgement>& pending,
           const std::function<void(http_response&&)>& answer) {
  static std::atomic<std::uint64_t> last_ticket{0};
  const std::uint64_t ticket = ++last_ticket;
  shared.judgements.expect(ticket, [pending, answer] { answer(stored(pending->asked)); });
  engine_thread& owner = shared.owner_of(pending->asked.run);
  boost::asio::post(owner.context(), [&owner, pending, ticket] {
    auto made = std::make_unique<archive::entry>();
    made->kind = archive::entry_kind::judgement;
    made->run_number = pending->run_number;
    made->arrived_ms = unix_ms();
    made->opinion = std::make_shared<const archive::judgement_row>(
        archive::judgement_row{pending->detection, pending->asked.judgement, pending->asked.judged_by, ticket});
    owner.records().push(std::move(made));
  });
}

}  // namespace

std::variant<judgement_request, http_response> read_judgement(std::string_view run, std::string_view detection,
                                                              std::string_view body, std::string_view otherwise_by) {
  judgement_request asked{
      .run = std::string(run), .detection = {}, .judgement = {}, .judged_by = std::string(otherwise_by)};
  const auto name = stored::detection_name_from(detection);
  if (!name) return no_such_detection(run, detection);
  asked.detection = *name;
  json::error_code ec;
  const json::value value = json::parse({body.data(), body.size()}, ec);
  const json::object* fields = ec ? nullptr : value.if_object();
  if (fields == nullptr)
    return respond_error(http::status::bad_request, "bad_json", "expected {\"judgement\":\"right\"}");
  const json::value* given = fields->if_contains("judgement");
  const bool is_text = given != nullptr && given->is_string();
  if (is_text) asked.judgement = std::string(given->get_string().data(), given->get_string().size());
  const bool is_known = is_text && (asked.judgement == "right" || asked.judgement == "wrong");
  if (!is_known && (given == nullptr || !given->is_null())) {
    return bad_judgement("judgement: expected right or wrong, or null to withdraw it");
  }
  const json::value* by = fields->if_contains("by");
  if (by == nullptr || by->is_null()) return asked;
  if (!by->is_string() || by->get_string().size() > judgement_request::max_name_bytes) {
    return bad_judgement("by: expected a name of at most 256 bytes");
  }
  asked.judged_by = std::string(by->get_string().data(), by->get_string().size());
  return asked;
}

void judge(shared_state& shared, judgement_request asked, std::function<void(http_response&&)> answer) {
  const auto pending = std::make_shared<pending_judgement>();
  pending->asked = std::move(asked);
  const auto look = [pending](archive::browser& from) { return find(from, *pending); };
  const auto then = [&shared, pending, answer](http_response&& found) {
    if (found.result() != http::status::no_content) return answer(std::move(found));
    store(shared, pending, answer);
  };
  if (!shared.reads->submit(look, then)) answer(busy("too many requests wait for the archive; try again"));
}

}  // namespace digd::daemon
