#include "daemon/process/server.h"

#include <spdlog/spdlog.h>
#include <algorithm>
#include <boost/asio/ip/host_name.hpp>
#include <boost/asio/post.hpp>
#include <cctype>
#include <future>
#include <map>
#include <stdexcept>
#include <thread>
#include <utility>

#include "archive/files.h"
#include "base/unix_time.h"
#include "daemon/attribution/attribution_worker.h"
#include "daemon/feed/feed_server.h"
#include "daemon/hooks/hook_server.h"
#include "daemon/http/http_connection.h"
#include "daemon/otlp/otlp_server.h"
#include "daemon/process/failures.h"
#include "daemon/process/open_archive.h"
#include "daemon/runs/recovery.h"
#include "daemon/search/search_indexer.h"
#include "daemon/settings/otlp_export_options.h"
#include "daemon/webhook/webhook_server.h"

namespace digd::daemon {

namespace {

namespace asio = boost::asio;

// Up to its first dot; a name that the stream allows.
std::string machine_name() {
  boost::system::error_code ec;
  std::string name = asio::ip::host_name(ec);
  name.resize(std::min(name.size(), name.find('.')));
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-') c = '_';
  }
  return name.empty() ? "host" : name;
}

// The fleet as configured, with the name of this machine where the configuration has none.
fleet_settings fleet_of(const config& c) {
  fleet_settings fleet = c.fleet;
  if (fleet.host.empty()) fleet.host = machine_name();
  return fleet;
}

constexpr std::uint64_t max_operator_connections = 64;
constexpr std::uint64_t max_view_search_bytes = std::uint64_t{256} << 20;  // of a viewer's index of the opened runs

std::string folder_of(const std::string& file) { return file.substr(0, file.rfind('/') + 1); }

}  // namespace

server::server(config c)
    : settings_(std::move(c)),
      live_(settings_),
      started_s_(unix_ms() / 1000),
      run_services_{.conditions = {.settings = live_,
                                   .overload = overload_state_,
                                   .operator_mode = operator_mode_,
                                   .default_clock = settings_.policy.defaults.clock},
                    .storage = {.archive = archive_, .acks = acks_, .rebuilder = rebuilder_, .finder = finder_},
                    .counts = runs_,
                    .homes = homes_},
      rebuilder_(thread_count(settings_) + 1),
      finder_(1),
      eraser_(deletions_, [this](std::uint64_t run_number) {
        feed_->forget(run_number);
        webhooks_->forget(run_number);
        publisher_->forget(run_number);
        attribution_->forget(run_number);
        search_->forget(run_number);
      }) {}

server::~server() {
  for (const auto& thread : threads_) thread->abandon();  // they still run if `start` failed halfway
  operator_listener_.reset();
  listener_.reset();
  runs_.recovery.stopping = true;
  if (overload_) overload_->stop();
  if (spans_) spans_->stop();
  if (retention_) retention_->stop();
  stop_users_of_archive();
  for (asio::thread_pool* pool : {&rebuilder_, &finder_}) {
    pool->stop();
    pool->join();
  }
  archive_.reset();
  deletions_.abandon();
  judgements_.abandon();
  threads_.run_down();
}

// ---- start

void server::open_archive(const std::string& data_dir) {
  const std::string path = archive_file(data_dir);
  feed_ = std::make_unique<feed_server>(path);  // both are woken by the archive's writer thread
  webhooks_ = std::make_unique<webhook_server>(path, data_dir + "/webhooks.db", data_dir + "/hold_links.key");
  attribution_ = std::make_unique<attribution_worker>(path, digctl_beside_digd());
  search_ = std::make_unique<search_indexer>(path, data_dir + "/search.db", settings_.payloads.search_bytes);
  publisher_ = std::make_unique<publisher>(fleet_of(settings_), path, data_dir + "/fleet.db");
  publisher_->count_runs([this] { return runs_.open.load(); });
  opened_archive opened = daemon::open_archive(
      data_dir, settings_.credits, [this](std::span<const archive::durable> progress) { on_durable(progress); });
  runs_lost_to_damage_ = opened.runs_lost_to_damage;
  archive_ = std::move(opened.archive);
  if (settings_.fleet.has_homes()) open_homes(data_dir);
}

void server::open_view(const std::string& data_dir) {
  view_ = std::make_unique<fleet_view>(settings_.fleet, data_dir);
  if (const std::string problem = view_->prepare(); !problem.empty()) throw cannot_use(problem);
  const std::string& path = view_->archive_path();
  const std::string index = data_dir + "/fleet-view-search.db";
  archive::remove_archive_file(index);
  feed_ = std::make_unique<feed_server>(path);
  attribution_ = std::make_unique<attribution_worker>(path, digctl_beside_digd());
  search_ = std::make_unique<search_indexer>(path, index, max_view_search_bytes);
}

