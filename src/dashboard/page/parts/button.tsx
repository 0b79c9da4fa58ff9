/** A button, and a link that looks like one. */
import type { ComponentChildren, JSX } from 'preact';

type Kind = 'plain' | 'primary' | 'danger' | 'quiet';

interface ButtonProps extends Omit<JSX.IntrinsicElements['button'], 'class' | 'type'> {
  kind?: Kind;
  type?: 'button' | 'submit';
  /** Waits for an answer: it says so and takes no second click. */
  isBusy?: boolean;
}

export function Button({ kind = 'plain', type = 'button', isBusy = false, disabled, children, ...rest }: ButtonProps) {
  return (
    <button {...rest} type={type} class={`button ${kind}`} disabled={disabled || isBusy} aria-busy={isBusy}>
      {children}
    </button>
  );
}

export function ButtonLink({
  href,
  kind = 'plain',
  children,
}: {
  href: string;
  kind?: Kind;
  children: ComponentChildren;
}) {
  return (
    <a href={href} class={`button ${kind}`}>
      {children}
    </a>
  );
}
