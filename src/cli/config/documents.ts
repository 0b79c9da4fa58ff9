/**
 * Finds the KubeletConfigurations in a file: the file itself, or the payloads of the ConfigMap manifests in it. Positions in a payload
 * are mapped back to the file, so that findings point to the line to change.
 */
import { CannotRun } from '../../cannot-run.js';
import { emptyDocument } from '../../config/header.js';
import { readAtMost, whyUnreadable } from '../read-file.js';
import type { FilePayload } from './configmap-payloads.js';

export interface ConfigDocument extends Pick<FilePayload, 'text' | 'locate'> {
  /** The file, or `file#name/key` where it holds several. */
  name: string;
  /** The file as given; `-` for standard input. */
  file: string;
}

/** Far beyond what etcd stores in one object. */
const mostBytes = 8 * 1024 * 1024;

const asIs = (line: number, column: number) => ({ line, column });

export async function readConfigDocuments(file: string): Promise<ConfigDocument[]> {
  const text = readText(file);
  // A manifest is recognised by parsing; only texts that name a ConfigMap at all pay for that, and for the library.
  if (!/kind["']?\s*:\s*["']?(ConfigMap|List)/.test(text)) return [{ name: file, file, text, locate: asIs }];
  const { payloadsOf } = await import('./configmap-payloads.js');
  const payloads = payloadsOf(text);
  if (payloads === undefined) return [{ name: file, file, text, locate: asIs }];
  if (payloads.length === 0)
    throw new CannotRun(
      `${file}: the manifest holds no KubeletConfiguration; relet looks for data keys whose text has 'kind: KubeletConfiguration', and for the key 'kubelet'`,
    );
  const sole = payloads.length === 1;
  return payloads.map(({ label, ...rest }) => ({ ...rest, file, name: sole ? file : `${file}#${label}` }));
}

/** The one config in a file, to compare it; several are an error. An empty file stands for the kubelet's defaults. */
export async function readConfigDocument(file: string): Promise<ConfigDocument> {
  const [document, ...others] = await readConfigDocuments(file);
  if (document === undefined || others.length > 0)
    throw new CannotRun(`${file}: holds ${others.length + 1} configs; split the file, one config is compared with one`);
  return document.text.trim() === '' ? { ...document, text: emptyDocument } : document;
}

const readText = (file: string): string => readBytes(file).toString('utf8');

export function readBytes(file: string, most = mostBytes): Buffer {
  const name = file === '-' ? 'standard input' : file;
  try {
    return readAtMost(file, most);
  } catch (error) {
    throw new CannotRun(`cannot read ${name}: ${whyUnreadable(error)}`);
  }
}
