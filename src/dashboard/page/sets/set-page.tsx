/** One set: the state of its rollout, why it waits, the nodes in trouble, and the buttons that control it. */
import type { NamedNode } from '../../../api/node-config-set.js';
import { byName } from '../../../natural-order.js';
import type { SetCommand, SetDetails, SetSummary, SetVerb } from '../../wire.js';
import { apiPath } from '../api.js';
import { Ago } from '../parts/age.js';
import { ButtonLink, WriteButton } from '../parts/button.js';
import { ConfirmChange, type ConfirmedChange } from '../parts/confirm.js';
import { CopyCommand } from '../parts/copy-command.js';
import { DataTable } from '../parts/data-table.js';
import { Facts } from '../parts/facts.js';
import { NodeLinks } from '../parts/node-links.js';
import { ErrorPanel, Loaded, PageTitle, Section } from '../parts/panels.js';
import { useResource } from '../resource.js';
import { link, place, setQuery } from '../router.js';
import { me } from '../session.js';
import { sets } from '../stream.js';
import { Analyses, AnalysisSoFar } from './analyses.js';
import { CopyText } from './copy-text.js';
import { ExpectedEnd } from './expected-end.js';
import { Failures } from './failures.js';
import { Revisions } from './revisions.js';
import { approveTexts, failedBefore, paceText, urgencyOf, verbTexts } from './set-view.js';
import { SetState } from './sets-page.js';
import { Budgets, Waves } from './waves.js';
import { WhatFollows } from './what-follows.js';

export function SetPage({ name }: { name: string }) {
  const summary = sets.value?.find((one) => one.name === name);
  // The stream has a summary of every set: when this one changes, there is more to read.
  const resource = useResource<SetDetails>(apiPath('sets', name), JSON.stringify(summary));
  const { data, failure } = resource;
  if (data === undefined)
    return (
      <>
        <PageTitle>{name}</PageTitle>
        {summary && <Known set={summary} />}
        {failure ? (
          <ErrorPanel failure={failure} retry={resource.reload} />
        ) : (
          <p class="loading" role="status">
            Loading…
          </p>
        )}
        <a href={link(['sets'])}>All sets</a>
      </>
    );
  return (
    <Loaded resource={resource}>
      {(set) => (
        <>
          <PageTitle actions={<Actions set={set} onDone={resource.reload} />}>{set.name}</PageTitle>
          <MainState set={set} failures={summary ?? set} />
          {set.waves.length > 0 && (
            <Section title="Waves">
              <Waves set={set} />
            </Section>
          )}
          <Analyses set={set} />
          {urgencyOf(set) !== undefined && (
            <Section title="Budgets">
              <Budgets set={set} />
            </Section>
          )}
          <NamedNodes title="Draining" nodes={set.status.draining} total={set.status.drainingNodes} />
          {set.nodes.failed > set.failures.length && (
            <NamedNodes title="Failed nodes" nodes={set.status.failedSamples} total={set.nodes.failed} />
          )}
          <NamedNodes title="Not changed for now" nodes={set.status.excluded} total={set.nodes.excluded} />
          <Section title="Revisions">
            <Revisions set={set} />
          </Section>
          <Steps set={set} />
          <Section
            title="Manifest"
            actions={
              <>
                <CopyText text={set.yaml} label="Copy YAML" />
                {me.value!.may.changeSets && (
                  <ButtonLink href={link(['sets', 'new'], { set: set.name })}>Edit</ButtonLink>
                )}
              </>
            }
          >
            <pre class="document">{set.yaml}</pre>
          </Section>
        </>
      )}
    </Loaded>
  );
}

/** State from the stream: it is there before the answer, and where there is none. */
const Known = ({ set }: { set: SetSummary }) => (
  <div class={`panel standing ${urgencyOf(set) ?? 'calm'}`}>
    <SetState set={set} />
    <Failures set={set} />
    {set.failures.length === 0 && set.assessment !== 'complete' && <p>{set.waiting || set.message}</p>}
    {set.completion !== '' && <p>{set.completion}</p>}
  </div>
);

