/**
 * The fleet as a table: an ARIA grid of which only the visible rows are in the DOM. The focus stays on the grid itself and an active
 * cell moves in it, so that an update never takes the focus away.
 */
// biome-ignore-all lint/a11y/useSemanticElements: a table cannot leave out rows that are not visible
// biome-ignore-all lint/a11y/useFocusableInteractive: the grid has the focus, and names its active cell
import type { RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Row } from '../../wire.js';
import { Age } from '../parts/age.js';
import { Flag, StateBadge } from '../parts/state-badge.js';
import { link, navigate } from '../router.js';
import { columnTitles, columnWidths, hiddenColumns, type Longest, longestIn } from './columns.js';
import { columns as allColumns, type ColumnName, flagsOf } from './fleet-view.js';
import { type Cell, move } from './grid-keys.js';

export const rowHeight = 28;
/** Rows beyond both edges, so that a fast scroll shows no gap. */
const beyond = 8;

const cells: Record<ColumnName, (row: Row) => preact.ComponentChildren> = {
  name: (row) => (
    <a href={link(['nodes', row.name])} tabIndex={-1}>
      {row.name}
    </a>
  ),
  state: (row) => (
    <>
      <StateBadge state={row.state} />
      {row.silentSince > 0 && <Age ms={row.silentSince} />}
      {flagsOf(row).map((flag) => (
        <Flag key={flag}>{flag}</Flag>
      ))}
    </>
  ),
  error: (row) => <span title={row.error}>{row.error}</span>,
  set: (row) => (row.wave > 0 ? `${row.set}, wave ${row.wave}` : row.set),
  assigned: (row) => <span title={row.assigned}>{row.assigned}</span>,
  active: (row) => <span title={row.active}>{row.active}</span>,
  kubelet: (row) => row.kubelet,
  since: (row) => (row.since > 0 ? <Age ms={row.since} /> : ''),
  zone: (row) => row.zone,
};

interface Props {
  rows: Row[];
  sort: ColumnName;
  isDescending: boolean;
  onSort(column: ColumnName): void;
}

export function NodeGrid({ rows, sort, isDescending, onSort }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useView(box);
  /** Row 0 is the header. */
  const [active, setActive] = useState<Cell>({ row: 1, column: 0 });
  const [hasFocus, setFocus] = useState(false);

  const columns = allColumns.filter((name) => !hiddenColumns.value.includes(name));
  const widths = useWidths(rows, columns);
  const activeRow = Math.min(active.row, rows.length);
  const activeColumn = Math.min(active.column, columns.length - 1);
  const first = Math.max(0, Math.floor(view.top / rowHeight) - beyond);
  const end = Math.min(rows.length, Math.ceil((view.top + view.height) / rowHeight) + beyond);
  const shown = Array.from({ length: Math.max(0, end - first) }, (_, at) => first + at);
  // The active row exists wherever the grid is scrolled to: a screen reader must find it.
  if (activeRow > 0 && !shown.includes(activeRow - 1)) shown.push(activeRow - 1);

  const goTo = (cell: Cell) => {
    setActive(cell);
    if (cell.row > 0) scrollTo(box.current!, cell.row - 1);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault();
      const row = rows[activeRow - 1];
      if (activeRow === 0) onSort(columns[activeColumn]!);
      else if (row) navigate(link(['nodes', row.name]));
      return;
    }
    const page = Math.max(1, Math.floor(view.height / rowHeight) - 2);
    const to = move({ row: activeRow, column: activeColumn }, event, {
      rows: rows.length,
      columns: columns.length,
      page,
    });
    if (to === undefined) return;
    event.preventDefault();
    goTo(to);
  };
  const cellId = (row: number, column: number) => `cell-${row}-${column}`;
  const isActive = (row: number, column: number) => hasFocus && activeRow === row && activeColumn === column;

  return (
    <div
      class="grid"
      role="grid"
      aria-label="Nodes"
      aria-rowcount={rows.length + 1}
      aria-colcount={columns.length}
      aria-activedescendant={cellId(activeRow, activeColumn)}
      tabIndex={0}
      style={{ '--columns': widths }}
      ref={box}
      onKeyDown={onKeyDown}
      onFocus={() => setFocus(true)}
      onBlur={() => setFocus(false)}
      onScroll={(event) => {
        const top = event.currentTarget.scrollTop;
        setView((before) => (before.top === top ? before : { ...before, top }));
      }}
    >
      <div role="rowgroup" class="head">
        <div role="row" aria-rowindex={1} class="row">
          {columns.map((name, column) => (
            <div
              key={name}
              id={cellId(0, column)}
              role="columnheader"
              tabIndex={-1}
              class={isActive(0, column) ? 'cell is-active' : 'cell'}
              aria-sort={sort === name ? (isDescending ? 'descending' : 'ascending') : 'none'}
              onClick={() => {
                setActive({ row: 0, column });
                onSort(name);
              }}
              onKeyDown={() => {}}
            >
              {columnTitles[name]}
              <span aria-hidden="true" class="arrow">
                {sort === name ? (isDescending ? '↓' : '↑') : ''}
              </span>
            </div>
          ))}
        </div>
      </div>
      <div role="rowgroup" class="body" style={{ height: `${rows.length * rowHeight}px` }}>
        {shown.map((at) => {
          const row = rows[at]!;
          return (
            <div
              key={row.name}
              role="row"
              aria-rowindex={at + 2}
              class="row"
              style={{ transform: `translateY(${at * rowHeight}px)` }}
            >
              {columns.map((name, column) => (
                <div
                  key={name}
                  id={cellId(at + 1, column)}
                  role={column === 0 ? 'rowheader' : 'gridcell'}
                  class={isActive(at + 1, column) ? 'cell is-active' : 'cell'}
                  tabIndex={-1}
                >
                  {cells[name](row)}
                </div>
              ))}
            </div>
          );
        })}
      </div>
    </div>
  );
}

/**
 * The part of the grid that is visible. Outside of the component, as is the next: a function that lives as long as the component, such
 * as one of an effect that runs once, keeps all that the functions of its first rendering use, and there that is every row of then.
 */
function useView(box: RefObject<HTMLDivElement | null>) {
  const [view, setView] = useState({ top: 0, height: 600 });
  useEffect(() => {
    const watcher = new ResizeObserver(([entry]) =>
      setView((before) => ({ ...before, height: entry!.contentRect.height })),
    );
    watcher.observe(box.current!);
    return () => watcher.disconnect();
  }, []);
  return [view, setView] as const;
}

function useWidths(rows: Row[], shown: readonly ColumnName[]): string {
  const measured = useRef<Longest | undefined>(undefined);
  measured.current = longestIn(rows, measured.current);
  return columnWidths(measured.current, shown);
}

/** Moves no more than it must, and keeps the row out from under the header. */
function scrollTo(box: HTMLElement, at: number): void {
  const top = at * rowHeight;
  const visible = box.clientHeight - rowHeight;
  if (top < box.scrollTop) box.scrollTop = top;
  else if (top + rowHeight > box.scrollTop + visible) box.scrollTop = top + rowHeight - visible;
}
