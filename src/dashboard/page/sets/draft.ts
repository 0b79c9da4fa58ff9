/** A set while it is written, step by step: its fields as a person types them, what is wrong with them, and the YAML. Pure. */
import { SelectorError } from '../../../api/label-selector.js';
import { checkDnsSubdomain } from '../../../api/names.js';
import {
  type Day,
  type DrainStrategy,
  type SetImpact,
  specDefaults,
  strategyDefaults,
} from '../../../api/node-config-set.js';
import { selectorObject } from '../../../api/selector-object.js';
import { tryParseDuration } from '../../../go/duration.js';
import { asYaml } from '../../../go/yaml/write.js';
import type { SetBase } from '../../wire.js';

export interface WaveDraft {
  nodes: string;
  soak: string;
  approve: boolean;
}

export interface WindowDraft {
  days: Day[];
  from: string;
  to: string;
  timeZone: string;
}

export interface Draft {
  name: string;
  /** As text: `pool=gpu,zone in (a,b)`. Empty selects all nodes, once that was confirmed. */
  selector: string;
  allNodes: boolean;
  /** The fields under spec.config.overlay, as written. */
  overlay: string;
  /** Paths, separated by commas or spaces. */
  unset: string;
  accept: SetImpact[];
  waves: WaveDraft[];
  maxUnavailable: string;
  maxInTrial: string;
  maxFailed: string;
  onFailure: 'Halt' | 'Rollback';
  progressDeadline: string;
  drain: Required<DrainStrategy>;
  windows: WindowDraft[];
  updateNodes: 'All' | 'New' | 'Selected';
  expiresAfter: string;
  /** Fields of the edited set that no step has. */
  others: { spec: Record<string, unknown>; strategy: Record<string, unknown> };
  /** The set that is edited, as it was when the draft was opened. */
  base?: SetBase;
}

export const emptyDraft: Draft = {
  name: '',
  selector: '',
  allNodes: false,
  overlay: '',
  unset: '',
  accept: [],
  waves: strategyDefaults.waves.map(({ nodes }) => ({ nodes: String(nodes), soak: '', approve: false })),
  maxUnavailable: String(strategyDefaults.maxUnavailable),
  maxInTrial: String(strategyDefaults.maxInTrial),
  maxFailed: String(strategyDefaults.maxFailed),
  onFailure: strategyDefaults.onFailure,
  progressDeadline: strategyDefaults.progressDeadline,
  drain: strategyDefaults.drain,
  windows: [],
  updateNodes: specDefaults.updateNodes,
  expiresAfter: '',
  others: { spec: {}, strategy: {} },
};

/** Undefined for a new set; a draft with another name becomes one. */
export const baseOf = ({ name, base }: Pick<Draft, 'name' | 'base'>): SetBase | undefined =>
  base?.name === name ? base : undefined;

export const unsetPaths = ({ unset }: Pick<Draft, 'unset'>): string[] =>
  unset.split(/[\s,]+/).filter((path) => path !== '');

/** The steps, in order, and what is wrong in each: by field, such as `waves[1].nodes`. */
export const steps = ['nodes', 'config', 'strategy', 'preview', 'start'] as const;
export type Step = (typeof steps)[number];
export type Problems = Partial<Record<string, string>>;

export function problemsIn(draft: Draft, step: Step): Problems {
  switch (step) {
    case 'nodes':
      return present({ name: nameProblem(draft.name), selector: selectorProblem(draft) });
    case 'config':
      return present({
        overlay:
          /^\s*[^\s#]/m.test(draft.overlay) || unsetPaths(draft).length > 0
            ? undefined
            : 'Write at least one field, or a field to unset.',
      });
    case 'strategy':
      return strategyProblems(draft);
    default:
      return {};
  }
}

/** The first step that has a problem; undefined: the set can be planned. */
export const firstBadStep = (draft: Draft): Step | undefined =>
  steps.find((step) => Object.keys(problemsIn(draft, step)).length > 0);

const present = (problems: Problems): Problems =>
  Object.fromEntries(Object.entries(problems).filter(([, problem]) => problem !== undefined));

function nameProblem(name: string): string | undefined {
  if (name === '') return 'A set needs a name, such as gpu.';
  return checkDnsSubdomain(name).length === 0
    ? undefined
    : 'A name has lower case letters, digits, dashes and dots, and begins and ends with a letter or digit.';
}

function selectorProblem({ selector, allNodes }: Draft): string | undefined {
  if (selector.trim() === '') return allNodes ? undefined : 'Write labels such as pool=gpu, or choose all nodes.';
  try {
    selectorObject(selector);
    return undefined;
  } catch (error) {
    if (error instanceof SelectorError) return error.message;
    throw error;
  }
}

const isShare = (text: string): boolean => /^(\d{1,6}|(100|\d{1,2})%)$/.test(text);
const isDuration = (text: string): boolean => (tryParseDuration(text) ?? -1n) >= 0n;
const shareProblem = (text: string) => (isShare(text) ? undefined : 'A number of nodes, or a percentage such as 25%.');
const durationProblem = (text: string) => (isDuration(text) ? undefined : 'A duration such as 10m or 1h30m.');
const timeProblem = (text: string) =>
  /^([01]\d|2[0-3]):[0-5]\d$/.test(text) ? undefined : 'A time of day such as 22:00.';

function strategyProblems(draft: Draft): Problems {
  const problems: Problems = {
    maxUnavailable: shareProblem(draft.maxUnavailable),
    maxInTrial: shareProblem(draft.maxInTrial),
    maxFailed: shareProblem(draft.maxFailed),
    progressDeadline: durationProblem(draft.progressDeadline),
    'drain.timeout': durationProblem(draft.drain.timeout),
    expiresAfter: draft.expiresAfter === '' ? undefined : durationProblem(draft.expiresAfter),
  };
  draft.waves.forEach(({ nodes, soak }, at) => {
    problems[`waves[${at}].nodes`] = shareProblem(nodes);
    problems[`waves[${at}].soak`] = soak === '' ? undefined : durationProblem(soak);
  });
  draft.windows.forEach(({ from, to, timeZone }, at) => {
    problems[`windows[${at}].from`] = timeProblem(from);
    problems[`windows[${at}].to`] = timeProblem(to);
    problems[`windows[${at}].timeZone`] = isTimeZone(timeZone) ? undefined : 'A time zone such as Europe/Berlin.';
  });
  return present(problems);
}

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en-US', { timeZone: name || 'UTC' });
    return true;
  } catch {
    return false;
  }
}

