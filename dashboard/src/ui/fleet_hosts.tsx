// The hosts of a fleet: whether they run, their version, and how far the stream lags behind each.
import {useState} from 'preact/hooks';
import type {Fleet, Host} from '../net/fleet';
import {heardMs, hostState, shortCount, sortedHosts, versionsOf, type HostState} from '../scene/fleet';
import {agoText, displayLine, plural} from '../scene/text';
import {TableHead} from './table_head';

const SHOWN = 8;

const stateText: Record<HostState, string> = {
  well: 'running',
  silent: 'silent',
  lagging: 'behind',
  stopped: 'stopped',
  unknown: '',
};
const stateClass: Record<HostState, string> = {
  well: 'well',
  silent: 'unwell',
  lagging: 'lagging',
  stopped: 'aborted',
  unknown: '',
};

interface Props {
  hosts: readonly Host[];
  leftOut: boolean;
  nowMs: number;
  stream: Fleet['stream'];
}

export function FleetHosts({hosts, leftOut, nowMs, stream}: Props) {
  const [isWhole, setWhole] = useState(false);
  const sorted = sortedHosts(hosts, nowMs);
  const listed = isWhole ? sorted : sorted.slice(0, SHOWN);
  const versions = versionsOf(hosts);
  const usual = versions[0]?.version;
  const hasTenants = new Set(hosts.map((host) => host.tenant)).size > 1;
  const hasRecords = hosts.some((host) => host.record !== null);
  return (
    <section class="fleet-table" aria-label="Hosts">
      <h2>
        Hosts <span class="count">{hosts.length.toLocaleString('en')}</span>
        {versions.length > 1 && (
          <span class="hint">
            {' '}
            {versions.map(({version, hosts: n}) => `${displayLine(version, 30)} on ${n}`).join(', ')}
          </span>
        )}
        {stream?.waiting != null && stream.waiting > 0 && (
          <span class="hint"> {plural(stream.waiting, 'message waits', 'messages wait')} for the collectors</span>
        )}
      </h2>
      <div class="scroll">
        <table>
          <TableHead
            columns={[
              'host',
              hasTenants && (
                <th scope="col" class="text">
                  tenant
                </th>
              ),
              hasRecords && (
                <th scope="col" class="text">
                  state
                </th>
              ),
              hasRecords && (
                <th scope="col" class="text">
                  version
                </th>
              ),
              hasRecords && 'lag, entries',
              'last heard',
              'open runs',
              'runs',
              'messages',
            ]}
          />
          <tbody>
            {listed.map((host) => {
              const state = hostState(host, nowMs);
              const heard = heardMs(host);
              return (
                <tr key={`${host.tenant}/${host.host}`}>
                  <th>
                    <span class="host-name">
                      {hasRecords && (
                        <span
                          class={`state ${stateClass[state]}`}
                          role="img"
                          aria-label={stateText[state] || 'unknown'}
                        />
                      )}
                      <bdi>{displayLine(host.host, 64)}</bdi>
                    </span>
                  </th>
                  {hasTenants && (
                    <td class="text">
                      <bdi>{displayLine(host.tenant, 64)}</bdi>
                    </td>
                  )}
                  {hasRecords && <td class={state === 'silent' ? 'text bad' : 'text'}>{stateText[state]}</td>}
                  {hasRecords && (
                    <td
                      class={host.record?.version !== undefined && host.record.version !== usual ? 'text odd' : 'text'}
                    >
                      {displayLine(host.record?.version ?? '', 30)}
                    </td>
                  )}
                  {hasRecords && (
                    <td class={state === 'lagging' ? 'bad' : ''}>
                      {host.record?.lag === undefined ? '' : shortCount(host.record.lag)}
                    </td>
                  )}
                  <td>{heard === null ? '' : agoText(nowMs - heard)}</td>
                  <td>{shortCount(host.record?.open_runs ?? host.open)}</td>
                  <td>{shortCount(host.runs)}</td>
                  <td>{shortCount(host.messages)}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      {sorted.length > SHOWN && (
        <button class="quiet" onClick={() => setWhole(!isWhole)}>
          {isWhole ? 'Fewer hosts' : `All ${sorted.length.toLocaleString('en')} hosts`}
        </button>
      )}
      {leftOut && <p class="hint">There are more hosts than fit here.</p>}
    </section>
  );
}
