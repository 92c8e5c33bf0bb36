#include "daemon/server.h"

#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/post.hpp>
#include <future>
#include <map>
#include <stdexcept>
#include <thread>
#include <utility>

#include "daemon/api/read_pool.h"
#include "daemon/feed/feed_server.h"
#include "daemon/http_connection.h"
#include "daemon/log.h"
#include "daemon/recovery.h"
#include "daemon/run_host.h"
#include "engine/quote.h"

namespace digd::daemon {

namespace {

namespace net = boost::asio;
using boost::system::error_code;
using unix_protocol = net::local::stream_protocol;

constexpr std::chrono::milliseconds pause_after_failure{100};

[[noreturn]] void cannot_listen(const listen_address& where, const error_code& ec) {
  const std::string name = quoted(to_string(where));
  if (ec == net::error::address_in_use) {
    throw std::runtime_error("cannot listen on " + name + ": it is in use; does another digd run?");
  }
  throw std::runtime_error("cannot listen on " + name + ": " + ec.message());
}

// What a killed daemon left is removed; what somebody answers at is not.
void remove_stale(const std::string& path) {
  struct stat what{};
  if (::lstat(path.c_str(), &what) != 0 || !S_ISSOCK(what.st_mode)) return;
  net::io_context none;
  unix_protocol::socket probe(none);
  error_code ec;
  probe.connect(unix_protocol::endpoint(path), ec);
  if (ec == net::error::connection_refused) ::unlink(path.c_str());
}

}  // namespace

shared_state::shared_state(config c) : settings(std::move(c)), live(settings), started_s(unix_ms() / 1000) {}

shared_state::~shared_state() {
  if (reads) reads->stop();
  if (feed) feed->stop();
  rebuilder.stop();
  rebuilder.join();
  store.reset();
  deletions.give_up();
  // What one loop still holds may belong to another: run it all down before any loop goes.
  for (bool any = true; any;) {
    any = false;
    for (auto& thread : threads) {
      thread->context().restart();
      any = thread->context().poll() > 0 || any;
    }
  }
}

// ---- start

void server::open_archive(const std::string& data_dir) {
  archive::options how;
  how.path = data_dir + "/digd.sqlite";
  how.producers = config::most_threads;
  how.on_health = [](const std::string& words) {
    if (words.empty()) {
      spdlog::info("archive_well");
    } else {
      spdlog::error("archive_trouble {}", words);
    }
  };
  const auto tell = [this](std::span<const archive::durable> all) {
    shared_.acks.hear();
    if (shared_.feed) shared_.feed->wake();
    std::map<std::size_t, std::vector<archive::durable>> by_thread;
    for (const archive::durable& one : all) {
      if (one.deleted) {
        shared_.deletions.happened(one.run_number);
        continue;
      }
      if (const auto thread = shared_.acks.thread_of(one.run_number)) by_thread[*thread].push_back(one);
    }
    for (auto& [thread, what] : by_thread) {
      engine_thread* owner = shared_.threads[thread].get();
      net::post(owner->context(), [owner, what = std::move(what)] { owner->durable(what); });
    }
  };
  std::string why;
  auto opened = archive::archive::open(std::move(how), tell, &why);
  if (!opened) throw std::runtime_error("cannot open the archive in " + quoted(data_dir) + ": " + why);
  shared_.store = std::move(*opened);
}

void server::make_threads() {
  const std::size_t n = thread_count(shared_.settings);
  for (std::size_t i = 0; i < n; ++i) shared_.threads.push_back(std::make_unique<engine_thread>(i, shared_));
  pause_ = std::make_unique<ingest::steady_timer>(shared_.threads.front()->context().get_executor());
}

void server::recover() {
  if (shared_.store) recover_all(shared_);
}

void server::listen(const listen_address& where) {
  bound_ = where;
  if (const auto* tcp = std::get_if<tcp_address>(&where)) {
    listen_tcp(*tcp);
  } else {
    listen_unix(std::get<unix_address>(where));
  }
  shared_.trusted = trusted_names(bound_, shared_.settings.hosts, shared_.settings.origins);
}

void server::adopt(int socket) {
  bound_ = name_of(socket);
  if (!is_local(bound_)) {
    throw std::runtime_error("the socket that was handed over, " + quoted(to_string(bound_)) +
                             ", can be reached from other machines, and no tokens are configured");
  }
  const auto executor = shared_.threads.front()->context().get_executor();
  error_code ec;
  if (const auto* tcp = std::get_if<tcp_address>(&bound_)) {
    tcp_ = std::make_unique<acceptor<net::ip::tcp>>(executor);
    tcp_->assign(tcp->ip.is_v6() ? net::ip::tcp::v6() : net::ip::tcp::v4(), socket, ec);
  } else {
    unix_ = std::make_unique<acceptor<unix_protocol>>(executor);
    unix_->assign(unix_protocol(), socket, ec);
  }
  if (ec) cannot_listen(bound_, ec);
  adopted_ = true;
  shared_.trusted = trusted_names(bound_, shared_.settings.hosts, shared_.settings.origins);
}

void server::listen_tcp(const tcp_address& where) {
  const net::ip::tcp::endpoint at(where.ip, where.port);
  tcp_ = std::make_unique<acceptor<net::ip::tcp>>(shared_.threads.front()->context().get_executor());
  error_code ec;
  static_cast<void>(tcp_->open(at.protocol(), ec));
  if (!ec) static_cast<void>(tcp_->set_option(net::socket_base::reuse_address(true), ec));
  if (!ec) static_cast<void>(tcp_->bind(at, ec));
  if (!ec) static_cast<void>(tcp_->listen(net::socket_base::max_listen_connections, ec));
  if (ec) cannot_listen(where, ec);
  bound_ = tcp_address{where.ip, tcp_->local_endpoint().port()};
}

void server::listen_unix(const unix_address& where) {
  remove_stale(where.path);
  unix_ = std::make_unique<acceptor<unix_protocol>>(shared_.threads.front()->context().get_executor());
  const unix_protocol::endpoint at(where.path);
  error_code ec;
  static_cast<void>(unix_->open(at.protocol(), ec));
  const mode_t before = ::umask(0177);  // the owner alone
  if (!ec) static_cast<void>(unix_->bind(at, ec));
  ::umask(before);
  if (!ec) static_cast<void>(unix_->listen(net::socket_base::max_listen_connections, ec));
  if (ec) cannot_listen(where, ec);
}

void server::start() {
  if (shared_.store) {
    const std::string& path = shared_.store->how().path;
    shared_.reads = std::make_unique<read_pool>(path);
    shared_.feed = std::make_unique<feed_server>(path);
    shared_.feed->start();
  }
  // The operator's switch held until the restart: runs that were read back with it go on as they were opened.
  for (auto& thread : shared_.threads) net::post(thread->context(), [&t = *thread] { t.runs().follow_operator(); });
  shared_.now = phase::serving;
  for (auto& thread : shared_.threads) thread->start();
  net::post(shared_.threads.front()->context(), [this] {
    if (tcp_) accept(*tcp_);
    if (unix_) accept(*unix_);
  });
}

// ---- the door

template <class Protocol>
void server::accept(acceptor<Protocol>& door) {
  engine_thread& home = *shared_.threads[next_home_++ % shared_.threads.size()];
  door.async_accept(home.context().get_executor(),
                    [this, &door, &home](error_code ec, net::basic_stream_socket<Protocol, executor> socket) {
                      if (ec == net::error::operation_aborted) return;
                      if (!ec) {
                        admit(home, std::move(socket));
                        return accept(door);
                      }
                      spdlog::warn("accept_failed why={}", quoted(ec.message()));
                      pause_->expires_after(pause_after_failure);
                      pause_->async_wait([this, &door](error_code stopped) {
                        if (!stopped) accept(door);
                      });
                    });
}

template <class Protocol>
void server::admit(engine_thread& home, net::basic_stream_socket<Protocol, executor> socket) {
  if (shared_.connections.load() >= shared_.live.now()->connections.most) {
    shared_.connections_refused.fetch_add(1);
    return;  // closed by going out of scope
  }
  auto ticket = std::make_shared<ticket_counter>(shared_.connections);
  if constexpr (std::is_same_v<Protocol, net::ip::tcp>) {
    error_code ignored;
    static_cast<void>(socket.set_option(net::ip::tcp::no_delay(true), ignored));
  }
  net::post(home.context(), [&home, socket = ingest::stream_socket(std::move(socket)),
                             ticket = std::move(ticket)]() mutable {
    std::make_shared<http_connection>(home, std::move(socket), std::move(ticket))->start();
  });
}

// ---- stop

template <class Until>
bool server::wait(std::chrono::milliseconds at_most, Until until) {
  const auto deadline = std::chrono::steady_clock::now() + at_most;
  while (!until()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

void server::stop_listening() {
  std::promise<void> done;
  net::post(shared_.threads.front()->context(), [&] {
    error_code ignored;
    if (tcp_) static_cast<void>(tcp_->close(ignored));
    if (unix_) static_cast<void>(unix_->close(ignored));
    pause_->cancel();
    done.set_value();
  });
  done.get_future().wait();
  if (adopted_) return;  // its file is whose who made it
  if (const auto* file = std::get_if<unix_address>(&bound_)) ::unlink(file->path.c_str());
}

std::vector<net::io_context*> server::loops() {
  std::vector<net::io_context*> all;
  for (auto& thread : shared_.threads) all.push_back(&thread->context());
  return all;
}

std::string server::status() const {
  return "listening on " + to_string(bound_) + ", " + std::to_string(shared_.open_runs.load()) + " open runs, " +
         std::to_string(shared_.connections.load()) + " connections";
}

bool server::close_connections(std::chrono::milliseconds at_most) {
  shared_.now = phase::stopping;
  const auto none = [this] { return shared_.connections.load() == 0; };
  for (auto& thread : shared_.threads) net::post(thread->context(), [&t = *thread] { t.shut_connections(); });
  if (shared_.feed) shared_.feed->stop();
  const bool by_themselves = wait(at_most, none);
  if (!by_themselves) {
    for (auto& thread : shared_.threads) net::post(thread->context(), [&t = *thread] { t.abort_connections(); });
    static_cast<void>(wait(std::chrono::seconds(1), none));
  }
  return by_themselves;
}

void server::stop_threads(std::chrono::milliseconds at_most) {
  if (shared_.reads) shared_.reads->stop();
  shared_.rebuilder.stop();
  shared_.rebuilder.join();
  std::vector<std::future<std::size_t>> ended;
  for (auto& thread : shared_.threads) {
    net::post(thread->context(), [&t = *thread] { t.finish(); });
    ended.push_back(std::async(std::launch::async, [&t = *thread] {
      t.join_thread();
      return t.records().backlog();
    }));
  }
  const auto deadline = std::chrono::steady_clock::now() + at_most;
  for (std::size_t i = 0; i < ended.size(); ++i) {
    if (ended[i].wait_until(deadline) != std::future_status::ready) {
      net::post(shared_.threads[i]->context(), [&t = *shared_.threads[i]] {
        t.give_up_backlog();
        t.context().stop();
      });
    }
    if (const std::size_t left = ended[i].get(); left > 0) {
      spdlog::error("not_archived thread={} entries={}; their clients were not told they are", i, left);
    }
  }
}

void server::close_archive() {
  if (shared_.reads) shared_.reads->stop();
  if (shared_.feed) shared_.feed->stop();
  if (!shared_.store) return;
  shared_.store->stop();
  if (const std::string trouble = shared_.store->health(); !trouble.empty()) spdlog::error("archive_trouble {}", trouble);
}

}  // namespace digd::daemon
