/** The router: path and query below the base path, so that every view, filter and pair of a diff has a URL. */
import { signal } from '@preact/signals';

export interface Place {
  /** Decoded segments: `nodes/gpu-1` is ['nodes', 'gpu-1']. */
  path: string[];
  query: URLSearchParams;
}

/** Undefined: not below the base. A segment that is not valid percent-encoding stays as it is. */
export function placeOf(url: string, base: string): Place | undefined {
  const { origin, pathname, searchParams } = new URL(url);
  const root = new URL(base);
  if (origin !== root.origin || !`${pathname}/`.startsWith(root.pathname)) return undefined;
  const path = pathname.slice(root.pathname.length).split('/').filter(Boolean).map(decoded);
  return { path, query: searchParams };
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** For `href`: relative, so that the browser resolves it below the base. Undefined and empty values leave the query. */
export function link(path: string[], query: Record<string, string | undefined> = {}): string {
  const entries = Object.entries(query).filter((entry): entry is [string, string] => !!entry[1]);
  const search = new URLSearchParams(entries).toString();
  return `./${path.map(encodeURIComponent).join('/')}${search && `?${search}`}`;
}

const here = (): Place => placeOf(location.href, document.baseURI) ?? { path: [], query: new URLSearchParams() };

export const place = signal<Place>({ path: [], query: new URLSearchParams() });

/** `replace` for a filter that changes as one types: Back then leads to the page before. */
export function navigate(to: string, { replace = false } = {}): void {
  const url = new URL(to, document.baseURI);
  if (replace) history.replaceState(null, '', url);
  else history.pushState(null, '', url);
  const isOtherPage = here().path.join('/') !== place.value.path.join('/');
  place.value = here();
  if (isOtherPage) {
    scrollTo(0, 0);
    focusHeading();
  }
}

/** Changes some of the query of this page. */
export function setQuery(changes: Record<string, string | undefined>): void {
  const { path, query } = place.value;
  navigate(link(path, { ...Object.fromEntries(query), ...changes }), { replace: true });
}

/** A screen reader then reads the new page's title, and Tab continues from there. */
function focusHeading(): void {
  requestAnimationFrame(() => document.querySelector<HTMLElement>('main h1')?.focus());
}

/** Links of the page load nothing: they change the place. */
export function followLinks(): void {
  place.value = here();
  addEventListener('popstate', () => {
    place.value = here();
  });
  document.addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
    const anchor = (event.target as Element | null)?.closest('a');
    if (!anchor || anchor.target || anchor.hasAttribute('download') || !placeOf(anchor.href, document.baseURI)) return;
    event.preventDefault();
    navigate(anchor.href);
  });
}
