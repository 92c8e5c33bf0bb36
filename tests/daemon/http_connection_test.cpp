// An HTTP connection over a socket pair: what it is charged for, what it gives back, and when it continues.
#include "daemon/http/http_connection.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "daemon/api/router.h"
#include "tests/daemon/offline_daemon.h"

namespace digd::daemon {

namespace {

using boost::beast::http::verb;
constexpr std::uint64_t own_buffers = 64 << 10;

// Answers GET, and refuses the body of any POST, unless the test changes that.
struct chosen_answers final : request_handler {
  std::function<request_result()> answer = [] { return respond_text("answered"); };
  std::function<std::variant<body_limit, http_response>()> limit = [] { return busy("no room"); };

  std::variant<body_limit, http_response> limit_body(const net::upgrade_request&, const peer_ptr&) override {
    return limit();
  }
  request_result handle(const net::upgrade_request&, std::string_view, const peer_ptr&, memory_charge*) override {
    return answer();
  }
};

// The server's end of a socket pair as an http_connection, and the client's end.
struct one_connection {
  boost::asio::io_context& context;
  peer_ptr from = std::make_shared<peer>("192.0.2.1", false, false);
  std::atomic<std::uint64_t> open{0};
  std::shared_ptr<memory_charge> memory;
  std::weak_ptr<http_connection> connection;
  int client = -1;
  std::string received;

  one_connection(const http_home& home, memory_budget& budget) : context(home.context) {
    std::array<int, 2> ends{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0);
    net::stream_socket socket(context.get_executor());
    socket.assign(boost::asio::generic::stream_protocol(AF_UNIX, 0), ends[0]);
    client = ends[1];
    auto ticket = std::make_shared<peer_ticket>(open, from, &budget, own_buffers);
    memory = ticket->memory();
    const auto made = std::make_shared<http_connection>(home, std::move(socket), from, std::move(ticket));
    made->start();
    connection = made;
  }
  ~one_connection() {
    if (const auto last = connection.lock()) last->abort();
    ::close(client);
    run();
  }

  void run() {
    context.restart();
    context.poll();
  }
  void send(const std::string& bytes) const {
    REQUIRE(::send(client, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size()));
  }
  // False: the server has closed, or the connection broke.
  bool receive() {
    std::array<char, 4096> piece{};
    for (;;) {
      const ssize_t n = ::recv(client, piece.data(), piece.size(), MSG_DONTWAIT);
      if (n < 0) return errno == EAGAIN;
      if (n == 0) return false;
      received.append(piece.data(), static_cast<std::size_t>(n));
    }
  }
  void wait_until(const std::function<bool()>& holds_now) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!holds_now() && std::chrono::steady_clock::now() < deadline) {
      run();
      std::this_thread::yield();
    }
    REQUIRE(holds_now());
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

struct served_connection {
  boost::asio::io_context context;
  connection_set connections;
  http_counts counts;
  chosen_answers handler;
  memory_budget budget;
  one_connection at{{.context = context, .connections = connections, .counts = counts, .handler = handler}, budget};

  // What the handler keeps may hold the connection.
  ~served_connection() {
    handler.answer = nullptr;
    later_ = nullptr;
    at.run();
  }

