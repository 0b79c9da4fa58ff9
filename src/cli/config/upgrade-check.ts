/** `relet config upgrade-check`: checks how another kubelet version would interpret an unchanged config, of files or of nodes. */
import { CannotRun } from '../../cannot-run.js';
import { type Host, type Minor, newestMinor, oldestMinor } from '../../config/model.js';
import { type UpgradeFinding, type UpgradeOptions, upgradeCheck } from '../../config/upgrade-check.js';
import { openTerminal, printError } from '../terminal/terminal.js';
import { type ConfigDocument, readConfigDocuments } from './documents.js';
import type { NodesOptions } from './upgrade-nodes.js';
import { asGithub, asJson, asText, type UpgradeReport } from './upgrade-output.js';
import { asArgument, localUnder, placeIn, readHost } from './validate.js';
import type { LocalConfig } from './validate-overlay.js';

interface UpgradeCheckOptions extends NodesOptions {
  flag?: string[];
  local?: string[];
  host?: string;
  strict?: boolean;
  output: 'text' | 'json' | 'github';
}

export async function checkUpgrade(files: string[], options: UpgradeCheckOptions): Promise<void> {
  checkUsage(files, options);
  const host = options.host === undefined ? undefined : readHost(options.host);
  const reports =
    files.length > 0
      ? await reportsOfFiles(files, options, host)
      : await (await import('./upgrade-nodes.js')).reportsOfNodes(options, host);
  const terminal = openTerminal();
  const write = { json: asJson, github: asGithub, text: () => asText(reports, terminal) }[options.output];
  terminal.print(write(reports));
  if (files.length > 0 && options.from === undefined && options.output !== 'json')
    printError(`relet: compared with kubelet 1.${options.to.minor - 1}; --from chooses another`);
  process.exitCode = exitCode(reports, options.strict === true);
}

/** 1 comes before 2: what was found counts, whatever else could not be checked. */
function exitCode(reports: readonly UpgradeReport[], strict: boolean): number {
  const counts = ({ severity }: UpgradeFinding) => severity === 'error' || (strict && severity === 'warning');
  if (reports.some(({ findings }) => findings.some(counts))) return 1;
  return reports.some(({ unknown }) => unknown !== undefined) ? 2 : 0;
}

function checkUsage(
  files: readonly string[],
  { to, from, node, selector, all, flag, local }: UpgradeCheckOptions,
): void {
  const ofNodes = node !== undefined || selector !== undefined || all === true;
  if (files.length === 0 && !ofNodes)
    throw new CannotRun("name a file ('-' is standard input), or nodes with --node, --selector or --all");
  if (files.length > 0 && ofNodes) throw new CannotRun('files and nodes do not go together; keep one of them');
  if (ofNodes && (flag ?? local) !== undefined)
    throw new CannotRun('--flag and --local are for files: nodes report their flags and their local config');
  // Changes of a kubelet version that relet does not know cannot be checked.
  for (const [name, version] of [
    ['--to', to],
    ['--from', from],
  ] as const)
    if (version?.note !== undefined)
      throw new CannotRun(
        `${name}: relet supports kubelet 1.${oldestMinor} to 1.${newestMinor}; other versions cannot be checked`,
      );
  if (from !== undefined && from.minor >= to.minor)
    throw new CannotRun(`--from 1.${from.minor} must be an earlier version than --to 1.${to.minor}`);
  if (to.minor === oldestMinor) throw new CannotRun(`--to must be 1.${oldestMinor + 1} or later`);
}

async function reportsOfFiles(
  files: readonly string[],
  options: UpgradeCheckOptions,
  host: Host | undefined,
): Promise<UpgradeReport[]> {
  const documents = (await Promise.all(files.map(readConfigDocuments))).flat();
  const locals = await localUnder(documents, options.local ?? []);
  const to = options.to.minor;
  const from: Minor = options.from?.minor ?? to - 1;
  const common = { from, to, flags: (options.flag ?? []).map(asArgument), ...(host && { host }) };
  return documents.map((document) => reportOf(document, locals.get(document), common));
}

function reportOf(document: ConfigDocument, local: LocalConfig | undefined, common: UpgradeOptions): UpgradeReport {
  const file = document.file === '-' ? '/dev/stdin' : document.file;
  const { findings, ...rest } = upgradeCheck(document.text, { ...common, file, ...(local && { local: local.files }) });
  return {
    file: document.name,
    ...(local && { local: [...local.documents.values()].map(({ name }) => name) }),
    ...rest,
    findings: findings.map(({ file: _file, line: _line, column: _column, ...finding }, index) => ({
      ...finding,
      ...placeIn(findings[index]!, document, local),
    })),
  };
}
