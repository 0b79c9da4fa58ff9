/** `format.dns1123Label().validate(name)`: the errors of a text, or none. */
import { type Environment, EvaluationError, Optional } from '@marcbachmann/cel-js';
import {
  checkDns1035Label,
  checkDnsLabel,
  checkDnsSubdomain,
  checkLabelValue,
  checkQualifiedName,
} from '../../../../api/names.js';
import { isOfFormat } from '../../crd/formats.js';

class FormatNamespace {}

class FormatValue {
  constructor(readonly problems: (text: string) => string[]) {}
}

/** A prefix may end in a dash: something will follow. */
const asPrefix = (check: (text: string) => string[]) => (text: string) => check(text.replace(/-$/, 'a'));
const ofFormat = (format: string, name: string) => (text: string) =>
  isOfFormat(text, format) ? [] : [`does not match the ${name} format`];

const formats: Record<string, (text: string) => string[]> = {
  dns1123Label: checkDnsLabel,
  dns1123Subdomain: checkDnsSubdomain,
  dns1035Label: checkDns1035Label,
  qualifiedName: checkQualifiedName,
  dns1123LabelPrefix: asPrefix(checkDnsLabel),
  dns1123SubdomainPrefix: asPrefix(checkDnsSubdomain),
  dns1035LabelPrefix: asPrefix(checkDns1035Label),
  labelValue: checkLabelValue,
  uri: ofFormat('uri', 'URI'),
  uuid: ofFormat('uuid', 'UUID'),
  byte: ofFormat('byte', 'byte'),
  date: ofFormat('date', 'date'),
  datetime: ofFormat('date-time', 'datetime'),
};

const type = 'kubernetes.NamedFormat';

export function declareFormats(environment: Environment): void {
  environment
    .registerType(type, FormatValue)
    .registerType('kubernetes.formats', FormatNamespace)
    .registerConstant('format', 'kubernetes.formats', new FormatNamespace())
    .registerFunction(`kubernetes.formats.named(string): optional<${type}>`, (_format: unknown, name: string) =>
      Object.hasOwn(formats, name) ? Optional.of(new FormatValue(formats[name]!)) : Optional.none(),
    )
    .registerFunction(`${type}.validate(string): optional<list<string>>`, ({ problems }: FormatValue, text: string) => {
      if (typeof text !== 'string') throw new EvaluationError('no such overload');
      const found = problems(text);
      return found.length === 0 ? Optional.none() : Optional.of(found);
    });
  for (const [name, problems] of Object.entries(formats))
    environment.registerFunction(`kubernetes.formats.${name}(): ${type}`, () => new FormatValue(problems));
}
