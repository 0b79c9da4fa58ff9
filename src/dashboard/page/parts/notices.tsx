/** Notices in the corner of the page, also announced by a live region for screen readers. */
import { signal } from '@preact/signals';
import { Button } from './button.js';

interface Notice {
  id: number;
  kind: 'done' | 'failed';
  text: string;
}

const notices = signal<Notice[]>([]);
const spoken = signal('');
let nextId = 1;
const shownMs = 8000;

const dismiss = (id: number): void => {
  notices.value = notices.value.filter((notice) => notice.id !== id);
};

/** A failure stays until it is closed. */
export function notify(kind: Notice['kind'], text: string): void {
  const id = nextId++;
  notices.value = [...notices.value.slice(-3), { id, kind, text }];
  announce(text);
  if (kind === 'done') setTimeout(() => dismiss(id), shownMs);
}

/** Only read aloud; the newest replaces what has not been read yet. */
export function announce(text: string): void {
  spoken.value = text;
}

export function Notices() {
  return (
    <>
      <div class="visually-hidden" aria-live="polite" role="status">
        {spoken.value}
      </div>
      <div class="notices">
        {notices.value.map(({ id, kind, text }) => (
          <div key={id} class={`notice ${kind}`}>
            <p>{text}</p>
            <Button kind="quiet" onClick={() => dismiss(id)} aria-label="Dismiss">
              ✕
            </Button>
          </div>
        ))}
      </div>
    </>
  );
}
