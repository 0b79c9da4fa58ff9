/**
 * Who is asking? A client certificate or a bearer token names the user; no credential at all is the anonymous user where
 * that is allowed. A credential that is wrong is refused even where anonymous requests are welcome.
 */
import type { Clock } from '../../../clock.js';
import type { User } from '../attributes.js';
import type { Authenticator } from '../handler.js';
import type { Exchange } from '../http/exchange.js';
import { judgeCertificate } from './client-certificate.js';
import { anonymousUser, authenticatedGroup, unauthenticatedGroup } from './well-known.js';

/** Knows some bearer tokens. Service-account tokens and static tokens are two of these. */
export interface TokenAuthenticator {
  /** undefined: not one of mine. Throws TokenRefused when the token is mine but may not be used. */
  authenticate(token: string, audiences: string[]): TokenIdentity | undefined;
}

export interface TokenIdentity {
  user: User;
  /** Those of the audiences asked for that the token is good for; absent where the authenticator knows none. */
  audiences?: string[];
}

export class TokenRefused extends Error {}

export interface AuthenticatorOptions {
  tokens: TokenAuthenticator[];
  /** Whether a request without credentials is the anonymous user. */
  anonymous: boolean;
  /** The audience of this server itself. */
  issuer: string;
  clock: Pick<Clock, 'now'>;
}

export class RequestAuthenticator implements Authenticator {
  constructor(private readonly options: AuthenticatorOptions) {}

  /** A good certificate goes before a token, a good token before a bad certificate. */
  authenticate(exchange: Pick<Exchange, 'header' | 'clientCertificate'>): User | undefined {
    const certificate = judgeCertificate(exchange.clientCertificate(), this.options.clock.now());
    if (certificate.kind === 'user') return authenticated(certificate.user);
    const token = bearerToken(exchange.header('authorization'));
    if (token !== undefined) {
      const identity = this.authenticateToken(token);
      return 'error' in identity ? undefined : identity.user;
    }
    return certificate.kind === 'none' && this.options.anonymous ? anonymousUser : undefined;
  }

  /** The user of a token, or why it is none: what a TokenReview answers. */
  authenticateToken(token: string, audiences: string[] = []): TokenIdentity | { error: string } {
    try {
      for (const authenticator of this.options.tokens) {
        const identity = authenticator.authenticate(token, audiences);
        if (identity === undefined) continue;
        // Tokens that name no audience are for this server alone.
        const own = identity.audiences ?? [this.options.issuer];
        if (identity.audiences === undefined && audiences.length > 0 && !audiences.includes(this.options.issuer))
          continue;
        return { user: authenticated(identity.user), audiences: own };
      }
    } catch (error) {
      if (!(error instanceof TokenRefused)) throw error;
      return { error: `[invalid bearer token, ${error.message}]` };
    }
    return { error: 'invalid bearer token' };
  }
}

/** The token of `Bearer TOKEN`; any other scheme, and an empty token, is no credential. */
export function bearerToken(authorization: string | undefined): string | undefined {
  const [scheme, token] = (authorization ?? '').trim().split(' ', 2);
  return scheme?.toLowerCase() === 'bearer' && token ? token : undefined;
}

function authenticated(user: User): User {
  const marked = user.groups.some((group) => group === authenticatedGroup || group === unauthenticatedGroup);
  return marked || user.name === anonymousUser.name ? user : { ...user, groups: [...user.groups, authenticatedGroup] };
}
