/**
 * Limits the number of child processes, per user and by the memory of the server. Work that finds no free place waits for a while, and
 * is then rejected with the reason.
 */
import type { Clock } from '../../clock.js';
import { RequestProblem } from './problem.js';

export type Work = 'rehearsal' | 'command' | 'answer';

const perPerson = 2;
const mostWaiting = 20;
const patienceMs = 10_000;
/** The server itself: 15,000 nodes on the pages of three people (bench/dashboard). */
const serverMB = 384;
/** Node.js without the heap for its objects. */
const processMB = 64;

/**
 * The memory of each kind of child, in MB, so that a rehearsal and a command fit beside the server.
 *
 * Example: a limit of 2 GiB leaves 1,664 MB: 1,164 for the rehearsal, 499 for the command, or eight answers.
 */
export function memoryOf(limitMB: number): { totalMB: number; shares: Record<Work, number> } {
  const answer = 192;
  const totalMB = Math.max(limitMB - serverMB, answer);
  const rehearsal = Math.floor(Math.max(answer, Math.min(1600, totalMB * 0.7)));
  const command = Math.floor(Math.max(answer, Math.min(512, totalMB * 0.3)));
  return { totalMB, shares: { rehearsal, command, answer } };
}

export const heapOf = (memoryMB: number): number => memoryMB - processMB;

interface Waiting {
  person: string;
  memoryMB: number;
  start(): void;
}

export class Places {
  readonly #clock: Clock;
  readonly #shares: Record<Work, number>;
  readonly #running = new Map<string, number>();
  #freeMB: number;
  #waiting: Waiting[] = [];

  constructor({ limitMB, clock }: { limitMB: number; clock: Clock }) {
    const { totalMB, shares } = memoryOf(limitMB);
    this.#clock = clock;
    this.#shares = shares;
    this.#freeMB = totalMB;
  }

  /** Runs `work` with the memory that it may use, when there is a place for it. Throws a problem where there is none in time. */
  async within<T>(
    { person, kind, signal }: { person: string; kind: Work; signal: AbortSignal },
    work: (memoryMB: number) => Promise<T>,
  ): Promise<T> {
    const memoryMB = this.#shares[kind];
    if (this.#fits(person, memoryMB)) this.#take(person, memoryMB);
    else await this.#wait(person, memoryMB, signal);
    try {
      return await work(memoryMB);
    } finally {
      this.#giveBack(person, memoryMB);
    }
  }

  #fits(person: string, memoryMB: number): boolean {
    return (this.#running.get(person) ?? 0) < perPerson && memoryMB <= this.#freeMB;
  }

  #take(person: string, memoryMB: number): void {
    this.#running.set(person, (this.#running.get(person) ?? 0) + 1);
    this.#freeMB -= memoryMB;
  }

  #giveBack(person: string, memoryMB: number): void {
    const left = this.#running.get(person)! - 1;
    if (left === 0) this.#running.delete(person);
    else this.#running.set(person, left);
    this.#freeMB += memoryMB;
    for (const one of [...this.#waiting]) if (this.#fits(one.person, one.memoryMB)) one.start();
  }

  async #wait(person: string, memoryMB: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#waiting.filter((one) => one.person === person).length >= mostWaiting) throw this.#tooMany(person);
    const over = new AbortController();
    await new Promise<void>((resolve, reject) => {
      const end = (settle: () => void) => {
        this.#waiting = this.#waiting.filter((other) => other !== one);
        over.abort();
        settle();
      };
      const start = () => {
        this.#take(person, memoryMB);
        end(resolve);
      };
      const one: Waiting = { person, memoryMB, start };
      this.#waiting.push(one);
      signal.addEventListener('abort', () => end(() => reject(signal.reason)), { signal: over.signal });
      this.#clock.sleep(patienceMs, over.signal).then(
        () => end(() => reject(this.#tooMany(person))),
        () => {},
      );
    });
  }

  #tooMany(person: string): RequestProblem {
    const isOwn = (this.#running.get(person) ?? 0) >= perPerson;
    return new RequestProblem(429, {
      reason: 'TooManyCommands',
      message: isOwn
        ? `${perPerson} commands of yours are running already, the most that run for a person at the same time.`
        : 'Commands of other people use all the memory that this server has for commands.',
      remedy: isOwn
        ? 'Wait until one of them has ended.'
        : 'Wait until one of them has ended, or run it in a terminal.',
    });
  }
}
