/**
 * The state files of the kubelet's CPU and memory managers. A kubelet does not start with files that were written under other
 * policies. So for a change that needs it, on a node that was drained for this change, they are set aside before the start:
 *
 *   none ── start of the assigned config ──► aside ── trial passed ──► none (what was set aside is deleted)
 *                                              └── start of another config ──► none (put back, so that it starts as before)
 *
 * A kubelet in its own unit still runs when they are set aside. On an empty node it does not write them again; where it does, the
 * new config crashes, is rolled back, and finds its files again.
 */
import { join } from 'node:path';
import { type ExactRef, isExactRef, sameConfig } from '../api/config-ref.js';
import { isObject } from '../json.js';
import type { Log } from '../log.js';
import type { Choice } from './choose.js';
import type { RunCommand } from './drivers/command.js';
import { owedRecord } from './owed.js';
import { defineRecord } from './state/json-record.js';
import type { NodeState } from './state/node-state.js';

/** Each call can be repeated after a crash in the middle of it. `change` names the change that the files are set aside for. */
export interface StateFileHost {
  setAside(change: string): Promise<void>;
  putBack(change: string): Promise<void>;
  /** Deletes what was set aside. */
  clear(): Promise<void>;
}

interface StateFilesRecord {
  /** Of the change: files are set aside once for each. */
  at: string;
  source: ExactRef;
  isAside: boolean;
}

export const stateFilesRecord = defineRecord('state-files', isStateFilesRecord);

interface StateFilesOptions {
  state: NodeState;
  stateFiles?: StateFileHost | undefined;
  log: Log;
}

export class StateFiles {
  readonly #options: StateFilesOptions;

  constructor(options: StateFilesOptions) {
    this.#options = options;
  }

  /** Never rejects: a kubelet that finds the wrong files exits, which ends its trial. */
  async beforeStart({ source, rank }: Pick<Choice, 'source' | 'rank'>): Promise<void> {
    const { state, stateFiles: host, log } = this.#options;
    if (host === undefined) return;
    const record = state.read(stateFilesRecord);
    const isOther = record !== undefined && !sameConfig(record.source, source, 'version');
    try {
      if (record?.isAside && isOther) {
        await host.putBack(changeOf(record.at));
        state.write(stateFilesRecord, { ...record, isAside: false });
        log.info("the kubelet's state files are put back");
      }
      const owed = state.read(owedRecord);
      if (source === undefined || rank !== 'assigned' || !owed?.drained || !owed.needs.includes('state-file')) return;
      if (owed.switchedAt !== undefined || record?.at === owed.at) return;
      await host.setAside(changeOf(owed.at));
      state.write(stateFilesRecord, { at: owed.at, source, isAside: true });
      log.info("the kubelet's state files are set aside: the node was drained for this change");
    } catch (error) {
      log.error("cannot move the kubelet's state files", { error });
    }
  }

  /** The config keeps the files that it has written. */
  async trialPassed({ source }: Pick<Choice, 'source'>): Promise<void> {
    const { state, stateFiles: host, log } = this.#options;
    const record = state.read(stateFilesRecord);
    if (host === undefined || !record?.isAside || !sameConfig(record.source, source, 'version')) return;
    state.write(stateFilesRecord, { ...record, isAside: false });
    await host.clear().catch((error) => log.warn("cannot delete the kubelet's old state files", { error }));
  }
}

/** It becomes the name of a directory. */
const changeOf = (at: string): string => at.replace(/[^0-9A-Za-z]/g, '').slice(0, 40);

const timeoutMs = 10_000;
const names = 'cpu_manager_state memory_manager_state';

/** `$1`: the kubelet's root directory, `$2`: where its files are set aside. A file that is not there leaves NAME.none. */
const setAsideScript = `mkdir -p "$2" && for f in ${names}; do
  if [ -e "$1/$f" ]; then mv -f "$1/$f" "$2/$f" || exit 1
  elif [ ! -e "$2/$f" ]; then : > "$2/$f.none" || exit 1
  fi
done`;
const putBackScript = `for f in ${names}; do
  if [ -e "$2/$f" ]; then mv -f "$2/$f" "$1/$f" || exit 1
  elif [ -e "$2/$f.none" ]; then rm -f "$1/$f" && rm -f "$2/$f.none" || exit 1
  fi
done
rm -rf "$2"; rmdir "\${2%/*}" || :`;

/** On the machine, by commands: the agent in a pod cannot write there, and systemd runs them for it. */
export function stateFilesOnHost({ run, rootDir }: { run: RunCommand; rootDir: string }): StateFileHost {
  // On the same file system, so that a file is moved whole.
  const aside = join(rootDir, 'relet-state-files');
  const shell = async (script: string, ...args: string[]) => {
    const { code, stderr } = await run(['/bin/sh', '-c', script, 'sh', ...args], timeoutMs);
    if (code !== 0) throw new Error(stderr.trim() || `exit code ${code}`);
  };
  return {
    setAside: (change) => shell(setAsideScript, rootDir, join(aside, change)),
    putBack: (change) => shell(putBackScript, rootDir, join(aside, change)),
    clear: () => shell('rm -rf "$1"', aside),
  };
}

function isStateFilesRecord(value: unknown): value is StateFilesRecord {
  return (
    isObject(value) && typeof value.at === 'string' && typeof value.isAside === 'boolean' && isExactRef(value.source)
  );
}
