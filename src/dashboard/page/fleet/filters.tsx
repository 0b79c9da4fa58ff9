/** How many nodes are in which state, and the filters of the fleet: both change the query of the address. */
import type { Row } from '../../wire.js';
import { Button } from '../parts/button.js';
import { stateOrder } from '../parts/signs.js';
import { StateSign } from '../parts/state-badge.js';
import { setQuery } from '../router.js';
import {
  alwaysShown,
  type Choice,
  type Counts,
  choices,
  type FleetQuery,
  flags,
  groupings,
  none,
  overallStates,
  valuesOf,
} from './fleet-view.js';

const number = (value: number) => value.toLocaleString('en');

/** The answer in a few figures, each a filter. */
export function OverallStates({ counts, query }: { counts: Counts; query: FleetQuery }) {
  return (
    <fieldset class="overall-states">
      <legend class="visually-hidden">Nodes by overall state</legend>
      {overallStates
        .filter((state) => alwaysShown.includes(state) || counts.overall[state] > 0)
        .map((state) => (
          <Toggle key={state} name={state} query={query} count={counts.overall[state]}>
            <strong>{number(counts.overall[state])}</strong>
            <span>{state}</span>
          </Toggle>
        ))}
    </fieldset>
  );
}

function Toggle({
  name,
  query,
  count,
  children,
}: {
  name: string;
  query: FleetQuery;
  count: number;
  children: preact.ComponentChildren;
}) {
  const isOn = query.states.includes(name);
  const toggle = () => {
    const states = isOn ? query.states.filter((state) => state !== name) : [...query.states, name];
    setQuery({ state: states.join(',') });
  };
  return (
    <button type="button" class="toggle" aria-pressed={isOn} data-empty={count === 0} onClick={toggle}>
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
  const isFiltered = query.text !== '' || query.states.length > 0 || Object.keys(query.chosen).length > 0;
  return (
    // biome-ignore lint/a11y/useSemanticElements: <search> is not known to all browsers of these years
    <div class="filters" role="search" aria-label="Nodes">
      <div class="filter-row">
        <label>
          <span class="visually-hidden">Find nodes by name, config, set, zone, version or error</span>
          <input
            type="search"
            placeholder="Find nodes"
            value={text}
            onInput={(event) => setQuery({ q: event.currentTarget.value })}
          />
        </label>
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
        {stateOrder.map((state) => (
          <Toggle key={state} name={state} query={query} count={counts.states[state]}>
            <StateSign state={state} />
            {state} <b>{number(counts.states[state])}</b>
          </Toggle>
        ))}
        {flags.map((flag) => (
          <Toggle key={flag} name={flag} query={query} count={counts.flags[flag]}>
            {flag} <b>{number(counts.flags[flag])}</b>
          </Toggle>
        ))}
      </fieldset>
    </div>
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
