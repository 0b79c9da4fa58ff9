/** Services, Endpoints and Ingresses, stored, without controllers: Services get no address. */

import type { KubeObject } from '../../../api/object.js';
import { type FieldError, requiredField } from '../field-error.js';
import { ageColumn, column, nameColumn, wideColumn } from './columns.js';
import { defineResource } from './define.js';
import { labelsText } from './selector-text.js';

interface ServicePort {
  port: number;
  protocol?: string;
  nodePort?: number;
  targetPort?: number | string;
}

interface ServiceSpec {
  type?: string;
  clusterIP?: string;
  clusterIPs?: string[];
  externalIPs?: string[];
  externalName?: string;
  ports?: ServicePort[];
  selector?: Record<string, string>;
  sessionAffinity?: string;
  internalTrafficPolicy?: string;
}

const serviceSpec = (service: KubeObject) => (service.spec ?? {}) as ServiceSpec;

export const services = defineResource({
  kind: 'Service',
  plural: 'services',
  shape: 'core.v1.Service',
  namespaced: true,
  shortNames: ['svc'],
  categories: ['all'],
  hasStatus: true,
  // A kubelet lists all services but headless ones.
  selectableFields: {
    'spec.clusterIP': (service) => serviceSpec(service).clusterIP ?? '',
    'spec.type': (service) => serviceSpec(service).type ?? '',
  },
  columns: [
    nameColumn,
    column('Type', 'How it can be reached.', (service) => serviceSpec(service).type ?? ''),
    column(
      'Cluster-IP',
      'Its address inside the cluster.',
      (service) => serviceSpec(service).clusterIPs?.[0] ?? '<none>',
    ),
    column('External-IP', 'Its addresses outside.', externalAddress),
    column('Port(s)', 'Its ports.', (service) => portsText(serviceSpec(service).ports) || '<none>'),
    ageColumn,
    wideColumn('Selector', 'Which Pods serve it.', (service) => labelsText(serviceSpec(service).selector) || '<none>'),
  ],
  setDefaults(service) {
    service.spec ??= {};
    const spec = serviceSpec(service);
    spec.type ||= 'ClusterIP';
    spec.sessionAffinity ||= 'None';
    if (spec.type !== 'ExternalName') spec.internalTrafficPolicy ??= 'Cluster';
    if (spec.clusterIP) spec.clusterIPs ??= [spec.clusterIP];
    for (const port of spec.ports ?? []) {
      port.protocol ||= 'TCP';
      port.targetPort ||= port.port;
    }
  },
  prepareForCreate(service) {
    service.status = { loadBalancer: {} };
  },
  validateCreate: validateService,
  validateUpdate: (service, _old, subresource) => (subresource === '' ? validateService(service) : []),
});

function validateService(service: KubeObject): FieldError[] {
  const { type, ports = [], clusterIP } = serviceSpec(service);
  const needsPorts = type !== 'ExternalName' && clusterIP !== 'None';
  return needsPorts && ports.length === 0 ? [requiredField('spec.ports')] : [];
}

function externalAddress(service: KubeObject): string {
  const { type, externalName = '', externalIPs = [] } = serviceSpec(service);
  if (type === 'ExternalName') return externalName;
  if (externalIPs.length > 0) return externalIPs.join(',');
  return type === 'LoadBalancer' ? '<pending>' : '<none>';
}

function portsText(ports: ServicePort[] = []): string {
  return ports.map(({ port, nodePort, protocol }) => `${port}${nodePort ? `:${nodePort}` : ''}/${protocol}`).join(',');
}

interface Subset {
  addresses?: { ip: string }[];
  ports?: { port: number; protocol?: string }[];
}

/** Addresses or hosts in a column before it only counts them. */
const shownCount = 3;

function someOf(entries: string[], none: string): string {
  if (entries.length === 0) return none;
  const rest = entries.length - shownCount;
  return `${entries.slice(0, shownCount).join(',')}${rest > 0 ? ` + ${rest} more...` : ''}`;
}

export const endpoints = defineResource({
  kind: 'Endpoints',
  plural: 'endpoints',
  singular: 'endpoints',
  shape: 'core.v1.Endpoints',
  namespaced: true,
  shortNames: ['ep'],
  columns: [
    nameColumn,
    column('Endpoints', 'The addresses behind a Service.', (object) => someOf(addressesOf(object), '<none>')),
    ageColumn,
  ],
  setDefaults(object) {
    for (const { ports = [] } of (object.subsets ?? []) as Subset[]) for (const port of ports) port.protocol ||= 'TCP';
  },
});

function addressesOf(object: KubeObject): string[] {
  return ((object.subsets ?? []) as Subset[]).flatMap(({ addresses = [], ports = [] }) =>
    ports.length === 0
      ? addresses.map(({ ip }) => ip)
      : ports.flatMap(({ port }) => addresses.map(({ ip }) => `${ip.includes(':') ? `[${ip}]` : ip}:${port}`)),
  );
}

interface IngressSpec {
  ingressClassName?: string;
  rules?: { host?: string }[];
  tls?: unknown[];
}

const ingressSpec = (ingress: KubeObject) => (ingress.spec ?? {}) as IngressSpec;

export const ingresses = defineResource({
  group: 'networking.k8s.io',
  kind: 'Ingress',
  plural: 'ingresses',
  shape: 'networking.v1.Ingress',
  namespaced: true,
  shortNames: ['ing'],
  hasStatus: true,
  hasGeneration: true,
  columns: [
    nameColumn,
    column('Class', 'Who should serve it.', (ingress) => ingressSpec(ingress).ingressClassName ?? '<none>'),
    column('Hosts', 'The hosts it is for.', (ingress) =>
      someOf(
        (ingressSpec(ingress).rules ?? []).flatMap(({ host }) => host || []),
        '*',
      ),
    ),
    column('Address', 'Where it can be reached.', () => ''),
    column('Ports', 'The ports it opens.', (ingress) => (ingressSpec(ingress).tls?.length ? '80, 443' : '80')),
    ageColumn,
  ],
  prepareForCreate(ingress) {
    ingress.status = { loadBalancer: {} };
  },
});
