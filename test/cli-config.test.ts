/** `relet config` as a user runs it: exit codes, formats, standard input, colours. */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { needs } from './programs.js';
import { executable, relet } from './run-relet.js';
import { temporaryDir } from './temporary-dir.js';

const dir = temporaryDir();

const header = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';

function file(name: string, text: string): string {
  writeFileSync(join(dir, name), text);
  return name;
}

const run = (args: string[], stdin?: string) => relet(args, { cwd: dir, ...(stdin === undefined ? {} : { stdin }) });
const good = file('good.yaml', `${header}maxPods: 60\n`);
const bad = file('bad.yaml', `${header}maxPods: -1\n`);

describe('relet', () => {
  test('without a verb, and with --help, it lists its verbs', () => {
    expect(run([])).toEqual(run(['--help']));
    expect(run(['--help']).stdout).toMatch(/^ {2}config {2}/m);
    expect(run(['help', 'config']).stdout).toContain('Usage: relet config');
  });

  test('an unknown verb exits with 2 and a suggestion', () => {
    expect(run(['confg'])).toEqual({
      status: 2,
      stdout: '',
      stderr: "relet: there is no verb 'confg'; did you mean 'relet config'?\n",
    });
  });

  const verbs = [...run(['--help']).stdout.matchAll(/^ {2}([a-z]+) {2}/gm)].map((match) => match[1]!);

  test('its help names all verbs, those with a bundle of their own too', () => {
    expect(verbs).toEqual(expect.arrayContaining(['up', 'get', 'set', 'kubelet', 'node', 'controller', 'apiserver']));
  });

  test.each([
    '',
    ...verbs,
    ...['validate', 'upgrade-check', 'explain', 'diff', 'merge', 'defaults', 'schema'].map((name) => `config ${name}`),
    ...['status', 'view', 'use-local', 'retry', 'hold', 'release'].map((name) => `node ${name}`),
  ])('the help of relet %s fits 80 columns', (verb) => {
    // A kubelet that is installed would add its own.
    const alone = verb === 'kubelet' ? ['--kubelet-binary=none'] : [];
    const { stdout, status } = run([...verb.split(' ').filter(Boolean), ...alone, '--help']);
    expect(status).toBe(0);
    expect(stdout).toContain(`relet ${verb}`.trim());
    expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([]);
  });

  test.each([
    ['evictionHard.memory.available', 'evictionHard'],
    ['--max-pods', 'maxPods'],
  ])('config explain %s is about %s', (word, field) => {
    expect(run(['config', 'explain', word]).stdout).toMatch(new RegExp(`^FIELD +${field} `));
  });

  test('a verb of kubectl is answered with the one of relet', () => {
    expect(run(['rollback']).stderr).toContain("did you mean 'relet undo'?");
    expect(run(['status']).stderr).toContain("did you mean 'relet get' or 'relet describe'?");
  });

  test('relet node TAB offers its verbs', () => {
    expect(run(['__complete', 'node', 'use']).stdout).toMatch(/^use-local\t.*\n:4\n$/);
  });

  test('the beginning of a verb is understood as what was meant, and wrong usage names the help', () => {
    expect(run(['ge']).stderr).toContain("did you mean 'relet get'?");
    expect(run(['apiserver', '--prot=1']).stderr).toContain("See 'relet apiserver --help'.");
  });
});

