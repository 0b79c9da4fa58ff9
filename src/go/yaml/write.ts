/** Serializes plain data as YAML that every parser reads in the same way: block style, with text quoted unless it cannot be mistaken. */

/** Objects, lists, text, numbers (also bigint), booleans and null. */
export function asYaml(value: object): string {
  if (!isBlock(value)) return `${scalar(value, '')}\n`;
  const lines: string[] = [];
  write(value, '', '', lines);
  return `${lines.join('\n')}\n`;
}

/** Adds the lines of an object or a list. The first one begins with `first`, which has the marks of the lists that it begins. */
function write(value: object, first: string, indent: string, lines: string[]): void {
  let start = first;
  if (Array.isArray(value))
    for (const item of value) {
      if (isBlock(item)) write(item, `${start}- `, `${indent}  `, lines);
      else lines.push(`${start}- ${scalar(item, `${indent}  `)}`);
      start = indent;
    }
  else
    for (const [key, child] of Object.entries(value)) {
      const name = `${start}${text(key)}:`;
      if (isBlock(child)) {
        lines.push(name);
        write(child, `${indent}  `, `${indent}  `, lines);
      } else lines.push(`${name} ${scalar(child, `${indent}  `)}`);
      start = indent;
    }
}

const isEmpty = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).length === 0;
const isBlock = (value: unknown): value is object => typeof value === 'object' && value !== null && !isEmpty(value);

function scalar(value: unknown, indent: string): string {
  if (typeof value === 'string') return literal(value, indent) ?? text(value);
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? '[]' : '{}';
  return String(value ?? null);
}

/** Lines of ASCII as they are: a signature, a document. Undefined for other text, whose blanks at the ends a reader could lose. */
function literal(value: string, indent: string): string | undefined {
  if (!/^[!-~][ -~]*\n([ -~]*\n)*$/.test(value) || /\n *\n$/.test(value)) return undefined;
  return [
    '|',
    ...value
      .slice(0, -1)
      .split('\n')
      .map((line) => line && `${indent}${line}`),
  ].join('\n');
}

const text = (value: string): string => (isPlain(value) ? value : quoted(value));

/** Paths, quantities, durations, names: nothing a reader could take for a number, a date or a mark. */
function isPlain(value: string): boolean {
  if (/^[A-Za-z/][\w./-]*$/.test(value)) return !/^(y|n|yes|no|on|off|true|false|null|nan|inf)$/i.test(value);
  return /^\d+(\.\d+)?([KMGTPE]i|[mkMGTP]|%|(h|m|s|ms|us)(\d+(m|s))*)$/.test(value);
}

/**
 * JSON's quoting is YAML's as well; what JSON leaves bare and a reader could stumble over is escaped, and so is what a terminal
 * would act on or reorder.
 */
function quoted(value: string): string {
  return JSON.stringify(value).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\ufffe\uffff]/gu, (char) => {
    const code = char.codePointAt(0)!;
    return code > 0xffff ? `\\U${code.toString(16).padStart(8, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`;
  });
}
