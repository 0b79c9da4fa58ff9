/** `kubelet.config.k8s.io/__internal`: the kubelet decodes it, and gives it no defaults. Nothing but zero values is left. */
import { complete, zeroValue } from './decode-fields.js';
import type { KubeletConfig, Minor } from './model.js';
import { type StructShape, shapeOf } from './shape.js';

/** Pointers in the internal type too; all others are plain values there. */
export const stillPointers: ReadonlySet<string> = new Set([
  'maxParallelImagePulls',
  'memoryThrottlingFactor',
  'singleProcessOOMKill',
  'enableSystemLogQuery',
  'maxContainerRestartPeriod',
]);

export function internalZero(minor: Minor): KubeletConfig {
  const shape = shapeOf(minor);
  const config = complete({}, shape);
  fill(config, shape);
  return config;
}

function fill(config: KubeletConfig, shape: StructShape): void {
  for (const [name, child] of shape.fields) {
    if (child.kind === 'struct' && !child.pointer) fill(config[name] as KubeletConfig, child);
    else if (child.kind === 'scalar' && !stillPointers.has(name))
      config[name] = zeroValue({ ...child, pointer: false });
  }
}
