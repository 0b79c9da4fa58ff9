/** Step 5: the whole manifest, to start it here or to copy it for Git. */
import { useState } from 'preact/hooks';
import type { SetBase } from '../../wire.js';
import type { ApiFailure } from '../api.js';
import { WriteButton } from '../parts/button.js';
import { runAction } from '../parts/confirm.js';
import { CopyCommand } from '../parts/copy-command.js';
import { notify } from '../parts/notices.js';
import { ErrorPanel } from '../parts/panels.js';
import { asFailure } from '../resource.js';
import { link, navigate } from '../router.js';
import { me } from '../session.js';
import { CopyText } from './copy-text.js';
import { forget, overlayErrors } from './draft-store.js';

export function StartStep({ name, yaml, base }: { name: string; yaml: string; base: SetBase | undefined }) {
  const { createSets, changeSets } = me.value!.may;
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState<ApiFailure>();
  const start = async () => {
    setBusy(true);
    setFailure(undefined);
    try {
      const { output } = await runAction('sets', { yaml, base });
      notify('done', output.trim() || `The set ${name} was written; its rollout starts.`);
      forget();
      navigate(link(['sets', name]));
    } catch (error) {
      setFailure(asFailure(error));
      setBusy(false);
    }
  };
  return (
    <>
      <p>
        {base ? 'Starting replaces the spec of this NodeConfigSet' : 'Starting creates this NodeConfigSet'}; the
        controller then rolls it out, also while this page is closed. A set in Git is applied from there: copy it
        instead.
      </p>
      {overlayErrors.value > 0 && (
        <div class="panel error" role="alert">
          <p>
            <strong>
              The config has {overlayErrors.value === 1 ? 'an error' : `${overlayErrors.value} errors`}; no node would
              be changed.
            </strong>{' '}
            <a href={link(['sets', 'new'], { step: 'config' })}>Correct it</a>
          </p>
        </div>
      )}
      <pre class="document">{yaml}</pre>
      <p class="hint">
        {base
          ? 'In a terminal, the same set is edited with:'
          : `The same in a terminal, with the manifest in ${name}.yaml:`}
      </p>
      <CopyCommand command={base ? `kubectl edit nodeconfigset ${name}` : `kubectl create -f ${name}.yaml`} />
      {failure && <ErrorPanel failure={failure} />}
      <div class="buttons">
        <CopyText text={yaml} label="Copy YAML for Git" />
        {(base ? changeSets : createSets) && (
          <WriteButton kind="primary" isBusy={isBusy} onClick={start}>
            {isBusy ? 'Working…' : 'Start the rollout'}
          </WriteButton>
        )}
      </div>
    </>
  );
}
