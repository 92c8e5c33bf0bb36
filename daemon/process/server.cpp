#include "daemon/process/server.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <future>
#include <map>
#include <stdexcept>
#include <thread>
#include <utility>

#include "archive/salvage.h"
#include "base/quote.h"
#include "daemon/access/peer.h"
#include "daemon/api/read_pool.h"
#include "daemon/feed/feed_server.h"
#include "daemon/http/http_connection.h"
#include "daemon/process/log.h"
#include "daemon/otlp/otlp_server.h"
#include "daemon/runs/recovery.h"
#include "daemon/runs/retention.h"
#include "daemon/runs/run_host.h"
#include "daemon/webhook/webhook_server.h"

namespace digd::daemon {

namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using unix_protocol = asio::local::stream_protocol;

constexpr std::chrono::milliseconds pause_after_failure{100};

net::tls_files files_of(const tls_settings& from) {
  return {.certificate = from.certificate, .key = from.key, .client_ca = from.client_ca};
}

std::string folder_of(const std::string& file) { return file.substr(0, file.rfind('/') + 1); }

[[noreturn]] void cannot_listen(const listen_address& where, const error_code& ec) {
  const std::string name = quoted(to_string(where));
  if (ec == asio::error::address_in_use) {
    throw cannot_use("cannot listen on " + name + ": it is in use; does another digd run?");
  }
  throw cannot_use("cannot listen on " + name + ": " + ec.message());
}

// What a killed daemon left is removed; what somebody answers at is not.
void remove_stale(const std::string& path) {
  struct stat stat {};
  if (::lstat(path.c_str(), &stat) != 0 || !S_ISSOCK(stat.st_mode)) return;
  asio::io_context none;
  unix_protocol::socket probe(none);
  error_code ec;
  probe.connect(unix_protocol::endpoint(path), ec);
  if (ec == asio::error::connection_refused) ::unlink(path.c_str());
}

}  // namespace

shared_state::shared_state(config c) : settings(std::move(c)), live(settings), started_s(unix_ms() / 1000) {}

