/** The programs that tests use besides Node, where each comes from, most from Debian, and what is skipped without it. */
import { spawnSync } from 'node:child_process';

export const programs = [
  {
    name: 'kubectl',
    package: 'kubernetes-client',
    skips: 'the cluster suite, the walkthroughs, pages that show kubectl, comparisons with kubectl',
  },
  { name: 'jq', package: 'jq', skips: 'the walkthroughs, the page of the API' },
  { name: 'curl', package: 'curl', skips: 'the walkthroughs, the page of the API, who may ask a hollow kubelet' },
  { name: 'bash', package: 'bash', skips: 'the walkthroughs, completion in bash' },
  { name: 'zsh', package: 'zsh', skips: 'completion in zsh' },
  { name: 'fish', package: 'fish', skips: 'completion in fish' },
  { name: 'script', package: 'bsdutils', skips: 'what commands show on a terminal' },
  { name: 'systemd-analyze', package: 'systemd', skips: 'the unit files, read by systemd' },
  {
    name: 'python3-kubernetes',
    package: 'python3-kubernetes',
    skips: "Python's client against the embedded server",
    // Debian's own Python: another one on the PATH does not see Debian's packages.
    isThere: () => spawnSync('/usr/bin/python3', ['-c', 'import kubernetes']).status === 0,
  },
  { name: 'diff', package: 'diffutils', skips: 'sets from Git, applied with kubectl' },
  { name: 'lua5.4', package: 'lua5.4', skips: 'the health check for Argo CD' },
  { name: 'chromium', package: 'chromium', skips: 'the dashboard in a browser' },
  {
    name: 'helm',
    from: 'helm.sh',
    skips: 'the charts, rendered, installed and uninstalled by Helm, and pulled from a registry',
  },
  {
    name: 'ssh-keygen',
    package: 'openssh-client',
    skips: 'signatures of a release, signed configs compared with ssh-keygen',
  },
  { name: 'cosign', from: 'sigstore.dev', skips: "signatures of a release in cosign's format" },
  { name: 'xz', package: 'xz-utils', skips: 'the artefacts of a release' },
  { name: 'actionlint', from: 'github.com/rhysd/actionlint', skips: 'the lint of the workflows, in npm run check' },
  {
    name: 'promtool',
    from: 'prometheus.io',
    skips: 'the alerts and the queries of the dashboard, evaluated by Prometheus',
  },
];

export const has = (program) => spawnSync('sh', ['-c', `command -v ${program}`]).status === 0;

export const missingPrograms = () => programs.filter(({ name, isThere }) => !(isThere?.() ?? has(name)));

/** One line a program, for people. */
export const skipLines = (missing) =>
  missing.map(
    ({ name, package: debian, from = `Debian: ${debian}`, skips }) =>
      `  ${name} (${from}) not found, skipped: ${skips}`,
  );
