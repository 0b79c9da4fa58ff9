/** The Prometheus text format, bind addresses, and the server of metrics. */
import { describe, expect, onTestFinished, test } from 'vitest';
import { silentLog } from './log.js';
import { parseBindAddress, renderMetrics, serveMetrics } from './metrics.js';

describe('metrics', () => {
  test('a label value cannot end its quotes or its line', () => {
    expect(
      renderMetrics([
        { name: 'a_total', type: 'counter', help: 'Some.', value: 2 },
        { name: 'b', type: 'gauge', help: 'Other.', value: 1, labels: { x: 'a"b\\c\nd', y: '' } },
      ]),
    ).toBe(
      '# HELP a_total Some.\n# TYPE a_total counter\na_total 2\n' +
        '# HELP b Other.\n# TYPE b gauge\nb{x="a\\"b\\\\c\\nd",y=""} 1\n',
    );
  });

  test('HELP and TYPE are written once for all samples of a metric', () => {
    const metric = { name: 'm_seconds', type: 'histogram', help: 'Some.' } as const;
    expect(
      renderMetrics([
        { ...metric, suffix: '_bucket', labels: { le: '+Inf' }, value: 2 },
        { ...metric, suffix: '_count', value: 2 },
      ]),
    ).toBe('# HELP m_seconds Some.\n# TYPE m_seconds histogram\nm_seconds_bucket{le="+Inf"} 2\nm_seconds_count 2\n');
  });

  test.each([
    ['127.0.0.1:10269', { host: '127.0.0.1', port: 10_269 }],
    ['[::1]:80', { host: '::1', port: 80 }],
    [':8080', { host: '', port: 8080 }],
    ['here', undefined],
    ['::1:80', undefined],
    ['a:65536', undefined],
  ])('the bind address %s is %j', (text, address) => {
    expect(parseBindAddress(text)).toEqual(address);
  });

  test('only the given paths are served, and a port in use is not an error', async () => {
    const stop = new AbortController();
    onTestFinished(() => stop.abort());
    const paths = { '/metrics': () => 'a 1\n' };
    const options = { host: '127.0.0.1', paths, log: silentLog, signal: stop.signal };
    const port = await serveMetrics({ ...options, port: 0 });
    const found = await fetch(`http://127.0.0.1:${port}/metrics`);
    expect([found.status, await found.text()]).toEqual([200, 'a 1\n']);
    expect((await fetch(`http://127.0.0.1:${port}/toString`)).status).toBe(404);
    expect(await serveMetrics({ ...options, port: port! })).toBeUndefined();
  });
});
