#include "daemon/process/listener.h"

#include <sys/stat.h>
#include <unistd.h>

#include <spdlog/spdlog.h>
#include <boost/asio/post.hpp>
#include <future>
#include <stdexcept>
#include <utility>

#include "base/quote.h"
#include "daemon/access/peer.h"
#include "daemon/process/failures.h"

namespace digd::daemon {

namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using unix_protocol = asio::local::stream_protocol;

constexpr std::chrono::milliseconds accept_retry_delay{100};

// The buffers of a connection that says nothing: 32 KiB read ahead, its header, a WebSocket's buffer; with TLS 32 KiB
// each way, and those of OpenSSL and of the socket pair.
constexpr std::uint64_t plain_connection_bytes = 64 << 10, tls_connection_bytes = 192 << 10;

net::tls_files files_of(const tls_settings& from) {
  return {.certificate = from.certificate, .key = from.key, .client_ca = from.client_ca};
}

[[noreturn]] void cannot_listen(const listen_address& where, const error_code& ec) {
  const std::string name = digd::quoted(to_string(where));
  if (ec == asio::error::address_in_use) {
    throw cannot_use("cannot listen on " + name + ": it is in use; does another digd run?");
  }
  throw cannot_use("cannot listen on " + name + ": " + ec.message());
}

// Removes the socket file of a daemon that was killed, unless a process answers there.
void remove_stale_socket(const std::string& path) {
  struct stat stat {};
  if (::lstat(path.c_str(), &stat) != 0 || !S_ISSOCK(stat.st_mode)) return;
  asio::io_context unused;
  unix_protocol::socket probe(unused);
  error_code ec;
  probe.connect(unix_protocol::endpoint(path), ec);
  if (ec == asio::error::connection_refused) ::unlink(path.c_str());
}

}  // namespace

listener::listener(const config& settings, const engine_threads& threads, class authorizer& authorizer,
                   connection_counts& counts, memory_budget* budget, listener::get_limits get_limits,
                   listener::on_connection on_connection)
    : settings_(settings),
      threads_(threads),
      authorizer_(authorizer),
      counts_(counts),
      budget_(budget),
      get_limits_(std::move(get_limits)),
      on_connection_(std::move(on_connection)),
      retry_(threads.front().context().get_executor()) {}

// ---- access

void listener::prepare_access() {
  if (!settings_.tls.certificate.empty()) {
    tls_ = std::make_unique<tls_terminator>(files_of(settings_.tls), counts_.tls_refused);
  }
  if (const std::string problem = change_access(settings_); !problem.empty()) throw std::runtime_error(problem);
}

