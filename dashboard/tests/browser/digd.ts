// A running digd and a client of it, for the page tests. Tests never sleep; they wait for a condition with a deadline.
import {spawn, spawnSync, type ChildProcess} from 'node:child_process';
import {createHash} from 'node:crypto';
import {existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import WebSocket from 'ws';

export const root = fileURLToPath(new URL('../../..', import.meta.url));
const bin = join(root, 'build/release/bin');
const DIGD = process.env.DIGD_BIN ?? join(bin, 'digd');
const DIGCTL = process.env.DIGCTL_BIN ?? join(bin, 'digctl');
export const TRACES = join(root, 'tests/traces');
export const runPath = (run: string): string => `/#/run/${encodeURIComponent(run)}`;
export const TIMEOUT_MS = 30_000;

export async function until<T>(description: string, find: () => T | null | undefined | false): Promise<T> {
  const deadline = Date.now() + TIMEOUT_MS;
  for (;;) {
    const found = find();
    if (found) return found;
    if (Date.now() > deadline) throw new Error(`timed out waiting for ${description}`);
    await new Promise((done) => setTimeout(done, 5));
  }
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

export class Digd {
  readonly folder = mkdtempSync(join(tmpdir(), 'digd-page-'));
  private process: ChildProcess | null = null;
  address = '127.0.0.1:0';

  constructor(private readonly config = '') {}

  // `tokens` maps a name to the token and its rights.
  static guarded(tokens: Record<string, [string, string[]]>): Digd {
    const daemon = new Digd();
    const file = join(daemon.folder, 'tokens.toml');
    const entries = Object.entries(tokens).map(
      ([name, [token, rights]]) =>
        `[[token]]\nname = "${name}"\nsha256 = "${sha256(token)}"\nrights = ${JSON.stringify(rights)}\n`,
    );
    writeFileSync(file, entries.join(''), {mode: 0o600});
    return Object.assign(daemon, {config: `tokens = "${file}"\n`});
  }

  // A second start listens at the same address.
  async start(): Promise<this> {
    const config = join(this.folder, 'digd.toml');
    const data = join(this.folder, 'data');
    writeFileSync(config, `threads = 2\n${this.config}`);
    rmSync(join(data, 'digd.address'), {force: true});
    this.process = spawn(DIGD, ['--config', config, '--listen', this.address, '--data-dir', data], {stdio: 'ignore'});
    const file = join(data, 'digd.address');
    this.address = await until('the address', () => {
      if (this.process!.exitCode !== null) throw new Error(`digd ended with ${this.process!.exitCode}`);
      return existsSync(file) && readFileSync(file, 'utf8').trim();
    });
    return this;
  }

  async kill(): Promise<void> {
    const ended = new Promise((done) => this.process!.once('exit', done));
    this.process!.kill('SIGKILL');
    await ended;
  }

  async stop(): Promise<void> {
    if (this.process && this.process.exitCode === null) await this.kill();
    rmSync(this.folder, {recursive: true, force: true});
  }

  url(path = '/'): string {
    return `http://${this.address}${path}`;
  }

  send(trace: string): void {
    const sent = spawnSync(
      DIGCTL,
      ['send', trace, '--to', `ws://${this.address}`, '--speed', '1000000', '--format', 'jsonl'],
      {maxBuffer: 1 << 30},
    );
    if (sent.status !== 0) throw new Error(`digctl send: ${sent.stderr}`);
  }

  trace(name: string, lines: object[]): string {
    const file = join(this.folder, name);
    writeFileSync(file, lines.map((line) => JSON.stringify(line)).join('\n') + '\n');
    return file;
  }

  async client(run: string, hello: object = {}, token?: string): Promise<Client> {
    const client = new Client(this.address, token);
    await client.open({type: 'hello', protocol: 1, run, session: 'main', ...hello});
    return client;
  }
}

// One session: numbers its messages and keeps the frames it receives.
export class Client {
  private readonly socket: WebSocket;
  private seq = 0;
  readonly received: {type: string; seq?: number; id?: string}[] = [];

  constructor(address: string, token?: string) {
    this.socket = new WebSocket(
      `ws://${address}/v1/ingest`,
      ['digd.v1'],
      token ? {headers: {Authorization: `Bearer ${token}`}} : {},
    );
    this.socket.on('message', (data) => this.received.push(JSON.parse(String(data))));
    this.socket.on('error', () => undefined); // killing the daemon breaks the connection
  }

  async open(hello: object): Promise<void> {
    await new Promise((done, failed) => this.socket.once('open', done).once('error', failed));
    this.socket.send(JSON.stringify(hello));
    await this.waitFor('welcome');
  }

  send(type: string, rest: object = {}): void {
    this.seq += 1;
    this.socket.send(JSON.stringify({type, seq: this.seq, ...rest}));
  }
  event(id: string, recipients: string[], rest: object = {}): void {
    this.send('event', {event: {id, recipients, ...rest}});
  }
  start(activation: string, agent: string, inputs: string[]): void {
    this.send('activation_started', {activation, agent, inputs});
  }
  end(activation: string, outputs: object[] = [], reactions: object = {}): void {
    this.send('activation_ended', {activation, outputs, reactions});
  }
  async waitFor(type: string): Promise<{id?: string}> {
    return until(type, () => this.received.find((frame) => frame.type === type));
  }
  close(): void {
    this.socket.close();
  }
}

// `n` events among eight agents: the recipient of each consumes it and sends the next.
export function longRun(run: string, n: number): object[] {
  const agents = ['planner', 'researcher', 'coder', 'tester', 'writer', 'critic', 'browser', 'analyst'];
  const lines: object[] = [{type: 'hello', protocol: 1, run, session: 'main', agents, clock: 'trace'}];
  let seq = 0;
  let ts = 0;
  const add = (message: object): void => {
    seq += 1;
    ts += 7;
    lines.push({seq, ts, ...message});
  };
  add({type: 'event', event: {id: 'e0', recipients: [agents[0]]}});
  for (let i = 0; i + 1 < n; ++i) {
    add({type: 'activation_started', activation: `v${i}`, agent: agents[i % 8], inputs: [`e${i}`]});
    add({
      type: 'activation_ended',
      activation: `v${i}`,
      outputs: [{id: `e${i + 1}`, recipients: [agents[(i + 1) % 8]]}],
    });
  }
  return lines;
}
