/** Content negotiation: which media types a body may have, and the form of the response. */
import { ApiError } from '../../api/status.js';
import { notAcceptable, unsupportedMediaType } from '../status-error.js';
import type { OutputForm } from './presenter.js';

/** Answers are JSON, also for requests that prefer protobuf: every such client accepts it. */
const answerTypes = ['application/json', 'application/vnd.kubernetes.protobuf'];
const bodyTypes = [...answerTypes, 'application/yaml'];

interface Clause {
  type: string;
  parameters: Map<string, string>;
  quality: number;
}

/** The form of the answer; undefined for the object itself. Throws if the client accepts nothing that there is. */
export function negotiateForm(accept: string | undefined): OutputForm | undefined {
  const clauses = parseAccept(accept ?? '');
  if (clauses.length === 0) return undefined;
  const known = clauses.filter(({ type }) => type === '*/*' || answerTypes.includes(type));
  for (const clause of known) {
    const form = formOf(clause);
    if (form !== 'unknown') return form;
  }
  throw known.length > 0 ? notAcceptable(answerTypes) : noRepresentation();
}

/** The answer of Kubernetes' router for an unknown media type. */
export function noRepresentation(): ApiError {
  const message = `406: Not Acceptable\n\nAvailable representations: ${answerTypes.join(', ')}`;
  return new ApiError(406, 'NotAcceptable', message, {});
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
  throw unsupportedMediaType(bodyTypes);
}
