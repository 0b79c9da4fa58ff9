/**
 * The editor of an overlay: CodeMirror with YAML, completion and checks. A chunk of its own that is loaded on demand: it contains all
 * of relet's knowledge of KubeletConfigurations. Tab leaves the editor, as everywhere on the page; Ctrl-Space completes.
 */
import {
  autocompletion,
  type CompletionContext,
  type CompletionResult,
  completionKeymap,
} from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { yaml } from '@codemirror/lang-yaml';
import { HighlightStyle, indentUnit, syntaxHighlighting } from '@codemirror/language';
import { type Diagnostic, linter, lintGutter, lintKeymap } from '@codemirror/lint';
import { Compartment, EditorState } from '@codemirror/state';
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import type { Minor } from '../../../config/model.js';
import { checkText, type TextFinding } from './check-text.js';
import { completeField } from './complete-field.js';
import { editorTheme } from './editor-theme.js';

export interface EditorOptions {
  parent: HTMLElement;
  text: string;
  /** Minors of the selected nodes; the newest that relet knows if there are none. */
  minors: readonly Minor[];
  unset: readonly string[];
  onChange(text: string): void;
  onFindings(findings: TextFinding[]): void;
}

export interface Editor {
  /** Checks again, for these kubelets and unset paths. */
  update(options: Pick<EditorOptions, 'minors' | 'unset'>): void;
  focus(): void;
  close(): void;
}

export function openEditor({ parent, text, onChange, onFindings, ...first }: EditorOptions): Editor {
  let { minors, unset } = first;
  const check = (content: string): TextFinding[] => {
    const findings = checkText(content, unset, minors);
    onFindings(findings);
    return findings;
  };
  const lint = new Compartment();
  const linting = () => linter((view) => diagnosticsIn(view, check(view.state.doc.toString())), { delay: 300 });
  // In a shadow root CodeMirror adopts its styles as sheets; anywhere else it writes a <style>, which our CSP forbids.
  const root = parent.shadowRoot ?? parent.attachShadow({ mode: 'open' });
  const view = new EditorView({
    root,
    parent: root as unknown as Element,
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(),
        lintGutter(),
        history(),
        drawSelection(),
        highlightActiveLine(),
        EditorState.tabSize.of(2),
        indentUnit.of('  '),
        yaml(),
        syntaxHighlighting(colours),
        autocompletion({ override: [(context) => suggest(context, minors)], icons: false, interactionDelay: 0 }),
        lint.of(linting()),
        keymap.of([
          ...completionKeymap,
          { key: 'Enter', run: openBlock },
          ...lintKeymap,
          ...historyKeymap,
          ...defaultKeymap,
        ]),
        replaceByEditor,
        EditorView.contentAttributes.of({ 'aria-label': 'Fields of the KubeletConfiguration' }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) onChange(update.state.doc.toString());
        }),
        editorTheme,
      ],
    }),
  });
  check(text);
  return {
    update(next) {
      ({ minors, unset } = next);
      view.dispatch({ effects: lint.reconfigure(linting()) });
    },
    focus: () => view.focus(),
    close: () => view.destroy(),
  };
}

/** Text typed over a selection. The browser would keep the look of the old text in a style attribute, which our CSP forbids. */
const replaceByEditor = EditorView.domEventHandlers({
  beforeinput({ inputType, data }, view) {
    const { state } = view;
    if (inputType !== 'insertText' || data === null || state.selection.main.empty) return false;
    view.dispatch(state.update(state.replaceSelection(data), { userEvent: 'input.type', scrollIntoView: true }));
    return true;
  },
});

/** After `evictionHard:` the next line is inside of it. Any other Enter is CodeMirror's. */
function openBlock(view: EditorView): boolean {
  const { state } = view;
  const { main } = state.selection;
  const line = state.doc.lineAt(main.head);
  if (!main.empty || main.head !== line.to || !/:\s*$/.test(line.text)) return false;
  const indent = /^[\s-]*/.exec(line.text)![0].length + 2;
  view.dispatch(state.replaceSelection(`\n${' '.repeat(indent)}`), { userEvent: 'input', scrollIntoView: true });
  return true;
}

function suggest(context: CompletionContext, minors: readonly Minor[]): CompletionResult | null {
  const found = completeField(context.state.doc.toString(), context.pos, minors);
  if (found === undefined || (!context.explicit && found.from === context.pos)) return null;
  // Enter after a word that is complete begins a line.
  const typed = context.state.sliceDoc(found.from, context.pos);
  if (!context.explicit && found.suggestions.some(({ insert }) => insert === typed)) return null;
  return {
    from: found.from,
    options: found.suggestions.map(({ label, insert, detail, info }) => ({
      label,
      apply: insert.endsWith('\n') ? insertOpened(insert.trimEnd()) : insert,
      detail,
      ...(info !== undefined && { info }),
    })),
  };
}

/** A field with fields below it: the cursor goes to the next line, indented. */
const insertOpened = (text: string) => (view: EditorView, _completion: unknown, from: number, to: number) => {
  const column = from - view.state.doc.lineAt(from).from;
  const insert = `${text}\n${' '.repeat(column + 2)}`;
  view.dispatch({
    changes: { from, to, insert },
    selection: { anchor: from + insert.length },
    userEvent: 'input.complete',
  });
};

function diagnosticsIn({ state: { doc } }: EditorView, findings: TextFinding[]): Diagnostic[] {
  return findings.map(({ severity, line = 1, column = 1, message }) => {
    const at = doc.line(Math.min(line, doc.lines));
    const from = Math.min(at.from + column - 1, at.to);
    return { from, to: at.to, severity: severity === 'note' ? 'info' : severity, message };
  });
}

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--accent)' },
  { tag: tags.comment, color: 'var(--muted)' },
]);
