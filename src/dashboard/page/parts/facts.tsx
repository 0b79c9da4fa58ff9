/** Names and values, one below the other. An absent value leaves no line. */
import type { ComponentChildren } from 'preact';

export function Facts({ facts }: { facts: [name: string, value: ComponentChildren][] }) {
  return (
    <dl class="facts">
      {facts
        .filter(([, value]) => value !== undefined && value !== null && value !== '' && value !== false)
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}
