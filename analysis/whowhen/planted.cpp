#include "analysis/whowhen/planted.h"

#include <string>

#include "analysis/whowhen/dice.h"

namespace digd::whowhen {

namespace {

constexpr const char* places[] = {"north", "south", "east", "west", "harbour", "airport", "mill", "castle"};
constexpr const char* months[] = {"March", "April", "June", "October"};
constexpr const char* first_readers[] = {"Mara", "Ivo", "Reader_A", "Sheet_Expert"};
constexpr const char* second_readers[] = {"Lena", "Tom", "Reader_B", "Archive_Expert"};

struct item {
  std::string name;
  std::size_t value;
};

class run_writer {
 public:
  explicit run_writer(std::uint64_t seed) : dice_(seed) {
    planned_ = dice_.chance(60);
    // The last three kinds need a planner.
    kind_ = static_cast<fault>(dice_.below(planned_ ? faults : 5));
    const std::size_t first = dice_.below(8), n = 3 + dice_.below(3);
    for (std::size_t i = 0; i < n; ++i) items_.push_back({places[(first + i) % 8], 10 + dice_.below(80)});
    spare_ = places[(first + n) % 8];
    culprit_ = dice_.below(n);
    readers_[0] = first_readers[dice_.below(4)];
    readers_[1] = second_readers[dice_.below(4)];
    month_ = months[dice_.below(4)];
  }

  labelled_log write() {
    out_.subset = to_string(kind_);
    std::string names;
    for (const item& i : items_) names += (names.empty() ? "'" : ", '") + i.name + "'";
    out_.log.question = "What is the total of " + names + " in the sheet of " + month_ + "?";
    out_.question_id = out_.log.question;
    add("user", out_.log.question);
    if (planned_) think("Initial plan: read every item from the sheet, add them up, write the answer.");
    else add(readers_[0], "Let us read every item from the sheet, add them up and write the answer.");
    for (std::size_t i = 0; i < items_.size(); ++i) read(i);
    if (!gave_up_) compute();
    report();
    out_.log.id = "planted";
    chief::recognise_forms(out_.log);
    return std::move(out_);
  }

 private:
  bool is(fault f) const { return kind_ == f; }
  std::string another(std::size_t value) { return std::to_string(value + 1 + dice_.below(9)); }

  std::size_t add(const std::string& agent, const std::string& text, const std::string& to = {}) {
    chief::flat_step step;
    step.agent = agent;
    step.text = text;
    if (!to.empty()) step.to = {to};
    out_.log.steps.push_back(std::move(step));
    return out_.log.steps.size() - 1;
  }
  void think(const std::string& text) { out_.log.steps[add("Planner", text)].thought = true; }
  void blame(std::size_t step) {
    out_.step = step;
    out_.agent = out_.log.steps[step].agent;
  }
  std::size_t instruct(const std::string& whom, const std::string& text) {
    return planned_ ? add("Planner", text, whom) : out_.log.steps.size();
  }
  void terminal(bool ok, const std::string& output) {
    add("Terminal", ok ? "exitcode: 0 (execution succeeded)\nCode output: " + output
                       : "exitcode: 1 (execution failed)\nCode output: " + output);
  }

  void read(std::size_t i) {
    const item& item = items_[i];
    const std::string& reader = readers_[i % 2];
    const bool here = i == culprit_;
    if (here && (is(fault::planner_repeats) || is(fault::executor_fails))) return loop(item, reader);
    if (here && is(fault::wrong_item)) {
      blame(instruct(reader, "Please read '" + spare_ + "' from the sheet of " + month_ + ", next to '" +
                                 items_[(i + 1) % items_.size()].name + "'."));
      run(reader, spare_, std::to_string(10 + dice_.below(80)));
      add(reader, "The sheet says " + spare_ + "=" +
                      out_.log.steps.back().text.substr(out_.log.steps.back().text.rfind('=') + 1) + ".");
      return;
    }
    instruct(reader, "Please read '" + item.name + "' from the sheet of " + month_ + ".");
    const std::string value = std::to_string(item.value);
    if (here && is(fault::invent)) {
      add(reader, "```python\nread_sheet('" + item.name + "')\n```");
      terminal(false, "PermissionError: the sheet is locked");
      read_[i] = another(item.value);
      blame(add(reader, "The sheet says " + item.name + "=" + read_[i] + "."));
      return;
    }
    if (dice_.chance(20)) {  // a failure that is tried again
      add(reader, "```python\nread_sheet('" + item.name + "')\n```");
      terminal(false, "TimeoutError: no answer");
    }
    run(reader, item.name, value);
    read_[i] = value;
    if (here && is(fault::misread)) {
      read_[i] = another(item.value);
      blame(add(reader, "The sheet says " + item.name + "=" + read_[i] + "."));
    } else if (dice_.chance(20)) {  // a slip that is put right
      add(reader, "The sheet says " + item.name + "=" + another(item.value) + ".");
      add(reader, "I misread that, sorry: " + item.name + "=" + value + ".");
    } else {
      add(reader, "The sheet says " + item.name + "=" + value + ".");
    }
  }

