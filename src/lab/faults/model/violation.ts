/** A promise that was broken. The numbers are those of docs/reliability.md. */
export interface Violation {
  promise: 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9;
  atMs: number;
  what: string;
}

export type Report = (promise: Violation['promise'], atMs: number, what: string) => void;
