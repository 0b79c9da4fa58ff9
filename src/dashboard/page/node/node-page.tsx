/** One node: the config it should run, the one it runs, and why they differ; with its commands and buttons. */
import { useState } from 'preact/hooks';
import type { NodeDetails } from '../../wire.js';
import { apiPath } from '../api.js';
import { rowOf, rowsVersion } from '../fleet/fleet-store.js';
import { flagsOf } from '../fleet/fleet-view.js';
import { Ago, Countdown } from '../parts/age.js';
import { CopyCommand } from '../parts/copy-command.js';
import { DataTable } from '../parts/data-table.js';
import { Facts } from '../parts/facts.js';
import { Loaded, PageTitle, Section } from '../parts/panels.js';
import { Flag, StateBadge } from '../parts/state-badge.js';
import { useResource } from '../resource.js';
import { link } from '../router.js';
import { NodeActions } from './actions.js';
import { ConfigsSideBySide } from './configs.js';
import { DiffSection } from './diff.js';

export function NodePage({ name }: { name: string }) {
  rowsVersion.value;
  // The row is replaced when anything about the node changed: then the details are read again.
  const row = rowOf(name);
  const details = useResource<NodeDetails>(apiPath('nodes', name), row);
  return (
    <>
      {details.data === undefined && (
        <>
          <PageTitle>
            {name} {row && <StateBadge state={row.state} />}
          </PageTitle>
          {row && <p class="sentence">{row.error}</p>}
        </>
      )}
      <Loaded resource={details}>{(node) => <Node node={node} reload={details.reload} />}</Loaded>
      {details.data === undefined && <a href={link([])}>All nodes</a>}
    </>
  );
}

function Node({ node, reload }: { node: NodeDetails; reload(): void }) {
  const { row, kubeletLog, history, events, labels } = node;
  return (
    <>
      <PageTitle actions={<NodeActions node={node} onDone={reload} />}>
        {row.name} <StateBadge state={row.state} />
        {flagsOf(row).map((flag) => (
          <Flag key={flag}>{flag}</Flag>
        ))}
      </PageTitle>
      {node.error?.remedy !== node.sentence && <p class="sentence">{node.sentence}</p>}
      <ErrorSection node={node} />
      <div class="node-columns">
        <Section title="Node">
          <NodeFacts node={node} />
        </Section>
        <Commands node={node} />
      </div>
      {kubeletLog.length > 0 && (
        <Section title="Last lines of the kubelet with that config">
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
          <pre class="log" tabIndex={0}>
            {kubeletLog.join('\n')}
          </pre>
        </Section>
      )}
      <ConfigsSideBySide configs={node.configs} />
      <DiffSection name={row.name} version={row} />
      <History history={history} />
      <Section title="Events">
        {events.length === 0 ? (
          <p class="muted">No event about its config is kept.</p>
        ) : (
          <DataTable
            caption="Events about the config of this node, newest first"
            rows={[...events].reverse()}
            rowKey={({ at, reason, message }) => `${at} ${reason} ${message}`}
            columns={[
              { title: 'When', cell: ({ at }) => <Ago ms={Date.parse(at)} /> },
              { title: 'Reason', cell: ({ reason }) => reason },
              { title: 'Message', cell: ({ message }) => message, isText: true },
            ]}
          />
        )}
      </Section>
      <details class="labels">
        <summary>Labels ({Object.keys(labels).length})</summary>
        <Facts facts={Object.entries(labels)} />
      </details>
    </>
  );
}

function ErrorSection({ node: { error } }: { node: NodeDetails }) {
  if (error === undefined) return null;
  return (
    <div class="panel error">
      <p>
        <strong>{error.message}</strong> <span class="reason">{error.reason}</span>
      </p>
      {error.cause && <pre class="cause">{error.cause}</pre>}
      <p>{error.remedy}</p>
    </div>
  );
}

function NodeFacts({ node }: { node: NodeDetails }) {
  const { row, held, hold, owed, notices, pinnedByFlags, warnings } = node;
  const inSet = (
    <>
      <a href={link(['sets', row.set])}>{row.set}</a>
      {row.wave > 0 && `, wave ${row.wave}`}
      {row.taken && '; somebody assigned another config than the set did'}
    </>
  );
  return (
    <Facts
      facts={[
        ['Trial', row.trialEndsAt > 0 && row.state === 'trial' && <Countdown endMs={row.trialEndsAt} />],
        ['Assigned', row.assigned],
        ['Active', row.active],
        ['Last known good', row.lastKnownGood],
        ['Set', row.set !== '' && inSet],
        ['Signed', node.signed],
        ['Kubelet', row.kubelet],
        ['Ready', row.ready ? 'yes' : 'no'],
        ['Zone', row.zone],
        ['Agent', node.agentVersion ? `relet ${node.agentVersion}` : 'has never reported about its config'],
        ['Driver', node.driver],
        ['Held on its host', held && [held.who && `by ${held.who}`, held.since, held.why].filter(Boolean).join(', ')],
        ['Held', hold],
        ['Left to do', owed && `${owed.text}, since ${owed.since}`],
        ['Pinned by flags', pinnedByFlags.join(', ')],
        ...notices.map(({ reason, message }): [string, string] => [reason, message]),
        ['Warnings', warnings.length > 0 && warnings.map((text) => <p key={text}>{text}</p>)],
      ]}
    />
  );
}

function Commands({ node: { commands } }: { node: NodeDetails }) {
  if (commands.length === 0) return null;
  return (
    <Section title="In a terminal">
      <div class="commands">
        {commands.map(({ verb, command }) => (
          <CopyCommand key={`${verb} ${command}`} command={command} />
        ))}
      </div>
    </Section>
  );
}

/** As in the table of nodes: the name of the ConfigMap. */
const shortName = (config: string): string => config.split('/')[1] ?? config;

function History({ history }: { history: NodeDetails['history'] }) {
  const [isWhole, setWhole] = useState(false);
  if (history.length === 0) return null;
  const shown = isWhole ? history : history.slice(0, 5);
  return (
    <Section title="History">
      <DataTable
        caption="Changes of this node's config, newest first"
        rows={shown}
        rowKey={({ revision }) => revision}
        columns={[
          { title: 'Revision', cell: ({ revision }) => revision, isNumber: true },
          { title: 'When', cell: ({ at }) => <Ago ms={Date.parse(at)} /> },
          {
            title: 'Change',
            cell: ({ from, to }) => (
              <span title={`${from} → ${to}`}>
                {from === to ? shortName(to) : `${shortName(from)} → ${shortName(to)}`}
              </span>
            ),
          },
          { title: 'By', cell: ({ verb, by }) => `${verb} by ${by}` },
          { title: 'Result', cell: ({ result }) => result, isText: true },
          { title: 'Reason', cell: ({ why }) => why ?? '', isText: true },
        ]}
      />
      {history.length > shown.length && (
        <button type="button" class="button quiet" onClick={() => setWhole(true)}>
          Show {history.length - shown.length} more
        </button>
      )}
    </Section>
  );
}
