/** A button that copies the text shown beside it. */
import { Button } from '../parts/button.js';
import { useCopy } from '../parts/copy-command.js';

export function CopyText({ text, label }: { text: string; label: string }) {
  const { isCopied, copy } = useCopy(text);
  return <Button onClick={copy}>{isCopied ? 'Copied' : label}</Button>;
}
