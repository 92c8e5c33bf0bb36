// digctl rules: what each rule means, from the same text as the engine runs on.
#include <iostream>

#include "cli/commands.h"
#include "rules/rule.h"

namespace digd::cli {

namespace {

void print(const rule& r) {
  const rule_settings s = r.defaults();
  std::cout << to_string(r.id) << " (" << r.doc.code << "), " << to_string(r.severity) << ", heals by "
            << to_string(r.healing) << "\n  what     " << r.doc.text << "\n  why      " << r.doc.why << "\n  example  "
            << r.doc.example << "\n  mind     " << r.doc.false_positives << "\n  cleared  " << r.doc.cleared
            << "\n  source   " << r.doc.source << "\n  options  mode=" << to_string(s.mode);
  if (r.options.kinds) std::cout << " kinds=[]";
  if (r.options.window) std::cout << " window_ms=" << s.window_ms;
  if (r.options.attempts) std::cout << " max_attempts=" << s.max_attempts;
  if (r.options.reroutes) std::cout << " max_reroutes=" << s.max_reroutes;
  std::cout << "\n  says     " << r.text() << "\n\n";
}

}  // namespace

void add_rules(CLI::App& app, int& status) {
  CLI::App* sub = app.add_subcommand("rules", "Explains the rules, their options and what they say to agents");
  sub->callback([&status] {
    for (const rule* r : catalog()) print(*r);
    status = done;
  });
}

}  // namespace digd::cli
