/** The colour theme: light, dark, or that of the system. The choice is kept in this browser. */
import { computed, effect, signal } from '@preact/signals';
import { remembered } from './remembered.js';

export const themes = ['system', 'light', 'dark'] as const;
export type Theme = (typeof themes)[number];

const isTheme = (text: string | null): text is Theme => themes.includes(text as Theme);
const { value, choose } = remembered<Theme>(
  'relet-theme',
  (text) => (isTheme(text) ? text : 'system'),
  (theme) => theme,
);

export const theme = value;
export const chooseTheme = choose;

const isSystemDark = signal(false);
/** The colours on the screen. Canvases read it, since they do not follow a change of the style sheet. */
export const isDark = computed(() => (theme.value === 'system' ? isSystemDark.value : theme.value === 'dark'));

export function applyTheme(): void {
  const dark = matchMedia('(prefers-color-scheme: dark)');
  isSystemDark.value = dark.matches;
  dark.addEventListener('change', () => {
    isSystemDark.value = dark.matches;
  });
  effect(() => {
    document.documentElement.dataset.theme = theme.value;
  });
}
