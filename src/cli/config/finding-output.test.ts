/** Findings as people and GitHub read them. */
import { describe, expect, test } from 'vitest';
import { createPaint } from '../terminal/terminal.js';
import { asGithub, asText, type Report } from './finding-output.js';

const terminal = { columns: 60, width: undefined, paint: createPaint(false), print: () => {}, printDocument: () => {} };

const report: Report = {
  file: 'a.yaml',
  kubeletVersion: '1.32',
  verdict: 'validate-error',
  startup: 'fails',
  findings: [
    {
      severity: 'error',
      source: 'kubelet',
      path: 'maxPods',
      line: 3,
      column: 10,
      message: 'invalid configuration: maxPods (--max-pods) -1 must not be a negative number',
    },
    { severity: 'warning', source: 'relet', path: '', message: 'as a whole' },
  ],
};

describe('text', () => {
  test('each finding is headed by a place to jump to and fits the columns', () => {
    expect(asText([report], terminal).split('\n')).toEqual([
      'a.yaml:3:10  error  maxPods',
      '    invalid configuration: maxPods (--max-pods) -1 must not',
      '    be a negative number',
      'a.yaml  warning (found by relet)',
      '    as a whole',
      'a.yaml: kubelet 1.32 would refuse it (validate-error), 1 warning',
    ]);
  });

  test('the remedy is a line of its own, and notes are counted', () => {
    const findings: Report['findings'] = [
      { severity: 'error', source: 'kubelet', path: 'maxPods', line: 3, message: 'json: …', remedy: 'write 110' },
      { severity: 'note', source: 'relet', path: 'resolvConf', line: 4, column: 2, message: 'relative' },
    ];
    expect(asText([{ ...report, verdict: 'decode-error', findings }], terminal).split('\n')).toEqual([
      'a.yaml:3:1  error  maxPods',
      '    json: …',
      '    write 110',
      'a.yaml:4:2  note (found by relet)  resolvConf',
      '    relative',
      'a.yaml: kubelet 1.32 would refuse it (decode-error), 1 note',
    ]);
    expect(asGithub([{ ...report, findings }]).split('\n')).toEqual([
      '::error file=a.yaml,line=3,col=1,title=maxPods::json: …%0Awrite 110',
      '::notice file=a.yaml,line=4,col=2,title=resolvConf::relative',
    ]);
  });

  test.each([
    [{ verdict: 'accepted', startup: 'ok', findings: [] }, 'a.yaml: fine for kubelet 1.32'],
    [
      { verdict: 'accepted', startup: 'fails' },
      'a.yaml: kubelet 1.32 would accept it and then fail to start, 1 warning',
    ],
    [
      { verdict: 'accepted', startup: 'ok' },
      'a.yaml: kubelet 1.32 would ignore this; use --lenient to do the same, 1 warning',
    ],
  ] as const)('%j ends with: %s', (part, last) => {
    expect(
      asText(
        [{ ...report, ...part, findings: [...(('findings' in part && part.findings) || report.findings)] }],
        terminal,
      ),
    ).toMatch(new RegExp(`(^|\n)${last}$`));
  });
});

describe('github', () => {
  test('an annotation names file, line and column', () => {
    expect(asGithub([report]).split('\n')).toEqual([
      '::error file=a.yaml,line=3,col=10,title=maxPods::invalid configuration: maxPods (--max-pods) -1 must not be a negative number',
      '::warning file=a.yaml,title=KubeletConfiguration::as a whole',
    ]);
  });

  test('text that would end the command or its properties is escaped', () => {
    const nasty = { ...report.findings[0]!, path: 'a,b:c', message: '100%\r\n::error::injected' };
    expect(asGithub([{ ...report, file: 'a#b/c', findings: [nasty] }])).toBe(
      '::error file=a,line=3,col=10,title=a%2Cb%3Ac::100%25%0D%0A::error::injected',
    );
  });
});
