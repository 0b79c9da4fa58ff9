/** Sets fields of one node: entered as on the command line, previewed by a dry run of relet, then changed. */
import { useState } from 'preact/hooks';
import { impacts } from '../../../api/node-annotations.js';
import type { NodeDetails } from '../../wire.js';
import { type ApiFailure, apiPath } from '../api.js';
import { Button, WriteButton } from '../parts/button.js';
import { lastLine, runAction, withWhy } from '../parts/confirm.js';
import { CopyCommand } from '../parts/copy-command.js';
import { Dialog } from '../parts/dialog.js';
import { notify } from '../parts/notices.js';
import { ErrorPanel } from '../parts/panels.js';
import { asFailure } from '../resource.js';
import { fieldsOf, setCommand } from './set-command.js';

export function SetFields({ node, onClose, onDone }: { node: NodeDetails; onClose(): void; onDone(): void }) {
  const { name, set, taken } = node.row;
  const [text, setText] = useState('');
  const [accept, setAccept] = useState<string[]>([]);
  const [takeFromSet, setTake] = useState(false);
  const [why, setWhy] = useState('');
  const [preview, setPreview] = useState<string>();
  const [failure, setFailure] = useState<ApiFailure>();
  const [isBusy, setBusy] = useState(false);
  const fields = fieldsOf(text);

  const run = async (dryRun: boolean) => {
    setBusy(true);
    setFailure(undefined);
    setPreview(undefined);
    try {
      const body = { fields, ...(accept.length > 0 && { accept }), takeFromSet, ...(why && { why }), dryRun };
      const { output } = await runAction(apiPath('nodes', name, 'set'), body);
      if (dryRun) return setPreview(output);
      notify('done', lastLine(output) || `${name} is assigned the new config.`);
      onDone();
      onClose();
    } catch (error) {
      setFailure(asFailure(error));
    } finally {
      setBusy(false);
    }
  };

  return (
    <Dialog title={`Set fields: ${name}`} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void run(preview === undefined);
        }}
      >
        <label class="field">
          Fields, one FIELD=VALUE a line
          <textarea
            rows={4}
            value={text}
            spellcheck={false}
            placeholder="such as maxPods=150"
            required
            onInput={(event) => {
              setText(event.currentTarget.value);
              setPreview(undefined);
            }}
          />
        </label>
        <fieldset class="checks">
          <legend>Accept more than a kubelet restart</legend>
          {impacts.map((impact) => (
            <Check
              key={impact}
              label={impact}
              isOn={accept.includes(impact)}
              onChange={(isOn) => setAccept(isOn ? [...accept, impact] : accept.filter((one) => one !== impact))}
            />
          ))}
        </fieldset>
        {set !== '' && !taken && (
          <Check
            label={`Take it from the set ${set}, which then leaves it out`}
            isOn={takeFromSet}
            onChange={setTake}
          />
        )}
        <label class="field">
          Reason, kept in the history (optional)
          <input value={why} maxLength={200} onInput={(event) => setWhy(event.currentTarget.value)} />
        </label>
        <p class="hint">The same in a terminal:</p>
        <CopyCommand command={withWhy(setCommand(name, { fields, accept, takeFromSet }), why)} />
        {preview !== undefined && <pre class="log">{preview}</pre>}
        {failure && <ErrorPanel failure={failure} />}
        <div class="buttons">
          <Button onClick={onClose}>Cancel</Button>
          <WriteButton type="submit" kind={preview === undefined ? 'plain' : 'primary'} isBusy={isBusy}>
            {isBusy ? 'Working…' : preview === undefined ? 'Preview' : 'Set fields'}
          </WriteButton>
        </div>
      </form>
    </Dialog>
  );
}

function Check({ label, isOn, onChange }: { label: string; isOn: boolean; onChange(isOn: boolean): void }) {
  return (
    <label class="check">
      <input type="checkbox" checked={isOn} onChange={(event) => onChange(event.currentTarget.checked)} />
      {label}
    </label>
  );
}
