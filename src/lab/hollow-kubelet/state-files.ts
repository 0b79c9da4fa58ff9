/**
 * The files in which a kubelet's CPU and memory managers record their policy. A kubelet whose config has another
 * policy does not start: the node must be drained and the file removed first.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KubeletConfig } from '../../config/model.js';

interface StateFile {
  file: string;
  policy: string;
  /** The rest of the file of a kubelet without pods. */
  rest: Record<string, unknown>;
  /** The kubelet's message. */
  manager: { error: string; name: string };
}

function stateFiles(config: KubeletConfig): StateFile[] {
  return [
    {
      file: 'cpu_manager_state',
      policy: String(config.cpuManagerPolicy || 'none'),
      rest: { defaultCpuSet: '' },
      manager: { error: 'start cpu manager error', name: 'CPU' },
    },
    {
      file: 'memory_manager_state',
      policy: String(config.memoryManagerPolicy || 'None'),
      rest: { machineState: {}, entries: {} },
      manager: { error: 'start memory manager error', name: 'memory' },
    },
  ];
}

/** Records the policies, or returns the kubelet's message where it would not start with them. */
export function recordPolicies(rootDir: string, config: KubeletConfig): string | undefined {
  for (const { file, policy, rest, manager } of stateFiles(config)) {
    const path = join(rootDir, file);
    const recorded = recordedPolicy(path);
    if (recorded === undefined) {
      mkdirSync(rootDir, { recursive: true });
      writeFileSync(path, `${JSON.stringify({ policyName: policy, ...rest })}`, { mode: 0o600 });
    } else if (recorded !== policy) {
      const differs = `configured policy "${policy}" differs from state checkpoint policy "${recorded}"`;
      const remedy = `please drain this node and delete the ${manager.name} manager checkpoint file "${path}" before restarting Kubelet`;
      return `${manager.error}: could not restore state from checkpoint: ${differs}, ${remedy}`;
    }
  }
  return undefined;
}

/** Undefined if there is no file; '' if it is invalid. */
function recordedPolicy(path: string): string | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  try {
    return String((JSON.parse(text) as { policyName?: unknown } | null)?.policyName ?? '');
  } catch {
    return '';
  }
}
