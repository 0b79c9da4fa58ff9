/** A set, step by step: nodes, config, strategy, preview, start. Each step has a link; the draft survives a reload. */
import { useEffect, useState } from 'preact/hooks';
import type { SetDetails } from '../../wire.js';
import { apiPath, get } from '../api.js';
import { Button, ButtonLink } from '../parts/button.js';
import { notify } from '../parts/notices.js';
import { EmptyPanel, PageTitle } from '../parts/panels.js';
import { asFailure } from '../resource.js';
import { link, navigate, place } from '../router.js';
import { me } from '../session.js';
import { ConfigStep } from './config-step.js';
import { CopyText } from './copy-text.js';
import { baseOf, draftYaml, firstBadStep, problemsIn, type Step, steps } from './draft.js';
import { change, draft, forget, overlayErrors } from './draft-store.js';
import { NodesStep } from './nodes-step.js';
import { PreviewStep } from './preview-step.js';
import { Rehearsal } from './rehearsal.js';
import { StartStep } from './start-step.js';
import { StrategyStep } from './strategy-step.js';

const titles: Record<Step, string> = {
  nodes: 'Nodes',
  config: 'Config',
  strategy: 'Strategy',
  preview: 'Preview',
  start: 'Start',
};

const stepLink = (step: Step): string => link(['sets', 'new'], { step });

export function NewSetPage() {
  const edited = place.value.query.get('set');
  const [isOpening, setOpening] = useState(edited !== null);
  useEffect(() => {
    if (edited === null) return;
    void openSet(edited).finally(() => setOpening(false));
  }, [edited]);
  const { createSets, changeSets } = me.value!.may;
  if (!createSets && !changeSets)
    return (
      <>
        <PageTitle>New set</PageTitle>
        <EmptyPanel title="You may not write sets.">
          <p>It takes the permission to create or patch nodeconfigsets, as the role relet:set-author has.</p>
        </EmptyPanel>
      </>
    );
  if (isOpening)
    return (
      <p class="loading" role="status">
        Loading…
      </p>
    );
  return <Wizard />;
}

/** Replaces the draft with the set in the cluster. */
async function openSet(name: string): Promise<void> {
  try {
    const [{ draftOf }, { yaml, uid, generation }] = await Promise.all([
      import('./read-manifest.js'),
      get<SetDetails>(apiPath('sets', name)),
    ]);
    const found = draftOf(yaml);
    if (found === undefined) {
      notify('failed', `The config of ${name} is not an overlay; edit its manifest with kubectl.`);
      return navigate(link(['sets', name]));
    }
    change({ ...found, base: { name, uid, generation } });
    navigate(stepLink('config'), { replace: true });
  } catch (error) {
    notify('failed', asFailure(error).message);
    navigate(link(['sets']));
  }
}

function Wizard() {
  const { query } = place.value;
  const step = steps.find((one) => one === query.get('step')) ?? 'nodes';
  const problems = problemsIn(draft.value, step);
  const yaml = draftYaml(draft.value);
  const bad = firstBadStep(draft.value);
  const isBlocked = (step === 'preview' || step === 'start') && bad !== undefined;
  return (
    <>
      <PageTitle
        actions={
          <Button
            kind="quiet"
            onClick={() => {
              forget();
              navigate(stepLink('nodes'));
            }}
          >
            Discard the draft
          </Button>
        }
      >
        {draft.value.name === '' ? 'New set' : `Set ${draft.value.name}`}
      </PageTitle>
      <Steps step={step} />
      <div class="wizard">
        <div class="step">
          {isBlocked ? (
            <EmptyPanel title={`First complete the step ${titles[bad]}.`}>
              <ButtonLink href={stepLink(bad)}>To {titles[bad]}</ButtonLink>
            </EmptyPanel>
          ) : (
            <StepBody step={step} problems={problems} yaml={yaml} />
          )}
          <Neighbours step={step} />
        </div>
        {step !== 'start' && (
          <aside aria-label="The resulting YAML">
            <header>
              <h2>YAML</h2>
              <CopyText text={yaml} label="Copy" />
            </header>
            <pre class="document">{yaml}</pre>
          </aside>
        )}
      </div>
    </>
  );
}

function StepBody({ step, problems, yaml }: { step: Step; problems: ReturnType<typeof problemsIn>; yaml: string }) {
  switch (step) {
    case 'nodes':
      return <NodesStep problems={problems} />;
    case 'config':
      return <ConfigStep problem={problems.overlay} />;
    case 'strategy':
      return <StrategyStep problems={problems} />;
    case 'preview':
      return (
        <>
          <PreviewStep yaml={yaml} base={baseOf(draft.value)} />
          <Rehearsal yaml={yaml} />
        </>
      );
    case 'start':
      return <StartStep name={draft.value.name} yaml={yaml} base={baseOf(draft.value)} />;
  }
}

function Steps({ step }: { step: Step }) {
  return (
    <nav aria-label="Steps">
      <ol class="steps">
        {steps.map((one, at) => {
          const isComplete = steps.indexOf(step) > at && !hasProblem(one);
          return (
            <li key={one}>
              <a href={stepLink(one)} aria-current={one === step ? 'step' : undefined}>
                <span class="number">{isComplete ? '✓' : at + 1}</span> {titles[one]}
              </a>
            </li>
          );
        })}
      </ol>
    </nav>
  );
}

const hasProblem = (step: Step): boolean =>
  Object.keys(problemsIn(draft.value, step)).length > 0 || (step === 'config' && overlayErrors.value > 0);

function Neighbours({ step }: { step: Step }) {
  const at = steps.indexOf(step);
  const [before, after] = [steps[at - 1], steps[at + 1]];
  return (
    <div class="buttons neighbours">
      {before && <ButtonLink href={stepLink(before)}>Back</ButtonLink>}
      {after && (
        <Button kind="primary" disabled={hasProblem(step)} onClick={() => navigate(stepLink(after))}>
          Next: {titles[after]}
        </Button>
      )}
    </div>
  );
}
