/** `relet version`: the versions of relet and Node.js, and the components that it contains. */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import pkg from '../../package.json' with { type: 'json' };
import { asYaml } from '../go/yaml/write.js';
import { runVerb, verb, withExamples } from './command-line.js';
import { codeDigest } from './node/code-digest.js';
import { reletExecutable } from './node/kubelet-command.js';
import { writeOut } from './terminal/terminal.js';

interface VersionOptions {
  output?: string;
  sbom?: boolean;
}

export function run(args: string[]): Promise<void> {
  const command = verb('relet version', 'Print the version of relet, and what it consists of.')
    .option(
      '-o, --output <FORMAT>',
      'json or yaml: with the digest of the code of a node, and the Node.js that runs it',
    )
    .option('--sbom', 'print the bill of materials of this installation, CycloneDX in JSON')
    .action(({ output, sbom }: VersionOptions) => {
      if (sbom) return writeOut(bill());
      if (output === undefined) return writeOut(`${pkg.version}\n`);
      const about = {
        version: pkg.version,
        codeDigest: codeDigest() ?? '',
        node: process.version,
        platform: `${process.platform}/${process.arch === 'x64' ? 'amd64' : process.arch}`,
      };
      if (output === 'json') return writeOut(`${JSON.stringify(about, null, 2)}\n`);
      if (output === 'yaml') return writeOut(asYaml(about));
      return command.error(`unknown output format '${output}': use json or yaml`);
    });
  return runVerb(
    withExamples(command, [
      ['relet version -o yaml', 'for a bug report'],
      ['relet version --sbom > relet.cdx.json', 'for a scanner'],
    ]),
    args,
  );
}

function bill(): string {
  const path = join(dirname(reletExecutable()), '../dist/sbom.cdx.json');
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new Error(`relet is not installed completely: ${(error as Error).message}; install the whole package`);
  }
}
