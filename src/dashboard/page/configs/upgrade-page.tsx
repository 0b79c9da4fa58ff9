/** Preview of a kubelet upgrade with unchanged configs: `relet config upgrade-check` of the fleet. */
import { newestMinor } from '../../../config/model.js';
import type { UpgradeAnswer } from '../../wire.js';
import { rowsByName, rowsVersion } from '../fleet/fleet-store.js';
import { CopyCommand } from '../parts/copy-command.js';
import { DataTable } from '../parts/data-table.js';
import { NodeLinks } from '../parts/node-links.js';
import { EmptyPanel, Loaded, PageTitle, Section } from '../parts/panels.js';
import { useResource } from '../resource.js';
import { place, setQuery } from '../router.js';
import { type NodesReport, resultOf, versionsAfter } from './upgrade-report.js';

export function UpgradePage() {
  rowsVersion.value;
  const versions = versionsAfter(
    rowsByName().map(({ kubelet }) => kubelet),
    newestMinor,
  );
  const to = place.value.query.get('to') ?? versions[0] ?? `1.${newestMinor}`;
  const answer = useResource<UpgradeAnswer>(`upgrade-check?${new URLSearchParams({ to })}`);
  const choice = (
    <label class="choice">
      <span>To kubelet</span>
      <select value={to} onChange={(event) => setQuery({ to: event.currentTarget.value })}>
        {[...new Set([...versions, to])].map((version) => (
          <option key={version} value={version}>
            {version}
          </option>
        ))}
      </select>
    </label>
  );
  return (
    <>
      <PageTitle actions={choice}>Upgrade check</PageTitle>
      <p class="sentence">What the configs of the fleet, unchanged, will mean to kubelet {to}.</p>
      <Loaded resource={answer}>{(data) => <Answer answer={data} />}</Loaded>
    </>
  );
}

function Answer({ answer: { command, reports, problem } }: { answer: UpgradeAnswer }) {
  const all = Array.isArray(reports) ? (reports as NodesReport[]) : [];
  return (
    <>
      {problem && <EmptyPanel title={problem} />}
      {all.map((report) => (
        <Report key={`${report.file} ${report.nodes?.[0]}`} report={report} />
      ))}
      {!problem && all.length === 0 && <EmptyPanel title="There is no node to check." />}
      <p class="hint">The same in a terminal:</p>
      <CopyCommand command={command} />
    </>
  );
}

function Report({ report }: { report: NodesReport }) {
  const { file, from, nodes = [], findings } = report;
  const [first] = nodes;
  const title = nodes.length === 1 ? first! : `${nodes.length.toLocaleString('en')} nodes`;
  return (
    <Section title={`${title}, kubelet ${from}, ${file}`}>
      <p>
        <strong>{resultOf(report)}</strong> <NodeLinks names={nodes.slice(0, 8)} count={nodes.length} />
      </p>
      {findings.length > 0 && (
        <DataTable
          caption={`What changes for ${title}`}
          rows={findings}
          rowKey={({ path, message, since }) => `${path} ${message} ${since}`}
          columns={[
            { title: 'Severity', cell: ({ severity }) => severity },
            { title: 'Since', cell: ({ since }) => since },
            { title: 'Field', cell: ({ path }) => <code>{path}</code> },
            { title: 'What changes', cell: ({ message }) => message, isText: true },
            { title: 'Remedy', cell: ({ remedy }) => remedy ?? '', isText: true },
          ]}
        />
      )}
    </Section>
  );
}
