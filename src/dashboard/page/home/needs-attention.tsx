/** The first section of the home page: what needs a person, or one line if nothing does. */
import { useComputed } from '@preact/signals';
import type { SetSummary } from '../../wire.js';
import { isLoaded, rowsByName, rowsVersion } from '../fleet/fleet-store.js';
import { Age, Ago } from '../parts/age.js';
import { ButtonLink } from '../parts/button.js';
import { NodeLinks } from '../parts/node-links.js';
import { StateSign } from '../parts/state-badge.js';
import { link } from '../router.js';
import { me } from '../session.js';
import { ExpectedEnd } from '../sets/expected-end.js';
import { Failures } from '../sets/failures.js';
import { budgetText, headline, signOf, type Urgency } from '../sets/set-view.js';
import { SetProgress } from '../sets/sets-page.js';
import { NextNodes } from '../sets/what-follows.js';
import { connection, sets } from '../stream.js';
import { type Attention, attentionOf, isCalm, type NodeGroup, type Rollouts } from './attention.js';

export function NeedsAttention() {
  const attention = useComputed(() => {
    rowsVersion.value;
    return attentionOf(sets.value ?? [], rowsByName());
  });
  const { may } = me.value!;
  if (!isLoaded.value || (may.seeSets && sets.value === undefined)) return null;
  const { rollouts, nodes, moreReasons } = attention.value;
  if (isCalm(attention.value)) return <Calm attention={attention.value} />;
  return (
    <section class="attention" aria-label="What needs attention">
      {rollouts.map((group) => (
        <RolloutCards key={group.urgency} group={group} />
      ))}
      {nodes.map((group) => (
        <NodesLine key={`${group.kind} ${group.reason}`} group={group} />
      ))}
      {moreReasons > 0 && (
        <p>
          <a href={link([], { state: 'in trouble', sort: 'error' })}>{moreReasons} more reasons</a>
        </p>
      )}
    </section>
  );
}

/** Old data shows nothing about now, which the banner says. */
function Calm({ attention: { lastEnd, others } }: { attention: Attention }) {
  const { seeFleet, seeSets } = me.value!.may;
  if (!seeFleet || connection.value.kind !== 'live' || rowsByName().length === 0) return null;
  return (
    <p class="calm">
      <StateSign state="active" /> Nothing needs you: {seeSets && 'no rollout is under way, and '}no node is in trouble
      {others.map(({ state, count }) => (
        <span key={state}>
          ,{' '}
          <a href={link([], { state })}>
            {count.toLocaleString('en')} {state}
          </a>
        </span>
      ))}
      .
      {lastEnd && (
        <>
          {' '}
          The last rollout, of <a href={link(['sets', lastEnd.set])}>{lastEnd.set}</a>, ended <Ago ms={lastEnd.at} />.
        </>
      )}
    </p>
  );
}

function RolloutCards({ group: { urgency, shown, more } }: { group: Rollouts }) {
  return (
    <>
      {shown.map((set) => (
        <article key={set.name} class={`card ${urgency}`}>
          <header>
            <h2>
              <StateSign state={signOf(set)} /> <a href={link(['sets', set.name])}>{set.name}</a> {headline(set)}
              <Since set={set} />
            </h2>
            <div class="actions">
              <Steps set={set} urgency={urgency} />
            </div>
          </header>
          <Details set={set} urgency={urgency} />
        </article>
      ))}
      {more > 0 && (
        <p>
          <a href={link(['sets'])}>
            {more} more {more === 1 ? 'set' : 'sets'}
          </a>{' '}
          {urgency === 'halted' ? 'stopped' : urgency === 'waiting' ? 'waiting for a person' : 'rolling out'}
        </p>
      )}
    </>
  );
}

function Since({ set: { since, assessment } }: { set: SetSummary }) {
  if (since === 0) return null;
  return (
    <span class="since">
      {assessment === 'stopped' ? (
        <Ago ms={since} />
      ) : (
        <>
          for <Age ms={since} />
        </>
      )}
    </span>
  );
}

