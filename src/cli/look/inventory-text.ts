/** An inventory for people: tables for a terminal, and a page of HTML. Pure. */
import type { FieldValue, FieldValues, Inventory, Outlier } from '../../fleet/inventory.js';
import { type Column, tableLines } from '../terminal/output.js';
import { html, htmlPage, htmlTable, section } from '../terminal/page.js';
import { type Terminal, wrap } from '../terminal/terminal.js';

interface Row extends FieldValue {
  field: string;
}

const mostNames = 5;
const mostUnread = 10;
const mostValues = 8;

export function inventoryText(found: Inventory, terminal: Terminal, { wide }: { wide: boolean }): string {
  const { columns, paint } = terminal;
  const width = wide ? undefined : terminal.width;
  const rows = found.fields.flatMap((one) =>
    wide ? one.values.map((value) => ({ field: one.field, ...value })) : rowsOf(one),
  );
  const table = <T>(columnsOf: readonly Column<T>[], of: readonly T[]) =>
    of.length === 0 ? [] : ['', ...tableLines(columnsOf, of, width)];
  return [
    wrap(`${summaryText(found)}${isKnown(found) ? '' : ` ${cannotTell}`}`, columns),
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
        { title: 'FROM', cell: (row: Row) => fromText(row), gives: 'end' as const },
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

const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`;

const summaryText = ({ nodes, pools, configs }: Inventory): string =>
  `${count(nodes, 'node')} in ${count(pools.length, 'pool')} with ${count(configs, 'distinct config')}.`;

/** Some values were read from /configz. */
const isKnown = ({ fields }: Inventory): boolean =>
  !fields.some(({ values }) => values.some(({ origins }) => Object.hasOwn(origins, 'set')));
const cannotTell =
  "Some values are from /configz, which shows them without where they come from: they are 'default' or 'set'.";

/** The whole origin where it is one; else by kind, with the number of nodes. */
const fromText = ({ origins }: FieldValue): string => {
  const kinds = new Map<string, number>();
  const all = Object.entries(origins);
  if (all.length === 1) return all[0]![0];
  for (const [origin, nodes] of all) {
    const kind = origin.split(' ')[0]!;
    kinds.set(kind, (kinds.get(kind) ?? 0) + nodes);
  }
  return [...kinds].map(([kind, nodes]) => (kinds.size === 1 ? kind : `${kind} (${nodes})`)).join(', ');
};

/** A field that every host has for itself is one row. */
function rowsOf({ field, values }: FieldValues): Row[] {
  if (values.length <= mostValues) return values.map((value) => ({ field, ...value }));
  const [first, ...rest] = values.map(({ origins }) => origins);
  const origins = rest.reduce<Record<string, number>>(
    (sum, one) => {
      for (const [origin, nodes] of Object.entries(one)) sum[origin] = (sum[origin] ?? 0) + nodes;
      return sum;
    },
    { ...first },
  );
  return [
    {
      field,
      value: `${values.length} different values`,
      nodes: values.flatMap(({ nodes }) => nodes),
      origins,
      pools: {},
    },
  ];
}

export function unreadLines({ unread }: Pick<Inventory, 'unread'>, columns: number): string[] {
  if (unread.length === 0) return [];
  const left = unread.length - mostUnread;
  return [
    `${count(unread.length, 'node')} could not be read:`,
    ...unread.slice(0, mostUnread).map(({ name, reason }) => wrap(`${name}: ${reason}`, columns, '    ', '  ')),
    ...(left > 0 ? [`  and ${left} more; -o json names all`] : []),
  ];
}

export function inventoryPage(found: Inventory): string {
  const nodesText = ({ nodes }: FieldValue) =>
    nodes.length <= mostNames
      ? nodes.join(', ')
      : `${nodes.slice(0, mostNames).join(', ')} and ${nodes.length - mostNames} more`;
  const cellsOf = (row: Row) => [row.field, row.value, String(row.nodes.length), fromText(row), nodesText(row)];
  return htmlPage({
    title: 'Kubelet configuration inventory',
    style: 'body { max-width: 76rem; }',
    body: [
      '<h1>Kubelet configuration inventory</h1>',
      `<p>${html(`${summaryText(found)}${isKnown(found) ? '' : ` ${cannotTell}`}`)}</p>`,
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
        htmlTable(['field', 'value', 'nodes', 'from', 'on'], found.fields.flatMap(rowsOf).map(cellsOf)),
      ),
    ],
  });
}
