#include "daemon/otlp/otlp_server.h"

#include <spdlog/spdlog.h>
#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <map>
#include <utility>

#include "base/deep_json.h"
#include "base/quote.h"
#include "daemon/runs/engine_threads.h"
#include "ingest/otlp/essential.h"
#include "ingest/otlp/inflate.h"
#include "ingest/otlp/mapping.h"
#include "ingest/otlp/runs.h"

namespace digd::daemon {

namespace {

namespace http = boost::beast::http;
namespace json = boost::json;
using archive::failure;

// By the steady clock, which nobody sets.
std::int64_t now_ms() { return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::milliseconds(1); }

// Drops the links beyond the limit of a request. Returns how many.
std::size_t drop_links(otlp::batch& batch) {
  std::size_t kept = 0, dropped = 0;
  for (otlp::span& span : batch.spans) {
    dropped += otlp::drop_links(span, otlp_server::max_request_links - kept);
    kept += span.links.size();
  }
  return dropped;
}

std::string line_of(std::string_view type, std::uint64_t seq, json::object members) {
  json::object line{{"type", json::string_view(type.data(), type.size())}, {"seq", seq}};
  for (auto& member : members) line.emplace(member.key(), std::move(member.value()));
  return json::serialize(line);
}

std::string hello_of(const std::string& run, json::object labels) {
  return json::serialize(json::object{{"type", "hello"},
                                      {"protocol", 1},
                                      {"run", run},
                                      {"session", "otlp"},
                                      {"mode", "observe"},
                                      {"clock", "trace"},
                                      {"capabilities", {{"inject", false}, {"reroute", false}, {"create", false}}},
                                      {"client", {{"name", "otlp"}, {"version", "1"}}},
                                      {"rules", otlp::rules_for_spans()},
                                      {"labels", std::move(labels)}});
}

}  // namespace

otlp_server::otlp_server(const engine_threads& threads, const live_settings& live, const otlp_settings& settings,
                         std::string spool_path)
    : threads_(threads),
      live_(live),
      settings_(settings),
      spool_path_(std::move(spool_path)),
      work_(context_.get_executor()),
      timer_(context_.get_executor()),
      table_(settings_) {}

std::string otlp_server::start() {
  if (const failure failed = spool_.open(spool_path_))
    return "cannot open " + digd::quoted(spool_path_) + ": " + failed.words;
  if (std::string wrong = recover(); !wrong.empty()) return wrong;
  stopped_ = false;
  publish();
  wait_for_next();
  thread_ = std::thread([this] { context_.run(); });
  return {};
}

void otlp_server::stop() {
  if (stopped_.exchange(true)) return;
  context_.stop();
  thread_.join();
  spool_.close();
}

// ---- requests

bool otlp_server::submit(traces_request&& request, std::function<void(http_response&&)> answer) {
  if (stopped_.load()) return false;
  if (waiting_.fetch_add(1) >= max_waiting) {
    waiting_.fetch_sub(1);
    count_refused(true);
    return false;
  }
  boost::asio::post(context_, [this, request = std::move(request), answer = std::move(answer)]() mutable {
    http_response response = handle(std::move(request));
    waiting_.fetch_sub(1);
    if (response.result_int() >= 400) counts_.refused.fetch_add(1);
    publish();
    answer(std::move(response));
    wait_for_next();
  });
  return true;
}

void otlp_server::count_refused(bool is_busy) {
  counts_.requests.fetch_add(1);
  counts_.refused.fetch_add(1);
  if (is_busy) counts_.busy.fetch_add(1);
}

http_response otlp_server::handle(traces_request&& request) {
  counts_.requests.fetch_add(1);
  if (request.packed) {
    auto unpacked = otlp::inflate(request.body, settings_.unpacked_bytes);
    if (!unpacked) {
      otlp::decode_failure failure = std::move(unpacked.error());
      if (failure.too_large) failure.message += " (otlp.unpacked_bytes)";
      return refuse(request, failure);
    }
    request.body = std::move(*unpacked);
  }
  otlp::decode_outcome decoded = otlp::decode(request.encoding, request.body);
  if (!decoded) return refuse(request, decoded.error());
  return accept(std::move(request), std::move(*decoded));
}

http_response otlp_server::refuse(const traces_request& request, const otlp::decode_failure& failure) {
  if (!failure.too_large) return refuse_traces(request.encoding, http::status::bad_request, failure.message);
  counts_.busy.fetch_add(1);
  return refuse_traces(request.encoding, http::status::payload_too_large, failure.message);
}

// Writes accepted spans to disk before it answers.
http_response otlp_server::accept(traces_request&& request, otlp::batch&& batch) {
  const std::size_t foreign = drop_foreign(request, batch);
  const bool keep_texts = live_.payloads()->changes_nothing();
  for (otlp::span& span : batch.spans) otlp::keep_essential(span, keep_texts);
  std::size_t dropped_links = batch.dropped_links + drop_links(batch);
  otlp_spool::stored_batch stored{.body = otlp::encode_spans(batch.spans)};
  request.body.clear();
  if (stored.body.size() > settings_.held_bytes) {  // not 503: a retry would be refused too
    return refuse(request, {"digd would have to keep " + std::to_string(stored.body.size()) +
                                " bytes of this request, but may keep at most " + std::to_string(settings_.held_bytes) +
                                " bytes of all requests (otlp.held_bytes)",
                            true});
  }
  if (!batch.spans.empty() && !table_.has_room(stored.body.size())) {
    counts_.busy.fetch_add(1);
    if (gathered_run* oldest = table_.oldest()) {
      counts_.ended_early.fetch_add(1);
      if (send(*oldest, otlp::span_set::complete)) end(*oldest);
    }
    return refuse_traces(request.encoding, http::status::service_unavailable,
                         "too many spans wait for the rest of their runs (otlp.spans, otlp.held_bytes); retry later");
  }
  gathering::taken taken;
  if (!batch.spans.empty()) {
    if (const failure failed = spool_.add(stored)) {
      spdlog::error("otlp_storage_error reason={}", digd::quoted(failed.words));
      return refuse_traces(request.encoding, http::status::service_unavailable,
                           "the spans cannot be written to disk: " + failed.words);
    }
    taken = table_.add(std::move(batch.spans), stored.id, stored.body.size(), now_ms());
    if (!taken.needed) static_cast<void>(spool_.forget_batches({stored.id}));
  }
  counts_.spans.fetch_add(taken.accepted);
  counts_.duplicate.fetch_add(taken.duplicate);
  counts_.late.fetch_add(taken.late);
  counts_.over.fetch_add(taken.over);
  counts_.invalid.fetch_add(batch.rejected);
  dropped_links += taken.dropped_links;
  counts_.dropped_links.fetch_add(dropped_links);
  return respond_traces(request.encoding, {.invalid = batch.rejected,
                                           .late = taken.late,
                                           .over = taken.over,
                                           .foreign = foreign,
                                           .dropped_links = dropped_links,
                                           .invalid_reason = batch.problem});
}

// Drops the spans of runs that the token does not cover. The remaining spans count towards the token's rate.
std::size_t otlp_server::drop_foreign(const traces_request& request, otlp::batch& batch) const {
  if (!request.grant) return 0;
  const std::size_t dropped = std::erase_if(batch.spans, [&](const otlp::span& s) {
    const auto foreign = [&](std::string_view trace) { return !request.grant->covers(otlp::run_id_of(trace)); };
    return foreign(s.trace) || std::ranges::any_of(otlp::traces_tied_by(s), foreign);
  });
  const auto now = std::chrono::steady_clock::now();
  for (std::size_t i = 1; i < batch.spans.size(); ++i)
    static_cast<void>(request.grant->take(now, 0));  // the connection has counted the first one
  return dropped;
}

// ---- due runs

void otlp_server::wait_for_next() {
  const auto next = table_.next_due();
  if (!next) return static_cast<void>(timer_.cancel());
  timer_.expires_after(std::chrono::milliseconds(std::max<std::int64_t>(0, *next - now_ms())));
  timer_.async_wait([this](boost::system::error_code ec) {
    if (!ec) serve_due_run();
  });
}

// Serves one run at a time, so that waiting requests get their turn in between.
void otlp_server::serve_due_run() {
  const std::int64_t now = now_ms();
  if (gathered_run* run = table_.due(now)) serve(*run, now);
  publish();
  wait_for_next();
}

void otlp_server::serve(gathered_run& run, std::int64_t now) {
  if (now >= run.last_ms + settings_.late_ms) {
    if (run.complete || send(run, otlp::span_set::complete)) end(run);
    return;
  }
  const bool waited = now >= run.first_ms + settings_.wait_ms;
  const bool quiet = now >= run.last_ms + (run.traces.size() > 1 ? settings_.wait_ms : settings_.settle_ms);
  run.is_examined = true;
  if (waited || quiet) {
    const std::string id = run.id;
    const bool is_whole = otlp::map_spans(run.spans, otlp::span_set::partial).whole;
    if (is_whole || waited) {
      send(run, is_whole && quiet ? otlp::span_set::complete : otlp::span_set::partial);
      if (gathered_run* remaining = table_.find(id)) table_.changed(*remaining);
      return;
    }
  }
  table_.changed(run);
}

// Returns false if nothing was sent: otlp.db failed and the server tries again later, or there were no messages.
bool otlp_server::send(gathered_run& run, otlp::span_set known) {
  const bool is_over = known == otlp::span_set::complete;
  otlp::mapped_run mapped = otlp::map_spans(run.spans, known);
  if (mapped.messages.empty() && run.seq == 0) {
    if (is_over) {
      counts_.no_agents.fetch_add(1);
      forget(run, false);
    } else {
      run.first_ms = now_ms();
    }
    return false;
  }
  otlp::sent_messages sent = run.sent;
  run.outcome = mapped.outcome;
  std::vector<std::string> lines;
  if (!run.sent.any()) lines.push_back(hello_of(run.id, mapped.labels));
  for (otlp::run_message& message : sent.take_unsent(std::move(mapped))) {
    message.members["ts"] = message.ts_ms;
    lines.push_back(
        line_of(message.type, run.seq + lines.size() + (run.sent.any() ? 1 : 0), std::move(message.members)));
  }
  counts_.moved.fetch_add(sent.moved() - run.sent.moved());
  if (!write(run, std::move(lines))) return false;
  run.sent = std::move(sent);
  run.unsent = false;
  run.complete = is_over;
  counts_.reported.fetch_add(1);
  return true;
}

void otlp_server::end(gathered_run& run) {
  if (run.ending) return;
  json::object members;
  if (!run.outcome.empty()) members["outcome"] = run.outcome;
  std::vector<std::string> lines{line_of("run_ended", run.seq + 1, std::move(members))};
  if (!write(run, std::move(lines))) return;
  run.ending = true;
  table_.changed(run);
  senders_.at(run.id).end_seq = run.seq;
}

// Writes the messages to disk, then sends them to the run.
bool otlp_server::write(gathered_run& run, std::vector<std::string>&& lines) {
  const bool first = !run.sent.any() && run.seq == 0;
  if (const failure failed = spool_.add_lines(run.id, run.traces, first ? 0 : run.seq + 1, lines)) {
    spdlog::error("otlp_storage_error run={} reason={}", digd::quoted(run.id), digd::quoted(failed.words));
    run.first_ms = run.last_ms = now_ms();  // the server tries again when the run is due again
    table_.changed(run);
    return false;
  }
  run.seq += lines.size() - (first ? 1 : 0);
  if (first) {
    resume(run.id, std::move(lines));
  } else {
    senders_.at(run.id).replayer->send(std::move(lines));
  }
  return true;
}

// `lines`: the hello, then the messages so far.
void otlp_server::resume(const std::string& run, std::vector<std::string>&& lines) {
  std::string hello = std::move(lines.front());
  lines.erase(lines.begin());
  const auto replayer = std::make_shared<span_replayer>(
      threads_.owner_of(run),
      span_replayer::listener{.durable =
                                  [this, run](std::uint64_t seq) {
                                    boost::asio::post(context_, [this, run, seq] { on_durable(run, seq); });
                                  },
                              .gone =
                                  [this, run](std::string problem) {
                                    boost::asio::post(
                                        context_, [this, run, problem = std::move(problem)] { on_gone(run, problem); });
                                  }});
  senders_[run].replayer = replayer;
  replayer->open(std::move(hello), std::move(lines));
}

void otlp_server::on_durable(const std::string& run, std::uint64_t seq) {
  const auto sender = senders_.find(run);
  if (sender == senders_.end() || sender->second.end_seq == 0 || seq < sender->second.end_seq) return;
  gathered_run* held = table_.find(run);
  if (held == nullptr) return;
  counts_.ended.fetch_add(1);
  forget(*held, true);
  publish();
  wait_for_next();
}

void otlp_server::on_gone(const std::string& run, const std::string& problem) {
  gathered_run* held = table_.find(run);
  if (held == nullptr) return;
  spdlog::warn("otlp_given_up run={} reason={}", digd::quoted(run), digd::quoted(problem));
  counts_.given_up.fetch_add(1);
  forget(*held, true);
  publish();
  wait_for_next();
}

void otlp_server::forget(gathered_run& run, bool remember) {
  const std::string id = run.id;
  if (const auto sender = senders_.find(id); sender != senders_.end()) {
    sender->second.replayer->close();
    senders_.erase(sender);
  }
  failure failed = spool_.forget_batches(table_.remove(run, remember));
  if (!failed) failed = spool_.forget_run(id);
  if (failed)
    spdlog::error("otlp_storage_error run={} reason={}", digd::quoted(id),
                  digd::quoted(failed.words));  // the rows go at the next restart
}

// ---- after a restart

std::string otlp_server::recover() {
  const std::int64_t now = now_ms();
  failure failed =
      spool_.each_trace([&](const std::string& run, const std::string& trace) { table_.adopt(run, trace, now); });
  std::map<std::string, std::vector<std::string>> lines_by_run;
  if (!failed)
    failed = spool_.each_line([&](otlp_spool::stored_line&& stored_line) {
      lines_by_run[stored_line.run].push_back(std::move(stored_line.line));
    });
  for (auto& [id, lines] : lines_by_run) {
    gathered_run* run = table_.find(id);
    if (run == nullptr) continue;
    for (std::size_t i = 1; i < lines.size(); ++i) {
      json::error_code ec;
      const json::value line = parse_json(lines[i], ec);
      if (ec || !line.is_object()) continue;
      run->sent.note(line.get_object());
      run->ending = line.get_object().at("type") == "run_ended";
    }
    run->seq = lines.size() - 1;
    run->unsent = false;
    table_.changed(*run);
  }
  std::vector<std::int64_t> unused;
  if (!failed) {
    failed = spool_.each_batch([&](otlp_spool::stored_batch&& stored_batch) {
      auto decoded = otlp::decode_json(stored_batch.body);
      if (!decoded) {
        spdlog::error("otlp_spans_lost batch={} reason={}", stored_batch.id, digd::quoted(decoded.error().message));
      }
      const bool needed =
          decoded && table_.restore(std::move(decoded->spans), stored_batch.id, stored_batch.body.size(), now).needed;
      if (!needed) unused.push_back(stored_batch.id);
    });
  }
  if (!failed) failed = spool_.forget_batches(unused);
  if (failed) return "cannot read " + digd::quoted(spool_path_) + ": " + failed.words;
  for (auto& [id, lines] : lines_by_run) {
    const gathered_run* run = table_.find(id);
    if (run == nullptr) continue;
    resume(id, std::move(lines));
    if (run->ending) senders_[id].end_seq = run->seq;
  }
  return {};
}

void otlp_server::publish() {
  counts_.held_runs = table_.runs();
  counts_.held_spans = table_.spans();
  counts_.held_bytes = table_.bytes();
  counts_.unmergeable = table_.unmergeable();
}

}  // namespace digd::daemon