std::string listener::check_access(const config& c) const {
  try {
    static_cast<void>(users_named(c.unix_users));
    if (!c.tls.certificate.empty()) static_cast<void>(net::server_context(files_of(c.tls)));
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  token_table tokens;
  if (!c.tokens.empty()) {
    if (const std::string problem = token_table::read(c.tokens, tokens); !problem.empty()) return "tokens: " + problem;
  }
  if (c.tokens.empty() == authorizer_.has_tokens() && started_) {
    return "tokens: from none to some, or back, needs a restart";
  }
  if (c.tls.certificate.empty() != (tls_ == nullptr)) return "tls: from none to some, or back, needs a restart";
  return {};
}

std::string listener::change_access(const config& c) {
  if (std::string problem = check_access(c); !problem.empty()) return problem;
  // The files may have changed since the check, so all are read before anything changes.
  token_table tokens;
  if (!c.tokens.empty()) {
    if (std::string problem = token_table::read(c.tokens, tokens); !problem.empty()) return "tokens: " + problem;
  }
  try {
    auto users = users_named(c.unix_users);
    if (tls_) tls_->change(files_of(c.tls));
    authorizer_.set_users(std::move(users));
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  const auto* file = adopted_ ? nullptr : std::get_if<unix_address>(&bound_);
  if (file != nullptr && unix_) ::chmod(file->path.c_str(), c.unix_users.empty() ? 0600 : 0666);
  if (c.tokens.empty()) return {};
  spdlog::info("tokens count={}", tokens.size());
  authorizer_.set_tokens(std::move(tokens));
  return {};
}

// ---- the listening socket

void listener::listen(const listen_address& where) {
  prepare_access();
  bound_ = where;
  if (const auto* tcp = std::get_if<tcp_address>(&where)) {
    listen_tcp(*tcp);
  } else {
    listen_unix(std::get<unix_address>(where));
  }
}

void listener::adopt(int socket) {
  prepare_access();
  try {
    bound_ = name_of(socket);
  } catch (const std::runtime_error& e) {
    throw cannot_use(e.what());
  }
  if (!is_local(bound_) && !authorizer_.has_tokens()) {
    throw cannot_use("the socket that systemd passed, " + digd::quoted(to_string(bound_)) +
                     ", can be reached from other machines, and no tokens are configured");
  }
  const auto executor = threads_.front().context().get_executor();
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
}

void listener::listen_tcp(const tcp_address& where) {
  const asio::ip::tcp::endpoint at(where.ip, where.port);
  tcp_ = std::make_unique<acceptor<asio::ip::tcp>>(threads_.front().context().get_executor());
  error_code ec;
  static_cast<void>(tcp_->open(at.protocol(), ec));
  if (!ec) static_cast<void>(tcp_->set_option(asio::socket_base::reuse_address(true), ec));
  if (!ec) static_cast<void>(tcp_->bind(at, ec));
  if (!ec) static_cast<void>(tcp_->listen(asio::socket_base::max_listen_connections, ec));
  if (ec) cannot_listen(where, ec);
  bound_ = tcp_address{where.ip, tcp_->local_endpoint().port()};
}

void listener::listen_unix(const unix_address& where) {
  remove_stale_socket(where.path);
  unix_ = std::make_unique<acceptor<unix_protocol>>(threads_.front().context().get_executor());
  const unix_protocol::endpoint at(where.path);
  error_code ec;
  static_cast<void>(unix_->open(at.protocol(), ec));
  // Without configured users the file is the owner's alone. Otherwise anyone may open it, and `admit` checks the user.
  const mode_t before = ::umask(settings_.unix_users.empty() ? 0177 : 0111);
  if (!ec) static_cast<void>(unix_->bind(at, ec));
  ::umask(before);
  if (!ec) static_cast<void>(unix_->listen(asio::socket_base::max_listen_connections, ec));
  if (ec) cannot_listen(where, ec);
}

// ---- connections

void listener::start() {
  started_ = true;
  if (tls_) tls_->start();
  asio::post(threads_.front().context(), [this] {
    if (tcp_) accept(*tcp_);
    if (unix_) accept(*unix_);
  });
}

template <class Protocol>
void listener::accept(acceptor<Protocol>& from) {
  if (is_stopped_) return;
  engine_thread& home = threads_[next_home_++ % threads_.size()];
  from.async_accept(home.context().get_executor(),
                    [this, &from, &home](error_code ec, asio::basic_stream_socket<Protocol, executor> socket) {
                      if (is_stopped_ || ec == asio::error::operation_aborted) return;
                      if (!ec) {
                        admit(home, std::move(socket));
                        return accept(from);
                      }
                      spdlog::warn("accept_failed reason={}", digd::quoted(ec.message()));
                      retry_.expires_after(accept_retry_delay);
                      retry_.async_wait([this, &from](error_code stopped) {
                        if (!stopped) accept(from);
                      });
                    });
}

connection_ticket listener::take_ticket(const peer_ptr& from, bool is_tls) {
  const limits now = get_limits_();
  if (counts_.open.load() >= now.max) {
    counts_.refused.fetch_add(1);
    return nullptr;
  }
  if (from->open.load() >= max_connections_of(*from, now.max, now.max_per_peer)) {
    counts_.refused_of_peer.fetch_add(1);
    std::uint64_t suppressed = 0;
    if (refusals_logged_.allows(suppressed)) {
      spdlog::warn("too_many_connections from={} open={} suppressed={}", digd::quoted(from->name), from->open.load(),
                   suppressed);
    }
    return nullptr;
  }
  return std::make_shared<peer_ticket>(counts_.open, from, budget_,
                                       is_tls ? tls_connection_bytes : plain_connection_bytes);
}

// A socket that is not admitted closes by going out of scope.
template <class Protocol>
void listener::admit(engine_thread& home, asio::basic_stream_socket<Protocol, executor> socket) {
  constexpr bool is_tcp = std::is_same_v<Protocol, asio::ip::tcp>;
  error_code ec;
  peer_ptr from;
  if constexpr (is_tcp) {
    const auto remote = socket.remote_endpoint(ec);
    if (ec) return;  // it is closed already
    from = peers_.find(remote.address());
  } else {
    if (!authorizer_.may_connect(socket.native_handle())) {
      counts_.peers_refused.fetch_add(1);
      return;
    }
    from = peers_.find(socket.native_handle());
  }
  connection_ticket ticket = take_ticket(from, is_tcp && tls_ != nullptr);
  if (!ticket) return;
  if constexpr (is_tcp) {
    static_cast<void>(socket.set_option(asio::ip::tcp::no_delay(true), ec));
    if (tls_) return admit_tls(home, std::move(socket), std::move(from), std::move(ticket));
  }
  asio::post(home.context(), [this, &home, socket = net::stream_socket(std::move(socket)), from = std::move(from),
                              ticket = std::move(ticket)]() mutable {
    on_connection_(home, std::move(socket), std::move(from), std::move(ticket));
  });
}

void listener::admit_tls(engine_thread& home, asio::basic_stream_socket<asio::ip::tcp, executor> socket, peer_ptr from,
                         connection_ticket ticket) {
  error_code ec;
  const auto protocol = socket.local_endpoint(ec).protocol();
  const int fd = ec ? -1 : socket.release(ec);
  if (ec) return;
  asio::post(tls_->context(),
             [this, &home, protocol, fd, from = std::move(from), ticket = std::move(ticket)]() mutable {
               net::tls_pipe::socket moved(tls_->context().get_executor());
               error_code failed;
               moved.assign(protocol, fd, failed);
               if (failed) return static_cast<void>(::close(fd));
               const auto on_plain = [this, &home, from = std::move(from)](int plain, connection_ticket same_ticket) {
                 asio::post(home.context(), [this, &home, plain, from, ticket = std::move(same_ticket)]() mutable {
                   net::stream_socket socket(home.context().get_executor());
                   error_code ec;
                   socket.assign(asio::generic::stream_protocol(AF_UNIX, 0), plain, ec);
                   if (ec) return static_cast<void>(::close(plain));
                   on_connection_(home, std::move(socket), std::move(from), std::move(ticket));
                 });
               };
               tls_->admit(std::move(moved), std::move(ticket), on_plain);
             });
}

// ---- stop

void listener::stop() {
  std::promise<void> done;
  asio::post(threads_.front().context(), [&] {
    is_stopped_ = true;  // handlers of a connection or of a retry may be in the queue already
    error_code ignored;
    if (tcp_) static_cast<void>(tcp_->close(ignored));
    if (unix_) static_cast<void>(unix_->close(ignored));
    retry_.cancel();
    done.set_value();
  });
  done.get_future().wait();
  if (adopted_) return;  // the service manager owns the file
  if (const auto* file = std::get_if<unix_address>(&bound_)) ::unlink(file->path.c_str());
}

void listener::give_up_handshakes() {
  if (tls_) tls_->give_up_handshakes();
}

void listener::stop_tls() {
  if (tls_) tls_->stop();
}

}  // namespace digd::daemon
