/**
 * The `relet` command line. Each verb is one line in the table and one file in the folder of its kind. A verb is loaded only when it
 * runs: the build makes a bundle of each, so that a new verb does not slow down the start of the others.
 */
import pkg from '../../package.json' with { type: 'json' };
import { nearest } from '../config/suggest.js';
import { complain } from './complain.js';
import { printError, writeOut } from './terminal/terminal.js';

interface Verb {
  name: string;
  summary: string;
  /** Absent for those that bin/relet.cjs starts from bundles of their own. */
  load?(): Promise<{ run(args: string[]): Promise<void> }>;
}

const groups: Record<string, readonly Verb[]> = {
  'Without a cluster': [
    { name: 'up', summary: 'Run an API server and nodes on this machine', load: () => import('./up/up.js') },
    { name: 'down', summary: "Stop what 'relet up' runs", load: () => import('./up/down.js') },
    { name: 'demo', summary: 'Watch a guided tour of a minute and a half', load: () => import('./up/demo.js') },
    {
      name: 'config',
      summary: 'Check, explain and compare kubelet configuration',
      load: () => import('./config/config.js'),
    },
  ],
  'Look at nodes': [
    ofCluster('inventory', 'Show which values of each field the kubelets of a cluster run with'),
    ofCluster('audit', 'Check kubelets, or files, against CIS, STIG and NSA/CISA'),
    ofCluster('export', 'Write an overlay in the format of another platform'),
    ofCluster('get', 'List nodes and their configs'),
    ofCluster('describe', "Show everything about one node's config, and the next step"),
    ofCluster('view', "Print one of a node's configs"),
    ofCluster('diff', 'Compare what a node runs with a file, a ConfigMap or another node'),
    ofCluster('history', 'Show who changed a node, when, to what and why'),
    ofCluster('wait', 'Wait until nodes run what they were assigned'),
    ofCluster('doctor', 'Check for common problems and suggest fixes'),
  ],
  'Change nodes': [
    ofCluster('edit', 'Change what a node is assigned, in an editor'),
    ofCluster('set', 'Change fields of what nodes are assigned'),
    ofCluster('convert', 'Make overlays of whole configs'),
    ofCluster('push', 'Store a config as an immutable ConfigMap, named by its content'),
    ofCluster('assign', 'Assign a stored config to nodes, one at a time'),
    ofCluster('reset', 'Return nodes to their local config'),
    ofCluster('detach', "Remove the agent's files from hosts, before it is uninstalled"),
    ofCluster('undo', 'Undo the last change of a node'),
    ofCluster('hold', 'Keep sets and commands from changing nodes'),
    ofCluster('release', 'End a hold, and give nodes back to their set'),
    ofCluster('dismiss', 'Drop what is left to do on a host after a change'),
    ofCluster('gc', 'Delete ConfigMaps that no node uses'),
  ],
  'Change many nodes': [
    {
      name: 'rollout',
      summary: 'Preview, rehearse, follow and steer the rollouts of sets of nodes',
      load: () => import('./rollout/rollout.js'),
    },
  ],
  'On a host': [
    { name: 'agent', summary: 'Change the config of the kubelet in its own systemd unit' },
    { name: 'kubelet', summary: 'Run the kubelet, with --dynamic-config-dir restored' },
    { name: 'node', summary: 'Inspect and control this node, also without the API' },
  ],
  Servers: [
    {
      name: 'dashboard',
      summary: 'Serve a page with the fleet, its rollouts and the buttons for them',
      load: () => import('./dashboard.js'),
    },
    {
      name: 'controller',
      summary: 'Run the controller of NodeConfigs: one for each Node, and grants',
      load: () => import('./controller.js'),
    },
    { name: 'apiserver', summary: 'Run a small API server, for laptops, tests and CI' },
  ],
  Shell: [
    {
      name: 'completion',
      summary: 'Print a script that completes relet in bash, zsh or fish',
      load: () => import('./complete/completion.js'),
    },
    { name: 'version', summary: 'Print the version, and what relet consists of', load: () => import('./version.js') },
  ],
};
const verbs: readonly Verb[] = Object.values(groups).flat();

function ofCluster(name: string, summary: string): Verb {
  const run = async (args: string[]) => (await import('./cluster-verbs.js')).runClusterVerb(name, args);
  return { name, summary, load: async () => ({ run }) };
}

async function main(args: string[]): Promise<void> {
  const [first, ...rest] = args;
  if (first === undefined || first === 'help' || first === '--help' || first === '-h') return writeOut(help());
  if (first === '--version' || first === '-V') return writeOut(`${pkg.version}\n`);
  // Asked by the shells' scripts and by kubectl, not by people.
  if (first === '__complete') return (await import('./complete/complete.js')).complete(rest, verbs);
  // By the dashboard (src/dashboard/server/children.ts).
  if (first === '__answer') return (await import('./dashboard-answer.js')).run(rest);
  const verb = verbs.find(({ name }) => name === first);
  if (verb?.load === undefined) return unknownVerb(first);
  const { run } = await verb.load();
  await run(rest);
}

function help(): string {
  const width = Math.max(...verbs.map(({ name }) => name.length));
  const line = ({ name, summary }: Verb) => `  ${name.padEnd(width)}  ${summary}\n`;
  const list = Object.entries(groups).map(([title, some]) => `${title}:\n${some.map(line).join('')}`);
  return `relet changes kubelet configuration on live Kubernetes nodes, and rolls back a
config that a node cannot run.

Usage: relet VERB [ARGUMENTS]

${list.join('\n')}
See 'relet VERB --help' for a verb, 'relet --version' for the version.
`;
}

/** Verbs of kubectl and its kin, and where they are here. */
const known: Record<string, string> = {
  rollback: 'undo',
  revert: 'undo',
  status: "get' or 'relet describe",
  list: 'get',
  ls: 'get',
  apply: "push' and 'relet assign",
  delete: 'reset',
  explain: 'config explain',
  validate: 'config validate',
};

function unknownVerb(word: string): void {
  const names = verbs.map(({ name }) => name);
  const guess = Object.hasOwn(known, word)
    ? known[word]
    : (nearest(word, names, { least: word.length > 1 ? 1 : 0 }) ?? names.find((name) => name.startsWith(word)));
  const hint = guess === undefined ? "'relet --help' lists the verbs" : `did you mean 'relet ${guess}'?`;
  printError(`relet: there is no verb '${word}'; ${hint}`);
  process.exitCode = 2;
}

main(process.argv.slice(2)).catch((error: unknown) => {
  process.exitCode = complain(error);
});
