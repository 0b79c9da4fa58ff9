/**
 * Makes the config file that the kubelet is started with. A whole KubeletConfiguration is used as it is. A payload of DKC alpha is
 * converted when it is fetched. An overlay is merged into the local config before each start, so that a changed local file or kubelet
 * takes effect then; for the last known good, the merged document that passed its trial is kept.
 *
 * Results are cached: the record `documents` maps the inputs (payload, local files, kubelet version, relet version) to the file. Only a
 * cache miss loads the code that knows every kubelet version.
 */
import { ConfigError } from '../api/config-error.js';
import { isObject } from '../json.js';
import { type Checkpoint, sha256 } from './state/checkpoints.js';
import { defineRecord } from './state/json-record.js';
import type { NodeState } from './state/node-state.js';

export interface Document {
  /** The file to start the kubelet with; undefined: its own --config and --config-dir. */
  file: string | undefined;
  text: string;
  /** Its identity in results: of the payload, or of the merged document. */
  digest: string;
  /** Only of an overlay; equal to `digest`. */
  mergedDigest?: string;
}

/** `as is`: a whole config that every kubelet reads. */
export type Made = { kind: 'as is' } | { kind: 'converted' | 'merged'; text: string };

export interface Ingredients {
  text: string;
  /** File with the text; relative paths in it count from its directory. */
  file: string;
  kubeletVersion: string;
  local: readonly HostFile[];
  /** The kubelet is embedded, and reads drop-ins here. */
  dropInDir?: string | undefined;
}

/** A local file: that of --config, or a drop-in of --config-dir. */
export interface HostFile {
  path: string;
  data: Uint8Array;
  dropIn?: true;
}

export interface DocumentsOptions {
  state: NodeState;
  /** The local config as it is now, in the order in which the files apply. Missing files are left out. */
  localFiles(): HostFile[];
  /** The local file to start with when it is not the kubelet's own --config. */
  localFile?: string | undefined;
  /** Throws for an overlay that cannot be decoded or merged. */
  make(from: Ingredients): Promise<Made>;
  /** Version of relet: another one may merge otherwise. */
  version: string;
  /** Set for an embedded kubelet, which can be given nothing but an overlay. */
  dropInDir?: string | undefined;
}

type Known = Record<string, { kind: Made['kind']; digest?: string }>;

// Not durable: it can be found out again.
export const documentsRecord = defineRecord('documents', isKnown, { durable: false });

/** Cache size: the documents that records can name at once, and a few more for a node that switches back and forth. */
const mostKnown = 8;

export class Documents {
  readonly #options: DocumentsOptions;

  constructor(options: DocumentsOptions) {
    this.#options = options;
  }

  /** Throws a ConfigError when there is no document to make from it. */
  async of(checkpoint: Checkpoint, kubeletVersion: string): Promise<Document> {
    const { digest, configFile: file } = checkpoint;
    const text = checkpoint.config.toString('utf8');
    const { dropInDir } = this.#options;
    if (!mayBeMade(text) && dropInDir === undefined) return { file, text, digest };
    const made = await this.#made({ text, file, kubeletVersion, local: this.localFiles(), dropInDir });
    if (made.kind === 'as is') return { file, text, digest };
    if (made.kind === 'converted') return { ...made, digest };
    return { file: made.file, text: made.text, digest: made.digest, mergedDigest: made.digest };
  }

  /** The merged document of a last known good as it passed its trial; made again when it is lost. */
  async recorded(checkpoint: Checkpoint, mergedDigest: string, kubeletVersion: string): Promise<Document> {
    const { documents } = this.#options.state;
    const text = documents.read(mergedDigest);
    if (text === undefined) return this.of(checkpoint, kubeletVersion);
    return { file: documents.pathOf(mergedDigest), text, digest: mergedDigest, mergedDigest };
  }

  async local(kubeletVersion: string): Promise<Document> {
    const { localFile } = this.#options;
    const local = this.localFiles();
    const digest = sha256(['local', ...local.map(({ path, data }) => `${path}\0${sha256(data)}`)].join('\n'));
    const asIs = { file: localFile, text: '', digest };
    const [first, ...dropIns] = local;
    if (first === undefined || dropIns.length > 0) return asIs;
    const text = Buffer.from(first.data).toString('utf8');
    if (!mayBeMade(text)) return asIs;
    const made = await this.#made({ text, file: first.path, kubeletVersion, local: [] }).catch(kubeletDecides);
    return made.kind === 'converted' ? { ...asIs, file: made.file } : asIs;
  }

  /** The files that an overlay is merged into, as they are now. */
  localFiles(): HostFile[] {
    return this.#options.localFiles();
  }

  async #made(from: Ingredients): Promise<{ kind: 'as is' } | (Document & { kind: 'converted' | 'merged' })> {
    const { state, make } = this.#options;
    const key = this.#keyOf(from);
    const known = state.read(documentsRecord)?.[key];
    if (known?.kind === 'as is') return { kind: known.kind };
    const text = known?.digest && state.documents.read(known.digest);
    if (known?.digest && text)
      return { kind: known.kind as 'merged', text, digest: known.digest, file: state.documents.pathOf(known.digest) };
    const made = await makeOrReject(make, from);
    if (made.kind === 'as is') {
      this.#remember(key, made);
      return made;
    }
    const digest = saveOrReject(state, made.text);
    this.#remember(key, { kind: made.kind, digest });
    return { ...made, digest, file: state.documents.pathOf(digest) };
  }

  #keyOf({ text, file, kubeletVersion, local, dropInDir }: Ingredients): string {
    const files = local.map(({ path, data }) => [path, sha256(data)]);
    return sha256(JSON.stringify([this.#options.version, kubeletVersion, file, sha256(text), files, dropInDir]));
  }

  #remember(key: string, known: Known[string]): void {
    const { state } = this.#options;
    const others = Object.entries(state.read(documentsRecord) ?? {}).filter(([other]) => other !== key);
    state.write(documentsRecord, Object.fromEntries([...others.slice(1 - mostKnown), [key, known]]));
  }
}

/** The newest documents are kept: a change in progress may need them before a record names them. */
export function recentDocuments(state: NodeState): string[] {
  const known = Object.values(state.read(documentsRecord) ?? {});
  return known.flatMap(({ digest }) => (digest === undefined ? [] : state.documents.pathOf(digest)));
}

/** False is certain, true is not: YAML has many ways to write a word, all of them with these letters or an escape. */
function mayBeMade(text: string): boolean {
  return text.includes('v1alpha1') || text.includes('\\');
}

/** A local config that cannot be parsed is started as it is. Any other failure, such as a full disk, is thrown. */
function kubeletDecides(error: unknown): { kind: 'as is' } {
  if (error instanceof ConfigError && error.reason === 'ParseFailed') return { kind: 'as is' };
  throw error;
}

async function makeOrReject(make: DocumentsOptions['make'], from: Ingredients): Promise<Made> {
  try {
    return await make(from);
  } catch (cause) {
    throw new ConfigError('ParseFailed', cause);
  }
}

function saveOrReject(state: NodeState, text: string): string {
  try {
    return state.documents.save(text);
  } catch (cause) {
    throw new ConfigError('InternalError', cause);
  }
}

function isKnown(value: unknown): value is Known {
  return (
    isObject(value) &&
    Object.values(value).every(
      (known) =>
        isObject(known) &&
        ['as is', 'converted', 'merged'].includes(String(known.kind)) &&
        (known.digest === undefined || typeof known.digest === 'string'),
    )
  );
}
