/**
 * Finds the KubeletConfigurations in a file: the file itself, or the payloads of the ConfigMap manifests in it. Lines and
 * columns of a payload are led back to the file, so that findings point to where a person has to change something.
 */
import { readFileSync } from 'node:fs';
import { isMap, isScalar, isSeq, LineCounter, type Node, parseAllDocuments, type Scalar, type YAMLMap } from 'yaml';
import { CannotRun } from './command-line.js';

export interface ConfigDocument {
  /** The file, or `file#name/key` where it holds several. */
  name: string;
  /** The file as given; `-` for standard input. */
  file: string;
  text: string;
  /** Where a place in `text` stands in the file. */
  locate(line: number, column: number): { line: number; column: number };
}

/** Far beyond what etcd stores in one object; a guard against reading a disk image by mistake. */
const mostBytes = 8 * 1024 * 1024;

const asIs = (line: number, column: number) => ({ line, column });

export function readConfigDocuments(file: string): ConfigDocument[] {
  const text = readText(file);
  // A manifest is recognised by parsing; only texts that name a ConfigMap at all pay for that.
  if (!/kind["']?\s*:\s*["']?(ConfigMap|List)/.test(text)) return [{ name: file, file, text, locate: asIs }];
  const payloads = payloadsOf(text);
  if (payloads === undefined) return [{ name: file, file, text, locate: asIs }];
  if (payloads.length === 0)
    throw new CannotRun(
      `${file}: the manifest holds no KubeletConfiguration; relet looks for data keys whose text has 'kind: KubeletConfiguration', and for the key 'kubelet'`,
    );
  const sole = payloads.length === 1;
  return payloads.map(({ label, ...rest }) => ({ ...rest, file, name: sole ? file : `${file}#${label}` }));
}

/** The one config in a file; several are an error, since the verb would not know which is meant. */
export function readConfigDocument(file: string): ConfigDocument {
  const [document, ...others] = readConfigDocuments(file);
  if (document === undefined || others.length > 0)
    throw new CannotRun(`${file}: holds ${others.length + 1} configs; split the file, one config is compared with one`);
  return document;
}

function readText(file: string): string {
  let bytes: Buffer;
  try {
    bytes = readFileSync(file === '-' ? 0 : file);
  } catch (error) {
    throw new CannotRun(`cannot read ${file === '-' ? 'standard input' : file}: ${reason(error)}`);
  }
  if (bytes.length > mostBytes) throw new CannotRun(`${file}: ${bytes.length} bytes is no kubelet configuration`);
  return bytes.toString('utf8');
}

function reason(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT') return 'there is no such file';
  if (code === 'EISDIR') return 'it is a directory; name the files in it';
  if (code === 'EACCES') return 'permission denied';
  return message;
}

interface Payload extends Pick<ConfigDocument, 'text' | 'locate'> {
  label: string;
}

/** Undefined when there is no ConfigMap after all, or the text is no YAML: then the kubelet's own reading decides. */
function payloadsOf(text: string): Payload[] | undefined {
  const lineCounter = new LineCounter();
  const documents = parseAllDocuments(text, { lineCounter, uniqueKeys: false, logLevel: 'silent' });
  if ('empty' in documents || documents.some((document) => document.errors.length > 0)) return undefined;
  const objects = documents.flatMap((document) => unlist(document.contents));
  if (!objects.some((object) => kindOf(object) === 'ConfigMap')) return undefined;
  const position = (offset: number) => {
    const { line, col } = lineCounter.linePos(offset);
    return { line, column: col };
  };
  return objects.flatMap((object, index) => {
    const kind = kindOf(object);
    if (kind === 'KubeletConfiguration') return [bare(object, index, text, position)];
    return kind === 'ConfigMap' ? configMapPayloads(object, text, position) : [];
  });
}

function unlist(node: Node | null): YAMLMap[] {
  if (!isMap(node)) return [];
  const items = node.get('items', true);
  if (/^(ConfigMap)?List$/.test(kindOf(node)) && isSeq(items)) return items.items.filter((item) => isMap(item));
  return [node];
}

const kindOf = (object: YAMLMap): string => String(object.get('kind') ?? '');

type Position = (offset: number) => { line: number; column: number };

/** A KubeletConfiguration that stands between manifests, as a document of its own. */
function bare(object: YAMLMap, index: number, text: string, position: Position): Payload {
  const [from, , to] = object.range!;
  const start = position(from);
  return {
    label: `document-${index + 1}`,
    text: text.slice(from, to),
    locate: (line, column) => ({
      line: start.line + line - 1,
      column: line === 1 ? start.column + column - 1 : column,
    }),
  };
}

function configMapPayloads(object: YAMLMap, text: string, position: Position): Payload[] {
  const data = object.get('data', true);
  if (!isMap(data)) return [];
  const name = String(object.getIn(['metadata', 'name']) ?? 'unnamed');
  return data.items.flatMap(({ key, value }) => {
    if (!isScalar(key) || !isScalar(value) || typeof value.value !== 'string') return [];
    const isConfig = key.value === 'kubelet' || /kind["']?\s*:\s*["']?KubeletConfiguration/.test(value.value);
    if (!isConfig) return [];
    return [{ label: `${name}/${key.value}`, text: value.value, locate: locator(value, text, position) }];
  });
}

/** Lines of a literal block are lines of the file, further to the right. In any other string only its start is known. */
function locator(scalar: Scalar, text: string, position: Position): Payload['locate'] {
  const start = position(scalar.range![0]);
  if (scalar.type !== 'BLOCK_LITERAL') return () => start;
  const firstLine = text.slice(text.indexOf('\n', scalar.range![0]) + 1).match(/^[ \t\r\n]*\n( *)\S|^( *)/);
  const indent = (firstLine?.[1] ?? firstLine?.[2] ?? '').length;
  return (line, column) => ({ line: start.line + line, column: indent + column });
}
