/** The `relet` command line: each verb is a file beside this one. */
import { Command } from 'commander';
import pkg from '../../package.json' with { type: 'json' };

const program = new Command('relet')
  .description('Change kubelet configuration on a live Kubernetes cluster without ever losing a node')
  .version(pkg.version);

void program.parseAsync();
