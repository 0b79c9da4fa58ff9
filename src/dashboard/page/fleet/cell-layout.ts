/** Layout of cells: groups one below the other, each a title and rows of squares. Pure; lengths are in CSS pixels. */
import type { Row } from '../../wire.js';
import type { Group } from './fleet-view.js';

export const titleHeight = 24;
const groupGap = 8;

export interface PlacedGroup extends Group {
  /** Top of its title. */
  top: number;
  bottom: number;
}

export interface CellLayout {
  /** A square with the gap beside it. */
  pitch: number;
  perRow: number;
  height: number;
  groups: PlacedGroup[];
}

/** Large cells while they fit on a screen. 15,000 nodes of 9 px are some 100 rows. */
export function pitchOf(nodes: number): number {
  if (nodes <= 200) return 24;
  if (nodes <= 1000) return 18;
  return nodes <= 4000 ? 12 : 9;
}

export function layOut(groups: Group[], width: number): CellLayout {
  const pitch = pitchOf(groups.reduce((sum, { rows }) => sum + rows.length, 0));
  const perRow = Math.max(1, Math.floor(width / pitch));
  let top = 0;
  const placed = groups.map((group) => {
    const bottom = top + titleHeight + Math.ceil(group.rows.length / perRow) * pitch;
    const at = { ...group, top, bottom };
    top = bottom + groupGap;
    return at;
  });
  return { pitch, perRow, height: Math.max(0, top - groupGap), groups: placed };
}

/** The node whose cell is at this point of the whole picture. */
export function cellAt({ pitch, perRow, groups }: CellLayout, x: number, y: number): Row | undefined {
  const group = groups.find(({ top, bottom }) => y >= top + titleHeight && y < bottom);
  const column = Math.floor(x / pitch);
  if (group === undefined || x < 0 || column >= perRow) return undefined;
  return group.rows[Math.floor((y - group.top - titleHeight) / pitch) * perRow + column];
}

/** The cells of a group between two heights: only these are drawn. */
export function visibleCells(
  { pitch, perRow }: CellLayout,
  { top, rows }: PlacedGroup,
  fromY: number,
  toY: number,
): { first: number; end: number } {
  const start = top + titleHeight;
  const firstRow = Math.max(0, Math.floor((fromY - start) / pitch));
  const endRow = Math.max(0, Math.ceil((toY - start) / pitch));
  return { first: Math.min(rows.length, firstRow * perRow), end: Math.min(rows.length, endRow * perRow) };
}
