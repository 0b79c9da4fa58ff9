/**
 * The `relet` command line. Each verb is one line in the table and one file in the folder of its kind, and is loaded only when it
 * is asked for: the build makes a bundle of each, so that a new verb costs the others nothing at start.
 */
import pkg from '../../package.json' with { type: 'json' };
import { nearest } from '../config/suggest.js';
import { writeOut } from './write-out.js';

interface Verb {
  name: string;
  summary: string;
  load(): Promise<{ run(args: string[]): Promise<void> }>;
}

const verbs: readonly Verb[] = [
  {
    name: 'up',
    summary: 'Run an API server and nodes on this machine; needs no cluster',
    load: () => import('./up/up.js'),
  },
  { name: 'down', summary: "Stop what 'relet up' runs", load: () => import('./up/down.js') },
  { name: 'demo', summary: 'Watch the whole story in a minute; needs no cluster', load: () => import('./up/demo.js') },
  looking('get', 'The nodes and their configs at a glance'),
  looking('describe', "Everything about one node's config, and the next step"),
  looking('view', "Print one of a node's configs"),
  looking('diff', 'Compare what a node runs with a file, a ConfigMap or another node'),
  looking('history', 'Who changed a node, when, to what and why'),
  looking('wait', 'Wait until nodes run what they were assigned'),
  looking('doctor', 'Look for what operators trip over, and tell the remedy'),
  changing('edit', 'Change what a node runs with, in an editor'),
  changing('set', 'Change fields of what nodes run with'),
  changing('push', 'Store a config as an immutable ConfigMap, named by its content'),
  changing('assign', 'Point nodes at a stored config, one at a time'),
  changing('reset', 'Let nodes go back to their local config'),
  changing('undo', 'Take the last change of a node back'),
  changing('gc', 'Remove ConfigMaps that no node uses'),
  {
    name: 'controller',
    summary: 'Run the controller of NodeConfigs: one for each Node, and grants',
    load: () => import('./controller.js'),
  },
  {
    name: 'config',
    summary: 'Check, explain and compare kubelet configuration; needs no cluster',
    load: () => import('./config/config.js'),
  },
  {
    name: 'completion',
    summary: 'Print a script that completes relet in bash, zsh or fish',
    load: () => import('./complete/completion.js'),
  },
];

function looking(name: string, summary: string): Verb {
  return { name, summary, load: async () => (await import('./look/verbs-that-look.js')).runners[name]! };
}

function changing(name: string, summary: string): Verb {
  return { name, summary, load: async () => (await import('./change/verbs-that-change.js')).runners[name]! };
}

async function main(args: string[]): Promise<void> {
  const [first, ...rest] = args;
  if (first === undefined || first === '--help' || first === '-h') return writeOut(help());
  if (first === '--version' || first === '-V') return writeOut(`${pkg.version}\n`);
  if (first === 'help') return main(rest.length === 0 ? ['--help'] : [...rest, '--help']);
  // Asked by the shells' scripts and by kubectl, not by people.
  if (first === '__complete') return (await import('./complete/complete.js')).complete(rest, verbs);
  const verb = verbs.find(({ name }) => name === first);
  if (verb === undefined) return unknownVerb(first);
  const { run } = await verb.load();
  await run(rest);
}

function help(): string {
  const width = Math.max(...verbs.map(({ name }) => name.length));
  const list = verbs.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}\n`).join('');
  return `relet changes kubelet configuration on a live Kubernetes cluster, without ever
losing a node.

Usage: relet VERB [ARGUMENTS]

${list}
'relet VERB --help' tells more about a verb, 'relet --version' the version.
`;
}

function unknownVerb(word: string): void {
  const guess = nearest(
    word,
    verbs.map(({ name }) => name),
  );
  const hint = guess === undefined ? "'relet --help' lists the verbs" : `did you mean 'relet ${guess}'?`;
  process.stderr.write(`relet: there is no verb '${word}'; ${hint}\n`);
  process.exitCode = 2;
}

void main(process.argv.slice(2));
