/** `relet agent --check`: prints what was found on the host, and what the agent would do. Changes nothing, and may run beside an agent. */
import { X509Certificate } from 'node:crypto';
import { accessSync, constants, existsSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { dirname } from 'node:path';
import type { AgentLock } from '../../agent/drivers/systemd/agent-lock.js';
import { createSystemdDriver } from '../../agent/drivers/systemd/driver.js';
import { type HostOptions, persistentUnits, runtimeUnits } from '../../agent/drivers/systemd/host-layout.js';
import type { Step } from '../../agent/drivers/systemd/next-step.js';
import { checkUser, nodeNameFrom, WrongUser } from '../../agent/sync/connect.js';
import { ApiError } from '../../api/status.js';
import { systemClock } from '../../clock.js';
import { readPlain } from '../../config/plain-document.js';
import { withCauses } from '../../error-causes.js';
import { createClient } from '../../kube/client.js';
import { type IdentitySource, kubeconfigSource } from '../../kube/identity.js';
import { systemFileReader } from '../../kube/kubeconfig.js';
import { quietly } from '../../proc.js';
import { systemRandom } from '../../random.js';
import { type AttachedKubelet, type AttachInput, findKubelet } from './attached-host.js';
import { describeChoice, lookAt, prepareAgent, trialLimits, userAgent } from './prepare-agent.js';

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
      const { node, lines: ofPlugin, problems: unusable } = await credential(input, kubelet);
      const problems = [...writeProblems(), ...unusable];
      const about = [
        `unit:     ${unit}, ${kubelet.layout === 'a unit of its own' ? kubelet.layout : `as ${kubelet.layout} sets it up`}`,
        `agent:    ${host.inPod ? 'in a pod' : 'on the host'}, records in ${dir}${existsSync(dir) ? '' : ' (none yet)'}`,
        `node:     ${node}`,
        `cluster:  ${kubeconfig ?? 'none: the kubelet stands alone, and nothing can be assigned to it'}`,
        ...ofPlugin,
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

interface CheckedCredential {
  node: string;
  /** About the program that gave it. */
  lines: string[];
  problems: string[];
}

/** The name of the Node, and why the kubelet's credential cannot be used from here. */
async function credential(
  { host, log }: AttachInput,
  { kubeconfig, nodeName }: AttachedKubelet,
): Promise<CheckedCredential> {
  const named = (subject?: string) => nodeNameFrom(subject, nodeName, hostname());
  if (kubeconfig === undefined) return { node: named(), lines: [], problems: [] };
  try {
    const common = { env: process.env, files: systemFileReader, clock: systemClock, runPlugin: host.runPlugin, log };
    const source = kubeconfigSource({ paths: [kubeconfig], mustExist: true, readYaml: readPlain, ...common });
    const { cert } = (await source().current()).tls;
    const node = named(cert && new X509Certificate(cert).subject);
    const plugin = source().connection.user.exec?.command;
    return { node, ...(plugin === undefined ? { lines: [], problems: [] } : await checkPlugin(plugin, source, node)) };
  } catch (error) {
    return { node: named(), lines: [], problems: [`${kubeconfig}: ${withCauses(error)}`] };
  }
}

const reviewTimeoutMs = 10_000;

/** An API server that cannot be reached is not a problem of the host. */
async function checkPlugin(
  plugin: string,
  source: IdentitySource,
  node: string,
): Promise<Omit<CheckedCredential, 'node'>> {
  const ran = `plugin:   ${plugin}, run on the host by systemd: it gave`;
  const client = createClient({ source, clock: systemClock, random: systemRandom, userAgent, env: process.env });
  try {
    const isChecked = await checkUser(client, node, { timeoutMs: reviewTimeoutMs });
    const user = isChecked
      ? `the credential of system:node:${node}`
      : 'a credential; this server cannot be asked for its user';
    return { lines: [`${ran} ${user}`], problems: [] };
  } catch (error) {
    const lines = [`${ran} a credential`];
    if (error instanceof ApiError || error instanceof WrongUser) return { lines, problems: [withCauses(error)] };
    return { lines: [`${ran} a credential; its user was not checked: ${withCauses(error)}`], problems: [] };
  } finally {
    client.close();
  }
}
