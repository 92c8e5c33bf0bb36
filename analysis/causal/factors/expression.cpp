#include "analysis/causal/factors/expression.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <functional>
#include <vector>

#include "analysis/causal/factors/builtin.h"
#include "analysis/causal/factors/series.h"

namespace digd::causal {

struct expression::node {
  // Evaluates to a number; none if a label or metric is missing.
  std::function<std::optional<double>(const run_facts&)> number;
};

namespace {

using node = expression::node;
using value_of = std::function<std::optional<double>(const run_facts&)>;

double finite(double x) { return std::isfinite(x) ? x : 0; }

// Recursive descent over the text. Keeps the first error with its place.
class parser {
 public:
  parser(std::string_view text, std::string& problem) : text_(text), problem_(problem) {}

  value_of run() {
    if (text_.size() > max_bytes) return fail("longer than 4096 bytes");
    value_of parsed = comparison(0);
    if (problem_.empty() && skip() < text_.size()) fail("something follows the expression");
    return problem_.empty() ? parsed : value_of{};
  }

 private:
  static constexpr std::size_t max_bytes = 4096, max_depth = 64;

  value_of fail(const std::string& text) {
    if (problem_.empty()) problem_ = text + ", at character " + std::to_string(at_ + 1);
    return [](const run_facts&) { return std::optional<double>(); };
  }

  std::size_t skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
    return at_;
  }

  bool accept(std::string_view token) {
    skip();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }

  static value_of both(value_of a, value_of b, double (*operation)(double, double)) {
    return [a = std::move(a), b = std::move(b), operation](const run_facts& f) -> std::optional<double> {
      const std::optional<double> x = a(f), y = b(f);
      if (!x || !y) return {};
      return finite(operation(*x, *y));
    };
  }

  value_of comparison(std::size_t depth) {
    if (depth > max_depth) return fail("nested too deep");
    value_of left = sum(depth);
    using compare = double (*)(double, double);
    static constexpr std::pair<std::string_view, compare> known[] = {
        {"<=", [](double a, double b) -> double { return a <= b; }},
        {">=", [](double a, double b) -> double { return a >= b; }},
        {"==", [](double a, double b) -> double { return a == b; }},
        {"!=", [](double a, double b) -> double { return a != b; }},
        {"<", [](double a, double b) -> double { return a < b; }},
        {">", [](double a, double b) -> double { return a > b; }}};
    for (const auto& [token, operation] : known) {
      if (accept(token)) return both(std::move(left), sum(depth), operation);
    }
    return left;
  }

  value_of sum(std::size_t depth) {
    value_of left = product(depth);
    while (problem_.empty()) {
      if (accept("+")) left = both(std::move(left), product(depth), [](double a, double b) { return a + b; });
      else if (accept("-")) left = both(std::move(left), product(depth), [](double a, double b) { return a - b; });
      else break;
    }
    return left;
  }

  value_of product(std::size_t depth) {
    value_of left = power(depth);
    while (problem_.empty()) {
      if (accept("*")) left = both(std::move(left), power(depth), [](double a, double b) { return a * b; });
      else if (accept("/"))
        left = both(std::move(left), power(depth), [](double a, double b) { return b == 0 ? 0 : a / b; });
      else break;
    }
    return left;
  }

  value_of power(std::size_t depth) {
    if (depth > max_depth) return fail("nested too deep");
    if (accept("-")) {
      return both([](const run_facts&) { return std::optional<double>(0.0); }, power(depth + 1),
                  [](double a, double b) { return a - b; });
    }
    value_of base = atom(depth + 1);
    if (!accept("^")) return base;
    return both(std::move(base), power(depth + 1), [](double a, double b) { return std::pow(a, b); });
  }

  static bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

  value_of atom(std::size_t depth) {
    skip();
    if (accept("(")) {
      value_of inner = comparison(depth);
      return accept(")") ? inner : fail("a ) is missing");
    }
    if (at_ < text_.size() && (std::isdigit(static_cast<unsigned char>(text_[at_])) || text_[at_] == '.'))
      return constant();
    const std::string name = word();
    if (name.empty()) return fail("expected a number, a name or a (");
    if ((name == "label" || name == "metric") && accept(".")) return field(name == "label");
    if (accept("(")) return call(name, depth);
    if (const builtin_factor* known = find_builtin(name)) {
      return [known](const run_facts& f) { return std::optional<double>(known->of(f)); };
    }
    if (find_series(name))
      return fail("'" + name + "' is a series: reduce it to a number, for example mean(" + name + ")");
    return fail("'" + name + "' is not known");
  }

  std::string word() {
    skip();
    const std::size_t from = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    return std::string(text_.substr(from, at_ - from));
  }

