// /v1/search finds texts that agents said, over runs or in one; /v1/runs/ID/entries/SEQ has the stored frame of one
// entry.
#include <limits>
#include <map>
#include <utility>

#include "archive/search_index.h"
#include "base/json_writer.h"
#include "daemon/api/call.h"
#include "daemon/search/search_indexer.h"

namespace digd::daemon {

namespace {

using boost::beast::http::status;

struct search_request {
  std::string words;
  std::optional<std::string> run;
  page_request page;
  grant_ptr grant;
};

http_response index_unreadable(const archive::failure& failed) {
  return respond_error(status::internal_server_error, "search_unreadable", "search.db cannot be read: " + failed.words);
}

// No error: a page that asks while its reader types would fill the browser's console.
http_response search_off() {
  std::string body;
  json_writer to(body);
  to.open_object().key("on").boolean(false).key("hits").open_array().close_array().key("next").null();
  to.key("message").text("digd indexes no texts; set payloads.search_bytes in digd.toml and restart digd");
  to.close_object();
  return respond_json(body + '\n');
}

// The names of runs by number, looked up once each. Empty: the run was deleted, or the caller may not see it.
class run_names {
 public:
  run_names(archive::browser& from, grant_ptr grant) : from_(from), grant_(std::move(grant)) {}

  const std::string& name_of(std::uint64_t number) {
    const auto [known, is_new] = names_.try_emplace(number);
    if (!is_new) return known->second;
    const auto found = from_.runs(number + 1, 1);
    if (!found || found->empty() || found->front().number != number) return known->second;
    if (!grant_ || grant_->covers(found->front().run)) known->second = found->front().run;
    return known->second;
  }

 private:
  archive::browser& from_;
  const grant_ptr grant_;
  std::map<std::uint64_t, std::string> names_;
};

http_response answer_search(const std::string& index_path, archive::browser& from, const search_request& asked) {
  std::uint64_t number = 0;
  if (asked.run) {
    const auto found = from.find(*asked.run);
    if (!found) return archive_unreadable(found.error().message());
    if (!*found) return no_such_run(*asked.run);
    number = (*found)->number;
  }
  archive::search_index index;
  std::vector<archive::search_hit> hits;
  const std::uint64_t limit = std::min(asked.page.limit, archive::search_index::max_hits);
  archive::failure failed = index.open_to_search(index_path);
  if (!failed) failed = index.search(asked.words, number, static_cast<std::int64_t>(asked.page.cursor), limit, hits);
  if (failed.error() == archive::archive_error::cannot_open) return busy("digd has not made search.db yet; try again");
  if (failed) return index_unreadable(failed);
  run_names names(from, asked.grant);
  std::string body;
  json_writer to(body);
  to.open_object().key("on").boolean(true).key("hits").open_array();
  for (const archive::search_hit& hit : hits) {
    const std::string& run = names.name_of(hit.run_number);
    if (run.empty()) continue;
    to.open_object().key("run").text(run).key("seq").integer(hit.entry).key("event").text(hit.event);
    to.key("excerpt").text(hit.excerpt).close_object();
  }
  to.close_array().key("next");
  hits.size() < limit ? to.null() : to.text(std::to_string(hits.back().id));
  to.close_object();
  return respond_json(body + '\n');
}

http_response answer_entry(archive::browser& from, const std::string& run, std::int64_t seq) {
  const auto found = from.find(run);
  if (!found) return archive_unreadable(found.error().message());
  if (!*found) return no_such_run(run);
  const auto frame = from.frame_of_entry((*found)->number, seq);
  if (!frame) return archive_unreadable(frame.error().message());
  if (!*frame) return respond_error(status::not_found, "no_such_entry", "the run has no message with this seq");
  std::string body;
  json_writer to(body);
  to.open_object().key("seq").integer(seq).key("frame").raw(**frame).close_object();
  return respond_json(body + '\n');
}

}  // namespace

routed get_search(call& in) {
  if (in.services.view != nullptr && in.target.parameter("run") == nullptr) return ask_fleet(in, "search");
  search_request asked{.words = {}, .run = {}, .page = {}, .grant = in.grant};
  if (auto no = take_page(in, asked.page)) return std::move(*no);
  constexpr std::size_t max_words_bytes = 1'000;
  const std::string* words = in.target.parameter("q");
  if (words == nullptr || words->size() > max_words_bytes || archive::match_expression(*words, 0).empty()) {
    return bad_parameter("q", "expected words to find, at most 1000 bytes");
  }
  asked.words = *words;
  if (auto no = take_run_parameter(in, asked.run)) return std::move(*no);
  if (in.services.archive == nullptr) return archive_off();
  const search_indexer& indexer = *in.services.archive->search;
  if (!indexer.is_on()) return search_off();
  return read_archive(in, [asked = std::move(asked), &path = indexer.index_path()](archive::browser& from) {
    return answer_search(path, from, asked);
  });
}

routed get_entry(call& in) {
  const auto seq = whole_number(in.detection);
  if (!seq || *seq > std::numeric_limits<std::int64_t>::max()) {
    return respond_error(status::bad_request, "bad_seq", "expected the seq of a feed frame, a whole number");
  }
  return read_archive(in, [run = in.run, seq = static_cast<std::int64_t>(*seq)](archive::browser& from) {
    return answer_entry(from, run, seq);
  });
}

}  // namespace digd::daemon
