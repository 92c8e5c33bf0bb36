// A LangGraph.js graph whose lead answers while a worker still works. digd gives the answer back; the lead sees why.
//
//   build/release/bin/digd &        node examples/langgraph.mjs
import { FakeChatModel } from "@langchain/core/utils/testing";
import { HumanMessage } from "@langchain/core/messages";
import { Annotation, END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { instrument } from "@digd/client/langgraph";

const State = Annotation.Root({ ...MessagesAnnotation.spec, turn: Annotation({ reducer: (_, next) => next, default: () => 0 }) });
const model = new FakeChatModel({}); // says what it is told
const ask = async (name, { messages }) => console.log(`${name} reads: ${(await model.invoke(messages)).content.replaceAll("\n", "\n    ")}`);

const builder = new StateGraph(State)
  .addNode("lead", async (state) => {
    await ask("lead", state);
    return { turn: state.turn + 1 };
  })
  .addNode("worker", async (state) => ask("worker", state))
  .addEdge(START, "lead")
  .addConditionalEdges("lead", ({ turn }) => (turn === 1 ? ["worker", END] : turn === 2 ? [] : END))
  .addEdge("worker", "lead");

let run;
const graph = instrument(builder, { onRun: (one) => (run = one) }).compile();
await graph.invoke({ messages: [new HumanMessage("the task")] });
console.log(run.welcome ? `digctl show ${run.id}` : "nobody was listening; the graph went on as is");
