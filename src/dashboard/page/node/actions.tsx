/** The buttons of a node: only what makes sense now and is allowed. Each shows its command before it runs. */
import { useState } from 'preact/hooks';
import type { NodeDetails } from '../../wire.js';
import { apiPath } from '../api.js';
import { Button } from '../parts/button.js';
import { type Change, ConfirmChange } from '../parts/confirm.js';
import { SetFields } from './set-fields.js';

interface VerbText {
  button: string;
  text(name: string): string;
  isDangerous?: boolean;
  asksWhy?: boolean;
}

const verbs: Record<string, VerbText> = {
  set: { button: 'Set fields', text: () => '' },
  undo: {
    button: 'Undo',
    text: (name) =>
      `${name} is assigned the config before the present one again. Its kubelet restarts; running pods stay.`,
    asksWhy: true,
  },
  retry: { button: 'Retry', text: (name) => `${name} tries the assigned config again.` },
  hold: { button: 'Hold', text: (name) => `${name} follows no new assignment until it is released.`, asksWhy: true },
  release: { button: 'Release', text: (name) => `${name} goes back to its set and follows assignments again.` },
  dismiss: {
    button: 'Dismiss what is left to do',
    text: (name) => `Nothing is left to do on the host of ${name} any more.`,
  },
  reset: {
    button: 'Reset to local',
    text: (name) => `${name} returns to the local config of its host. Its kubelet restarts; running pods stay.`,
    isDangerous: true,
    asksWhy: true,
  },
};

export function NodeActions({ node, onDone }: { node: NodeDetails; onDone(): void }) {
  const [open, setOpen] = useState<string>();
  const { name } = node.row;
  const action = node.actions.find(({ verb }) => verb === open);
  const close = () => setOpen(undefined);
  return (
    <>
      {node.actions.map(({ verb }) => (
        <Button key={verb} onClick={() => setOpen(verb)}>
          {verbs[verb]?.button ?? verb}
        </Button>
      ))}
      {action?.verb === 'set' && <SetFields node={node} onClose={close} onDone={onDone} />}
      {action && action.verb !== 'set' && (
        <ConfirmChange change={changeOf(name, action.verb, action.command)} onClose={close} onDone={onDone} />
      )}
    </>
  );
}

function changeOf(name: string, verb: string, command: string): Change {
  const { button, text, ...rest } = verbs[verb] ?? { button: verb, text: () => '' };
  return {
    title: `${button}: ${name}`,
    text: text(name),
    command,
    path: apiPath('nodes', name, verb),
    button,
    ...rest,
  };
}
