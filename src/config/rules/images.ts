/** Rules about images: garbage collection, parallel pulls, and which credentials may use images that were pulled before. */

import { quote } from '../../go/quote.js';
import { checkBounds, print, spell } from './bounds.js';
import type { ConfigView } from './config-view.js';

export function checkImageCollection(view: ConfigView): void {
  checkBounds(view, ['imageGCHighThresholdPercent', 'imageGCLowThresholdPercent']);
  const [low, high] = ['imageGCLowThresholdPercent', 'imageGCHighThresholdPercent'] as const;
  if (view.minor >= 12 && view.number(low) >= view.number(high))
    view.report(
      low,
      `invalid configuration: ${spell(low, view.minor)} (--image-gc-low-threshold) ${print(view, low)} must be less than ${spell(high, view.minor)} (--image-gc-high-threshold) ${print(view, high)}`,
    );
  if (view.minor >= 29 && view.duration('imageMaximumGCAge') !== 0n && !view.gate('ImageMaximumGCAge'))
    view.report(
      'imageMaximumGCAge',
      `invalid configuration: ImageMaximumGCAge feature gate is required for Kubelet configuration option ${view.minor === 29 ? 'ImageMaximumGCAge' : 'imageMaximumGCAge'}`,
    );
}

export function checkImageAge(view: ConfigView): void {
  if (view.minor < 29) return;
  const maximum = view.duration('imageMaximumGCAge');
  const minimum = view.duration('imageMinimumGCAge');
  const shownMaximum = view.text('imageMaximumGCAge');
  const shownMinimum = view.text('imageMinimumGCAge');
  if (view.minor >= 36 && minimum < 0n)
    view.report('imageMinimumGCAge', `invalid configuration: imageMinimumGCAge ${shownMinimum} must not be negative`);
  if (maximum < 0n)
    view.report('imageMaximumGCAge', `invalid configuration: imageMaximumGCAge ${shownMaximum} must not be negative`);
  if (maximum > 0n && maximum <= minimum)
    view.report(
      'imageMaximumGCAge',
      `invalid configuration: imageMaximumGCAge ${shownMaximum} must be greater than imageMinimumGCAge ${shownMinimum}`,
    );
}

export function checkImagePulls(view: ConfigView): void {
  if (view.minor < 27 || !view.isSet('maxParallelImagePulls')) return;
  const pulls = view.number('maxParallelImagePulls');
  if (pulls < 1)
    view.report(
      'maxParallelImagePulls',
      `invalid configuration: maxParallelImagePulls ${print(view, 'maxParallelImagePulls')} must be a positive number`,
    );
  if (view.bool('serializeImagePulls') && pulls > 1)
    view.report(
      'maxParallelImagePulls',
      'invalid configuration: maxParallelImagePulls cannot be larger than 1 unless SerializeImagePulls (--serialize-image-pulls) is set to false',
    );
}

const policies = ['NeverVerify', 'NeverVerifyPreloadedImages', 'NeverVerifyAllowlistedImages', 'AlwaysVerify'];

export function checkImageCredentials(view: ConfigView): void {
  if (view.minor < 33) return;
  const policy = view.text('imagePullCredentialsVerificationPolicy');
  const patterns = view.list('preloadedImagesVerificationAllowlist').map(String);
  if (!view.gate('KubeletEnsureSecretPulledImages')) {
    const off = 'must not be set if KubeletEnsureSecretPulledImages feature gate is not enabled';
    if (policy !== '')
      view.report(
        'imagePullCredentialsVerificationPolicy',
        `invalid configuration: \`imagePullCredentialsVerificationPolicy\` ${off}`,
      );
    if (patterns.length > 0)
      view.report(
        'preloadedImagesVerificationAllowlist',
        `invalid configuration: \`preloadedImagesVerificationAllowlist\` ${off}`,
      );
    return;
  }
  if (!policies.includes(policy))
    view.report(
      'imagePullCredentialsVerificationPolicy',
      `invalid configuration: option ${quote(policy)} specified for imagePullCredentialsVerificationPolicy. Valid options are "NeverVerify", "NeverVerifyPreloadedImages", "NeverVerifyAllowlistedImages" or "AlwaysVerify"`,
    );
  if (patterns.length > 0 && policy !== 'NeverVerifyAllowlistedImages')
    view.report(
      'preloadedImagesVerificationAllowlist',
      'invalid configuration: can\'t set `preloadedImagesVerificationAllowlist` if `imagePullCredentialsVertificationPolicy` is not "NeverVerifyAllowlistedImages"',
    );
  else checkPatterns(view, patterns);
}

/** The kubelet stops at the first bad pattern. */
function checkPatterns(view: ConfigView, patterns: readonly string[]): void {
  const errors = patterns.flatMap((pattern, index) => {
    const error = imagePatternError(pattern, view.minor);
    const message = `invalid configuration: invalid image pattern in \`preloadedImagesVerificationAllowlist\`: ${error}`;
    return error === undefined ? [] : [{ path: `preloadedImagesVerificationAllowlist[${index}]`, message }];
  });
  view.reportFirst(errors);
}

const alphanumeric = '[a-z0-9]+';
const component = `${alphanumeric}(?:(?:[._]|__|-+)${alphanumeric})*`;
const domainPart = '(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])';
const domain = `(?:${domainPart}(?:\\.${domainPart})*|\\[[a-fA-F0-9:]+\\])(?::[0-9]+)?`;
const digest = '[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}';
const reference = new RegExp(
  `^((?:${domain}/)?${component}(?:/${component})*)(?::(\\w[\\w.-]{0,127}))?(?:@(${digest}))?$`,
);

/** The kubelet's error about a pattern, `registry.example/team/*` or one image without tag and digest; undefined when it accepts it. */
function imagePatternError(pattern: string, minor: number): string | undefined {
  if (pattern !== pattern.trim()) return `leading/trailing spaces are not allowed: ${pattern}`;
  const isWildcard = pattern.endsWith('/*');
  const trimmed = isWildcard ? pattern.slice(0, -1) : pattern;
  if (trimmed === '') return `the supplied pattern is too short: ${pattern}`;
  if (trimmed.includes('*'))
    return `not a valid wildcard pattern, only patterns ending with '/*' are allowed: ${pattern}`;
  if (isWildcard) return trimmed.length === 1 ? 'at least registry hostname is required' : undefined;
  // Until 1.35 docker's short names were completed first, so that only a full name equals itself.
  const full = minor < 36 ? complete(trimmed) : trimmed;
  const match = reference.exec(full);
  if (match === null) {
    const reason = reference.test(full.toLowerCase())
      ? 'repository name must be lowercase'
      : 'invalid reference format';
    return `failed to parse as an image name: ${reason}`;
  }
  return match[1] === trimmed ? undefined : `neither tag nor digest is accepted in an image reference: ${pattern}`;
}

/** `ubuntu` is docker.io/library/ubuntu, `team/app` is docker.io/team/app. */
function complete(name: string): string {
  const slash = name.indexOf('/');
  const first = name.slice(0, Math.max(slash, 0));
  const hasDomain = /[.:]/.test(first) || first === 'localhost' || first !== first.toLowerCase();
  const host = hasDomain ? (first === 'index.docker.io' ? 'docker.io' : first) : 'docker.io';
  const rest = hasDomain ? name.slice(slash + 1) : name;
  return host === 'docker.io' && !rest.includes('/') ? `docker.io/library/${rest}` : `${host}/${rest}`;
}
