/** `relet audit`: the effective configs of nodes, or of files, against benchmarks; and sets that fix what fails. */
import { existsSync, statSync } from 'node:fs';
import pkg from '../../../package.json' with { type: 'json' };
import { type AuditReport, audit, type FailLevel, isCheckName, isFailing } from '../../audit/audit.js';
import { benchmarks } from '../../audit/benchmarks.js';
import { remediate, remediationSet } from '../../audit/remediate.js';
import { junit, sarif } from '../../audit/report-files.js';
import { readWaivers, type Waiver } from '../../audit/waivers.js';
import { CannotRun } from '../../cannot-run.js';
import { DecodeError } from '../../config/decode.js';
import { DocumentError } from '../../config/document.js';
import { readPlain } from '../../config/plain-document.js';
import type { EffectiveFleet } from '../../fleet/effective-configs.js';
import { documentFromFile } from '../../fleet/effective-document.js';
import { asYaml } from '../../go/yaml/write.js';
import { oneLine } from '../../visible-text.js';
import type { KubeletVersion } from '../command-line.js';
import { readConfigDocument } from '../config/documents.js';
import { readNamedBy } from '../read-file.js';
import { openTerminal, printError, terminalFor } from '../terminal/terminal.js';
import { auditPage, auditText } from './audit-text.js';
import { type FleetOptions, readFleet } from './read-fleet.js';

export interface AuditOptions extends FleetOptions {
  output: 'table' | 'json' | 'sarif' | 'junit' | 'html';
  by?: string;
  failOn: FailLevel;
  only?: string[];
  waivers?: string;
  remediate?: boolean;
  kubeletVersion: KubeletVersion;
  flag?: string[];
}

/** Exits with 1 where the audit fails, else with 2 where nodes could not be read. */
export async function auditVerb(words: string[], options: AuditOptions): Promise<void> {
  const { only = [], by } = options;
  const wrong = only.find((word) => !isCheckName(word) && !(benchmarks as readonly string[]).includes(word));
  if (wrong !== undefined)
    throw new CannotRun(`--only ${wrong}: choose cis, stig, nsa, or a check of docs/audit.md, such as CIS-4.2.1`);
  const waivers = options.waivers === undefined ? [] : readWaiverFile(options.waivers);
  const { fleet, files } = await subjects(words, options);
  const report = audit(fleet, { nowMs: Date.now(), by, waivers, only });
  if (options.remediate) showRemediation(fleet, report, by);
  else show(report, files, options);
  process.exitCode = isFailing(report, options.failOn) ? 1 : report.unread.length > 0 ? 2 : 0;
}

function show(report: AuditReport, files: readonly string[], { output }: AuditOptions): void {
  if (output === 'table') {
    const terminal = openTerminal();
    terminal.print(auditText(report, terminal));
    return;
  }
  const texts: Record<Exclude<AuditOptions['output'], 'table'>, () => string> = {
    json: () => JSON.stringify(report, null, 2),
    sarif: () => JSON.stringify(sarif(report, { version: pkg.version, files }), null, 2),
    junit: () => junit(report),
    html: () => auditPage(report),
  };
  terminalFor({ output }).printDocument(texts[output]());
}

function readWaiverFile(file: string): Waiver[] {
  try {
    return readWaivers(readPlain(readNamedBy('waivers', file)), file, isCheckName);
  } catch (error) {
    if (error instanceof DocumentError) throw new CannotRun(`${file}: ${oneLine(error.message)}`);
    throw error;
  }
}

/** Words that are files are configs; all others are nodes. */
async function subjects(words: string[], options: AuditOptions): Promise<{ fleet: EffectiveFleet; files: string[] }> {
  const isFile = (word: string) => word === '-' || (existsSync(word) && !statSync(word).isDirectory());
  const files = words.filter(isFile);
  if (files.length === 0) return { fleet: await readFleet(words, options), files };
  if (files.length < words.length) throw new CannotRun('files and nodes do not go together; audit one after the other');
  const { minor, note } = options.kubeletVersion;
  if (note !== undefined) printError(`relet: audited as ${note}`);
  const flags = (options.flag ?? []).map((word) => {
    const [name = '', ...value] = word.replace(/^--/, '').split('=');
    return { name, value: value.length === 0 ? 'true' : value.join('=') };
  });
  const fleet: EffectiveFleet = { nodes: [], unread: [], documents: new Map() };
  for (const file of files) {
    const { text, name } = await readConfigDocument(file);
    const document = fromFile(name, text, { minor, flags });
    fleet.documents.set(document.id, document);
    fleet.nodes.push({ name, labels: {}, kubeletVersion: `1.${minor}`, document: document.id, own: {} });
  }
  return { fleet, files };
}

function fromFile(path: string, text: string, options: Parameters<typeof documentFromFile>[1]) {
  try {
    return documentFromFile({ path, text }, options);
  } catch (error) {
    if (error instanceof DecodeError) throw new CannotRun(`${path}: ${oneLine(error.message)}`);
    throw error;
  }
}

/** Sets on standard output, all else for people. */
function showRemediation(fleet: EffectiveFleet, report: AuditReport, by: string | undefined): void {
  const all = remediate(fleet, report, by);
  const documents: string[] = [];
  for (const one of all) {
    const { pool, nodes, set, labels, overlay, fixes, left } = one;
    const count = `${nodes.length} node${nodes.length === 1 ? '' : 's'}`;
    if (fixes.length === 0) printError(`relet: pool ${pool}, ${count}: nothing can be fixed by a config`);
    else if (set !== undefined)
      printError(
        `relet: pool ${pool}, ${count}: set ${set} has them; add to its overlay\n${asYaml(overlay).replace(/^/gm, '    ').trimEnd()}`,
      );
    else if (labels === undefined)
      printError(
        `relet: pool ${pool}, ${count}: no label selects exactly these nodes; name one with --by, or give them one`,
      );
    else documents.push(`# ${fixes.join(', ')} on ${count} of pool ${oneLine(pool)}\n${asYaml(remediationSet(one))}`);
    for (const { check, why } of left) printError(`relet: pool ${pool}: ${check} is left out: ${why}`);
  }
  if (all.length === 0) printError('relet: no check fails; nothing to fix');
  if (documents.length === 0) return;
  terminalFor({ output: 'yaml' }).printDocument(documents.join('---\n'));
  printError(
    'relet: the forecast knows configs, not hosts: sysctls, swap, cgroups and files may still keep a kubelet from starting; the trial of the first node of each set shows it',
  );
}
