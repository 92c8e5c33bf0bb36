# Writes the C++ file of demo_files.h: cmake -DROOT=DIR -DTO=FILE -P embed_demo.cmake
set(examples
  langgraph langgraph_healed.py
  openai-agents openai_agents_early_answer.py
  autogen autogen_swarm.py
  python python_team.py)

file(READ ${ROOT}/tests/traces/demo.jsonl trace)
set(table "")
while(examples)
  list(POP_FRONT examples framework file)
  file(READ ${ROOT}/examples/${file} text)
  string(APPEND table "    {\"${framework}\", \"digd_demo_${file}\", R\"digd_text(${text})digd_text\"},\n")
endwhile()
file(WRITE ${TO}.new "// Written by cli/embed_demo.cmake.
#include \"cli/demo_files.h\"

namespace digd::cli {

namespace {

constexpr demo_example examples[] = {
${table}};

}  // namespace

std::string_view demo_trace() { return R\"digd_text(${trace})digd_text\"; }

std::span<const demo_example> demo_examples() { return examples; }

}  // namespace digd::cli
")
file(COPY_FILE ${TO}.new ${TO} ONLY_IF_DIFFERENT)
