/**
 * Authenticates requests: a client certificate or a bearer token gives the user; a request without either is the
 * anonymous user where that is allowed. A wrong credential is rejected even where anonymous requests are allowed.
 */
import type { Clock } from '../../../clock.js';
import type { User } from '../../../memory-api/attributes.js';
import type { Authenticator } from '../handler.js';
import type { PeerExchange } from '../http/peer-exchange.js';
import { anonymousUser, authenticatedGroup, unauthenticatedGroup } from '../well-known.js';
import { checkCertificate } from './client-certificate.js';

/** Authenticates one kind of bearer tokens: those of service accounts, or static ones. */
export interface TokenAuthenticator {
  /** Undefined: a token of another kind. Throws TokenRejected when it is of this kind and not valid. */
  authenticate(token: string, audiences: string[]): TokenIdentity | undefined;
}

export interface TokenIdentity {
  user: User;
  /** The requested audiences for which the token is valid; absent where the authenticator has no audiences. */
  audiences?: string[];
}

export class TokenRejected extends Error {}

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

  /** A valid certificate takes precedence over a token, a valid token over an invalid certificate. */
  authenticate(exchange: Pick<PeerExchange, 'header' | 'clientCertificate'>): User | undefined {
    const certificate = checkCertificate(exchange.clientCertificate(), this.options.clock.now());
    if (certificate.kind === 'user') return authenticated(certificate.user);
    const token = bearerToken(exchange.header('authorization'));
    if (token !== undefined) {
      const identity = this.authenticateToken(token);
      return 'error' in identity ? undefined : identity.user;
    }
    return certificate.kind === 'none' && this.options.anonymous ? anonymousUser : undefined;
  }

  /** The user of a token, or the error: the answer of a TokenReview. */
  authenticateToken(token: string, audiences: string[] = []): TokenIdentity | { error: string } {
    try {
      for (const authenticator of this.options.tokens) {
        const identity = authenticator.authenticate(token, audiences);
        if (identity === undefined) continue;
        // Tokens without audiences are valid for this server only.
        const own = identity.audiences ?? [this.options.issuer];
        if (identity.audiences === undefined && audiences.length > 0 && !audiences.includes(this.options.issuer))
          continue;
        return { user: authenticated(identity.user), audiences: own };
      }
    } catch (error) {
      if (!(error instanceof TokenRejected)) throw error;
      return { error: `[invalid bearer token, ${error.message}]` };
    }
    return { error: 'invalid bearer token' };
  }
}

/** The token of `Bearer TOKEN`; any other scheme, and an empty token, does not count as a credential. */
export function bearerToken(authorization: string | undefined): string | undefined {
  const [scheme, token] = (authorization ?? '').trim().split(' ', 2);
  return scheme?.toLowerCase() === 'bearer' && token ? token : undefined;
}

function authenticated(user: User): User {
  const marked = user.groups.some((group) => group === authenticatedGroup || group === unauthenticatedGroup);
  return marked || user.name === anonymousUser.name ? user : { ...user, groups: [...user.groups, authenticatedGroup] };
}
