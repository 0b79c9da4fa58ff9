/**
 * The `oidc` auth provider of a kubeconfig: its id-token is the bearer token. It is not refreshed here: a refresh token may
 * be valid once, and using it is up to the tool that owns the file. kubectl writes the new one into the kubeconfig, which is
 * then read again.
 */
import type { UserEntry } from './kubeconfig.js';
import { KubeconfigError } from './kubeconfig.js';

// A token may not expire while the request is sent.
const leewayMs = 10_000;

export function oidcToken(provider: NonNullable<UserEntry['auth-provider']>, userName: string, now: number): string {
  if (provider.name !== 'oidc')
    throw new KubeconfigError(
      `user "${userName}": auth-provider "${provider.name}" was removed from Kubernetes clients in 1.26; use its exec plugin`,
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

/** The `exp` claim in milliseconds; undefined when the token has no readable one. */
function expiry(token: string): number | undefined {
  try {
    const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'));
    return typeof claims.exp === 'number' ? claims.exp * 1000 : undefined;
  } catch {
    return undefined;
  }
}
