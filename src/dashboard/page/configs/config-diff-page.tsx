/** Two configs compared by meaning, as a kubelet of the fleet reads them. The pair is in the address. */
import type { ConfigDiff } from '../../wire.js';
import { ConfigDiffView } from '../parts/config-diff.js';
import { EmptyPanel, Loaded, PageTitle } from '../parts/panels.js';
import { useResource } from '../resource.js';
import { link, place } from '../router.js';

export function ConfigDiffPage() {
  const [a, b] = [place.value.query.get('a'), place.value.query.get('b')];
  const diff = useResource<ConfigDiff>(a && b ? `configs/diff?${new URLSearchParams({ a, b })}` : undefined);
  if (!a || !b)
    return (
      <>
        <PageTitle>Compare configs</PageTitle>
        <EmptyPanel title="Choose two configs to compare.">
          <a href={link(['configs'])}>To the configs</a>
        </EmptyPanel>
      </>
    );
  return (
    <>
      <PageTitle>
        {shortName(a)} → {shortName(b)}
      </PageTitle>
      <Loaded resource={diff}>{(data) => <ConfigDiffView diff={data} />}</Loaded>
    </>
  );
}

/** `web-5t8b9` from `relet-system/web-5t8b9`. */
const shortName = (id: string): string => id.split('/')[1] ?? id;
