/** YAML for people, in a bundle of its own: most runs do not need the library. */
import { stringify } from 'yaml';

export const asYaml = (value: unknown): string => stringify(value, { version: '1.1', lineWidth: 0 }).trimEnd();
