/** /healthz, /livez and /readyz: `ok`, or with ?verbose a list of checks. */

import { answerPageNotFound, answerText } from './http/answer.js';
import type { Exchange } from './http/exchange.js';
import type { Route } from './router.js';

export interface HealthCheck {
  name: string;
  /** Throws when something is wrong. */
  check(): void;
  /** The endpoints that include it. Default all. */
  only?: readonly ('healthz' | 'livez' | 'readyz')[];
}

export function healthRoutes(checks: HealthCheck[]): Route[] {
  const all: HealthCheck[] = [{ name: 'ping', check() {} }, ...checks];
  return (['healthz', 'livez', 'readyz'] as const).flatMap((endpoint) => {
    const own = all.filter(({ only }) => only === undefined || only.includes(endpoint));
    return [
      { path: `/${endpoint}`, handle: (exchange) => answerAll(exchange, endpoint, own) },
      {
        path: `/${endpoint}/`,
        handle(exchange) {
          const name = exchange.path.slice(endpoint.length + 2);
          const one = own.filter((check) => check.name === name);
          if (one.length === 0) answerPageNotFound(exchange);
          else answerAll(exchange, name, one);
        },
      },
    ] satisfies Route[];
  });
}

function answerAll(exchange: Exchange, title: string, checks: HealthCheck[]): void {
  const excluded = new Set(exchange.query.getAll('exclude'));
  const lines: string[] = [];
  let failed = false;
  for (const { name, check } of checks) {
    if (excluded.has(name)) {
      lines.push(`[+]${name} excluded: ok`);
      continue;
    }
    const problem = problemOf(check);
    failed ||= problem !== undefined;
    // The reason is not for strangers: it is logged only.
    lines.push(problem === undefined ? `[+]${name} ok` : `[-]${name} failed: reason withheld`);
  }
  const outcome = `${title} check ${failed ? 'failed' : 'passed'}\n`;
  if (failed) answerText(exchange, 500, `${lines.join('\n')}\n${outcome}`);
  else answerText(exchange, 200, exchange.query.has('verbose') ? `${lines.join('\n')}\n${outcome}` : 'ok');
}

function problemOf(check: () => void): unknown {
  try {
    check();
    return undefined;
  } catch (error) {
    return error ?? new Error('check failed');
  }
}
