/**
 * The binary of the kubelet is replaced while a dynamic config runs, with two real ones: the kubelet of KUBEBUILDER_ASSETS gives
 * way to that of KUBEBUILDER_ASSETS_AFTER, of a later minor. What happens is compared with what the check of the upgrade lists.
 *
 *   KUBEBUILDER_ASSETS=/opt/k8s-1.23 KUBEBUILDER_ASSETS_AFTER=/opt/k8s-1.32 \
 *     CONTAINER_RUNTIME_ENDPOINT=unix:///run/containerd/containerd.sock npx vitest run test/real-upgrade.test.ts
 */
import { renameSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { describeMachine } from '../src/agent/validate/host-facts.js';
import { riskIn } from '../src/agent/validate/validate.js';
import { complete } from '../src/config/decode-fields.js';
import { existsIn, fields, isLeaf } from '../src/config/fields.js';
import { flagAt } from '../src/config/flags.js';
import { gateAt, gatesOf } from '../src/config/gates.js';
import { getField, type KubeletConfig, type Minor } from '../src/config/model.js';
import { sameValue } from '../src/config/same-value.js';
import { shapeOf } from '../src/config/shape.js';
import { type UpgradeResult, upgradeCheck } from '../src/config/upgrade-check.js';
import { createClusterRig, type NodeObject, nodeName } from './cluster-rig.js';
import { eventually } from './eventually.js';
import { type Started, status } from './process-rig.js';
import {
  isReady,
  type Kubelet,
  kubeletIn,
  minutes,
  newNode,
  type RealNode,
  ranWith,
  run,
  untilReady,
  untilStatus,
} from './real-kubelet-rig.js';

const old = kubeletIn('KUBEBUILDER_ASSETS');
const after = kubeletIn('KUBEBUILDER_ASSETS_AFTER');
const missing = [...new Set([...old.missing, ...after.missing])];
const [from, to] = [old.kubelet.minor, after.kubelet.minor];
const unfit =
  missing.length > 0 || from < to ? missing : [`kubelet of an earlier minor in KUBEBUILDER_ASSETS (${from}, ${to})`];
const named = `${old.kubelet.version} replaced by ${after.kubelet.version}`;

const refused = 'failed to validate config, see Kubelet log for details';
/** A gate that only the old one knows. */
const goneGate = gatesOf(from).find((name) => gateAt(name, to) === undefined) ?? '';
const oldGate = `featureGates: {${goneGate}: ${gateAt(goneGate, from)?.default}}`;
/** Flags that do nothing here, and that only the old one knows; the first is needed up to 1.23. */
const goneFlags = [
  '--container-runtime=remote',
  '--pod-infra-container-image=pause',
  '--storage-driver-db=cadvisor',
].filter((flag) => isFlagAt(flag, from) && !isFlagAt(flag, to));
const names = (name: string) => ({ configMap: { name } });

const goneFlagName = goneFlags[0]?.replace(/=.*$/, '');

function isFlagAt(flag: string, minor: number): boolean {
  return flagAt(flag.replace(/^--|=.*$/g, ''), minor) !== undefined;
}

/** As a package manager does: the file under this name is another one from now on. */
function install(node: RealNode, { path }: Kubelet): void {
  symlinkSync(path, `${node.kubelet}.new`);
  renameSync(`${node.kubelet}.new`, node.kubelet);
}

async function nodeOfBefore() {
  const rig = await createClusterRig({ boot: false });
  const made = await newNode(old.kubelet, rig.nodeKubeconfig, rig.server.caFile, after.kubelet.minor);
  const flags = [...new Set([...made.flags, ...goneFlags])];
  const node = { ...made, flags, kubelet: join(made.dir, '..', 'kubelet-binary') };
  install(node, old.kubelet);
  const started = run(node);
  await untilReady(rig, started);
  const kubeletVersion = () => (rig.seen as NodeObject & { status: { nodeInfo?: { kubeletVersion: string } } })?.status;
  return {
    rig,
    node,
    started,
    assign: async (name: string, ...lines: string[]) => {
      await rig.createConfigMap(name, { kubelet: node.config(...lines) });
      await rig.point(name);
    },
    /** Config with which the kubelet runs, as it reports it. */
    effective: async (minor: Minor) => {
      const path = `/api/v1/nodes/${nodeName}/proxy/configz`;
      const { text } = await rig.admin.raw({ method: 'GET', path });
      return complete(JSON.parse(text).kubeletconfig, shapeOf(minor));
    },
    /** The new kubelet runs, and its Node is Ready. */
    untilUpgraded: (now: Started) =>
      eventually(
        'the new kubelet is Ready',
        () => {
          expect(kubeletVersion()?.nodeInfo?.kubeletVersion).toBe(versionOf(after.kubelet));
          expect(isReady(rig.seen)).toBe(true);
        },
        { seen: () => now.output().slice(-3000) },
      ),
  };
}

const versionOf = ({ version }: Kubelet) => version.replace('Kubernetes ', '');

/** Returns the node with the flags of a new version's unit: none that was removed. */
const withoutOldFlags = (node: RealNode): RealNode => ({
  ...node,
  flags: node.flags.filter((flag) => !goneFlags.includes(flag)),
});

/** The check of this config with the flags of this node. */
const checked = (node: RealNode, ...lines: string[]) =>
  upgradeCheck(node.config(...lines), { from, to, flags: node.flags, host: describeMachine() });

const errorsIn = ({ findings }: UpgradeResult): string[] =>
  findings.filter(({ severity }) => severity === 'error').map(({ path }) => path);

const fieldsOfBoth = fields
  .filter((field) => isLeaf(field) && existsIn(field, from) && existsIn(field, to))
  .map(({ path }) => path);

/** Those that have another value now. */
const moved = (before: KubeletConfig, now: KubeletConfig): string[] =>
  fieldsOfBoth.filter((path) => !sameValue(getField(before, path) || null, getField(now, path) || null, path));

async function stop(started: Started): Promise<void> {
  started.process.kill('SIGTERM');
  await started.exit;
}

describe.skipIf(unfit.length > 0)(
  unfit.length > 0 ? `two real kubelets (skipped: there is no ${unfit.join(', no ')})` : named,
  { timeout: 8 * minutes },
  () => {
    test('a config that both accept keeps running and stays last known good, and means what the check lists', async () => {
      const { rig, node, started, assign, effective, untilUpgraded } = await nodeOfBefore();
      await assign('good', 'maxPods: 77');
      await untilStatus(rig, started, { active: names('good'), lastKnownGood: names('good') });
      const before = await effective(from);
      await stop(started);
      install(node, after.kubelet);
      const upgraded = run(withoutOldFlags(node));
      await untilUpgraded(upgraded);
      await untilStatus(rig, upgraded, { active: names('good'), lastKnownGood: names('good') });
      expect(status(rig).error).toBeUndefined();
      expect(ranWith(upgraded)).toHaveLength(1);
      const { startup, findings } = checked(withoutOldFlags(node), 'maxPods: 77');
      const listed = findings.filter(({ change }) => change === 'default').map(({ path }) => path.replace(/\[.*$/, ''));
      expect(startup).toBe('ok');
      expect(upgraded.output()).toMatch(
        new RegExp(`kubelet replaced .*risk=${riskIn(findings).risk}[^]*kubelet started`),
      );
      expect(moved(before, await effective(to))).toEqual(fieldsOfBoth.filter((path) => listed.includes(path)));
    });

    test('what the new one refuses gives way to the last known good, and comes back with the old one', async () => {
      const { rig, node, started, assign, untilUpgraded } = await nodeOfBefore();
      await assign('good', 'eventRecordQPS: 7');
      await untilStatus(rig, started, { lastKnownGood: names('good') });
      await stop(started);
      // Still on trial when the upgrade comes.
      const onTrial = run(node, '--trial-duration=10m');
      await assign('old', oldGate);
      await untilStatus(rig, onTrial, { active: names('old'), lastKnownGood: names('good') });
      await stop(onTrial);
      install(node, after.kubelet);
      const upgraded = run(withoutOldFlags(node), '--trial-duration=10m');
      await untilUpgraded(upgraded);
      const expected = { assigned: names('old'), active: names('good'), lastKnownGood: names('good'), error: refused };
      await untilStatus(rig, upgraded, expected);
      expect(upgraded.output()).toContain(`unrecognized feature gate: ${goneGate}`);
      expect(errorsIn(checked(withoutOldFlags(node), oldGate))).toEqual([`featureGates[${goneGate}]`]);
      expect(upgraded.output()).toMatch(/kubelet replaced .*risk=rejected[\s\S]*kubelet started/);
      expect(ranWith(upgraded)).toHaveLength(1);
      await stop(upgraded);
      install(node, old.kubelet);
      const back = run(node, '--trial-duration=10m');
      await untilStatus(rig, back, { active: names('old'), lastKnownGood: names('good') });
      await eventually('no error', () => expect(status(rig).error).toBeUndefined());
    });

    test('where the last known good is refused as well, the local config runs', async () => {
      const { rig, node, started, assign, untilUpgraded } = await nodeOfBefore();
      await assign('old', oldGate);
      await untilStatus(rig, started, { lastKnownGood: names('old') });
      await stop(started);
      install(node, after.kubelet);
      const upgraded = run(withoutOldFlags(node));
      await untilUpgraded(upgraded);
      await untilStatus(rig, upgraded, { assigned: names('old'), error: refused });
      expect(status(rig).active).toBeUndefined();
      expect(ranWith(upgraded)).toEqual([join(node.dir, '..', 'local.yaml')]);
      // And the way out is an assignment that the new kubelet takes.
      await assign('new', 'eventRecordQPS: 8');
      await untilStatus(rig, upgraded, { active: names('new'), lastKnownGood: names('new') });
    });

    test.skipIf(goneFlags.length === 0)(
      'replaced while relet runs, it is asked itself before the next config is started',
      async () => {
        const { rig, node, started, assign, untilUpgraded } = await nodeOfBefore();
        await eventually('healthy', () => expect(started.output()).toContain('kubelet is healthy'));
        install(node, after.kubelet);
        // With the flags of the old one no config can run under the new one: what runs is left alone.
        await assign('good', 'eventRecordQPS: 7');
        await untilStatus(rig, started, { assigned: names('good'), error: refused });
        expect(started.output()).toContain(`unknown flag: ${goneFlagName}`);
        expect(ranWith(started)).toHaveLength(1);
        expect(isReady(rig.seen)).toBe(true);
        await stop(started);
        const upgraded = run(withoutOldFlags(node));
        await untilUpgraded(upgraded);
        await untilStatus(rig, upgraded, { active: names('good'), lastKnownGood: names('good') });
      },
    );

    test.skipIf(goneFlags.length === 0)(
      'a flag that is gone ends every kubelet, whatever its config; without it the config runs on',
      async () => {
        const { rig, node, started, assign, untilUpgraded } = await nodeOfBefore();
        await assign('good', 'eventRecordQPS: 7');
        await untilStatus(rig, started, { lastKnownGood: names('good') });
        await stop(started);
        install(node, after.kubelet);
        const wrong = run(node);
        await eventually('rejected', () => expect(wrong.output()).toContain(`unknown flag: ${goneFlagName}`));
        expect(errorsIn(checked(node))).toEqual([goneFlagName]);
        await eventually('three starts', () => expect(ranWith(wrong).length).toBeGreaterThan(2));
        await stop(wrong);
        const upgraded = run(withoutOldFlags(node));
        await untilUpgraded(upgraded);
        await untilStatus(rig, upgraded, { active: names('good'), lastKnownGood: names('good') });
        await eventually('no error', () => expect(status(rig).error).toBeUndefined());
      },
    );
  },
);
