/** Keyboard shortcuts of the whole page, and the dialog that lists them with the state signs. Ignored while the user types in a field. */
import { signal } from '@preact/signals';
import { searchId } from './fleet/filters.js';
import { Button } from './parts/button.js';
import { Dialog } from './parts/dialog.js';
import { type signs, stateOrder } from './parts/signs.js';
import { StateSign } from './parts/state-badge.js';
import { link, navigate } from './router.js';

const isHelpShown = signal(false);

const places: Record<string, { path: string[]; title: string }> = {
  f: { path: [], title: 'the fleet' },
  s: { path: ['sets'], title: 'the sets' },
  c: { path: ['configs'], title: 'the configs' },
};

/** `g` waits this long for the letter of a place. */
const letterMs = 1500;
let gAtMs = 0;

export function listenToKeys(): void {
  addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || isTyping(event.target)) return;
    if (document.querySelector('dialog[open]') !== null) return;
    const isAfterG = Date.now() - gAtMs < letterMs;
    gAtMs = event.key === 'g' ? Date.now() : 0;
    const to = isAfterG ? places[event.key] : undefined;
    if (to) navigate(link(to.path));
    else if (event.key === '?') isHelpShown.value = true;
    else if (event.key === '/') find();
    else return;
    event.preventDefault();
  });
}

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || target.matches('input, textarea, select'));

function find(): void {
  const field = () => document.getElementById(searchId);
  if (field() === null) navigate(link([]));
  requestAnimationFrame(() => field()?.focus());
}

const meanings: Record<keyof typeof signs, string> = {
  active: 'runs the config that it is assigned',
  local: 'runs the local config of its host; nothing is assigned',
  detached: 'relet has left this host',
  trial: 'runs a new config on trial',
  waiting: 'is assigned a config that it does not run yet',
  rejected: 'rejected the config before a restart',
  'rolled back': 'the config failed there, and it went back',
  'no agent': 'no agent has ever reported',
  silent: 'its agent has stopped reporting',
  outdated: 'runs its config, and its set wants a newer one',
};

export const HelpButton = () => (
  <Button
    kind="quiet"
    aria-label="Keys and signs"
    title="Keys and signs (?)"
    onClick={() => {
      isHelpShown.value = true;
    }}
  >
    ?
  </Button>
);

export function Help() {
  if (!isHelpShown.value) return null;
  return (
    <Dialog
      title="Keys and signs"
      onClose={() => {
        isHelpShown.value = false;
      }}
    >
      <dl class="help">
        <Entry term={<kbd>/</kbd>}>find nodes</Entry>
        {Object.entries(places).map(([letter, { title }]) => (
          <Entry
            key={letter}
            term={
              <>
                <kbd>g</kbd> <kbd>{letter}</kbd>
              </>
            }
          >
            go to {title}
          </Entry>
        ))}
        <Entry term={<kbd>?</kbd>}>these keys and signs</Entry>
        <Entry term={<kbd>← ↑ → ↓</kbd>}>move in the table; Enter opens the node, or sorts by a title</Entry>
      </dl>
      <dl class="help">
        {stateOrder.map((state) => (
          <Entry
            key={state}
            term={
              <>
                <StateSign state={state} /> {state}
              </>
            }
          >
            {meanings[state]}
          </Entry>
        ))}
        <Entry term="a stroke through a sign">the node is not ready</Entry>
        <Entry term="a line below a sign">somebody holds the node: no set changes it</Entry>
      </dl>
    </Dialog>
  );
}

function Entry({ term, children }: { term: preact.ComponentChildren; children: preact.ComponentChildren }) {
  return (
    <div>
      <dt>{term}</dt>
      <dd>{children}</dd>
    </div>
  );
}