  void run(const std::string& reader, const std::string& name, const std::string& value) {
    add(reader, "```python\nread_sheet('" + name + "')\n```");
    terminal(true, name + "=" + value);
  }

  void loop(const item& item, const std::string& reader) {
    const std::string same = "Please read '" + item.name + "' from the sheet of " + month_ + ".";
    const char* ways[] = {" Open the archive copy instead.", " Ask the export tool with the admin view.",
                          " Try the printed scan, page two."};
    const std::size_t rounds = 3 + dice_.below(2);
    for (std::size_t round = 0; round < rounds; ++round) {
      const bool other = is(fault::executor_fails) && round > 0;
      const std::size_t asked =
          instruct(reader, other ? "Please read '" + item.name + "'." + ways[(round - 1) % 3] : same);
      const std::size_t failed = add(reader, "failed: I could not read it.");
      if (is(fault::executor_fails) && round == 0) blame(failed);
      if (is(fault::planner_repeats) && round == 1) blame(asked);
    }
    gave_up_ = true;
    culprit_ = items_.size();
  }

  void compute() {
    instruct("Calculator", "Please add up all items.");
    std::size_t sum = 0;
    std::string stated, parts;
    for (std::size_t i = 0; i < items_.size(); ++i) {
      std::string value = read_[i].empty() ? std::to_string(items_[i].value) : read_[i];
      if (i == culprit_ && is(fault::wrong_item)) continue;
      if (i == culprit_ && is(fault::miscopy)) value = another(items_[i].value);
      stated += (stated.empty() ? "" : ", ") + items_[i].name + "=" + value;
      parts += (parts.empty() ? "" : "+") + value;
      sum += std::stoul(value);
    }
    if (!is(fault::miscompute) && dice_.chance(15)) {
      const std::string wrong = another(sum);
      add("Calculator", "With " + stated + ": " + parts + "=" + wrong + ", so total=" + wrong + ".");
      add("Calculator",
          "That was wrong. " + parts + "=" + std::to_string(sum) + ", so total=" + std::to_string(sum) + ".");
    } else {
      const std::string result = is(fault::miscompute) ? another(sum) : std::to_string(sum);
      const std::size_t at =
          add("Calculator", "With " + stated + ": " + parts + "=" + result + ", so total=" + result + ".");
      if (is(fault::miscompute) || is(fault::miscopy)) blame(at);
      total_ = result;
      return;
    }
    if (is(fault::miscopy)) blame(out_.log.steps.size() - 2);
    total_ = std::to_string(sum);
  }

  void report() {
    instruct("Writer", "Please write the answer.");
    if (gave_up_) total_ = std::to_string(40 + dice_.below(200));
    if (is(fault::misreport)) {
      const std::string wrong = another(std::stoul(total_));
      blame(add("Writer", "The answer is total=" + wrong + ".\nFINAL ANSWER: " + wrong));
    } else {
      add("Writer",
          (gave_up_ ? "My guess is " + total_ : "The answer is total=" + total_) + ".\nFINAL ANSWER: " + total_);
    }
  }

  dice dice_;
  bool planned_ = true, gave_up_ = false;
  fault kind_{};
  std::vector<item> items_;
  std::string spare_, month_, total_, readers_[2];
  std::string read_[8];
  std::size_t culprit_ = 0;
  labelled_log out_;
};

}  // namespace

std::string_view to_string(fault f) {
  constexpr std::string_view names[] = {"misread",   "invent",     "miscopy",         "miscompute",
                                        "misreport", "wrong-item", "planner-repeats", "executor-fails"};
  return names[static_cast<std::size_t>(f)];
}

labelled_log planted_run(std::uint64_t seed) { return run_writer(seed).write(); }

}  // namespace digd::whowhen
