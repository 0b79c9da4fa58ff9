/**
 * `relet set|assign --as-set NAME`: writes a NodeConfigSet instead of changing the nodes one by one, after a preview of its rollout. An
 * existing set keeps all fields that the command does not name: `set` builds on its overlay.
 */
import { isDeepStrictEqual } from 'node:util';
import { SelectorError } from '../../api/label-selector.js';
import { byAnnotation } from '../../api/node-annotations.js';
import {
  type NodeConfigSet,
  type NodeConfigSetSpec,
  nodeConfigSets,
  type SetConfig,
  specDefaults,
  strategyDefaults,
} from '../../api/node-config-set.js';
import { selectorObject, selectorText } from '../../api/selector-object.js';
import { isConflict } from '../../api/status.js';
import { CannotRun } from '../../cannot-run.js';
import { newestMinor } from '../../config/model.js';
import { isOverlay } from '../../config/overlay.js';
import { FieldWordError, looksLikeSetting } from '../../config/set-field.js';
import { findConfigMap } from '../../fleet/config-maps.js';
import { parseStatements, readOverlay, withStatements } from '../../fleet/payload.js';
import { tryParseDuration } from '../../go/duration.js';
import { shortDuration } from '../../go/short-duration.js';
import { asYaml } from '../../go/yaml/write.js';
import { isObject } from '../../json.js';
import { impactNames } from '../../rollout/impact.js';
import { gitOwner } from '../../rollout/requests.js';
import { payloadOf } from '../../rollout/revision.js';
import type { AssignOptions } from '../change/assign.js';
import { confirm } from '../change/change-to.js';
import type { SetOptions } from '../change/set.js';
import { type Session, withResultSession } from '../session.js';
import { readSetFacts, signedConfig } from '../sign/set.js';
import { hanging, printError } from '../terminal/terminal.js';
import { planSet } from './plan-set.js';
import { planText } from './plan-text.js';
import { findSet, setName } from './read-set.js';

interface AsSet {
  asSet: string;
}

export const setAsSet = (words: string[], options: SetOptions & AsSet): Promise<void> =>
  writeSet(
    words.filter((word) => !looksLikeSetting(word)),
    options,
    async (_session, present) => overlayConfig(present?.spec.config, words.filter(looksLikeSetting), options),
  );

