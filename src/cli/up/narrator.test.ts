/** Output of `relet up`, on a narrow terminal and in a pipe. */
import { expect, test } from 'vitest';
import { forScreen } from './narrator.js';

test('a command to copy stays whole on a narrow terminal, all else is broken at spaces', () => {
  const text = '\n  export KUBECONFIG=/a/long/directory/admin.kubeconfig\n\nCtrl-C stops the cluster and all nodes.';
  expect(forScreen(text, 24)).toBe(
    '\n  export KUBECONFIG=/a/long/directory/admin.kubeconfig\n\nCtrl-C stops the cluster\nand all nodes.',
  );
  expect(forScreen(text, undefined)).toBe(text);
});
