// digd's plugin for opencode. `digctl attach opencode` writes it, `digctl attach opencode --remove` removes it.
//
// It passes hooks to the daemon and carries out the answers. Whatever goes wrong, opencode goes on as without digd.
const address = "@ADDRESS@"
const maxWaitMs = 10000 // for an answer; digd gives it sooner (verdict_deadline_ms)
const pauseMs = 30000 // without calls, after an answer that did not come
const maxKept = 4096 // entries of each table; the oldest makes room

const keep = (table, key, value) => {
  table.set(key, value)
  if (table.size > maxKept) table.delete(table.keys().next().value)
}

export const Digd = async ({ directory }) => {
  const parents = new Map() // a subagent's session: the session that started it
  const agents = new Map() // a session: its agent's type
  const texts = new Map() // a session: its last text
  const usage = new Map() // a session: totals
  const counted = new Map() // a part that was taken: true
  const watched = new Map() // a session that the user began: true
  let pausedUntil = 0
  let last = Promise.resolve({}) // calls arrive in their order

  const rootOf = (session) => {
    let root = session
    for (let depth = 0; depth < 64 && parents.has(root); ++depth) root = parents.get(root)
    return root
  }

  const post = async (call) => {
    if (Date.now() < pausedUntil) return {}
    const headers = { "content-type": "application/json" }
    if (process.env.DIGD_TOKEN) headers.authorization = `Bearer ${process.env.DIGD_TOKEN}`
    try {
      const signal = AbortSignal.timeout(maxWaitMs)
      const response = await fetch(address, { method: "POST", headers, body: JSON.stringify(call), signal })
      return response.ok ? await response.json() : {}
    } catch (error) {
      if (error?.name === "TimeoutError") pausedUntil = Date.now() + pauseMs
      return {}
    }
  }

  const send = (session, hook, fields) => {
    const root = rootOf(session)
    const call = { hook_event_name: hook, session_id: root, cwd: directory, ...fields }
    if (session !== root) Object.assign(call, { agent_id: session, agent_type: agents.get(session) ?? "" })
    keep(watched, root, true)
    if (usage.has(session)) call.digd = { usage: usage.get(session) }
    last = last.then(() => post(call))
    return last
  }

  const countStep = ({ sessionID, tokens }) => {
    const before = usage.get(sessionID) ?? { input_tokens: 0, output_tokens: 0, model_calls: 0 }
    keep(usage, sessionID, {
      input_tokens: before.input_tokens + tokens.input + tokens.cache.read + tokens.cache.write,
      output_tokens: before.output_tokens + tokens.output + tokens.reasoning,
      model_calls: before.model_calls + 1,
    })
  }

  const takePart = (part) => {
    const isStep = part.type === "step-finish" && part.tokens
    const isFailure = part.type === "tool" && part.state?.status === "error"
    if ((!isStep && !isFailure) || counted.has(part.id)) return
    keep(counted, part.id, true)
    if (isStep) return countStep(part)
    const { input, error } = part.state
    send(part.sessionID, "tool.error", { tool_name: part.tool, tool_use_id: part.callID, tool_input: input, error })
  }

  return {
    event: async ({ event }) => {
      const { info, part, sessionID } = event.properties ?? {}
      if (event.type === "session.created" && info.parentID) {
        keep(parents, info.id, info.parentID)
        keep(agents, info.id, info.agent ?? "")
      }
      if (event.type === "message.part.updated") takePart(part)
      if (event.type === "session.error" && sessionID) {
        const { name, data } = event.properties.error ?? {}
        send(sessionID, "session.error", { error: data?.message ?? name ?? "" })
      }
      if (event.type === "session.idle") send(sessionID, "session.idle", { text: texts.get(sessionID) ?? "" })
      if (event.type === "session.deleted") send(info.id, "session.ended", {})
    },
    "chat.message": async ({ sessionID, agent }, { message, parts }) => {
      if (agent && parents.has(sessionID)) keep(agents, sessionID, agent)
      keep(texts, sessionID, "")
      const asked = parts.filter((part) => part.type === "text")
      const text = asked.map((part) => part.text).join("\n")
      const fields = { prompt_id: message.id, model: message.model?.modelID, text }
      const { context } = await send(sessionID, "chat.message", fields)
      if (context && asked.length > 0) asked[0].text += `\n\n${context}`
    },
    "experimental.text.complete": async ({ sessionID }, { text }) => keep(texts, sessionID, text),
    "tool.execute.before": async ({ tool, sessionID, callID }, output) => {
      const fields = { tool_name: tool, tool_use_id: callID, tool_input: output.args }
      const { deny, prompt } = await send(sessionID, "tool.execute.before", fields)
      if (deny) throw new Error(deny)
      if (prompt) output.args.prompt = prompt
    },
    "tool.execute.after": async ({ tool, sessionID, callID, args }, output) => {
      const fields = { tool_name: tool, tool_use_id: callID, tool_input: args }
      const task = tool === "task" ? { output: output.output, task_session_id: output.metadata?.sessionId } : {}
      const { context } = await send(sessionID, "tool.execute.after", { ...fields, ...task })
      if (context) output.output += `\n\n${context}`
    },
    dispose: async () => {
      for (const session of watched.keys()) send(session, "session.ended", {})
      await last
    },
  }
}
