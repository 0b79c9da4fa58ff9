/** `relet config defaults` and `relet config schema`: what one kubelet minor fills in, and what it takes. */
import { setDefaults } from '../../config/defaults.js';
import { header } from '../../config/header.js';
import { jsonSchema, overlaySchema } from '../../config/schema.js';
import { asYaml } from '../../go/yaml/write.js';
import type { KubeletVersion } from '../command-line.js';
import { openTerminal, printError } from '../terminal/terminal.js';

/** The config of a kubelet that is given none. */
export function printDefaults(options: { kubeletVersion: KubeletVersion; output: 'yaml' | 'json' }): void {
  const config = { ...header, ...(withoutEmpty(setDefaults({}, options.kubeletVersion.minor)) as object) };
  const { print } = openTerminal();
  print(options.output === 'json' ? JSON.stringify(config, null, 2) : asYaml(config));
  if (options.kubeletVersion.note !== undefined) printError(`relet: for ${options.kubeletVersion.note}`);
}

/** Removes fields that are nil or empty: `/configz` leaves them out too, and so does a person who writes a config. */
function withoutEmpty(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const parts = Object.entries(value)
    .filter(([, part]) => part !== null && part !== '')
    .map(([name, part]) => [name, withoutEmpty(part)] as const)
    .filter(([, part]) => !(typeof part === 'object' && part !== null && Object.keys(part).length === 0));
  return Object.fromEntries(parts);
}

/** A JSON Schema, for editors. */
export function printSchema({ kubeletVersion, overlay }: { kubeletVersion: KubeletVersion; overlay?: boolean }): void {
  const { minor, note } = kubeletVersion;
  openTerminal().print(JSON.stringify(overlay === true ? overlaySchema(minor) : jsonSchema(minor), null, 2));
  if (note !== undefined) printError(`relet: for ${note}`);
}
