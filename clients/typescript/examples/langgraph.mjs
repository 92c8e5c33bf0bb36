// A LangGraph.js graph whose lead hands over to an agent that does not exist. With `enforce`, the lead reads the real
// names.
//
// build/release/bin/digd &        node examples/langgraph.mjs
import { FakeChatModel } from "@langchain/core/utils/testing";
import { HumanMessage } from "@langchain/core/messages";
import { Command, END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { instrument } from "@digd/client/langgraph";

const model = new FakeChatModel({}); // answers with the text that it was given
const ask = async (name, { messages }) => {
  const { content } = await model.invoke(messages);
  console.log(`${name} reads: ${content.replaceAll("\n", "\n    ")}`);
  return content;
};

const builder = new StateGraph(MessagesAnnotation)
  .addNode(
    "lead",
    async (state) =>
      new Command({
        update: { messages: [] },
        goto: (await ask("lead", state)).includes('"worker"') ? "worker" : "wroker",
      }),
    { ends: ["worker"] },
  )
  .addNode("worker", async (state) => {
    await ask("worker", state);
    return {};
  })
  .addEdge(START, "lead")
  .addEdge("worker", END);

let run;
const graph = instrument(builder, { mode: "enforce", onRun: (begun) => (run = begun) }).compile();
await graph.invoke({ messages: [new HumanMessage("the task")] });
console.log(run.welcome ? `digctl show ${run.id}` : "no daemon was listening; the graph ran unchanged");