/** `failures`: of the stream, which has the lines of the kubelets. */
function MainState({ set, failures }: { set: SetDetails; failures: SetSummary }) {
  const failedNodes = failedBefore(set);
  return (
    <div class={`panel standing ${urgencyOf(set) ?? 'calm'}`}>
      <SetState set={set} />
      <Failures set={failures} />
      <Facts
        facts={[
          [
            set.assessment === 'stopped' ? 'Because' : 'Waits for',
            set.assessment === 'stopped' ? set.reason !== 'Halted' && set.message : set.waiting,
          ],
          // The buttons say the same.
          ['Next', !set.actions.some(({ verb }) => /^(approve|resume|retry)$/.test(verb)) && set.next],
          ['Warning', warningOf(set)],
          ['Completion', set.completion],
          ['Pace', set.assessment === 'progressing' && paceText(set.nodesPerMinute)],
          [
            'Expected end',
            set.expectedEndAt > 0 && set.assessment === 'progressing' && <ExpectedEnd key="end" set={set} />,
          ],
          ['Failed on', failedNodes.length > 0 && <NodeLinks names={failedNodes} count={failedNodes.length} />],
          ['Started', set.startedAt > 0 && <Ago key="started" ms={set.startedAt} />],
          [
            'Revision',
            set.revision && (
              <>
                <code>{set.revision}</code> {set.summary}
              </>
            ),
          ],
          [
            'Applied from Git',
            set.fromGit && `${set.fromGit} applies this set: a pause or an edit here is undone by its next sync.`,
          ],
        ]}
      />
    </div>
  );
}

/** About the spec; the rollout does not wait for it. */
const warningOf = ({ status: { conditions = [] } }: SetDetails): string | undefined =>
  conditions.find(({ type, status }) => type === 'SelectorWarning' && status === 'True')?.message;

/** Only those that make sense now and are allowed: the server leaves out the others. */
function Actions({ set, onDone }: { set: SetDetails; onDone(): void }) {
  // In the address, so that the first page leads to a dialog.
  const verb = place.value.query.get('do');
  const action = set.actions.find((one) => one.verb === verb);
  const open = (to: SetVerb | undefined) => setQuery({ do: to });
  const toCorrect = urgencyOf(set) === 'halted' && me.value!.may.changeSets;
  return (
    <>
      {toCorrect && (
        <ButtonLink kind="primary" leadsToChange href={link(['sets', 'new'], { set: set.name })}>
          Correct
        </ButtonLink>
      )}
      {set.actions.map((one) => (
        <WriteButton
          key={one.verb}
          kind={one.verb === 'approve' || one.verb === 'resume' ? 'primary' : 'plain'}
          onClick={() => open(one.verb)}
        >
          {buttonOf(one.verb)}…
        </WriteButton>
      ))}
      {action && <ConfirmChange change={changeFor(set, action)} onClose={() => open(undefined)} onDone={onDone} />}
    </>
  );
}

const buttonOf = (verb: SetVerb): string => (verb === 'approve' ? approveTexts.button : verbTexts[verb].button);

function changeFor(set: SetDetails, action: SetCommand): ConfirmedChange {
  const { verb, command } = action;
  const common = { command, path: apiPath('sets', set.name, verb), button: buttonOf(verb) };
  // The revision on the screen: this click does nothing to another one.
  const named = { revision: set.revision };
  if (action.verb === 'approve')
    return {
      ...common,
      title: approveTexts.title(set, action.wave),
      text: approveTexts.text(set, action.follows),
      details: (
        <>
          <AnalysisSoFar set={set} />
          <WhatFollows set={set.name} revision={set.revision} wave={action.wave} />
        </>
      ),
      body: { ...named, wave: action.wave },
      asksWhy: true,
    };
  const { title, text, isDangerous } = verbTexts[action.verb];
  return {
    ...common,
    title: title(set),
    text: text(set),
    body: verb === 'pause' || verb === 'resume' ? {} : named,
    ...(isDangerous && { isDangerous }),
    asksWhy: true,
  };
}

/** Steps of the set: who, what, why, and how it ended. */
function Steps({ set: { steps } }: { set: SetDetails }) {
  if (steps.length === 0) return null;
  return (
    <Section title="Steps">
      <DataTable
        caption="Steps of the rollouts, newest first"
        rows={steps}
        rowKey={({ at, text }) => `${at} ${text}`}
        columns={[
          { title: 'When', cell: ({ at }) => <Ago ms={at} /> },
          { title: 'Step', cell: ({ text }) => text, isText: true },
        ]}
      />
    </Section>
  );
}

function NamedNodes({
  title,
  nodes = [],
  total = 0,
}: {
  title: string;
  nodes?: NamedNode[] | undefined;
  total?: number | undefined;
}) {
  if (nodes.length === 0) return null;
  return (
    <Section title={`${title}: ${Math.max(total, nodes.length)}`}>
      <DataTable
        caption={title}
        rows={[...nodes].sort(byName)}
        rowKey={({ name }) => name}
        columns={[
          { title: 'Node', cell: ({ name }) => <a href={link(['nodes', name])}>{name}</a> },
          { title: 'Reason', cell: ({ reason }) => <span class="reason">{reason}</span> },
          { title: 'Why', cell: ({ message }) => message, isText: true },
        ]}
      />
      {title === 'Failed nodes' && <CopyCommand command={`relet describe ${nodes[0]!.name}`} />}
    </Section>
  );
}
