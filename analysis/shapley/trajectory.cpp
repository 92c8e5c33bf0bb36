#include "analysis/shapley/trajectory.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <concepts>

#include "base/json_writer.h"

namespace digd::shapley {

namespace {

using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;

constexpr std::string_view format_name = "digd.trajectory";

// ---- writing

class writer {
 public:
  template <class T>
  explicit writer(std::string_view scenario, const T& t) {
    to_.open_object().key("format").text(format_name).key("version").integer(1).key("scenario").text(scenario);
    to_.key("synthetic").boolean(t.synthetic).key("seed").integer(t.seed);
    to_.new_line().key("agents").integer(t.agents).key("steps").integer(t.steps);
    number(to_.key("threshold"), t.threshold);
  }
  template <class Items>
  void list(std::string_view name, const Items& items) {
    open(name);
    for (const auto& item : items) number(to_, item);
    to_.close_array();
  }
  // A matrix by rows: `width` items each.
  template <class Items>
  void rows(std::string_view name, const Items& items, std::size_t width) {
    matrix(name, items.size(), width, [&](std::size_t i) { number(to_, items[i]); });
  }
  // `write_cell(i)` writes the value of cell i.
  template <class Write>
  void matrix(std::string_view name, std::size_t cells, std::size_t width, Write write_cell) {
    open(name);
    for (std::size_t i = 0; i < cells; ++i) {
      if (i % width == 0) {
        if (i > 0) to_.close_array().new_line();
        to_.open_array();
      }
      write_cell(i);
    }
    if (cells > 0) to_.close_array();
    to_.close_array();
  }
  json_writer& open(std::string_view name) { return to_.new_line().key(name).open_array(); }
  json_writer& json() { return to_; }
  std::string done() {
    to_.close_object();
    return out_ + '\n';
  }

 private:
  // Exactly as {fmt} writes it, so that a stored trajectory stays the same.
  template <class T>
  static void number(json_writer& to, T value) {
    if constexpr (std::floating_point<T>) to.raw(fmt::format("{}", value));
    else to.integer(+value);
  }

  std::string out_;
  json_writer to_{out_};
};

// ---- reading

class reader {
 public:
  explicit reader(const object& top) : top_(top) {}

  std::uint64_t count(const char* name) {
    std::uint64_t n = 0;
    if (top_[name].get(n) != simdjson::SUCCESS) fault(name, "a whole number");
    return n;
  }
  double number(const char* name) {
    double x = 0;
    if (top_[name].get(x) != simdjson::SUCCESS) fault(name, "a number");
    return x;
  }
  bool flag(const char* name) {
    bool x = false;
    if (top_[name].get(x) != simdjson::SUCCESS) fault(name, "true or false");
    return x;
  }
  // The elements of a list; records a fault if the member is not a list.
  std::vector<element> list(const char* name) {
    array a;
    std::vector<element> elements;
    if (top_[name].get(a) != simdjson::SUCCESS) {
      fault(name, "a list");
      return elements;
    }
    for (const element e : a) elements.push_back(e);
    return elements;
  }
  template <class T>
  void numbers(const char* name, std::vector<T>& to) {
    if (!problem_.empty()) return;
    array a;
    if (top_[name].get(a) != simdjson::SUCCESS) return fault(name, "a list");
    numbers(name, a, to);
  }
  template <class T>
  void rows(const char* name, std::vector<T>& to) {
    if (!problem_.empty()) return;
    for (const element row : list(name)) {
      array a;
      if (row.get(a) != simdjson::SUCCESS) return fault(name, "a list of lists");
      numbers(name, a, to);
    }
  }
  template <class T>
  void numbers(const char* name, const array& a, std::vector<T>& to) {
    for (const element e : a) {
      if constexpr (std::is_same_v<T, double>) {
        double x;
        if (e.get(x) != simdjson::SUCCESS) return fault(name, "numbers");
        to.push_back(x);
      } else {
        std::int64_t x;
        if (e.get(x) != simdjson::SUCCESS || x < 0 || x > std::numeric_limits<T>::max())
          return fault(name, "whole numbers from 0");
        to.push_back(static_cast<T>(x));
      }
    }
  }
  void fault(const char* name, const char* expected) {
    if (problem_.empty()) problem_ = fmt::format("{}: expected {}", name, expected);
  }
  const std::string& problem() const { return problem_; }

