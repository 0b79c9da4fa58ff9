/** Step 2: the overlay, in an editor that is loaded on demand, and its possible impact. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { SetImpact } from '../../../api/node-config-set.js';
import type { TextFinding } from '../editor/check-text.js';
import type { Editor } from '../editor/editor.js';
import { unsetPaths } from './draft.js';
import { change, draft, overlayErrors } from './draft-store.js';
import { Check, TextField } from './field.js';
import { useSelection } from './nodes-step.js';

const impacts: [SetImpact, string][] = [
  ['Drain', 'Drain: running pods may not survive the change'],
  ['StateFile', 'StateFile: a state file of the kubelet has to be removed'],
  ['Reboot', 'Reboot: the host has to be restarted'],
  ['DaemonReload', 'DaemonReload: systemd has to read the unit again'],
];

export function ConfigStep({ problem }: { problem: string | undefined }) {
  const { data: selection } = useSelection(false);
  const [findings, setFindings] = useState<TextFinding[]>([]);
  const keep = (found: TextFinding[]) => {
    setFindings(found);
    overlayErrors.value = found.filter(({ severity }) => severity === 'error').length;
  };
  const versions = Object.keys(selection?.kubelets ?? {}).join(' ');
  const { unset, accept } = draft.value;
  return (
    <>
      <p class="hint">
        Fields of a KubeletConfiguration; each node keeps its local config for all others. Ctrl-Space completes, Tab
        leaves the editor. {versions && `Checked for kubelet ${versions.replaceAll(' ', ', ')}.`}
      </p>
      <EditorFrame versions={versions} onFindings={keep} />
      <Findings findings={findings} problem={problem} />
      <TextField
        label="Back to the kubelet's default"
        field="unset"
        value={unset}
        isCode
        example="clusterDomain, evictionHard[memory.available]"
        hint="Fields of the local config that are removed."
        onChange={(value) => change({ unset: value })}
      />
      <fieldset>
        <legend>
          What the change may need beyond a kubelet restart <code class="muted">accept</code>
        </legend>
        {impacts.map(([impact, label]) => (
          <Check
            key={impact}
            label={label}
            isOn={accept.includes(impact)}
            onChange={(isOn) => change({ accept: isOn ? [...accept, impact] : accept.filter((one) => one !== impact) })}
          />
        ))}
      </fieldset>
    </>
  );
}

function Findings({ findings, problem }: { findings: TextFinding[]; problem: string | undefined }) {
  return (
    <ul class="findings" aria-live="polite" aria-label="Findings">
      {findings.length === 0 && <li class="hint">{problem ?? 'No findings.'}</li>}
      {findings.map(({ severity, line, message }, at) => (
        <li key={`${at} ${message}`} class={severity}>
          <strong>{severity}</strong>
          {line !== undefined && ` line ${line}`}: {message}
        </li>
      ))}
    </ul>
  );
}

interface FrameProps {
  /** Versions of the selected kubelets, separated by spaces: a value, so that a new answer of the same is not a change. */
  versions: string;
  onFindings(findings: TextFinding[]): void;
}

function EditorFrame({ versions, onFindings }: FrameProps) {
  const frame = useRef<HTMLDivElement>(null);
  const editor = useRef<Editor>(undefined);
  const [isLoaded, setLoaded] = useState(false);
  const { unset } = draft.value;
  const options = () => ({ minors: minorsOf(versions), unset: unsetPaths(draft.value) });
  useEffect(() => {
    let isGone = false;
    void import('../editor/editor.js').then(({ openEditor }) => {
      if (isGone) return;
      editor.current = openEditor({
        parent: frame.current!,
        text: draft.value.overlay,
        ...options(),
        onChange: (overlay) => change({ overlay }),
        onFindings,
      });
      setLoaded(true);
    });
    return () => {
      isGone = true;
      editor.current?.close();
    };
  }, []);
  useEffect(() => editor.current?.update(options()), [versions, unset, isLoaded]);
  return (
    <>
      {!isLoaded && (
        <p class="loading" role="status">
          Loading the editor…
        </p>
      )}
      <div ref={frame} class="editor" />
    </>
  );
}

/** The newest that relet knows where no node is selected: it is bounded by the tables anyway. */
function minorsOf(versions: string): number[] {
  const found = [...versions.matchAll(/v?1\.(\d+)/g)].map(([, minor]) => Number(minor));
  return found.length === 0 ? [37] : [...new Set(found)].sort((a, b) => a - b);
}
