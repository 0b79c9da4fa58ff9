/** The admission chain: its order, the first rejection, and that it stays synchronous where every plugin is. */
import { expect, test } from 'vitest';
import { type Admission, type AdmissionRequest, admissionChain } from './admission.js';

const request = {} as AdmissionRequest;

function recording(asked: string[], name: string, answer: () => void | Promise<void> = () => {}): Admission {
  return {
    mutate() {
      asked.push(name);
      return answer();
    },
    validate() {},
  };
}

test('synchronous plugins run in one step', () => {
  const asked: string[] = [];
  expect(admissionChain([recording(asked, 'a'), recording(asked, 'b')]).mutate(request)).toBeUndefined();
  expect(asked).toEqual(['a', 'b']);
});

test('an asynchronous plugin is awaited before the next one runs', async () => {
  const asked: string[] = [];
  let go = () => {};
  const slow = () =>
    new Promise<void>((resolve) => {
      go = resolve;
    });
  const done = admissionChain([recording(asked, 'a', slow), recording(asked, 'b')]).mutate(request);
  expect(asked).toEqual(['a']);
  go();
  await done;
  expect(asked).toEqual(['a', 'b']);
});

test('no plugin runs after one that rejected the request', async () => {
  const asked: string[] = [];
  const rejecting = async () => {
    throw new Error('no');
  };
  await expect(
    admissionChain([recording(asked, 'a', rejecting), recording(asked, 'b')]).mutate(request),
  ).rejects.toThrow('no');
  expect(asked).toEqual(['a']);
});