/** Each opens the page of the set with the dialog, which shows what would happen. */
function Steps({ set: { name, reason }, urgency }: { set: SetSummary; urgency: Urgency }) {
  const { may } = me.value!;
  const step = (text: string, path: string[], query: Record<string, string>, kind: 'primary' | 'plain' = 'plain') => (
    <ButtonLink kind={kind} leadsToChange href={link(['sets', ...path], query)}>
      {text}
    </ButtonLink>
  );
  if (urgency === 'halted')
    return (
      <>
        {may.changeSets && step('Correct', ['new'], { set: name }, 'primary')}
        {may.steerSets && step('Retry…', [name], { do: 'retry' })}
        {may.steerSets && step('Undo…', [name], { do: 'undo' })}
      </>
    );
  if (reason === 'AwaitingApproval' && may.steerSets) return step('Approve…', [name], { do: 'approve' }, 'primary');
  if (reason === 'Paused' && may.changeSets) return step('Resume…', [name], { do: 'resume' }, 'primary');
  if (urgency === 'running' && may.changeSets) return step('Pause…', [name], { do: 'pause' });
  return null;
}

function Details({ set, urgency }: { set: SetSummary; urgency: Urgency }) {
  const { name, revision, summary, approval, reason, message, waiting } = set;
  return (
    <>
      {urgency === 'halted' && reason !== 'Halted' && <p>{message}</p>}
      <Failures set={set} />
      {summary !== '' && (
        <p>
          Revision <code>{revision}</code> {summary}.
        </p>
      )}
      {approval && <p>{approval.follows}</p>}
      {approval && me.value!.may.steerSets && <NextNodes set={name} revision={revision} wave={approval.wave} />}
      {urgency === 'running' && waiting !== '' && <p>{asSentence(waiting)}</p>}
      {urgency !== 'halted' && (
        <div class="progress-line">
          <SetProgress set={set} />
          <span>{budgetText(set)}</span>
          {urgency === 'running' && (
            <span>
              {set.expectedEndAt > 0 ? (
                <>
                  Expected end <ExpectedEnd set={set} />
                </>
              ) : (
                'Expected end not known yet'
              )}
            </span>
          )}
        </div>
      )}
    </>
  );
}

const asSentence = (clause: string): string => `${clause[0]!.toUpperCase()}${clause.slice(1)}.`;

const groupTexts: Record<NodeGroup['kind'], { one: string; many: string; hint: string; sign: string }> = {
  'in trouble': { one: 'node is in trouble', many: 'nodes are in trouble', hint: '', sign: 'rejected' },
  silent: {
    one: 'node is silent',
    many: 'nodes are silent',
    hint: 'The agent has stopped reporting; what runs there now is not known.',
    sign: 'silent',
  },
  'no agent': {
    one: 'node has no agent',
    many: 'nodes have no agent',
    hint: 'No agent has ever reported; what runs there is not known, and no set changes it.',
    sign: 'no agent',
  },
  'not ready': {
    one: 'node is not ready',
    many: 'nodes are not ready',
    hint: 'Sets leave such a node out until it is ready.',
    sign: 'waiting',
  },
};

function NodesLine({ group: { kind, reason, count, names } }: { group: NodeGroup }) {
  const { one, many, hint, sign } = groupTexts[kind];
  return (
    <article class={`card nodes ${kind === 'in trouble' ? 'halted' : 'waiting'}`}>
      <h2>
        <StateSign state={sign} />{' '}
        <a href={link([], { state: kind, q: reason })}>
          {count.toLocaleString('en')} {count === 1 ? one : many}
        </a>
        {reason !== '' && `: ${reason}`}
      </h2>
      <p>
        <NodeLinks names={names} count={count} />
        {hint !== '' && <span class="muted">. {hint}</span>}
      </p>
    </article>
  );
}
