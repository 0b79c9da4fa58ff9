/** Inventory: which values of each field exist, on how many nodes, and the nodes that differ from their pool. */
import type { InventoryAnswer } from '../../wire.js';
import { DataTable } from '../parts/data-table.js';
import { NodeCount } from '../parts/node-links.js';
import { Section } from '../parts/panels.js';
import { place, setQuery } from '../router.js';
import { FleetReading } from './fleet-reading.js';

export const InventoryPage = () => (
  <FleetReading<InventoryAnswer> title="Inventory" verb="inventory">
    {(answer) => (
      <>
        <Outliers outliers={answer.outliers} />
        <Pools pools={answer.pools} />
        <Values fields={answer.fields} />
      </>
    )}
  </FleetReading>
);

function Outliers({ outliers }: Pick<InventoryAnswer, 'outliers'>) {
  if (outliers.length === 0) return null;
  return (
    <Section title="Outliers: nodes that differ from nearly all of their pool">
      <DataTable
        caption="Outliers"
        rows={outliers}
        rowKey={({ pool, field, value, usual }) => [pool, field, value, usual].join(' ')}
        columns={[
          { title: 'Nodes', cell: ({ nodes }) => <NodeCount nodes={nodes} /> },
          { title: 'Pool', cell: ({ pool }) => pool },
          { title: 'Field', cell: ({ field }) => <code>{field}</code> },
          { title: 'Value', cell: ({ value }) => <code>{value}</code>, isText: true },
          { title: 'Others have', cell: ({ usual }) => <code>{usual}</code>, isText: true },
        ]}
      />
    </Section>
  );
}

function Pools({ pools }: Pick<InventoryAnswer, 'pools'>) {
  if (pools.length === 0) return null;
  return (
    <Section title="Pools">
      <DataTable
        caption="Pools of nodes"
        rows={pools}
        rowKey={({ name }) => name}
        columns={[
          { title: 'Pool', cell: ({ name }) => name },
          { title: 'Nodes', cell: ({ nodes }) => nodes.toLocaleString('en') },
          { title: 'Configs', cell: ({ configs }) => `${configs.toLocaleString('en')} distinct` },
          { title: 'Kubelets', cell: ({ kubelets }) => kubelets.join(', ') },
        ]}
      />
    </Section>
  );
}

function Values({ fields }: Pick<InventoryAnswer, 'fields'>) {
  if (fields.length === 0) return null;
  const text = place.value.query.get('field') ?? '';
  const isShown = ({ field, isDefault }: InventoryAnswer['fields'][number]) =>
    text === '' ? !isDefault : field.toLowerCase().includes(text.trim().toLowerCase());
  const rows = fields.filter(isShown).flatMap(({ field, values }) => values.map((value) => ({ field, ...value })));
  const find = (
    <label>
      <span class="visually-hidden">Find fields by name</span>
      <input
        type="search"
        placeholder="Find fields"
        value={text}
        onInput={(event) => setQuery({ field: event.currentTarget.value })}
      />
    </label>
  );
  return (
    <Section title="Values" actions={find}>
      {text === '' && (
        <p class="hint">Fields that somebody set, or that differ. Find others, with their defaults, by name.</p>
      )}
      {rows.length === 0 ? (
        <p class="muted">{text === '' ? 'All fields have their defaults.' : 'No field has this in its name.'}</p>
      ) : (
        <DataTable
          caption="Values by field"
          rows={rows}
          rowKey={({ field, value }) => `${field} ${value}`}
          columns={[
            { title: 'Field', cell: ({ field }) => <code>{field}</code> },
            { title: 'Value', cell: ({ value }) => <code>{value}</code>, isText: true },
            { title: 'From', cell: ({ from }) => from, isText: true },
            { title: 'Nodes', cell: ({ nodes }) => <NodeCount nodes={nodes} />, isText: true },
          ]}
        />
      )}
    </Section>
  );
}
