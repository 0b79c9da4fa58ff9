/**
 * Changes of every kind, one after the other, each awaited until the Node says what it must say: a change that is lost
 * or stuck ends the run with its name.
 */

/** Kinds of changes, each of which may follow any other. Each returns the status that the Node must report in the end. */
const kinds = {
  async repoint({ admin, config }, i) {
    const created = await admin.configMap(`change-${i}`, { kubelet: config(`maxPods: ${10 + (i % 90)}`) });
    await admin.point(created.metadata.name);
    return { created, active: created };
  },
  async 'edit in place'(stress, i) {
    const { admin, config, last } = stress;
    if (last === undefined) return kinds.repoint(stress, i);
    const patch = { data: { kubelet: config(`maxPods: ${10 + (i % 90)}`, `eventBurst: ${1 + i}`) } };
    return { active: await admin.patchConfigMap(last.metadata.name, patch) };
  },
  async 'same bytes'(stress, i) {
    const { admin, last } = stress;
    if (last === undefined) return kinds.repoint(stress, i);
    return { active: await admin.patchConfigMap(last.metadata.name, { metadata: { labels: { edit: `${i}` } } }) };
  },
  async invalid({ admin, config }, i) {
    const created = await admin.configMap(`change-${i}`, { kubelet: config('maxPods: -1') });
    await admin.point(created.metadata.name);
    return { created, error: /^failed to validate config/ };
  },
  async unreadable({ admin }, i) {
    const created = await admin.configMap(`change-${i}`, { kubelet: `this: [is not` });
    await admin.point(created.metadata.name);
    return { created, error: /^failed to load config/ };
  },
  async forecast({ admin, config }, i) {
    const created = await admin.configMap(`change-${i}`, {
      kubelet: config('evictionHard: {memory.available: bogus}'),
    });
    await admin.point(created.metadata.name);
    return { created, error: /./ };
  },
  async 'missing key'({ admin, config }, i) {
    const created = await admin.configMap(`change-${i}`, { other: config() });
    await admin.point(created.metadata.name);
    return { created, error: /./ };
  },
  async 'missing ConfigMap'({ admin }, i) {
    await admin.point(`nowhere-${i}`);
    return { error: /^failed to sync: failed to download config/ };
  },
  async reset(stress, i) {
    const { admin } = stress;
    if ((await admin.node()).spec?.configSource === undefined) return kinds.repoint(stress, i);
    await admin.point(null);
    return { active: null };
  },
};

// Twice as many that start a kubelet as that are refused; the order is fixed so that a failure can be repeated.
const order = [
  ...['repoint', 'edit in place', 'invalid', 'repoint', 'same bytes', 'missing key', 'repoint', 'unreadable'],
  ...['reset', 'repoint', 'forecast', 'edit in place', 'missing ConfigMap', 'repoint', 'reset', 'invalid'],
];

/** `config(...lines)` makes a config for this node; `seen` is the Node as an administrator sees it. */
export function createStress({ admin, seen, config }) {
  return { admin, seen, config, last: undefined, spent: [], done: {} };
}

/** Makes the i-th change and waits until the Node has it. */
export async function change(stress, i) {
  const kind = order[i % order.length];
  const wanted = await kinds[kind](stress, i);
  await stress.seen.until(`change ${i}, ${kind}`, ({ status }) => says(status.config ?? {}, wanted));
  stress.done[kind] = (stress.done[kind] ?? 0) + 1;
  // Only what runs can be edited in place.
  stress.last = wanted.active ?? undefined;
  if (wanted.created) stress.spent.push(wanted.created.metadata.name);
  // The server need not keep what no node names any more.
  while (stress.spent.length > 4) await stress.admin.deleteConfigMap(stress.spent.shift());
}

function says({ active, assigned, error }, wanted) {
  if (wanted.error) {
    const isNamed = wanted.created === undefined || names(assigned, wanted.created);
    return isNamed && wanted.error.test(error ?? '');
  }
  if (wanted.active === null) return active === undefined && assigned === undefined && error === undefined;
  return error === undefined && names(active, wanted.active) && names(assigned, wanted.active);
}

function names(source, { metadata: { uid, resourceVersion } }) {
  return source?.configMap?.uid === uid && source.configMap.resourceVersion === resourceVersion;
}
