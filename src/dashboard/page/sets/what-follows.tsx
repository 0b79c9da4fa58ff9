/** Before an approval: the nodes that change until the rollout stops again, how they change, and with which impact. */
import { useEffect, useState } from 'preact/hooks';
import type { ActionResult, ApprovalPreview } from '../../wire.js';
import { type ApiFailure, post } from '../api.js';
import { ErrorPanel } from '../parts/panels.js';
import { asFailure } from '../resource.js';
import { Differences } from './differences.js';
import { NodeLinks } from './waves.js';

/** `path`: of the verb, which also answers a dry run. */
export function WhatFollows({ path, revision, wave }: { path: string; revision: string; wave: number }) {
  const [found, setFound] = useState<ApprovalPreview>();
  const [failure, setFailure] = useState<ApiFailure>();
  useEffect(() => {
    const stop = new AbortController();
    post<ActionResult>(path, { revision, wave, dryRun: true }, stop.signal).then(
      ({ result }) => setFound((result as { approval?: ApprovalPreview } | undefined)?.approval),
      (error: unknown) => {
        if (!stop.signal.aborted) setFailure(asFailure(error));
      },
    );
    return () => stop.abort();
  }, [path, revision, wave]);
  if (failure) return <ErrorPanel failure={failure} />;
  if (found === undefined)
    return (
      <p class="loading" role="status">
        Reading the nodes and the difference…
      </p>
    );
  return (
    <>
      {found.waves.map(({ wave: number, count, nodes = [] }) => (
        <p key={number}>
          <strong>Wave {number}:</strong> <NodeLinks names={nodes.slice(0, 20)} total={count} />
        </p>
      ))}
      <Differences nodes={found.nodes} />
    </>
  );
}
