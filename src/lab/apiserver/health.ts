/** /healthz, /livez and /readyz: `ok`, or with ?verbose a list of checks. */
import { answerPageNotFound, answerText } from '../../memory-api/requests/answer.js';
import type { Exchange } from '../../memory-api/requests/exchange.js';
import type { Route } from '../../memory-api/router.js';

/** Each check throws when something is wrong. */
export function healthRoutes(checks: Record<string, () => void>): Route[] {
  const all = { ping() {}, ...checks };
  return ['healthz', 'livez', 'readyz'].flatMap((endpoint) => [
    { path: `/${endpoint}`, handle: (exchange) => answer(exchange, endpoint, all) },
    {
      path: `/${endpoint}/`,
      handle(exchange) {
        const name = exchange.path.slice(endpoint.length + 2);
        if (Object.hasOwn(all, name)) answer(exchange, name, { [name]: (all as typeof checks)[name]! });
        else answerPageNotFound(exchange);
      },
    },
  ]);
}

function answer(exchange: Exchange, title: string, checks: Record<string, () => void>): void {
  const results = Object.entries(checks).map(([name, check]) => ({ name, isOk: passes(check) }));
  const isOk = results.every((result) => result.isOk);
  // The reason is logged only: it is not for strangers.
  const lines = results.map(
    (result) => `${result.isOk ? '[+]' : '[-]'}${result.name} ${result.isOk ? 'ok' : 'failed'}\n`,
  );
  const report = `${lines.join('')}${title} check ${isOk ? 'passed' : 'failed'}\n`;
  if (isOk) answerText(exchange, 200, exchange.query.has('verbose') ? report : 'ok');
  else answerText(exchange, 500, report);
}

function passes(check: () => void): boolean {
  try {
    check();
    return true;
  } catch {
    return false;
  }
}
