#include "daemon/api/judgement.h"

#include <atomic>
#include <boost/asio/post.hpp>
#include <boost/json/parse.hpp>
#include <memory>
#include <utility>

#include "base/json_writer.h"
#include "base/quote.h"
#include "base/unix_time.h"
#include "daemon/api/http_services.h"

namespace digd::daemon {

namespace {

namespace http = boost::beast::http;
namespace json = boost::json;

http_response bad_judgement(std::string_view message) {
  return respond_error(http::status::bad_request, "bad_judgement", message);
}

http_response no_such_detection(std::string_view run, std::string_view detection) {
  return respond_error(http::status::not_found, "no_such_detection",
                       "the run " + digd::quoted(run) + " has no detection " + digd::quoted(detection) +
                           "; /v1/runs/ID/detections lists them");
}

http_response stored(const judgement_request& pending) {
  std::string out;
  json_writer to(out);
  to.open_object().key("run").text(pending.run).key("detection").text(to_string(pending.detection));
  to.key("judgement").text_or_null(pending.judgement);
  to.key("by").text_or_null(pending.judgement.empty() ? std::string() : pending.judged_by).close_object();
  return respond_json(out + '\n');
}

// A judgement on its way: its detection is looked up in the archive, then the archive's writer stores it.
struct pending_judgement {
  judgement_request request;
  std::uint64_t run_number = 0;
  std::int64_t detection = 0;  // detections.id
};

http_response find(archive::browser& from, pending_judgement& pending) {
  const auto run = from.find(pending.request.run);
  if (!run) return archive_unreadable(run.error().message());
  if (!*run) return no_such_run(pending.request.run);
  pending.run_number = (**run).number;
  const auto found = from.find_detection(pending.run_number, pending.request.detection.entry,
                                         pending.request.detection.place_in_entry);
  if (!found) return archive_unreadable(found.error().message());
  if (!*found) return no_such_detection(pending.request.run, to_string(pending.request.detection));
  pending.detection = **found;
  return respond_nothing();
}

void store(const run_control& runs, const std::shared_ptr<pending_judgement>& pending,
           const std::function<void(http_response&&)>& answer) {
  static std::atomic<std::uint64_t> last_ticket{0};
  const std::uint64_t ticket = ++last_ticket;
  runs.judgements.expect(ticket, [pending, answer] { answer(stored(pending->request)); });
  engine_thread& owner = runs.threads.owner_of(pending->request.run);
  boost::asio::post(owner.context(), [&owner, pending, ticket] {
    auto made = std::make_unique<archive::entry>();
    made->kind = archive::entry_kind::judgement;
    made->run_number = pending->run_number;
    made->arrived_ms = unix_ms();
    made->opinion = std::make_shared<const archive::judgement_row>(
        archive::judgement_row{pending->detection, pending->request.judgement, pending->request.judged_by, ticket});
    owner.records().push(std::move(made));
  });
}

}  // namespace

std::variant<judgement_request, http_response> read_judgement(std::string_view run, std::string_view detection,
                                                              std::string_view body, std::string_view default_by) {
  judgement_request request{
      .run = std::string(run), .detection = {}, .judgement = {}, .judged_by = std::string(default_by)};
  const auto name = stored::detection_name_from(detection);
  if (!name) return no_such_detection(run, detection);
  request.detection = *name;
  json::error_code ec;
  const json::value value = json::parse({body.data(), body.size()}, ec);
  const json::object* fields = ec ? nullptr : value.if_object();
  if (fields == nullptr)
    return respond_error(http::status::bad_request, "bad_json", "expected {\"judgement\":\"right\"}");
  const json::value* given = fields->if_contains("judgement");
  const bool is_text = given != nullptr && given->is_string();
  if (is_text) request.judgement = std::string(given->get_string().data(), given->get_string().size());
  const bool is_known = is_text && (request.judgement == "right" || request.judgement == "wrong");
  if (!is_known && (given == nullptr || !given->is_null())) {
    return bad_judgement("judgement: expected right or wrong, or null to withdraw it");
  }
  const json::value* by = fields->if_contains("by");
  if (by == nullptr || by->is_null()) return request;
  if (!by->is_string() || by->get_string().size() > judgement_request::max_name_bytes) {
    return bad_judgement("by: expected a name of at most 256 bytes");
  }
  if (!by->get_string().empty()) request.judged_by = std::string(by->get_string().data(), by->get_string().size());
  return request;
}

void judge(const client_reads& reads, const run_control& runs, judgement_request request,
           const std::function<void(http_response&&)>& answer) {
  const auto pending = std::make_shared<pending_judgement>();
  pending->request = std::move(request);
  const auto look = [pending](archive::browser& from) { return find(from, *pending); };
  const auto then = [&runs, pending, answer](http_response&& found) {
    if (found.result() != http::status::no_content) return answer(std::move(found));
    store(runs, pending, answer);
  };
  if (!reads.submit(look, then)) answer(archive_busy());
}

}  // namespace digd::daemon
