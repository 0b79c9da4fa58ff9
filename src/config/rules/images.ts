/** Rules about images: garbage collection, parallel pulls, and whose credentials may use what was pulled before. */

import { quote } from '../../go/text.js';
import { checkBounds, print, spell } from './bounds.js';
import { imagePatternError } from './image-pattern.js';
import type { Judged } from './judged.js';

export function checkImageCollection(judged: Judged): void {
  checkBounds(judged, ['imageGCHighThresholdPercent', 'imageGCLowThresholdPercent']);
  const [low, high] = ['imageGCLowThresholdPercent', 'imageGCHighThresholdPercent'] as const;
  if (judged.minor >= 12 && judged.number(low) >= judged.number(high))
    judged.report(
      low,
      `invalid configuration: ${spell(low, judged.minor)} (--image-gc-low-threshold) ${print(judged, low)} must be less than ${spell(high, judged.minor)} (--image-gc-high-threshold) ${print(judged, high)}`,
    );
  if (judged.minor >= 29) checkImageAge(judged);
}

function checkImageAge(judged: Judged): void {
  const maximum = judged.duration('imageMaximumGCAge');
  const minimum = judged.duration('imageMinimumGCAge');
  const shownMaximum = judged.text('imageMaximumGCAge');
  const shownMinimum = judged.text('imageMinimumGCAge');
  if (maximum !== 0n && !judged.gate('ImageMaximumGCAge'))
    judged.report(
      'imageMaximumGCAge',
      `invalid configuration: ImageMaximumGCAge feature gate is required for Kubelet configuration option ${judged.minor === 29 ? 'ImageMaximumGCAge' : 'imageMaximumGCAge'}`,
    );
  if (judged.minor >= 36 && minimum < 0n)
    judged.report('imageMinimumGCAge', `invalid configuration: imageMinimumGCAge ${shownMinimum} must not be negative`);
  if (maximum < 0n)
    judged.report('imageMaximumGCAge', `invalid configuration: imageMaximumGCAge ${shownMaximum} must not be negative`);
  if (maximum > 0n && maximum <= minimum)
    judged.report(
      'imageMaximumGCAge',
      `invalid configuration: imageMaximumGCAge ${shownMaximum} must be greater than imageMinimumGCAge ${shownMinimum}`,
    );
}

export function checkImagePulls(judged: Judged): void {
  if (judged.minor < 27 || !judged.isSet('maxParallelImagePulls')) return;
  const pulls = judged.number('maxParallelImagePulls');
  if (pulls < 1)
    judged.report(
      'maxParallelImagePulls',
      `invalid configuration: maxParallelImagePulls ${print(judged, 'maxParallelImagePulls')} must be a positive number`,
    );
  if (judged.bool('serializeImagePulls') && pulls > 1)
    judged.report(
      'maxParallelImagePulls',
      'invalid configuration: maxParallelImagePulls cannot be larger than 1 unless SerializeImagePulls (--serialize-image-pulls) is set to false',
    );
}

const policies = ['NeverVerify', 'NeverVerifyPreloadedImages', 'NeverVerifyAllowlistedImages', 'AlwaysVerify'];

export function checkImageCredentials(judged: Judged): void {
  if (judged.minor < 33) return;
  const policy = judged.text('imagePullCredentialsVerificationPolicy');
  const patterns = judged.list('preloadedImagesVerificationAllowlist').map(String);
  if (!judged.gate('KubeletEnsureSecretPulledImages')) {
    const off = 'must not be set if KubeletEnsureSecretPulledImages feature gate is not enabled';
    if (policy !== '')
      judged.report(
        'imagePullCredentialsVerificationPolicy',
        `invalid configuration: \`imagePullCredentialsVerificationPolicy\` ${off}`,
      );
    if (patterns.length > 0)
      judged.report(
        'preloadedImagesVerificationAllowlist',
        `invalid configuration: \`preloadedImagesVerificationAllowlist\` ${off}`,
      );
    return;
  }
  if (!policies.includes(policy))
    judged.report(
      'imagePullCredentialsVerificationPolicy',
      `invalid configuration: option ${quote(policy)} specified for imagePullCredentialsVerificationPolicy. Valid options are "NeverVerify", "NeverVerifyPreloadedImages", "NeverVerifyAllowlistedImages" or "AlwaysVerify"`,
    );
  if (patterns.length > 0 && policy !== 'NeverVerifyAllowlistedImages')
    judged.report(
      'preloadedImagesVerificationAllowlist',
      'invalid configuration: can\'t set `preloadedImagesVerificationAllowlist` if `imagePullCredentialsVertificationPolicy` is not "NeverVerifyAllowlistedImages"',
    );
  else checkPatterns(judged, patterns);
}

/** The kubelet stops at the first bad pattern. */
function checkPatterns(judged: Judged, patterns: readonly string[]): void {
  for (const [index, pattern] of patterns.entries()) {
    const error = imagePatternError(pattern, judged.minor);
    if (error === undefined) continue;
    judged.report(
      `preloadedImagesVerificationAllowlist[${index}]`,
      `invalid configuration: invalid image pattern in \`preloadedImagesVerificationAllowlist\`: ${error}`,
    );
    return;
  }
}
