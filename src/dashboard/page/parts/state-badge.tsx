/** The state of a config as sign, colour and word. */
import { type RowState, signs, stateToken } from './signs.js';

export function StateSign({ state }: { state: string }) {
  const path = signs[state as RowState];
  return path === undefined ? null : (
    <svg class="sign" viewBox="0 0 12 12" aria-hidden="true" style={{ color: `var(${stateToken(state)})` }}>
      <path fill="currentColor" fill-rule="evenodd" d={path} />
    </svg>
  );
}

export function StateBadge({ state }: { state: string }) {
  return (
    <span class="state" style={{ color: `var(${stateToken(state)})` }}>
      <StateSign state={state} />
      {state}
    </span>
  );
}

/** A fact about a node beside its state, such as held or not ready. */
export function Flag({ children }: { children: string }) {
  return <span class="flag">{children}</span>;
}
