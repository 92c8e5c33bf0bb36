// Handoffs of the OpenAI Agents SDK as events, and the monitor's texts in the input of models.
import { user, type AgentInputItem, type Handoff } from "@openai/agents";
import { snapshot } from "./adapter.js";
import { conversations, inputOf, modelCalls, NotDelivered } from "./openai-agents-conversation.js";
import type { AnyAgent, Conversation, RunCall, WatchedRun } from "./openai-agents-conversation.js";
import { unchangedVerdict } from "./verdict.js";

type AnyHandoff = Handoff<any, any>;

const watchedHandoffs = new WeakSet<object>();

/** The same handoff, but it ends the turn of the agent that makes it. */
export function watchedHandoff(handoff: AnyHandoff, agent: AnyAgent): AnyHandoff {
  if (watchedHandoffs.has(handoff)) return handoff;
  const onInvokeHandoff = async (runContext: any, args: string): Promise<AnyAgent> => {
    const target = (await handoff.onInvokeHandoff(runContext, args)) as AnyAgent;
    const conversation = conversations.getStore();
    if (conversation?.agent.name !== agent.name || conversation.isUnwatched) return target;
    return handOff(conversation, target, args, modelCalls(runContext));
  };
  const watched = Object.create(handoff, {
    onInvokeHandoff: { value: onInvokeHandoff, enumerable: true, writable: true },
  }) as AnyHandoff;
  watchedHandoffs.add(watched);
  return watched;
}

/**
 * Ends the turn of the agent that hands off, and begins the turn of the agent that gets the work. Returns that agent.
 */
async function handOff(conversation: Conversation, target: AnyAgent, args: string, calls: number): Promise<AnyAgent> {
  const { watched, activation, agent } = conversation;
  watched.addReachable(target, true);
  conversation.settleFailed(false);
  conversation.countUsage();
  // A handoff without work, back to an agent that has had the same task, is a reroute. Every other handoff is a new
  // event.
  const before = conversation.modelCallsBefore;
  const hasWorked = before < 0 || calls - before > 1 || conversation.requestCount > 0;
  const earlier = conversation.inputs.map(({ holders }) => holders ?? new Set<string>());
  const knowsTask = earlier.length > 0 && earlier.every((holders) => holders.has(target.name));
  let events: readonly string[] = activation.inputs;
  if (!hasWorked && knowsTask && target.name !== agent.name)
    for (const input of activation.inputs) activation.reroute(input, [target.name]);
  else events = [activation.output([target.name], { payload: snapshot({ handoff: target.name, arguments: args }) }).id];
  const verdicts =
    (await watched.ifHealing(activation.end())) ?? events.map((event) => unchangedVerdict(event, [target.name]));
  let chosen = target;
  for (const verdict of verdicts) {
    if (verdict.action !== "reroute") continue;
    if (verdict.recipients.length === 0) {
      watched.run.applied(verdict);
      throw new NotDelivered(verdict);
    }
    const other = watched.agents.get(verdict.recipients[0] ?? "");
    watched.run.applied(verdict, other ? undefined : "no agent of that name can be reached");
    chosen = other ?? chosen;
  }
  const holders = new Set([...(hasWorked ? [] : earlier.flatMap((names) => [...names])), agent.name, target.name]);
  conversation.next(
    chosen,
    verdicts.map((verdict) => ({ ...inputOf(verdict), holders })),
  );
  conversation.modelCallsBefore = calls;
  return chosen;
}

/** A filter that adds the monitor's texts to the input of every model call in the agent's turn. */
function textFilter(inner: any): any {
  const filter = async (args: {
    modelData: { input: AgentInputItem[]; instructions?: string };
    agent: AnyAgent;
    context: unknown;
  }) => {
    const data = inner ? await inner(args) : args.modelData;
    const conversation = conversations.getStore();
    if (conversation?.agent.name !== args.agent.name || conversation.texts.length === 0) return data;
    conversation.textsShown = true;
    return { ...data, input: [...data.input, ...conversation.texts.map((text) => user(text))] };
  };
  if (!inner || inner.preserveInputIdentity) (filter as any).preserveInputIdentity = true;
  return filter;
}

/** The options of the call. In a mode that heals they have the filter above, around the user's own one. */
export function filteredOptions(watched: WatchedRun, { runner, options }: RunCall): any {
  if (!watched.run.heals) return options;
  const inner = options?.callModelInputFilter ?? (runner as any).config?.callModelInputFilter;
  return { ...options, callModelInputFilter: textFilter(inner) };
}
