/**
 * Frees memory after a change. V8 collects old objects only when it needs space, which an idle node never does: the garbage of its last
 * change would stay for months.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Long enough for a kubelet to come up and its status to be written. */
const afterMs = 3000;

/** To be called when something happened. */
export function createSpareMemory(): () => void {
  let collect: (() => void) | undefined;
  let state: 'nothing' | 'due' | 'more' = 'nothing';
  const give = () => {
    const isMore = state === 'more';
    state = 'nothing';
    collect ??= collector();
    collect();
    if (isMore) spare();
  };
  // On a busy machine a change takes longer than this: events until then cause one more collection.
  const spare = () => {
    if (state === 'nothing') setTimeout(give, afterMs).unref();
    state = state === 'nothing' ? 'due' : 'more';
  };
  return spare;
}

/** Node shows V8's collector only to programs started with a flag, or to what is created after the flag is set. */
function collector(): () => void {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc');
}
