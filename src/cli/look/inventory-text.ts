/** An inventory for people: tables for a terminal, and a page of HTML. Pure. */
import {
  counted,
  type FieldValue,
  type FieldValues,
  type Inventory,
  inventorySummary,
  type Outlier,
  originText,
  shownValues,
} from '../../fleet/inventory.js';
import { type Column, tableLines } from '../terminal/output.js';
import { html, htmlPage, htmlTable, section } from '../terminal/page.js';
import { type Terminal, wrap } from '../terminal/terminal.js';

interface Row extends FieldValue {
  field: string;
}

const mostNames = 5;
const mostUnread = 10;

export function inventoryText(found: Inventory, terminal: Terminal, { wide }: { wide: boolean }): string {
  const { columns, paint } = terminal;
  const width = wide ? undefined : terminal.width;
  const rows = found.fields.flatMap((one) => rowsOf(one, wide ? one.values : shownValues(one)));
  const table = <T>(columnsOf: readonly Column<T>[], of: readonly T[]) =>
    of.length === 0 ? [] : ['', ...tableLines(columnsOf, of, width)];
  return [
    wrap(inventorySummary(found), columns),
    ...unreadLines(found, columns),
    ...table(
      [
        { title: 'POOL', cell: ({ name }) => name, gives: 'end' },
        { title: 'NODES', cell: ({ nodes }) => String(nodes) },
        { title: 'CONFIGS', cell: ({ configs }) => String(configs) },
        { title: 'KUBELETS', cell: ({ kubelets }) => kubelets.join(','), gives: 'end' },
      ],
      found.pools,
    ),
    ...table(
      [
        { title: 'FIELD', cell: ({ field }: Row) => field, gives: 'start' },
        { title: 'VALUE', cell: ({ value }) => value, gives: 'end' },
        { title: 'NODES', cell: ({ nodes }) => String(nodes.length) },
        { title: 'FROM', cell: (row: Row) => originText(row), gives: 'end' as const },
        ...(wide ? [{ title: 'ON', cell: ({ nodes }: Row) => nodes.join(',') }] : []),
      ],
      rows,
    ),
    ...(found.outliers.length > 0 ? ['', paint.bold('Outliers: nodes that differ from nearly all of their pool')] : []),
    ...table(outlierColumns, found.outliers).slice(1),
  ].join('\n');
}

const outlierColumns: readonly Column<Outlier>[] = [
  { title: 'NODE', cell: ({ node }) => node },
  { title: 'FIELD', cell: ({ field }) => field, gives: 'start' },
  { title: 'VALUE', cell: ({ value }) => value, gives: 'end' },
  { title: 'OTHERS', cell: ({ usual }) => usual, gives: 'end' },
  { title: 'POOL', cell: ({ pool }) => pool, gives: 'end', optional: true },
];

const rowsOf = ({ field }: FieldValues, values: FieldValue[]): Row[] => values.map((value) => ({ field, ...value }));

export function unreadLines({ unread }: Pick<Inventory, 'unread'>, columns: number): string[] {
  if (unread.length === 0) return [];
  const left = unread.length - mostUnread;
  return [
    `${counted(unread.length, 'node')} could not be read:`,
    ...unread.slice(0, mostUnread).map(({ name, reason }) => wrap(`${name}: ${reason}`, columns, '    ', '  ')),
    ...(left > 0 ? [`  and ${left} more; -o json names all`] : []),
  ];
}

export function inventoryPage(found: Inventory): string {
  const nodesText = ({ nodes }: FieldValue) =>
    nodes.length <= mostNames
      ? nodes.join(', ')
      : `${nodes.slice(0, mostNames).join(', ')} and ${nodes.length - mostNames} more`;
  const cellsOf = (row: Row) => [row.field, row.value, String(row.nodes.length), originText(row), nodesText(row)];
  return htmlPage({
    title: 'Kubelet configuration inventory',
    style: 'body { max-width: 76rem; }',
    body: [
      '<h1>Kubelet configuration inventory</h1>',
      `<p>${html(inventorySummary(found))}</p>`,
      section(
        'Nodes that could not be read',
        htmlTable(
          ['node', 'reason'],
          found.unread.map(({ name, reason }) => [name, { text: reason, tone: 'maybe' }]),
        ),
      ),
      section(
        'Outliers',
        htmlTable(
          ['node', 'field', 'value', 'value of the others', 'pool'],
          found.outliers.map(({ node, field, value, usual, pool }) => [
            node,
            field,
            { text: value, tone: 'maybe' },
            usual,
            pool,
          ]),
        ),
      ),
      section(
        'Pools',
        htmlTable(
          ['pool', 'nodes', 'distinct configs', 'kubelets'],
          found.pools.map(({ name, nodes, configs, kubelets }) => [
            name,
            String(nodes),
            String(configs),
            kubelets.join(', '),
          ]),
        ),
      ),
      section(
        'Values',
        htmlTable(
          ['field', 'value', 'nodes', 'from', 'on'],
          found.fields.flatMap((one) => rowsOf(one, shownValues(one))).map(cellsOf),
        ),
      ),
    ],
  });
}
