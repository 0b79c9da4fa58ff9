/** CEL expressions as Kubernetes evaluates them: values, macros, and expressions that are wrong. */

import { describe, expect, test } from 'vitest';
import { CompileError, compile, newEnvironment, RunError } from './program.js';
import { celTypeOf } from './schema-type.js';
import { dynamicValue } from './values.js';

const schema = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        min: { type: 'integer' },
        max: { type: 'integer' },
        name: { type: 'string' },
        ratio: { type: 'number' },
        on: { type: 'boolean' },
        tags: { type: 'array', items: { type: 'string' } },
        limits: { type: 'object', additionalProperties: { type: 'integer' } },
        port: { 'x-kubernetes-int-or-string': true },
        'a-b': { type: 'string' },
        namespace: { type: 'string' },
        when: { type: 'string', format: 'date-time' },
        timeout: { type: 'string', format: 'duration' },
        blob: { type: 'string', format: 'byte' },
        maybe: { type: 'string', nullable: true },
        open: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
        items: { type: 'array', items: { type: 'object', properties: { x: { type: 'integer' } } } },
      },
    },
  },
};
const type = celTypeOf(schema, 'selfType', { isObject: true })!;
const self = type.fromJson({
  apiVersion: 'example.com/v1',
  kind: 'Thing',
  metadata: { name: 'thing' },
  spec: {
    min: 1,
    max: 2,
    ratio: 1.5,
    on: true,
    tags: ['a', 'b'],
    limits: { cpu: 1, memory: 2 },
    port: '80',
    'a-b': 'dash',
    namespace: 'ns',
    when: '2024-01-01T00:00:00Z',
    timeout: '1h30m',
    blob: 'aGk=',
    maybe: null,
    open: { secret: 1 },
    items: [{ x: 1 }, {}],
  },
});
const object = dynamicValue({
  metadata: { name: 'node-1', labels: { 'a/b': 'c' } },
  spec: { n: 3, half: 0.5, mixed: [1, 'a', { x: 1 }], none: [], empty: {}, nothing: null },
});

const environment = newEnvironment();
type.declare(environment);
environment.registerVariable('self', type.name).registerVariable('object', 'dyn').registerVariable('oldObject', 'dyn');

const run = (expression: string) => compile(environment, expression).run({ self, object, oldObject: null });

/** Each expression is true. */
function holds(title: string, expressions: string[]): void {
  describe(title, () => {
    test.each(expressions)('%s', (expression) => {
      expect(run(expression)).toBe(true);
    });
  });
}

holds('values by their schema', [
  'self.spec.min <= self.spec.max',
  'self.spec.min == 1 && self.spec.ratio > 1 && self.spec.ratio == 1.5',
  "self.metadata.name == 'thing' && self.kind == 'Thing' && self.apiVersion == 'example.com/v1'",
  "!has(self.spec.name) || self.spec.name == 'never looked at'",
  'has(self.spec.items[0].x) && !has(self.spec.items[1].x)',
  "self.spec.a__dash__b == 'dash' && self.spec.__namespace__ == 'ns'",
  "self.spec.port == '80' && self.spec.port != 80",
  'self.spec.maybe == null',
  'self.spec == self.spec && self.spec.items == self.spec.items && self.spec.items[0] != self.spec.items[1]',
  "self.spec.limits['cpu'] == 1 && 'memory' in self.spec.limits && !('gpu' in self.spec.limits)",
  "self.?spec.?name.orValue('none') == 'none' && !self.spec.?name.hasValue()",
  'type(self.spec.min) == int && type(self.spec.ratio) == double',
]);

holds('values without a schema', [
  'object.spec.n == 3 && object.spec.n == 3.0 && object.spec.n > 2.5 && object.spec.half < 1',
  "object.metadata.labels['a/b'] == 'c' && 'a/b' in object.metadata.labels",
  "!has(object.metadata.annotations) && object.?metadata.?annotations[?'x'].orValue('none') == 'none'",
  'has(object.spec.nothing) && object.spec.nothing == null',
  'oldObject == null || oldObject.spec.n == 1',
  "object.spec.mixed.exists(item, item == 'a') && 'a' in object.spec.mixed",
  "object.spec.n != 'three'",
  'object.spec.none.size() == 0 && size(object.spec.empty) == 0',
  "object.metadata.name == 'node-' + string(1)",
  'dyn(1) == 1.0 && dyn(1) == 1u',
]);

holds('macros', [
  'self.spec.tags.all(tag, tag.size() == 1)',
  'self.spec.items.exists(item, item.x == 1)',
  '[1, 2, 3].exists_one(x, x > 2)',
  '[1, 2, 3].filter(x, x > 1).map(x, x * 2) == [4, 6]',
  '[1, 2, 3].map(x, x > 1, x * 2) == [4, 6]',
  'self.spec.limits.all(key, self.spec.limits[key] > 0)',
  'cel.bind(total, self.spec.min + self.spec.max, total * total == 9)',
  '[1, 0].exists(x, 1 / x > 0)',
  '1 / 0 > 1 || true',
  '!(false && 1 / 0 > 1)',
]);

holds('text', [
  "['a', 'b'].join('-') == 'a-b' && ['a', 'b'].join() == 'ab'",
  "'abc'.startsWith('ab') && 'abc'.endsWith('bc') && 'abc'.contains('b') && string(1.5) == '1.5'",
]);

describe('what goes wrong', () => {
  test.each([
    "self.spec.name == 'x'",
    'self.spec.tags[5]',
    "self.spec.limits['gpu']",
    'object.spec.missing.deeper',
    '1 / (self.spec.min - 1)',
    '9223372036854775807 + self.spec.min',
    "object.spec.n + 'a'",
    'optional.none().value()',
  ])('%s cannot be evaluated', (expression) => {
    expect(() => run(expression)).toThrow(RunError);
  });

  test.each([
    'self.spec.foo',
    'has(self.spec.open.secret)',
    'has(self.metadata.namespace)',
    'foo == 1',
    'fakeFunction(1)',
    "114 + '514'",
    'self.spec.min == 1.0',
    'self.spec.tags == 1',
    'true && 1',
    "[1, 'a']",
    "true ? 1 : 'a'",
    'self.spec.min.foo',
    'object.x in [1, 2,',
    "self.spec.items[0] == {'x': 1}",
  ])('%s does not compile', (expression) => {
    expect(() => compile(environment, expression)).toThrow(CompileError);
  });
});
