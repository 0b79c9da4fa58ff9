/** The buttons of a node: only those that are useful now and that the user may run. Each shows its command before it runs. */
import { useState } from 'preact/hooks';
import type { NodeDetails, NodeVerb } from '../../wire.js';
import { apiPath } from '../api.js';
import { WriteButton } from '../parts/button.js';
import { ConfirmChange, type ConfirmedChange } from '../parts/confirm.js';
import { SetFields } from './set-fields.js';

interface VerbText {
  button: string;
  text(node: NodeDetails): string;
  isDangerous?: boolean;
  asksWhy?: boolean;
}

const verbs: Record<NodeVerb, VerbText> = {
  set: { button: 'Set fields', text: () => '' },
  undo: {
    button: 'Undo',
    text: undoText,
    asksWhy: true,
  },
  reset: {
    button: 'Reset to local',
    text: ({ row }) => `${row.name} returns to the local config of its host. Its kubelet restarts.`,
    isDangerous: true,
    asksWhy: true,
  },
  hold: {
    button: 'Hold',
    text: ({ row }) =>
      `No set and no command of relet changes ${row.name} until it is released. What runs there stays.`,
    asksWhy: true,
  },
  release: { button: 'Release', text: releaseText, asksWhy: true },
  dismiss: {
    button: 'Dismiss what is left to do',
    text: ({ row }) => `Nothing is left to do on the host of ${row.name} any more.`,
  },
};

function undoText({ row, actions, history }: NodeDetails): string {
  const to = actions.find(({ verb }) => verb === 'undo')?.to;
  const entry = history.find(({ revision }) => revision === to);
  const what = entry ? `${entry.to}, revision ${to} of its history,` : 'the config before the present one';
  return `${row.name} is assigned ${what} again. Its kubelet restarts.`;
}

function releaseText({ row, hold }: NodeDetails): string {
  const ended = hold === undefined ? '' : `The hold of ${row.name} ends. `;
  if (row.taken) return `${ended}${row.name} goes back to the set ${row.set}, which assigns its own config again.`;
  return `${ended}Sets and commands may change it again.`;
}

export function NodeActions({ node, onDone }: { node: NodeDetails; onDone(): void }) {
  const [open, setOpen] = useState<NodeVerb>();
  const action = node.actions.find(({ verb }) => verb === open);
  const close = () => setOpen(undefined);
  return (
    <>
      {node.actions.map(({ verb }) => (
        <WriteButton key={verb} onClick={() => setOpen(verb)}>
          {verbs[verb].button}
        </WriteButton>
      ))}
      {action?.verb === 'set' && <SetFields node={node} onClose={close} onDone={onDone} />}
      {action && action.verb !== 'set' && (
        <ConfirmChange change={changeOf(node, action)} onClose={close} onDone={onDone} />
      )}
    </>
  );
}

function changeOf(node: NodeDetails, { verb, command, to }: NodeDetails['actions'][number]): ConfirmedChange {
  const { button, text, ...rest } = verbs[verb];
  const { name } = node.row;
  return {
    title: `${button}: ${name}`,
    text: text(node),
    command,
    path: apiPath('nodes', name, verb),
    ...(to !== undefined && { body: { to } }),
    button,
    ...rest,
  };
}
