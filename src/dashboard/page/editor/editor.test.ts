/** Suggestions and findings of the overlay editor, without a browser. */
import { describe, expect, test } from 'vitest';
import { checkText } from './check-text.js';
import { completeField } from './complete-field.js';

const at = (marked: string, minors = [36]) => completeField(marked.replace('|', ''), marked.indexOf('|'), minors);
const labels = (marked: string, minors?: number[]) => at(marked, minors)?.suggestions.map(({ label }) => label) ?? [];

describe('completion', () => {
  test('suggests the fields of a KubeletConfiguration with type, default and what a change needs', () => {
    const maxPods = at('maxP|')!.suggestions.find(({ label }) => label === 'maxPods')!;
    expect(maxPods).toMatchObject({ insert: 'maxPods: ', detail: 'int32, default 110' });
    expect(maxPods.info).toContain('A change needs: ');
  });

  test('suggests no field twice, and the fields of the struct that one is in', () => {
    expect(labels('maxPods: 3\n|')).not.toContain('maxPods');
    expect(labels('logging:\n  |')).toContain('format');
    expect(labels('logging:\n  |')).not.toContain('maxPods');
  });

  test('suggests the values that the kubelet takes', () => {
    expect(labels('topologyManagerPolicy: |')).toEqual(['none', 'best-effort', 'restricted', 'single-numa-node']);
    expect(labels('failSwapOn: |')).toEqual(['true', 'false']);
    expect(labels('enforceNodeAllocatable:\n  - |')).toContain('pods');
    expect(labels('registerWithTaints:\n  - key: a\n    effect: |')).toContain('NoExecute');
    expect(labels('nodeStatusUpdateFrequency: |')).toEqual(['10s']);
  });

  test('suggests the keys of maps, and values behind them', () => {
    expect(labels('evictionHard:\n  |')).toContain('memory.available');
    expect(labels('featureGates:\n  Graceful|')).toContain('GracefulNodeShutdown');
    expect(labels('featureGates:\n  GracefulNodeShutdown: |')).toEqual(['true', 'false']);
  });

  test('says which of the selected kubelets have a field that not all have', () => {
    const suggestion = at('|', [20, 36])!.suggestions.find(({ label }) => label === 'memorySwap')!;
    expect(suggestion.detail).toContain('only kubelets 1.36');
    expect(at('|', [36])!.suggestions.find(({ label }) => label === 'memorySwap')!.detail).not.toContain('only');
  });

  test('suggests nothing under a field that does not exist, or where any text will do', () => {
    expect(at('noSuchField:\n  |')).toBeUndefined();
    expect(at('clusterDomain: |')).toBeUndefined();
  });
});

describe('the check as one types', () => {
  test('has nothing to report about an empty text, a comment, or a valid overlay', () => {
    for (const text of ['', '\n\n', '# later\n', 'maxPods: 150\n']) expect(checkText(text, [], [30, 36])).toEqual([]);
  });

  test('points to the line of a field that does not exist, and suggests one that does', () => {
    expect(checkText('# pods\nmaxPod: 150\n', [], [36])).toEqual([
      expect.objectContaining({ severity: 'error', line: 2, column: 1, message: expect.stringContaining('maxPods') }),
    ]);
  });

  test('reports what the kubelet would reject, at the value', () => {
    const [finding] = checkText('evictionHard:\n  memory.available: -5Mi\n', [], [36]);
    expect(finding).toMatchObject({ severity: 'error', line: 2 });
  });

  test('names the kubelets where only some of the selected ones object', () => {
    const [finding] = checkText('memorySwap:\n  swapBehavior: NoSwap\n', [], [20, 36]);
    expect(finding).toMatchObject({ severity: 'error', line: 1 });
    expect(finding!.message).toMatch(/^kubelet 1\.20: /);
  });

  test('points to the place of text that is not YAML', () => {
    expect(checkText('maxPods: 1\n\tx: 2\n', [], [36])[0]).toMatchObject({ severity: 'error', line: 2 });
  });

  test.each([
    ['maxPods: 150\nfoo\n', 2, "could not find expected ':'"],
    ['maxPods: 150\nfoo\nbar: 2\n', 2, "could not find expected ':'"],
    ['maxPods: 150\nclusterDomain: "a\n\n', 2, 'found unexpected end of stream'],
    ['maxPods: 1\n\tx: 2\n', 2, 'found a tab character that violates indentation'],
  ])('counts the lines of the text alone where %j is not YAML', (text, line, message) => {
    expect(checkText(text, [], [36])).toEqual([expect.objectContaining({ severity: 'error', line, message })]);
  });

  test('reports a path under unset that does not exist, without a place in the text', () => {
    const findings = checkText('', ['noSuchField'], [36]);
    expect(findings).toEqual([
      expect.objectContaining({ severity: 'error', message: expect.stringContaining('noSuchField') }),
    ]);
    expect(findings[0]!.line).toBeUndefined();
  });
});
