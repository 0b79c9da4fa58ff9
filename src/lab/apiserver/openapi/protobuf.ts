/**
 * The OpenAPI v2 document as protobuf (gnostic's openapi.v2 messages): kubectl before 1.27 asks for nothing else and
 * cannot read JSON there. Tables map fields of JSON objects to field numbers; one small encoder does the rest.
 */
import type { JsonObject } from './document-v2.js';

/** How a field is written: text, boolean, number, a message, or a form that protobuf lacks. */
type Writer = (number: number, value: unknown) => Buffer[];
type Message = Record<string, [number: number, writer: Writer]>;

export function encodeDocument(document: JsonObject): Buffer {
  return encode(documentFields, document);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  while (rest > 127) {
    bytes.push((rest % 128) | 128);
    rest = Math.floor(rest / 128);
  }
  return Buffer.from([...bytes, rest]);
}

const wire = { varint: 0, fixed64: 1, bytes: 2 };
const tag = (number: number, type: number) => varint(number * 8 + type);

function delimited(number: number, content: Buffer): Buffer[] {
  return [tag(number, wire.bytes), varint(content.length), content];
}

const text: Writer = (number, value) => delimited(number, Buffer.from(String(value)));
const texts: Writer = (number, value) => (value as unknown[]).flatMap((entry) => text(number, entry));
const bool: Writer = (number, value) => (value === true ? [tag(number, wire.varint), varint(1)] : []);
const integer: Writer = (number, value) => [tag(number, wire.varint), varint(Number(value))];
const double: Writer = (number, value) => {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(Number(value));
  return [tag(number, wire.fixed64), bytes];
};
/** Values of any type are sent as YAML text, of which JSON is a subset. */
const any: Writer = (number, value) => delimited(number, Buffer.concat(text(2, JSON.stringify(value))));
const anys: Writer = (number, value) => (value as unknown[]).flatMap((entry) => any(number, entry));

const message =
  (fields: () => Message): Writer =>
  (number, value) =>
    delimited(number, encode(fields(), value as JsonObject));
const messages =
  (fields: () => Message): Writer =>
  (number, value) =>
    (value as JsonObject[]).flatMap((entry) => delimited(number, encode(fields(), entry)));
/** An object whose keys are data becomes a list of {name, value}; `wrap` is the number of that list. */
const named =
  (writer: Writer, wrap: number | undefined): Writer =>
  (number, value) => {
    const entries = Object.entries(value as JsonObject).map(([key, entry]) =>
      Buffer.concat([...text(1, key), ...writer(2, entry)]),
    );
    if (wrap === undefined) return entries.flatMap((entry) => delimited(number, entry));
    return delimited(number, Buffer.concat(entries.flatMap((entry) => delimited(wrap, entry))));
  };
/** A oneof: the value is in field `branch` of a message of its own. */
const inside =
  (branch: number, writer: Writer): Writer =>
  (number, value) =>
    delimited(number, Buffer.concat(writer(branch, value)));

function encode(fields: Message, object: JsonObject): Buffer {
  const parts: Buffer[] = [];
  const extensions: JsonObject = {};
  for (const [key, value] of Object.entries(object)) {
    const field = fields[key];
    if (value === undefined) continue;
    if (field !== undefined) parts.push(...field[1](field[0], value));
    else if (key.startsWith('x-')) extensions[key] = value;
  }
  const extension = fields['x-'];
  if (extension !== undefined && Object.keys(extensions).length > 0)
    parts.push(...extension[1](extension[0], extensions));
  return Buffer.concat(parts);
}

const extensionsAt = (number: number): [number, Writer] => [number, named(any, undefined)];

const schema = message(() => schemaFields);
const schemaFields: Message = {
  $ref: [1, text],
  format: [2, text],
  title: [3, text],
  description: [4, text],
  default: [5, any],
  multipleOf: [6, double],
  maximum: [7, double],
  exclusiveMaximum: [8, bool],
  minimum: [9, double],
  exclusiveMinimum: [10, bool],
  maxLength: [11, integer],
  minLength: [12, integer],
  pattern: [13, text],
  maxItems: [14, integer],
  minItems: [15, integer],
  uniqueItems: [16, bool],
  maxProperties: [17, integer],
  minProperties: [18, integer],
  required: [19, texts],
  enum: [20, anys],
  additionalProperties: [21, inside(1, schema)],
  type: [22, inside(1, text)],
  items: [23, inside(1, schema)],
  properties: [25, named(schema, 1)],
  'x-': extensionsAt(31),
};

const parameterFields = (typeNumber: number, uniqueNumber: number): Message => ({
  required: [1, bool],
  in: [2, text],
  description: [3, text],
  name: [4, text],
  type: [typeNumber, text],
  uniqueItems: [uniqueNumber, bool],
});
const bodyParameterFields: Message = {
  description: [1, text],
  name: [2, text],
  in: [3, text],
  required: [4, bool],
  schema: [5, schema],
};
/** ParametersItem → Parameter → body, or not body → path or query. */
const parameters: Writer = (number, value) =>
  (value as JsonObject[]).flatMap((entry) => {
    const own =
      entry.in === 'body'
        ? message(() => bodyParameterFields)
        : inside(
            entry.in === 'path' ? 4 : 3,
            message(() => (entry.in === 'path' ? parameterFields(5, 19) : parameterFields(6, 20))),
          );
    return inside(1, (inner, parameter) => inside(entry.in === 'body' ? 1 : 2, own)(inner, parameter))(number, entry);
  });

const responseFields: Message = { description: [1, text], schema: [2, inside(1, schema)] };
const operation = message(() => ({
  operationId: [5, text],
  produces: [6, texts],
  consumes: [7, texts],
  parameters: [8, parameters],
  responses: [
    9,
    named(
      inside(
        1,
        message(() => responseFields),
      ),
      1,
    ),
  ],
  schemes: [10, texts],
  'x-': extensionsAt(13),
}));
const pathItem = message(() => ({
  get: [2, operation],
  put: [3, operation],
  post: [4, operation],
  delete: [5, operation],
  patch: [8, operation],
  parameters: [9, parameters],
}));
const apiKeyFields: Message = { type: [1, text], name: [2, text], in: [3, text], description: [4, text] };
const documentFields: Message = {
  swagger: [1, text],
  info: [2, message(() => ({ title: [1, text], version: [2, text] }))],
  paths: [8, named(pathItem, 2)],
  definitions: [9, named(schema, 1)],
  security: [
    12,
    messages(() => ({ BearerToken: [1, (number) => delimited(number, Buffer.concat(text(1, 'BearerToken')))] })),
  ],
  securityDefinitions: [
    13,
    named(
      inside(
        2,
        message(() => apiKeyFields),
      ),
      1,
    ),
  ],
};
