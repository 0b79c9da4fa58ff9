/** Names under which a release is published, from package.json: RELEASING.md describes how they are set. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export const repository = join(import.meta.dirname, '../..');
export const about = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8'));
export const { version } = about;
export const source = about.repository.url.replace(/^git\+|\.git$/g, '');

const [, organisation] = /github\.com\/([^/]+)\//.exec(source);
export const registry = `ghcr.io/${organisation}`;
export const image = `${registry}/relet`;
export const downloads = `${source}/releases/download/v${version}`;
