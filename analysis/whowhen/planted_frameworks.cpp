#include "analysis/whowhen/planted_frameworks.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "analysis/whowhen/dice.h"

namespace digd::whowhen {

namespace {

using text = std::string;

template <std::size_t N>
text any(dice& d, const char* const (&of)[N]) {
  return of[d.below(N)];
}

// Collects the steps of a run and marks the planted one.
class run_builder {
 public:
  run_builder(log_style style, std::uint64_t seed) : dice_(seed * 3 + static_cast<std::uint64_t>(style)) {
    out_.subset = log_styles[static_cast<std::size_t>(style)];
    out_.log.id = out_.subset + "/" + std::to_string(seed);
  }

  std::size_t add(const text& agent, const text& says) {
    chief::flat_step step;
    step.agent = agent;
    step.text = says;
    out_.log.steps.push_back(std::move(step));
    return out_.log.steps.size() - 1;
  }
  // Adds a step. `wrong`: it is the planted one.
  void act(bool wrong, const text& agent, const text& says) {
    const std::size_t at = add(agent, says);
    if (!wrong) return;
    out_.step = at;
    out_.agent = agent;
  }
  void ask(const text& question) {
    out_.log.question = out_.question_id = question;
    add("user", question);
  }

  // A number near `value` that differs from it.
  text other(std::size_t value) { return std::to_string(value + 1 + dice_.below(value / 2 + 7)); }
  text hedge() {
    return dice_.chance(15) ? any(dice_, {"I assume the defaults are fine. ", "This should be typical. "}) : text();
  }
  bool chance(std::size_t percent) { return dice_.chance(percent); }
  std::size_t below(std::size_t n) { return dice_.below(n); }
  template <std::size_t N>
  text pick(const char* const (&of)[N]) {
    return any(dice_, of);
  }

  labelled_log finish() {
    chief::recognise_forms(out_.log);
    return std::move(out_);
  }

