/**
 * `relet/config`: what a KubeletConfiguration is, for every kubelet from 1.11 to 1.37. Pure; reads no file and no
 * environment. Start with check().
 */
export {
  entryOf,
  fieldImpact,
  type Impact,
  type ImpactContext,
  impactOf,
  type Needs,
  type PodsEffect,
} from './catalogue.js';
export { type CheckOptions, type CheckResult, check } from './check.js';
export { checkOverlay } from './check-overlay.js';
export { type Decoded, DecodeError, type DecodeOptions, decode } from './decode.js';
export { setDefaults } from './defaults.js';
export { apply, type Change, diff } from './diff.js';
export { encode } from './encode.js';
export { existsIn, type Field, fieldAt, fields, fieldsOf } from './fields.js';
export { applyFlags, FlagError, flagAt, parseCommandLine } from './flags.js';
export { forecast } from './forecast.js';
export { type Gate, gateAt, gatesOf, isGateOn } from './gates.js';
export {
  type LocalConfig,
  type LocalFile,
  type Merged,
  type MergeOptions,
  mergeLocal,
  mergeOverlay,
  type Origin,
} from './merge.js';
export { changesIn, type MinorChanges } from './minor-changes.js';
export {
  type CommandLine,
  type Finding,
  getField,
  type Host,
  type KubeletConfig,
  type Minor,
  newestMinor,
  oldestMinor,
  type Position,
  type Positions,
  parseMinor,
  type ValidationContext,
} from './model.js';
export type { NodeFacts, PodFacts } from './node-facts.js';
export {
  type DecodedOverlay,
  type DecodeOverlayOptions,
  decodeOverlay,
  encodeOverlay,
  isOverlay,
  type Overlay,
  overlayFrom,
  overlayHeader,
} from './overlay.js';
export { type JsonSchema, jsonSchema, overlaySchema } from './schema.js';
export {
  type UpgradeChange,
  type UpgradeFinding,
  type UpgradeOptions,
  type UpgradeResult,
  upgradeCheck,
} from './upgrade-check.js';
export { type Stage, type Validation, validate, validateCommandLine } from './validate.js';
