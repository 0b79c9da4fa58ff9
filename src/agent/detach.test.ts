/** relet leaves the host, on the whole agent in memory: asked for through the API or on the host, done with the local config healthy. */
import { describe, expect, test } from 'vitest';
import { createFlowRig, type FlowRig, quietUnit } from '../../test/rig/memory-node.js';
import { detachAnnotation } from '../api/node-config.js';
import { detachRecord, handleRequest } from './requests.js';

const crashes = { healthyAfterMs: Number.POSITIVE_INFINITY, exits: { afterMs: 10, code: 1 } };

/** A node with a last known good config, beside whose kubelet relet runs. */
async function started() {
  const rig = await createFlowRig('NodeConfig');
  const unit = { detached: 0, ...quietUnit, detach: async () => void unit.detached++ };
  rig.unit = unit;
  rig.boot();
  await rig.makeLastKnownGood('good');
  return { rig, unit };
}

/** As `relet detach` writes it. */
const detach = (rig: FlowRig, at = '2026-01-01T00:00:00Z') => rig.point(null, { [detachAnnotation]: at });

async function reported(rig: FlowRig) {
  const [{ active }, condition] = await Promise.all([rig.status(), rig.condition()]);
  return { active, reason: condition?.reason };
}

const untilReason = (rig: FlowRig, reason: string) =>
  rig.until(reason, async () => (await reported(rig)).reason === reason);

describe('asked for through the API', () => {
  test('the local config is restored first, then the files are removed, and nothing is started any more', async () => {
    const { rig, unit } = await started();
    await detach(rig);
    await untilReason(rig, 'Detached');
    expect(unit.detached).toBe(1);
    expect(await reported(rig)).toEqual({ active: undefined, reason: 'Detached' });
    const { starts } = rig;
    expect(starts.slice(-2)).toEqual(['good', 'local']);
    await rig.clock.advance(3_600_000);
    expect(rig.starts).toEqual(starts);
  });

  test('it stays so for the next agent, and a new assignment attaches the node again', async () => {
    const { rig, unit } = await started();
    await detach(rig);
    await untilReason(rig, 'Detached');
    await rig.stop();
    const { starts } = rig;
    rig.boot();
    await rig.clock.advance(60_000);
    expect(rig.starts).toEqual(starts);
    expect(await reported(rig)).toEqual({ active: undefined, reason: 'Detached' });
    await rig.activate('next');
    expect(unit.detached).toBe(1);
    expect(rig.state.read(detachRecord)).toBeUndefined();
  });

  test('a node on its local config is detached without a restart', async () => {
    const { rig, unit } = await started();
    await rig.point(null);
    await untilReason(rig, 'LocalConfigActive');
    const { starts } = rig;
    await detach(rig);
    await untilReason(rig, 'Detached');
    expect([unit.detached, rig.starts]).toEqual([1, starts]);
  });

  test('a local config that does not start keeps the node as it was, and attached', async () => {
    const { rig, unit } = await started();
    rig.localBehaviour = crashes;
    await detach(rig);
    await untilReason(rig, 'CrashLoop');
    await rig.clock.advance(60_000);
    expect([unit.detached, (await reported(rig)).active]).toEqual([0, 'good']);
  });

  test('it is tried again where the files could not be removed', async () => {
    const { rig, unit } = await started();
    let isReadOnly = true;
    rig.unit!.detach = async () => {
      if (isReadOnly) throw new Error('EROFS');
      unit.detached++;
    };
    await detach(rig);
    await untilReason(rig, 'LocalConfigActive');
    isReadOnly = false;
    await detach(rig);
    await detach(rig, 'again');
    await untilReason(rig, 'Detached');
    expect(unit.detached).toBe(1);
  });
});

describe('asked for on the host', () => {
  test('the node is held, so that it is not attached again before it is released', async () => {
    const { rig, unit } = await started();
    await rig.request({ verb: 'detach' });
    await untilReason(rig, 'Detached');
    expect([unit.detached, rig.starts.at(-1)]).toEqual([1, 'local']);
    await rig.request({ verb: 'release' });
    await rig.untilStatus({ active: 'good' });
  });

  test('a process that is only to detach exits with 0 when it is done', async () => {
    const { rig, unit } = await started();
    await rig.stop();
    handleRequest(rig.state, { verb: 'detach' }, new Date(rig.clock.now()));
    rig.boot({ detach: true });
    await rig.until('detached', () => unit.detached === 1);
    await rig.clock.advance(60_000);
    expect(await rig.ended).toBe(0);
  });

  test('and with 1 where the local config cannot run', async () => {
    const { rig, unit } = await started();
    await rig.stop();
    handleRequest(rig.state, { verb: 'detach' }, new Date(rig.clock.now()));
    rig.localBehaviour = crashes;
    rig.boot({ detach: true });
    await rig.until('good runs again', () => rig.starts.at(-1) === 'good');
    await rig.clock.advance(60_000);
    expect([await rig.ended, unit.detached]).toEqual([1, 0]);
  });
});