export const assignAsSet = (word: string, names: string[], options: AssignOptions & AsSet): Promise<void> =>
  writeSet(names, options, async (session) => {
    const { source } = await findConfigMap(session, word.replace(/^(configmap|cm)s?\//, ''), options.key);
    const { namespace, name, kubeletConfigKey } = source;
    return { configMap: { namespace, name, kubeletConfigKey } };
  });

/** Over a whole config or a ConfigMap there is nothing to build on. */
export function overlayConfig(
  present: SetConfig | undefined,
  settings: readonly string[],
  { unset = [], sign }: Pick<SetOptions, 'unset' | 'sign'>,
): SetConfig {
  if (settings.length === 0 && unset.length === 0)
    throw new CannotRun("nothing to set: write FIELD=VALUE, as in 'relet set -l pool=gpu --as-set gpu maxPods=150'");
  if (present?.signed !== undefined && sign === undefined)
    throw new CannotRun(
      'the config of the set is signed, and this would put one without a signature in its place; --sign KEY signs the new one',
    );
  const signedText = present?.signed?.payload;
  if (present !== undefined && present.overlay === undefined && (signedText === undefined || !isOverlay(signedText)))
    throw new CannotRun('the set has no overlay to build on; edit its spec.config instead');
  try {
    const before = present === undefined ? undefined : payloadOf(present);
    const text = withStatements(before, parseStatements(settings, unset, newestMinor), newestMinor);
    const overlay = text === undefined ? { config: {}, unset: [] } : readOverlay(text, newestMinor);
    return { overlay: overlay.config, ...(overlay.unset.length > 0 && { unset: overlay.unset }) };
  } catch (error) {
    if (error instanceof FieldWordError) throw new CannotRun(error.message);
    throw error;
  }
}

type Options = (SetOptions | AssignOptions) & AsSet;

function writeSet(
  names: string[],
  options: Options,
  configFor: (session: Session, present: NodeConfigSet | undefined) => Promise<SetConfig>,
): Promise<void> {
  const { output, dryRun = 'none' } = options;
  return withResultSession(options, async (session) => {
    if (names.length > 0)
      throw new CannotRun(
        `a set chooses its nodes by labels, not by name (${names.join(', ')}); use --selector or --all`,
      );
    const name = setName(options.asSet);
    const present = await findSet(session, name);
    const config = await configFor(session, present);
    const unsigned = manifest(name, present, config, options);
    // Before the preview, which shows whether hosts would accept the signature.
    const set = options.sign === undefined ? unsigned : await withSignature(session, unsigned, present, options.sign);
    const { terminal } = session;
    const found = await planSet(session, set);
    terminal.print(planText(found, terminal));
    const owner = present && gitOwner(present);
    if (owner !== undefined)
      printError(
        `relet: warning: ${owner} applies ${name} from Git and will undo this at its next sync; use --dry-run -o yaml, and commit that`,
      );
    const done = present === undefined ? 'created' : 'configured';
    if (dryRun === 'none') {
      const count = found.waves.reduce((sum, wave) => sum + wave.names.length, 0);
      const question = `Write the set ${name}, which rolls this out to ${count} ${count === 1 ? 'node' : 'nodes'}?`;
      if (!(await confirm(session, question, options.yes))) {
        terminal.print('Nothing was changed.');
        process.exitCode = 1;
        return;
      }
    }
    if (dryRun !== 'client') await writeManifest(session, set, present, dryRun === 'server');
    const how = { none: '', client: ' (dry run)', server: ' (server dry run)' }[dryRun];
    const follow =
      dryRun === 'none' ? `; it continues without this terminal, 'relet rollout status ${name} -w' follows it` : '';
    terminal.print(hanging(`nodeconfigset/${name} ${done}${how}${follow}`, terminal));
    printManifest(session, set, output);
    if (found.stalled !== undefined) process.exitCode = 1;
  });
}

async function withSignature(
  session: Session,
  set: NodeConfigSet,
  present: NodeConfigSet | undefined,
  keyFile: string,
): Promise<NodeConfigSet> {
  const payload = payloadOf(set.spec.config);
  if (payload === undefined) throw new CannotRun('--sign goes with fields; a ConfigMap is signed when it is pushed');
  const facts = await readSetFacts(session, set, payload);
  const { signed } = await signedConfig(present?.spec.config ?? {}, payload, { keyFile }, facts);
  return { ...set, spec: { ...set.spec, config: { signed } } };
}

function printManifest({ terminal }: Session, { status: _, ...set }: NodeConfigSet, output: string | undefined): void {
  if (output === 'name') terminal.printDocument(`nodeconfigset/${set.metadata.name}`);
  const shown = asManifest(set);
  if (output === 'yaml') terminal.printDocument(asYaml(shown));
  if (output === 'json') terminal.printDocument(JSON.stringify(shown, null, 2));
}

/** As a person would write it for Git: without annotations of tools, and without values that the schema sets anyway. */
export function asManifest({ apiVersion, kind, metadata: { name, labels, annotations = {} }, spec }: NodeConfigSet) {
  const isOwn = (key: string) => key !== byAnnotation && !key.startsWith('kubectl.kubernetes.io/');
  const own = Object.fromEntries(Object.entries(annotations).filter(([key]) => isOwn(key)));
  const metadata = { name, ...(labels && { labels }), ...(Object.keys(own).length > 0 && { annotations: own }) };
  const defaults = { ...specDefaults, strategy: strategyDefaults };
  return { apiVersion, kind, metadata, spec: without({ ...spec }, defaults) };
}

/** Leaves out what is equal to a default, and objects of which nothing is left. */
function without(values: Record<string, unknown>, defaults: Record<string, unknown>): Record<string, unknown> {
  const left = Object.entries(values).flatMap(([key, value]) => {
    const standard = defaults[key];
    if (isDeepStrictEqual(value, standard)) return [];
    if (!isObject(value) || !isObject(standard)) return [[key, value]];
    const inner = without(value, standard);
    return Object.keys(inner).length > 0 ? [[key, inner]] : [];
  });
  return Object.fromEntries(left);
}

/**
 * Under the version that was read, so that nobody's change is lost. During a rollout the controller writes the status all the time: as
 * long as the spec is the one that was shown, it is tried again.
 */
export async function writeManifest(
  { client }: Pick<Session, 'client'>,
  set: NodeConfigSet,
  present: NodeConfigSet | undefined,
  dryRun = false,
): Promise<void> {
  const options = { dryRun, fieldManager: 'relet' };
  const { status: _, ...object } = set;
  const { name } = set.metadata;
  if (present === undefined) return void (await client.create(nodeConfigSets, {}, object, options));
  for (let { metadata } = present, tries = 0; ; tries++) {
    try {
      return void (await client.update(nodeConfigSets, { name }, { ...object, metadata }, options));
    } catch (error) {
      if (!isConflict(error) || tries >= 10) throw error;
    }
    ({ metadata } = await client.get<NodeConfigSet>(nodeConfigSets, { name }));
    const { uid, generation } = present.metadata;
    if (metadata.uid !== uid || metadata.generation !== generation)
      throw new CannotRun(
        `the set ${name} was changed by somebody else meanwhile, so nothing was changed; look at it ('relet rollout status ${name}') and run the same command again`,
      );
  }
}

/** Fields from the command line; the rest of an existing set stays. */
export function manifest(
  name: string,
  present: NodeConfigSet | undefined,
  config: SetConfig,
  options: Pick<Options, 'selector' | 'all' | 'accept' | 'maxUnavailable' | 'soak'>,
): NodeConfigSet {
  const selector = selectorFor(name, present, options);
  const accept = options.accept?.map((one) => impactNames[one]!);
  const strategy: NodeConfigSetSpec['strategy'] = {
    ...present?.spec.strategy,
    ...(options.maxUnavailable !== undefined && { maxUnavailable: options.maxUnavailable }),
    ...(options.soak !== undefined && { waves: withSoak(present?.spec.strategy?.waves, options.soak) }),
  };
  const spec: NodeConfigSetSpec = {
    ...present?.spec,
    selector,
    config,
    ...(accept && { accept: accept as NonNullable<NodeConfigSetSpec['accept']> }),
    ...(Object.keys(strategy).length > 0 && { strategy }),
  };
  const object = { apiVersion: 'relet.dev/v1alpha1', kind: 'NodeConfigSet' };
  return {
    ...object,
    metadata: present?.metadata ?? { name },
    spec,
    ...(present?.status && { status: present.status }),
  };
}

/** After each wave but the last, which nothing follows. */
function withSoak(
  waves = strategyDefaults.waves as NonNullable<NodeConfigSetSpec['strategy']>['waves'],
  soakMs: number,
) {
  const short = shortDuration(soakMs);
  const soak = Number(tryParseDuration(short)) === soakMs * 1e6 ? short : `${soakMs}ms`;
  return (waves ?? []).map((wave, at, all) => (at === all.length - 1 ? wave : { ...wave, soak }));
}

function selectorFor(
  name: string,
  present: NodeConfigSet | undefined,
  { selector, all }: Pick<Options, 'selector' | 'all'>,
): NodeConfigSetSpec['selector'] {
  if (selector !== undefined && all) throw new CannotRun('--selector and --all do not go together; keep one of them');
  const asked = all ? {} : selector === undefined ? undefined : parseSelector(selector);
  if (asked === undefined && present === undefined)
    throw new CannotRun(`there is no set '${name}' yet; use --selector or --all to say which nodes it has`);
  const [wanted, has] = [asked && selectorText(asked), present && selectorText(present.spec.selector)];
  if (wanted !== undefined && has !== undefined && wanted !== has)
    throw new CannotRun(
      `the set ${name} selects ${has || 'all nodes'}, not ${wanted || 'all nodes'}; leave --selector out, or write another set`,
    );
  return asked ?? present!.spec.selector;
}

function parseSelector(text: string): NodeConfigSetSpec['selector'] {
  try {
    return selectorObject(text);
  } catch (error) {
    if (error instanceof SelectorError) throw new CannotRun(`--selector '${text}': ${error.message}`);
    throw error;
  }
}