void server::open_homes(const std::string& data_dir) {
  homes_ = std::make_unique<home_keeper>(fleet_of(settings_));
  std::string problem = publisher_->prepare();
  if (problem.empty()) {
    problem = homes_->open(data_dir + "/homes.db", publisher_->archive_name(), *archive_, publisher_->published());
  }
  if (!problem.empty()) throw cannot_use(problem);
  publisher_->serve_homes(homes_->store(), [this](auto entries) { on_published(entries); });
}

void server::start_homes() {
  homes_->start([this] {
    for (const auto& thread : threads_) asio::post(thread->context(), [&t = *thread] { t.runs().check_homes(); });
  });
}

// On the publisher's thread. Only then are messages acknowledged, unless runs are pinned to this daemon.
void server::on_published(std::span<const archive::streamed_entry> entries) {
  homes_->note_published(entries.back().id);
  if (!homes_->acks_from_stream()) return;
  std::map<std::pair<std::int64_t, std::string_view>, const archive::streamed_entry*> latest;
  for (const archive::streamed_entry& entry : entries) {
    if (entry.seq > 0) latest[{entry.run_number, entry.session}] = &entry;
  }
  std::map<engine_thread*, std::vector<archive::durable>> by_thread;
  for (const auto& [session, entry] : latest) {
    by_thread[&threads_.owner_of(entry->run)].push_back(
        {static_cast<std::uint64_t>(entry->run_number), entry->session, entry->seq});
  }
  for (auto& [thread, runs] : by_thread) {
    asio::post(thread->context(), [thread, runs = std::move(runs)] { thread->streamed(runs); });
  }
}

// On the archive's writer thread, after each commit. Engine threads get one handler each.
void server::on_durable(std::span<const archive::durable> progress) {
  acks_.update();
  feed_->wake();
  webhooks_->wake();
  publisher_->wake();
  search_->wake();
  std::map<std::size_t, std::vector<archive::durable>> by_thread;
  for (const archive::durable& run : progress) {
    if (run.deleted) {
      deletions_.complete(run.run_number);
    } else if (run.barrier != 0) {
      homes_->on_barrier(run.barrier);
    } else if (run.judgement != 0) {
      judgements_.complete(run.judgement);
    } else if (homes_ && homes_->acks_from_stream()) {
      continue;  // on_published
    } else if (const auto thread = acks_.thread_of(run.run_number)) {
      by_thread[*thread].push_back(run);
    }
  }
  for (auto& [thread, runs] : by_thread) {
    engine_thread& owner = threads_[thread];
    asio::post(owner.context(), [&owner, runs = std::move(runs)] { owner.durable(runs); });
  }
}

void server::make_threads() { threads_.make(thread_count(settings_), run_services_); }

void server::recover() {
  if (archive_) plan_recovery(*archive_, threads_);
}

server::listener_ptr server::make_listener(connection_counts& counts, memory_budget* budget,
                                           listener::get_limits get_limits) {
  const auto on_connection = [this](engine_thread& home, net::stream_socket socket, peer_ptr from,
                                    connection_ticket ticket) {
    const http_home at{.context = home.context(),
                       .connections = home.connections(),
                       .counts = home.counts().http,
                       .handler = *routers_[home.index()]};
    std::make_shared<http_connection>(at, std::move(socket), std::move(from), std::move(ticket))->start();
  };
  return std::make_unique<listener>(settings_, threads_, authorizer_, counts, budget, std::move(get_limits),
                                    on_connection);
}

void server::make_listeners() {
  listener_ = make_listener(connections_, &memory_budget_, [this] {
    const auto settings = live_.now();
    return listener::limits{settings->connections.max, settings->connections.max_per_peer};
  });
  listen_address where;
  std::string problem;
  if (settings_.operator_listen.empty()) return;
  if (!parse_address(settings_.operator_listen, where, problem)) throw cannot_use("operator_listen: " + problem);
  operator_listener_ = make_listener(operator_connections_, nullptr, [] {
    return listener::limits{max_operator_connections, max_operator_connections};
  });
  operator_listener_->listen(where);
}

void server::trust_bound_addresses() {
  trusted_ = trusted_names(bound(), settings_.hosts, settings_.origins);
  if (operator_listener_) trusted_.add(operator_listener_->bound());
}

void server::listen(const listen_address& where) {
  make_listeners();
  listener_->listen(where);
  trust_bound_addresses();
}

void server::adopt(int socket) {
  make_listeners();
  listener_->adopt(socket);
  trust_bound_addresses();
}

