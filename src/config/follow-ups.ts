/**
 * Which findings only follow from an earlier error. After an error the later stages still run, without the value that is wrong: what
 * they find because it is missing would disappear with the error, so it is left out. It is better to miss one than to report a
 * wrong one.
 */
import { type Finding, parentPath } from './model.js';

export class Doubts {
  private readonly paths = new Set<string>();
  private readonly names = new Set<string>();
  private mentions: RegExp | undefined;

  /** The value at this path is wrong or missing; so is the gate in `featureGates[NAME]`. */
  add(path: string): void {
    if (path === '' || this.paths.has(path)) return;
    this.paths.add(path);
    this.addName(path.replace(/\[.*$/s, ''));
    this.addName(/^featureGates\[(\w+)\]$/.exec(path)?.[1] ?? '');
  }

  private addName(name: string): void {
    // Fields such as address and logging are ordinary words in messages about others.
    if (!/^(port|\w*[A-Z.][\w.]*)$/.test(name)) return;
    this.names.add(name);
    this.mentions = undefined;
  }

  /** Whether the finding is about a doubtful value, or its message names one. */
  cover({ path, message }: Pick<Finding, 'path' | 'message'>): boolean {
    if (this.paths.size === 0) return false;
    for (let at = path; at !== ''; at = parentPath(at)) if (this.paths.has(at)) return true;
    if (this.names.has(path)) return true;
    // Without its gates nothing is known of what is behind one.
    if (this.paths.has('featureGates') && /feature|\b\w+Options\b/i.test(message)) return true;
    this.mentions ??= new RegExp(`(?<![\\w-])(${[...this.names].join('|').replaceAll('.', '\\.')})(?![\\w-])`, 'gi');
    // Another entry of the same map or list is as good as before.
    return [...message.matchAll(this.mentions)].some(([, name]) => !path.startsWith(`${name}[`));
  }
}
