/** What is certain about this machine; what is left out settles nothing. */
import { existsSync } from 'node:fs';
import { availableParallelism, totalmem } from 'node:os';
import type { Host } from '../../config/model.js';

export function describeMachine(): Host {
  return {
    cgroupVersion: existsSync('/sys/fs/cgroup/cgroup.controllers') ? 2 : 1,
    cpus: availableParallelism(),
    memoryBytes: totalmem(),
  };
}
