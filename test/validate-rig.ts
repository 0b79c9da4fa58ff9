/** One validator with a kubelet that answers as a test wants, and a local config of its own. */
import { join } from 'node:path';
import { divideCommandLine } from '../src/agent/flags.js';
import { impossibleLockFile, type KubeletProbe } from '../src/agent/validate/steps.js';
import {
  type Candidate,
  createValidator,
  type ValidateOptions,
  type ValidatorParts,
} from '../src/agent/validate/validate.js';
import { defaultFieldPolicy } from '../src/config/field-policy.js';
import { mergeOverlay } from '../src/config/merge.js';
import { isOverlay } from '../src/config/overlay.js';
import { temporaryDir } from './temporary-dir.js';

export const header = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';
export const accepts: KubeletProbe = {
  run: async () => ({
    code: 1,
    timedOut: false,
    output: `E1115 20:19:54.250432 20375 server.go:302] "Failed to run kubelet" err="failed to run Kubelet: unable to acquire file lock on \\"${impossibleLockFile('uuid')}\\": not a directory"\n`,
  }),
  uuid: () => 'uuid',
};
export const refuses: KubeletProbe = {
  run: async () => ({
    code: 1,
    timedOut: false,
    output:
      'E1115 20:19:54.304575 20385 server.go:225] "Failed to validate kubelet configuration" err="invalid configuration: no \\"such\\" thing" path="&TypeMeta{Kind:,APIVersion:,}"\n',
  }),
  uuid: () => 'uuid',
};
export const silent: KubeletProbe = {
  run: async () => ({ code: null, output: '', timedOut: true }),
  uuid: () => 'uuid',
};

export interface Question {
  config?: string;
  /** Undefined: a host without --config. Default: an empty file. */
  local?: string | undefined;
  annotations?: Record<string, string>;
  steps?: ValidateOptions['steps'];
  isLastKnownGood?: boolean;
  version?: string;
  args?: string[];
  parts?: Partial<ValidatorParts>;
}

export async function validate(question: Question) {
  const {
    config,
    annotations = {},
    steps = 'all',
    isLastKnownGood = false,
    version = 'v1.32.1',
    args = [],
    parts = {},
  } = question;
  const local = 'local' in question ? question.local : '';
  const dir = temporaryDir();
  const localFiles = local === undefined ? [] : [{ path: '/local', text: header + local }];
  const validator = createValidator({
    commandLine: divideCommandLine(args),
    probe: accepts,
    host: {},
    policy: defaultFieldPolicy,
    policyIsOurs: false,
    forecast: true,
    nodeFacts: async () => ({ hasStaticPods: false }),
    localFiles: () => localFiles,
    ...parts,
  });
  const bytes = Buffer.from(config ?? '');
  const source = { namespace: 'kube-system', name: 'c', uid: 'u', resourceVersion: '1', kubeletConfigKey: 'kubelet' };
  const checkpoint = {
    source,
    dir,
    configFile: join(dir, 'kubelet'),
    config: bytes,
    digest: 'd',
    files: new Map(),
    annotations,
    binaryKeys: [],
  };
  const merged =
    config !== undefined && isOverlay(config) && mergeOverlay({ minor: 32, local: localFiles, overlay: config });
  const document = merged
    ? { file: '/documents/d.yaml', text: merged.text, digest: 'm', mergedDigest: 'm' }
    : config === undefined
      ? { file: undefined, text: '', digest: 'local' }
      : { file: checkpoint.configFile, text: config, digest: 'd' };
  const candidate: Candidate = {
    checkpoint: config === undefined ? undefined : checkpoint,
    document,
    kubeletVersion: version,
  };
  return validator.validate(candidate, { steps, isLastKnownGood, signal: new AbortController().signal });
}