 private:
  dice dice_;
  labelled_log out_;
};

// A software company: each role writes its document from the one before. One role gets a requirement wrong, drops it,
// or approves what it has not run.
labelled_log metagpt(std::uint64_t seed) {
  run_builder run(log_style::metagpt, seed);
  const text product = run.pick({"snake game", "expense tracker", "tile puzzle", "typing trainer", "seat planner"});
  const text object = run.pick({"Board", "Ledger", "Grid", "Lesson", "Hall"});
  const std::size_t width = 12 + run.below(30), limit = 50 + run.below(400), port = 8000 + run.below(900);
  const text w = std::to_string(width), l = std::to_string(limit);
  enum role { product_manager, architect, project_manager, engineer, tester };
  const std::size_t culprit = run.below(5);
  const bool drops = run.chance(30);  // the culprit leaves the requirement out instead of changing it
  run.ask("Write a " + product + ". The " + object + " is " + w + " wide and keeps at most " + l +
          " entries. It must save them on exit.");
  text width_now = w, limit_now = l;
  const auto corrupt = [&](std::size_t who) {
    if (culprit != who) return false;
    if (run.chance(50)) limit_now = drops ? text() : run.other(limit);
    else width_now = drops ? text() : run.other(width);
    return true;
  };
  const auto size = [&] {
    return (width_now.empty() ? text() : "width " + width_now + "\n") +
           (limit_now.empty() ? text() : "at most " + limit_now + " entries\n");
  };
  bool wrong = corrupt(product_manager);
  run.act(wrong, "Alice (Product Manager)",
          "## Product Goals\n- a " + product + " that saves on exit\n## Requirement Pool\n" + size() +
              "## User Stories\nAs a user I want to continue where I stopped.\n" + run.hedge());
  wrong = corrupt(architect);
  run.act(wrong, "Bob (Architect)",
          "## Implementation approach\nWe use Python and serve it on port " + std::to_string(port) + ". " +
              run.hedge() + "\n## File list\nmain.py, " + object + ".py, storage.py\n## Data structures\nclass " +
              object + ": " + size());
  wrong = corrupt(project_manager);
  run.act(wrong, "Eve (Project Manager)",
          "## Task list\n1. " + object + ".py: " + size() + "2. storage.py: save on exit\n3. main.py\n" + run.hedge());
  const std::size_t rounds = 1 + run.below(3);
  for (std::size_t round = 0; round < rounds; ++round) {
    const bool last = round + 1 == rounds;
    wrong = round == 0 && corrupt(engineer);
    run.act(wrong, "Alex (Engineer)",
            fmt::format("## {}: {}.py\n```python\nclass {}:\n    width = {}\n    limit = {}\n```\n{}",
                        round == 0 ? "Code" : "Revised code", object, object, width_now.empty() ? "80" : width_now,
                        limit_now.empty() ? "None" : limit_now, run.hedge()));
    if (!last) {
      run.act(false, "Edward (QA Engineer)",
              "## Code review\n" +
                  run.pick({"The import of storage.py is missing.", "main.py does not call save().",
                            "The window does not close."}) +
                  " Please fix it.");
    }
  }
  const bool skips = culprit == tester;
  if (!skips) {
    run.act(false, "Edward (QA Engineer)", "## Unit tests\n```python\ndef test_save():\n    assert save()\n```");
    run.add("RunCode", "exitcode: 0 (execution succeeded)\nCode output: 1 passed");
    run.act(false, "Edward (QA Engineer)", "The tests of storage.py pass.");
  } else {
    run.act(true, "Edward (QA Engineer)",
            "I have not run the tests, but the code looks right: width " + run.other(width) + ", " + run.other(limit) +
                " entries. Approved.");
  }
  run.act(false, "Alice (Product Manager)",
          "The " + product + " is finished" +
              (run.chance(50) ? ": width " + (width_now.empty() ? "80" : width_now) : text()) + ".");
  return run.finish();
}

// A group chat about two figures: the next speaker does the next step, and an executor runs the code.
labelled_log ag2(std::uint64_t seed) {
  run_builder run(log_style::ag2, seed);
  const text city = run.pick({"Riga", "Porto", "Ghent", "Malmo", "Turku", "Graz"});
  const text measure = run.pick({"rainfall", "visitors", "ferry trips", "library loans"});
  const std::size_t first = 200 + run.below(700), second = first + 20 + run.below(300), year = 1990 + run.below(28);
  enum slip { fetch_invents, wrong_year, wrong_formula, misreports, critic_approves, slips };
  const std::size_t culprit = run.below(slips);
  const text from = std::to_string(year), to = std::to_string(year + 4);
  run.ask("By how much did the " + measure + " of " + city + " grow between " + from + " and " + to + "?");
  if (run.chance(70)) {
    run.act(false, "Planner",
            "Plan:\n1. The Engineer loads the table of " + measure +
                ".\n2. The Scientist computes the growth.\n3. The Critic "
                "checks it.");
  }
  if (run.chance(40)) run.act(false, "Critic", "The plan is fine. Please mind the units.");
  const text asked_year = culprit == wrong_year ? run.other(year) : from;
  const bool fails = culprit == fetch_invents || run.chance(30);
  run.act(culprit == wrong_year, "Engineer", "```python\nload('" + city + "', " + asked_year + ", " + to + ")\n```");
  text a = std::to_string(first), b = std::to_string(second);
  if (fails) {
    run.add("Executor", "exitcode: 1 (execution failed)\nCode output: FileNotFoundError: table.csv");
    if (culprit == fetch_invents) {
      a = run.other(first), b = run.other(second);
      run.act(true, "Engineer",
              run.pick({"The table is not there, so I use sample data: ", "From what I know the figures are: ",
                        "The records state: "}) +
                  a + " in " + from + " and " + b + " in " + to + ".");
    } else {
      run.act(false, "Engineer",
              "The path was wrong.\n```python\nload('data/" + city + "', " + asked_year + ", " + to + ")\n```");
    }
  }
  if (culprit != fetch_invents) {
    if (culprit == wrong_year) a = run.other(first);
    run.add("Executor",
            "exitcode: 0 (execution succeeded)\nCode output: " + asked_year + ": " + a + ", " + to + ": " + b);
    run.act(false, "Engineer", "The table gives " + a + " for " + asked_year + " and " + b + " for " + to + ".");
  }
  const std::size_t growth = second - first;
  text result = culprit == fetch_invents || culprit == wrong_year ? run.other(growth) : std::to_string(growth);
  if (culprit == wrong_formula) result = run.other(growth);
  if (run.chance(50)) {
    run.act(culprit == wrong_formula, "Scientist",
            (culprit == wrong_formula ? "```python\nprint(" + b + " / " + a + " * 100)\n```"
                                      : "```python\nprint(" + b + " - " + a + ")\n```"));
    run.add("Executor", "exitcode: 0 (execution succeeded)\nCode output: " + result);
    run.act(false, "Scientist", "The " + measure + " grew by " + result + ". " + run.hedge());
  } else {
    run.act(culprit == wrong_formula, "Scientist",
            "Taking " + a + " and " + b + ", the growth is therefore " + result + ". " + run.hedge());
  }
  if (culprit == critic_approves) {
    result = run.other(growth);
    run.act(true, "Critic", "I get " + result + " by hand, which I am sure of. Let us report that.");
  } else if (run.chance(60)) {
    run.act(false, "Critic", "That agrees with the data. " + run.hedge());
  }
  if (culprit == misreports) result = run.other(growth);
  run.act(culprit == misreports, "Planner", "The " + measure + " of " + city + " grew by " + result + ". TERMINATE");
  return run.finish();
}

// A supervisor routes between workers, each with tools whose results are JSON.
labelled_log langgraph(std::uint64_t seed) {
  run_builder run(log_style::langgraph, seed);
  const char* names[] = {"Lisbon", "Oslo", "Zagreb", "Bergen", "Leipzig", "Cork", "Varna", "Tartu"};
  const text good = run.pick({"bicycles", "batteries", "tents", "lamps"});
  const std::size_t n = 2 + run.below(3), offset = run.below(8);
  enum slip { wrong_place, misreads, ignores_error, finishes_early, miscounts, rewrites, slips };
  const std::size_t culprit = run.below(slips), bad_item = run.below(n);
  std::vector<std::size_t> stock;
  text places;
  for (std::size_t i = 0; i < n; ++i) {
    stock.push_back(30 + run.below(900));
    places += (i > 0 ? " and " : "") + text(names[(offset + i) % 8]);
  }
  run.ask("How many " + good + " are in stock in " + places + " together?");
  std::vector<text> known;
  std::size_t total = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const bool here = i == bad_item;
    const text place = names[(offset + i) % 8], elsewhere = names[(offset + n + i) % 8];
    if (culprit == finishes_early && here && i > 0) break;
    run.act(false, "supervisor", R"({"next": "researcher", "reason": "the stock of )" + place + R"( is missing"})");
    const text looked = culprit == wrong_place && here ? elsewhere : place;
    text value = std::to_string(stock[i]);
    if (culprit == wrong_place && here) value = run.other(stock[i]);
    run.act(culprit == wrong_place && here, "researcher",
            fmt::format(R"(tool_call: stock_of(city="{}", item="{}"))", looked, good));
    if ((culprit == ignores_error && here) || run.chance(15)) {
      run.add("tools", R"(failed: {"error": "503 service unavailable"})");
      if (culprit == ignores_error && here) {
        known.push_back(run.other(stock[i]));
        run.act(true, "researcher", fmt::format("There are about {} {} in {}.", known.back(), good, place));
        continue;
      }
      run.act(false, "researcher",
              fmt::format(R"(tool_call: stock_of(city="{}", item="{}", retry=true))", looked, good));
    }
    run.add("tools", fmt::format("exitcode: 0 (execution succeeded)\nCode output: {{\"city\": \"{}\", \"stock\": {}}}",
                                 looked, value));
    known.push_back(culprit == misreads && here ? run.other(stock[i]) : value);
    run.act(culprit == misreads && here, "researcher",
            fmt::format("There are {} {} in {}. {}", known.back(), good, looked, run.hedge()));
  }
  for (const text& value : known) total += std::stoul(value);
  const bool early = culprit == finishes_early;
  text sum = culprit == miscounts ? run.other(total) : std::to_string(total);
  run.act(early, "supervisor",
          early ? R"({"next": "writer", "reason": "we have enough"})"
                : R"({"next": "analyst", "reason": "all figures are known"})");
  if (!early) {
    run.act(culprit == miscounts, "analyst", "Together that makes " + sum + ". " + run.hedge());
    run.act(false, "supervisor", R"({"next": "writer", "reason": "the sum is known"})");
  }
  if (culprit == rewrites) sum = run.other(total);
  run.act(culprit == rewrites, "writer", "In " + places + " there are " + sum + " " + good + " in stock.");
  run.act(false, "supervisor", R"({"next": "FINISH"})");
  return run.finish();
}

}  // namespace

labelled_log planted_framework_run(log_style style, std::uint64_t seed) {
  switch (style) {
    case log_style::metagpt: return metagpt(seed);
    case log_style::ag2: return ag2(seed);
    case log_style::langgraph: return langgraph(seed);
  }
  return {};
}

}  // namespace digd::whowhen
