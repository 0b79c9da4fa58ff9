/** The revisions of a set, how each ended, and the difference of any two of them. */
import type { ConfigDiff, SetDetails } from '../../wire.js';
import { ageText } from '../now.js';
import { Ago } from '../parts/age.js';
import { ConfigDiffView } from '../parts/config-diff.js';
import { DataTable } from '../parts/data-table.js';
import { NodeLinks } from '../parts/node-links.js';
import { EmptyPanel, Loaded } from '../parts/panels.js';
import { useResource } from '../resource.js';
import { place, setQuery } from '../router.js';
import { inWords, standingText } from './set-view.js';

type Revision = SetDetails['revisions'][number];

export function Revisions({ set }: { set: SetDetails }) {
  const { revisions } = set;
  if (revisions.length === 0) return <EmptyPanel title="No revision has been rolled out yet." />;
  const { query } = place.value;
  const to = query.get('to') ?? revisions[0]!.revision;
  const from = query.get('from') ?? revisions[1]?.revision ?? '';
  const choose = (side: 'from' | 'to', chosen: string) => (one: Revision) => (
    <input
      type="radio"
      name={`revision-${side}`}
      aria-label={side === 'from' ? `Compare from ${one.revision}` : `Compare to ${one.revision}`}
      checked={one.revision === chosen}
      onChange={() => setQuery({ [side]: one.revision })}
    />
  );
  return (
    <>
      <DataTable
        caption="Revisions, newest first"
        rows={revisions}
        rowKey={({ revision }) => revision}
        columns={[
          ...(revisions.length > 1
            ? [
                { title: 'From', cell: choose('from', from) },
                { title: 'To', cell: choose('to', to) },
              ]
            : []),
          { title: 'Revision', cell: ({ revision }) => <code>{revision}</code> },
          { title: 'Change', cell: ({ summary }) => <code>{summary}</code>, isText: true },
          ...(revisions.some(({ signed }) => signed !== undefined)
            ? [{ title: 'Signed by', cell: signedBy, isText: true }]
            : []),
          { title: 'Started', cell: ({ startedAt }) => <Ago ms={Date.parse(startedAt)} /> },
          { title: 'Took', cell: took },
          { title: 'Outcome', cell: (one) => outcome(one, set) },
          ...(revisions.some(({ decided }) => decided !== '')
            ? [{ title: 'Decided', cell: ({ decided }: Revision) => decided, isText: true }]
            : []),
          ...(revisions.some(({ failedNodes = [] }) => failedNodes.length > 0)
            ? [{ title: 'Failed on', cell: failedOn, isText: true }]
            : []),
        ]}
      />
      {revisions.length > 1 && <RevisionDiff revisions={revisions} from={from} to={to} />}
    </>
  );
}

const signedBy = ({ signed }: Revision) => signed?.keys.map((key) => <code key={key}>{key} </code>);

const took = ({ startedAt, endedAt }: Revision): string =>
  endedAt === undefined ? '' : ageText(Date.parse(startedAt), Date.parse(endedAt));

const failedOn = ({ failedNodes = [] }: Revision) =>
  failedNodes.length > 0 && <NodeLinks names={failedNodes.slice(0, mostNames)} count={failedNodes.length} />;
const mostNames = 5;

function outcome({ revision, outcome: how }: Revision, set: SetDetails): string {
  if (how !== undefined) return `${inWords(how)}${revision === set.status.currentRevision ? ', current' : ''}`;
  if (revision !== set.status.updateRevision) return '';
  return set.assessment === 'stopped' ? standingText(set) : 'rolling out';
}

function RevisionDiff({ revisions, from, to }: { revisions: Revision[]; from: string; to: string }) {
  const [before, after] = [from, to].map((name) => revisions.find(({ revision }) => revision === name));
  // Absent where its ConfigMap is gone, or is not for this person.
  const hidden = [before, after].find((one) => one !== undefined && one.document === undefined);
  const [a, b] = [before?.source ?? '', after?.source ?? ''];
  const isPair = a !== '' && b !== '' && a !== b;
  const diff = useResource<ConfigDiff>(
    isPair && hidden === undefined ? `configs/diff?${new URLSearchParams({ a, b })}` : undefined,
  );
  if (!isPair) return null;
  if (hidden !== undefined)
    return (
      <p class="muted">
        The config of {hidden.revision} cannot be compared: its ConfigMap is gone, or you may not read it.
      </p>
    );
  return (
    <>
      <h3>
        From {from} to {to}
      </h3>
      <Loaded resource={diff}>{(data) => <ConfigDiffView diff={data} />}</Loaded>
    </>
  );
}
