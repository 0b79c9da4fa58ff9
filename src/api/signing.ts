/** Signed configs: the names in the API, and what a node reports. docs/signing.md has the format of the statement. */
import type { ConfigErrorReason } from './config-error.js';

/** On a ConfigMap: the text that is signed. */
export const statementAnnotation = 'relet.dev/statement';
/** On a ConfigMap: armored SSH signatures of that text, one after the other. */
export const signaturesAnnotation = 'relet.dev/signatures';
/** `ssh-keygen -Y sign -n`: a signature made for another purpose is not one for a config. */
export const signatureNamespace = 'relet.dev/kubelet-config';

/** On a ConfigMap: starts it although relet expects the kubelet to exit at start. */
export const skipForecastAnnotation = 'relet.dev/skip-forecast';
/** On a ConfigMap: fields, separated by commas, that it may set against the isolation checks or the built-in policy. */
export const allowFieldsAnnotation = 'relet.dev/allow-fields';

export const defaultTrustFile = '/etc/relet/trust.yaml';

/** The annotations of a ConfigMap that have an effect on a node. A statement covers them; nodes keep no others. */
export const countedAnnotations: readonly string[] = [allowFieldsAnnotation, skipForecastAnnotation];

/** In the order in which a config is checked. */
export const signatureReasons = [
  'SignatureMissing',
  'SignatureInvalid',
  'SignerNotAllowed',
  'TooFewSignatures',
  'WrongPool',
  'NotYetValid',
  'Expired',
  'SerialTooLow',
] as const satisfies ConfigErrorReason[];

export type SignatureReason = (typeof signatureReasons)[number];

/** `status.signing` of a NodeConfig. Absent on a host that never had a trust file. */
export interface SigningStatus {
  /** The host starts only what is signed. */
  required: boolean;
  /** Principals whose signatures were accepted for the active config. */
  signers?: string[];
  /** Serial of the active config. */
  serial?: number;
  /** Lowest serial that the node accepts. */
  floor?: number;
  /** End of the active config's statement. */
  notAfter?: string;
  /** From the trust file, as long as it can be read. */
  pool?: string;
  /** How many distinct principals the host requires. */
  threshold?: number;
  /** When the next key of an allowed signer expires. */
  keyExpires?: string;
}
