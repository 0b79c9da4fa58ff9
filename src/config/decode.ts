/** Reads a KubeletConfiguration as the kubelet of a minor does: strict first, then lenient. */
import type { Finding, KubeletConfig, Minor, Positions } from './model.js';

export interface DecodeOptions {
  minor: Minor;
  /** Name of the file in messages. */
  file?: string;
  /** Treat what the kubelet's lenient decoding forgives (unknown and duplicate fields) as errors. Default true. */
  strict?: boolean;
}

export interface Decoded {
  /** What the document sets, by v1beta1 field names; defaults not yet applied. */
  config: KubeletConfig;
  findings: Finding[];
  positions: Positions;
}

/** The kubelet would refuse to decode this. `message` is the kubelet's, after `failed to decode: `. */
export class DecodeError extends Error {
  override readonly name = 'DecodeError';
  readonly findings: Finding[];
  constructor(message: string, findings: Finding[]) {
    super(message);
    this.findings = findings;
  }
}

/** Throws DecodeError, and nothing else, when the kubelet would refuse. */
export function decode(_text: string, _options: DecodeOptions): Decoded {
  throw new DecodeError('not there yet', []);
}