describe('relet config validate', () => {
  test('a good file exits with 0', () => {
    expect(run(['config', 'validate', good, '--kubelet-version', '1.32'])).toEqual({
      status: 0,
      stdout: 'good.yaml: fine for kubelet 1.32\n',
      stderr: '',
    });
  });

  test('a bad file exits with 1, and the finding has its place', () => {
    const { status, stdout } = run(['config', 'validate', good, bad, '--kubelet-version', '1.32']);
    expect(status).toBe(1);
    expect(stdout).toMatch(/^bad\.yaml:3:\d+ {2}error {2}maxPods$/m);
    expect(stdout).toContain('bad.yaml: kubelet 1.32 would refuse it (validate-error)');
  });

  test('the newest known kubelet is the default, and it says so', () => {
    const { stdout, stderr } = run(['config', 'validate', good]);
    expect(stdout).toMatch(/fine for kubelet 1\.\d+/);
    expect(stderr).toMatch(/the newest relet knows; --kubelet-version chooses another/);
  });

  test('a kubelet newer than relet knows is read as the newest, and it says so', () => {
    const { status, stderr } = run(['config', 'validate', good, '--kubelet-version', '1.99']);
    expect(status).toBe(0);
    expect(stderr).toMatch(/checked for kubelet 1\.37: 1\.99 is newer than relet knows/);
  });

  test('JSON has one object a file, with exactly the promised keys', () => {
    const { status, stdout, stderr } = run([
      'config',
      'validate',
      good,
      bad,
      '-o',
      'json',
      '--kubelet-version',
      'v1.32.1',
    ]);
    expect(status).toBe(1);
    expect(stderr).toBe('');
    const [first, second] = JSON.parse(stdout);
    expect(first).toEqual({
      file: 'good.yaml',
      kubeletVersion: '1.32',
      verdict: 'accepted',
      startup: 'ok',
      findings: [],
    });
    expect(second).toEqual({
      file: 'bad.yaml',
      kubeletVersion: '1.32',
      verdict: 'validate-error',
      startup: 'fails',
      findings: [
        {
          severity: 'error',
          source: 'kubelet',
          path: 'maxPods',
          line: 3,
          column: expect.any(Number),
          message: 'invalid configuration: maxPods (--max-pods) -1 must not be a negative number',
        },
      ],
    });
  });

  test('GitHub gets an annotation, or nothing when all is well', () => {
    expect(run(['config', 'validate', good, '-o', 'github', '--kubelet-version', '1.32']).stdout).toBe('');
    const { stdout } = run(['config', 'validate', bad, '-o', 'github', '--kubelet-version', '1.32']);
    expect(stdout).toMatch(/^::error file=bad\.yaml,line=3,col=\d+,title=maxPods::invalid configuration/);
  });

  describe('an overlay', () => {
    const head = 'apiVersion: relet.dev/v1alpha1\nkind: KubeletConfigurationOverlay\n';
    const overlay = file('overlay.yaml', `${head}config:\n  maxPods: 150\n  imageGCLowThresholdPercent: 75\n`);
    const local = file('local.yaml', `${header}port: 70000\n`);
    const dropIn = file('10-images.conf', `${header}imageGCHighThresholdPercent: 70\n`);
    const version = ['--kubelet-version', '1.32'];

    test('without --local is checked over an empty local config, and the output says so', () => {
      expect(run(['config', 'validate', overlay, ...version])).toEqual({
        status: 0,
        stdout: 'overlay.yaml over an empty local config: fine for kubelet 1.32\n',
        stderr: '',
      });
    });

    test('is merged into the local config and its drop-ins, and findings name their file', () => {
      const args = ['config', 'validate', overlay, '--local', local, '--local', dropIn, ...version];
      const { status, stdout } = run([...args, '-o', 'json']);
      expect(status).toBe(1);
      const [report] = JSON.parse(stdout);
      expect(report).toMatchObject({ file: 'overlay.yaml', local: ['local.yaml', '10-images.conf'] });
      const places = report.findings.map(({ path, file = 'overlay.yaml', line }: Record<string, unknown>) => [
        path,
        `${file}:${line}`,
      ]);
      expect(places).toEqual([
        ['imageGCLowThresholdPercent', 'overlay.yaml:5'],
        ['port', 'local.yaml:3'],
      ]);
      expect(run(args).stdout).toContain('local.yaml:3:7  error  port');
      expect(run([...args, '-o', 'github']).stdout).toContain('::error file=local.yaml,line=3');
    });

    test('in a ConfigMap is found, and its lines are lines of the manifest', () => {
      const text = `${head}config:\n  maxPods: -1\n`.replace(/^(?=.)/gm, '    ');
      const manifest = file('overlay-map.yaml', `kind: ConfigMap\nmetadata: {name: a}\ndata:\n  kubelet: |\n${text}`);
      const { stdout } = run(['config', 'validate', manifest, ...version]);
      expect(stdout).toMatch(/^overlay-map\.yaml:8:16 {2}error {2}maxPods$/m);
    });

    test.each([
      ['broken YAML', `${head}unset: [a\n`, /^meant\.yaml:4:1 {2}error.*\n {4}yaml: line \d+: /],
      [
        'a misspelt kind',
        'apiVersion: relet.dev/v1alpha1\nkind: KubeletConfigOverlay\n',
        /^meant\.yaml:2:7 .*\n {4}kind "KubeletConfigOverlay" is not known; did you mean\n {4}"KubeletConfigurationOverlay"\?$/m,
      ],
      ['no header', 'config: {maxPods: 5}\n', /^ {4}apiVersion is missing: write apiVersion: relet\.dev\/v1alpha1$/m],
    ])('with %s is reported as an overlay, with its place', (_name, text, expected) => {
      const { status, stdout } = run(['config', 'validate', file('meant.yaml', text), '--local', local, ...version]);
      expect(status).toBe(1);
      expect(stdout).toMatch(expected);
      expect(stdout).toContain('meant.yaml over local.yaml: rejected: not a valid overlay');
    });

    test('with a misspelt kind is known by its apiVersion, without --local too', () => {
      const text = `${head.replace('Configuration', 'Config')}config: {maxPods: 5}\n`;
      const { stdout } = run(['config', 'validate', file('by-version.yaml', text), ...version]);
      expect(stdout).toContain('kind "KubeletConfigOverlay" is not known');
    });

    test('is not a local config, and a whole config takes none', () => {
      expect(run(['config', 'validate', overlay, '--local', overlay]).stderr).toMatch(/it is an overlay/);
      const { status, stderr } = run(['config', 'validate', good, '--local', local]);
      expect([status, stderr]).toEqual([2, expect.stringMatching(/no file here is one/)]);
    });
  });

  test('standard input is read as -', () => {
    expect(run(['config', 'validate', '-', '--kubelet-version', '1.32'], `${header}maxPods: 7\n`).status).toBe(0);
    expect(run(['config', 'validate', '-', '--kubelet-version', '1.32'], `${header}maxPods: -7\n`).status).toBe(1);
  });

  test('a flag overrides the file, as on the node', () => {
    const over = (value: string) =>
      run(['config', 'validate', good, '--flag', `max-pods=${value}`, '--kubelet-version', '1.32']);
    expect(over('61').status).toBe(0);
    expect(over('-1').status).toBe(1);
  });

  test('an unknown field is an error with a suggestion; --lenient makes it a warning, as the kubelet does', () => {
    const typo = file('typo.yaml', `${header}maxPodz: 60\n`);
    const strict = run(['config', 'validate', typo, '--kubelet-version', '1.32']);
    expect(strict.status).toBe(1);
    expect(strict.stdout).toMatch(/typo\.yaml:3:1 {2}error.*maxPodz/);
    expect(strict.stdout).toContain('maxPods');
    const lenient = run(['config', 'validate', typo, '--lenient', '--kubelet-version', '1.32']);
    expect(lenient.status).toBe(0);
    expect(lenient.stdout).toMatch(/typo\.yaml:3:1 {2}warning/);
  });

  test('what the kubelet accepts and then dies of is an error of relet', () => {
    const deadly = file('deadly.yaml', `${header}evictionHard: {memory.available: 100mb}\n`);
    const { status, stdout } = run(['config', 'validate', deadly, '-o', 'json', '--kubelet-version', '1.32']);
    expect(status).toBe(1);
    const [report] = JSON.parse(stdout);
    expect(report).toMatchObject({ verdict: 'accepted', startup: 'fails' });
    expect(report.findings[0]).toMatchObject({ severity: 'error', source: 'relet', line: 3 });
  });

  test('findings in a ConfigMap point into the manifest', () => {
    const manifest = file(
      'map.yaml',
      `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: node\ndata:\n  kubelet: |\n    ${header.trimEnd().replace('\n', '\n    ')}\n    maxPods: -1\n`,
    );
    const { stdout } = run(['config', 'validate', manifest, '-o', 'json', '--kubelet-version', '1.32']);
    const [report] = JSON.parse(stdout);
    expect(report.file).toBe('map.yaml');
    expect(report.findings).toHaveLength(1);
    expect(report.findings[0]).toMatchObject({ path: 'maxPods', line: 9 });
    expect(report.findings[0].column).toBeGreaterThanOrEqual(5);
  });

  test.each([
    ['a file that is not there', ['validate', 'absent.yaml'], /absent\.yaml: there is no such file/],
    ['no file at all', ['validate'], /missing required argument 'FILE'/],
    ['a version that is none', ['validate', good, '--kubelet-version', 'new'], /Write it as 1\.32 or v1\.32\.1/],
    ['an unknown format', ['validate', good, '-o', 'xml'], /Allowed choices are text, json, github/],
    ['a host description that is none', ['validate', good, '--host', good], /--host good\.yaml: /],
    ['an unknown subcommand', ['valdiate'], /Did you mean validate/],
  ])('%s exits with 2', (_name, args, message) => {
    const { status, stdout, stderr } = run(['config', ...args]);
    expect(status).toBe(2);
    expect(stdout).toBe('');
    expect(stderr).toMatch(message);
  });

  test('text is 80 columns wide and has no colours when it is not for a terminal', () => {
    const { stdout } = run(['config', 'validate', bad, '--kubelet-version', '1.32']);
    for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
    expect(stdout).not.toContain('\u001b');
  });
});

