/**
 * The settings of a system, kept in DIR/system.json: the next `relet up` uses them again, and new settings
 * replace them.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { isMissing, replaceFile } from '../../atomic-file.js';
import { CannotRun } from '../../cannot-run.js';
import type { Network } from './network.js';

export interface Settings {
  nodes: number;
  /** A path or `hollow`. */
  kubeletBinary: string;
  trialDuration: string;
  nodeConfigAccess: 'automatic' | 'manual';
  /** As Kubernetes 1.26 and later: the reference is a NodeConfig. False: as DKC had it, in Node.spec.configSource. */
  nodeConfig: boolean;
  initConfigDir?: string;
  /** Labels of every Node, beside those that its kubelet sets. */
  labels?: Record<string, string>;
  /** Flags for every kubelet, given after `--`. */
  kubeletArgs: string[];
}

/** Settings of the command line: only the flags that were given. */
export type RequestedSettings = Partial<Settings>;

export interface System {
  settings: Settings;
  network: Network;
}

const standard: Settings = {
  nodes: 3,
  kubeletBinary: 'hollow',
  trialDuration: '10m',
  nodeConfigAccess: 'automatic',
  nodeConfig: true,
  kubeletArgs: [],
};

/** Throws CannotRun for what cannot be done together. */
export function decideSettings(requested: RequestedSettings, remembered: Settings | undefined): Settings {
  // Directories written before the mode was recorded were all made for DKC.
  const settings = { ...standard, ...(remembered && { nodeConfig: false }), ...remembered, ...requested };
  if (remembered?.nodeConfig && !settings.nodeConfig)
    throw new CannotRun(
      '--dynamic-kubelet-config: this directory uses NodeConfigs, and its nodes would keep following them; start over with --fresh, or give another directory with --data-dir',
    );
  const isReal = settings.kubeletBinary !== 'hollow';
  // A real kubelet wants the machine for itself; two of them would fight over its cgroups.
  if (isReal && (requested.nodes ?? 1) > 1)
    throw new CannotRun('--kubelet-binary: one machine is one node for a real kubelet; leave --nodes out');
  return { ...settings, nodes: isReal ? 1 : settings.nodes };
}

/** Throws CannotRun for settings that this machine cannot use, before anything is started. */
export function checkSettings({ initConfigDir }: Settings): void {
  if (initConfigDir !== undefined && !existsSync(join(initConfigDir, 'kubelet')))
    throw new CannotRun(
      `--init-config-dir=${initConfigDir}: there is no file named 'kubelet' in it; put a KubeletConfiguration there`,
    );
}

/** Returns notes on an existing directory for the person who starts it again. */
export function notesOn(requested: RequestedSettings, settings: Settings, remembered: Settings | undefined): string[] {
  if (remembered === undefined) return [];
  const notes: string[] = [];
  if (!settings.nodeConfig && requested.nodeConfig === undefined)
    notes.push(
      'this directory was made with --dynamic-kubelet-config: the reference to a config is in the Node, as before Kubernetes 1.22; --node-config switches it to NodeConfigs',
    );
  const surplus = nodeNames(remembered.nodes).slice(settings.nodes);
  if (surplus.length > 0)
    notes.push(
      `removing ${surplus.join(', ')} from the cluster: --nodes is ${settings.nodes}, it was ${remembered.nodes}; the files of removed nodes stay in nodes/`,
    );
  return notes;
}

export const nodeNames = (count: number): string[] => Array.from({ length: count }, (_, index) => `node-${index + 1}`);

export function readSystem(path: string): System | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as System;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw new CannotRun(`read ${path}: ${(error as Error).message}; 'relet up --fresh' starts over`);
  }
}

export function writeSystem(path: string, system: System): void {
  replaceFile(path, `${JSON.stringify(system, null, 2)}\n`);
}

/** A path is kept for the next start, so it must not depend on the working directory. A bare name is looked up in PATH. */
export const programPath = (path: string): string => (path.includes('/') ? resolve(path) : path);
