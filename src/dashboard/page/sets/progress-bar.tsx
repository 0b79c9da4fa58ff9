/** A progress bar of node counts with a text: each part has its colour and its pattern. */
import type { Part } from './set-view.js';

const order: Part[] = ['updated', 'trial', 'failed', 'left'];
const words: Record<Part, string> = { updated: 'updated', trial: 'in trial', failed: 'failed', left: 'left' };

export function ProgressBar({ parts, label }: { parts: Record<Part, number>; label: string }) {
  const total = order.reduce((sum, part) => sum + parts[part], 0);
  const shown = order.filter((part) => parts[part] > 0);
  const text = shown.map((part) => `${parts[part]} ${words[part]}`).join(', ') || 'no nodes';
  return (
    <div class="bar" role="img" aria-label={`${label}: ${text}`} title={text}>
      {shown.map((part) => (
        <span key={part} class={`part ${part}`} style={{ flexGrow: parts[part] / total }} />
      ))}
    </div>
  );
}

/** The same in words, below the bar. */
export function ProgressText({ parts }: { parts: Record<Part, number> }) {
  return (
    <span class="legend">
      {order
        .filter((part) => parts[part] > 0)
        .map((part) => (
          <span key={part} class={`key ${part}`}>
            {parts[part]} {words[part]}
          </span>
        ))}
    </span>
  );
}
