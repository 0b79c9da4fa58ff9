/**
 * The fleet page: whether every node runs the config that it should. Four figures, every node as a cell and as a row, and recent
 * changes.
 */
import { useComputed, useSignalEffect } from '@preact/signals';
import { useRef, useState } from 'preact/hooks';
import { CopyCommand } from '../parts/copy-command.js';
import { announce } from '../parts/notices.js';
import { EmptyPanel, PageTitle } from '../parts/panels.js';
import { StateBadge } from '../parts/state-badge.js';
import { place, setQuery } from '../router.js';
import { me } from '../session.js';
import { Cells } from './cells.js';
import { Filters, OverallStates } from './filters.js';
import { isLoaded, rowOf, rowsByName, rowsVersion } from './fleet-store.js';
import { type ColumnName, countRows, flagsOf, groupRows, readQuery, select } from './fleet-view.js';
import { NodeGrid, rowHeight } from './node-grid.js';
import { TimelineSection } from './timeline.js';

export function FleetPage() {
  if (!me.value!.may.seeFleet) return <NotAllowed />;
  if (!isLoaded.value)
    return (
      <>
        <PageTitle>Fleet</PageTitle>
        <p class="loading" role="status">
          Loading nodes…
        </p>
      </>
    );
  return <Fleet />;
}

function Fleet() {
  const rows = useComputed(() => {
    rowsVersion.value;
    return rowsByName();
  });
  // The array stays the same while nodes stay, so the version is what makes these count again.
  const counts = useComputed(() => {
    rowsVersion.value;
    return countRows(rows.value);
  });
  const query = useComputed(() => readQuery(place.value.query));
  const shown = useComputed(() => {
    rowsVersion.value;
    return select(rows.value, query.value);
  });
  const groups = useComputed(() => groupRows(shown.value, query.value.group));
  useTroubleAnnounced(() => counts.value.overall['in trouble']);

  const total = counts.value.total;
  if (total === 0) return <NoNodes />;
  const nodes = (count: number) => `${count.toLocaleString('en')} ${count === 1 ? 'node' : 'nodes'}`;
  const label = `${nodes(shown.value.length)} as cells. The table has the same nodes.`;
  return (
    <>
      <div class="fleet-head">
        <PageTitle>
          {shown.value.length === total
            ? nodes(total)
            : `${shown.value.length.toLocaleString('en')} of ${nodes(total)}`}
        </PageTitle>
        <OverallStates counts={counts.value} query={query.value} />
      </div>
      <Filters counts={counts.value} query={query.value} rows={rows.value} text={place.value.query.get('q') ?? ''} />
      {shown.value.length === 0 ? (
        <EmptyPanel title="No node matches these filters.">
          <p>Clear a filter to see more nodes.</p>
        </EmptyPanel>
      ) : (
        <div
          class={shown.value.length > fewNodes ? 'fleet' : 'fleet few'}
          style={{ '--rows-height': `${heightFor(shown.value.length)}px` }}
        >
          <CellsWithDetail groups={groups.value} label={label} />
          <NodeGrid
            rows={shown.value}
            sort={query.value.sort}
            isDescending={query.value.isDescending}
            onSort={(column) => sortBy(column, query.value)}
          />
        </div>
      )}
      <TimelineSection />
    </>
  );
}

const fewNodes = 40;

/** Height for a table with this many rows; a few nodes need no screen full of nothing. */
const heightFor = (nodes: number): number => Math.max(200, (nodes + 1) * rowHeight + 24);

function CellsWithDetail({ groups, label }: { groups: ReturnType<typeof groupRows>; label: string }) {
  const [name, setName] = useState<string>();
  const pointed = name === undefined ? undefined : rowOf(name);
  return (
    <div class="cells-box">
      <Cells groups={groups} label={label} onPoint={(row) => setName(row?.name)} />
      <p class="pointed" aria-hidden="true">
        {pointed ? (
          <>
            <strong>{pointed.name}</strong> <StateBadge state={pointed.state} />{' '}
            {[...flagsOf(pointed), pointed.assigned, pointed.error].filter(Boolean).join(' · ')}
          </>
        ) : (
          'Point at a cell to read it; ? explains the signs.'
        )}
      </p>
    </div>
  );
}

/** A second click on a column turns the order round. */
function sortBy(column: ColumnName, { sort, isDescending }: { sort: ColumnName; isDescending: boolean }): void {
  setQuery({ sort: column === sort && !isDescending ? `-${column}` : column === 'name' ? '' : column });
}

/** Read aloud only when the number changed, and not more often than a person can listen. */
function useTroubleAnnounced(count: () => number): void {
  const announced = useRef<{ count: number; atMs: number } | undefined>(undefined);
  useSignalEffect(() => {
    const now = count();
    announced.current ??= { count: now, atMs: Date.now() };
    const { count: before, atMs } = announced.current;
    if (now === before) return undefined;
    const timer = setTimeout(
      () => {
        announced.current = { count: now, atMs: Date.now() };
        announce(`${now} ${now === 1 ? 'node is' : 'nodes are'} in trouble.`);
      },
      Math.max(0, atMs + 10_000 - Date.now()),
    );
    return () => clearTimeout(timer);
  });
}

function NoNodes() {
  return (
    <>
      <PageTitle>Fleet</PageTitle>
      <EmptyPanel title="The cluster has no nodes.">
        <p>A node appears here as soon as its kubelet has registered it. To try relet without a cluster:</p>
        <CopyCommand command="relet up" />
      </EmptyPanel>
    </>
  );
}

function NotAllowed() {
  const { user } = me.value!;
  return (
    <>
      <PageTitle>Fleet</PageTitle>
      <EmptyPanel title={`${user} may not list nodes and NodeConfigs.`}>
        <p>Ask an administrator of the cluster for the ClusterRole relet:viewer. This shows what you may do:</p>
        <CopyCommand command="kubectl auth can-i --list" />
      </EmptyPanel>
    </>
  );
}
