/** One set: where its rollout is, what it waits for and why, who is in trouble, and the buttons that steer it. */
import { useState } from 'preact/hooks';
import type { NamedNode } from '../../../api/node-config-set.js';
import type { SetDetails, SetVerb } from '../../wire.js';
import { apiPath } from '../api.js';
import { Ago } from '../parts/age.js';
import { Button, ButtonLink } from '../parts/button.js';
import { type Change, ConfirmChange } from '../parts/confirm.js';
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
import { completion, failedBefore, paceText, verbTexts, waitingWave } from './set-view.js';
import { SetState } from './sets-page.js';
import { Budgets, NodeLinks, Waves } from './waves.js';

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
          <Standing set={set} />
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

function Standing({ set }: { set: SetDetails }) {
  const { updated, total, percent } = completion(set);
  const failedNodes = failedBefore(set);
  const { inTrial, pending, failed, excluded } = set.nodes;
  const others = [
    [inTrial, 'in trial'],
    [pending, 'not active yet'],
    [failed, 'failed'],
    [excluded, 'excluded'],
  ] as const;
  const rest = others.flatMap(([count, what]) => (count > 0 ? [`${count} ${what}`] : []));
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
          ['Completion', [`${percent}%: ${updated} of ${total} nodes updated`, ...rest].join(', ')],
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
        <Button key={one.verb} kind={one.verb === 'approve' ? 'primary' : 'plain'} onClick={() => setVerb(one.verb)}>
          {verbTexts[one.verb].button}…
        </Button>
      ))}
      {action && <ConfirmChange change={changeFor(set, action)} onClose={() => setVerb(undefined)} onDone={onDone} />}
    </>
  );
}

function changeFor(set: SetDetails, { verb, command }: SetDetails['actions'][number]): Change {
  const { title, text, button, isDangerous, asksWhy } = verbTexts[verb];
  // What the person looked at: this click does nothing to another revision.
  const named = verb === 'pause' || verb === 'resume' ? {} : { revision: set.revision };
  return {
    title: title(set),
    text: text(set),
    command,
    path: apiPath('sets', set.name, verb),
    body: verb === 'approve' ? { ...named, wave: waitingWave(set) } : named,
    button,
    ...(isDangerous && { isDangerous }),
    ...(asksWhy && { asksWhy }),
  };
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