const shareValue = (text: string): number | string => (/^\d+$/.test(text) ? Number(text) : text);

/** The manifest. What is the default is left out; the overlay is as it was typed, with its comments. */
export function draftYaml(draft: Draft): string {
  const head = asYaml({ apiVersion: 'relet.dev/v1alpha1', kind: 'NodeConfigSet', metadata: { name: draft.name } });
  const unset = unsetPaths(draft);
  const hasFields = /^\s*[^\s#]/m.test(draft.overlay);
  const config = [
    ...(hasFields ? ['overlay:', ...indented(draft.overlay.trimEnd())] : ['overlay: {}']),
    ...(unset.length > 0 ? lines(asYaml({ unset })) : []),
  ];
  const selector = parsedSelector(draft);
  const rest = specRest(draft);
  const spec = [
    ...lines(asYaml({ selector })),
    'config:',
    ...config.map((line) => `  ${line}`),
    ...(Object.keys(rest).length > 0 ? lines(asYaml(rest)) : []),
  ];
  return `${head}spec:\n${spec.map((line) => `  ${line}`.trimEnd()).join('\n')}\n`;
}

const lines = (yaml: string): string[] => yaml.trimEnd().split('\n');
const indented = (text: string): string[] => text.split('\n').map((line) => `  ${line}`);

function parsedSelector({ selector }: Draft): object {
  try {
    return selectorObject(selector);
  } catch {
    return {};
  }
}

function specRest(draft: Draft): object {
  const { accept, updateNodes, expiresAfter, others } = draft;
  const strategy = strategyOf(draft);
  return {
    ...(accept.length > 0 && { accept }),
    ...(Object.keys(strategy).length > 0 && { strategy }),
    ...(updateNodes !== specDefaults.updateNodes && { updateNodes }),
    ...(expiresAfter !== '' && { expiresAfter }),
    ...others.spec,
  };
}

function strategyOf(draft: Draft): object {
  const waves = draft.waves.map(({ nodes, soak, approve }) => ({
    nodes: shareValue(nodes),
    ...(soak !== '' && { soak }),
    ...(approve && { approve }),
  }));
  const windows = draft.windows.map(({ days, from, to, timeZone }) => ({
    ...(days.length > 0 && { days }),
    from,
    to,
    ...(timeZone !== '' && timeZone !== 'UTC' && { timeZone }),
  }));
  const drain = Object.entries(draft.drain).filter(
    ([key, value]) => value !== strategyDefaults.drain[key as keyof typeof strategyDefaults.drain],
  );
  return {
    ...(!isSame(waves, strategyDefaults.waves) && { waves }),
    ...changed('maxUnavailable', shareValue(draft.maxUnavailable)),
    ...changed('maxInTrial', shareValue(draft.maxInTrial)),
    ...changed('maxFailed', shareValue(draft.maxFailed)),
    ...changed('onFailure', draft.onFailure),
    ...changed('progressDeadline', draft.progressDeadline),
    ...(drain.length > 0 && { drain: Object.fromEntries(drain) }),
    ...(windows.length > 0 && { windows }),
    ...draft.others.strategy,
  };
}

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);
const changed = (name: keyof typeof strategyDefaults, value: unknown): object =>
  isSame(value, strategyDefaults[name]) ? {} : { [name]: value };
