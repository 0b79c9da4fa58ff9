/** The logger: a constant message with fields, one line per event, as text for people or JSON for machines. */

import { withCauses } from './error-causes.js';
import { shorten } from './shorten.js';
import { oneLine } from './visible-text.js';

export type Fields = Record<string, unknown>;
export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

export interface Log {
  debug(message: string, fields?: Fields): void;
  info(message: string, fields?: Fields): void;
  warn(message: string, fields?: Fields): void;
  error(message: string, fields?: Fields): void;
}

export interface LogOptions {
  format: 'text' | 'json';
  /** The lowest level that is written. Default info. */
  level?: LogLevel;
  write(line: string): void;
  now?: () => Date;
}

const order: Record<LogLevel, number> = { debug: 0, info: 1, warn: 2, error: 3 };

export function createLog({ format, level = 'info', write, now = () => new Date() }: LogOptions): Log {
  const at =
    (severity: LogLevel) =>
    (message: string, fields: Fields = {}) => {
      if (order[severity] < order[level]) return;
      const time = now().toISOString();
      const readable = Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, plain(value)]));
      const line =
        format === 'json'
          ? JSON.stringify({ time, level: severity, msg: message, ...readable })
          : `${time} ${severity.toUpperCase().padEnd(5)} ${message}${asText(readable)}`;
      write(`${oneLine(line)}\n`);
    };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

/** Whether a line of a shared file was written by a Log, in either format. */
export const isOwnLine = (line: string): boolean =>
  /^(\d{4}-\d\d-\d\dT[\d:.]+Z (DEBUG|INFO |WARN |ERROR) |\{"time":"[\dT:.Z-]+","level":"(debug|info|warn|error)","msg":)/.test(
    line,
  );

export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {} };

/** A cause may quote a value of any length, and a journal would cut the line anywhere. */
const longestField = 4000;

function plain(value: unknown): unknown {
  const text = value instanceof Error ? withCauses(value) : value;
  return typeof text === 'string' ? shorten(text, longestField) : text;
}

function asText(fields: Fields): string {
  return Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(
      ([key, value]) =>
        ` ${key}=${typeof value === 'string' && !/[\s"=]/.test(value) && value !== '' ? value : JSON.stringify(value)}`,
    )
    .join('');
}
