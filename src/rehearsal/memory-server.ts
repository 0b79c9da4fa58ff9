/**
 * The API of a rehearsal: src/memory-api, called directly. There is no authorization: a rehearsal shows how a rollout goes, not who may
 * start it.
 */
import { silentLog } from '../log.js';
import { commonAdmission, createApi } from '../memory-api/api.js';
import { answerJson } from '../memory-api/requests/answer.js';
import { InMemoryExchange } from '../memory-api/requests/in-memory.js';
import type { Presenter } from '../memory-api/requests/presenter.js';
import { requestInfo } from '../memory-api/requests/request-info.js';
import { respondError } from '../memory-api/requests/respond.js';
import type { Resource } from '../memory-api/resource.js';
import { defineResource } from '../memory-api/resources/define.js';
import type { Dispatch, Route } from '../memory-api/router.js';
import { memoryJournal } from '../memory-api/store/journal.js';
import { RevisionStore } from '../memory-api/store/revision-store.js';
import { inMemoryTransport } from './simulation/in-memory-transport.js';
import { admin, applyManifests, clientAs, groupsOf, type StartServer } from './simulation/server.js';

export const startMemoryServer: StartServer = async ({ clock, random, manifests }) => {
  const store = new RevisionStore(memoryJournal(), clock);
  const api = createApi({
    store,
    clock,
    random,
    log: silentLog,
    resources: accessReviews,
    dynamicKubeletConfig: false,
    // Not read here, and half of the bytes of an object.
    managedFields: false,
    // Only the last one of each watch: most events of a simulation would be bookmarks.
    bookmarkMs: Number.POSITIVE_INFINITY,
  });
  await api.start();
  const routes = [resourceLists(() => api.registry.all())];
  const dispatch = api.dispatch({ admission: commonAdmission(store), presenter: noTables, routes, connectors: [] });
  const transport = inMemoryTransport((request, sink) => {
    const exchange = new InMemoryExchange(request, sink);
    return { answered: answer(exchange, dispatch), disconnect: () => exchange.close() };
  });
  await applyManifests(clientAs(admin, { transport, clock, random }), manifests);
  return {
    store,
    transport,
    async close() {
      api.close();
      await store.close();
    },
  };
};

async function answer(exchange: InMemoryExchange, dispatch: Dispatch): Promise<void> {
  const name = (exchange.header('authorization') ?? '').replace('Bearer ', '');
  try {
    const user = { name, groups: groupsOf(name) };
    await dispatch(exchange, requestInfo(user, exchange.method, exchange.path, exchange.query));
  } catch (error) {
    respondError(exchange, error);
  }
}

const noTables: Presenter = {
  present() {
    throw new Error('a rehearsal prints no tables');
  },
};

/** Allows every request. */
const accessReviews: Resource[] = ['SelfSubjectAccessReview', 'SubjectAccessReview'].map((kind) =>
  defineResource({
    group: 'authorization.k8s.io',
    kind,
    plural: `${kind.toLowerCase()}s`,
    shape: `authorization.v1.${kind}`,
    namespaced: false,
    verbs: ['create'],
    answer: (object) => ({ ...object, status: { allowed: true } }),
  }),
);

/** Discovery at /apis/GROUP/VERSION: clients check there whether a kind is served. */
function resourceLists(all: () => Resource[]): Route {
  return {
    path: '/apis/',
    handle(exchange) {
      const served = all().filter(({ group, version }) => exchange.path === `/apis/${group}/${version}`);
      const resources = served.map(({ plural, kind, namespaced, verbs }) => ({
        name: plural,
        kind,
        namespaced,
        verbs,
      }));
      const groupVersion = exchange.path.replace('/apis/', '');
      answerJson(exchange, 200, { kind: 'APIResourceList', apiVersion: 'v1', groupVersion, resources });
    },
  };
}
