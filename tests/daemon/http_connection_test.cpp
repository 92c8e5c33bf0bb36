// An HTTP connection over a socket pair: its memory charge, the places it holds, and when it stays open.
#include "daemon/http/http_connection.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "daemon/api/router.h"
#include "tests/daemon/offline_daemon.h"
#include "tests/daemon/repeat_until.h"

namespace digd::daemon {

namespace {

using boost::beast::http::verb;
constexpr std::uint64_t own_buffers = 64 << 10;

// By default it answers every GET, and refuses the body of every POST.
struct scripted_handler final : request_handler {
  std::function<request_result()> answer = [] { return respond_text("answered"); };
  std::function<std::variant<body_limit, http_response>()> limit = [] { return busy("no room"); };

  std::variant<body_limit, http_response> limit_body(const net::upgrade_request&, const peer_ptr&) override {
    return limit();
  }
  request_result handle(const net::upgrade_request&, std::string_view, const peer_ptr&, memory_charge*) override {
    return answer();
  }
};

// An http_connection at the server's end of a socket pair, and the client's end.
struct connected_client {
  boost::asio::io_context& context;
  peer_ptr from = std::make_shared<peer>("192.0.2.1", false, false);
  std::atomic<std::uint64_t> open{0};
  std::shared_ptr<memory_charge> memory;
  std::weak_ptr<http_connection> connection;
  int client_end = -1;
  std::string received;

  connected_client(const http_home& home, memory_budget& budget) : context(home.context) {
    std::array<int, 2> ends{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0);
    net::stream_socket socket(context.get_executor());
    socket.assign(boost::asio::generic::stream_protocol(AF_UNIX, 0), ends[0]);
    client_end = ends[1];
    auto ticket = std::make_shared<peer_ticket>(open, from, &budget, own_buffers);
    memory = ticket->memory();
    const auto made = std::make_shared<http_connection>(home, std::move(socket), from, std::move(ticket));
    made->start();
    connection = made;
  }
  ~connected_client() {
    if (const auto last = connection.lock()) last->abort();
    ::close(client_end);
    run();
  }

  void run() {
    context.restart();
    context.poll();
  }
  void send(const std::string& bytes) const {
    REQUIRE(::send(client_end, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size()));
  }
  // False: the server has closed, or the connection broke.
  bool receive() {
    std::array<char, 4096> piece{};
    for (;;) {
      const ssize_t n = ::recv(client_end, piece.data(), piece.size(), MSG_DONTWAIT);
      if (n < 0) return errno == EAGAIN;
      if (n == 0) return false;
      received.append(piece.data(), static_cast<std::size_t>(n));
    }
  }
  void wait_until(const std::function<bool()>& is_done) {
    repeat_until(is_done, [&] {
      run();
      std::this_thread::yield();
    });
  }
  void wait_for(const std::string& text) {
    wait_until([&] {
      receive();
      return received.find(text) != std::string::npos;
    });
  }
  void wait_for_end() {
    wait_until([&] { return !receive(); });
  }
};

// An http_connection with its client and a scripted handler.
struct served_connection {
  boost::asio::io_context context;
  connection_set connections;
  http_counts counts;
  scripted_handler handler;
  memory_budget budget;
  connected_client client{{.context = context, .connections = connections, .counts = counts, .handler = handler},
                          budget};

  // A kept callback may hold the connection.
  ~served_connection() {
    handler.answer = nullptr;
    later_ = nullptr;
    client.run();
  }

  // Defers each response until the test calls the callback. Null before a request waits.
  response_callback* defer() {
    handler.answer = [this]() -> request_result {
      return deferred_response{[this](response_callback done) { later_ = std::move(done); }};
    };
    return &later_;
  }

