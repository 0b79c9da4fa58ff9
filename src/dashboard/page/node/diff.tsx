/** The diff of any two configs of a node. The pair is in the address. */
import type { ConfigDiff, ConfigName } from '../../wire.js';
import { apiPath } from '../api.js';
import { ConfigDiffView } from '../parts/config-diff.js';
import { Loaded, Section } from '../parts/panels.js';
import { useResource } from '../resource.js';
import { place, setQuery } from '../router.js';
import { configNames, configTitles } from './config-names.js';

export function DiffSection({ name, version }: { name: string; version: unknown }) {
  const from = place.value.query.get('from') ?? 'lastKnownGood';
  const to = place.value.query.get('to') ?? 'assigned';
  const query = new URLSearchParams({ from, to });
  const diff = useResource<ConfigDiff>(`${apiPath('nodes', name, 'diff')}?${query}`, version);
  const choice = (
    <>
      <Choice title="from" value={from} onChange={(value) => setQuery({ from: value })} />
      <Choice title="to" value={to} onChange={(value) => setQuery({ to: value })} />
    </>
  );
  return (
    <Section title="Difference" actions={choice}>
      <Loaded resource={diff}>{(data) => <ConfigDiffView diff={data} />}</Loaded>
    </Section>
  );
}

function Choice({ title, value, onChange }: { title: string; value: string; onChange(value: ConfigName): void }) {
  return (
    <label class="choice">
      <span>{title}</span>
      <select value={value} onChange={(event) => onChange(event.currentTarget.value as ConfigName)}>
        {configNames.map((name) => (
          <option key={name} value={name}>
            {configTitles[name].toLowerCase()}
          </option>
        ))}
      </select>
    </label>
  );
}
