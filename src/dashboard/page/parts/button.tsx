/** Buttons: a plain one, one that changes something in the cluster, and a link that looks like a button. */
import type { ComponentChildren, JSX } from 'preact';
import { connection } from '../stream.js';

type Kind = 'plain' | 'primary' | 'danger' | 'quiet';

interface ButtonProps extends Omit<JSX.IntrinsicElements['button'], 'class' | 'type'> {
  kind?: Kind;
  type?: 'button' | 'submit';
  /** A request is in progress: the button shows that and ignores clicks. */
  isBusy?: boolean;
}

export function Button({ kind = 'plain', type = 'button', isBusy = false, disabled, children, ...rest }: ButtonProps) {
  return (
    <button {...rest} type={type} class={`button ${kind}`} disabled={disabled || isBusy} aria-busy={isBusy}>
      {children}
    </button>
  );
}

/** Disabled with the reason while the data is stale, until the page is live again. */
export function WriteButton({ disabled, title, ...rest }: ButtonProps) {
  const state = connection.value;
  if (state.kind === 'live') return <Button {...rest} disabled={disabled} title={title} />;
  const why = 'why' in state ? state.why : 'The page is not connected yet.';
  return <Button {...rest} disabled title={`Not while the data on this page is old. ${why}`} />;
}

/** `leadsToChange`: disabled as a WriteButton is. */
export function ButtonLink({
  href,
  kind = 'plain',
  leadsToChange = false,
  children,
}: {
  href: string;
  kind?: Kind;
  leadsToChange?: boolean;
  children: ComponentChildren;
}) {
  if (leadsToChange && connection.value.kind !== 'live') return <WriteButton kind={kind}>{children}</WriteButton>;
  return (
    <a href={href} class={`button ${kind}`}>
      {children}
    </a>
  );
}
