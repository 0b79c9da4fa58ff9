/** Judges once where the flow asks twice: before the kubelet is stopped, and at the boot right after. */
import type { Candidate, Judge, Judgement, JudgeOptions } from './judging.js';

export class RememberedJudge implements Judge {
  readonly #judge: Judge;
  #last = new Map<string, Judgement>();
  #underWay = 0;

  constructor(judge: Judge) {
    this.#judge = judge;
  }

  async judge(candidate: Candidate, options: JudgeOptions): Promise<Judgement> {
    const { checkpoint, kubeletVersion } = candidate;
    // The local config may be edited at any time; it is looked at anew.
    if (checkpoint === undefined) return this.#ask(candidate, options);
    const { digest, source, annotations } = checkpoint;
    const question = JSON.stringify([digest, source, annotations, kubeletVersion, options.history]);
    const known = this.#last.get(question);
    if (known !== undefined) return known;
    const judgement = await this.#ask(candidate, options);
    this.#last.set(question, judgement);
    return judgement;
  }

  /** A file made for a config that is being judged is not known yet, and must not be tidied away under the kubelet's eyes. */
  get isJudging(): boolean {
    return this.#underWay > 0;
  }

  async #ask(candidate: Candidate, options: JudgeOptions): Promise<Judgement> {
    this.#underWay++;
    try {
      return await this.#judge.judge(candidate, options);
    } finally {
      this.#underWay--;
    }
  }

  /** The files that configs judged lately would be started with. */
  get configFiles(): string[] {
    const judgements = [...this.#last.values()];
    return judgements.flatMap((judgement) => (judgement.kind === 'accepted' ? (judgement.configFile ?? []) : []));
  }

  /** Something changed: ask again. */
  forget(): void {
    this.#last.clear();
  }
}
