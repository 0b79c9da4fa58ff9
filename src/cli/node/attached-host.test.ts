/** Files of the host that an agent in a pod needs and does not see. */
import { beforeEach, describe, expect, test } from 'vitest';
import type { Systemd } from '../../agent/drivers/systemd/systemd.js';
import { readAgentFlags } from './agent-flags.js';
import { findKubelet, type Host } from './attached-host.js';
import type { HostView } from './host-view.js';

/** The one directory that is mounted into the pod. */
const dir = '/var/lib/kubelet';
/** Files there. */
const mounted = new Map<string, string>();
/** Files of the host elsewhere. */
const onHost = new Set<string>();

beforeEach(() => {
  mounted.clear();
  onHost.clear();
  onHost.add('/etc/kubernetes/pki/ca.crt');
});

/** A unit as nodeadm sets it up on EKS. */
function find({ kubeconfig = `${dir}/kubeconfig`, config = `${dir}/config.json`, detach = false } = {}) {
  const execStart = [['/usr/bin/kubelet', `--kubeconfig=${kubeconfig}`, `--config=${config}`]];
  const unit = { loadState: 'loaded', execStart, mainPid: 0, dropInPaths: [], environment: [], environmentFiles: [] };
  const view: HostView = {
    isVisible: (path) => path.startsWith(`${dir}/`),
    contentOf: () => 'unknown',
    hasEntries: async (path) => onHost.has(path) || mounted.has(path),
    readText: async (path) => mounted.get(path),
  };
  const run: Host['run'] = async () => ({ code: 1, stdout: '', stderr: '' });
  const host = { inPod: true, run, view, runPlugin: async () => '' };
  return findKubelet({ unit: async () => unit } as unknown as Systemd, host, readAgentFlags([])!, { detach });
}

function writeKubeconfig(authority: string, user: object = { exec: { command: 'aws' } }): void {
  const cluster = { server: 'https://api.example', 'certificate-authority': authority };
  const document = {
    'current-context': 'kubelet',
    clusters: [
      { name: 'kubernetes', cluster },
      { name: 'other', cluster: { 'certificate-authority': '/etc/kubernetes/other.crt' } },
    ],
    users: [{ name: 'kubelet', user }],
    contexts: [{ name: 'kubelet', context: { cluster: 'kubernetes', user: 'kubelet' } }],
  };
  mounted.set(`${dir}/kubeconfig`, JSON.stringify(document));
}

describe('an agent in a pod', () => {
  test('names a certificate authority of the kubeconfig that is on the host and not mounted', async () => {
    writeKubeconfig('/etc/kubernetes/pki/ca.crt');
    await expect(find()).rejects.toThrow(
      `/etc/kubernetes/pki/ca.crt of the host, the certificate authority of ${dir}/kubeconfig, is not mounted into this pod, and the agent reads it: add its directory to the agent's hostPaths (agent.extraHostPaths of the chart)`,
    );
  });

  test('names a client certificate in the same way, relative to the kubeconfig as the kubelet reads it', async () => {
    onHost.add('/var/lib/pki/client.pem');
    writeKubeconfig('pki/ca.crt', { 'client-certificate': '/var/lib/pki/client.pem' });
    await expect(find()).rejects.toThrow('/var/lib/pki/client.pem of the host, the client certificate of');
  });

  test.each([
    ['that is not on the host yet', () => writeKubeconfig('/etc/kubernetes/later/ca.crt')],
    ['that is mounted', () => writeKubeconfig(`${dir}/ca.crt`)],
    ['of a kubeconfig that cannot be parsed', () => mounted.set(`${dir}/kubeconfig`, 'clusters: 1')],
    ['of a kubeconfig that TLS bootstrap has not written yet', () => {}],
  ])('begins, and waits, with a certificate authority %s', async (_which, prepare) => {
    prepare();
    expect(await find()).toMatchObject({ kubeconfig: `${dir}/kubeconfig`, command: ['/usr/bin/kubelet'] });
  });

  test('leaves the host without the API, where it does not see the credential', async () => {
    writeKubeconfig('/etc/kubernetes/pki/ca.crt');
    expect((await find({ detach: true })).kubeconfig).toBeUndefined();
    expect((await find({ detach: true, kubeconfig: '/etc/kubernetes/kubelet.conf' })).kubeconfig).toBeUndefined();
    await expect(find({ detach: true, config: '/etc/kubernetes/kubelet/config.json' })).rejects.toThrow(
      '/etc/kubernetes/kubelet/config.json of the host is not mounted',
    );
  });
});
