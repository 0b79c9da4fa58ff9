/** Step 3: waves, budgets, failures, drains and windows as a form. */
import type { Day } from '../../../api/node-config-set.js';
import { Button } from '../parts/button.js';
import type { Problems, WaveDraft, WindowDraft } from './draft.js';
import { change, draft } from './draft-store.js';
import { Check, Choice, TextField } from './field.js';

const days: Day[] = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'];

const replaced = <T,>(list: readonly T[], at: number, value: T): T[] =>
  list.map((one, index) => (index === at ? value : one));

export function StrategyStep({ problems }: { problems: Problems }) {
  const { waves, windows, drain, onFailure, updateNodes } = draft.value;
  const text = (
    label: string,
    field: 'maxUnavailable' | 'maxInTrial' | 'maxFailed' | 'progressDeadline' | 'expiresAfter',
    hint: string,
  ) => (
    <TextField
      label={label}
      field={field}
      value={draft.value[field]}
      hint={hint}
      problem={problems[field]}
      onChange={(value) => change({ [field]: value })}
    />
  );
  return (
    <>
      <fieldset>
        <legend>Waves</legend>
        <p class="hint">
          Each number or percentage counts the nodes of all waves before it. After the last one come all others.
        </p>
        {waves.map((wave, at) => (
          <WaveRow key={`wave ${at + 1}`} wave={wave} at={at} problems={problems} />
        ))}
        <Button onClick={() => change({ waves: [...waves, { nodes: '100%', soak: '', approve: false }] })}>
          Add a wave
        </Button>
      </fieldset>
      <fieldset class="columns">
        <legend>Budgets</legend>
        {text('Unavailable at once', 'maxUnavailable', 'NotReady, cordoned, or not yet active.')}
        {text('In trial at once', 'maxInTrial', 'Assigned, trial not passed yet.')}
        {text('May fail', 'maxFailed', 'Before the next field applies.')}
        <Choice
          label="When more fail"
          field="onFailure"
          value={onFailure}
          choices={[
            ['Halt', 'Halt: change no further node'],
            ['Rollback', 'Rollback: return those that have it'],
          ]}
          onChange={(value) => change({ onFailure: value })}
        />
        {text('A node is silent after', 'progressDeadline', 'Then it counts as failed.')}
        {text('Take the change back after', 'expiresAfter', 'Empty: never.')}
      </fieldset>
      <fieldset class="columns">
        <legend>Drain</legend>
        <Choice
          label="Drain a node"
          field="drain.policy"
          value={drain.policy}
          choices={[
            ['WhenNeeded', 'WhenNeeded: if the change needs it'],
            ['Always', 'Always: before every change'],
            ['Never', 'Never: somebody else does'],
          ]}
          onChange={(policy) => change({ drain: { ...drain, policy } })}
        />
        <TextField
          label="Give up after"
          field="drain.timeout"
          value={drain.timeout}
          problem={problems['drain.timeout']}
          onChange={(timeout) => change({ drain: { ...drain, timeout } })}
        />
        <Choice
          label="A node that cannot be drained"
          field="drain.onUndrainable"
          value={drain.onUndrainable}
          choices={[
            ['Skip', 'Skip it'],
            ['Halt', 'Halt the rollout'],
          ]}
          onChange={(onUndrainable) => change({ drain: { ...drain, onUndrainable } })}
        />
        <Choice
          label="Pods without a controller"
          field="drain.unmanagedPods"
          value={drain.unmanagedPods}
          choices={[
            ['Block', 'Block the drain'],
            ['Evict', 'Evict them: they do not come back'],
          ]}
          onChange={(unmanagedPods) => change({ drain: { ...drain, unmanagedPods } })}
        />
      </fieldset>
      <fieldset>
        <legend>Nodes</legend>
        <Choice
          label="Which of the selected nodes"
          field="updateNodes"
          value={updateNodes}
          choices={[
            ['All', 'All'],
            ['New', 'New: only those that join from now on'],
            ['Selected', 'Selected: with the label relet.dev/update'],
          ]}
          onChange={(value) => change({ updateNodes: value })}
        />
      </fieldset>
      <fieldset>
        <legend>Windows</legend>
        <p class="hint">Without one, nodes may be changed at any time.</p>
        {windows.map((window, at) => (
          <WindowRow key={`window ${at + 1}`} window={window} at={at} problems={problems} />
        ))}
        <Button
          onClick={() => change({ windows: [...windows, { days: [], from: '22:00', to: '04:00', timeZone: 'UTC' }] })}
        >
          Add a window
        </Button>
      </fieldset>
    </>
  );
}

function WaveRow({ wave, at, problems }: { wave: WaveDraft; at: number; problems: Problems }) {
  const { waves } = draft.value;
  const set = (changes: Partial<WaveDraft>) => change({ waves: replaced(waves, at, { ...wave, ...changes }) });
  const number = `Wave ${at + 1}`;
  return (
    <fieldset class="row" aria-label={number}>
      <TextField
        label={`${number}: nodes`}
        value={wave.nodes}
        problem={problems[`waves[${at}].nodes`]}
        onChange={(nodes) => set({ nodes })}
      />
      <TextField
        label="Then soak"
        value={wave.soak}
        hint="Such as 10m; empty: no soak."
        problem={problems[`waves[${at}].soak`]}
        onChange={(soak) => set({ soak })}
      />
      <Check label="Then wait for approval" isOn={wave.approve} onChange={(approve) => set({ approve })} />
      {waves.length > 1 && (
        <Button
          kind="quiet"
          aria-label={`Remove wave ${at + 1}`}
          onClick={() => change({ waves: waves.filter((_, index) => index !== at) })}
        >
          Remove
        </Button>
      )}
    </fieldset>
  );
}

function WindowRow({ window, at, problems }: { window: WindowDraft; at: number; problems: Problems }) {
  const { windows } = draft.value;
  const set = (changes: Partial<WindowDraft>) => change({ windows: replaced(windows, at, { ...window, ...changes }) });
  return (
    <fieldset class="row" aria-label={`Window ${at + 1}`}>
      <TextField
        label="From"
        value={window.from}
        problem={problems[`windows[${at}].from`]}
        onChange={(from) => set({ from })}
      />
      <TextField label="To" value={window.to} problem={problems[`windows[${at}].to`]} onChange={(to) => set({ to })} />
      <TextField
        label="Time zone"
        value={window.timeZone}
        problem={problems[`windows[${at}].timeZone`]}
        onChange={(timeZone) => set({ timeZone })}
      />
      <fieldset class="days" aria-label="Days on which it begins; none: every day">
        {days.map((day) => (
          <Check
            key={day}
            label={day}
            isOn={window.days.includes(day)}
            onChange={(isOn) => set({ days: days.filter((one) => (one === day ? isOn : window.days.includes(one))) })}
          />
        ))}
      </fieldset>
      <Button
        kind="quiet"
        aria-label={`Remove window ${at + 1}`}
        onClick={() => change({ windows: windows.filter((_, index) => index !== at) })}
      >
        Remove
      </Button>
    </fieldset>
  );
}
