/**
 * The binary of the kubelet is replaced while a dynamic config runs, with two real ones: the kubelet of KUBEBUILDER_ASSETS gives
 * way to that of KUBEBUILDER_ASSETS_AFTER. Written for 1.23 and a version from 1.27 on, between which gates and flags went.
 *
 *   KUBEBUILDER_ASSETS=/opt/k8s-1.23 KUBEBUILDER_ASSETS_AFTER=/opt/k8s-1.32 \
 *     CONTAINER_RUNTIME_ENDPOINT=unix:///run/containerd/containerd.sock npx vitest run test/real-upgrade.test.ts
 */
import { renameSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createClusterRig, type NodeObject } from './cluster-rig.js';
import { eventually } from './eventually.js';
import { type Started, status } from './process-rig.js';
import {
  flagsOf,
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
const isPair = old.kubelet.minor === 23 && after.kubelet.minor >= 27;
const unfit =
  missing.length > 0 ? missing : isPair ? [] : [`kubelet 1.23 with one from 1.27 on (${old.kubelet.version}…)`];
const named = `${old.kubelet.version} replaced by ${after.kubelet.version}`;

const refused = 'failed to validate config, see Kubelet log for details';
/** A gate that 1.23 has and later ones do not know. */
const oldGate = 'featureGates: {DynamicKubeletConfig: true}';
const names = (name: string) => ({ configMap: { name } });

/** As a package manager does: the file under this name is another one from now on. */
function install(node: RealNode, { path }: Kubelet): void {
  symlinkSync(path, `${node.kubelet}.new`);
  renameSync(`${node.kubelet}.new`, node.kubelet);
}

async function nodeOfBefore() {
  const rig = await createClusterRig({ boot: false });
  const made = await newNode(old.kubelet, rig.nodeKubeconfig, rig.server.caFile, after.kubelet.minor);
  const node = { ...made, kubelet: join(made.dir, '..', 'kubelet-binary') };
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

/** What the unit of the new version says: no flag that is gone. */
const withoutOldFlags = (node: RealNode): RealNode => ({
  ...node,
  flags: node.flags.filter((flag) => !flagsOf(old.kubelet).includes(flag)),
});

async function stop(started: Started): Promise<void> {
  started.process.kill('SIGTERM');
  await started.exit;
}

describe.skipIf(unfit.length > 0)(
  unfit.length > 0 ? `two real kubelets (skipped: there is no ${unfit.join(', no ')})` : named,
  { timeout: 8 * minutes },
  () => {
    test('a config that both accept keeps running, and last known good stays', async () => {
      const { rig, node, started, assign, untilUpgraded } = await nodeOfBefore();
      await assign('good', 'eventRecordQPS: 7');
      await untilStatus(rig, started, { active: names('good'), lastKnownGood: names('good') });
      await stop(started);
      install(node, after.kubelet);
      const upgraded = run(withoutOldFlags(node));
      await untilUpgraded(upgraded);
      await untilStatus(rig, upgraded, { active: names('good'), lastKnownGood: names('good') });
      expect(status(rig).error).toBeUndefined();
      expect(ranWith(upgraded)).toHaveLength(1);
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
      expect(upgraded.output()).toMatch(/unrecognized feature gate: DynamicKubeletConfig/);
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

    test('replaced while relet runs, it is asked itself before the next config is started', async () => {
      const { rig, node, started, assign, untilUpgraded } = await nodeOfBefore();
      await eventually('healthy', () => expect(started.output()).toContain('kubelet is healthy'));
      install(node, after.kubelet);
      // With the flags of the old one no config can run under the new one: what runs is left alone.
      await assign('good', 'eventRecordQPS: 7');
      await untilStatus(rig, started, { assigned: names('good'), error: refused });
      expect(started.output()).toMatch(/unknown flag: --container-runtime/);
      expect(ranWith(started)).toHaveLength(1);
      expect(isReady(rig.seen)).toBe(true);
      await stop(started);
      const upgraded = run(withoutOldFlags(node));
      await untilUpgraded(upgraded);
      await untilStatus(rig, upgraded, { active: names('good'), lastKnownGood: names('good') });
    });

    test('a flag that is gone ends every kubelet, whatever its config; without it the config runs on', async () => {
      const { rig, node, started, assign, untilUpgraded } = await nodeOfBefore();
      await assign('good', 'eventRecordQPS: 7');
      await untilStatus(rig, started, { lastKnownGood: names('good') });
      await stop(started);
      install(node, after.kubelet);
      const wrong = run(node);
      await eventually('rejected', () => expect(wrong.output()).toMatch(/unknown flag: --container-runtime/));
      await eventually('three starts', () => expect(ranWith(wrong).length).toBeGreaterThan(2));
      await stop(wrong);
      const upgraded = run(withoutOldFlags(node));
      await untilUpgraded(upgraded);
      await untilStatus(rig, upgraded, { active: names('good'), lastKnownGood: names('good') });
      await eventually('no error', () => expect(status(rig).error).toBeUndefined());
    });
  },
);
