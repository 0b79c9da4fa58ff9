/**
 * Paths of relet's files on the host. Every path that relet writes into a unit file or a script comes from here, and is safe there
 * unquoted.
 */
import { join } from 'node:path';
import { embeddedDropIn } from '../../embedded-drop-in.js';
import { type DropInKind, dropIns, safePath } from './unit-text.js';

export interface HostOptions {
  /** The kubelet's unit. */
  unit: string;
  /** relet's directory on the host, such as /var/lib/relet. It must be there when the kubelet starts at boot. */
  dir: string;
  /** Set for a kubelet inside k3s, or below RKE2. */
  embedding?: Embedding | undefined;
}

/** A program that runs the kubelet in its own unit, and lets it read a directory of drop-ins. */
export interface Embedding {
  program: 'k3s' | 'rke2';
  /** agent/etc/kubelet.conf.d of its data directory. */
  configDir: string;
}

export interface HostLayout extends Pick<HostOptions, 'unit' | 'dir'> {
  runDir: string;
  exitsDir: string;
  /** Configs by digest. */
  configsDir: string;
  /** The one script, for exits, rollback and fallback. */
  script: string;
  /** `relet` for people on a host without Node.js. */
  tool: string;
  /** The drop-in that the fallback puts in place. */
  fallbackText: string;
  dropIn: Record<DropInKind, string>;
  units: Record<OwnUnit, string>;
  /** Only of an embedded kubelet: the constant drop-in of its unit, and what that installs for the kubelet. */
  embedded?: Embedding & { unitDropIn: string; installed: string };
}

/** Gone after a reboot: exits, counts, the lock. */
const runDir = '/run/relet';
/** In runDir: the socket of the agent that runs. */
export const lockName = 'agent.sock';
export const lockPath = `${runDir}/${lockName}`;

export type OwnUnit = 'rollback' | 'deadline' | 'fallback' | 'returnToGood';

/** Names of the units; a start of `rollback` is an instance for the trial. */
export const unitNames = {
  rollback: 'relet-rollback@trial.service',
  deadline: 'relet-deadline.timer',
  fallback: 'relet-fallback-to-local.service',
  returnToGood: 'relet-return-to-good.service',
} as const satisfies Record<OwnUnit, string>;

/** Gone after a reboot, as a trial is. */
export const runtimeUnits = '/run/systemd/system';
export const persistentUnits = '/etc/systemd/system';

export function hostLayout({ unit, dir, embedding }: HostOptions): HostLayout {
  if (!/^[a-zA-Z0-9][-_.a-zA-Z0-9]*\.service$/.test(unit))
    throw new Error(`${JSON.stringify(unit)} is not the name of a service, such as kubelet.service`);
  safePath(dir);
  const layout = unitLayout(unit, dir);
  return embedding === undefined ? layout : embeddedLayout(layout, embedding);
}

/** The files in place of drop-ins have their header, and no more. Units are there for good, since no switch reloads systemd. */
function embeddedLayout(layout: HostLayout, embedding: Embedding): HostLayout {
  const { unit, dir, units } = layout;
  const inEtc = Object.entries(units).map(([name, path]) => [name, path.replace(runtimeUnits, persistentUnits)]);
  return {
    ...layout,
    dropIn: { good: `${dir}/good`, fallback: `${runDir}/fallback`, trial: `${runDir}/trial` },
    units: Object.fromEntries(inEtc) as HostLayout['units'],
    embedded: {
      ...embedding,
      unitDropIn: `${persistentUnits}/${unit}.d/zz-relet-50-drop-in.conf`,
      installed: `${safePath(embedding.configDir)}/${embeddedDropIn}`,
    },
  };
}

function unitLayout(unit: string, dir: string): HostLayout {
  return {
    unit,
    dir,
    runDir,
    exitsDir: `${runDir}/exits`,
    configsDir: `${dir}/configs`,
    script: `${dir}/host.sh`,
    tool: `${dir}/bin/relet`,
    fallbackText: `${dir}/fallback.conf`,
    dropIn: {
      good: `${persistentUnits}/${unit}.d/${dropIns.good}`,
      fallback: `${runtimeUnits}/${unit}.d/${dropIns.fallback}`,
      trial: `${runtimeUnits}/${unit}.d/${dropIns.trial}`,
    },
    units: {
      rollback: `${runtimeUnits}/relet-rollback@.service`,
      deadline: `${runtimeUnits}/${unitNames.deadline}`,
      fallback: `${persistentUnits}/${unitNames.fallback}`,
      returnToGood: `${persistentUnits}/${unitNames.returnToGood}`,
    },
  };
}

/** The log of RKE2's kubelet, which is not in the journal. */
export const kubeletLogFile = ({ program, configDir }: Embedding): string | undefined =>
  program === 'rke2' ? join(configDir, '../../logs/kubelet.log') : undefined;

/** The file of a config. Others of the same ConfigMap are beside it, since relative paths count from there. */
export const configFile = ({ configsDir }: HostLayout, digest: string): string =>
  `${configsDir}/${digest}/kubelet.yaml`;

/** The digest in such a path; undefined for any other file. */
export function digestIn({ configsDir }: HostLayout, file: string): string | undefined {
  const digest = file.startsWith(`${configsDir}/`) ? file.slice(configsDir.length + 1).split('/')[0]! : '';
  return /^[0-9a-f]{64}$/.test(digest) ? digest : undefined;
}
