/** `relet rollout analyze SET`: the results of a set's analyses, newest first; also for a set with onWorse: Report. */
import { mostAnalyses } from '../../api/node-config-set.js';
import type { ConnectionOptions } from '../command-line.js';
import { writeResult } from '../terminal/output.js';
import { analysisText } from './analysis-text.js';
import { withSet } from './read-set.js';
import { resourceName, type ShownOutput } from './result.js';

export interface AnalyzeOptions extends ConnectionOptions {
  output?: ShownOutput;
}

export const analyze = (word: string, options: AnalyzeOptions): Promise<void> =>
  withSet(word, options, async (session, set) => {
    const { terminal } = session;
    const { output } = options;
    const { analyses = [] } = set.status ?? {};
    const { name } = set.metadata;
    if (output !== undefined && output !== 'wide') {
      const object = { apiVersion: 'cli.relet.dev/v1', kind: 'RolloutAnalysis', set: name, analyses };
      return terminal.printDocument(writeResult(output, object, [resourceName(name)]));
    }
    const none =
      set.spec.strategy?.analysis === undefined
        ? `Set ${name} has no strategy.analysis, so its waves are not compared with other nodes.`
        : `No wave of set ${name} has been compared with other nodes yet.`;
    const texts = analyses.slice(0, mostAnalyses).map((one) => analysisText(one, terminal));
    terminal.print(texts.length === 0 ? none : texts.join('\n\n'));
  });
