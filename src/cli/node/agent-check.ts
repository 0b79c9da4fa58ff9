/** `relet agent --check`: prints what was found on the host, and what the agent would do. Changes nothing, and may run beside an agent. */
import { X509Certificate } from 'node:crypto';
import { accessSync, constants, existsSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { dirname } from 'node:path';
import type { AgentLock } from '../../agent/drivers/systemd/agent-lock.js';
import { createSystemdDriver } from '../../agent/drivers/systemd/driver.js';
import { type HostOptions, persistentUnits, runtimeUnits } from '../../agent/drivers/systemd/host-layout.js';
import type { Step } from '../../agent/drivers/systemd/next-step.js';
import { nodeNameFrom } from '../../agent/sync/connect.js';
import { systemClock } from '../../clock.js';
import { readPlain } from '../../config/plain-document.js';
import { withCauses } from '../../error-causes.js';
import { kubeconfigSource } from '../../kube/identity.js';
import { systemFileReader } from '../../kube/kubeconfig.js';
import { quietly } from '../../proc.js';
import { type AttachedKubelet, type AttachInput, findKubelet } from './attached-host.js';
import { describeChoice, lookAt, prepareAgent, trialLimits } from './prepare-agent.js';

/** No lock: a check only reads. */
const noLock: AgentLock = { check() {}, release: async () => {} };

export async function checkAgent(input: AttachInput): Promise<number> {
  const { flags, systemd, host, policy, log } = input;
  const { unit, dir } = flags;
  const kubelet = await findKubelet(systemd, host, flags);
  const { command, divided, embedding, kubeconfig, nodeName } = kubelet;
  // The kubelet on the host reads what is made there; a pod shares only some directories with it.
  const near = host.inPod ? '/run/relet' : tmpdir();
  return lookAt({ dir, near, log }, async (state) => {
    const { run, view: hostFiles } = host;
    const trial = trialLimits(divided);
    const clock = systemClock;
    const options = { unit, dir, embedding, systemd, lock: noLock, command, run, trial, state, clock, log };
    const driver = await createSystemdDriver(options);
    try {
      const prepared = prepareAgent({
        divided,
        command,
        embedding,
        run,
        hostFiles,
        kubeconfig,
        nodeName,
        driver,
        state,
        policy,
        log,
      });
      const { lines, started, code } = await describeChoice(prepared);
      const step = stepText({ unit, embedding }, await driver.plan(started));
      const { node, plugin, problems: unusable } = await credential(input, kubelet);
      const problems = [...writeProblems(), ...unusable];
      const about = [
        `unit:     ${unit}, ${kubelet.layout === 'a unit of its own' ? kubelet.layout : `as ${kubelet.layout} sets it up`}`,
        `agent:    ${host.inPod ? 'in a pod' : 'on the host'}, records in ${dir}${existsSync(dir) ? '' : ' (none yet)'}`,
        `node:     ${node}`,
        `cluster:  ${kubeconfig ?? 'none: the kubelet stands alone, and nothing can be assigned to it'}`,
        ...(plugin === undefined
          ? []
          : [
              `plugin:   ${plugin}, run ${host.inPod ? 'on the host by systemd' : 'as a child of the agent'}: it gave a credential`,
            ]),
      ];
      const found = [...about, ...lines, `flags:    ${kubelet.args.join(' ')}`, `would:    ${step}`];
      return {
        lines: [...found, ...problems.map((problem) => `problem:  ${problem}`)],
        code: problems.length ? 1 : code,
      };
    } finally {
      await driver.close();
    }
  });
}

function stepText({ unit, embedding }: Omit<HostOptions, 'dir'>, step: Step): string {
  switch (step.kind) {
    case 'adopt':
      return `change nothing: the kubelet of ${unit} runs with this config`;
    case 'switch':
      return embedding === undefined
        ? `put the config on trial with a drop-in, reload systemd and restart ${unit} once`
        : `put the config on trial with a drop-in of its kubelet and restart ${unit} once`;
    case 'restart':
      return `restart ${unit} once: its next start runs this config already`;
    case 'roll back':
      return `end the trial on the host and restart ${unit} once`;
    case 'wait':
      return `wait: ${step.notice?.message ?? 'the unit is being started or stopped'}`;
  }
}

/** Problems with the directories that drop-ins are written to. */
function writeProblems(): string[] {
  const places = [
    { path: dirname(runtimeUnits), why: 'no config can be put on trial' },
    { path: persistentUnits, why: 'a config that passed its trial would not survive a reboot (NextStartNotKept)' },
  ];
  const isWritable = (path: string) => quietly(() => accessSync(path, constants.W_OK) ?? true) === true;
  return places.filter(({ path }) => !isWritable(path)).map(({ path, why }) => `${path} cannot be written: ${why}`);
}

/** The name of the Node, and why the kubelet's credential cannot be used from here. */
async function credential(
  { host, log }: AttachInput,
  { kubeconfig, nodeName }: AttachedKubelet,
): Promise<{ node: string; plugin?: string | undefined; problems: string[] }> {
  const named = (subject?: string) => nodeNameFrom(subject, nodeName, hostname());
  if (kubeconfig === undefined) return { node: named(), problems: [] };
  try {
    const common = { env: process.env, files: systemFileReader, clock: systemClock, runPlugin: host.runPlugin, log };
    const identity = kubeconfigSource({ paths: [kubeconfig], mustExist: true, readYaml: readPlain, ...common })();
    const { cert } = (await identity.current()).tls;
    return {
      node: named(cert && new X509Certificate(cert).subject),
      plugin: identity.connection.user.exec?.command,
      problems: [],
    };
  } catch (error) {
    return { node: named(), problems: [`${kubeconfig}: ${withCauses(error)}`] };
  }
}
