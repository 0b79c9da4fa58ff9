#!/usr/bin/env node
/**
 * A stand-in for k3s and RKE2, by the name of its program: writes its own drop-in, logs the kubelet's flags as they do, waits for an API
 * server (as long as /etc/api-away is there), and then is test/fake-kubelet.mjs (k3s) or its parent (RKE2). It ends as they do: k3s with
 * the kubelet's exit code, or with 0 if /etc/exits-with-0 is there, as since 1.32.10, 1.33.6, 1.34.2 and 1.35.0; RKE2 never, and starts the
 * kubelet again.
 */
import { spawn, spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, openSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';

const name = basename(process.argv[1]);
if (process.argv.includes('--version')) {
  console.log(`${name} version ${process.env.FAKE_KUBELET_VERSION ?? 'v1.36.4+k3s1'} (6a322f12)`);
  process.exit(0);
}
const agent = `/var/lib/rancher/${name}/agent`;
const dir = `${agent}/etc/kubelet.conf.d`;
mkdirSync(dir, { recursive: true });
const head = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';
writeFileSync(`${dir}/00-${name}-defaults.conf`, `${head}clusterDNS: [10.43.0.10]\nfailSwapOn: false\n`);
const log = (words) => console.error(`time="2026-11-18T20:00:00Z" level=info msg="${words}"`);
const flags = [`--config-dir=${dir}`, `--kubeconfig=${agent}/kubelet.kubeconfig`, ...process.argv.slice(3)];

const start = () => {
  if (existsSync('/etc/api-away')) return setTimeout(start, 100);
  spawnSync('systemd-notify', ['--ready']);
  return name === 'k3s' ? runInside() : runBelow();
};

function runInside() {
  console.error('I1118 20:00:00.000000    1 server.go:530] "Kubelet version" kubeletVersion="v1.36.4+k3s1"');
  process.on('exit', (code) => {
    if (code !== 0) log(`Shutdown request received: \\"kubelet exited: exit status ${code}\\"`);
    if (existsSync('/etc/exits-with-0')) process.exitCode = 0;
  });
  process.argv = [process.argv[0], process.argv[1], ...flags];
  const beside = '/usr/lib/fake-kubelet.mjs';
  import(beside);
}

function runBelow() {
  mkdirSync(`${agent}/logs`, { recursive: true });
  const out = openSync(`${agent}/logs/kubelet.log`, 'a');
  const kubelet = spawn('setpriv', ['--pdeathsig', 'KILL', '/var/lib/rancher/rke2/bin/kubelet', ...flags], {
    stdio: ['ignore', out, out],
  });
  kubelet.on('exit', (code) => {
    log(`Kubelet exited: exit status ${code}`);
    setTimeout(runBelow, 1000);
  });
}

for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => process.exit(0));
appendFileSync('/var/log/programs', `${name} ${process.argv.slice(2).join(' ')}\n`);
if (name === 'k3s') log(`Running kubelet ${flags.join(' ')}`);
else if (!existsSync('/etc/api-away')) log(`Running kubelet ${flags.join(' ')}`);
start();
