/** The configs of a node side by side. A text that is shown already is not repeated, but referred to by name. */
import type { ConfigDocument, ConfigName, NodeDetails } from '../../wire.js';
import { Section } from '../parts/panels.js';
import { configMeanings, configNames, configTitles } from './config-names.js';

export function ConfigsSideBySide({ configs }: Pick<NodeDetails, 'configs'>) {
  return (
    <Section title="Configs">
      <div class="side-by-side">
        {configNames.map((name, at) => {
          const same = configNames.slice(0, at).find((other) => isSame(configs[other], configs[name]));
          return <Config key={name} name={name} document={configs[name]} same={same} />;
        })}
      </div>
    </Section>
  );
}

const isSame = (a: ConfigDocument, b: ConfigDocument): boolean => a.text !== undefined && a.text === b.text;

interface Props {
  name: ConfigName;
  document: ConfigDocument;
  same: ConfigName | undefined;
}

function Config({ name, document, same }: Props) {
  const { source, text, problem, isOverlay } = document;
  return (
    <article class="config" aria-label={configTitles[name]}>
      <h3>{configTitles[name]}</h3>
      <p class="hint">{configMeanings[name]}</p>
      <p class="source">
        {source}
        {isOverlay && ', overlay'}
      </p>
      {same !== undefined && <p class="hint">The same text as {configTitles[same].toLowerCase()}.</p>}
      {same === undefined && text !== undefined && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        <pre tabIndex={0}>{text}</pre>
      )}
      {text === undefined && <p class="hint">{problem ?? 'Not known.'}</p>}
    </article>
  );
}
