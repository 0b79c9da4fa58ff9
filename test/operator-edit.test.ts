/** relet edit, in a pipe. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { header, OperatorCluster } from './operator-rig.js';

let cluster: OperatorCluster;

beforeAll(async () => {
  cluster = await OperatorCluster.start();
});
afterAll(() => cluster?.close());

describe('relet edit', () => {
  const editor = (script: string) => ({
    KUBE_EDITOR: `sh ${join(cluster.dir, cluster.file('editor.sh', `${script}\n`))}`,
  });
  /** A node that is assigned a whole config with 77 pods. */
  const edited = async (name: string) => {
    await cluster.node(name, { does: 'prove' });
    await cluster.relet(`assign ${await cluster.push(`${header}maxPods: 77\n`)} ${name} --yes`);
  };
  const leftovers = () => readdirSync(cluster.dir).filter((name) => name.startsWith('relet-edit-'));

  test('changes what the editor changed', async () => {
    await edited('b-1');
    const { status, stdout } = await cluster.relet('edit b-1 --yes', {
      env: editor('sed -i "s/^maxPods: .*/maxPods: 123/" "$1"'),
    });
    expect(status).toBe(0);
    expect(stdout).toMatch(/^ {4}\+ 123$/m);
    const { text } = await cluster.payloadOf('b-1');
    expect(text).toMatch(/^maxPods: 123$/m);
    expect(text).not.toContain('# relet:');
  });

  test('comments of the person stay', async () => {
    await edited('noted');
    await cluster.relet('edit noted --yes', {
      env: editor('printf "# agreed with ann\\n" >> "$1"; sed -i "s/^maxPods: .*/maxPods: 124/" "$1"'),
    });
    expect((await cluster.payloadOf('noted')).text).toContain('# agreed with ann');
  });

  test('errors come back as comments above their line, and can be corrected', async () => {
    await edited('corrected');
    const script = [
      'if grep -q "^# relet: error: maxPods" "$1"; then',
      `  cp "$1" ${join(cluster.dir, 'second.yaml')}`,
      '  sed -i "s/^maxPods: .*/maxPods: 125/" "$1"',
      'else sed -i "s/^maxPods: .*/maxPods: -1/" "$1"; fi',
    ].join('\n');
    const { status } = await cluster.relet('edit corrected --yes', { env: editor(script) });
    expect(status).toBe(0);
    expect(readFileSync(join(cluster.dir, 'second.yaml'), 'utf8')).toMatch(
      /^# relet: error: maxPods: .*\nmaxPods: -1$/m,
    );
    expect((await cluster.payloadOf('corrected')).text).toMatch(/^maxPods: 125$/m);
  });

  test('errors saved unchanged end it, and the text is kept', async () => {
    await edited('wrong');
    const { status, stderr } = await cluster.relet('edit wrong --yes', {
      env: editor('sed -i "s/^maxPods: .*/maxPods: -1/" "$1"'),
    });
    expect(status).toBe(2);
    expect(stderr).toMatch(/the text still has the same errors; nothing was changed/);
    const kept = /your text is kept in (\S+)/.exec(stderr)![1]!;
    expect(readFileSync(kept, 'utf8')).toMatch(/^maxPods: -1$/m);
    expect((await cluster.payloadOf('wrong')).text).toMatch(/^maxPods: 77$/m);
  });

  test.each([
    ['unchanged', 'as-is', 'true', 0, 'The text is unchanged'],
    ['emptied', 'emptied', ': > "$1"', 0, "The file is empty, so nothing was changed. 'relet reset emptied' returns"],
    ['only reordered in meaning', 'reordered', 'printf "# a thought\\n" >> "$1"', 0, 'has that already'],
    ['abandoned by a failing editor', 'abandoned', 'exit 3', 2, ''],
  ])('a text %s changes nothing and leaves no file', async (_name, node, script, code, words) => {
    await edited(node);
    const files = leftovers();
    const before = (await cluster.object(node)).metadata.resourceVersion;
    const { status, stdout } = await cluster.relet(`edit ${node} --yes`, { env: editor(script) });
    expect(status).toBe(code);
    expect(stdout).toContain(words);
    expect((await cluster.object(node)).metadata.resourceVersion).toBe(before);
    expect(leftovers()).toEqual(files);
  });
});