void server::start_archive_readers() {
  const std::string& path = archive_->settings().path;
  reads_ = std::make_unique<read_pool>(path);
  archive_access_.reset(
      new archive_access{.path = path, .pool = *reads_, .attribution = attribution_.get(), .search = search_.get()});
  feed_->start();
  search_->start();
  if (const std::string problem = webhooks_->start(receivers_of(settings_)); !problem.empty()) {
    throw std::runtime_error(problem);
  }
  if (const std::string problem = publisher_->start(); !problem.empty()) throw cannot_use(problem);
  if (homes_) start_homes();
  retention_ = std::make_unique<retention>(live_, path, threads_, eraser_);
}

void server::start_view() {
  const std::string& path = view_->archive_path();
  reads_ = std::make_unique<read_pool>(path);
  archive_access_.reset(
      new archive_access{.path = path, .pool = *reads_, .attribution = attribution_.get(), .search = search_.get()});
  feed_->start();
  search_->start();
  view_->start({.changed =
                    [this] {
                      feed_->wake();
                      search_->wake();
                    },
                .removed =
                    [this](std::uint64_t run_number) {
                      feed_->forget(run_number);
                      attribution_->forget(run_number);
                      search_->forget(run_number);
                    }});
}

void server::make_http_services() {
  http_services_.reset(new http_services{
      .admission = {.trusted = trusted_, .authorizer = authorizer_, .connections = connections_, .audit = *audit_},
      .archive = archive_access_.get(),
      .feed = feed_.get(),
      .view = view_.get(),
      .webhooks = webhooks_.get(),
      .runs = {.threads = threads_, .operator_mode = operator_mode_, .eraser = eraser_, .judgements = judgements_},
      .spans = {.server = spans_.get(), .max_body_bytes = settings_.otlp.body_bytes},
      .hooks = {.server = hooks_.get()},
      .metrics = {.readiness = {.phase = phase_,
                                .archive = archive_,
                                .threads = threads_,
                                .overload = overload_state_,
                                .runs = runs_,
                                .publisher = publisher_.get(),
                                .homes = homes_.get(),
                                .view = view_.get()},
                  .started_s = started_s_,
                  .runs_lost_to_damage = runs_lost_to_damage_,
                  .connections = connections_,
                  .operator_connections = operator_connections_,
                  .memory = memory_budget_,
                  .audit = *audit_,
                  .runs = runs_,
                  .operator_mode = operator_mode_,
                  .feed = feed_.get(),
                  .webhooks = webhooks_.get(),
                  .reads = reads_.get(),
                  .retention = retention_.get(),
                  .spans = spans_.get(),
                  .hooks = hooks_.get()}});
  for (const auto& thread : threads_) routers_.push_back(std::make_unique<router>(*thread, *http_services_));
}

void server::start() {
  if (archive_) start_archive_readers();
  if (view_) start_view();
  const std::string archive_path = archive_ ? archive_->settings().path : std::string();
  spans_ = std::make_unique<otlp_server>(threads_, live_, settings_.otlp,
                                         archive_ ? folder_of(archive_path) + "otlp.db" : std::string());
  if (const std::string problem = spans_->start(); !problem.empty()) throw std::runtime_error(problem);
  hooks_ = std::make_unique<hook_server>(threads_, live_, live_.now()->transcript_roots);
  audit_ = std::make_unique<audit_log>(folder_of(archive_path));
  make_http_services();
  overload_ = std::make_unique<overload>(live_, archive_path, threads_, authorizer_, overload_state_, memory_budget_);
  phase_ = phase::serving;
  overload_->check();
  for (const auto& thread : threads_) thread->start();
  begin_recovery(threads_);
  if (retention_) retention_->start();
  stall_.since = std::chrono::steady_clock::now();
  overload_->start([this] { log_stalled_archive(); });
  listener_->start();
  if (operator_listener_) operator_listener_->start();
}

// A disk that hangs holds the archive's writer, which then cannot report it.
void server::log_stalled_archive() {
  if (!archive_) return;
  const std::uint64_t commits = archive_->counted().commits.load();
  const std::size_t waiting = archive_->queued();
  const auto now = std::chrono::steady_clock::now();
  if (commits != stall_.commits || waiting == 0) {
    if (stall_.is_logged) spdlog::info("archive_moves_again");
    stall_ = {.commits = commits, .since = now};
  } else if (!stall_.is_logged && now - stall_.since >= std::chrono::milliseconds(archive_->settings().max_disk_ms)) {
    stall_.is_logged = true;
    spdlog::error("archive_stalled entries={} for_ms={}: nothing becomes durable, and digd acknowledges nothing",
                  waiting, std::chrono::duration_cast<std::chrono::milliseconds>(now - stall_.since).count());
  }
}

// ---- reload

void server::change_settings(const config& c) {
  live_.change(c);
  if (retention_) retention_->check_soon();
  overload_->check_soon();
}

std::string server::change_webhooks(const config& c) {
  return webhooks_ ? webhooks_->change(receivers_of(c)) : std::string();
}

