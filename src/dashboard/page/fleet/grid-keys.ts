/** Moves the active cell of a grid by keyboard, as in the ARIA Authoring Practices. Pure. */

export interface Cell {
  /** 0 is the header. */
  row: number;
  column: number;
}

interface Key {
  key: string;
  ctrlKey: boolean;
  metaKey: boolean;
  altKey: boolean;
}

/** Undefined: the key is not one of the grid's. */
export function move(
  { row, column }: Cell,
  { key, ctrlKey, metaKey, altKey }: Key,
  size: { rows: number; columns: number; page: number },
): Cell | undefined {
  if (altKey || metaKey) return undefined;
  const to = (toRow: number, toColumn: number): Cell => ({
    row: Math.min(Math.max(0, toRow), size.rows),
    column: Math.min(Math.max(0, toColumn), size.columns - 1),
  });
  switch (key) {
    case 'ArrowDown':
      return to(row + 1, column);
    case 'ArrowUp':
      return to(row - 1, column);
    case 'ArrowRight':
      return to(row, column + 1);
    case 'ArrowLeft':
      return to(row, column - 1);
    case 'PageDown':
      return to(row + size.page, column);
    case 'PageUp':
      return to(Math.max(1, row - size.page), column);
    case 'Home':
      return ctrlKey ? to(1, 0) : to(row, 0);
    case 'End':
      return ctrlKey ? to(size.rows, size.columns - 1) : to(row, size.columns - 1);
    default:
      return undefined;
  }
}
