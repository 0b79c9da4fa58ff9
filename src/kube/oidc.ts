/**
 * The `oidc` auth provider of a kubeconfig: its id-token is the bearer token. We do not refresh it ourselves: a refresh
 * token may be good for one use, and only the tool that owns the file may spend it. kubectl writes the new one into the
 * kubeconfig, which we then read.
 */
import type { UserEntry } from './kubeconfig.js';
import { KubeconfigError } from './kubeconfig.js';

// A token that expires while the request travels is of no use.
const leewayMs = 10_000;

export function oidcToken(provider: NonNullable<UserEntry['auth-provider']>, userName: string, now: number): string {
  if (provider.name !== 'oidc')
    throw new KubeconfigError(
      `user "${userName}": auth-provider "${provider.name}" is gone from Kubernetes clients since 1.26; use its exec plugin`,
    );
  const token = provider.config?.['id-token'];
  if (!token) throw new KubeconfigError(`user "${userName}": auth-provider oidc has no id-token; log in first`);
  const expiresAt = expiry(token);
  if (expiresAt !== undefined && expiresAt - leewayMs <= now)
    throw new KubeconfigError(
      `user "${userName}": the id-token expired at ${new Date(expiresAt).toISOString()}; ` +
        (provider.config?.['refresh-token']
          ? 'any kubectl command with this context refreshes it'
          : 'log in again (it has no refresh-token)'),
    );
  return token;
}

/** The `exp` claim in milliseconds; undefined where the token carries none that we can read. */
function expiry(token: string): number | undefined {
  try {
    const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'));
    return typeof claims.exp === 'number' ? claims.exp * 1000 : undefined;
  } catch {
    return undefined;
  }
}
