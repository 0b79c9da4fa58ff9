/** `relet config validate`: checks whether the kubelet would accept these files, and start with them. */
import { readFileSync } from 'node:fs';
import { CannotRun } from '../../cannot-run.js';
import { check } from '../../config/check.js';
import type { Finding, Host } from '../../config/model.js';
import { isObject } from '../../json.js';
import type { KubeletVersion } from '../command-line.js';
import { openTerminal, printError } from '../terminal/terminal.js';
import { type ConfigDocument, readConfigDocuments } from './documents.js';
import { asGithub, asJson, asText, type Report } from './finding-output.js';
import type { LocalConfig } from './validate-overlay.js';
import type { PolicyFiles } from './validate-policy.js';

export interface ValidateOptions {
  kubeletVersion: KubeletVersion;
  flag?: string[];
  host?: string;
  lenient?: boolean;
  local?: string[];
  policy?: string[];
  output: 'text' | 'json' | 'github';
}

export async function validateFiles(files: string[], options: ValidateOptions): Promise<void> {
  const host = options.host === undefined ? undefined : readHost(options.host);
  const documents = (await Promise.all(files.map(readConfigDocuments))).flat();
  const { local: localFiles = [], policy = [] } = options;
  // A policy compares a whole config with the local one too.
  const local = await localUnder(documents, localFiles, { alsoWhole: policy.length > 0 });
  const policies =
    policy.length === 0
      ? undefined
      : await import('./validate-policy.js').then((found) => found.readPolicies(policy, localFiles));
  const reports = documents.map((document) => report(document, options, { host, locals: local, policies }));
  const terminal = openTerminal();
  if (options.output === 'json') terminal.print(asJson(reports));
  else if (options.output === 'github') terminal.print(asGithub(reports));
  else terminal.print(asText(reports, terminal));
  if (options.output !== 'json' && options.kubeletVersion.note !== undefined)
    printError(`relet: checked for ${options.kubeletVersion.note}`);
  const clean = reports.every(({ findings }) => findings.every(({ severity }) => severity !== 'error'));
  process.exitCode = clean ? 0 : 1;
}

/** The local config that each overlay is merged into. */
export type Locals = ReadonlyMap<ConfigDocument, LocalConfig>;

export async function localUnder(
  documents: ConfigDocument[],
  files: string[],
  { alsoWhole = false } = {},
): Promise<Locals> {
  // Text that every overlay contains; whether it is one is decided by reading it.
  const mayBe = documents.filter(
    ({ text }) => files.length > 0 || /KubeletConfigurationOverlay|relet\.dev\/|[\\!]/.test(text),
  );
  const found = mayBe.length === 0 ? undefined : await import('./validate-overlay.js');
  let overlays = mayBe.filter(({ text }) => found!.isOverlay(text));
  // With --local, or that apiVersion, one was meant: what is wrong with its YAML or its header is reported as that of an overlay.
  const isMeant = ({ text }: ConfigDocument) => files.length > 0 || /^apiVersion: *["']?relet\.dev\//m.test(text);
  if (overlays.length === 0)
    overlays = mayBe.filter((document) => isMeant(document) && found!.isMeantAsOverlay(document.text));
  if (overlays.length === 0 && files.length > 0 && !alsoWhole)
    throw new CannotRun(
      '--local names the local config under an overlay, and no file here is one (kind: KubeletConfigurationOverlay); leave it out',
    );
  const local = overlays.length === 0 ? undefined : await found!.readLocal(files);
  return new Map(overlays.map((overlay) => [overlay, local!]));
}

interface ReportContext {
  host: Host | undefined;
  locals: Locals;
  policies: PolicyFiles | undefined;
}

function report(document: ConfigDocument, options: ValidateOptions, { host, locals, policies }: ReportContext): Report {
  const { minor, patch } = options.kubeletVersion;
  const local = locals.get(document);
  const flags = (options.flag ?? []).map(asArgument);
  const { verdict, startup, findings } = (local?.check ?? check)(document.text, {
    minor,
    patch,
    flags,
    lenient: options.lenient === true,
    file: document.file === '-' ? '/dev/stdin' : document.file,
    ...(host === undefined ? {} : { host }),
  });
  const broken = policies?.findings(document.text, { minor, flags });
  return {
    file: document.name,
    ...(local && { local: [...local.documents.values()].map(({ name }) => name) }),
    kubeletVersion: `1.${minor}`,
    verdict,
    startup,
    ...(broken && { policy: broken.length === 0 ? ('kept' as const) : ('broken' as const) }),
    findings: [...findings, ...(broken ?? [])].map((finding) => inFile(finding, document, local)),
  };
}

/** `max-pods=60` and `--max-pods=60` are the same argument. */
export const asArgument = (flag: string): string => (flag.startsWith('-') ? flag : `--${flag}`);

/** Places in the file, not in the payload; in the order of the fields that `-o json` promises. */
function inFile(finding: Finding, document: ConfigDocument, local: LocalConfig | undefined): Finding {
  const { severity, source, path, message, remedy } = finding;
  return { severity, source, path, ...placeIn(finding, document, local), message, ...(remedy && { remedy }) };
}

export function placeIn({ file, line, column }: Finding, document: ConfigDocument, local: LocalConfig | undefined) {
  const other = file === undefined ? undefined : local?.documents.get(file);
  return { ...(other && { file: other.name }), ...(line && (other ?? document).locate(line, column ?? 1)) };
}

export function readHost(file: string): Host {
  try {
    return parseHost(JSON.parse(readFileSync(file, 'utf8')));
  } catch (error) {
    throw new CannotRun(`--host ${file}: ${(error as Error).message}; see 'docs/config.md' for what it may hold`);
  }
}

const hostShape: Record<keyof Host, (value: unknown) => boolean> = {
  os: (value) => value === 'linux' || value === 'windows',
  cgroupVersion: (value) => value === 1 || value === 2,
  cpus: (value) => typeof value === 'number',
  memoryBytes: (value) => typeof value === 'number',
  maxPids: (value) => typeof value === 'number',
  swap: (value) => typeof value === 'boolean',
  systemd: (value) => typeof value === 'boolean',
  numaNodes: (value) => typeof value === 'number',
  files: (value) => isObject(value) && Object.values(value).every((exists) => typeof exists === 'boolean'),
  cgroups: (value) => isObject(value) && Object.values(value).every((use) => use === false || isCgroupUse(use)),
  sysctlsAtBoot: (value) => isObject(value) && Object.values(value).every(isSysctl),
};

const isCgroupUse = (use: unknown): boolean =>
  isObject(use) && [use.memoryBytes, use.pids].every((number) => ['number', 'undefined'].includes(typeof number));

const isSysctl = (one: unknown): boolean =>
  isObject(one) && typeof one.value === 'string' && typeof one.by === 'string';

function parseHost(value: unknown): Host {
  if (!isObject(value)) throw new Error('expected a JSON object');
  for (const [key, part] of Object.entries(value)) {
    if (!Object.hasOwn(hostShape, key))
      throw new Error(`unknown key '${key}', expected ${Object.keys(hostShape).join(', ')}`);
    if (!hostShape[key as keyof Host](part)) throw new Error(`'${key}' has the wrong type`);
  }
  return value as Host;
}
