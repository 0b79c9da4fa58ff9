/** What passes the kubelet's validation and still stops it at start. Findings are relet's own. */
import type { Finding, JudgeContext, KubeletConfig } from './model.js';

/** Errors mean: this kubelet would not start. Warnings: it may not, or not as meant. */
export function forecast(_config: KubeletConfig, _context: JudgeContext): Finding[] {
  return [];
}