  // A response that another part of the daemon makes, once the test calls the callback.
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
  served.at.send(get(fields));
  served.at.wait_until([&] { return *later != nullptr; });
  CHECK(served.at.memory->bytes() > own_buffers + 3'000 * 96);
  (*later)(respond_text("late"));
  served.at.wait_for("late");
  CHECK(served.at.memory->bytes() == own_buffers);
}

TEST_CASE("a_body_is_charged_until_its_request_is_answered", "[http]") {
  served_connection served;
  served.handler.limit = [] { return body_limit{.max_bytes = 1 << 20, .ticket = nullptr, .token = nullptr}; };
  const auto* later = served.defer();
  served.at.send(post("Content-Length: 100000\r\n", std::string(100'000, 'x')));
  served.at.wait_until([&] { return *later != nullptr; });
  CHECK(served.at.memory->bytes() >= own_buffers + 100'000);
  (*later)(respond_text("late"));
  served.at.wait_for("late");
  CHECK(served.at.memory->bytes() == own_buffers);
}

TEST_CASE("an_accepted_request_without_a_body_leaves_the_share_of_strangers", "[http]") {
  const auto closed_after = [](const std::string& target) {
    offline_daemon daemon;
    engine_thread& thread = daemon.engine.threads.front();
    router routes(thread, daemon.services);
    const http_home home{.context = thread.context(),
                         .connections = thread.connections(),
                         .counts = thread.counts().http,
                         .handler = routes};
    daemon.memory.set_limit(8 * (2 * own_buffers + 8'192));  // so that two strangers have room, and three have not
    one_connection first(home, daemon.memory), second(home, daemon.memory);
    for (one_connection* each : {&first, &second}) {
      each->send("GET " + target + " HTTP/1.1\r\nHost: 127.0.0.1:7344\r\n\r\n");
      each->wait_for("\r\n\r\n");
    }
    const one_connection third(home, daemon.memory);
    return daemon.memory.closed();
  };
  CHECK(closed_after("/v1/mode") == 0);
  CHECK(closed_after("/nowhere") == 1);
  CHECK(closed_after("/healthz") == 1);  // anyone may ask that
}

TEST_CASE("a_trailer_or_the_head_of_a_chunk_without_end_is_refused", "[http]") {
  const std::string endless(2 * http_connection::max_buffer_bytes, 'x');
  for (const std::string& body : {"0\r\nname: " + endless, "1;" + endless}) {
    served_connection served;
    served.handler.limit = [] { return body_limit{.max_bytes = 100, .ticket = nullptr, .token = nullptr}; };
    served.at.send(post("Transfer-Encoding: chunked\r\n", body));
    served.at.wait_for("HTTP/1.1 400");
    served.at.wait_for_end();
  }
}

TEST_CASE("a_header_may_come_in_pieces_and_two_may_come_at_once", "[http]") {
  served_connection served;
  for (const char c : get() + get()) {
    served.at.send(std::string(1, c));
    served.at.run();
  }
  served.at.send(get() + get());
  served.at.wait_until([&] { return served.counts.requests.value() == 4; });
}

TEST_CASE("what_is_no_request_is_refused_at_once", "[http]") {
  for (const std::string& text : {std::string("\x16\x03\x01", 3), std::string("1"), std::string("GET / HTTP/1.1\n\n"),
                                  get(std::string(17'000, 'a'))}) {
    served_connection served;
    served.at.send(text);
    served.at.wait_for_end();
    CHECK(served.at.received.starts_with("HTTP/1.1 4"));
  }
}

// ---- places

TEST_CASE("a_connection_that_closes_while_its_response_is_made_gives_its_places_back", "[http]") {
  served_connection served;
  const auto* later = served.defer();
  served.at.send(get());
  served.at.wait_until([&] { return *later != nullptr; });
  CHECK(served.at.open == 1);
  served.at.connection.lock()->shut_down();
  CHECK(served.at.open == 0);
  CHECK(served.at.from->open == 0);
  (*later)(respond_text("too late"));
  served.at.wait_for_end();
  CHECK(served.at.received.empty());
}

TEST_CASE("a_client_that_leaves_while_its_response_is_made_gives_its_places_back", "[http]") {
  served_connection served;
  std::atomic<std::uint64_t> responses{0};
  served.handler.answer = [&, later = std::make_shared<std::vector<response_callback>>()]() -> request_result {
    return deferred_response{.start = [later](response_callback done) { later->push_back(std::move(done)); },
                             .place = std::make_shared<counted_ticket>(responses)};
  };
  served.at.send(get());
  served.at.wait_until([&] { return responses == 1; });
  CHECK(served.at.open == 1);
  ::shutdown(served.at.client, SHUT_RDWR);
  served.at.wait_until([&] { return responses == 0; });
  CHECK(served.at.open == 0);
}

TEST_CASE("a_client_that_only_stops_sending_still_gets_its_response", "[http]") {
  served_connection served;
  const auto* later = served.defer();
  served.at.send(get());
  served.at.wait_until([&] { return *later != nullptr; });
  ::shutdown(served.at.client, SHUT_WR);
  for (int i = 0; i < 100; ++i) served.at.run();
  (*later)(respond_text("answered"));
  served.at.wait_for("answered");
  served.at.wait_for_end();
}

TEST_CASE("a_client_that_sends_its_next_request_early_still_gets_both_responses", "[http]") {
  served_connection served;
  const auto* later = served.defer();
  served.at.send(get());
  served.at.wait_until([&] { return *later != nullptr; });
  served.at.send(get());
  served.at.run();
  const response_callback first = *later;
  served.handler.answer = [] { return respond_text("second"); };
  first(respond_text("first"));
  served.at.wait_for("second");
  CHECK(served.at.received.find("first") < served.at.received.find("second"));
}

TEST_CASE("the_place_of_a_body_is_free_once_the_request_is_answered", "[http]") {
  served_connection served;
  std::atomic<std::uint64_t> bodies{0};
  served.handler.limit = [&] {
    return body_limit{.max_bytes = 100, .ticket = std::make_shared<counted_ticket>(bodies), .token = nullptr};
  };
  const auto* later = served.defer();
  served.at.send(post("Content-Length: 2\r\n", "{}"));
  served.at.wait_until([&] { return *later != nullptr; });
  CHECK(bodies == 1);
  (*later)(respond_text(std::string(8 << 20, 'x')));  // more than the socket takes
  served.at.wait_until([&] { return bodies == 0; });
}

// ---- after a refusal

TEST_CASE("after_a_response_429_the_connection_continues", "[http]") {
  served_connection served;
  bool is_first = true;
  served.handler.answer = [&]() -> request_result {
    if (std::exchange(is_first, false)) return too_many("slow down");
    return respond_text("answered");
  };
  served.at.send(get() + get());
  served.at.wait_for("answered");
  CHECK(served.at.received.find("429 Too Many Requests") != std::string::npos);
  CHECK(served.at.received.find("Retry-After: 1") != std::string::npos);
  CHECK(served.at.receive());
}

TEST_CASE("a_response_may_close_the_connection", "[http]") {
  served_connection served;
  served.handler.answer = []() -> request_result {
    http_response response = respond_text("guess again");
    response.keep_alive(false);
    return response;
  };
  served.at.send(get() + get());
  served.at.wait_for_end();
  CHECK(served.counts.requests.value() == 1);
}

TEST_CASE("a_small_refused_body_is_skipped_and_the_connection_continues", "[http]") {
  const std::string chunked = "5\r\nhello\r\n0\r\n\r\n";
  for (const std::string& refused :
       {post("Content-Length: 5\r\n", "hello"), post("Transfer-Encoding: chunked\r\n", chunked)}) {
    served_connection served;
    served.at.send(refused + get());
    served.at.wait_for("answered");
    CHECK(served.at.received.starts_with("HTTP/1.1 503"));
    CHECK(served.at.received.find("Connection: close") == std::string::npos);
    CHECK(served.counts.requests.value() == 2);
    CHECK(served.at.receive());
  }
}

TEST_CASE("a_refused_body_that_is_large_or_may_never_come_closes_the_connection", "[http]") {
  const std::string piece = "10000\r\n" + std::string(0x10000, 'x') + "\r\n";
  for (const std::string& refused :
       {post("Content-Length: 100000\r\n", ""), post("Content-Length: 5\r\nExpect: 100-continue\r\n", ""),
        post("Transfer-Encoding: chunked\r\n", piece + piece),
        post("Connection: close\r\nContent-Length: 5\r\n", "")}) {
    served_connection served;
    served.at.send(refused);
    served.at.wait_for("no room");
    CHECK(served.at.received.starts_with("HTTP/1.1 503"));
    CHECK(served.at.received.find("Connection: close") != std::string::npos);
    served.at.wait_for_end();
  }
}

TEST_CASE("a_refusal_waits_at_most_two_seconds_for_the_body_and_keeps_none_of_it", "[http]") {
  served_connection served;
  served.at.send(post("Content-Length: 60000\r\n", std::string(50'000, 'x')));
  served.at.wait_for("no room");
  CHECK(served.budget.used() < own_buffers + 32'768);
  CHECK(served.at.received.find("Connection: close") != std::string::npos);
  served.at.wait_for_end();
}

TEST_CASE("a_client_that_sends_all_of_a_large_refused_body_still_gets_the_response", "[http]") {
  served_connection served;
  std::size_t sent = 0;
  std::thread client([&] {
    const std::string bytes = post("Content-Length: 4000000\r\n", std::string(4'000'000, 'x'));
    while (sent < bytes.size()) {
      const ssize_t n = ::send(served.at.client, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (n < 0) return;
      sent += static_cast<std::size_t>(n);
    }
    ::shutdown(served.at.client, SHUT_WR);
  });
  served.at.wait_until([&] { return served.at.connection.expired(); });
  client.join();
  CHECK(sent > 4'000'000);
  CHECK_FALSE(served.at.receive());
  CHECK(served.at.received.find("no room") != std::string::npos);
}

}  // namespace digd::daemon
