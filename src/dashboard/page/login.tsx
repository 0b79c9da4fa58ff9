/**
 * The login page: a form for a token of the cluster, which the server keeps for this session only. Without the form behind an
 * authenticating proxy, which logs the user in.
 */
import { useState } from 'preact/hooks';
import type { ApiFailure } from './api.js';
import { Button } from './parts/button.js';
import { CopyCommand } from './parts/copy-command.js';
import { ErrorPanel } from './parts/panels.js';
import { asFailure } from './resource.js';
import { login, me, sessionFailure } from './session.js';

export function LoginPage() {
  const isProxy = me.value?.login === 'proxy' || sessionFailure.value?.reason.startsWith('Proxy');
  return isProxy ? <ProxyLogin /> : <TokenLogin />;
}

/** The proxy asks for the login when a page is loaded. */
function ProxyLogin() {
  const failure = sessionFailure.value;
  return (
    <main class="login">
      <h1 tabIndex={-1}>Log in again</h1>
      {failure?.reason === 'ProxyTokenRefused' ? (
        <ErrorPanel failure={failure} />
      ) : (
        <p>The proxy in front of this page logs you in. That login has ended.</p>
      )}
      <div class="buttons">
        <Button kind="primary" onClick={() => location.reload()}>
          Log in
        </Button>
      </div>
    </main>
  );
}

function TokenLogin() {
  const [token, setToken] = useState('');
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState<ApiFailure>();
  const shown = failure ?? sessionFailure.value;

  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setFailure(undefined);
    sessionFailure.value = undefined;
    try {
      await login(token.trim());
    } catch (error) {
      setFailure(asFailure(error));
    } finally {
      setBusy(false);
    }
  };

  return (
    <main class="login">
      <h1 tabIndex={-1}>Log in to relet</h1>
      <p>The dashboard acts as you: it shows what your token may read, and changes what it may change.</p>
      <form onSubmit={submit}>
        <label class="field">
          Bearer token of the cluster
          <textarea
            value={token}
            onInput={(event) => setToken(event.currentTarget.value)}
            required
            spellcheck={false}
            autocomplete="off"
            autocapitalize="none"
          />
        </label>
        {shown && <ErrorPanel failure={shown} />}
        <div class="buttons">
          <Button type="submit" kind="primary" isBusy={isBusy}>
            Log in
          </Button>
        </div>
      </form>
      <p class="hint">A token for a service account:</p>
      <CopyCommand command="kubectl create token NAME --namespace NAMESPACE" />
      <p class="hint">
        On the machine with your kubeconfig, <code>relet dashboard</code> prints a link that logs in once without a
        token, also beside <code>relet up</code>.
      </p>
    </main>
  );
}
