/** Conflicts of an apply, with Kubernetes' messages. */

import { ApiError } from '../../api/status.js';
import { quote } from '../../go/quote.js';
import type { Manager } from './managers.js';
import type { Conflict } from './ownership.js';
import { pathText } from './path-element.js';

export function conflictError(conflicts: Conflict[]): ApiError {
  const causes = conflicts.map(({ manager, path }) => ({
    reason: 'FieldManagerConflict',
    message: `conflict with ${managerText(manager)}`,
    field: pathText(path),
  }));
  return new ApiError(409, 'Conflict', conflictMessage(conflicts), { causes });
}

function conflictMessage(conflicts: Conflict[]): string {
  const [first] = conflicts;
  if (conflicts.length === 1) {
    return `Apply failed with 1 conflict: conflict with ${managerText(first!.manager)}: ${pathText(first!.path)}`;
  }
  const managers = [...new Set(conflicts.map(({ manager }) => manager))].sort((a, b) =>
    a.manager < b.manager ? -1 : 1,
  );
  const lines = managers.flatMap((manager) => [
    `conflicts with ${managerText(manager)}:`,
    ...conflicts.filter((each) => each.manager === manager).map(({ path }) => `- ${pathText(path)}`),
  ]);
  return `Apply failed with ${conflicts.length} conflicts: ${lines.join('\n')}`;
}

function managerText({ manager, subresource, operation, apiVersion }: Manager): string {
  const name = quote(manager) + (subresource === undefined ? '' : ` with subresource ${quote(subresource)}`);
  return operation === 'Update' ? `${name} using ${apiVersion}` : name;
}
