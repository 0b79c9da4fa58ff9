/** The chain of authorizers: the first that allows decides; when none does, their reasons are reported together. */
import { quote } from '../../../go/quote.js';
import type { Attributes, Authorizer, Decision } from '../../../memory-api/attributes.js';
import { mastersGroup } from '../well-known.js';

export class AuthorizerChain implements Authorizer {
  constructor(private readonly authorizers: Authorizer[]) {}

  authorize(request: Attributes): Decision {
    const reasons: string[] = [];
    for (const authorizer of this.authorizers) {
      const decision = authorizer.authorize(request);
      if (decision.allowed) return decision;
      if (decision.reason) reasons.push(decision.reason);
    }
    return reasons.length === 0 ? { allowed: false } : { allowed: false, reason: reasons.join('\n') };
  }
}

/** Members of system:masters may do everything, whatever roles exist: access when the roles are broken. */
export const masters: Authorizer = {
  authorize: ({ user }) => ({ allowed: user.groups.includes(mastersGroup) }),
};

export const alwaysAllow: Authorizer = { authorize: () => ({ allowed: true }) };

/** The message of a 403, with the authorizer's reason where there is one. */
export function forbiddenMessage(request: Attributes, reason: string | undefined): string {
  const sentence = escapeHtml(deniedSentence(request));
  return reason ? `${sentence}: ${reason}` : sentence;
}

function deniedSentence({
  user,
  verb,
  isResource,
  path,
  resource,
  subresource,
  apiGroup,
  namespace,
}: Attributes): string {
  const who = `User ${quote(user.name)} cannot ${verb}`;
  if (!isResource) return `${who} path ${quote(path)}`;
  const what = quote(subresource === '' ? resource : `${resource}/${subresource}`);
  const where = namespace === '' ? 'at the cluster scope' : `in the namespace ${quote(namespace)}`;
  return `${who} resource ${what} in API group ${quote(apiGroup)} ${where}`;
}

/** Errors must not look like HTML to a browser; quotes are fine. */
export const escapeHtml = (text: string) => text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
