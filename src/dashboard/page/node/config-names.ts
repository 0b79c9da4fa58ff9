/** Titles and descriptions of a node's configs (assigned, active, lastKnownGood, …), in the order in which they are shown. */
import type { ConfigName } from '../../wire.js';

export const configNames: ConfigName[] = ['assigned', 'active', 'lastKnownGood', 'local', 'effective'];

export const configTitles: Record<ConfigName, string> = {
  assigned: 'Assigned',
  active: 'Active',
  lastKnownGood: 'Last known good',
  local: 'Local',
  effective: 'Effective',
};

export const configMeanings: Record<ConfigName, string> = {
  assigned: 'what it should run',
  active: 'what it runs',
  lastKnownGood: 'what a rollback goes to',
  local: 'the file on its host',
  effective: 'with local file, defaults and flags',
};
