/** Audit: the checks of benchmarks on the effective configs, by pool; what fails and what is not known first. */
import type { AuditAnswer, AuditFinding } from '../../wire.js';
import { DataTable } from '../parts/data-table.js';
import { NodeCount } from '../parts/node-links.js';
import { Section } from '../parts/panels.js';
import { FleetReading } from './fleet-reading.js';

export const AuditPage = () => (
  <FleetReading<AuditAnswer> title="Audit" verb="audit">
    {({ pools }) => pools.map((pool) => <Pool key={pool.name} pool={pool} />)}
  </FleetReading>
);

const isGood = ({ result }: AuditFinding): boolean => result === 'pass' || result === 'not-applicable';
const keyOf = ({ check, found, origin, result }: AuditFinding): string => `${check} ${found} ${origin} ${result}`;

function Pool({ pool: { name, nodes, findings } }: { pool: AuditAnswer['pools'][number] }) {
  const bad = findings.filter((one) => !isGood(one));
  const good = findings.filter(isGood);
  return (
    <Section title={`${name}, ${nodes.toLocaleString('en')} node${nodes === 1 ? '' : 's'}`}>
      {bad.length === 0 ? (
        <p>No check fails.</p>
      ) : (
        <Findings findings={bad} caption={`Failing or not known in ${name}`} />
      )}
      <details>
        <summary>
          {good.length} passing or not applicable
          <span class="visually-hidden"> in {name}</span>
        </summary>
        <Findings findings={good} caption={`Passing in ${name}`} />
      </details>
    </Section>
  );
}

function Findings({ findings, caption }: { findings: AuditFinding[]; caption: string }) {
  return (
    <DataTable
      caption={caption}
      rows={findings}
      rowKey={keyOf}
      columns={[
        {
          title: 'Result',
          cell: ({ result }) => <span class={`result ${result}`}>{resultTexts[result] ?? result}</span>,
        },
        {
          title: 'Check',
          cell: ({ title, why, ids }) => (
            <>
              <strong>{title}</strong>
              <div class="muted">{why}</div>
              <div class="ids">
                {ids.map((id) => (
                  <span key={id} class="reason">
                    {id}
                  </span>
                ))}
              </div>
            </>
          ),
          isText: true,
        },
        {
          title: 'Found',
          cell: ({ found, origin }) => (
            <>
              <code>{found}</code> <span class="muted">({origin})</span>
            </>
          ),
          isText: true,
        },
        { title: 'Fix', cell: ({ fix }) => fix, isText: true },
        { title: 'Nodes', cell: ({ nodes }) => <NodeCount nodes={nodes} />, isText: true },
      ]}
    />
  );
}

const resultTexts: Record<string, string> = { 'cannot-tell': 'not known', 'not-applicable': 'not applicable' };
