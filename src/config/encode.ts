/** Serializes a config as a document that any kubelet from 1.11 on can read: JSON, which is also YAML. */
import { header } from './header.js';
import type { KubeletConfig } from './model.js';

/** Nil values are left out: the kubelet takes null for some types only. */
export function encode(config: KubeletConfig): string {
  const document = { ...header, ...config };
  return `${write(document, '')}\n`;
}

/** By hand, because JSON.stringify cannot write an int64. */
function write(value: unknown, indent: string): string {
  const deeper = `${indent}  `;
  if (Array.isArray(value)) {
    const items = value.map((item) => deeper + write(item, deeper));
    return items.length === 0 ? '[]' : `[\n${items.join(',\n')}\n${indent}]`;
  }
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).filter(([, child]) => child !== null && child !== undefined);
    const lines = entries.map(([key, child]) => `${deeper}${JSON.stringify(key)}: ${write(child, deeper)}`);
    return lines.length === 0 ? '{}' : `{\n${lines.join(',\n')}\n${indent}}`;
  }
  return typeof value === 'bigint' ? value.toString() : JSON.stringify(value);
}
