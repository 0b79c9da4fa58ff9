/** The static files of the page, read once. The browser may cache all but index.html for ever, because their names contain a hash. */
import { readdirSync, readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { extname, join } from 'node:path';
import { gzipSync } from 'node:zlib';

const types: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
};

interface PageFile {
  type: string;
  bytes: Buffer;
  zipped: Buffer;
}

export interface PageFiles {
  /** False: there is no such file, and nothing was answered. */
  send(name: string, request: IncomingMessage, response: ServerResponse): boolean;
}

const index = 'index.html';

/** `basePath` ends with a slash; index.html names it, so that the page finds its files and the server below any prefix. */
export function readPageFiles(dir: string, basePath: string): PageFiles {
  const files = new Map<string, PageFile>();
  for (const name of namesIn(dir)) {
    const type = types[extname(name)];
    if (type === undefined) continue;
    const read = readFileSync(join(dir, name));
    const bytes = name === index ? Buffer.from(withBase(read.toString('utf8'), basePath)) : read;
    files.set(name, { type, bytes, zipped: gzipSync(bytes) });
  }
  return {
    send(name, request, response) {
      const file = files.get(name);
      if (file === undefined) return false;
      const mayZip = /\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''));
      response.writeHead(200, {
        'content-type': file.type,
        vary: 'accept-encoding',
        ...(name !== index && { 'cache-control': 'public, max-age=31536000, immutable' }),
        ...(mayZip && { 'content-encoding': 'gzip' }),
      });
      response.end(request.method === 'HEAD' ? undefined : mayZip ? file.zipped : file.bytes);
      return true;
    },
  };
}

function namesIn(dir: string): string[] {
  try {
    return readdirSync(dir);
  } catch (error) {
    // A build without the page: the API works, and a request for the page says so.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

const withBase = (html: string, basePath: string): string =>
  html.replace('<base href="/">', `<base href="${basePath}">`);