const terminal = needs('script');

describe('relet config upgrade-check', () => {
  const upgrading = file('upgrading.yaml', `${header}eventRecordQPS: 0\nfeatureGates:\n  ImageVolume: false\n`);
  const upgrade = (...args: string[]) => run(['config', 'upgrade-check', ...args]);

  test('a config that stops the new kubelet exits with 1, and each finding has its place, its minor and its remedy', () => {
    const { status, stdout, stderr } = upgrade(upgrading, '--from=1.34', '--to=1.37');
    expect({ status, stderr }).toEqual({ status: 1, stderr: '' });
    expect(stdout).toMatch(
      /^upgrading\.yaml:5:16 {2}error {2}featureGates\[ImageVolume\], from 1\.36 on\n.*locked to true\n {4}remove it/,
    );
    expect(stdout).toMatch(/^upgrading\.yaml:3:17 {2}warning {2}eventRecordQPS, from 1\.37 on$/m);
    expect(stdout).toMatch(/^upgrading\.yaml {2}warning {2}failCgroupV1, from 1\.35 on$/m);
    expect(stdout).toMatch(/^upgrading\.yaml, kubelet 1\.34 to 1\.37: would not start with it \(1 error, /m);
  });

  test('a finding of several configs is printed once, with every place, errors first', () => {
    const other = file('other.yaml', `${header}\n\neventRecordQPS: 0\n`);
    const { stdout } = upgrade(other, upgrading, good, '--from=1.34', '--to=1.37');
    expect(stdout).toMatch(/^upgrading\.yaml:5:16 {2}error {2}featureGates\[ImageVolume\], from 1\.36 on\n/);
    expect(stdout.match(/ eventRecordQPS, from 1\.37 on$/gm)).toHaveLength(1);
    expect(stdout).toMatch(/^other\.yaml:5:17 {2}warning.*\n(?: {4}.*\n)* {4}also in upgrading\.yaml:3:17\n/m);
    expect(stdout.match(/ failCgroupV1, from 1\.35 on$/gm)).toHaveLength(1);
    expect(stdout).toMatch(/^ {4}also in upgrading\.yaml, good\.yaml$/m);
    expect(stdout.match(/^\w+\.yaml, kubelet 1\.34 to 1\.37: .*$/gm)).toHaveLength(3);
  });

  test('warnings exit with 0, and with 1 where --strict is given', () => {
    const quiet = ['-', '--from=1.36', '--to=1.37'];
    const config = `${header}eventRecordQPS: 0\n`;
    expect(run(['config', 'upgrade-check', ...quiet], config).status).toBe(0);
    expect(run(['config', 'upgrade-check', ...quiet, '--strict'], config).status).toBe(1);
    expect(run(['config', 'upgrade-check', ...quiet, '--strict'], header).status).toBe(0);
  });

  test('a config that starts names the signals that show harm by what changes, one that does not start none', () => {
    const { stdout } = upgrade(good, '--from=1.34', '--to=1.37');
    expect(stdout).toMatch(/^ {4}Watch: podStartSeconds \(for new pods only\)$/m);
    expect(upgrade(upgrading, '--from=1.34', '--to=1.37').stdout).not.toContain('Watch');
    expect(upgrade(good, '--from=1.36', '--to=1.37').stdout).not.toContain('Watch');
  });

  test('without --from the minor before is used, and it says so', () => {
    const { stdout, stderr } = upgrade(good, '--to=v1.37.1');
    expect(stdout).toContain('good.yaml, kubelet 1.36 to 1.37: means the same');
    expect(stderr).toBe('relet: compared with kubelet 1.36; --from chooses another\n');
  });

  test('JSON has one object a document, with exactly the promised keys', () => {
    const [report] = JSON.parse(
      upgrade(upgrading, '--from=1.35', '--to=1.36', '--flag=boot-id-file=/x', '-o', 'json').stdout,
    );
    expect(Object.keys(report)).toEqual(['file', 'from', 'to', 'startup', 'findings']);
    expect(report).toMatchObject({ file: 'upgrading.yaml', from: '1.35', to: '1.36', startup: 'fails' });
    expect(report.findings).toMatchObject([
      { severity: 'error', change: 'rejected', since: '1.36', path: 'featureGates[ImageVolume]', line: 5, column: 16 },
      { severity: 'note', change: 'deprecated', until: '1.36', path: '--boot-id-file', flag: '--boot-id-file' },
    ]);
  });

  test('GitHub gets an annotation for each line, also of a local file under an overlay', () => {
    const overlay = file(
      'up-overlay.yaml',
      'apiVersion: relet.dev/v1alpha1\nkind: KubeletConfigurationOverlay\nconfig:\n  maxPods: 5\n',
    );
    const { stdout } = upgrade(overlay, `--local=${upgrading}`, '--from=1.36', '--to=1.37', '-o', 'github');
    expect(stdout).toMatch(
      /^::warning file=upgrading\.yaml,line=3,col=17,title=eventRecordQPS%2C from 1\.37 on::kubelet 1\.36 to 1\.37: /m,
    );
  });

  test.each([
    [[], "required option '--to"],
    [['--to=1.37'], 'name a file'],
    [['--to=1.37', '--all', good], 'do not go together'],
    [['--to=1.37', '--all', '--flag=a=b'], '--flag and --local are for files'],
    [['--to=1.38', good], 'relet supports kubelet 1.11 to 1.37; other versions cannot be checked'],
    [['--to=1.36', '--from=1.36', good], 'must be an earlier version'],
    [['--to=1.11', good], '--to must be 1.12 or later'],
    [['--to=1.37', 'missing.yaml'], 'cannot read missing.yaml'],
  ])('exits with 2 for %j', (args, message) => {
    const { status, stdout, stderr } = upgrade(...args);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toContain(message);
  });

  test('a finding about the whole document is named after it', () => {
    const text = run(['config', 'upgrade-check', '-', '--to=1.37'], 'a: [b');
    expect(text).toMatchObject({
      status: 1,
      stdout: expect.stringMatching(/^-:2:1 {2}error {2}KubeletConfiguration, in 1\.36 too\n/),
    });
    const github = run(['config', 'upgrade-check', '-', '--to=1.37', '-o', 'github'], 'a: [b');
    expect(github.stdout).toContain('title=KubeletConfiguration%2C in 1.36 too::');
  });

  test('the host decides what depends on it', () => {
    const host = file('host.json', '{"cgroupVersion": 1}');
    expect(upgrade(good, '--from=1.34', '--to=1.35', `--host=${host}`)).toMatchObject({
      status: 1,
      stdout: expect.stringContaining('error  failCgroupV1, from 1.35 on'),
    });
  });
});

describe.skipIf(terminal.isMissing)(`on a terminal${terminal.note}`, () => {
  const onTerminal = (env: Record<string, string>) =>
    spawnSync(
      'script',
      ['-qec', `'${process.execPath}' '${executable}' config validate bad.yaml --kubelet-version 1.32`, '/dev/null'],
      {
        cwd: dir,
        env: { PATH: process.env.PATH, TERM: 'xterm', ...env },
        encoding: 'utf8',
      },
    );

  test('errors are red, and the exit code is the same', () => {
    const { stdout, status } = onTerminal({});
    expect(stdout).toContain('\u001b[31merror');
    expect(status).toBe(1);
  });

  test('NO_COLOR and dumb terminals get plain text', () => {
    for (const env of [{ NO_COLOR: '1' }, { TERM: 'dumb' }]) expect(onTerminal(env).stdout).not.toContain('\u001b');
  });
});

describe('relet config explain', () => {
  test.each([['maxPods'], ['MAXPODS'], ['max-pods'], ['KubeletConfiguration.maxPods']])('%s is one field', (field) => {
    expect(run(['config', 'explain', field]).stdout).toMatch(/^FIELD {5}maxPods <int32>\nDEFAULT {3}110\n/);
  });

  test('part of a name lists the fields that have it', () => {
    const { stdout } = run(['config', 'explain', 'evictionSoft']);
    expect(stdout).toMatch(/^FIELD {5}evictionSoft /);
    expect(run(['config', 'explain', 'grace']).stdout).toMatch(/^\d+ fields for 'grace':/);
  });

  test('a field says when a change shows, what to watch, and which kubelets have a bug with it', () => {
    const { stdout } = run(['config', 'explain', 'maxParallelImagePulls']);
    expect(stdout).toContain(
      'WHEN YOU SEE IT\n    for new pods only\nWHAT TO WATCH\n    podStartSeconds: from PodScheduled',
    );
    expect(stdout).toContain(
      'KNOWN BUGS OF KUBELETS\n    1.33 to 1.36, fixed in 1.37 (kubernetes/kubernetes#138937): above 31,',
    );
  });

  test('a default is the one of the version asked for', () => {
    const of = (version: string) => run(['config', 'explain', 'kubeAPIQPS', '--kubelet-version', version]).stdout;
    expect(of('1.26')).toContain('DEFAULT   5\n');
    expect(of('1.27')).toContain('DEFAULT   50\n');
    expect(run(['config', 'explain', 'seccompDefault', '--kubelet-version', '1.20']).stdout).toContain('not in 1.20');
  });

  test('a mistyped field exits with 2 and a suggestion', () => {
    const { status, stderr } = run(['config', 'explain', 'maxPdos']);
    expect(status).toBe(2);
    expect(stderr).toContain("did you mean 'maxPods'?");
  });

  test('all fields fit 80 columns', () => {
    for (const line of run(['config', 'explain']).stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
  });
});

const overlayHead = 'apiVersion: relet.dev/v1alpha1\nkind: KubeletConfigurationOverlay\n';
const overlay = file('port-overlay.yaml', `${overlayHead}config: {port: 10260}\nunset: [clusterDomain]\n`);

describe('relet config merge', () => {
  const dropIn = file('10.conf', `${header}clusterDomain: example.org\nclusterDNS: [10.96.0.10]\n`);
  const merge = (...args: string[]) => run(['config', 'merge', ...args, '--kubelet-version', '1.32']);
  const merged = `${header}clusterDNS:\n  - "10.96.0.10"\nmaxPods: 60\nport: 10260\n`;

  test('prints the local config, its drop-ins and the overlay as one config', () => {
    expect(merge(good, dropIn, overlay)).toEqual({ status: 0, stdout: merged, stderr: '' });
    expect(merge(overlay, '--local', good, '--local', dropIn)).toEqual({ status: 0, stdout: merged, stderr: '' });
  });

  test('reads one of the files from standard input', () => {
    const text = `${header}maxPods: 60\nclusterDNS: [10.96.0.10]\n`;
    const { status, stdout } = run(['config', 'merge', '-', overlay, '--kubelet-version', '1.32'], text);
    expect({ status, stdout }).toEqual({ status: 0, stdout: merged });
    expect(merge('-', '-')).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('can be only one of the files'),
    });
  });

  test('without a local file it is a host without --config, and says so', () => {
    const { status, stdout, stderr } = merge(overlay);
    expect(status).toBe(0);
    expect(stdout).toContain('readOnlyPort: 10255');
    expect(stderr).toBe('relet: no local file given; merged as on a host whose kubelet has no --config\n');
  });

  test('a relative path from standard input counts from the working directory', () => {
    const text = `${header}staticPodPath: manifests\n`;
    const { stdout } = run(['config', 'merge', '-', overlay, '--kubelet-version', '1.32'], text);
    expect(stdout).toContain(`\nstaticPodPath: ${dir}/manifests\n`);
  });

  test('of several errors the first is a whole sentence, and the others are counted', () => {
    const several = file('several.yaml', `${overlayHead}config: {maxpods: 5, prt: 1}\nunset: [x]\n`);
    expect(merge(good, several).stderr).toBe(
      `relet: cannot decode overlay: several.yaml:3:10: unknown field "maxpods": did you mean "maxPods"? 2 more errors: 'relet config validate several.yaml --local FILE' shows all.\n`,
    );
  });

  test('warns of what the kubelet ignores in a local file, with its place', () => {
    const { status, stderr } = merge(file('typo.yaml', `${header}maxpods: 60\n`), overlay);
    expect(status).toBe(0);
    expect(stderr).toMatch(/^relet: warning: .*typo.yaml:3:1: maxpods: unknown field "maxpods"/);
  });

  test.each([
    ['an overlay that is none', [good], 'not an overlay'],
    ['an overlay as a local file', [overlay, overlay], 'port-overlay.yaml: only the last file may be an overlay'],
    [
      'broken YAML',
      [good, file('syn.yaml', `${overlayHead}unset: [a\n`)],
      'cannot decode overlay: syn.yaml:4:1: yaml: ',
    ],
    [
      'a misspelt kind',
      [good, file('kind.yaml', 'apiVersion: relet.dev/v1alpha1\nkind: KubeletConfigOverlay\n')],
      'kind.yaml:2:7: kind "KubeletConfigOverlay" is not known; did you mean "KubeletConfigurationOverlay"?',
    ],
    [
      'no header',
      [good, file('headless.yaml', 'config: {maxPods: 5}\n')],
      'apiVersion is missing: write apiVersion: relet.dev/v1alpha1. 1 more error: ',
    ],
    [
      'an overlay with an error',
      [good, 'wrong.yaml'],
      'cannot decode overlay: wrong.yaml:3:10: unknown field "maxpods"',
    ],
    ['a local file with an error', ['broken.yaml', overlay], 'broken.yaml: failed to decode'],
    ['a file that is not there', [good, 'no.yaml'], 'cannot read no.yaml'],
  ])('%s exits with 2', (_name, files, message) => {
    file('wrong.yaml', 'apiVersion: relet.dev/v1alpha1\nkind: KubeletConfigurationOverlay\nconfig: {maxpods: 5}\n');
    file('broken.yaml', `${header}maxPods: many\n`);
    expect(merge(...files)).toMatchObject({ status: 2, stdout: '', stderr: expect.stringContaining(message) });
  });
});

