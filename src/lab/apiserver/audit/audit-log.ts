/** The audit log: one JSON line per request, appended to a file. */
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import type { Clock } from '../../../clock.js';
import type { Log } from '../../../log.js';
import type { Exchange } from '../http/exchange.js';
import { auditEvent, type Stage, type Trace } from './audit-event.js';

/** When the disk does not keep up, lines are dropped, so that memory stays bounded. */
const maxWaitingBytes = 16 << 20;

export interface AuditLog {
  /** Called after every answered request. */
  record(exchange: Exchange, trace: Trace): void;
  /** Resolves when everything is written. */
  close(): Promise<void>;
}

export async function openAuditLog(path: string, clock: Clock, log: Log): Promise<AuditLog> {
  // In append mode, so that the file can be rotated or truncated.
  const file = createWriteStream(path, { flags: 'a', mode: 0o600 });
  await once(file, 'open').catch((cause: unknown) => {
    throw new Error(`open audit log ${path}: ${(cause as Error).message}; is its directory there and writable?`, {
      cause,
    });
  });
  let lost = 0;
  /** Watches, which end with the server at the latest. */
  const goingOn = new Map<Exchange, Trace>();
  file.on('error', (error) => log.error('cannot write audit log, continuing without it', { path, error }));
  const write = (exchange: Exchange, trace: Trace, stage: Stage) => {
    if (file.writableLength > maxWaitingBytes || file.destroyed) {
      if (lost++ % 1000 === 0) log.error('audit log does not keep up, lines dropped', { path, lost });
      return;
    }
    file.write(`${JSON.stringify(auditEvent(exchange, trace, stage, clock.now()))}\n`);
  };
  return {
    record(exchange, trace) {
      const verb = trace.info?.verb;
      const isLong = (verb === 'watch' || verb === 'proxy') && trace.error === undefined;
      if (!isLong || exchange.closed) {
        write(exchange, trace, 'ResponseComplete');
        return;
      }
      write(exchange, trace, 'ResponseStarted');
      goingOn.set(exchange, trace);
      exchange.onClose(() => {
        if (goingOn.delete(exchange)) write(exchange, trace, 'ResponseComplete');
      });
    },
    async close() {
      if (file.destroyed) return;
      for (const [exchange, trace] of goingOn) write(exchange, trace, 'ResponseComplete');
      goingOn.clear();
      await new Promise<void>((resolve) => file.end(resolve));
    },
  };
}
