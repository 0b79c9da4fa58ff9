/** Writes an audit report as SARIF 2.1.0 for code scanning, or as JUnit XML for CI. Pure. */
import { oneLine } from '../visible-text.js';
import { type AuditReport, type Finding, isOpen } from './audit.js';
import { checks, type Severity } from './checks.js';

const levels: Record<Severity, string> = { high: 'error', medium: 'warning', low: 'note' };
const kinds = { fail: 'fail', 'cannot-tell': 'open', pass: 'pass', 'not-applicable': 'notApplicable' } as const;

/** A node is a logical location; a file that was audited is a place in the repository. */
export function sarif(
  { findings }: AuditReport,
  { version, files }: { version: string; files: readonly string[] },
): object {
  const used = checks.filter(({ key }) => findings.some(({ check }) => check === key));
  const locationOf = (name: string) =>
    files.includes(name)
      ? { physicalLocation: { artifactLocation: { uri: name } } }
      : { logicalLocations: [{ name, kind: 'resource', fullyQualifiedName: `node/${name}` }] };
  return {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: {
          driver: {
            name: 'relet audit',
            version,
            rules: used.map(({ key, title, why, severity }) => ({
              id: key,
              shortDescription: { text: title },
              fullDescription: { text: why },
              defaultConfiguration: { level: levels[severity] },
            })),
          },
        },
        results: findings.map((finding) => ({
          ruleId: finding.check,
          kind: kinds[finding.result],
          level: finding.result === 'fail' ? levels[finding.severity] : 'none',
          message: { text: `${finding.ids.join(', ')}: ${finding.found} (${finding.origin})` },
          locations: finding.nodes.map(locationOf),
          ...(finding.waiver && {
            suppressions: [
              { kind: 'external', justification: `${finding.waiver.reason} (until ${finding.waiver.until})` },
            ],
          }),
        })),
      },
    ],
  };
}

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const xml = (text: string): string => oneLine(text).replace(/[&<>"]/g, (char) => entities[char]!);

/** A suite for each pool, a case for each finding. Unknown and waived findings are skipped, not passed. */
export function junit({ findings }: AuditReport): string {
  const pools = [...new Set(findings.map(({ pool }) => pool))];
  const suites = pools.map((pool) => {
    const own = findings.filter((one) => one.pool === pool);
    const count = (wanted: (finding: Finding) => boolean) => own.filter(wanted).length;
    const attributes = `tests="${own.length}" failures="${count(isOpen)}" skipped="${count(isSkipped)}"`;
    return `  <testsuite name="${xml(pool)}" ${attributes}>\n${own.map(caseOf).join('\n')}\n  </testsuite>`;
  });
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="relet audit">\n${suites.join('\n')}\n</testsuites>\n`;
}

const isSkipped = (finding: Finding): boolean => !isOpen(finding) && finding.result !== 'pass';

function caseOf(finding: Finding): string {
  const { ids, title, check, nodes, found, origin, why, waiver, result } = finding;
  const open = `    <testcase name="${xml(`${ids.join(' ')} ${title}`)}" classname="${xml(check)}"`;
  const text = xml(`${found} (${origin}) on ${nodes.length} nodes: ${nodes.slice(0, 20).join(', ')}`);
  if (isOpen(finding)) return `${open}><failure message="${text}">${xml(why)}</failure></testcase>`;
  if (isSkipped(finding))
    return `${open}><skipped message="${xml(waiver === undefined ? result : `waived: ${waiver.reason}`)}"/></testcase>`;
  return `${open}/>`;
}
