/** Step 1: the name of the set and its node selector, with the number and names of the selected nodes while the user types. */
import { useEffect, useState } from 'preact/hooks';
import { byNaturalOrder } from '../../../natural-order.js';
import type { LabelKey, Selection } from '../../wire.js';
import { Button } from '../parts/button.js';
import { NodeLinks } from '../parts/node-links.js';
import { ErrorPanel } from '../parts/panels.js';
import { useResource } from '../resource.js';
import { sets } from '../stream.js';
import { baseOf, type Problems } from './draft.js';
import { change, draft } from './draft-store.js';
import { Check, TextField } from './field.js';

/** Nodes that the selector selects now; undefined while it is not valid. */
export function useSelection(hasProblem: boolean) {
  const { selector, allNodes } = draft.value;
  const [asked, setAsked] = useState(selector);
  useEffect(() => {
    const timer = setTimeout(() => setAsked(selector), 250);
    return () => clearTimeout(timer);
  }, [selector]);
  const isAsked = !hasProblem && (asked.trim() !== '' || allNodes);
  return useResource<Selection>(isAsked ? `select?selector=${encodeURIComponent(asked)}` : undefined);
}

function nameHint(): string {
  if (baseOf(draft.value)) return 'Starting changes this set. With another name, a new one is created.';
  return sets.value?.some(({ name }) => name === draft.value.name)
    ? 'A set of this name exists: choose another name, or open Edit on its page.'
    : 'The name of the NodeConfigSet.';
}

export function NodesStep({ problems }: { problems: Problems }) {
  const { name, selector, allNodes } = draft.value;
  const { data, failure } = useSelection(problems.selector !== undefined);
  return (
    <>
      <TextField
        label="Name"
        value={name}
        example="gpu"
        problem={name === '' ? undefined : problems.name}
        hint={nameHint()}
        onChange={(value) => change({ name: value })}
      />
      <TextField
        label="Nodes with these labels"
        field="selector"
        value={selector}
        isCode
        example="pool=gpu"
        problem={selector === '' ? undefined : problems.selector}
        hint="As in kubectl -l: pool=gpu, zone in (a,b), !old"
        onChange={(value) => change({ selector: value })}
      />
      {selector.trim() === '' && (
        <Check label="All nodes of the cluster" isOn={allNodes} onChange={(isOn) => change({ allNodes: isOn })} />
      )}
      <LabelSuggestions />
      <div class="panel" aria-live="polite">
        {failure && <ErrorPanel failure={failure} />}
        {data === undefined ? <p class="muted">The selected nodes are shown here.</p> : <Selected selection={data} />}
      </div>
    </>
  );
}

function Selected({ selection: { count, names, kubelets, sets: others } }: { selection: Selection }) {
  if (count === 0)
    return (
      <p>
        <strong>No node has these labels.</strong> The set will roll out as soon as one has.
      </p>
    );
  const taken = Object.entries(others).filter(([set]) => set !== '' && set !== draft.value.name);
  return (
    <>
      <p>
        <strong>
          {count} {count === 1 ? 'node' : 'nodes'}
        </strong>
        , kubelet{' '}
        {Object.entries(kubelets)
          .map(([version, of]) => `${version} (${of})`)
          .join(', ')}
      </p>
      {taken.length > 0 && (
        <p class="problem">
          {taken.map(([set, of]) => `${of} ${of === 1 ? 'belongs' : 'belong'} to the set ${set}`).join(', ')}; this set
          will not change them.
        </p>
      )}
      <NodeLinks names={names} count={count} />
    </>
  );
}

/** The labels that nodes have, to be added with a click; the most useful ones have few values. */
function LabelSuggestions() {
  const { data } = useResource<LabelKey[]>('labels');
  const usual = (data ?? [])
    .filter(({ values }) => values.length > 0 && values.length <= 8)
    .sort((a, b) => rank(a.key) - rank(b.key) || byNaturalOrder(a.key, b.key))
    .slice(0, 8);
  if (usual.length === 0) return null;
  const add = (key: string, value: string) => {
    const { selector } = draft.value;
    const term = value === '' ? key : `${key}=${value}`;
    const kept = selector.split(/,(?![^(]*\))/).filter((one) => one.trim() !== '' && !one.trim().startsWith(`${key}=`));
    change({ selector: [...kept.map((one) => one.trim()), term].join(',') });
  };
  return (
    <details class="labels">
      <summary>Labels of the nodes</summary>
      <ul>
        {usual.map(({ key, values }) => (
          <li key={key}>
            <code>{key}</code>
            {values.map(({ value, nodes }) => (
              <Button key={value} onClick={() => add(key, value)} aria-label={`Select ${key}=${value}, ${nodes} nodes`}>
                {value || '(empty)'} <span class="muted">{nodes}</span>
              </Button>
            ))}
          </li>
        ))}
      </ul>
    </details>
  );
}

/** Labels that people gave come before those of Kubernetes. */
const rank = (key: string): number => (/(^|\.)(kubernetes|k8s)\.io\//.test(key) ? 1 : 0);