std::string server::change_access(const config& c) {
  std::string problem = listener_->change_access(c);
  return problem.empty() && operator_listener_ ? operator_listener_->change_access(c) : problem;
}

// ---- state

std::vector<asio::io_context*> server::loops() const {
  std::vector<asio::io_context*> loops;
  for (const auto& thread : threads_) loops.push_back(&thread->context());
  return loops;
}

std::string server::status() const {
  const recovery_progress& recovery = runs_.recovery;
  const std::string recovering = recovery.is_over() ? "" : "recovering " + words_of(recovery) + ", ";
  return "listening on " + to_string(bound()) + ", " + recovering + std::to_string(runs_.open.load()) + " open runs, " +
         std::to_string(connections_.open.load()) + " connections";
}

// ---- stop

void server::stop_listening() {
  listener_->stop();
  if (operator_listener_) operator_listener_->stop();
}

bool server::wait_for_connections(std::chrono::milliseconds max_wait) const {
  const auto deadline = std::chrono::steady_clock::now() + max_wait;
  while (connections_.open.load() + operator_connections_.open.load() > 0) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

bool server::close_connections(std::chrono::milliseconds max_wait) {
  phase_ = phase::stopping;
  for (const auto& thread : threads_) asio::post(thread->context(), [&t = *thread] { t.connections().shut_down(); });
  listener_->give_up_handshakes();
  if (operator_listener_) operator_listener_->give_up_handshakes();
  if (spans_) spans_->stop();
  if (feed_) feed_->stop();
  if (webhooks_) webhooks_->stop();
  const bool all_closed = wait_for_connections(max_wait);
  if (!all_closed) {
    for (const auto& thread : threads_) asio::post(thread->context(), [&t = *thread] { t.connections().abort(); });
    static_cast<void>(wait_for_connections(std::chrono::seconds(1)));
  }
  listener_->stop_tls();
  if (operator_listener_) operator_listener_->stop_tls();
  return all_closed;
}

void server::stop_threads(std::chrono::milliseconds max_wait) {
  overload_->stop();
  if (hooks_) hooks_->stop();
  if (retention_) retention_->stop();
  if (reads_) reads_->stop();
  runs_.recovery.stopping = true;
  for (asio::thread_pool* pool : {&rebuilder_, &finder_}) {
    pool->stop();
    pool->join();
  }
  std::vector<std::future<std::size_t>> backlogs;
  for (const auto& thread : threads_) {
    asio::post(thread->context(), [&t = *thread] { t.finish(); });
    backlogs.push_back(std::async(std::launch::async, [&t = *thread] {
      t.join_thread();
      return t.records().backlog();
    }));
  }
  const auto deadline = std::chrono::steady_clock::now() + max_wait;
  for (std::size_t i = 0; i < backlogs.size(); ++i) {
    if (backlogs[i].wait_until(deadline) != std::future_status::ready) {
      asio::post(threads_[i].context(), [&t = threads_[i]] {
        t.give_up_backlog();
        t.context().stop();
      });
    }
    if (const std::size_t left = backlogs[i].get(); left > 0) {
      spdlog::error("not_archived thread={} entries={}: digd did not acknowledge them", i, left);
    }
  }
}

void server::release_homes(std::chrono::milliseconds max_wait) {
  if (!homes_) return;
  homes_->begin_drain();
  const auto deadline = std::chrono::steady_clock::now() + max_wait;
  // Waits for two rounds without an entry once everything is durable, because the first may have begun before that.
  bool is_durable = false;
  std::uint64_t looked = 0;
  const auto is_published = [&] {
    if (is_durable) return publisher_->empty_rounds() > looked + 1;
    is_durable = archive_->queued() == 0;
    looked = publisher_->empty_rounds();
    return false;
  };
  while (!is_published() && std::chrono::steady_clock::now() < deadline) {
    publisher_->wake();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  if (!is_published()) {  // the lease then lapses; a restart before that continues it
    return spdlog::warn("fleet_not_flushed: the stream lacks messages of this daemon's runs, so it keeps their homes");
  }
  static_cast<void>(homes_->drain(std::max(max_wait / 4, std::chrono::milliseconds(500))));
}

void server::stop_users_of_archive() {
  if (view_) view_->stop();
  if (reads_) reads_->stop();
  if (attribution_) attribution_->stop();
  if (search_) search_->stop();
  if (feed_) feed_->stop();
  if (webhooks_) webhooks_->stop();
  if (publisher_) publisher_->stop();
  if (homes_) homes_->stop();
}

void server::close_archive() {
  stop_users_of_archive();
  if (!archive_) return;
  archive_->stop();
  if (const std::string problem = archive_->health(); !problem.empty()) spdlog::error("archive_failing {}", problem);
}

}  // namespace digd::daemon
