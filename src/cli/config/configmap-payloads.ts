/** The KubeletConfigurations and overlays in ConfigMap manifests: several in a stream, in lists, in several keys. */
import { isMap, isScalar, isSeq, LineCounter, type Node, parseAllDocuments, type Scalar, type YAMLMap } from 'yaml';

export interface FilePayload {
  text: string;
  /** Maps a place in `text` to its place in the file. */
  locate(line: number, column: number): { line: number; column: number };
  /** `name/key` of the ConfigMap, to tell several apart. */
  label: string;
}

/** Undefined when there is no ConfigMap after all, or the text is not valid YAML: then it is read as the kubelet reads it. */
export function payloadsOf(text: string): FilePayload[] | undefined {
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
    if (/^KubeletConfiguration(Overlay)?$/.test(kind)) return [bare(object, index, text, position)];
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

/** A KubeletConfiguration or an overlay between manifests, as a document of its own. */
function bare(object: YAMLMap, index: number, text: string, position: Position): FilePayload {
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

function configMapPayloads(object: YAMLMap, text: string, position: Position): FilePayload[] {
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
function locator(scalar: Scalar, text: string, position: Position): FilePayload['locate'] {
  const start = position(scalar.range![0]);
  if (scalar.type !== 'BLOCK_LITERAL') return () => start;
  const firstLine = text.slice(text.indexOf('\n', scalar.range![0]) + 1).match(/^[ \t\r\n]*\n( *)\S|^( *)/);
  const indent = (firstLine?.[1] ?? firstLine?.[2] ?? '').length;
  return (line, column) => ({ line: start.line + line, column: indent + column });
}
