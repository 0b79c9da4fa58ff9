/** CEL expressions as Kubernetes evaluates them: one table for each library, one for errors. */

import { describe, expect, test } from 'vitest';
import { systemClock } from '../../../clock.js';
import { newEnvironment } from './environment.js';
import { Meter } from './meter.js';
import { CompileError, compile, RunError } from './program.js';
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

const run = (expression: string) =>
  compile(environment, expression).run({ self, object, oldObject: null }, new Meter(systemClock));

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
  "self.spec.when < timestamp('2025-01-01T00:00:00Z') && self.spec.when.getFullYear() == 2024",
  "self.spec.timeout == duration('90m') && self.spec.timeout.getMinutes() == 90",
  "self.spec.blob == b'hi'",
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
  "self.spec.limits.all(key, value, key != '' && value > 0)",
  'self.spec.limits.exists(key, value, value == 2)',
  '[5, 6].existsOne(index, value, index == 1 && value == 6)',
  '[1, 2, 3].transformList(index, value, index > 0, value * 2) == [4, 6]',
  "self.spec.limits.transformMap(key, value, value + 1)['cpu'] == 2",
  "['a', 'b'].transformMapEntry(index, value, {value: index})['b'] == 1",
  'cel.bind(total, self.spec.min + self.spec.max, total * total == 9)',
  '[1, 0].exists(x, 1 / x > 0)',
  '[0, 1].exists(index, x, 1 / x > 0)',
  '1 / 0 > 1 || true',
  '!(false && 1 / 0 > 1)',
]);

holds('text', [
  "'héllo'.charAt(1) == 'é' && 'héllo'.indexOf('l') == 2 && 'héllo'.lastIndexOf('l') == 3",
  "'hello'.indexOf('l', 3) == 3 && 'hello'.indexOf('z') == -1",
  "'héllo'.substring(1, 3) == 'él' && 'héllo'.size() == 5",
  "'aXbXc'.replace('X', '-') == 'a-b-c' && 'aXbXc'.replace('X', '-', 1) == 'a-bXc'",
  "'a,b,c'.split(',') == ['a', 'b', 'c'] && 'a,b,c'.split(',', 2) == ['a', 'b,c']",
  "['a', 'b'].join('-') == 'a-b' && ['a', 'b'].join() == 'ab'",
  "'ÀB'.lowerAscii() == 'Àb' && 'àb'.upperAscii() == 'àB' && '  a '.trim() == 'a'",
  "'%s has %d of %.1f%%'.format([dyn('a'), dyn(2), dyn(1.26)]) == 'a has 2 of 1.3%'",
  "'%x %X %b %o'.format([255, 255, 5, 8]) == 'ff FF 101 10'",
  "'%s'.format([['a', 'b']]) == '[\"a\", \"b\"]'",
  "string(timestamp('2024-01-01T00:00:00Z')) == '2024-01-01T00:00:00Z' && string(1.5) == '1.5'",
  "'abc'.startsWith('ab') && 'abc'.endsWith('bc') && 'abc'.contains('b')",
]);

holds('regular expressions in the syntax of Go', [
  "'abc'.matches('^a.c$') && 'xabcx'.matches('b')",
  "'ABC'.matches('(?i)abc') && '\\u00e9'.matches('\\\\pL') && 'a1'.matches('[[:alpha:]][[:digit:]]')",
  "'a1b22'.find('[0-9]+') == '1' && 'abc'.find('[0-9]+') == ''",
  "'a1b22c3'.findAll('[0-9]+') == ['1', '22', '3'] && 'a1b22c3'.findAll('[0-9]+', 2) == ['1', '22']",
]);

holds('lists and sets', [
  '[1, 2, 2].isSorted() && ![2, 1].isSorted() && [].isSorted()',
  '[1, 2, 3].sum() == 6 && [1.5, 1.5].sum() == 3.0',
  "[3, 1, 2].min() == 1 && ['b', 'c', 'a'].max() == 'c'",
  '[1, 2, 1].indexOf(1) == 0 && [1, 2, 1].lastIndexOf(1) == 2 && [1].indexOf(5) == -1',
  'sets.contains([1, 2], [2]) && sets.equivalent([1, 2, 2], [2, 1]) && !sets.intersects([1], [2])',
]);

holds('quantities', [
  "isQuantity('100m') && !isQuantity('1x')",
  "quantity('1') == quantity('1000m') && quantity('1Gi').isGreaterThan(quantity('1G'))",
  "quantity('2').compareTo(quantity('10')) == -1 && quantity('-1').sign() == -1",
  "quantity('50k').asInteger() == 50000 && !quantity('50m').isInteger() && quantity('50m').asApproximateFloat() == 0.05",
  "quantity('50k').add(quantity('20k')) == quantity('70k') && quantity('50').sub(20) == quantity('30')",
]);

