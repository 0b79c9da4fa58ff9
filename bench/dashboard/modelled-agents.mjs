/**
 * The agents of many nodes in one process: one watch of all NodeConfigs, and for each assignment the status that an agent writes:
 * active after a restart, last known good after the trial. Without kubelets, without validation, without reading the ConfigMap.
 * `crash(node, configMap)` says how its kubelet crashes with that config, if it does: the node then rolls back. `more(node)` is what
 * its status has besides, `has(node)` whether it has an agent, and `identify(configMap)` the uid and resourceVersion that it reports.
 */
import { Agent, request } from 'node:https';
import { createInterface } from 'node:readline';
import { atEnd, sleep } from '../agent/rig.mjs';

const collection = '/apis/relet.dev/v1alpha1/nodeconfigs';
const restartMs = 500;

export function startAgents({ url, ca, token, trialMs, send, crash = () => undefined, ...rest }) {
  const { has = () => true, more = () => ({}), identify = async () => ({ uid: 'u', resourceVersion: '1' }) } = rest;
  /** By node: the generation that it is busy with. */
  const busy = new Map();
  const written = { count: 0 };
  const isEnded = { value: false };

  async function report(name, make) {
    for (;;) {
      const object = await send('GET', `${collection}/${name}`);
      const status = make(object);
      if (status === undefined) return false;
      try {
        await send('PUT', `${collection}/${name}/status`, { ...object, status });
        written.count++;
        return true;
      } catch (error) {
        // The controller wrote a condition in between.
        if (error.status !== 409) throw error;
      }
    }
  }

  async function follow({ metadata: { name, generation = 1 }, spec = {}, status = {} }) {
    if (
      !has(name) ||
      busy.get(name) === generation ||
      (status.observedGeneration === generation && status.config !== undefined)
    )
      return;
    busy.set(name, generation);
    const { configMap } = spec.configSource ?? {};
    const exact = configMap && { configMap: { ...configMap, ...(await identify(configMap)) } };
    const next =
      (config, { ok, ...rest } = {}) =>
      (object) =>
        object.metadata.generation !== generation
          ? undefined
          : {
              ...object.status,
              observedGeneration: generation,
              config,
              trial: undefined,
              ...more(name),
              ...rest,
              conditions: withOk(object, ok),
            };
    if (exact === undefined) return void (await report(name, next({})));
    await sleep(restartMs);
    const crashed = crash(name, configMap.name);
    if (crashed !== undefined) {
      const { lastKnownGood } = status.config ?? {};
      const message = 'The kubelet kept crashing with the assigned config.';
      const config = { assigned: exact, active: lastKnownGood, lastKnownGood, error: message };
      const ok = { status: 'False', reason: 'CrashLoop', message };
      return void (await report(name, next(config, { ...crashed, ok })));
    }
    const endsAt = new Date(Date.now() + trialMs()).toISOString().replace(/\.\d+/, '');
    const trial = { endsAt };
    if (!(await report(name, next({ assigned: exact, active: exact }, { trial })))) return;
    await sleep(trialMs());
    await report(name, next({ assigned: exact, active: exact, lastKnownGood: exact }));
  }

  const failed = (error) => {
    if (!isEnded.value) console.error('agent:', error.message);
  };
  const watch = (resourceVersion) => {
    const path = `${collection}?watch=true&resourceVersion=${resourceVersion}&allowWatchBookmarks=true`;
    const headers = { authorization: `Bearer ${token}`, accept: 'application/json' };
    const sent = request(url + path, { headers, agent: new Agent({ ca }) }, (response) => {
      response.on('error', failed);
      const lines = createInterface({ input: response });
      lines.on('error', () => {});
      lines.on('line', (line) => {
        const { type, object } = JSON.parse(line);
        if (type === 'ADDED' || type === 'MODIFIED') follow(object).catch(failed);
      });
    });
    sent.on('error', failed);
    sent.end();
    atEnd(() => {
      isEnded.value = true;
      sent.destroy();
    });
  };
  return { written, watch };
}

const active = { status: 'True', reason: 'ConfigActive', message: 'The kubelet runs with the assigned config.' };

const withOk = ({ status = {} }, ok = active) => {
  const others = (status.conditions ?? []).filter(({ type }) => type !== 'ConfigOK');
  const lastTransitionTime = new Date().toISOString().replace(/\.\d+/, '');
  return [...others, { type: 'ConfigOK', ...ok, lastTransitionTime }];
};