  value_of constant() {
    double x = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), x);
    if (error != std::errc() || !std::isfinite(x)) return fail("not a number");
    at_ = static_cast<std::size_t>(end - text_.data());
    return [x](const run_facts&) { return std::optional<double>(x); };
  }

  std::optional<std::string> quoted() {
    if (!accept("\"")) return {};
    const std::size_t end = text_.find('"', at_);
    if (end == std::string_view::npos) return {};
    std::string out(text_.substr(at_, end - at_));
    at_ = end + 1;
    return out;
  }

  value_of field(bool label) {
    std::string name = quoted().value_or("");
    if (name.empty()) name = word();
    if (name.empty()) return fail("expected the name of a label or metric");
    if (!label) {
      return [name](const run_facts& f) -> std::optional<double> {
        const auto at = f.metrics.find(name);
        return at == f.metrics.end() ? std::optional<double>() : at->second;
      };
    }
    return [name](const run_facts& f) -> std::optional<double> {
      const auto at = f.labels.find(name);
      double x = 0;
      if (at == f.labels.end()) return {};
      const char* end = at->second.data() + at->second.size();
      const auto [stop, error] = std::from_chars(at->second.data(), end, x);
      return error == std::errc() && stop == end && std::isfinite(x) ? std::optional<double>(x) : std::nullopt;
    };
  }

  value_of call(const std::string& name, std::size_t depth) {
    if (const graph_measure of = find_graph_measure(name)) {
      if (!accept(")")) return fail("'" + name + "' takes no argument");
      return [of](const run_facts& f) { return std::optional<double>(finite(of(f))); };
    }
    if (name == "share") {
      const std::optional<std::string> agent = quoted();
      if (!agent || !accept(")")) return fail("share takes an agent's name in quotes");
      return
          [agent_name = *agent](const run_facts& f) { return std::optional<double>(activation_share(f, agent_name)); };
    }
    if (const measure of = find_measure(name); of.of != nullptr) {
      const std::size_t before = at_;
      if (const series_maker make = find_series(word())) return measured(of, make);
      at_ = before;
    }
    return function(name, depth);
  }

  value_of measured(const measure& of, series_maker make) {
    double argument = 0;
    if (of.takes_argument) {
      if (!accept(",")) return fail("a number after the series is missing");
      skip();
      value_of number = constant();
      if (!problem_.empty()) return number;
      argument = number(run_facts{}).value_or(0);
    }
    if (!accept(")")) return fail("a ) is missing");
    return [of = of.of, make, argument](const run_facts& f) {
      return std::optional<double>(finite(of(make(f), argument)));
    };
  }

  value_of function(const std::string& name, std::size_t depth) {
    std::vector<value_of> arguments;
    do arguments.push_back(comparison(depth + 1));
    while (problem_.empty() && accept(","));
    if (!problem_.empty()) return arguments.front();
    if (!accept(")")) return fail("a ) is missing");
    using unary = double (*)(double);
    static constexpr std::pair<std::string_view, unary> singles[] = {
        {"abs", [](double x) { return std::abs(x); }},
        {"log", [](double x) { return std::copysign(std::log1p(std::abs(x)), x); }},
        {"sqrt", [](double x) { return x > 0 ? std::sqrt(x) : 0; }},
        {"exp", [](double x) { return std::exp(std::min(x, 700.0)); }}};
    for (const auto& [known, operation] : singles) {
      if (name != known) continue;
      if (arguments.size() != 1) return fail(name + " takes one number");
      return [of = arguments[0], operation = operation](const run_facts& f) -> std::optional<double> {
        const std::optional<double> x = of(f);
        return x ? std::optional<double>(finite(operation(*x))) : std::nullopt;
      };
    }
    if ((name == "min" || name == "max") && arguments.size() == 2) {
      return name == "min" ? both(arguments[0], arguments[1], [](double a, double b) { return std::min(a, b); })
                           : both(arguments[0], arguments[1], [](double a, double b) { return std::max(a, b); });
    }
    if (name == "if" && arguments.size() == 3) {
      return [c = arguments[0], a = arguments[1], b = arguments[2]](const run_facts& f) -> std::optional<double> {
        const std::optional<double> condition = c(f);
        if (!condition) return {};
        return *condition != 0 ? a(f) : b(f);
      };
    }
    return fail("'" + name + "' is not a function of " + std::to_string(arguments.size()) + " numbers");
  }

  std::string_view text_;
  std::string& problem_;
  std::size_t at_ = 0;
};

}  // namespace

expression::expression(std::unique_ptr<node> root) : root_(std::move(root)) {}
expression::~expression() = default;

std::shared_ptr<const expression> expression::parse(std::string_view text, std::string& problem) {
  problem.clear();
  value_of of = parser(text, problem).run();
  if (!problem.empty() || !of) return nullptr;
  auto root = std::make_unique<node>();
  root->number = std::move(of);
  return std::shared_ptr<const expression>(new expression(std::move(root)));
}

std::optional<double> expression::value(const run_facts& of) const { return root_->number(of); }

}  // namespace digd::causal
