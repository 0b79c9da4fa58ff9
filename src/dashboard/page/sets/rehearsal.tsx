/**
 * A rehearsal of the rollout, started from the page: the server runs `relet rollout rehearse` with copies of the selected nodes in a
 * simulated cluster, and sends its progress and its timeline. Nothing in the cluster is changed. It can be cancelled.
 */
import { useEffect, useRef, useState } from 'preact/hooks';
import { shortDuration } from '../../../go/short-duration.js';
import type { RehearsalLine, RehearseRequest } from '../../wire.js';
import { ApiFailure, postRaw } from '../api.js';
import { Button } from '../parts/button.js';
import { CopyCommand } from '../parts/copy-command.js';
import { DataTable } from '../parts/data-table.js';
import { Facts } from '../parts/facts.js';
import { ErrorPanel, Section } from '../parts/panels.js';
import { StateSign } from '../parts/state-badge.js';
import { asFailure } from '../resource.js';
import { TextField } from './field.js';
import { areas, layers, progressText, type RehearsalResult, splitLines } from './rehearsal-view.js';
import { inWords } from './set-view.js';

interface Run {
  command?: string;
  progress?: string;
  result?: RehearsalResult;
  failure?: ApiFailure;
  isRunning: boolean;
}

export function Rehearsal({ yaml }: { yaml: string }) {
  const [fail, setFail] = useState('');
  const [run, setRun] = useState<Run>({ isRunning: false });
  const stop = useRef<AbortController>(undefined);
  const cancel = () => stop.current?.abort();
  useEffect(() => cancel, [yaml]);

  const start = async () => {
    cancel();
    const own = new AbortController();
    stop.current = own;
    setRun({ isRunning: true });
    const add = (changes: Partial<Run>) => {
      if (stop.current === own) setRun((before) => ({ ...before, ...changes }));
    };
    try {
      const request: RehearseRequest = { yaml, ...(fail !== '' && { flags: { fail } }) };
      await readLines(await postRaw('sets/rehearse', request, own.signal), (line) => {
        if (line.kind === 'started') add({ command: line.command });
        if (line.kind === 'progress') add({ progress: progressText(line.text) });
        if (line.kind === 'result') add({ result: line.result as RehearsalResult });
        if (line.kind === 'problem') add({ failure: problemFailure(line.problem) });
      });
    } catch (error) {
      if (own.signal.aborted) add({ progress: 'Cancelled.' });
      else add({ failure: asFailure(error) });
    }
    add({ isRunning: false });
  };

  return (
    <Section title="Rehearsal">
      <p class="hint">
        Rolls this set out in a simulated cluster with copies of the selected nodes. Nothing in the real one is changed.
      </p>
      <div class="row">
        <TextField
          label="Nodes that fail"
          value={fail}
          example="5%"
          hint="A number or percentage; empty: none."
          onChange={setFail}
        />
        {run.isRunning ? (
          <Button onClick={cancel}>Cancel</Button>
        ) : (
          <Button onClick={start}>{run.result ? 'Rehearse again' : 'Rehearse'}</Button>
        )}
      </div>
      <div role="status">{run.progress && <p class="muted">{run.progress}</p>}</div>
      {run.failure && <ErrorPanel failure={run.failure} />}
      {run.result && <Timeline result={run.result} />}
      {run.command && <CopyCommand command={run.command} />}
    </Section>
  );
}

const problemFailure = ({ reason, message, remedy, command }: Extract<RehearsalLine, { kind: 'problem' }>['problem']) =>
  new ApiFailure(0, reason, message, remedy, command);

/** The longest line is the result; a server that sends more than this is not ours. */
const mostCharacters = 16_000_000;

async function readLines(answer: Response, onLine: (line: RehearsalLine) => void): Promise<void> {
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  for (;;) {
    const { value, done } = await reader.read();
    text += value ?? '';
    const { lines, rest } = splitLines(done ? `${text}\n` : text);
    text = rest;
    for (const line of lines) onLine(JSON.parse(line) as RehearsalLine);
    if (done) return;
    if (text.length > mostCharacters) throw new Error('The answer of the rehearsal is too long.');
  }
}

const [width, height] = [800, 160];
const mostEvents = 200;

function Timeline({ result }: { result: RehearsalResult }) {
  const { timeline, events, outcome, reason, message, durationSeconds, nodes, budgets } = result;
  const paths = areas(timeline, width, height);
  const took = shortDuration(durationSeconds * 1000);
  const summary = `${nodes.updated} of ${nodes.selected} nodes updated, ${nodes.failed} failed, after ${took}`;
  const most = (['unavailable', 'inTrial', 'failed'] as const).flatMap((name) => {
    const budget = budgets[name];
    return budget === undefined ? [] : [`${budget.most} of ${budget.allowed} ${inWords(name)}`];
  });
  return (
    <>
      <Facts
        facts={[
          [
            'Outcome',
            <span key="outcome" class="state">
              <StateSign state={outcome === 'complete' ? 'active' : outcome === 'stopped' ? 'rejected' : 'waiting'} />
              {outcome}
              {outcome !== 'complete' && reason && `: ${inWords(reason)}`}
            </span>,
          ],
          ['Because', outcome !== 'complete' && message],
          ['Result', summary],
          ['At most at once', most.join(', ')],
        ]}
      />
      {durationSeconds > 0 && (
        <figure class="timeline">
          <svg viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" role="img" aria-label={summary}>
            {layers.map((layer) => (
              <path key={layer} class={layer} d={paths[layer]} />
            ))}
          </svg>
          <figcaption class="legend">
            <span class="key updated">updated</span>
            <span class="key trial">in trial</span>
            <span class="key failed">failed</span>
            <span>0s to {shortDuration((timeline.at(-1)?.seconds ?? 0) * 1000)}</span>
          </figcaption>
        </figure>
      )}
      {result.rejections.map(({ nodes: names, kubeletVersion, message: why }) => (
        <p key={`${kubeletVersion} ${why}`} class="problem">
          Rejected by {names.length} {names.length === 1 ? 'node' : 'nodes'} with kubelet {kubeletVersion}: {why}
        </p>
      ))}
      {result.assumptions.length > 0 && (
        <ul class="hint notes">
          {result.assumptions.map((text) => (
            <li key={text}>{text}</li>
          ))}
        </ul>
      )}
      {events.length > 0 && (
        <details>
          <summary>
            {events.length} {events.length === 1 ? 'event' : 'events'}
          </summary>
          <DataTable
            caption="Events of the rehearsal"
            rows={events.slice(0, mostEvents).map((event, at) => ({ ...event, at }))}
            rowKey={({ at }) => at}
            columns={[
              { title: 'After', cell: ({ seconds }) => shortDuration(seconds * 1000) },
              { title: 'Event', cell: ({ text }) => text, isText: true },
            ]}
          />
        </details>
      )}
    </>
  );
}
