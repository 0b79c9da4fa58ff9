/**
 * The text that a person edits: relet's own remarks are lines that begin with `# relet:`, and are taken out when the text
 * comes back. All other comments are the person's, and stay in the ConfigMap.
 */
import type { Finding } from '../../config/model.js';
import type { ConfiguredNode } from '../../fleet/configured-node.js';
import { oneLine } from '../../visible-text.js';

const mark = '# relet:';

export function withIntroduction(
  text: string,
  { name, kubeletVersion, configSource }: Pick<ConfiguredNode, 'name' | 'kubeletVersion' | 'configSource'>,
  failed: 'rejected' | 'rolled back' | undefined,
): string {
  const kubelet = `kubelet ${kubeletVersion || 'of unknown version'}`;
  const what =
    failed !== undefined
      ? `The config that ${name} (${kubelet}) is assigned; it was ${failed}.`
      : configSource !== undefined
        ? `The config that ${name} (${kubelet}) is assigned.`
        : `The local config of ${name} (${kubelet}), without defaults.`;
  const lines = [
    what,
    'Change it, save and close: it is checked, shown as a difference, and used',
    'only when you say yes. Save it unchanged, or empty, to give up.',
    'Lines that begin like this one are not part of it.',
  ];
  return `${remarks(lines)}${text}`;
}

/** Each error above the line it is about; those without a line, or about nothing that is there, at the top. */
export function withErrors(text: string, errors: readonly Finding[]): string {
  const lines = text.split('\n');
  const above = new Map<number, string[]>();
  for (const { line = 1, path, message } of errors) {
    const place = Math.min(Math.max(line, 1), lines.length) - 1;
    const words = `error: ${path === '' ? '' : `${path}: `}${message}`;
    above.set(place, [...(above.get(place) ?? []), ...words.split('\n').map(oneLine)]);
  }
  const count = errors.length === 1 ? '1 error,' : `${errors.length} errors, each`;
  const top = remarks([`${count} shown above the line it refers to. Nothing has been changed yet.`]);
  return (
    top + lines.flatMap((line, at) => [...(above.get(at) ?? []).map((words) => `${mark} ${words}`), line]).join('\n')
  );
}

export const withoutRemarks = (text: string): string =>
  text
    .split('\n')
    .filter((line) => !line.startsWith(mark))
    .join('\n');

const remarks = (lines: string[]): string => lines.map((line) => `${mark} ${line}\n`).join('');
