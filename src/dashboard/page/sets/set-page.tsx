/** One set: where its rollout is, what it waits for and why, who is in trouble, and the buttons that steer it. */
import { useState } from 'preact/hooks';
import type { NamedNode } from '../../../api/node-config-set.js';
import type { SetCommand, SetDetails, SetVerb } from '../../wire.js';
import { apiPath } from '../api.js';
import { Ago } from '../parts/age.js';
import { ButtonLink, WriteButton } from '../parts/button.js';
import { ConfirmChange, type ConfirmedChange } from '../parts/confirm.js';
import { CopyCommand } from '../parts/copy-command.js';
import { DataTable } from '../parts/data-table.js';
import { Facts } from '../parts/facts.js';
import { ErrorPanel, Loaded, PageTitle, Section } from '../parts/panels.js';
import { useResource } from '../resource.js';
import { link } from '../router.js';
import { me } from '../session.js';
import { sets } from '../stream.js';
import { CopyText } from './copy-text.js';
import { ExpectedEnd } from './expected-end.js';
import { Revisions } from './revisions.js';
import { approveTexts, failedBefore, paceText, verbTexts } from './set-view.js';
import { SetState } from './sets-page.js';
import { Budgets, NodeLinks, Waves } from './waves.js';
import { WhatFollows } from './what-follows.js';

export function SetPage({ name }: { name: string }) {
  const summary = sets.value?.find((one) => one.name === name);
  // The stream has a summary of every set: when this one changes, there is more to read.
  const resource = useResource<SetDetails>(apiPath('sets', name), JSON.stringify(summary));
  const { data, failure } = resource;
  if (data === undefined && failure !== undefined)
    return (
      <>
        <PageTitle>{name}</PageTitle>
        <ErrorPanel failure={failure} retry={resource.reload} />
        <a href={link(['sets'])}>All sets</a>
      </>
    );
  return (
    <Loaded resource={resource}>
      {(set) => (
        <>
          <PageTitle actions={<Actions set={set} onDone={resource.reload} />}>{set.name}</PageTitle>
          <MainState set={set} />
          {set.waves.length > 0 && (
            <Section title="Waves">
              <Waves set={set} />
            </Section>
          )}
          <Section title="Budgets">
            <Budgets set={set} />
          </Section>
          <NamedNodes title="Draining" nodes={set.status.draining} total={set.status.drainingNodes} />
          <NamedNodes title="Failed nodes" nodes={set.status.failedSamples} total={set.nodes.failed} />
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

function MainState({ set }: { set: SetDetails }) {
  const failedNodes = failedBefore(set);
  return (
    <div class="panel standing">
      <Facts
        facts={[
          ['State', <SetState key="state" set={set} />],
          [
            set.assessment === 'stopped' ? 'Because' : 'Waits for',
            set.assessment === 'stopped' ? set.message : set.waiting,
          ],
          ['Next', set.next],
          ['Warning', warningOf(set)],
          ['Completion', set.completion],
          ['Pace', set.assessment === 'progressing' && paceText(set.nodesPerMinute)],
          [
            'Expected end',
            set.expectedEndAt > 0 && set.assessment === 'progressing' && <ExpectedEnd key="end" set={set} />,
          ],
          ['Failed on', failedNodes.length > 0 && <NodeLinks names={failedNodes} total={failedNodes.length} />],
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
  const [verb, setVerb] = useState<SetVerb>();
  const action = set.actions.find((one) => one.verb === verb);
  return (
    <>
      {set.actions.map((one) => (
        <WriteButton
          key={one.verb}
          kind={one.verb === 'approve' ? 'primary' : 'plain'}
          onClick={() => setVerb(one.verb)}
        >
          {buttonOf(one.verb)}…
        </WriteButton>
      ))}
      {action && <ConfirmChange change={changeFor(set, action)} onClose={() => setVerb(undefined)} onDone={onDone} />}
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
      details: <WhatFollows path={common.path} revision={set.revision} wave={action.wave} />,
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
        rows={nodes}
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
