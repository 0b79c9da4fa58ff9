/** The draft of this tab: kept in sessionStorage at every change, so that a reload loses nothing. */
import { signal } from '@preact/signals';
import { type Draft, emptyDraft } from './draft.js';

const key = 'relet-set-draft';

function stored(): Draft {
  try {
    return { ...emptyDraft, ...(JSON.parse(sessionStorage.getItem(key) ?? '{}') as Partial<Draft>) };
  } catch {
    return emptyDraft;
  }
}

export const draft = signal<Draft>(stored());

/** Errors that the editor has found in the overlay; nothing is known before it was open. */
export const overlayErrors = signal(0);

export function change(changes: Partial<Draft>): void {
  draft.value = { ...draft.value, ...changes };
  try {
    sessionStorage.setItem(key, JSON.stringify(draft.value));
  } catch {
    // No storage in this browser: the draft lives as long as the page.
  }
}

export function forget(): void {
  draft.value = emptyDraft;
  overlayErrors.value = 0;
  sessionStorage.removeItem(key);
}
