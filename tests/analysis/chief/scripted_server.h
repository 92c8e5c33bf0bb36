// A chat endpoint on 127.0.0.1 that answers from a script, one reply a request, and records the requests.
#pragma once

#include <atomic>
#include <boost/asio.hpp>
#include <boost/json.hpp>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace digd::tests {

struct scripted_reply {
  std::string body;
  int status = 200;
  std::string headers = {};
  bool hang = false;     // sends nothing until the client gives up
  bool cut_off = false;  // closes the connection in the middle of the body
};

inline std::string completion(const std::string& text, const char* finish = "stop") {
  namespace json = boost::json;
  return json::serialize(json::object{
      {"choices", json::array{json::object{{"message", json::object{{"role", "assistant"}, {"content", text}}},
                                           {"finish_reason", finish}}}},
      {"usage", json::object{{"prompt_tokens", 100}, {"completion_tokens", 10}}}});
}

class scripted_server {
 public:
  explicit scripted_server(std::deque<scripted_reply> script)
      : script_(std::move(script)), acceptor_(io_, {boost::asio::ip::make_address("127.0.0.1"), 0}) {
    port_ = acceptor_.local_endpoint().port();
    thread_ = std::thread([this] { serve(); });
  }
  ~scripted_server() {
    stopping_ = true;
    boost::system::error_code ignored;
    boost::asio::ip::tcp::socket wake(io_);
    wake.connect({boost::asio::ip::make_address("127.0.0.1"), port_}, ignored);
    thread_.join();
  }

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/v1"; }
  std::size_t requests() {
    const std::lock_guard lock(mutex_);
    return heads_.size();
  }
  std::string head(std::size_t i) {
    const std::lock_guard lock(mutex_);
    return heads_.at(i);
  }
  boost::json::object body(std::size_t i) {
    const std::lock_guard lock(mutex_);
    return boost::json::parse(bodies_.at(i)).as_object();
  }
  // The user's message of a request.
  std::string prompt(std::size_t i) {
    return std::string(body(i).at("messages").as_array().at(1).as_object().at("content").as_string());
  }

 private:
  void serve() {
    while (!stopping_) {
      boost::asio::ip::tcp::socket socket(io_);
      boost::system::error_code failed;
      acceptor_.accept(socket, failed);
      if (failed || stopping_) return;
      answer(socket);
    }
  }

  void answer(boost::asio::ip::tcp::socket& socket) {
    boost::system::error_code failed;
    std::string data;
    const std::size_t head = boost::asio::read_until(socket, boost::asio::dynamic_buffer(data), "\r\n\r\n", failed);
    if (failed) return;
    const std::size_t at = data.find("Content-Length: ");
    const std::size_t length = at == std::string::npos ? 0 : std::stoul(data.substr(at + 16));
    if (data.size() < head + length) {
      boost::asio::read(socket, boost::asio::dynamic_buffer(data),
                        boost::asio::transfer_exactly(head + length - data.size()), failed);
    }
    scripted_reply reply{"", 500};
    {
      const std::lock_guard lock(mutex_);
      heads_.push_back(data.substr(0, head));
      bodies_.push_back(data.substr(head));
      if (!script_.empty()) {
        reply = script_.front();
        script_.pop_front();
      }
    }
    if (reply.hang) {
      char text;
      boost::asio::read(socket, boost::asio::buffer(&text, 1), failed);
      return;
    }
    std::string out = "HTTP/1.1 " + std::to_string(reply.status) +
                      " x\r\nConnection: close\r\nContent-Length: " + std::to_string(reply.body.size()) + "\r\n" +
                      reply.headers + "\r\n" + reply.body;
    if (reply.cut_off) out.erase(out.size() - reply.body.size() / 2);
    boost::asio::write(socket, boost::asio::buffer(out), failed);
    socket.shutdown(boost::asio::ip::tcp::socket::shutdown_both, failed);
  }

  std::deque<scripted_reply> script_;
  std::vector<std::string> heads_, bodies_;
  std::mutex mutex_;
  boost::asio::io_context io_;
  boost::asio::ip::tcp::acceptor acceptor_;
  unsigned short port_ = 0;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace digd::tests
