/** A labelled input with what is wrong with it, read together with it by a screen reader. */
import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

interface Props {
  label: string;
  value: string;
  onChange(value: string): void;
  problem?: string | undefined;
  hint?: ComponentChildren;
  /** Shown while the field is empty, as an example and not as a value. */
  example?: string;
  isCode?: boolean;
  /** The name of a field of the spec, shown beside the label. */
  field?: string;
}

export function TextField({ label, value, onChange, problem, hint, field, isCode = false, example }: Props) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>
        {label} {field && <code class="muted">{field}</code>}
      </label>
      <input
        type="text"
        id={id}
        class={isCode ? 'code' : ''}
        value={value}
        placeholder={example && `such as ${example}`}
        autocomplete="off"
        spellcheck={false}
        aria-invalid={problem !== undefined}
        aria-describedby={`${id}-text`}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
      {(problem ?? hint) && (
        <p id={`${id}-text`} class={problem === undefined ? 'hint' : 'problem'}>
          {problem ?? hint}
        </p>
      )}
    </div>
  );
}

interface ChoiceProps<T extends string> {
  label: string;
  value: T;
  choices: readonly (readonly [value: T, text: string])[];
  onChange(value: T): void;
  field?: string;
}

export function Choice<T extends string>({ label, value, choices, onChange, field }: ChoiceProps<T>) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>
        {label} {field && <code class="muted">{field}</code>}
      </label>
      <select id={id} value={value} onChange={(event) => onChange(event.currentTarget.value as T)}>
        {choices.map(([one, text]) => (
          <option key={one} value={one}>
            {text}
          </option>
        ))}
      </select>
    </div>
  );
}

export function Check({
  label,
  isOn,
  onChange,
}: {
  label: ComponentChildren;
  isOn: boolean;
  onChange(isOn: boolean): void;
}) {
  return (
    <label class="check">
      <input type="checkbox" checked={isOn} onChange={(event) => onChange(event.currentTarget.checked)} />
      <span>{label}</span>
    </label>
  );
}
