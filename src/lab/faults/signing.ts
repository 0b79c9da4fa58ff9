/**
 * Signatures in a schedule: the key that its hosts trust and one that they do not, from fixed seeds. Ed25519 takes nothing from the system
 * to sign, so the same config has the same signature in every run.
 */
import { createHash, createPrivateKey, createPublicKey, sign } from 'node:crypto';
import type { TrustSource } from '../../agent/validate/trust-file.js';
import type { SignedConfig } from '../../api/node-config-set.js';
import { signatureNamespace } from '../../api/signing.js';
import { decideSignature } from '../../config/signing/decide.js';
import { contentOf, formatStatement } from '../../config/signing/statement.js';
import { parseTrust } from '../../config/signing/trust.js';
import { wireString } from '../../config/signing/wire.js';
import { VirtualClock } from '../../rehearsal/simulation/virtual-clock.js';
import { type ConfigVersion, textOf } from './configs.js';

const [trusted, foreign] = [keyFrom('trusted'), keyFrom('foreign')];

/** Time of the virtual clock when a schedule starts. */
const startMs = new VirtualClock().now();

const trust = parseTrust(
  `apiVersion: relet.dev/v1alpha1\nkind: Trust\nsigners:\n  - ann@example.com ssh-ed25519 ${trusted.blob.toString('base64')}\n`,
  'trust.yaml',
);

/** The trust file of every host. */
export const trustFile: TrustSource = {
  path: 'trust.yaml',
  load: async () => {},
  read: () => ({ trust, writtenMs: 0, decide: decideSignature }),
};

/** The config as people have signed it; undefined if nobody has. */
export function signedConfig(config: ConfigVersion): SignedConfig | undefined {
  if (config.class === 'unsigned') return undefined;
  const payload = textOf(config);
  const content = contentOf({ data: { kubelet: payload } });
  const { endsAtMs } = config;
  const until = endsAtMs !== undefined && { notAfter: Math.floor((startMs + endsAtMs) / 1000) };
  const statement = formatStatement({ pools: [], ...serialOf(config), ...content, ...until });
  return { payload, statement, signatures: [armored(config.class === 'foreign' ? foreign : trusted, statement)] };
}

/** A revision of the set may return to the one before it. Configs by hand are newer than all of these and may replace one another. */
function serialOf({ name, version, isRenewed }: ConfigVersion): { serial: number; floor: number } {
  if (name !== 's') return { serial: 1000 + version, floor: 0 };
  return { serial: isRenewed ? 100 + version : version, floor: version - 1 };
}

type Key = ReturnType<typeof keyFrom>;

function keyFrom(seed: string) {
  const der = Buffer.concat([
    Buffer.from('302e020100300506032b657004220420', 'hex'),
    createHash('sha256').update(seed).digest(),
  ]);
  const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  const { x = '' } = createPublicKey(key).export({ format: 'jwk' });
  return { key, blob: Buffer.concat([wireString('ssh-ed25519'), wireString(Buffer.from(x, 'base64url'))]) };
}

/** As `ssh-keygen -Y sign` does it. */
function armored({ key, blob }: Key, text: string): string {
  const of = (parts: readonly (string | Buffer)[]) => Buffer.concat(parts.map((part) => wireString(part)));
  const digest = createHash('sha512').update(text).digest();
  const signed = Buffer.concat([Buffer.from('SSHSIG'), of([signatureNamespace, '', 'sha512', digest])]);
  const signature = of(['ssh-ed25519', sign(null, signed, key)]);
  const parts = of([blob, signatureNamespace, '', 'sha512', signature]);
  const lines = Buffer.concat([Buffer.from('SSHSIG\0\0\0\x01'), parts])
    .toString('base64')
    .match(/.{1,70}/g);
  return `-----BEGIN SSH SIGNATURE-----\n${lines!.join('\n')}\n-----END SSH SIGNATURE-----\n`;
}
