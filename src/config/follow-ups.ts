/**
 * Suppresses findings that only follow from an earlier error. After an error the later steps run without the wrong value, and would
 * report its absence. When in doubt, a finding is suppressed: a missing finding is better than a wrong one.
 */
import { type Finding, fieldOf, parentPath } from './model.js';

export class Doubts {
  private readonly paths = new Set<string>();
  private readonly names = new Set<string>();
  /** Names that were added, also those that are not looked for. */
  private readonly seen = new Set<string>();
  /** In lower case; with their lengths, and the most words between dots that one of them has. */
  private readonly mentions = new Set<string>();
  private readonly lengths = new Set<number>();
  private mostWords = 1;

  /** The value at this path is wrong or missing; so is the gate in `featureGates[NAME]`. */
  add(path: string): void {
    if (path === '' || this.paths.has(path)) return;
    this.paths.add(path);
    this.addName(fieldOf(path));
    if (path.startsWith('featureGates[')) this.addName(/^featureGates\[(\w+)\]$/.exec(path)?.[1] ?? '');
  }

  private addName(name: string): void {
    if (this.seen.has(name)) return;
    this.seen.add(name);
    // Fields such as address and logging are ordinary words in messages about others.
    if (!/^(port|\w*[A-Z.][\w.]*)$/.test(name)) return;
    this.names.add(name);
    this.mentions.add(name.toLowerCase());
    this.lengths.add(name.length);
    this.mostWords = Math.max(this.mostWords, name.split('.').length);
  }

  /** Whether the finding is about a doubtful value, or its message names one. */
  cover({ path, message }: Pick<Finding, 'path' | 'message'>): boolean {
    if (this.paths.size === 0) return false;
    for (let at = path; at !== ''; at = parentPath(at)) if (this.paths.has(at)) return true;
    if (this.names.has(path)) return true;
    // Without its gates nothing is known of what is behind one.
    if (this.paths.has('featureGates') && /feature|\b\w+Options\b/i.test(message)) return true;
    // Another entry of the same map or list is as good as before.
    for (const name of this.namesIn(message)) if (!path.startsWith(`${name}[`)) return true;
    return false;
  }

  /**
   * Word by word: one expression of all names would cost their number for each letter of each message. Words of another length than any
   * name are passed over, since there may be thousands of messages.
   */
  private *namesIn(message: string): Generator<string> {
    for (let end = 0, start = 0; end <= message.length; end++) {
      const code = message.charCodeAt(end);
      if (isWord(code)) continue;
      // This word, and with those before it that only dots divide from it.
      for (let from = start, words = 1; ; words++) {
        if (this.lengths.has(end - from)) {
          const name = message.slice(from, end);
          if (this.mentions.has(name.toLowerCase())) yield name;
        }
        if (words === this.mostWords || message.charCodeAt(from - 1) !== dot) break;
        from--;
        while (isWord(message.charCodeAt(from - 1))) from--;
      }
      start = end + 1;
    }
  }
}

const dot = 0x2e;

/** As \w and a hyphen. */
const isWord = (code: number): boolean =>
  (code >= 0x61 && code <= 0x7a) ||
  (code >= 0x41 && code <= 0x5a) ||
  (code >= 0x30 && code <= 0x39) ||
  code === 0x5f ||
  code === 0x2d;
