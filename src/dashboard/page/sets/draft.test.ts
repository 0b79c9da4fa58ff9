/** Drafts of sets: what is wrong with them, and the manifest that they become. */
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { type Draft, draftYaml, emptyDraft, firstBadStep, problemsIn } from './draft.js';

const draft: Draft = { ...emptyDraft, name: 'gpu', selector: 'pool=gpu', overlay: 'maxPods: 150 # was 110\n' };

describe('the manifest of a draft', () => {
  test('leaves defaults out, and keeps the overlay as it was typed', () => {
    expect(draftYaml(draft)).toBe(
      [
        'apiVersion: relet.dev/v1alpha1',
        'kind: NodeConfigSet',
        'metadata:',
        '  name: gpu',
        'spec:',
        '  selector:',
        '    matchLabels:',
        '      pool: gpu',
        '  config:',
        '    overlay:',
        '      maxPods: 150 # was 110',
        '',
      ].join('\n'),
    );
  });

  test('has all that was changed', () => {
    const yaml = draftYaml({
      ...draft,
      selector: 'pool=gpu,zone in (a,b)',
      overlay: 'evictionHard:\n  memory.available: 1Gi\n\nmaxPods: 9\n',
      unset: 'clusterDomain, evictionHard[nodefs.available]',
      accept: ['Drain'],
      waves: [
        { nodes: '2', soak: '10m', approve: true },
        { nodes: '100%', soak: '', approve: false },
      ],
      maxUnavailable: '3',
      maxFailed: '1%',
      onFailure: 'Rollback',
      drain: { ...emptyDraft.drain, policy: 'Never' },
      windows: [{ days: ['Sat', 'Sun'], from: '22:00', to: '04:00', timeZone: 'Europe/Berlin' }],
      expiresAfter: '24h',
      others: { spec: { onLeave: 'Reset' }, strategy: { order: ['topology.kubernetes.io/zone'] } },
    });
    expect(parse(yaml).spec).toEqual({
      selector: {
        matchLabels: { pool: 'gpu' },
        matchExpressions: [{ key: 'zone', operator: 'In', values: ['a', 'b'] }],
      },
      config: {
        overlay: { evictionHard: { 'memory.available': '1Gi' }, maxPods: 9 },
        unset: ['clusterDomain', 'evictionHard[nodefs.available]'],
      },
      accept: ['Drain'],
      strategy: {
        waves: [{ nodes: 2, soak: '10m', approve: true }, { nodes: '100%' }],
        maxUnavailable: 3,
        maxFailed: '1%',
        onFailure: 'Rollback',
        drain: { policy: 'Never' },
        windows: [{ days: ['Sat', 'Sun'], from: '22:00', to: '04:00', timeZone: 'Europe/Berlin' }],
        order: ['topology.kubernetes.io/zone'],
      },
      expiresAfter: '24h',
      onLeave: 'Reset',
    });
  });

  test('a draft of all nodes that only unsets fields is valid YAML, too', () => {
    const yaml = draftYaml({ ...draft, selector: '', allNodes: true, overlay: '# nothing\n', unset: 'maxPods' });
    expect(parse(yaml).spec).toEqual({ selector: {}, config: { overlay: {}, unset: ['maxPods'] } });
  });
});

describe('what is wrong with a draft', () => {
  test('an empty one has no name, no selector and no config', () => {
    expect(problemsIn(emptyDraft, 'nodes')).toEqual({
      name: expect.stringContaining('needs a name'),
      selector: expect.stringContaining('all nodes'),
    });
    expect(problemsIn(emptyDraft, 'config')).toEqual({ overlay: expect.stringContaining('at least one field') });
    expect(firstBadStep(emptyDraft)).toBe('nodes');
  });

  test('a complete one has none', () => {
    expect(firstBadStep(draft)).toBeUndefined();
  });

  test.each<[string, Partial<Draft>, string]>([
    ['a name with capitals', { name: 'GPU' }, 'name'],
    ['a selector that is not one', { selector: 'pool=(' }, 'selector'],
    ['a budget that is not a share', { maxUnavailable: '200%' }, 'maxUnavailable'],
    ['a wave without nodes', { waves: [{ nodes: '', soak: '', approve: false }] }, 'waves[0].nodes'],
    ['a soak that is not a duration', { waves: [{ nodes: '1', soak: '10', approve: false }] }, 'waves[0].soak'],
    ['a time of day', { windows: [{ days: [], from: '25:00', to: '04:00', timeZone: '' }] }, 'windows[0].from'],
    ['a time zone', { windows: [{ days: [], from: '22:00', to: '04:00', timeZone: 'X' }] }, 'windows[0].timeZone'],
    ['a deadline', { progressDeadline: 'soon' }, 'progressDeadline'],
  ])('%s is named', (_name, change, field) => {
    const changed = { ...draft, ...change };
    expect(Object.keys({ ...problemsIn(changed, 'nodes'), ...problemsIn(changed, 'strategy') })).toEqual([field]);
  });
});
