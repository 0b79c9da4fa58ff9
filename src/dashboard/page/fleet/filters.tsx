/** The number of nodes in each state, and the filters of the fleet. Both change the query of the URL. */
import { useState } from 'preact/hooks';
import type { Row } from '../../wire.js';
import { Button } from '../parts/button.js';
import { stateOrder } from '../parts/signs.js';
import { StateSign } from '../parts/state-badge.js';
import { setQuery } from '../router.js';
import { columnTitles, hiddenColumns, optionalColumns, showColumn } from './columns.js';
import {
  alwaysShown,
  type Choice,
  type Counts,
  choices,
  type FleetQuery,
  flags,
  groupings,
  none,
  type OverallState,
  overallStates,
  valuesOf,
} from './fleet-view.js';

const number = (value: number) => value.toLocaleString('en');

/** The key `/` leads to this field. */
export const searchId = 'find-nodes';

/** The answer in a few figures, each a filter. */
export function OverallStates({ counts, query }: { counts: Counts; query: FleetQuery }) {
  return (
    <fieldset class="overall-states">
      <legend class="visually-hidden">Nodes by overall state</legend>
      {overallStates
        .filter((state) => alwaysShown.includes(state) || counts.overall[state] > 0)
        .map((state) => (
          <Toggle key={state} name={state} query={query} count={counts.overall[state]} tone={tones[state]}>
            <strong>{number(counts.overall[state])}</strong>
            <span>{state}</span>
          </Toggle>
        ))}
    </fieldset>
  );
}

/** Only where there are such nodes. */
const tones: Partial<Record<OverallState, 'bad' | 'doubtful'>> = {
  'in trouble': 'bad',
  'not ready': 'doubtful',
  silent: 'doubtful',
  'no agent': 'doubtful',
};

function Toggle({
  name,
  query,
  count,
  tone = '',
  children,
}: {
  name: string;
  query: FleetQuery;
  count: number;
  tone?: string | undefined;
  children: preact.ComponentChildren;
}) {
  const isOn = query.states.includes(name);
  const toggle = () => {
    const states = isOn ? query.states.filter((state) => state !== name) : [...query.states, name];
    setQuery({ state: states.join(',') });
  };
  return (
    <button
      type="button"
      class={`toggle ${count > 0 ? tone : ''}`}
      aria-pressed={isOn}
      data-empty={count === 0}
      onClick={toggle}
    >
      {children}
    </button>
  );
}

const choiceTitles: Record<Choice, string> = { set: 'Set', zone: 'Zone', config: 'Config', kubelet: 'Kubelet' };

export function Filters({
  counts,
  query,
  rows,
  text,
}: {
  counts: Counts;
  query: FleetQuery;
  rows: readonly Row[];
  text: string;
}) {
  const [isOpen, setOpen] = useState(false);
  const isFiltered = query.text !== '' || query.states.length > 0 || Object.keys(query.chosen).length > 0;
  // A filter without nodes would only take room; one that is on can be turned off.
  const isWorthIt = (name: string, count: number) => count > 0 || query.states.includes(name);
  return (
    // biome-ignore lint/a11y/useSemanticElements: <search> is not known to all browsers of these years
    <div class={isOpen ? 'filters is-open' : 'filters'} role="search" aria-label="Nodes">
      <div class="filter-row">
        <label>
          <span class="visually-hidden">Find nodes by name, config, set, zone, version or error</span>
          <input
            type="search"
            id={searchId}
            placeholder="Find nodes"
            value={text}
            onInput={(event) => setQuery({ q: event.currentTarget.value })}
          />
        </label>
        <button
          type="button"
          class="button only-narrow"
          aria-expanded={isOpen}
          onClick={() => setOpen((before) => !before)}
        >
          Filters
        </button>
        {choices.map((by) => (
          <Select
            key={by}
            title={choiceTitles[by]}
            value={query.chosen[by] ?? ''}
            onChange={(value) => setQuery({ [by]: value })}
          >
            <option value="">all</option>
            {valuesOf(rows, by).map((value) => (
              <option key={value} value={value}>
                {value === none ? 'none' : value}
              </option>
            ))}
          </Select>
        ))}
        <Select title="Group by" value={query.group} onChange={(value) => setQuery({ group: value })}>
          {groupings.map((group) => (
            <option key={group} value={group}>
              {group}
            </option>
          ))}
        </Select>
        <ColumnsChoice />
        {isFiltered && (
          <Button
            kind="quiet"
            onClick={() => setQuery({ q: '', state: '', set: '', zone: '', config: '', kubelet: '' })}
          >
            Clear filters
          </Button>
        )}
      </div>
      <fieldset class="states">
        <legend class="visually-hidden">Nodes by state</legend>
        {stateOrder
          .filter((state) => isWorthIt(state, counts.states[state]))
          .map((state) => (
            <Toggle key={state} name={state} query={query} count={counts.states[state]}>
              <StateSign state={state} />
              {state} <b>{number(counts.states[state])}</b>
            </Toggle>
          ))}
        {flags
          .filter((flag) => isWorthIt(flag, counts.flags[flag]))
          .map((flag) => (
            <Toggle key={flag} name={flag} query={query} count={counts.flags[flag]}>
              {flag} <b>{number(counts.flags[flag])}</b>
            </Toggle>
          ))}
      </fieldset>
    </div>
  );
}

/** Columns of the table; the choice is kept in this browser. */
function ColumnsChoice() {
  return (
    <details class="columns-choice">
      <summary>Columns</summary>
      <div>
        {optionalColumns.map((name) => (
          <label key={name} class="check">
            <input
              type="checkbox"
              checked={!hiddenColumns.value.includes(name)}
              onChange={(event) => showColumn(name, event.currentTarget.checked)}
            />
            {columnTitles[name]}
          </label>
        ))}
      </div>
    </details>
  );
}

interface SelectProps {
  title: string;
  value: string;
  onChange(value: string): void;
  children: preact.ComponentChildren;
}

function Select({ title, value, onChange, children }: SelectProps) {
  return (
    <label class="choice">
      <span>{title}</span>
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {children}
      </select>
    </label>
  );
}
