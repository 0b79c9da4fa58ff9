/** Paths of relet's files on the host. Every path that is written to a unit file or a script comes from here, and is safe there. */
import { type DropInKind, dropIns, safePath } from './unit-text.js';

export interface HostOptions {
  /** The kubelet's unit. */
  unit: string;
  /** relet's directory on the host, such as /var/lib/relet. It must be there when the kubelet starts at boot. */
  dir: string;
}

export interface HostLayout extends HostOptions {
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

export function hostLayout({ unit, dir }: HostOptions): HostLayout {
  if (!/^[a-zA-Z0-9][-_.a-zA-Z0-9]*\.service$/.test(unit))
    throw new Error(`${JSON.stringify(unit)} is not the name of a service, such as kubelet.service`);
  safePath(dir);
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

/** The file of a config. Others of the same ConfigMap are beside it, since relative paths count from there. */
export const configFile = ({ configsDir }: HostLayout, digest: string): string =>
  `${configsDir}/${digest}/kubelet.yaml`;

/** The digest in such a path; undefined for any other file. */
export function digestIn({ configsDir }: HostLayout, file: string): string | undefined {
  const digest = file.startsWith(`${configsDir}/`) ? file.slice(configsDir.length + 1).split('/')[0]! : '';
  return /^[0-9a-f]{64}$/.test(digest) ? digest : undefined;
}
