/**
 * Tokens of service accounts: issues them and checks their claims. A token names its account, and the pod
 * or node it is bound to, by uid: it becomes invalid when one of them is deleted.
 */
import type { KubeObject } from '../../../api/object.js';
import type { Clock } from '../../../clock.js';
import type { Objects } from '../../../memory-api/admission/rejection.js';
import type { User } from '../../../memory-api/attributes.js';
import type { Random } from '../../../random.js';
import { serviceAccountGroups, serviceAccountUserName } from '../well-known.js';
import { type TokenAuthenticator, type TokenIdentity, TokenRejected } from './authenticate.js';
import { TokenSigner } from './json-web-token.js';

export interface Ref {
  name: string;
  uid?: string;
}

/** The private part of the claims, under `kubernetes.io`. */
interface Bound {
  namespace: string;
  serviceaccount: Ref;
  pod?: Ref;
  node?: Ref;
}

interface PublicClaims {
  iss: string;
  sub: string;
  aud: string[];
  iat: number;
  nbf: number;
  exp: number;
  jti: string;
}

export interface Grant extends Bound {
  audiences: string[];
  seconds: number;
}

export interface ServiceAccountTokensOptions {
  signer: TokenSigner;
  issuer: string;
  objects: Objects;
  clock: Pick<Clock, 'now'>;
  random: Pick<Random, 'uuid'>;
}

/** Clocks of nodes differ: tolerated difference. */
const leewaySeconds = 60;
const expired = 'service account token has expired';
const invalidated = 'service account token has been invalidated';

export class ServiceAccountTokens implements TokenAuthenticator {
  /** Tokens whose signature was checked: clients send the same one with every request. */
  private readonly checked = new Map<string, Record<string, unknown>>();

  constructor(private readonly options: ServiceAccountTokensOptions) {}

  issue({ audiences, seconds, ...bound }: Grant): string {
    const { signer, issuer, clock, random } = this.options;
    const now = Math.floor(clock.now() / 1000);
    const claims: PublicClaims = {
      aud: audiences,
      exp: now + seconds,
      iat: now,
      iss: issuer,
      jti: random.uuid(),
      nbf: now,
      sub: serviceAccountUserName(bound.namespace, bound.serviceaccount.name),
    };
    return signer.sign({ ...claims, 'kubernetes.io': bound });
  }

  authenticate(token: string, audiences: string[]): TokenIdentity | undefined {
    const { issuer, clock } = this.options;
    if (TokenSigner.peek(token)?.iss !== issuer) return undefined;
    const claims = this.verify(token);
    if (claims === undefined) throw new TokenRejected('failed to verify signature');
    const { aud, exp, nbf, iat, sub, jti } = claims as unknown as PublicClaims;
    const now = clock.now() / 1000;
    if (!(now <= exp + leewaySeconds)) throw new TokenRejected(expired);
    if (!(now >= nbf - leewaySeconds)) throw new TokenRejected('service account token is not valid yet');
    if (!(now >= iat - leewaySeconds)) throw new TokenRejected('service account token is issued in the future');
    const asked = audiences.length === 0 ? [issuer] : audiences;
    const shared = asked.filter((audience) => aud.includes(audience));
    if (shared.length === 0)
      throw new TokenRejected(`token audiences ${show(aud)} is invalid for the target audiences ${show(asked)}`);
    const bound = claims['kubernetes.io'] as Bound;
    if (sub !== serviceAccountUserName(bound.namespace, bound.serviceaccount.name))
      throw new TokenRejected('sub claim is invalid');
    this.checkBound(bound);
    return { user: userOf(bound, jti), audiences: shared };
  }

  private verify(token: string): Record<string, unknown> | undefined {
    const known = this.checked.get(token);
    if (known !== undefined) return known;
    const claims = this.options.signer.verify(token);
    if (claims === undefined) return undefined;
    if (this.checked.size >= 1000) this.checked.clear();
    this.checked.set(token, claims);
    return claims;
  }

  private checkBound({ namespace, serviceaccount, pod, node }: Bound): void {
    const account = this.find('serviceaccounts', namespace, serviceaccount.name);
    if (account === undefined) throw new TokenRejected(`serviceaccounts "${serviceaccount.name}" not found`);
    if (account.metadata.uid !== serviceaccount.uid)
      throw new TokenRejected(
        `service account UID (${account.metadata.uid}) does not match claim (${serviceaccount.uid})`,
      );
    if (this.isGone(account))
      throw new TokenRejected(`service account ${namespace}/${serviceaccount.name} has been deleted`);
    if (pod !== undefined) this.checkRef('pod', 'pods', namespace, pod);
    // With a pod the node is informational only.
    else if (node !== undefined) this.checkRef('node', 'nodes', '', node);
  }

  private checkRef(kind: string, resource: string, namespace: string, ref: Ref): void {
    const object = this.find(resource, namespace, ref.name);
    if (object === undefined || this.isGone(object)) throw new TokenRejected(invalidated);
    if (object.metadata.uid !== ref.uid)
      throw new TokenRejected(
        `${kind} UID (${object.metadata.uid}) does not match service account ${kind} ref claim (${ref.uid})`,
      );
  }

  private find(resource: string, namespace: string, name: string): KubeObject | undefined {
    return this.options.objects.find({ group: '', resource, namespace, name });
  }

  private isGone({ metadata }: KubeObject): boolean {
    const { deletionTimestamp } = metadata;
    return (
      deletionTimestamp !== undefined && Date.parse(deletionTimestamp) < this.options.clock.now() - leewaySeconds * 1000
    );
  }
}

const show = (audiences: string[]) => `[${audiences.map((audience) => `"${audience}"`).join(' ')}]`;

function userOf({ namespace, serviceaccount, pod, node }: Bound, jti: string): User {
  const key = (name: string) => `authentication.kubernetes.io/${name}`;
  return {
    name: serviceAccountUserName(namespace, serviceaccount.name),
    ...(serviceaccount.uid === undefined ? {} : { uid: serviceaccount.uid }),
    groups: serviceAccountGroups(namespace),
    extra: {
      [key('credential-id')]: [`JTI=${jti}`],
      ...(node === undefined ? {} : { [key('node-name')]: [node.name] }),
      ...(node?.uid === undefined ? {} : { [key('node-uid')]: [node.uid] }),
      ...(pod === undefined ? {} : { [key('pod-name')]: [pod.name], [key('pod-uid')]: [pod.uid ?? ''] }),
    },
  };
}
