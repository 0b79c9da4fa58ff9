/**
 * A table of some dozens of rows, with a caption for screen readers. It scrolls sideways if it is too wide; on a phone each row is a
 * list of its cells. The fleet has its own table.
 */
import type { ComponentChildren } from 'preact';

export interface Column<T> {
  title: string;
  cell(row: T): ComponentChildren;
  isNumber?: boolean;
  /** Sentences: they may take several lines. */
  isText?: boolean;
}

interface Props<T> {
  caption: string;
  columns: Column<T>[];
  rows: T[];
  rowKey(row: T): string | number;
}

export function DataTable<T>({ caption, columns, rows, rowKey }: Props<T>) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section class="table-scroll" aria-label={caption} tabIndex={0}>
      <table class="data">
        <caption class="visually-hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map(({ title, isNumber }) => (
              <th key={title} scope="col" class={isNumber ? 'number' : ''}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={rowKey(row)}>
              {columns.map(({ title, cell, isNumber, isText }) => (
                <td key={title} class={isNumber ? 'number' : isText ? 'text' : ''} data-title={title}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
