/** Which configs a file holds, and that places in them are led back to the file. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { temporaryDir } from '../../../test/temporary-dir.js';
import { readConfigDocument, readConfigDocuments } from './documents.js';

const dir = temporaryDir();

function file(text: string): string {
  const path = join(dir, 'file.yaml');
  writeFileSync(path, text);
  return path;
}

const header = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';
const configMap = (name: string, data: string) =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\ndata:\n${data}`;
const literal = (key: string, text: string) => `  ${key}: |\n${text.replace(/^/gm, '    ').trimEnd()}\n`;

describe('documents of a file', async () => {
  test.each([
    ['a config', `${header}maxPods: 5\n`],
    ['a config of several documents, of which the kubelet reads what it reads', `${header}---\nmaxPods: 5\n`],
    ['a config that speaks of ConfigMaps', `${header}# kind: ConfigMap\nmaxPods: 5\n`],
    ['no YAML at all', 'kind: ConfigMap\n\t: [\n'],
    ['nothing', ''],
  ])('%s is handed on untouched', async (_name, text) => {
    const [document, ...others] = await readConfigDocuments(file(text));
    expect(others).toEqual([]);
    expect(document?.text).toBe(text);
    expect(document?.locate(3, 4)).toEqual({ line: 3, column: 4 });
  });

  test('the payload of a ConfigMap is unwrapped, and its lines are lines of the file', async () => {
    const text = configMap('node', literal('kubelet', `${header}maxPods: 5`));
    const [document, ...others] = await readConfigDocuments(file(text));
    expect(others).toEqual([]);
    expect(document?.text).toBe(`${header}maxPods: 5\n`);
    expect(document?.name).toBe(join(dir, 'file.yaml'));
    const { line, column } = document!.locate(3, 1);
    expect(text.split('\n')[line - 1]?.slice(column - 1)).toBe('maxPods: 5');
  });

  test('a literal block that begins with empty lines is led back as well', async () => {
    const text = 'kind: ConfigMap\ndata:\n  kubelet: |\n\n\n      maxPods: 5\n';
    const [document] = await readConfigDocuments(file(text));
    expect(document?.text).toBe('\n\nmaxPods: 5\n');
    expect(document?.locate(3, 10)).toEqual({ line: 6, column: 16 });
  });

  test('of a quoted payload only the start is known', async () => {
    const text = configMap('node', `  kubelet: "${header.replaceAll('\n', '\\n')}maxPods: 5\\n"\n`);
    const [document] = await readConfigDocuments(file(text));
    expect(document?.text).toBe(`${header}maxPods: 5\n`);
    expect(document?.locate(3, 10)).toEqual({ line: 5, column: 12 });
  });

  test('several ConfigMaps, lists of them and bare configs in one stream are all found by name', async () => {
    const stream = [
      configMap('a', literal('kubelet', `${header}maxPods: 1`) + literal('notes.txt', 'nothing to see')),
      'kind: Secret\n',
      configMap('b', literal('x.yaml', `${header}maxPods: 2`) + literal('y.yaml', `${header}maxPods: 3`)),
      `${header}maxPods: 4\n`,
      JSON.stringify({
        kind: 'List',
        items: [{ kind: 'ConfigMap', metadata: { name: 'c' }, data: { kubelet: 'maxPods: 5' } }],
      }),
    ].join('---\n');
    const path = file(stream);
    const found = await readConfigDocuments(path);
    expect(found.map(({ name }) => name.replace(path, ''))).toEqual([
      '#a/kubelet',
      '#b/x.yaml',
      '#b/y.yaml',
      '#document-4',
      '#c/kubelet',
    ]);
    expect(found.map(({ text }) => /maxPods: (\d)/.exec(text)?.[1])).toEqual(['1', '2', '3', '4', '5']);
    const place = found[3]!.locate(3, 10);
    expect(stream.split('\n')[place.line - 1]?.slice(place.column - 1)).toBe('4');
  });

  test('a manifest without a config is an error that says what was looked for', async () => {
    await expect(readConfigDocuments(file(configMap('node', '  color: blue\n')))).rejects.toThrow(
      /looks for data keys/,
    );
  });

  test('a file that is not there is an error with its name', async () => {
    await expect(readConfigDocuments(join(dir, 'absent.yaml'))).rejects.toThrow(/absent.yaml: there is no such file/);
    await expect(readConfigDocuments(dir)).rejects.toThrow(/it is a directory/);
    await expect(readConfigDocuments('/dev/zero')).rejects.toThrow(/larger than 8 MiB/);
  });

  test('where one config is wanted, several are an error', async () => {
    const text = configMap('b', literal('x.yaml', header) + literal('y.yaml', header));
    await expect(readConfigDocument(file(text))).rejects.toThrow(/holds 2 configs/);
  });
});
