/** Placeholders for content: an error with its remedy, an empty page with the next step, a loading page. */
import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';
import type { ApiFailure } from '../api.js';
import type { Resource } from '../resource.js';
import { Button } from './button.js';
import { CopyCommand } from './copy-command.js';

/** A titled part of a page. */
export function Section({
  title,
  actions,
  children,
}: {
  title: string;
  actions?: ComponentChildren;
  children: ComponentChildren;
}) {
  const id = useId();
  return (
    <section class="section" aria-labelledby={id}>
      <header>
        <h2 id={id}>{title}</h2>
        {actions && <div class="actions">{actions}</div>}
      </header>
      {children}
    </section>
  );
}

export function PageTitle({ children, actions }: { children: ComponentChildren; actions?: ComponentChildren }) {
  return (
    <div class="page-title">
      <h1 tabIndex={-1}>{children}</h1>
      {actions && <div class="actions">{actions}</div>}
    </div>
  );
}

export function ErrorPanel({ failure, retry }: { failure: ApiFailure; retry?: () => void }) {
  const { reason, message, remedy, command } = failure;
  return (
    <div class="panel error" role="alert">
      <p>
        <strong class="message">{message}</strong> {reason !== 'Unknown' && <span class="reason">{reason}</span>}
      </p>
      {remedy && <p>{remedy}</p>}
      {command && <CopyCommand command={command} />}
      {retry && <Button onClick={retry}>Try again</Button>}
    </div>
  );
}

export function EmptyPanel({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="panel empty">
      <p>
        <strong>{title}</strong>
      </p>
      {children}
    </div>
  );
}

/** The answer, or what is known of it: an older answer stays below the error about the newer one. */
export function Loaded<T>({ resource, children }: { resource: Resource<T>; children: (data: T) => ComponentChildren }) {
  const { data, failure, isLoading, reload } = resource;
  return (
    <>
      {failure && <ErrorPanel failure={failure} retry={reload} />}
      {data === undefined && !failure && isLoading && (
        <p class="loading" role="status">
          Loading…
        </p>
      )}
      {data !== undefined && children(data)}
    </>
  );
}