shared_state::~shared_state() {
  pressure.stop();
  if (spans) spans->stop();
  if (keeps) keeps->stop();
  if (reads) reads->stop();
  if (feed) feed->stop();
  if (webhooks) webhooks->stop();
  rebuilder.stop();
  rebuilder.join();
  store.reset();
  deletions.give_up();
  judgements.give_up();
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

// A monitor that does not start helps nobody: what can still be read goes on, the rest is kept for people.
void server::set_damage_aside(const std::string& path, const std::string& damage) {
  std::string why;
  const auto done = archive::set_damage_aside(path, {}, &why);
  if (!done) throw std::runtime_error("the archive is damaged (" + damage + "), and could not be set aside: " + why);
  shared_.runs_lost_to_damage = done->runs_lost;
  spdlog::error("archive_damaged why={} set_aside={} runs_kept={} entries_kept={} runs_lost={} readable={}",
                quoted(damage), quoted(done->aside), done->runs_kept, done->entries_kept, done->runs_lost,
                done->was_readable);
}

void server::open_archive(const std::string& data_dir) {
  archive::options options;
  options.path = data_dir + "/digd.sqlite";
  options.producers = config::most_threads;
  // A session that may not go further ahead of the disk must not wait for others to come as well.
  options.gather_entries = std::clamp<std::size_t>(shared_.settings.credits / 4, 1, options.gather_entries);
  options.on_health = [](const std::string& words) {
    if (words.empty()) {
      spdlog::info("archive_well");
    } else {
      spdlog::error("archive_trouble {}", words);
    }
  };
  options.on_migration = [](int from, int to) {
    spdlog::warn("archive_migrating from={} to={}; every run is read once, which takes a while", from, to);
  };
  shared_.webhooks = std::make_unique<webhook_server>(options.path, data_dir + "/webhooks.db");
  const auto tell = [this](std::span<const archive::durable> progress) {
    shared_.acks.hear();
    if (shared_.feed) shared_.feed->wake();
    shared_.webhooks->wake();
    std::map<std::size_t, std::vector<archive::durable>> by_thread;
    for (const archive::durable& run : progress) {
      if (run.deleted) {
        shared_.deletions.happened(run.run_number);
        continue;
      }
      if (run.judgement != 0) {
        shared_.judgements.happened(run.judgement);
        continue;
      }
      if (const auto thread = shared_.acks.thread_of(run.run_number)) by_thread[*thread].push_back(run);
    }
    for (auto& [thread, what] : by_thread) {
      engine_thread* owner = shared_.threads[thread].get();
      asio::post(owner->context(), [owner, what = std::move(what)] { owner->durable(what); });
    }
  };
  std::string why;
  auto opened = archive::archive::open(options, tell, &why);
  if (!opened && opened.error() == archive::make_error_code(archive::archive_error::corrupt)) {
    set_damage_aside(options.path, why);
    opened = archive::archive::open(options, tell, &why);
  }
  if (opened) {
    shared_.store = std::move(*opened);
    return;
  }
  const std::string words = "cannot open the archive in " + quoted(data_dir) + ": " + why;
  const auto is = [&](archive::archive_error e) { return opened.error() == archive::make_error_code(e); };
  if (is(archive::archive_error::io) || is(archive::archive_error::corrupt)) throw std::runtime_error(words);
  throw cannot_use(words);
}

void server::make_threads() {
  const std::size_t n = thread_count(shared_.settings);
  for (std::size_t i = 0; i < n; ++i) shared_.threads.push_back(std::make_unique<engine_thread>(i, shared_));
  pause_ = std::make_unique<net::steady_timer>(shared_.threads.front()->context().get_executor());
}

void server::recover() {
  if (shared_.store) recover_all(shared_);
}

// What decides who may come in, before anybody can.
void server::open_gate() {
  const config& c = shared_.settings;
  if (!c.tls.certificate.empty()) tls_ = std::make_unique<tls_terminator>(files_of(c.tls), shared_.tls_refused);
  if (const std::string wrong = change_access(c); !wrong.empty()) throw std::runtime_error(wrong);
}

std::string server::check_access(const config& c) const {
  try {
    static_cast<void>(users_named(c.unix_users));
    if (!c.tls.certificate.empty()) static_cast<void>(net::server_context(files_of(c.tls)));
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  token_table tokens;
  if (!c.tokens.empty()) {
    if (const std::string wrong = token_table::read(c.tokens, tokens); !wrong.empty()) return "tokens: " + wrong;
  }
  if (c.tokens.empty() != shared_.authorizer.is_open() && shared_.now != phase::starting) {
    return "tokens: from none to some, or back, needs a restart";
  }
  if (c.tls.certificate.empty() != (tls_ == nullptr)) return "tls: from none to some, or back, needs a restart";
  return {};
}

std::string server::change_access(const config& c) {
  if (std::string wrong = check_access(c); !wrong.empty()) return wrong;
  try {
    shared_.authorizer.admit_users(users_named(c.unix_users));
    const auto* file = adopted_ ? nullptr : std::get_if<unix_address>(&bound_);
    if (file != nullptr && unix_) ::chmod(file->path.c_str(), c.unix_users.empty() ? 0600 : 0666);
    if (tls_) tls_->change(files_of(c.tls));
  } catch (const std::runtime_error& e) {  // the files changed under our hands
    return e.what();
  }
  token_table tokens;
  if (c.tokens.empty()) return {};
  if (std::string wrong = token_table::read(c.tokens, tokens); !wrong.empty()) return "tokens: " + wrong;
  spdlog::info("tokens count={}", tokens.size());
  shared_.authorizer.admit(std::move(tokens));
  return {};
}

void server::listen(const listen_address& where) {
  open_gate();
  bound_ = where;
  if (const auto* tcp = std::get_if<tcp_address>(&where)) {
    listen_tcp(*tcp);
  } else {
    listen_unix(std::get<unix_address>(where));
  }
  shared_.trusted = trusted_names(bound_, shared_.settings.hosts, shared_.settings.origins);
}

void server::adopt(int socket) {
  open_gate();
  try {
    bound_ = name_of(socket);
  } catch (const std::runtime_error& e) {
    throw cannot_use(e.what());
  }
  if (!is_local(bound_) && shared_.authorizer.is_open()) {
    throw cannot_use("the socket that was handed over, " + quoted(to_string(bound_)) +
                     ", can be reached from other machines, and no tokens are configured");
  }
  const auto executor = shared_.threads.front()->context().get_executor();
  error_code ec;
  if (const auto* tcp = std::get_if<tcp_address>(&bound_)) {
    tcp_ = std::make_unique<acceptor<asio::ip::tcp>>(executor);
    tcp_->assign(tcp->ip.is_v6() ? asio::ip::tcp::v6() : asio::ip::tcp::v4(), socket, ec);
  } else {
    unix_ = std::make_unique<acceptor<unix_protocol>>(executor);
    unix_->assign(unix_protocol(), socket, ec);
  }
  if (ec) cannot_listen(bound_, ec);
  adopted_ = true;
  shared_.trusted = trusted_names(bound_, shared_.settings.hosts, shared_.settings.origins);
}

void server::listen_tcp(const tcp_address& where) {
  const asio::ip::tcp::endpoint at(where.ip, where.port);
  tcp_ = std::make_unique<acceptor<asio::ip::tcp>>(shared_.threads.front()->context().get_executor());
  error_code ec;
  static_cast<void>(tcp_->open(at.protocol(), ec));
  if (!ec) static_cast<void>(tcp_->set_option(asio::socket_base::reuse_address(true), ec));
  if (!ec) static_cast<void>(tcp_->bind(at, ec));
  if (!ec) static_cast<void>(tcp_->listen(asio::socket_base::max_listen_connections, ec));
  if (ec) cannot_listen(where, ec);
  bound_ = tcp_address{where.ip, tcp_->local_endpoint().port()};
}

void server::listen_unix(const unix_address& where) {
  remove_stale(where.path);
  unix_ = std::make_unique<acceptor<unix_protocol>>(shared_.threads.front()->context().get_executor());
  const unix_protocol::endpoint at(where.path);
  error_code ec;
  static_cast<void>(unix_->open(at.protocol(), ec));
  const mode_t before =
      ::umask(shared_.settings.unix_users.empty() ? 0177 : 0111);  // the owner alone, or who is asked for
  if (!ec) static_cast<void>(unix_->bind(at, ec));
  ::umask(before);
  if (!ec) static_cast<void>(unix_->listen(asio::socket_base::max_listen_connections, ec));
  if (ec) cannot_listen(where, ec);
}

void server::start() {
  if (shared_.store) {
    const std::string& path = shared_.store->how().path;
    shared_.reads = std::make_unique<read_pool>(path);
    shared_.feed = std::make_unique<feed_server>(path);
    shared_.feed->start();
    const std::string wrong = shared_.webhooks->start(shared_.settings.webhooks);
    if (!wrong.empty()) throw std::runtime_error(wrong);
    shared_.keeps = std::make_unique<retention>(shared_);
  }
  shared_.spans =
      std::make_unique<otlp_server>(shared_, shared_.store ? folder_of(shared_.store->how().path) + "otlp.db" : "");
  if (const std::string wrong = shared_.spans->start(); !wrong.empty()) throw std::runtime_error(wrong);
  // The operator's switch held until the restart: runs that were read back with it go on as they were opened.
  for (auto& thread : shared_.threads) asio::post(thread->context(), [&t = *thread] { t.runs().follow_operator(); });
  shared_.now = phase::serving;
  shared_.pressure.look();
  for (auto& thread : shared_.threads) thread->start();
  if (shared_.keeps) shared_.keeps->start();
  shared_.pressure.start();
  if (tls_) tls_->start();
  asio::post(shared_.threads.front()->context(), [this] {
    if (tcp_) accept(*tcp_);
    if (unix_) accept(*unix_);
  });
}

void server::change_settings(const config& c) {
  shared_.live.change(c);
  if (shared_.keeps) shared_.keeps->look_again();
  shared_.pressure.look_again();
}

std::string server::change_webhooks(const config& c) {
  return shared_.webhooks ? shared_.webhooks->change(c.webhooks) : std::string();
}

// ---- the door

template <class Protocol>
void server::accept(acceptor<Protocol>& door) {
  engine_thread& home = *shared_.threads[next_home_++ % shared_.threads.size()];
  door.async_accept(home.context().get_executor(),
                    [this, &door, &home](error_code ec, asio::basic_stream_socket<Protocol, executor> socket) {
                      if (ec == asio::error::operation_aborted) return;
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
void server::admit(engine_thread& home, asio::basic_stream_socket<Protocol, executor> socket) {
  if (shared_.connections.load() >= shared_.live.now()->connections.most) {
    shared_.connections_refused.fetch_add(1);
    return;  // closed by going out of scope
  }
  auto ticket = std::make_shared<ticket_counter>(shared_.connections);
  if constexpr (std::is_same_v<Protocol, asio::ip::tcp>) {
    error_code ignored;
    static_cast<void>(socket.set_option(asio::ip::tcp::no_delay(true), ignored));
    if (tls_) return admit_tls(home, std::move(socket), std::move(ticket));
  } else if (!shared_.authorizer.lets_in_peer_of(socket.native_handle())) {
    shared_.strangers_refused.fetch_add(1);
    return;
  }
  asio::post(home.context(),
             [&home, socket = net::stream_socket(std::move(socket)), ticket = std::move(ticket)]() mutable {
               std::make_shared<http_connection>(home, std::move(socket), std::move(ticket))->start();
             });
}

// Through TLS first; what comes out of it is a connection like any other.
void server::admit_tls(engine_thread& home, asio::basic_stream_socket<asio::ip::tcp, executor> socket,
                       connection_ticket ticket) {
  error_code ec;
  const auto protocol = socket.local_endpoint(ec).protocol();
  const int fd = ec ? -1 : socket.release(ec);
  if (ec) return;
  asio::post(tls_->context(), [this, &home, protocol, fd, ticket = std::move(ticket)]() mutable {
    net::tls_pipe::socket moved(tls_->context().get_executor());
    error_code failed;
    moved.assign(protocol, fd, failed);
    if (failed) return static_cast<void>(::close(fd));
    tls_->admit(std::move(moved), std::move(ticket), [&home](int plain, connection_ticket through) {
      asio::post(home.context(), [&home, plain, through = std::move(through)]() mutable {
        net::stream_socket stream_socket(home.context().get_executor());
        error_code wrong;
        stream_socket.assign(asio::generic::stream_protocol(AF_UNIX, 0), plain, wrong);
        if (wrong) return static_cast<void>(::close(plain));
        std::make_shared<http_connection>(home, std::move(stream_socket), std::move(through))->start();
      });
    });
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
  asio::post(shared_.threads.front()->context(), [&] {
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

std::vector<asio::io_context*> server::loops() {
  std::vector<asio::io_context*> io_contexts;
  for (auto& thread : shared_.threads) io_contexts.push_back(&thread->context());
  return io_contexts;
}

std::string server::status() const {
  return "listening on " + to_string(bound_) + ", " + std::to_string(shared_.open_runs.load()) + " open runs, " +
         std::to_string(shared_.connections.load()) + " connections";
}

bool server::close_connections(std::chrono::milliseconds at_most) {
  shared_.now = phase::stopping;
  const auto none = [this] { return shared_.connections.load() == 0; };
  for (auto& thread : shared_.threads) asio::post(thread->context(), [&t = *thread] { t.shut_connections(); });
  if (tls_) tls_->give_up_handshakes();
  if (shared_.spans) shared_.spans->stop();
  if (shared_.feed) shared_.feed->stop();
  if (shared_.webhooks) shared_.webhooks->stop();
  const bool by_themselves = wait(at_most, none);
  if (!by_themselves) {
    for (auto& thread : shared_.threads) asio::post(thread->context(), [&t = *thread] { t.abort_connections(); });
    static_cast<void>(wait(std::chrono::seconds(1), none));
  }
  if (tls_) tls_->stop();
  return by_themselves;
}

void server::stop_threads(std::chrono::milliseconds at_most) {
  shared_.pressure.stop();
  if (shared_.keeps) shared_.keeps->stop();
  if (shared_.reads) shared_.reads->stop();
  shared_.rebuilder.stop();
  shared_.rebuilder.join();
  std::vector<std::future<std::size_t>> ended;
  for (auto& thread : shared_.threads) {
    asio::post(thread->context(), [&t = *thread] { t.finish(); });
    ended.push_back(std::async(std::launch::async, [&t = *thread] {
      t.join_thread();
      return t.records().backlog();
    }));
  }
  const auto deadline = std::chrono::steady_clock::now() + at_most;
  for (std::size_t i = 0; i < ended.size(); ++i) {
    if (ended[i].wait_until(deadline) != std::future_status::ready) {
      asio::post(shared_.threads[i]->context(), [&t = *shared_.threads[i]] {
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
  if (shared_.webhooks) shared_.webhooks->stop();
  if (!shared_.store) return;
  shared_.store->stop();
  if (const std::string trouble = shared_.store->health(); !trouble.empty())
    spdlog::error("archive_trouble {}", trouble);
}

}  // namespace digd::daemon
