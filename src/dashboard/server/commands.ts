/**
 * Builds the relet command behind each button (children.ts runs it). A button does exactly what the command that it shows does.
 * Arguments are fixed, names are validated, and no shell is involved. Pure.
 */
import { checkDnsSubdomain } from '../../api/names.js';
import { impacts } from '../../api/node-annotations.js';
import { type ActionResult, type NodeVerb, nodeVerbs, type SetVerb, setVerbs } from '../wire.js';
import { badRequest } from './problem.js';

/** A verb with its arguments as a person types them, and what the child gets beside them. */
export interface Command {
  words: string[];
  /** Additional words for a run without a terminal, with output for a program. */
  more: string[];
}

type Body = Record<string, unknown>;

export function setCommand(verb: string, name: string, body: Body): Command {
  if (!setVerbs.includes(verb as SetVerb)) throw badRequest(`A set has no verb '${verb}'.`);
  const words = ['rollout', verb, checkedName(name)];
  const asks = verb !== 'pause' && verb !== 'resume';
  if (asks && body.revision !== undefined) words.push('--revision', textOf(body, 'revision', 253));
  if (verb === 'approve' && body.wave !== undefined) words.push('--wave', String(countOf(body, 'wave')));
  if (verb === 'approve' && body.dryRun === true) words.push('--dry-run=client');
  if (body.why) words.push('--why', textOf(body, 'why', 200));
  return { words, more: [...(asks ? ['--yes'] : []), '-o', 'json'] };
}

export function nodeCommand(verb: string, name: string, body: Body): Command {
  if (!nodeVerbs.includes(verb as NodeVerb)) throw badRequest(`A node has no verb '${verb}'.`);
  const words = [verb, checkedName(name)];
  if ((verb === 'hold' || verb === 'release') && body.why) words.push('--why', textOf(body, 'why', 200));
  if (verb === 'hold' || verb === 'release') return { words, more: ['-o', 'json'] };
  if (verb === 'dismiss') return { words, more: [] };
  if (verb === 'set') words.push(...fieldsOf(body));
  if (verb === 'undo' && body.to !== undefined) words.push('--to', String(countOf(body, 'to')));
  if (body.accept !== undefined) words.push(`--accept=${acceptedOf(body).join(',')}`);
  if (body.takeFromSet === true) words.push('--take-from-set');
  if (body.why) words.push('--why', textOf(body, 'why', 200));
  if (body.dryRun === true) words.push('--dry-run=client');
  return { words, more: ['--yes', '--no-wait', '-o', 'json'] };
}

function checkedName(name: string): string {
  if (checkDnsSubdomain(name).length > 0) throw badRequest('This cannot be the name of a node or a set.');
  return name;
}

/** A word that begins with a dash would be an option. */
function textOf(body: Body, field: string, most: number): string {
  const value = body[field];
  if (typeof value !== 'string' || value.length > most || value.startsWith('-') || /[\0-\x1f\x7f]/.test(value))
    throw badRequest(
      `'${field}' must be a text of one line, of at most ${most} characters, that does not begin with '-'.`,
    );
  return value;
}

function countOf(body: Body, field: string): number {
  const value = body[field];
  if (!Number.isSafeInteger(value) || (value as number) < 1)
    throw badRequest(`'${field}' must be a whole number of at least 1.`);
  return value as number;
}

const mostFields = 50;
const longestField = 10_000;

function fieldsOf({ fields }: Body): string[] {
  const isField = (one: unknown): one is string =>
    typeof one === 'string' &&
    one.length <= longestField &&
    /^[A-Za-z][\w.[\]"'/-]*(=|-$)/.test(one) &&
    !one.includes('\0');
  if (Array.isArray(fields) && fields.length > 0 && fields.length <= mostFields && fields.every(isField)) return fields;
  throw badRequest(`'fields' must be a list of FIELD=VALUE, or FIELD- to remove one.`);
}

function acceptedOf({ accept }: Body): string[] {
  const isKnown = (one: unknown): one is string => (impacts as readonly unknown[]).includes(one);
  if (Array.isArray(accept) && accept.every(isKnown) && accept.length > 0) return accept;
  throw badRequest(`'accept' must be a list of ${impacts.join(', ')}.`);
}

/** As a person types it; a word that a shell would read otherwise is quoted. */
export const commandText = (words: readonly string[]): string => ['relet', ...words].map(quoted).join(' ');

const quoted = (word: string): string => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`);

const longestOutput = 20_000;

export function actionResult(
  { words }: Command,
  { code, stdout, stderr }: { code: number; stdout: string; stderr: string },
): ActionResult {
  const result = readJsonText(stdout);
  const output = (result === undefined ? `${stdout}${stderr}` : stderr).trim().slice(0, longestOutput);
  return { command: commandText(words), code, output, ...(result !== undefined && { result }) };
}

export function readJsonText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** `relet rollout rehearse` with the flags that the page offers. */
export function rehearseWords({ seed, nodes, flags = {} }: Body): string[] {
  const given = {
    ...(flags as Body),
    ...(seed !== undefined && { seed }),
    ...(nodes !== undefined && { count: nodes }),
  };
  const words = ['rollout', 'rehearse', '-'];
  for (const [name, value] of Object.entries(given)) {
    if (rehearseSwitches.has(name) && value === true) words.push(`--${name}`);
    else if (rehearseNumbers.has(name) && /^\d{1,9}%?$/.test(String(value)) && !isTooMuch(name, value))
      words.push(`--${name}=${String(value)}`);
    else
      throw badRequest(
        `'${name}' is not a flag of a rehearsal that can be used here, or its value is not a number or a percentage, or too large.`,
      );
  }
  return words;
}

/** A rehearsal takes time and memory of the server's machine. */
const most: Record<string, number> = { count: 20_000, seeds: 100 };
const isTooMuch = (name: string, value: unknown): boolean => name in most && !(Number(value) <= most[name]!);

const rehearseNumbers = new Set(['seed', 'seeds', 'count', 'fail', 'slow', 'not-ready']);
const rehearseSwitches = new Set(['controller-crashes', 'api-outages']);
