/** The image of the controller: Dockerfile, what it may read, and the Deployment that names it, say the same. */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { parseDocument } from 'yaml';
import pkg from '../package.json' with { type: 'json' };

const repository = join(import.meta.dirname, '..');
const read = (name: string) => readFileSync(join(repository, name), 'utf8');
const dockerfile = read('Dockerfile');
const instructions = (name: string) =>
  [...dockerfile.matchAll(new RegExp(`^${name} (.*)$`, 'gm'))].map(([, rest]) => rest!);
const { spec } = parseDocument(read('deploy/base/controller.yaml')).toJS().spec.template;

test('the Deployment names the image of this version, and runs it as nobody', () => {
  expect(spec.containers[0].image).toBe(`relet:${pkg.version}`);
  expect(dockerfile).toContain(`relet:${pkg.version} .`);
  expect(instructions('USER')).toEqual([`${spec.securityContext.runAsUser}:${spec.securityContext.runAsUser}`]);
  const [command] = instructions('CMD');
  expect(JSON.parse(command!)).toEqual(spec.containers[0].args);
});

test('what goes into the image is enough to run the controller', () => {
  const root = mkdtempSync(join(tmpdir(), 'relet-image-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  for (const copied of instructions('COPY').filter((one) => one.startsWith('--from=build '))) {
    const [, ...words] = copied.split(' ');
    const target = words.pop()!;
    for (const source of words.map((word) => word.replace('/relet/', '')))
      cpSync(join(repository, source), join(root, target, words.length > 1 ? source : ''), { recursive: true });
  }
  // The build of the image removes these.
  const dist = join(root, 'opt/relet/dist');
  for (const name of readdirSync(dist).filter((name) => /\.map$|^types$|^apiserver.*\.cjs$|^lab\.js$/.test(name)))
    rmSync(join(dist, name), { recursive: true });
  const [program, ...args] = JSON.parse(instructions('ENTRYPOINT')[0]!) as string[];
  const inImage = args.map((arg) => (arg.startsWith('/') ? join(root, arg) : arg));
  const { status, stdout } = spawnSync(program!, [...inImage, 'controller', '--help'], { encoding: 'utf8' });
  expect(stdout).toContain('--leader-elect');
  expect(status).toBe(0);
});

test('the build may read what it copies', () => {
  const allowed = new Set(
    read('.dockerignore')
      .match(/^!.*$/gm)
      ?.map((line) => line.slice(1)),
  );
  const wanted = instructions('COPY')
    .filter((one) => !one.startsWith('--'))[0]!
    .split(' ')
    .slice(0, -1);
  for (const name of [...wanted, 'src', 'bin', 'scripts', 'tsconfig.json', 'LICENSE'])
    expect(allowed, name).toContain(name);
});
