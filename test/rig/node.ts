/**
 * One node for tests: the whole agent over a driver (fake or process), files, an API and a clock. process-node.ts has real files, a child
 * process and a clock that flows; memory-node.ts has all in memory, and a clock that the test moves.
 */
import type { Agent } from '../../src/agent/agent.js';
import { type AgentOptions, createAgent, type FlowOptions } from '../../src/agent/create-agent.js';
import { Documents } from '../../src/agent/documents.js';
import { Reporter } from '../../src/agent/report/reporter.js';
import { type Request, requestRecord } from '../../src/agent/requests.js';
import type { NodeState } from '../../src/agent/state/node-state.js';
import { defaultTrialLimits } from '../../src/agent/trial/trial.js';
import { unitParts } from '../../src/agent/unit-flow.js';
import { makeDocument } from '../../src/agent/validate/host-validator.js';
import { riskIn, type Validator } from '../../src/agent/validate/validate.js';
import type { ExactRef } from '../../src/api/config-ref.js';
import { check } from '../../src/config/check.js';
import { emptyDocument } from '../../src/config/header.js';
import { parseMinor } from '../../src/config/model.js';
import { upgradeCheck } from '../../src/config/upgrade-check.js';
import { createLog } from '../../src/log.js';

/** The parts in which nodes for tests differ. */
interface Parts extends Omit<AgentOptions, 'options' | 'documents' | 'reporter' | 'log'> {
  options: Omit<FlowOptions, 'trial' | 'onChange' | 'inPlaceJitterMs'> & Partial<FlowOptions>;
  /** The local files: path → text. */
  local?(): Record<string, string>;
  initConfig?: boolean;
  /** Called when relet has ended. */
  onEnd?(): void;
}

export abstract class TestNode {
  readonly logLines: string[] = [];
  readonly agentLog = createLog({ format: 'text', level: 'debug', write: (line) => this.logLines.push(line) });
  state!: NodeState;
  reporter!: Reporter;
  #agent!: Agent;
  #stop = new AbortController();
  #ended: Promise<number> = Promise.resolve(0);

  /** Starts the agent, as a new process on the same disk. */
  protected start({ options, local, initConfig = false, onEnd, ...parts }: Parts): void {
    const { state, clock } = parts;
    const log = this.agentLog;
    this.state = state;
    this.reporter = new Reporter({ state, clock, log, initConfig });
    this.#agent = createAgent({
      ...parts,
      options: { trial: defaultTrialLimits, onChange: 'restart', inPlaceJitterMs: 0, ...options },
      documents: testDocuments(state, local),
      unitParts,
      reporter: this.reporter,
      log,
    });
    this.#stop = new AbortController();
    this.#ended = this.#agent.run(this.#stop.signal).finally(onEnd);
  }

  /** The exit code of relet. */
  get ended(): Promise<number> {
    return this.#ended;
  }

  /** As SIGTERM to relet; the exit code. */
  stop(): Promise<number> {
    this.#stop.abort('SIGTERM');
    return this.#ended;
  }

  /** As a person on the host. */
  async request(request: Request): Promise<void> {
    this.leaveRequest(request);
    await this.#agent.handleHostRequest();
  }

  /** While no relet runs. */
  leaveRequest(request: Request): void {
    this.state.write(requestRecord, request);
  }

  log(): string {
    return this.logLines.join('');
  }
}

export const sourceOf = (resourceVersion: string): ExactRef => ({
  namespace: 'kube-system',
  name: 'my-node-config',
  uid: `uid-${resourceVersion}`,
  resourceVersion,
  kubeletConfigKey: 'kubelet',
});

/** Enough validation for tests of the flow: relet's own knowledge of the kubelet, without asking a real one. */
export function simpleValidator(healthzPort: number | undefined, staticPodPath?: string): Validator {
  return {
    async validate({ checkpoint, document, kubeletVersion }) {
      const healthz = healthzPort === undefined ? undefined : { host: '127.0.0.1', port: healthzPort };
      const accepted = {
        kind: 'accepted' as const,
        warnings: [],
        healthz,
        staticPodPath,
      };
      if (checkpoint === undefined) return accepted;
      const { verdict, message } = check(document.text, {
        minor: parseMinor(kubeletVersion)!,
        lenient: true,
      });
      if (verdict === 'accepted') return accepted;
      const reason = verdict === 'decode-error' ? 'ParseFailed' : 'ValidationFailed';
      return { kind: 'rejected', reason, cause: new Error(message), warnings: [] };
    },
    upgrade: async ({ document, kubeletVersion }, before) =>
      riskIn(
        upgradeCheck(document.text || emptyDocument, { from: parseMinor(before)!, to: parseMinor(kubeletVersion)! })
          .findings,
      ),
  };
}

/** Documents made as on a real node. */
export function testDocuments(state: NodeState, local: () => Record<string, string> = () => ({})): Documents {
  return new Documents({
    state,
    localFiles: () => Object.entries(local()).map(([path, text]) => ({ path, data: Buffer.from(text) })),
    make: async (from) => makeDocument(from),
    version: '0.0.0',
  });
}