describe('relet config diff', () => {
  test('equal in meaning exits with 0', () => {
    const spelled = file('spelled.yaml', `${header}maxPods: 60\nsyncFrequency: 60s\nport: 10250\n`);
    expect(run(['config', 'diff', good, spelled, '--kubelet-version', '1.32'])).toMatchObject({ status: 0 });
  });

  test('an empty file stands for the defaults of the version', () => {
    const spelledOut = file('defaults.yaml', `${header}maxPods: 110\n`);
    expect(run(['config', 'diff', '/dev/null', spelledOut, '--kubelet-version', '1.32'])).toMatchObject({ status: 0 });
    const { status, stdout } = run(['config', 'diff', '/dev/null', good, '--kubelet-version', '1.32']);
    expect({ status, stdout }).toMatchObject({ status: 1, stdout: expect.stringContaining('- 110\n    + 60') });
  });

  test('an overlay is compared as what it makes of the local config', () => {
    const { status, stdout } = run(['config', 'diff', good, overlay, '--local', good, '--kubelet-version', '1.32']);
    expect(status).toBe(1);
    expect(stdout).toMatch(/^port .*\n +- 10250\n +\+ 10260\n/);
    const same = run(['config', 'diff', overlay, overlay, '--local', good, '--kubelet-version', '1.32']);
    expect(same).toMatchObject({ status: 0 });
  });

  test('relative paths count from the local file on both sides', () => {
    const relative = file('relative.yaml', `${header}staticPodPath: manifests\n`);
    const { stdout } = run(['config', 'diff', relative, overlay, '--local', relative, '--kubelet-version', '1.32']);
    expect(stdout).toMatch(/^port /);
    expect(stdout).not.toContain('staticPodPath');
  });

  test('an overlay without --local, and --local without an overlay, exit with 2', () => {
    expect(run(['config', 'diff', good, overlay])).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('--local'),
    });
    expect(run(['config', 'diff', good, good, '--local', good])).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('neither file is one'),
    });
  });

  test('a difference exits with 1 and shows what it needs', () => {
    const other = file('other.yaml', `${header}maxPods: 50\ncpuManagerPolicy: static\nkubeReserved: {cpu: 500m}\n`);
    const { status, stdout } = run(['config', 'diff', good, other, '--kubelet-version', '1.32']);
    expect(status).toBe(1);
    expect(stdout).toMatch(/^maxPods {2}restart\n {4}- 60\n {4}[+] 50$/m);
    expect(stdout).toMatch(/cpuManagerPolicy/);
    expect(stdout).toContain('state-file');
    const json = JSON.parse(run(['config', 'diff', good, other, '-o', 'json', '--kubelet-version', '1.32']).stdout);
    expect(json).toContainEqual(expect.objectContaining({ path: 'maxPods', from: 60, to: 50, needs: 'restart' }));
  });

  test('a file that cannot be decoded exits with 2', () => {
    const broken = file('broken.yaml', `${header}maxPods: many\n`);
    const { status, stderr } = run(['config', 'diff', good, broken, '--kubelet-version', '1.32']);
    expect(status).toBe(2);
    expect(stderr).toContain('broken.yaml');
  });
});

