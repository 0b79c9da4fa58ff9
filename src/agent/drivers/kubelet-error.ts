/**
 * Finds the reason for a kubelet's exit in its log lines. Pure. A kubelet exits in one of these ways. The line is the last one of its
 * kind, but the first one for a panic or a fatal error, since a stack trace follows:
 *
 *   panic: …, fatal error: …, SIGSEGV: …            the Go runtime, with a stack trace of up to thousands of lines
 *   F1116 12:00:00.000000 123 server.go:274] …      klog.Fatal, kubelets up to 1.20, with all goroutines
 *   E1116 12:00:00.000000 123 run.go:72] "…" err=…  klog
 *   {"ts":…,"msg":"command failed","err":"…"}       logging.format: json; lines that report no error have a field "v"
 *   Error: …                                        an invalid command line
 */
import { unquote } from '../../go/quote.js';
import { isObject } from '../../json.js';
import { shorten } from '../../shorten.js';
import { oneLine } from '../../visible-text.js';

export interface KubeletLog {
  /** Why it exited, as one of its lines shows it. Undefined if none does. */
  error: string | undefined;
  /** The last lines, that one among them. */
  lines: string[];
}

/** As in the schema of NodeConfig. */
const mostLines = 20;
const longestLine = 500;
/** How many of them are before the error, where a longer stack trace follows it. */
const linesBefore = 9;

/** Bounded, and without control characters. Undefined when it logged nothing. */
export function summarizeLog(all: readonly string[]): KubeletLog | undefined {
  const lines = all.filter((line) => line.trim() !== '');
  if (lines.length === 0) return undefined;
  const found = findError(lines);
  const last = Math.max(0, lines.length - mostLines);
  const first = found === undefined ? last : Math.min(last, Math.max(0, found.at - linesBefore));
  const printable = (text: string) => shorten(oneLine(text.trimEnd()), longestLine);
  return {
    error: found && printable(found.text),
    lines: lines.slice(first, first + mostLines).map(printable),
  };
}

const klogLine = /^([IWEF])\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ [^\s\]]+:\d+\] (.*)$/;
const runtimeError = /^(panic|fatal error|SIG[A-Z]+): /;
const flagWarning = /^Flag --\S+ has been deprecated/;

function findError(lines: readonly string[]): { at: number; text: string } | undefined {
  const crash = lines.findIndex((line) => runtimeError.test(line));
  if (crash >= 0) return { at: crash, text: lines[crash]!.replace(/ \[recovered[^\]]*\]$/, '') };
  const fatal = lines.findIndex((line) => klogLine.exec(line)?.[1] === 'F');
  const at = fatal >= 0 ? fatal : lines.findLastIndex(isError);
  if (at >= 0) return { at, text: messageAt(lines, at) };
  // The program failed before it could log, for example because a shared library is missing.
  const plain = lines.some(isLogged) ? -1 : lines.findLastIndex((line) => !flagWarning.test(line));
  return plain < 0 ? undefined : { at: plain, text: lines[plain]! };
}

const isError = (line: string): boolean =>
  klogLine.exec(line)?.[1] === 'E' || /^[Ee]rror: /.test(line) || jsonLine(line)?.isError === true;

const isLogged = (line: string): boolean => klogLine.test(line) || jsonLine(line) !== undefined;

function jsonLine(line: string): { isError: boolean; text: string } | undefined {
  if (!line.startsWith('{')) return undefined;
  let fields: unknown;
  try {
    fields = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (!isObject(fields) || typeof fields.msg !== 'string') return undefined;
  const { msg, err, panic } = fields;
  const text = [err, panic].find((value): value is string => typeof value === 'string') ?? msg;
  return { isError: fields.v === undefined, text };
}

function messageAt(lines: readonly string[], at: number): string {
  const line = lines[at]!;
  const logged = klogLine.exec(line)?.[2];
  if (logged === undefined) return jsonLine(line)?.text ?? line.replace(/^[Ee]rror: /, '');
  const [, message, fields] = /^("(?:[^"\\]|\\.)*")(.*)$/.exec(logged) ?? [];
  if (message === undefined) return logged;
  return errorValue(fields ?? '', lines.slice(at + 1)) ?? unquote(message);
}

/** Value of `err`, or of `panic`; a value of several lines is on the lines that follow, each after a tab, up to ` >`. */
function errorValue(fields: string, following: readonly string[]): string | undefined {
  for (const [, key, value] of fields.matchAll(/ ([^\s="]+)=("(?:[^"\\]|\\.)*"|<$|\S+)/g)) {
    if (key !== 'err' && key !== 'panic') continue;
    if (value !== '<') return value!.startsWith('"') ? unquote(value!) : value!;
    const end = following.findIndex((line) => !line.startsWith('\t'));
    const block = following.slice(0, end < 0 ? following.length : end);
    return block.map((line) => line.trim()).join(' ');
  }
  return undefined;
}