 private:
  response_callback later_;
};

std::string get(const std::string& fields = "") { return "GET / HTTP/1.1\r\nHost: h\r\n" + fields + "\r\n"; }
std::string post(const std::string& fields, const std::string& body) {
  return "POST / HTTP/1.1\r\nHost: h\r\n" + fields + "\r\n" + body;
}

}  // namespace

// ---- memory

TEST_CASE("a_request_that_waits_is_charged_for_each_field_of_its_header", "[http]") {
  served_connection served;
  const auto* later = served.defer();
  std::string fields;
  for (int i = 0; i < 3'000; ++i) fields += "a:\r\n";
  served.client.send(get(fields));
  served.client.wait_until([&] { return *later != nullptr; });
  CHECK(served.client.memory->bytes() > own_buffers + 3'000 * 96);
  (*later)(respond_text("late"));
  served.client.wait_for("late");
  CHECK(served.client.memory->bytes() == own_buffers);
}

TEST_CASE("a_body_is_charged_until_its_request_is_answered", "[http]") {
  served_connection served;
  served.handler.limit = [] { return body_limit{.max_bytes = 1 << 20, .ticket = nullptr, .token = nullptr}; };
  const auto* later = served.defer();
  served.client.send(post("Content-Length: 100000\r\n", std::string(100'000, 'x')));
  served.client.wait_until([&] { return *later != nullptr; });
  CHECK(served.client.memory->bytes() >= own_buffers + 100'000);
  (*later)(respond_text("late"));
  served.client.wait_for("late");
  CHECK(served.client.memory->bytes() == own_buffers);
}

TEST_CASE("an_accepted_request_without_a_body_makes_its_connection_allowed", "[http]") {
  const auto closed_after = [](const std::string& target) {
    offline_daemon daemon;
    engine_thread& thread = daemon.engine.threads.front();
    router routes(thread, daemon.services);
    const http_home home{.context = thread.context(),
                         .connections = thread.connections(),
                         .counts = thread.counts().http,
                         .handler = routes};
    daemon.memory.set_limit(8 * (2 * own_buffers + 8'192));  // room for two connections that are not allowed
    connected_client first(home, daemon.memory), second(home, daemon.memory);
    for (connected_client* each : {&first, &second}) {
      each->send("GET " + target + " HTTP/1.1\r\nHost: 127.0.0.1:7344\r\n\r\n");
      each->wait_for("\r\n\r\n");
    }
    const connected_client third(home, daemon.memory);
    return daemon.memory.closed();
  };
  CHECK(closed_after("/v1/mode") == 0);
  CHECK(closed_after("/nowhere") == 1);
  CHECK(closed_after("/healthz") == 1);  // it needs no right
}

TEST_CASE("an_endless_trailer_or_chunk_head_is_refused", "[http]") {
  const std::string endless(2 * http_connection::max_buffer_bytes, 'x');
  for (const std::string& body : {"0\r\nname: " + endless, "1;" + endless}) {
    served_connection served;
    served.handler.limit = [] { return body_limit{.max_bytes = 100, .ticket = nullptr, .token = nullptr}; };
    served.client.send(post("Transfer-Encoding: chunked\r\n", body));
    served.client.wait_for("HTTP/1.1 400");
    served.client.wait_for_end();
  }
}

TEST_CASE("headers_that_come_in_pieces_or_together_are_all_answered", "[http]") {
  served_connection served;
  for (const char c : get() + get()) {
    served.client.send(std::string(1, c));
    served.client.run();
  }
  served.client.send(get() + get());
  served.client.wait_until([&] { return served.counts.requests.value() == 4; });
}

TEST_CASE("bytes_that_are_no_request_are_refused_at_once", "[http]") {
  for (const std::string& text : {std::string("\x16\x03\x01", 3), std::string("1"), std::string("GET / HTTP/1.1\n\n"),
                                  get(std::string(17'000, 'a'))}) {
    served_connection served;
    served.client.send(text);
    served.client.wait_for_end();
    CHECK(served.client.received.starts_with("HTTP/1.1 4"));
  }
}

// ---- places

TEST_CASE("a_connection_that_closes_while_its_response_is_made_gives_its_places_back", "[http]") {
  served_connection served;
  const auto* later = served.defer();
  served.client.send(get());
  served.client.wait_until([&] { return *later != nullptr; });
  CHECK(served.client.open == 1);
  served.client.connection.lock()->shut_down();
  CHECK(served.client.open == 0);
  CHECK(served.client.from->open == 0);
  (*later)(respond_text("too late"));
  served.client.wait_for_end();
  CHECK(served.client.received.empty());
}

TEST_CASE("a_client_that_leaves_while_its_response_is_made_gives_its_places_back", "[http]") {
  served_connection served;
  std::atomic<std::uint64_t> responses{0};
  served.handler.answer = [&, later = std::make_shared<std::vector<response_callback>>()]() -> request_result {
    return deferred_response{.start = [later](response_callback done) { later->push_back(std::move(done)); },
                             .place = std::make_shared<counted_ticket>(responses)};
  };
  served.client.send(get());
  served.client.wait_until([&] { return responses == 1; });
  CHECK(served.client.open == 1);
  ::shutdown(served.client.client_end, SHUT_RDWR);
  served.client.wait_until([&] { return responses == 0; });
  CHECK(served.client.open == 0);
}

TEST_CASE("a_client_that_only_stops_sending_still_gets_its_response", "[http]") {
  served_connection served;
  const auto* later = served.defer();
  served.client.send(get());
  served.client.wait_until([&] { return *later != nullptr; });
  ::shutdown(served.client.client_end, SHUT_WR);
  for (int i = 0; i < 100; ++i) served.client.run();
  (*later)(respond_text("answered"));
  served.client.wait_for("answered");
  served.client.wait_for_end();
}

TEST_CASE("a_client_that_sends_its_next_request_early_still_gets_both_responses", "[http]") {
  served_connection served;
  const auto* later = served.defer();
  served.client.send(get());
  served.client.wait_until([&] { return *later != nullptr; });
  served.client.send(get());
  served.client.run();
  const response_callback first = *later;
  served.handler.answer = [] { return respond_text("second"); };
  first(respond_text("first"));
  served.client.wait_for("second");
  CHECK(served.client.received.find("first") < served.client.received.find("second"));
}

TEST_CASE("the_place_of_a_body_is_free_once_the_request_is_answered", "[http]") {
  served_connection served;
  std::atomic<std::uint64_t> bodies{0};
  served.handler.limit = [&] {
    return body_limit{.max_bytes = 100, .ticket = std::make_shared<counted_ticket>(bodies), .token = nullptr};
  };
  const auto* later = served.defer();
  served.client.send(post("Content-Length: 2\r\n", "{}"));
  served.client.wait_until([&] { return *later != nullptr; });
  CHECK(bodies == 1);
  (*later)(respond_text(std::string(8 << 20, 'x')));  // more than the socket takes
  served.client.wait_until([&] { return bodies == 0; });
}

// ---- after a refusal

TEST_CASE("after_a_response_429_the_connection_continues", "[http]") {
  served_connection served;
  bool is_first = true;
  served.handler.answer = [&]() -> request_result {
    if (std::exchange(is_first, false)) return too_many("slow down");
    return respond_text("answered");
  };
  served.client.send(get() + get());
  served.client.wait_for("answered");
  CHECK(served.client.received.find("429 Too Many Requests") != std::string::npos);
  CHECK(served.client.received.find("Retry-After: 1") != std::string::npos);
  CHECK(served.client.receive());
}

TEST_CASE("a_response_may_close_the_connection", "[http]") {
  served_connection served;
  served.handler.answer = []() -> request_result {
    http_response response = respond_text("guess again");
    response.keep_alive(false);
    return response;
  };
  served.client.send(get() + get());
  served.client.wait_for_end();
  CHECK(served.counts.requests.value() == 1);
}

TEST_CASE("a_small_refused_body_is_skipped_and_the_connection_continues", "[http]") {
  const std::string chunked = "5\r\nhello\r\n0\r\n\r\n";
  for (const std::string& refused :
       {post("Content-Length: 5\r\n", "hello"), post("Transfer-Encoding: chunked\r\n", chunked)}) {
    served_connection served;
    served.client.send(refused + get());
    served.client.wait_for("answered");
    CHECK(served.client.received.starts_with("HTTP/1.1 503"));
    CHECK(served.client.received.find("Connection: close") == std::string::npos);
    CHECK(served.counts.requests.value() == 2);
    CHECK(served.client.receive());
  }
}

TEST_CASE("a_refused_body_that_is_large_or_not_sent_closes_the_connection", "[http]") {
  const std::string piece = "10000\r\n" + std::string(0x10000, 'x') + "\r\n";
  for (const std::string& refused :
       {post("Content-Length: 100000\r\n", ""), post("Content-Length: 5\r\nExpect: 100-continue\r\n", ""),
        post("Transfer-Encoding: chunked\r\n", piece + piece),
        post("Connection: close\r\nContent-Length: 5\r\n", "")}) {
    served_connection served;
    served.client.send(refused);
    served.client.wait_for("no room");
    CHECK(served.client.received.starts_with("HTTP/1.1 503"));
    CHECK(served.client.received.find("Connection: close") != std::string::npos);
    served.client.wait_for_end();
  }
}

TEST_CASE("a_late_refused_body_closes_the_connection_and_is_not_kept", "[http]") {
  served_connection served;
  served.client.send(post("Content-Length: 60000\r\n", std::string(50'000, 'x')));
  served.client.wait_for("no room");
  CHECK(served.budget.used() < own_buffers + 32'768);
  CHECK(served.client.received.find("Connection: close") != std::string::npos);
  served.client.wait_for_end();
}

TEST_CASE("a_client_that_sends_all_of_a_large_refused_body_still_gets_the_response", "[http]") {
  served_connection served;
  std::size_t sent = 0;
  std::thread sender([&] {
    const std::string bytes = post("Content-Length: 4000000\r\n", std::string(4'000'000, 'x'));
    while (sent < bytes.size()) {
      const ssize_t n = ::send(served.client.client_end, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (n < 0) return;
      sent += static_cast<std::size_t>(n);
    }
    ::shutdown(served.client.client_end, SHUT_WR);
  });
  served.client.wait_until([&] { return served.client.connection.expired(); });
  sender.join();
  CHECK(sent > 4'000'000);
  CHECK_FALSE(served.client.receive());
  CHECK(served.client.received.find("no room") != std::string::npos);
}

}  // namespace digd::daemon
