/** Light, dark, or as the system has it. The choice is kept in this browser. */
import { effect, signal } from '@preact/signals';

export const themes = ['system', 'light', 'dark'] as const;
export type Theme = (typeof themes)[number];

const key = 'relet-theme';
const isTheme = (text: string | null): text is Theme => themes.includes(text as Theme);

export const theme = signal<Theme>('system');

/** A browser may forbid storage: then the choice lasts as long as the page. */
function stored(): Theme {
  try {
    const text = localStorage.getItem(key);
    return isTheme(text) ? text : 'system';
  } catch {
    return 'system';
  }
}

export function chooseTheme(chosen: Theme): void {
  theme.value = chosen;
  try {
    localStorage.setItem(key, chosen);
  } catch {
    // See stored().
  }
}

export function applyTheme(): void {
  theme.value = stored();
  effect(() => {
    document.documentElement.dataset.theme = theme.value;
  });
}