holds('URLs', [
  "isURL('https://example.com/a?b=c') && isURL('/path') && !isURL('../relative') && !isURL('example.com')",
  "url('https://user@example.com:8080/a').getHost() == 'example.com:8080'",
  "url('https://[::1]:80/').getHostname() == '::1' && url('https://[::1]:80/').getPort() == '80'",
  "url('HTTPS://example.com/with%20space').getScheme() == 'https'",
  "url('https://example.com/a?x=1&x=2&y=').getQuery() == {'x': ['1', '2'], 'y': ['']}",
  "url('https://example.com/a').getEscapedPath() == '/a'",
]);

holds('addresses', [
  "isIP('127.0.0.1') && isIP('::1') && !isIP('127.0.0.256') && !isIP('::ffff:1.2.3.4') && !isIP('10.0.0.0/8')",
  "ip('127.0.0.1').isLoopback() && ip('::1').isLoopback() && ip('127.0.0.1').family() == 4",
  "ip('169.254.1.1').isLinkLocalUnicast() && ip('10.1.2.3').isGlobalUnicast() && ip('0.0.0.0').isUnspecified()",
  "string(ip('2001:DB8:0:0:0:0:0:1')) == '2001:db8::1' && ip.isCanonical('2001:db8::1')",
  "ip('2001:db8::abcd') == ip('2001:DB8::ABCD')",
  "isCIDR('10.0.0.0/8') && !isCIDR('10.0.0.0/33') && cidr('10.0.0.0/8').prefixLength() == 8",
  "cidr('10.0.0.0/8').containsIP('10.1.2.3') && !cidr('10.0.0.0/8').containsIP(ip('11.0.0.1'))",
  "cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16') && string(cidr('10.1.2.3/8').masked()) == '10.0.0.0/8'",
]);

holds('formats', [
  "!format.dns1123Label().validate('a-b').hasValue() && format.dns1123Label().validate('A').hasValue()",
  "format.named('dns1123Subdomain').hasValue() && !format.named('nonsense').hasValue()",
  "!format.qualifiedName().validate('example.com/name').hasValue() && format.uuid().validate('x').hasValue()",
]);

describe('a runtime error has the message of cel-go', () => {
  test.each([
    ["self.spec.name == 'x'", 'no such key: name'],
    ['self.spec.tags[5]', 'index out of bounds: 5'],
    ["self.spec.limits['gpu']", 'no such key: gpu'],
    ['object.spec.missing.deeper', 'no such key: missing'],
    ['1 / (self.spec.min - 1)', 'division by zero'],
    ['1 % (self.spec.min - 1)', 'modulus by zero'],
    ['9223372036854775807 + self.spec.min', 'integer overflow'],
    ["object.spec.n + 'a'", 'no such overload'],
    ['object.spec.n.startsWith("a")', 'no such overload'],
    ['optional.none().value()', 'optional.none() dereference'],
    ["'abc'.substring(5)", 'invalid substring range. start: 5, end: 3'],
    ['[].min()', 'min called on empty list'],
    ["'a'.matches('(')", 'error parsing regexp: missing closing ): `(`'],
  ])('%s → %s', (expression, message) => {
    expect(() => run(expression)).toThrow(new RunError(message));
  });
});

describe('a compile error has the message and position of cel-go', () => {
  test.each([
    ['self.spec.foo', "1:10: undefined field 'foo'"],
    ['has(self.spec.open.secret)', "undefined field 'secret'"],
    ['has(self.metadata.namespace)', "undefined field 'namespace'"],
    ['foo == 1', "1:1: undeclared reference to 'foo' (in container '')"],
    ['fakeFunction(1)', "undeclared reference to 'fakeFunction' (in container '')"],
    ["114 + '514'", "1:5: found no matching overload for '_+_' applied to '(int, string)'"],
    ['self.spec.min == 1.0', "found no matching overload for '_==_' applied to '(int, double)'"],
    ['self.spec.tags == 1', "found no matching overload for '_==_' applied to '(list(string), int)'"],
    ["self.spec.min.startsWith('a')", "found no matching overload for 'startsWith' applied to 'int.(string)'"],
    ['true && 1', "found no matching overload for '_&&_' applied to '(bool, int)'"],
    ['!1', "found no matching overload for '!_' applied to '(int)'"],
    ["[1, 'a']", "expected type 'int' but found 'string'"],
    ["true ? 1 : 'a'", "found no matching overload for '_?_:_' applied to '(bool, int, string)'"],
    ['self.spec.min.foo', "type 'int' does not support field selection"],
    ['object.x in [1, 2,', "1:19: Syntax error: missing ']' at '<EOF>'"],
    ['(1', "1:3: Syntax error: missing ')' at '<EOF>'"],
    ['size(', "mismatched input '<EOF>' expecting {'[', '{', '(', ')', '.', '-'"],
    ['1 + (', "mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-'"],
    ["self.spec.items[0] == {'x': 1}", "found no matching overload for '_==_'"],
  ])('%s: %s', (expression, message) => {
    expect(() => compile(environment, expression)).toThrow(message);
  });

  test('a compile error shows the line with a mark under the position', () => {
    expect(() => compile(environment, 'true &&\nself.spec.foo')).toThrow(
      new CompileError("ERROR: <input>:2:10: undefined field 'foo'\n | self.spec.foo\n | .........^"),
    );
  });
});
