/** Content negotiation: which media types a body may have, and the form of the response. */
import { ApiError } from '../../api/status.js';
import { notAcceptable, unsupportedMediaType } from '../status-error.js';
import type { OutputForm } from './presenter.js';

/** Requests for protobuf are answered with JSON, which every such client accepts. */
const mediaTypes = ['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf'];

export interface Output {
  type: 'json' | 'yaml';
  pretty: boolean;
  form: OutputForm | undefined;
}

interface Clause {
  type: string;
  parameters: Map<string, string>;
  quality: number;
}

export interface Asked {
  accept: string | undefined;
  userAgent: string | undefined;
  query: URLSearchParams;
  verb: string;
  /** A single object is requested. */
  isOne: boolean;
}

export function negotiateOutput({ accept, userAgent = '', query, verb, isOne }: Asked): Output {
  const clauses = parseAccept(accept ?? '');
  if (clauses.length === 0) return { type: 'json', pretty: isPretty(query, undefined, userAgent), form: undefined };
  for (const clause of clauses) {
    const type = outputType(clause.type);
    const form = type === undefined ? undefined : formOf(clause);
    if (type === undefined || form === 'unknown') continue;
    if (verb === 'watch' && type === 'yaml') throw notAcceptable(streamTypes);
    return { type, pretty: isPretty(query, clause, userAgent), form };
  }
  throw clauses.some(({ type }) => outputType(type) !== undefined)
    ? notAcceptable(mediaTypes)
    : noRepresentation(!isOne && (verb === 'list' || verb === 'watch') ? [...mediaTypes, ...streamTypes] : mediaTypes);
}

/** Errors have the requested form where it is supported. */
export function errorOutput(accept: string | undefined): Output['type'] {
  const known = parseAccept(accept ?? '').map(({ type }) => outputType(type));
  return known.find((type) => type !== undefined) ?? 'json';
}

const streamTypes = ['application/json;stream=watch', 'application/vnd.kubernetes.protobuf;stream=watch'];

/** The answer of Kubernetes' router for an unknown media type. */
export function noRepresentation(available: string[]): ApiError {
  const message = `406: Not Acceptable\n\nAvailable representations: ${available.join(', ')}`;
  return new ApiError(406, 'NotAcceptable', message, {});
}

function outputType(type: string): Output['type'] | undefined {
  if (type === 'application/yaml') return 'yaml';
  const isJson = type === 'application/json' || type === '*/*';
  return isJson || type === 'application/vnd.kubernetes.protobuf' ? 'json' : undefined;
}

function formOf({ parameters }: Clause): OutputForm | undefined | 'unknown' {
  const as = parameters.get('as');
  if (as === undefined) return undefined;
  const group = parameters.get('g') ?? '';
  const version = parameters.get('v') ?? '';
  const isKnown = as === 'Table' || as === 'PartialObjectMetadata' || as === 'PartialObjectMetadataList';
  if (!isKnown || group !== 'meta.k8s.io' || (version !== 'v1' && version !== 'v1beta1')) return 'unknown';
  return { as, group, version };
}

/** Pretty-printed for browsers and curl. */
function isPretty(query: URLSearchParams, clause: Clause | undefined, userAgent: string): boolean {
  const asked = query.get('pretty') ?? clause?.parameters.get('pretty');
  if (asked !== undefined && asked !== null) return asked !== 'false' && asked !== '0';
  return /^(curl|Wget|Mozilla\/5\.0)/.test(userAgent);
}

function parseAccept(accept: string): Clause[] {
  const clauses = accept
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map(parseClause);
  // Sorting is stable: equal quality keeps the client's order.
  return clauses.sort((a, b) => b.quality - a.quality);
}

function parseClause(text: string): Clause {
  const [type = '', ...rest] = text.split(';').map((part) => part.trim());
  const parameters = new Map(
    rest.map((part): [string, string] => {
      const at = part.indexOf('=');
      return at === -1 ? [part, ''] : [part.slice(0, at).trim(), part.slice(at + 1).trim()];
    }),
  );
  const quality = Number(parameters.get('q') ?? '1');
  return { type: type.toLowerCase(), parameters, quality: Number.isNaN(quality) ? 0 : quality };
}

/** The media type of a body without its parameters; '' when there is none. */
export function mediaType(contentType: string | undefined): string {
  return (contentType ?? '').split(';')[0]!.trim().toLowerCase();
}

export type BodyFormat = 'json' | 'yaml' | 'protobuf';

export function bodyFormat(contentType: string | undefined): BodyFormat {
  const type = mediaType(contentType);
  if (type === '' || type === 'application/json') return 'json';
  if (type === 'application/yaml') return 'yaml';
  if (type === 'application/vnd.kubernetes.protobuf') return 'protobuf';
  throw unsupportedMediaType(mediaTypes);
}
