/** The `--kubelet-version` option: the kubelet that a config is checked for. */
import { Option } from 'commander';
import { knownMinor, type Minor, newestMinor, oldestMinor, parseMinor } from '../config/model.js';
import { InvalidArgumentError } from './command-line.js';

export interface KubeletVersion {
  minor: Minor;
  /** Said to people when the kubelet meant is not exactly the one whose rules are used. */
  note?: string;
}

export const newestKnown: KubeletVersion = {
  minor: newestMinor,
  note: `kubelet 1.${newestMinor}, the newest relet knows; --kubelet-version chooses another`,
};

export function parseKubeletVersion(text: string): KubeletVersion {
  const asked = parseMinor(text);
  if (asked === undefined)
    throw new InvalidArgumentError(`Write it as 1.32 or v1.32.1; relet knows 1.${oldestMinor} to 1.${newestMinor}.`);
  const minor = knownMinor(asked);
  if (minor === asked) return { minor };
  const than = asked > minor ? 'newer' : 'older';
  return {
    minor,
    note: `kubelet 1.${minor}: 1.${asked} is ${than} than relet knows (1.${oldestMinor} to 1.${newestMinor})`,
  };
}

export const kubeletVersionOption = (): Option =>
  new Option('--kubelet-version <VERSION>', `kubelet version to check against, 1.${oldestMinor} to 1.${newestMinor}`)
    .argParser(parseKubeletVersion)
    .default(newestKnown, `1.${newestMinor}, the newest known`);
