// The page without a run on display: how to attach a system, which run to choose, or that the run does not exist.
import {useContext, useState} from 'preact/hooks';
import {displayLine} from '../scene/text';
import {Viewing} from './viewing';

const DEFAULT_HOST = '127.0.0.1:7344'; // where clients look for digd

// The value of DIGD_URL for this page's daemon. Clients require the port.
export function addressOf({protocol, hostname, port}: {protocol: string; hostname: string; port: string}): string {
  const secure = protocol === 'https:';
  return `${secure ? 'wss' : 'ws'}://${hostname}:${port || (secure ? '443' : '80')}`;
}

// Three lines for each kind of system, as in docs/integrations.md.
const systems: [string, string[]][] = [
  [
    'Python',
    [
      'import digd',
      'async with digd.Run(agents=["planner", "coder"]) as run:',
      '    await run.emit(["planner"], payload={"text": "Write a parser."})',
    ],
  ],
  ['LangGraph', ['import digd.langgraph', 'digd.langgraph.instrument(builder)', 'app = builder.compile()']],
  [
    'OpenAI Agents',
    [
      'import digd, digd.openai_agents',
      'async with digd.Run() as run:',
      '    with digd.openai_agents.attach(run): result = await Runner.run(agent, task)',
    ],
  ],
  [
    'AutoGen',
    [
      'import digd, digd.autogen',
      'async with digd.Run() as run:',
      '    result = await digd.autogen.instrument(team, run).run(task=task)',
    ],
  ],
  [
    'TypeScript',
    [
      'import { connect } from "@digd/client";',
      'const run = await connect({ agents: ["planner", "coder"] });',
      'await run.emit(["planner"], { payload: { text: "Write a parser." } });',
    ],
  ],
  ['Claude Code', ['digctl attach claude-code', 'claude', '# its sessions appear here']],
];

export function AttachPage() {
  const [name, setName] = useState(systems[0]![0]);
  const [, lines] = systems.find(([system]) => system === name)!;
  return (
    <main class="empty">
      <h1>Attach a system</h1>
      <p>No runs yet. Your agents' runs appear here as soon as they send their first event.</p>
      <div class="choices" role="radiogroup" aria-label="Kind of system">
        {systems.map(([system]) => (
          <button key={system} role="radio" aria-checked={system === name} onClick={() => setName(system)}>
            {system}
          </button>
        ))}
      </div>
      <pre class="lines">
        <code>{lines.join('\n')}</code>
      </pre>
      {location.host !== DEFAULT_HOST && (
        <p>
          This daemon is not at the default address: set <code>DIGD_URL={addressOf(location)}</code> for the program.
        </p>
      )}
      <p>
        Or run <code>digctl demo</code> to see four scripted agents.
      </p>
    </main>
  );
}

export function ChoosePage() {
  return (
    <main class="empty">
      <h1>Choose a run</h1>
      <p>Its graph grows here as its agents work: every event, who took it up, and what digd found.</p>
    </main>
  );
}

// The page keeps asking, because a client may still connect with this id.
export function MissingRunPage({run}: {run: string}) {
  const viewing = useContext(Viewing);
  return (
    <main class="empty">
      <h1>There is no such run yet</h1>
      <p role="alert">
        {viewing ? 'The fleet has' : 'digd knows'} no run <bdi class="asked">{displayLine(run, 100)}</bdi>. It was
        deleted, its id is misspelt, or{' '}
        {viewing ? 'its messages are still on their way' : 'no client has connected with it'}. It appears here when{' '}
        {viewing ? 'they arrive' : 'a client does'}.
      </p>
      <p>
        <a href="#/">All runs</a>
      </p>
    </main>
  );
}
