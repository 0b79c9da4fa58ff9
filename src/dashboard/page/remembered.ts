/** A setting that is kept in localStorage. If storage is forbidden, it lasts as long as the page. */
import { type Signal, signal } from '@preact/signals';

/** `read` turns the stored text into a value; null: nothing is stored. */
export function remembered<T>(
  key: string,
  read: (text: string | null) => T,
  write: (value: T) => string,
): { value: Signal<T>; choose(value: T): void } {
  const value = signal(read(stored(key)));
  return {
    value,
    choose(chosen) {
      value.value = chosen;
      try {
        localStorage.setItem(key, write(chosen));
      } catch {
        // See stored().
      }
    },
  };
}

function stored(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}
