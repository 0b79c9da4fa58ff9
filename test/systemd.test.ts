/** The systemd driver on a real systemd, booted in a container: `npm run test:systemd`. */
import { basename } from 'node:path';
import { afterAll, beforeAll, describe } from 'vitest';
import { testDriver } from '../src/agent/drivers/contract.js';
import { cannotBoot, Machine, systemdRoots } from './systemd-machine.js';
import { contractRig } from './systemd-rig.js';

const reason = cannotBoot();
const roots = systemdRoots.length > 0 ? systemdRoots : ['none'];

describe.skipIf(reason !== undefined).each(roots)(`systemd in %s${reason ? ` (skipped: ${reason})` : ''}`, (root) => {
  let machine: Machine;
  beforeAll(async () => {
    machine = await Machine.boot(root);
  });
  afterAll(() => machine?.remove());

  testDriver(`systemd (${basename(root)})`, () => contractRig(machine), { inUnit: true });
});
