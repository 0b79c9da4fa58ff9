/** Catalogue entries for the kubelet's server: ports, TLS, authentication and authorization, debugging endpoints. */
import { isRemoved, isTurnedOff, isTurnedOn } from './directions.js';
import type { Entries } from './entry.js';

const once = 'The server is built once, when the kubelet starts.';

export const server: Entries = {
  enableServer: {
    what: 'Whether the kubelet serves its HTTPS API at all.',
    needs: 'restart',
    why: once,
    risk: 'Without it kubectl logs, exec, attach, port-forward, metrics-server and Prometheus lose the node.',
    cases: [
      {
        when: 'turned off',
        applies: isTurnedOff,
        why: 'A restart is enough, and pods run on; but the node rejects such a config unless the ConfigMap allows it (relet.dev/allow-fields), because it cuts the node off.',
        risk: 'kubectl logs, exec, attach, port-forward, metrics-server, Prometheus and relet itself, which reads /configz, lose the node.',
      },
      {
        when: 'turned on',
        applies: isTurnedOn,
        risk: 'The API of the kubelet is open to whom authentication and authorization let in.',
      },
    ],
  },
  address: {
    what: 'IP address the kubelet API listens on; 0.0.0.0 or :: for all.',
    needs: 'restart',
    why: once,
    risk: 'An address the host does not have: the kubelet cannot listen and exits. A loopback address hides the node from the API server.',
  },
  port: {
    what: 'Port of the kubelet HTTPS API.',
    needs: 'restart',
    why: 'The server listens on the new port after the restart, and the Node object then shows it.',
    risk: 'Firewalls, scrapers and security groups that know the old port; a port in use stops the kubelet at start.',
  },
  readOnlyPort: {
    what: 'Port of the unauthenticated, read-only kubelet API; 0 turns it off.',
    needs: 'restart',
    why: once,
    risk: 'Opening it shows pod specs to anyone who reaches the node. Closing it breaks old scrapers.',
    cases: [
      { when: 'closed', applies: ({ after }) => after === 0, risk: 'Scrapers that use this port lose the node.' },
      {
        when: 'opened',
        applies: () => true,
        risk: 'Anyone who reaches the node reads pod specs and metrics, without credentials.',
      },
    ],
  },
  tlsCertFile: {
    what: 'Certificate (and chain) of the kubelet API.',
    needs: 'restart',
    why: 'The kubelet reads the file at start; a renewed file under the same name is not picked up by older kubelets.',
    risk: 'A missing or unreadable file stops the kubelet at start; a certificate of another CA makes verified callers fail.',
  },
  tlsPrivateKeyFile: {
    what: 'Private key that belongs to tlsCertFile.',
    needs: 'restart',
    why: 'Read together with the certificate, at start.',
    risk: 'A key that does not match the certificate, or set without it, stops the kubelet at start.',
  },
  tlsCipherSuites: {
    what: 'Cipher suites of the kubelet API for TLS up to 1.2.',
    needs: 'restart',
    why: once,
    risk: 'An unknown name stops the kubelet; a list without the suite HTTP/2 requires does so as well; a short list shuts out old clients.',
  },
  tlsMinVersion: {
    what: 'Oldest TLS version the kubelet API accepts.',
    needs: 'restart',
    why: once,
    risk: 'A version the API server or a scraper cannot speak cuts off logs, exec and metrics.',
  },
  tlsCurvePreferences: {
    what: 'Key exchange mechanisms of the kubelet API, as Go curve numbers.',
    needs: 'restart',
    why: once,
    risk: 'A list without a mechanism that the API server offers makes every handshake fail.',
  },
  rotateCertificates: {
    what: 'Whether the kubelet renews its client certificate, the one it uses towards the API server.',
    needs: 'restart',
    why: 'The certificate manager is set up at start.',
    risk: 'Off, the node is locked out on the day the certificate expires, long after the change looked fine.',
    cases: [{ when: 'turned on', applies: isTurnedOn, risk: '' }],
  },
  serverTLSBootstrap: {
    what: 'Whether the kubelet asks the cluster to sign its serving certificate.',
    needs: 'restart',
    why: 'The serving certificate comes from another place after the restart.',
    risk: 'Requests wait until someone approves them; until then callers of the kubelet fail. Turned off, renewal ends.',
  },
  authentication: {
    what: 'How callers of the kubelet API prove who they are.',
    needs: 'restart',
    why: once,
    risk: 'Too strict: logs, exec and metrics fail. Too open: anyone on the network may run commands in pods.',
  },
  'authentication.x509': {
    what: 'Authentication by client certificate.',
    needs: 'restart',
    why: once,
    risk: 'The API server itself logs in this way on most clusters.',
  },
  'authentication.x509.clientCAFile': {
    what: 'CA bundle that client certificates of callers are checked against.',
    needs: 'restart',
    why: 'The path is fixed at start; later changes of the content are followed.',
    risk: 'A missing file stops the kubelet at start; a wrong CA locks the API server out of logs and exec, or lets strangers in.',
    cases: [
      {
        when: 'removed',
        applies: isRemoved,
        risk: 'No client certificate is accepted any more. The API server logs in with one on most clusters: kubectl logs, exec and port-forward fail.',
      },
    ],
  },
  'authentication.webhook': {
    what: 'Authentication by bearer token, checked with the API server.',
    needs: 'restart',
    why: once,
    risk: 'Scrapers that come with service account tokens depend on it.',
  },
  'authentication.webhook.enabled': {
    what: 'Whether bearer tokens are checked with the TokenReview API.',
    needs: 'restart',
    why: once,
    risk: 'Off, metrics-server and Prometheus with tokens get 401. On, each new token costs a request to the API server.',
  },
  'authentication.webhook.cacheTTL': {
    what: 'How long the answer about a token is believed.',
    needs: 'restart',
    why: 'The cache is created at start.',
    risk: 'Long: revoked tokens work on. Zero or short: a request to the API server for almost every call.',
  },
  'authentication.anonymous': {
    what: 'Whether callers without credentials are let in as system:anonymous.',
    needs: 'restart',
    why: once,
    risk: 'Together with authorization mode AlwaysAllow it opens the node to the network.',
  },
  'authentication.anonymous.enabled': {
    what: 'True lets callers without credentials through as system:anonymous.',
    needs: 'restart',
    why: once,
    risk: 'True with AlwaysAllow means that anyone who reaches the port runs commands in pods. relet refuses to open it by default.',
  },
  authorization: {
    what: 'What an authenticated caller of the kubelet API may do.',
    needs: 'restart',
    why: once,
    risk: 'Too open gives every caller exec in every pod; too strict breaks logs, exec and metrics.',
  },
  'authorization.mode': {
    what: 'AlwaysAllow, or Webhook to ask the API server.',
    needs: 'restart',
    why: once,
    risk: 'AlwaysAllow lets any authenticated caller run commands. Webhook needs the RBAC role the callers of the kubelet have to hold.',
  },
  'authorization.webhook': {
    what: 'Settings of authorization by the API server.',
    needs: 'restart',
    why: once,
    risk: 'Only the two cache times below; they trade load against how long a withdrawn right still works.',
  },
  'authorization.webhook.cacheAuthorizedTTL': {
    what: 'How long a yes of the API server is believed.',
    needs: 'restart',
    why: 'The cache is created at start.',
    risk: 'Long: a withdrawn right works on. Short: more SubjectAccessReviews.',
  },
  'authorization.webhook.cacheUnauthorizedTTL': {
    what: 'How long a no of the API server is believed.',
    needs: 'restart',
    why: 'The cache is created at start.',
    risk: 'Long: a right that was just granted seems not to work. Short: more SubjectAccessReviews.',
  },
  enableDebuggingHandlers: {
    what: 'Whether logs, exec, attach, port-forward, configz and the like are served.',
    needs: 'restart',
    why: once,
    risk: 'Off, kubectl logs and exec fail on the node, and tools that read /configz see nothing.',
    cases: [{ when: 'turned on', applies: isTurnedOn, risk: '' }],
  },
  enableContentionProfiling: {
    what: 'Whether lock contention is recorded for profiling.',
    needs: 'restart',
    why: 'Set once, when the profiling handlers are installed.',
    risk: 'Costs CPU for as long as it is on.',
  },
  enableProfilingHandler: {
    what: 'Whether /debug/pprof is served.',
    needs: 'restart',
    why: once,
    risk: 'On, callers with node/proxy rights can load the kubelet with profiles.',
  },
  enableDebugFlagsHandler: {
    what: 'Whether the log level can be changed over HTTP, at /debug/flags/v.',
    needs: 'restart',
    why: once,
    risk: 'Off, the log level of a running kubelet can only be changed by a restart.',
  },
  enableSystemLogHandler: {
    what: 'Whether files under /var/log are served at /logs.',
    needs: 'restart',
    why: once,
    risk: 'On, callers with node/proxy rights read host logs. Off, tools that fetch them get 404.',
  },
  enableSystemLogQuery: {
    what: 'Whether service logs of the host can be queried at /logs, needs gate NodeLogQuery and enableSystemLogHandler.',
    needs: 'restart',
    why: once,
    risk: 'Set without the gate or without the handler, the kubelet rejects the config.',
  },
  healthzPort: {
    what: 'Port of /healthz; 0 turns it off.',
    needs: 'restart',
    why: 'Its little server starts with the kubelet.',
    risk: 'Monitors of the old port think the kubelet is dead. With 0 relet checks health by the Lease.',
  },
  healthzBindAddress: {
    what: 'Address of /healthz.',
    needs: 'restart',
    why: 'Its little server starts with the kubelet.',
    risk: 'An address beyond loopback shows health, without a password, to the network; monitors of the old one fail.',
  },
  streamingConnectionIdleTimeout: {
    what: 'How long an idle exec, attach or port-forward stream is kept.',
    needs: 'restart',
    why: 'Taken by the streaming server of the built-in Docker support at start; other runtimes use their own setting.',
    risk: 'Short values cut quiet kubectl exec sessions.',
    later: { from: 24, needs: 'none', why: 'Built-in Docker support is gone, and nothing else reads the value.' },
  },
  showHiddenMetricsForVersion: {
    what: 'Brings back metrics that were hidden in the named, previous minor.',
    needs: 'restart',
    why: 'Metrics are registered at start.',
    risk: 'Only the previous minor is accepted; the setting turns invalid at the next upgrade.',
  },
};
