/** A command of relet to copy: what a button does, for a terminal. */
import { useState } from 'preact/hooks';
import { Button } from './button.js';
import { announce } from './notices.js';

export function CopyCommand({ command, label = 'Copy command' }: { command: string; label?: string }) {
  const { isCopied, copy } = useCopy(command);
  return (
    <div class="command">
      <code>{command}</code>
      <Button kind="quiet" onClick={copy} aria-label={`${label}: ${command}`}>
        {isCopied ? 'Copied' : 'Copy'}
      </Button>
    </div>
  );
}

/** `isCopied` for two seconds after `copy` has succeeded. */
export function useCopy(text: string) {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    const isDone = await copyText(text);
    setCopied(isDone);
    announce(isDone ? 'Copied.' : 'It could not be copied.');
    setTimeout(() => setCopied(false), 2000);
  };
  return { isCopied, copy };
}

/** Without TLS and away from loopback a browser has no clipboard API; selecting a field still works there. */
async function copyText(text: string): Promise<boolean> {
  if (navigator.clipboard !== undefined) {
    const done = await navigator.clipboard.writeText(text).then(
      () => true,
      () => false,
    );
    if (done) return true;
  }
  const field = document.createElement('textarea');
  field.value = text;
  // Elements outside of an open dialog cannot be selected.
  (document.querySelector('dialog[open]') ?? document.body).append(field);
  field.select();
  const isDone = document.execCommand('copy');
  field.remove();
  return isDone;
}
