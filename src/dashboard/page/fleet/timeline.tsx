/** Changes of the last hours: a bar chart, and the list of changes with author and reason. */
import { useEffect, useRef } from 'preact/hooks';
import type { Timeline, TimelineChange } from '../../wire.js';
import { now } from '../now.js';
import { Ago } from '../parts/age.js';
import { DataTable } from '../parts/data-table.js';
import { EmptyPanel, Loaded, Section } from '../parts/panels.js';
import { useResource } from '../resource.js';
import { link, place, setQuery } from '../router.js';
import { isDark } from '../theme.js';
import { bucketChanges } from './change-buckets.js';

const spans = { '1': 'hour', '24': '24 hours', '168': '7 days' };
const refreshMs = 15_000;
const listed = 20;

export function TimelineSection() {
  const hours = place.value.query.get('hours') ?? '24';
  const timeline = useResource<Timeline>(
    `timeline?hours=${encodeURIComponent(hours)}`,
    Math.floor(now.value / refreshMs),
  );
  const choice = (
    <label class="choice">
      <span>Last</span>
      <select value={hours} onChange={(event) => setQuery({ hours: event.currentTarget.value })}>
        {Object.entries(spans).map(([value, title]) => (
          <option key={value} value={value}>
            {title}
          </option>
        ))}
      </select>
    </label>
  );
  return (
    <Section title="Changes" actions={choice}>
      <Loaded resource={timeline}>
        {(data) =>
          data.changes.length === 0 ? (
            <EmptyPanel title="No node changed its config in this time." />
          ) : (
            <>
              <Chart timeline={data} />
              <ChangeTable changes={data.changes.slice(0, listed)} />
            </>
          )
        }
      </Loaded>
    </Section>
  );
}

/** `differences`: the namespace of the configs, for a link to what each change changed. */
export function ChangeTable({ changes, differences }: { changes: TimelineChange[]; differences?: string }) {
  return (
    <DataTable
      caption="The newest changes"
      rows={changes}
      rowKey={(change) => `${change.at} ${change.by} ${change.to} ${change.names.join()}`}
      columns={[
        { title: 'When', cell: ({ at }) => <Ago ms={at} /> },
        { title: 'Nodes', cell: ({ nodes, names }) => <NodesText nodes={nodes} names={names} /> },
        { title: 'Change', cell: (change) => <ChangeText change={change} namespace={differences} /> },
        { title: 'Failed', cell: ({ failed }) => (failed === 0 ? '' : failed.toLocaleString('en')), isNumber: true },
        {
          title: 'By',
          cell: ({ set, verb, by }) =>
            set ? (
              <>
                set <a href={link(['sets', set])}>{set}</a>
              </>
            ) : (
              `${verb} by ${by}`
            ),
        },
        { title: 'Reason', cell: ({ why }) => why ?? '', isText: true },
      ]}
    />
  );
}

/** The local config of a node is not a ConfigMap: there is nothing to compare with. */
function ChangeText({ change: { from, to }, namespace }: { change: TimelineChange; namespace: string | undefined }) {
  if (from === to) return <>{to}</>;
  const text = `${from} → ${to}`;
  if (namespace === undefined || from === 'local' || to === 'local') return <>{text}</>;
  return <a href={link(['configs', 'diff'], { a: `${namespace}/${from}`, b: `${namespace}/${to}` })}>{text}</a>;
}

function NodesText({ nodes, names }: Pick<TimelineChange, 'nodes' | 'names'>) {
  const [only] = names;
  return nodes === 1 && only !== undefined ? (
    <a href={link(['nodes', only])}>{only}</a>
  ) : (
    <span title={names.join(', ')}>{nodes.toLocaleString('en')} nodes</span>
  );
}

/** uPlot comes when it is needed, so that the nodes are there before the bars. */
function Chart({ timeline }: { timeline: Timeline }) {
  const box = useRef<HTMLDivElement>(null);
  const dark = isDark.value;
  useEffect(() => {
    const element = box.current!;
    let plot: { destroy(): void; setSize(size: { width: number; height: number }): void } | undefined;
    let isOver = false;
    void import('./chart.js').then(({ drawBars }) => {
      if (!isOver) plot = drawBars(element, bucketChanges(timeline, 60));
    });
    const watcher = new ResizeObserver(() =>
      plot?.setSize({ width: element.clientWidth, height: element.clientHeight }),
    );
    watcher.observe(element);
    return () => {
      isOver = true;
      watcher.disconnect();
      plot?.destroy();
    };
  }, [timeline, dark]);
  return (
    <div
      class="chart"
      ref={box}
      role="img"
      aria-label="Nodes that changed over time; the table below has the changes."
    />
  );
}