  template <class T>
  void common(T& t) {
    t.agents = count("agents");
    t.steps = count("steps");
    t.threshold = number("threshold");
    t.synthetic = flag("synthetic");
    t.seed = count("seed");
    if (t.agents > 1'000'000 || t.steps > 100'000) fault("agents, steps", "at most 1000000 and 100000");
  }

 private:
  const object& top_;
  std::string problem_;
};

void read(reader& from, econ_trajectory& t) {
  from.numbers("skill", t.skill);
  from.rows("works", t.works);
  from.rows("rate", t.rate);
  from.rows("order", t.order);
  from.rows("skill_draw", t.skill_draw);
  from.numbers("price_draw", t.price_draw);
}

void read(reader& from, twin_trajectory& t) {
  std::vector<std::int32_t> cents;
  from.numbers("first_cents", cents);
  if (from.problem().empty() && cents.size() != stock_count) return from.fault("first_cents", "ten prices");
  if (!from.problem().empty()) return;
  std::copy(cents.begin(), cents.end(), t.first_cents.begin());
  for (const element e : from.list("orders")) {
    array a;
    std::vector<std::int32_t> x;
    if (e.get(a) != simdjson::SUCCESS) return from.fault("orders", "lists [day, user, stock, sell, cents, lots]");
    from.numbers("orders", a, x);
    if (x.size() != 6) return from.fault("orders", "lists [day, user, stock, sell, cents, lots]");
    if (x[0] > 65'535 || x[1] > 65'535 || x[2] > 255 || x[3] > 1) return from.fault("orders", "indices in range");
    t.orders.push_back({static_cast<std::uint16_t>(x[0]), static_cast<std::uint16_t>(x[1]),
                        static_cast<std::uint8_t>(x[2]), static_cast<std::uint8_t>(x[3]), x[4], x[5]});
  }
  std::stable_sort(t.orders.begin(), t.orders.end(),
                   [](const twin_order& a, const twin_order& b) { return a.day < b.day; });
}

// posts: rows of beliefs, null where an agent is silent. views: rows of lists [author, reaction, author, reaction, …]
// with reactions -1, 0 or 1.
void read(reader& from, social_trajectory& t) {
  from.numbers("belief", t.belief);
  for (const element row : from.list("posts")) {
    array a;
    if (row.get(a) != simdjson::SUCCESS) return from.fault("posts", "a list of lists");
    for (const element e : a) {
      double p = 0;
      const bool silent = e.is_null();
      if (!silent && e.get(p) != simdjson::SUCCESS) return from.fault("posts", "a belief, or null");
      t.posts.push_back(silent ? 0 : 1);
      t.post_belief.push_back(p);
    }
  }
  t.view_begin.push_back(0);
  std::vector<std::int64_t> seen;  // of one agent in one step
  for (const element row : from.list("views")) {
    array agents;
    if (row.get(agents) != simdjson::SUCCESS) return from.fault("views", "lists of lists");
    for (const element e : agents) {
      array list;
      if (e.get(list) != simdjson::SUCCESS) return from.fault("views", "lists [author, reaction, …]");
      seen.clear();
      for (const element item : list) {
        std::int64_t number;
        if (item.get(number) != simdjson::SUCCESS)
          return from.fault("views", "lists [author, reaction, …], reaction -1, 0 or 1");
        seen.push_back(number);
      }
      if (seen.size() % 2 != 0) return from.fault("views", "lists [author, reaction, …]");
      for (std::size_t k = 0; k < seen.size(); k += 2) {
        const std::int64_t author = seen[k], option = seen[k + 1];
        if (author < 0 || author > 1'000'000 || option < -1 || option > 1) {
          return from.fault("views", "lists [author, reaction, …], reaction -1, 0 or 1");
        }
        t.views.push_back({static_cast<std::uint32_t>(author), option > 0   ? reacts::like
                                                               : option < 0 ? reacts::dislike
                                                                            : reacts::none});
      }
      t.view_begin.push_back(static_cast<std::uint32_t>(t.views.size()));
    }
  }
}

template <class Trajectory, class Make>
trajectory_result build(const object& top, Make make) {
  trajectory_result out;
  Trajectory t;
  reader from(top);
  from.common(t);
  if (from.problem().empty()) read(from, t);
  out.problem = from.problem().empty() ? t.fault() : from.problem();
  if (out.problem.empty()) out.game = make(std::move(t));
  return out;
}

}  // namespace

bool is_trajectory(std::string_view text) { return text.substr(0, 400).find(format_name) != std::string_view::npos; }

trajectory_result read_trajectory(std::string_view text) {
  simdjson::dom::parser parser;
  const simdjson::padded_string padded(text);
  object top;
  if (parser.parse(padded).get(top) != simdjson::SUCCESS) return {"it is not a JSON object", nullptr};
  std::string_view format, scenario;
  std::uint64_t version = 0;
  if (top["format"].get(format) != simdjson::SUCCESS || format != format_name)
    return {"format: expected digd.trajectory", nullptr};
  if (top["version"].get(version) != simdjson::SUCCESS || version != 1) return {"version: expected 1", nullptr};
  if (top["scenario"].get(scenario) != simdjson::SUCCESS) scenario = "";
  if (scenario == "econagent") return build<econ_trajectory>(top, make_econ_game);
  if (scenario == "twinmarket") return build<twin_trajectory>(top, make_twin_game);
  if (scenario == "socialnetwork") return build<social_trajectory>(top, make_social_game);
  return {"scenario: expected econagent, twinmarket or socialnetwork", nullptr};
}

std::string to_json(const econ_trajectory& t) {
  writer to("econagent", t);
  to.list("skill", t.skill);
  to.rows("works", t.works, t.agents);
  to.rows("rate", t.rate, t.agents);
  to.rows("order", t.order, t.agents);
  to.rows("skill_draw", t.skill_draw, t.agents);
  to.list("price_draw", t.price_draw);
  return to.done();
}

std::string to_json(const twin_trajectory& t) {
  writer to("twinmarket", t);
  to.list("first_cents", t.first_cents);
  json_writer& orders = to.open("orders");
  for (std::size_t k = 0; k < t.orders.size(); ++k) {
    const twin_order& o = t.orders[k];
    if (k > 0) orders.new_line();
    orders.open_array().integer(o.day).integer(o.user).integer(o.stock).integer(+o.sell);
    orders.integer(o.cents).integer(o.lots).close_array();
  }
  orders.close_array();
  return to.done();
}

std::string to_json(const social_trajectory& t) {
  writer to("socialnetwork", t);
  to.list("belief", t.belief);
  json_writer& json = to.json();
  to.matrix("posts", t.posts.size(), t.agents,
            [&](std::size_t c) { json.raw(t.posts[c] ? fmt::format("{}", t.post_belief[c]) : "null"); });
  to.matrix("views", t.posts.size(), t.agents, [&](std::size_t c) {
    json.open_array();
    for (std::uint32_t v = t.view_begin[c]; v < t.view_begin[c + 1]; ++v) {
      const int option = t.views[v].reacts == reacts::like ? 1 : t.views[v].reacts == reacts::dislike ? -1 : 0;
      json.integer(t.views[v].author).integer(option);
    }
    json.close_array();
  });
  return to.done();
}

generated generate(const scenario_request& request, bool with_json) {
  generated out;
  const auto build_from = [&](auto t, auto make) {
    out.problem = t.fault();
    if (!out.problem.empty()) return;
    if (with_json) out.json = to_json(t);
    out.game = make(std::move(t));
  };
  if (request.agents < 2 || request.steps < 4) {
    out.problem = "at least 2 agents and 4 steps";
  } else if (request.scenario == "econagent" && request.agents <= 10'000) {
    build_from(generate_econ(request.agents, request.steps, request.seed), make_econ_game);
  } else if (request.scenario == "twinmarket" && request.agents <= 250) {
    build_from(generate_twin(request.agents, request.steps, request.seed), make_twin_game);
  } else if (request.scenario == "socialnetwork" && request.agents <= 1'000'000) {
    build_from(generate_social(request.agents, request.steps, request.views, request.seed), make_social_game);
  } else {
    out.problem = "econagent (10000 agents at most), twinmarket (250) or socialnetwork (1000000)";
  }
  return out;
}

}  // namespace digd::shapley
