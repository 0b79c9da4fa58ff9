/**
 * docs/security.md names a test for each threat, all of them are there, and each hostile party of the suite is on the page. Its table
 * of rights and its list of admission policies are those of deploy/.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';

const read = (path: string) => readFileSync(join(import.meta.dirname, '..', path), 'utf8');
const parties = 'test/cluster/greedy-parties.ts';
/** Files in which a test may be if the page names none: the cluster suite and its parts. */
const suite = ['test/cluster/suite.ts', 'test/cluster/reference-states.ts', parties];
const [, threats = ''] = read('docs/security.md').split(/^## Threats$/m);
const rows = (threats.split(/^## /m)[0] ?? '')
  .split('\n')
  .filter((line) => line.startsWith('| '))
  .map((line) => line.slice(2, -2).split(' | '))
  .slice(1)
  .map((cells) => ({ threat: cells[0]!, what: cells[1]!, test: cells.at(-1)! }));

/** Names of the tests in a text, also of those in tables or under a condition. */
const testsIn = (text: string) =>
  [...text.matchAll(/\btest(?:\.runIf\(\w+\)|\.each\(\[[\s\S]*?\](?: as const)?\))?\(\s*(['"])(.+?)\1,/g)].map(
    ([, , name]) => name!,
  );

describe('docs/security.md', () => {
  test('there are threats, and each says what stops it', () => {
    expect(rows.length).toBeGreaterThan(12);
    for (const { threat, what } of rows) expect(what, threat).toMatch(/\w/);
  });

  test.each(rows.map(({ threat, test }) => [threat, test]))('%s: the test exists', (_threat, cell) => {
    const [, path, name] = /^(?:`([\w./-]+)`: )?(.+)$/.exec(cell) ?? [];
    const files = path === undefined ? suite : [path];
    const found = files
      .flatMap((file) => testsIn(read(file)))
      .some((one) => one === name || one.startsWith(`${name}: %s`) || one === name?.replace(/^\w+/, '%s'));
    expect(found, `${files.join(', ')}: ${name}`).toBe(true);
  });

  test('each party of the suite who wants more than it may is a threat', () => {
    const named = new Set(rows.map(({ test }) => test));
    for (const name of testsIn(read(parties))) expect(named).toContain(name);
  });

  test('the rights of each role are those of deploy/, and no others', () => {
    const shown = tableAfter('### The rights of each role').flatMap(([role = '', may = '']) => rightsInText(role, may));
    const given = manifests()
      .filter(({ kind }) => kind === 'Role' || kind === 'ClusterRole')
      .flatMap(rightsOf);
    expect(shown.toSorted()).toEqual(given.toSorted());
  });

  test('the roles of the identities and of the commands exist', () => {
    const roles = new Set(manifests().flatMap(({ kind, metadata }) => (/Role$/.test(kind) ? [metadata.name] : [])));
    for (const [, name] of read('docs/security.md').matchAll(/Role `(relet:[\w-]+)`/g)) expect(roles).toContain(name);
    const people = [...roles].map((name) => name.replace('relet:', ''));
    const words = tableAfter('### What each command needs').flatMap((cells) =>
      cells.at(-1)!.split(/[;,]? (?:or|with|and) |[;,] /),
    );
    for (const word of words)
      expect([...people, '-n relet-system` viewer', '`-n relet-system` viewer']).toContain(word);
  });

  test('all admission policies of deploy/ are on the page, and no others', () => {
    const [, guards = ''] = read('docs/security.md').split(/^## Guards$/m);
    const named = [...(guards.split(/^## /m)[0] ?? '').matchAll(/^- `(relet-[\w-]+)`:/gm)].map(([, name]) => name);
    const present = manifests().flatMap(({ kind, metadata }) =>
      kind === 'ValidatingAdmissionPolicy' ? [metadata.name] : [],
    );
    expect(named.toSorted()).toEqual(present.toSorted());
  });
});

interface Rule {
  resources?: string[];
  nonResourceURLs?: string[];
  resourceNames?: string[];
  verbs: string[];
}

interface Manifest {
  kind: string;
  metadata: { name: string; namespace?: string };
  rules?: Rule[];
}

/** Returns the manifests of deploy/, without the charts, which are made of it. */
function manifests(): Manifest[] {
  const deploy = join(import.meta.dirname, '../deploy');
  return readdirSync(deploy, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.yaml') && !path.startsWith('helm'))
    .flatMap((path) => parseAllDocuments(readFileSync(join(deploy, path), 'utf8')))
    .flatMap((document) => (document.toJS() as Manifest | null) ?? []);
}

/** One line for each verb on each thing. */
const rightsOf = ({ kind, metadata: { name, namespace = '' }, rules = [] }: Manifest): string[] =>
  rules.flatMap(({ resources = [], nonResourceURLs = [], resourceNames = [], verbs }) =>
    [...resources, ...nonResourceURLs].flatMap((thing) =>
      verbs.map((verb) => [kind, name, namespace, thing, resourceNames.join(), verb === '*' ? 'all' : verb].join(' ')),
    ),
  );

/** `ClusterRole `NAME` in `NAMESPACE`` and `` `thing`, `thing` named `name`: verb, verb; … ``. */
function rightsInText(role: string, may: string): string[] {
  const [, kind, name, , namespace = ''] = /^(\w+) `([^`]+)`( in `([^`]+)`)?/.exec(role) ?? [];
  return may.split('; ').flatMap((part) => {
    const [things = '', verbs = ''] = part.split(/: (?=[a-z, ]+$)/);
    const [plain = '', names = ''] = things.split(' named ');
    const quoted = (text: string) => [...text.matchAll(/`([^`]+)`/g)].map(([, one]) => one);
    return quoted(plain).flatMap((thing) =>
      verbs.split(', ').map((verb) => [kind, name, namespace, thing, quoted(names).join(), verb].join(' ')),
    );
  });
}

/** The cells of the first table below a title. */
function tableAfter(title: string): string[][] {
  const [, below = ''] = read('docs/security.md').split(`${title}\n`);
  const lines = (below.split(/^#/m)[0] ?? '').split('\n').filter((line) => line.startsWith('| '));
  return lines.slice(1).map((line) => line.slice(2, -2).split(' | '));
}
