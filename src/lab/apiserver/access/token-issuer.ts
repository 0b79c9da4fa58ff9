/** OpenID discovery and the public key, with which others verify our service-account tokens. */
import type { Route } from '../../../memory-api/router.js';
import type { TokenSigner } from './json-web-token.js';

export function issuerRoutes(issuer: string, signer: TokenSigner): Route[] {
  const documents: Record<string, [contentType: string, value: unknown]> = {
    '/.well-known/openid-configuration': [
      'application/json',
      {
        issuer,
        jwks_uri: `${issuer}/openid/v1/jwks`,
        response_types_supported: ['id_token'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: ['ES256'],
      },
    ],
    '/openid/v1/jwks': ['application/jwk-set+json', { keys: [signer.jwk()] }],
  };
  return Object.entries(documents).map(([path, [contentType, value]]) => ({
    path,
    handle: (exchange) =>
      exchange.respond(
        200,
        { 'content-type': contentType, 'cache-control': 'public, max-age=3600' },
        JSON.stringify(value),
      ),
  }));
}
