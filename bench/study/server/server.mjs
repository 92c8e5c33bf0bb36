// Serves a GGUF model on loopback with the part of OpenAI's API that the study needs:
// POST /v1/chat/completions with messages, seed, temperature, max_tokens, stop and response_format json_schema.
//
//   node server.mjs MODEL [CONTEXT [THREADS]]     prints {"port": N} when it is ready
//
// CONTEXT is in tokens, 4096 by default; THREADS is 2 by default.
//
// One request at a time. A request that came before gets the same answer, from memory, with the duration that it took
// then. Requests with the same system prompt share a context, so that only what is new of a conversation is read.
import http from "node:http";
import {getLlama, LlamaChatSession} from "node-llama-cpp";

const CONTEXT = Number(process.argv[3] ?? 4096);
const THREADS = Number(process.argv[4] ?? 2);
const MAX_BODY = 1 << 20;
const MAX_REMEMBERED = 2000;
const SEQUENCES = 7; // the agents of the largest team, and a judge

const llama = await getLlama({gpu: false, build: "never", progressLogs: false, logLevel: "error", maxThreads: THREADS});
const model = await llama.loadModel({modelPath: process.argv[2]});
const context = await model.createContext({contextSize: CONTEXT, threads: THREADS, sequences: SEQUENCES});
const free = Array.from({length: SEQUENCES}, () => context.getSequence());
const sequences = new Map(); // by system prompt; the first was used longest ago
const grammars = new Map(); // by schema, as JSON; the study has a handful
const remembered = new Map(); // answers by request, as JSON; the oldest go first

async function grammarOf(schema) {
  const key = JSON.stringify(schema);
  if (!grammars.has(key)) grammars.set(key, await llama.createGrammarForJsonSchema(schema));
  return grammars.get(key);
}

async function answerOf(request) {
  const key = JSON.stringify(request);
  if (!remembered.has(key)) {
    remembered.set(key, await complete(request));
    if (remembered.size > MAX_REMEMBERED) remembered.delete(remembered.keys().next().value);
  }
  return remembered.get(key);
}

async function sequenceOf(systemPrompt) {
  let sequence = sequences.get(systemPrompt);
  if (sequence === undefined) {
    if (free.length === 0) {
      const [oldest, last] = sequences.entries().next().value;
      sequences.delete(oldest);
      free.push(last);
    }
    sequence = free.pop();
    await sequence.clearHistory();
  }
  sequences.delete(systemPrompt);
  sequences.set(systemPrompt, sequence);
  return sequence;
}

async function complete(request) {
  const started = performance.now();
  const messages = request.messages;
  const sequence = await sequenceOf(messages[0].content);
  const before = sequence.tokenMeter.usedOutputTokens;
  const session = new LlamaChatSession({contextSequence: sequence, autoDisposeSequence: false});
  session.setChatHistory(messages.slice(0, -1).map(({role, content}) => {
    if (role === "assistant") return {type: "model", response: [content]};
    return {type: role === "system" ? "system" : "user", text: content};
  }));
  const schema = request.response_format?.json_schema?.schema;
  const text = await session.prompt(messages.at(-1).content, {
    grammar: schema && await grammarOf(schema),
    seed: request.seed ?? 1,
    temperature: request.temperature ?? 0,
    maxTokens: request.max_tokens ?? 256,
    customStopTriggers: request.stop === undefined ? undefined : [request.stop].flat(),
    trimWhitespaceSuffix: true
  });
  session.dispose({disposeSequence: false});
  const output = sequence.tokenMeter.usedOutputTokens - before;
  const input = sequence.nextTokenIndex - output; // of the whole prompt
  return {
    id: "chatcmpl-study",
    object: "chat.completion",
    created: 0,
    model: request.model ?? "study",
    choices: [{index: 0, finish_reason: "stop", message: {role: "assistant", content: text}}],
    usage: {
      prompt_tokens: input,
      completion_tokens: output,
      total_tokens: input + output
    },
    duration_ms: Math.round(performance.now() - started)
  };
}

function body(request) {
  return new Promise((resolve, reject) => {
    let text = "";
    request.setEncoding("utf8");
    request.on("data", part => {
      text += part;
      if (text.length > MAX_BODY) reject(new Error(`the body is over ${MAX_BODY} bytes`));
    });
    request.on("end", () => resolve(text));
    request.on("error", reject);
  });
}

let turn = Promise.resolve();
const server = http.createServer(async (request, response) => {
  const reply = (status, value) => {
    response.writeHead(status, {"content-type": "application/json"});
    response.end(JSON.stringify(value));
  };
  if (request.method !== "POST" || request.url !== "/v1/chat/completions") {
    return reply(404, {error: {message: "only POST /v1/chat/completions is served"}});
  }
  try {
    const wanted = JSON.parse(await body(request));
    const answer = turn.then(() => answerOf(wanted));
    turn = answer.catch(() => {});
    reply(200, await answer);
  } catch (error) {
    reply(400, {error: {message: String(error)}});
  }
});
server.listen(0, "127.0.0.1", () => console.log(JSON.stringify({port: server.address().port})));
