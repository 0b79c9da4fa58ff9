/**
 * Many ways to write one KubeletConfiguration, all of which kubelet 1.37 reads as the same config: formats, quotes, escapes, numbers in
 * other bases, tags, aliases and merges, duplicate keys, fields that do not exist, comments, byte order marks, further documents. A
 * byte order mark may be where Go drops characters; nobody promises what a kubelet reads then.
 */
import fc from 'fast-check';

export interface SpelledConfig {
  text: string;
  port: number;
  mode: string;
  anonymous: boolean;
}

const hex = (char: string, digits: number) => char.charCodeAt(0).toString(16).padStart(digits, '0');

/** A text that is safe in any style. */
const quotedText = (text: string): fc.Arbitrary<string> =>
  fc.constantFrom(
    text,
    `"${text}"`,
    `'${text}'`,
    `!!str ${text}`,
    `!!binary ${Buffer.from(text).toString('base64')}`,
    `"\\x${hex(text[0]!, 2)}${text.slice(1)}"`,
    `"${text.slice(0, 1)}\\u${hex(text[1]!, 4)}${text.slice(2)}"`,
  );

const number = (value: number): fc.Arbitrary<string> =>
  fc.constantFrom(
    ...[`${value}`, `0x${value.toString(16)}`, `0${value.toString(8)}`, `0b${value.toString(2)}`, `+${value}`],
    ...[`!!int ${value}`, `${Math.floor(value / 10)}_${value % 10}`],
  );

const bool = (value: boolean): fc.Arbitrary<string> =>
  value ? fc.constantFrom('true', 'True', 'yes', 'on', 'y', '!!bool YES') : fc.constantFrom('false', 'no', 'OFF', 'n');

/** Fields that no kubelet knows, or that are there once more and lose. */
const noise = fc.oneof(
  fc.integer({ min: 1, max: 60 }).map((depth) => `x: ${'['.repeat(depth)}${']'.repeat(depth)}`),
  fc.integer({ min: 1, max: 60 }).map((depth) => `"z": ${'{a: '.repeat(depth)}~${'}'.repeat(depth)}`),
  fc.constantFrom(
    '\ufeffq: 1',
    '"\ufeff": "\ufeff"',
    'ReadOnlyPort: 7',
    'readonlyPort: 8',
    'w: [a: b, ? c]',
    'v: &v {k: 1}',
  ),
);

const padding = fc.integer({ min: 0, max: 600 }).map((length) => `#${'.'.repeat(length)}\n`);

export const spelledConfig: fc.Arbitrary<SpelledConfig> = fc
  .record({
    port: fc.constantFrom(10, 10255, 65535),
    mode: fc.constantFrom('AlwaysAllow', 'Webhook'),
    anonymous: fc.boolean(),
    isFlow: fc.boolean(),
    isMerged: fc.boolean(),
    isTwice: fc.boolean(),
    start: fc.constantFrom('', '\ufeff', '%YAML 1.1\n---\n', '---\n', '\n\n'),
    end: fc.constantFrom('', '\n', '\n---\nreadOnlyPort: 1\n', '\n...\n%bad\n'),
  })
  .chain((config) =>
    fc
      .record({
        version: quotedText('kubelet.config.k8s.io/v1beta1'),
        kind: quotedText('KubeletConfiguration'),
        key: fc.constantFrom(
          'readOnlyPort',
          '"readOnlyPort"',
          "'readOnlyPort'",
          '"\\x72eadOnlyPort"',
          '? readOnlyPort\n',
        ),
        port: number(config.port),
        mode: quotedText(config.mode),
        anonymous: bool(config.anonymous),
        noise: fc.array(noise, { maxLength: 3 }),
        padding,
        order: fc.array(fc.nat(), { minLength: 9, maxLength: 9 }),
      })
      .map((words) => ({ ...config, text: written(config, words) })),
  );

interface Words {
  version: string;
  kind: string;
  key: string;
  port: string;
  mode: string;
  anonymous: string;
  noise: string[];
  padding: string;
  order: number[];
}

function written(
  {
    isFlow,
    isMerged,
    isTwice,
    start,
    end,
  }: { isFlow: boolean; isMerged: boolean; isTwice: boolean; start: string; end: string },
  words: Words,
): string {
  const key = isFlow ? words.key.replace('\n', '') : words.key;
  const port = isMerged ? `<<: {${key.replace('\n', '')}: ${words.port}}` : `${key}: ${words.port}`;
  const fields = [
    `apiVersion: ${words.version}`,
    `kind: ${words.kind}`,
    `authorization: {mode: ${words.mode}}`,
    `authentication: {anonymous: {enabled: ${words.anonymous}}}`,
    ...words.noise.filter((field, index, all) => all.indexOf(field) === index),
  ];
  const shuffled = fields
    .map((field, index) => ({ field, at: words.order[index] ?? 0 }))
    .sort((a, b) => a.at - b.at)
    .map(({ field }) => field);
  // The last one counts, also over a merged one before it.
  const all = [...(isTwice ? ['readOnlyPort: 3'] : []), ...shuffled, port];
  return isFlow
    ? `${start}${words.padding}{\n ${all.join(',\n ')}}${end}`
    : `${start}${words.padding}${all.join('\n')}${end}`;
}
