/** A diff by meaning: which fields change, what each change needs on a live node, and what it risks. */
import type { ConfigDiff, FieldDiff, Needs } from '../../wire.js';
import { DataTable } from './data-table.js';

const needsTexts: Record<Needs, string> = {
  none: 'nothing',
  restart: 'kubelet restart',
  drain: 'drain',
  'state-file': 'removal of a state file, and a drain',
  reboot: 'reboot',
  never: 'not possible on a live node',
};

export function ConfigDiffView({ diff }: { diff: ConfigDiff }) {
  if (diff.changes.length === 0)
    return <p class="muted">No difference: the kubelet reads both as the same configuration.</p>;
  return (
    <>
      <p>{diff.impact}</p>
      <DataTable
        caption={`Fields that change from ${diff.from} to ${diff.to}`}
        rows={diff.changes}
        rowKey={({ path }) => path}
        columns={[
          { title: 'Field', cell: ({ path }) => <code>{path}</code> },
          { title: 'From', cell: ({ from }) => <Value value={from} kind="removed" /> },
          { title: 'To', cell: (change) => <NewValue change={change} /> },
          { title: 'Needs', cell: ({ needs }) => needsTexts[needs] },
          { title: 'Why', cell: ({ why }) => why, isText: true },
          { title: 'Risk', cell: ({ risk }) => risk ?? '', isText: true },
        ]}
      />
    </>
  );
}

function NewValue({ change: { to, dropped, pinnedByFlag } }: { change: FieldDiff }) {
  return (
    <>
      <Value value={to} kind="added" />
      {dropped && <span class="hint"> default of the kubelet</span>}
      {pinnedByFlag && <span class="hint"> a flag of the kubelet wins</span>}
    </>
  );
}

function Value({ value, kind }: { value: unknown; kind: 'added' | 'removed' }) {
  if (value === undefined) return <span class="hint">not set</span>;
  return <code class={`value ${kind}`}>{typeof value === 'string' ? value : JSON.stringify(value, null, 1)}</code>;
}
