/** The configs of the fleet: which nodes and sets use each, and which are unused. Two of them can be compared. */
import { useState } from 'preact/hooks';
import type { ConfigSummary } from '../../wire.js';
import { Age } from '../parts/age.js';
import { Button } from '../parts/button.js';
import { CopyCommand } from '../parts/copy-command.js';
import { DataTable } from '../parts/data-table.js';
import { EmptyPanel, Loaded, PageTitle, Section } from '../parts/panels.js';
import { useResource } from '../resource.js';
import { link, navigate } from '../router.js';

const idOf = ({ namespace, name }: ConfigSummary) => `${namespace}/${name}`;

export function ConfigsPage() {
  const configs = useResource<ConfigSummary[]>('configs');
  return (
    <>
      <PageTitle>Configs</PageTitle>
      <Loaded resource={configs}>{(all) => (all.length === 0 ? <NoConfigs /> : <Configs all={all} />)}</Loaded>
    </>
  );
}

function NoConfigs() {
  return (
    <EmptyPanel title="No node has been assigned a config yet.">
      <p>This changes a field of one node:</p>
      <CopyCommand command="relet set NODE maxPods=150" />
    </EmptyPanel>
  );
}

function Configs({ all }: { all: ConfigSummary[] }) {
  const [chosen, setChosen] = useState<string[]>([]);
  const unused = all.filter((config) => config.unused);
  const choose = (id: string, isOn: boolean) =>
    setChosen(isOn ? [...chosen, id].slice(-2) : chosen.filter((one) => one !== id));
  const compare = () => {
    // The older one first, whatever was chosen first.
    const [a, b] = all
      .filter((config) => chosen.includes(idOf(config)))
      .sort((one, other) => one.createdAt - other.createdAt)
      .map(idOf);
    navigate(link(['configs', 'diff'], { a, b }));
  };
  const table = (rows: ConfigSummary[], caption: string) => (
    <DataTable
      caption={caption}
      rows={rows}
      rowKey={idOf}
      columns={[
        {
          title: 'Compare',
          cell: (config) => (
            <input
              type="checkbox"
              aria-label={`Compare ${idOf(config)}`}
              checked={chosen.includes(idOf(config))}
              onChange={(event) => choose(idOf(config), event.currentTarget.checked)}
            />
          ),
        },
        {
          title: 'Config',
          cell: (config) => <a href={link(['configs', config.namespace, config.name])}>{config.name}</a>,
        },
        { title: 'Namespace', cell: ({ namespace }) => namespace },
        { title: 'Nodes', cell: ({ nodes }) => nodes.toLocaleString('en'), isNumber: true },
        { title: 'In history', cell: ({ inHistory }) => inHistory.toLocaleString('en'), isNumber: true },
        {
          title: 'Sets',
          cell: ({ sets }) =>
            sets.map((set, at) => (
              <span key={set}>
                {at > 0 && ', '}
                <a href={link(['sets', set])}>{set}</a>
              </span>
            )),
        },
        { title: 'Age', cell: ({ createdAt }) => <Age ms={createdAt} /> },
      ]}
    />
  );
  const used = all.filter((config) => !config.unused);
  const button = (
    <Button onClick={compare} disabled={chosen.length !== 2}>
      Compare two
    </Button>
  );
  return (
    <>
      <Section title="In use" actions={button}>
        {used.length === 0 ? <p class="muted">No config is in use.</p> : table(used, 'Configs that nodes or sets use')}
      </Section>
      {unused.length > 0 && (
        <Section title="Unused">
          {table(unused, 'Configs that nobody uses')}
          <p class="hint">Nothing refers to them any more. This removes them:</p>
          <CopyCommand command="relet gc" />
        </Section>
      )}
    </>
  );
}
