/** A button that copies a text which is shown beside it. */
import { useState } from 'preact/hooks';
import { Button } from '../parts/button.js';
import { copyText } from '../parts/copy-command.js';
import { announce } from '../parts/notices.js';

export function CopyText({ text, label }: { text: string; label: string }) {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    setCopied(await copyText(text));
    announce('Copied.');
    setTimeout(() => setCopied(false), 2000);
  };
  return <Button onClick={copy}>{isCopied ? 'Copied' : label}</Button>;
}
