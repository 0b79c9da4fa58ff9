/** Admission in turn: the order, the first refusal, and that nobody waits without need. */
import { expect, test } from 'vitest';
import { type Admission, type AdmissionRequest, inTurn } from './admission.js';

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

test('parts that need no time are asked in one step', () => {
  const asked: string[] = [];
  expect(inTurn([recording(asked, 'a'), recording(asked, 'b')]).mutate(request)).toBeUndefined();
  expect(asked).toEqual(['a', 'b']);
});

test('a part that needs time is waited for before the next is asked', async () => {
  const asked: string[] = [];
  let go = () => {};
  const slow = () =>
    new Promise<void>((resolve) => {
      go = resolve;
    });
  const done = inTurn([recording(asked, 'a', slow), recording(asked, 'b')]).mutate(request);
  expect(asked).toEqual(['a']);
  go();
  await done;
  expect(asked).toEqual(['a', 'b']);
});

test('after a refusal nobody else is asked', async () => {
  const asked: string[] = [];
  const refuse = async () => {
    throw new Error('no');
  };
  await expect(inTurn([recording(asked, 'a', refuse), recording(asked, 'b')]).mutate(request)).rejects.toThrow('no');
  expect(asked).toEqual(['a']);
});
