/** What the agent needs from judging: the question and the answer. The judges themselves stand in judge.ts. */
import type { ConfigErrorReason } from '../../api/config-error.js';
import type { Checkpoint } from '../state/checkpoints.js';

/** A config that could run: a checkpoint, or undefined for the local one. */
export interface Candidate {
  checkpoint: Checkpoint | undefined;
  /** Such as v1.32.1. */
  kubeletVersion: string;
}

export type Judgement = Accepted | Refused;

export interface Accepted {
  kind: 'accepted';
  /** What a person should know although it may run: forgotten local values, fields pinned by flags … */
  warnings: string[];
  /** Fields that flags set, whatever this config says about them. */
  pinnedByFlags?: string[];
  /** The file to start the kubelet with: the checkpoint's own, or a converted copy; undefined for local. */
  configFile: string | undefined;
  /** Where the kubelet will answer /healthz; undefined when it is told not to. */
  healthz: { host: string; port: number } | undefined;
  /** Where the kubelet will serve; undefined when it is told not to. */
  serves?: { host: string; port: number } | undefined;
  /** The kubelet will run static pods from here. */
  staticPodPath: string | undefined;
  /** What was true of the node when a config other than the local one was accepted. */
  grounds?: Grounds;
}

export interface Grounds {
  /** The local config's; empty when it has none. */
  staticPodPath: string;
  hasStaticPods: boolean;
  providerID?: string;
}

export interface Refused {
  kind: 'refused';
  reason: Extract<
    ConfigErrorReason,
    'ParseFailed' | 'ValidationFailed' | 'StartWouldFail' | 'NodeWouldBeCutOff' | 'FieldPolicyDenied' | 'InternalError'
  >;
  /** For the log: everything that is wrong, in the words of whoever found it. */
  cause: Error;
  warnings: string[];
}

export interface JudgeOptions {
  history: 'none' | 'validated' | 'passed';
  signal: AbortSignal;
}

export interface Judge {
  /**
   * Says whether this config may be started, without touching anything. Never throws for what is wrong with a config.
   * With history `validated`, all questions were answered before for these bytes, this version and these flags: the slow
   * ones are left out. With `passed` it ran for a whole trial: what only foresees trouble is left out as well.
   */
  judge(candidate: Candidate, options: JudgeOptions): Promise<Judgement>;
}
