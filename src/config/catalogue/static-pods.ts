/** Catalogue entries for static pods: the directory or URL of their manifests. On a control-plane node these are the control plane. */
import { isAdded, isTurnedOff } from './directions.js';
import type { Entries } from './entry.js';

export const staticPods: Entries = {
  staticPodPath: {
    what: 'Directory (or single file) of manifests for pods that the kubelet runs without the API server.',
    needs: 'never',
    why: 'After the restart every pod of the old directory is gone. On a control-plane node that is the API server, through which the change would be taken back.',
    risk: 'A control plane that stops; node agents installed as static pods that vanish without an event.',
    cases: [
      {
        when: 'there was none',
        applies: isAdded,
        needs: 'restart',
        why: 'No static pod comes from a directory now, so none is lost. Those of the new one are started.',
        risk: 'Every manifest in the directory is run, without admission by the API server.',
        pods: 'unaffected',
      },
      {
        when: 'no static pod runs on the node',
        applies: (_change, { facts }) => facts.pods?.every(({ isStatic }) => !isStatic) ?? false,
        needs: 'restart',
        why: 'The old directory has no manifest that runs, so no pod is lost.',
        risk: 'Every manifest in the new directory is run, without admission by the API server.',
        pods: 'unaffected',
      },
    ],
  },
  fileCheckFrequency: {
    what: 'How often the static pod directory is read again, besides file notifications.',
    needs: 'restart',
    why: 'The file source takes its period when the kubelet starts.',
    risk: 'Very short periods cost CPU; very long ones delay manifests on file systems without notifications.',
  },
  httpCheckFrequency: {
    what: 'How often the static pod URL is asked for manifests.',
    needs: 'restart',
    why: 'The URL source takes its period when the kubelet starts.',
    risk: 'Short periods on many nodes load the server behind the URL.',
  },
  staticPodURL: {
    what: 'URL from which the kubelet reads manifests of pods it runs without the API server.',
    needs: 'never',
    why: 'Pods of the old URL stop, and the server of the new one can run anything as root on the node.',
    risk: 'A way around admission, policy and audit; static pods that disappear when the server is away at start.',
  },
  staticPodURLHeader: {
    what: 'HTTP headers sent with requests to the static pod URL.',
    needs: 'restart',
    why: 'The URL source builds its requests from it once, at start.',
    risk: 'Wrong headers make the server refuse, and static pods of that URL are not updated any more.',
    pods: 'unknown',
  },
  runOnce: {
    what: 'Run the pods that are there once, then exit. Gone in practice: newer kubelets refuse it.',
    needs: 'never',
    why: 'A kubelet in this mode ends by itself; relet, or systemd, would start it again and again.',
    risk: 'A node that never becomes Ready. Kubelets from 1.32 on do not accept true.',
    cases: [
      {
        when: 'turned off',
        applies: isTurnedOff,
        needs: 'restart',
        why: 'The kubelet stays, as it does on every other node.',
        risk: '',
        pods: 'unaffected',
      },
    ],
  },
};
