/** The whole judgement of one document: flags, decode, defaults, overlay, validation, forecast. */
import type { Finding, Host, KubeletConfig, Minor } from './model.js';

export interface CheckOptions {
  minor: Minor;
  /** Kubelet arguments as on its command line: `--max-pods=60`. */
  flags?: readonly string[];
  host?: Host;
  /** Unknown and duplicate fields are warnings, as for the kubelet; otherwise they are errors. Default false. */
  lenient?: boolean;
  /** Name of the file in the kubelet's messages. */
  file?: string;
}

export interface CheckResult {
  /** The kubelet's own verdict. What stops it in flags, TLS set-up or by a panic counts as validate-error. */
  verdict: 'accepted' | 'decode-error' | 'validate-error';
  /** The kubelet's error as it prints it; '' when accepted. */
  message: string;
  /** relet's forecast for an accepted document; `fails` for any other. */
  startup: 'ok' | 'fails';
  findings: Finding[];
  /** Decoded, defaulted, flags laid over; absent when it could not be decoded. */
  effective?: KubeletConfig;
}
