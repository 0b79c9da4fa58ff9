/**
 * Ways to fail on demand, for tests and demos: always (--hollow-fail), or only with a config that has a given value
 * (--hollow-fail-if), so that one config among many fails.
 */
import { parseDuration } from '../../go/duration.js';

export type Misbehaviour =
  /** Exits with 1 after validation, before it serves anything: like a value that only fails at start. */
  | { kind: 'exit-at-start' }
  /** Runs, but /healthz answers 500 and the Node is not Ready. */
  | { kind: 'never-healthy' }
  /** Exits with 1 this long after its start. */
  | { kind: 'die-after'; ms: number }
  /** Stops all requests to the API this long after its start: no heartbeat, no Lease. */
  | { kind: 'lose-api'; ms: number }
  /** Serves nothing and registers nothing for this long. */
  | { kind: 'slow-start'; ms: number };

export interface ConditionalMisbehaviour {
  /** As in the config: `maxPods`, `authentication.anonymous.enabled`, `evictionHard[memory.available]`. */
  path: string;
  value: string;
  misbehaviour: Misbehaviour;
}

const forms = 'exit-at-start, never-healthy, die-after=DURATION, lose-api[=DURATION] or slow-start=DURATION';

export function parseMisbehaviour(text: string, flag = '--hollow-fail'): Misbehaviour {
  const [kind, duration] = text.split('=', 2) as [string, string?];
  const invalid = (): never => {
    throw new Error(`${flag}=${text}: must be ${forms}`);
  };
  if (kind === 'exit-at-start' || kind === 'never-healthy') return duration === undefined ? { kind } : invalid();
  if (kind === 'lose-api' && duration === undefined) return { kind, ms: 0 };
  if (kind !== 'die-after' && kind !== 'lose-api' && kind !== 'slow-start') return invalid();
  try {
    const ms = Number(parseDuration(duration ?? '') / 1_000_000n);
    return ms < 0 ? invalid() : { kind, ms };
  } catch {
    return invalid();
  }
}

/** `maxPods=66:exit-at-start` */
export function parseConditional(text: string): ConditionalMisbehaviour {
  const flag = '--hollow-fail-if';
  const colon = text.lastIndexOf(':');
  const equals = text.indexOf('=');
  if (colon < 0 || equals < 0 || equals > colon)
    throw new Error(`${flag}=${text}: must be FIELD=VALUE:FAILURE, as in maxPods=66:exit-at-start`);
  return {
    path: text.slice(0, equals),
    value: text.slice(equals + 1, colon),
    misbehaviour: parseMisbehaviour(text.slice(colon + 1), flag),
  };
}

/** All that apply to this config, in the order given. */
export function misbehavioursFor(
  config: Record<string, unknown>,
  always: readonly Misbehaviour[],
  conditional: readonly ConditionalMisbehaviour[],
): Misbehaviour[] {
  const met = conditional.filter(({ path, value }) => {
    const found = valueAt(config, path);
    return found !== undefined && (typeof found === 'string' ? found : JSON.stringify(found)) === value;
  });
  return [...always, ...met.map(({ misbehaviour }) => misbehaviour)];
}

function valueAt(config: Record<string, unknown>, path: string): unknown {
  const parts = [...path.matchAll(/\[([^\]]*)\]|[^.[\]]+/g)].map(([whole, key]) => key ?? whole);
  return parts.reduce<unknown>(
    (value, part) =>
      typeof value === 'object' && value !== null && Object.hasOwn(value, part)
        ? (value as Record<string, unknown>)[part]
        : undefined,
    config,
  );
}
