/** Loads and validates the config as the kubelet of that version does, with its messages. */
import { readFileSync } from 'node:fs';
import type { CheckOptions, CheckResult } from '../../config/check.js';
import { emptyDocument } from '../../config/header.js';
import { type KubeletConfig, parseMinor } from '../../config/model.js';
import type { Log } from '../../log.js';
import { Exit, type GiveUp, goReason, isBefore124 } from './exit.js';
import type { HollowOptions } from './options.js';

export type Check = (text: string, options: CheckOptions) => CheckResult;

export interface LoadedConfig {
  config: KubeletConfig;
  /** The kubelet's message for a config that passes validation and fails at start. */
  fatal: string | undefined;
}

export interface LoadOptions {
  check: Check;
  log: Log;
  print(text: string): void;
  giveUp: GiveUp;
}

/** Throws Exit when the kubelet would exit. */
export function loadConfig(options: HollowOptions, parts: LoadOptions): LoadedConfig {
  const { version, config: file } = options;
  const result = parts.check(readConfig(file, version, parts.giveUp), {
    minor: parseMinor(version)!,
    flags: options.kubeletArgs,
    lenient: true,
    ...(file && { file }),
  });
  if (result.verdict !== 'accepted' || result.effective === undefined) throw rejection(result, options, parts);
  for (const { message, path, severity, source } of result.findings)
    if (source === 'kubelet' && severity === 'warning') parts.log.info(message, { path: path || undefined });
  return { config: result.effective, fatal: result.findings.find(({ severity }) => severity === 'error')?.message };
}

function readConfig(file: string | undefined, version: string, giveUp: GiveUp): string {
  if (file === undefined) return emptyDocument;
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const why = `failed to read kubelet config file "${file}", error: open ${file}: ${goReason(error)}`;
    const load = `failed to load Kubelet config file ${file}, error ${why}`;
    const message = isBefore124(version) ? load : `failed to load kubelet config file, path: ${file}, error: ${load}`;
    throw giveUp('Failed to load kubelet config file', message);
  }
}

function rejection(
  { verdict, message }: CheckResult,
  { config: file }: HollowOptions,
  { giveUp, print }: LoadOptions,
): Exit {
  if (message.startsWith('panic: ')) {
    print(`${message}\n\ngoroutine 1 [running]:\n`);
    return new Exit(2);
  }
  if (verdict === 'decode-error') return giveUp('Failed to load kubelet config file', message);
  if (message.includes('feature gate'))
    return giveUp('Failed to set feature gates from initial flags-based config', message);
  // The kubelet's message has a name that the object does not have.
  const isWhole = message.startsWith('failed to validate kubelet configuration');
  const object = isWhole && file ? ', path: &TypeMeta{Kind:,APIVersion:,}' : '';
  return giveUp('Failed to validate kubelet configuration', `${message}${object}`);
}
