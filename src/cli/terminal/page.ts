/**
 * Renders a result as one HTML page. It is self-contained and runs no script; its content security policy forbids loading anything.
 * Pure.
 */
import { oneLine } from '../../visible-text.js';

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/** A text of anybody's, safe in a page. */
export const html = (text: string): string => oneLine(text).replace(/[&<>"']/g, (char) => entities[char]!);

const frame = `
:root { color-scheme: light dark; --ink: #1f2328; --paper: #fff; --rule: #d0d7de; --good: #1a7f37; --maybe: #9a6700;
  --bad: #cf222e; --low: #0969da; --dim: #57606a; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --paper: #0d1117; --rule: #30363d; --good: #3fb950;
  --maybe: #d29922; --bad: #f85149; --low: #58a6ff; --dim: #8b949e; } }
body { font: 14px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 2rem auto; max-width: 60rem;
  padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; } .facts td:first-child { white-space: nowrap; } th, td { text-align: left;
  padding: .25rem .75rem .25rem 0; border-bottom: 1px solid var(--rule); vertical-align: top; overflow-wrap: anywhere; } th { white-space: nowrap; }
.good { color: var(--good); } .maybe { color: var(--maybe); } .bad { color: var(--bad); } .dim { color: var(--dim); }
.low { color: var(--low); }
`;

/** `body` and `style` are ours; texts of others go through html(). */
export const htmlPage = ({ title, style = '', body }: { title: string; style?: string; body: string[] }): string =>
  `<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width">
<title>${html(title)}</title><style>${frame}${style}</style></head>
<body>
${body.filter((part) => part !== '').join('\n')}
</body></html>
`;

export const section = (title: string, content: string): string =>
  content === '' ? '' : `<h2>${html(title)}</h2>\n${content}`;

/** A cell with a class is coloured. */
export type Cell = string | { text: string; tone: 'good' | 'maybe' | 'bad' | 'low' | 'dim' };

/** Empty without rows. */
export function htmlTable(titles: readonly string[], rows: readonly (readonly Cell[])[]): string {
  if (rows.length === 0) return '';
  const cellOf = (cell: Cell, tag: 'td' | 'th') =>
    typeof cell === 'string'
      ? `<${tag}>${html(cell)}</${tag}>`
      : `<${tag} class="${cell.tone}">${html(cell.text)}</${tag}>`;
  const row = (cells: readonly Cell[], tag: 'td' | 'th') => `<tr>${cells.map((one) => cellOf(one, tag)).join('')}</tr>`;
  return `<table>${titles.length > 0 ? row(titles, 'th') : ''}${rows.map((cells) => row(cells, 'td')).join('\n')}</table>`;
}
