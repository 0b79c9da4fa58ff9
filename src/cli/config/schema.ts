/** `relet config schema`: a JSON Schema of one kubelet minor, for editors. */
import { jsonSchema } from '../../config/schema.js';
import type { KubeletVersion } from '../command-line.js';
import { openTerminal, printError } from '../terminal/terminal.js';

export function printSchema({ kubeletVersion }: { kubeletVersion: KubeletVersion }): void {
  openTerminal().print(JSON.stringify(jsonSchema(kubeletVersion.minor), null, 2));
  if (kubeletVersion.note !== undefined) printError(`relet: for ${kubeletVersion.note}`);
}
