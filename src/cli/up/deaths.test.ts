/** What a log tells of a kubelet that does not stay up. */
import { describe, expect, test } from 'vitest';
import { deathsIn } from './deaths.js';

const started = '2026-11-15T23:33:01.931Z INFO  kubelet started pid=1 command=kubelet';
const died = (why: string) => `2026-11-15T23:33:02.392Z WARN  kubelet died why=${why} blame=config`;

describe('deaths', () => {
  test('none', () => expect(deathsIn(`${started}\nI1115 all is well\n`)).toBeUndefined());

  test('the last words are the kubelet’s errors before the last death, not relet’s lines nor what came after', () => {
    const log = [
      started,
      'E1115 20:19:54.250432 20375 server.go:302] "first"',
      died('"exit code 1"'),
      started,
      'I1115 20:19:54.250432 20375 server.go:302] "harmless"',
      'E1115 20:19:54.250432 20375 run.go:74] "command failed" err="failed to run Kubelet: no runtime"',
      died('"exit code 1"'),
      'E1115 20:19:54.250432 20375 server.go:302] "later"',
    ];
    expect(deathsIn(log.join('\n'))).toEqual({ count: 2, why: 'exit code 1', words: [log[1], log[5]] });
  });

  test('of one that does not complain as kubelets do, whatever it said', () => {
    expect(deathsIn(`${started}\ncannot open shared object file\n${died('SIGSEGV')}\n`)).toEqual({
      count: 1,
      why: 'SIGSEGV',
      words: ['cannot open shared object file'],
    });
  });
});
