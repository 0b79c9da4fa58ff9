/** Preview of an approval: the nodes that change until the rollout stops again, their differences, and the impact. */
import { useEffect, useState } from 'preact/hooks';
import type { ActionResult, ApprovalPreview } from '../../wire.js';
import { type ApiFailure, apiPath, post } from '../api.js';
import { NodeLinks } from '../parts/node-links.js';
import { ErrorPanel } from '../parts/panels.js';
import { asFailure } from '../resource.js';
import { Differences } from './differences.js';
import { Drains, Rejections } from './plan-parts.js';

interface Props {
  set: string;
  revision: string;
  wave: number;
}

/** A dry run of the approval, by relet itself. */
function useApprovalPreview({ set, revision, wave }: Props) {
  const [found, setFound] = useState<ApprovalPreview>();
  const [failure, setFailure] = useState<ApiFailure>();
  useEffect(() => {
    const stop = new AbortController();
    post<ActionResult>(apiPath('sets', set, 'approve'), { revision, wave, dryRun: true }, stop.signal).then(
      ({ result }) => setFound((result as { approval?: ApprovalPreview } | undefined)?.approval),
      (error: unknown) => {
        if (!stop.signal.aborted) setFailure(asFailure(error));
      },
    );
    return () => stop.abort();
  }, [set, revision, wave]);
  return { found, failure };
}

export function WhatFollows(props: Props) {
  const { found, failure } = useApprovalPreview(props);
  if (failure) return <ErrorPanel failure={failure} />;
  if (found === undefined) return <Reading>Reading the nodes and the difference…</Reading>;
  return (
    <>
      {found.stalled && (
        <div class="panel error" role="alert">
          <p>
            <strong>The rollout would stop again: {found.stalled.message}</strong>{' '}
            <span class="reason">{found.stalled.reason}</span>
          </p>
        </div>
      )}
      <WaveNames found={found} most={20} />
      <Signers found={found} />
      <Rejections {...found} />
      <Drains drains={found.drains} />
      <Differences nodes={found.nodes} />
    </>
  );
}

/** Only the names, for a page with more than this. */
export function NextNodes(props: Props) {
  const { found, failure } = useApprovalPreview(props);
  if (failure) return <p class="muted">The next nodes are not known: {failure.message}</p>;
  return found === undefined ? <Reading>Reading the next nodes…</Reading> : <WaveNames found={found} most={8} />;
}

const Reading = ({ children }: { children: string }) => (
  <p class="loading" role="status">
    {children}
  </p>
);

/** The keys behind a config that is about to be approved. */
const Signers = ({ found: { signed } }: { found: ApprovalPreview }) =>
  signed && (
    <p>
      <strong>Signed:</strong> {signed.keys.length === 0 ? 'no valid signature' : `by ${signed.keys.join(', ')}`}
      {signed.signers && `, which hosts know as ${signed.signers.join(', ')}`}; {signed.statement}
    </p>
  );

const WaveNames = ({ found, most }: { found: ApprovalPreview; most: number }) => (
  <>
    {found.waves.map(({ wave, count, nodes = [] }) => (
      <p key={wave}>
        <strong>Wave {wave}:</strong> <NodeLinks names={nodes.slice(0, most)} count={count} />
      </p>
    ))}
  </>
);