test.each([
  ['merge', good, overlay, '-o', 'json'],
  ['schema', '--kubelet-version', 'abc'],
])('wrong usage of relet config %s names its own help', (verb, ...args) => {
  expect(run(['config', verb, ...args]).stderr).toMatch(new RegExp(`See 'relet config ${verb} --help'\\.\n$`));
});

describe('relet config defaults and schema', () => {
  test('the defaults of a version are a config it accepts', () => {
    const { stdout } = run(['config', 'defaults', '--kubelet-version', '1.23']);
    expect(stdout).toMatch(/^apiVersion: kubelet\.config\.k8s\.io\/v1beta1\nkind: KubeletConfiguration\n/);
    expect(stdout).toMatch(/^maxPods: 110$/m);
    expect(run(['config', 'validate', '-', '--kubelet-version', '1.23'], stdout)).toMatchObject({ status: 0 });
    expect(JSON.parse(run(['config', 'defaults', '-o', 'json']).stdout)).toMatchObject({ maxPods: 110 });
  });

  test('the schema of a version has its fields and not those of others', () => {
    const of = (version: string) => JSON.parse(run(['config', 'schema', '--kubelet-version', version]).stdout);
    expect(of('1.32').properties).toHaveProperty('crashLoopBackOff');
    expect(of('1.31').properties).not.toHaveProperty('crashLoopBackOff');
    expect(of('1.32')).toHaveProperty('$schema');
    const overlay = JSON.parse(run(['config', 'schema', '--overlay', '--kubelet-version', '1.32']).stdout);
    expect(overlay.properties.config.properties).toHaveProperty('crashLoopBackOff');
  });
});
