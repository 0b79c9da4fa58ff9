/** Confirms a change: shows the equivalent command, asks for a reason if one is recorded, then runs the command and shows its output. */

import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { ActionResult } from '../../wire.js';
import { ApiFailure, post } from '../api.js';
import { asFailure } from '../resource.js';
import { Button, WriteButton } from './button.js';
import { CopyCommand } from './copy-command.js';
import { Dialog } from './dialog.js';
import { notify } from './notices.js';
import { ErrorPanel } from './panels.js';

export interface ConfirmedChange {
  title: string;
  /** Effect of the action, in a sentence or two. */
  text: ComponentChildren;
  /** Below it. */
  details?: ComponentChildren;
  /** Without the reason. */
  command: string;
  /** POST api/PATH. */
  path: string;
  body?: Record<string, unknown>;
  button: string;
  isDangerous?: boolean;
  /** The history keeps a reason for it. */
  asksWhy?: boolean;
}

/** A command that failed is a failure here too, with what it printed. */
export async function runAction(path: string, body: object): Promise<ActionResult> {
  const result = await post<ActionResult>(path, body);
  if (result.code !== 0) throw new ApiFailure(200, 'CommandFailed', result.output.trim(), undefined, result.command);
  return result;
}

/** Commands print a preview first; what they have done is at the end. */
export const lastLine = (output: string): string => output.trim().split('\n').at(-1)!;

/** `relet undo gpu-1 --why 'more pods'`, as a shell reads it. */
export const withWhy = (command: string, why: string): string =>
  why === '' ? command : `${command} --why '${why.replaceAll("'", "'\\''")}'`;

export function ConfirmChange({
  change,
  onClose,
  onDone,
}: {
  change: ConfirmedChange;
  onClose(): void;
  onDone?(): void;
}) {
  const [why, setWhy] = useState('');
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState<ApiFailure>();

  const run = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setFailure(undefined);
    try {
      const { output } = await runAction(change.path, { ...change.body, ...(why && { why }) });
      notify('done', lastLine(output) || `${change.title}: done.`);
      onDone?.();
      onClose();
    } catch (error) {
      setFailure(asFailure(error));
      setBusy(false);
    }
  };

  return (
    <Dialog title={change.title} onClose={onClose}>
      <form onSubmit={run}>
        <p>{change.text}</p>
        {change.details}
        {change.asksWhy && (
          <label class="field">
            Reason, kept in the history (optional)
            <input value={why} maxLength={200} onInput={(event) => setWhy(event.currentTarget.value)} />
          </label>
        )}
        <p class="hint">The same in a terminal:</p>
        <CopyCommand command={withWhy(change.command, why)} />
        {failure && <ErrorPanel failure={failure} />}
        <div class="buttons">
          <Button onClick={onClose}>Cancel</Button>
          <WriteButton type="submit" kind={change.isDangerous ? 'danger' : 'primary'} isBusy={isBusy}>
            {isBusy ? 'Working…' : change.button}
          </WriteButton>
        </div>
      </form>
    </Dialog>
  );
}
