/** Differences of Go's YAML library in older kubelets. */

export interface Dialect {
  /** Until 1.12 `{a:b}` was an error, since then it is a key `a:b`. */
  allowsColonInFlow: boolean;
  /** Until 1.12 text after the first document that does not start another one was an error; since then it is ignored. */
  endsWithDocument: boolean;
  /** Until 1.16 `1e3` was text, and only `1e+3` a number. */
  allowsBareExponent: boolean;
}

export const newestDialect: Dialect = { allowsColonInFlow: true, endsWithDocument: true, allowsBareExponent: true };
const until16: Dialect = { ...newestDialect, allowsBareExponent: false };
const until12: Dialect = { allowsColonInFlow: false, endsWithDocument: false, allowsBareExponent: false };

/** The same object for minors that read alike. */
export const dialectOf = (minor: number): Dialect => (minor < 13 ? until12 : minor < 17 ? until16 : newestDialect);
