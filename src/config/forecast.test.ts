/** Configs that stop a kubelet although they pass validation, and similar ones that do not. */
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { casesIn, defaulted } from '../../test/config-cases.js';
import { forecast } from './forecast.js';
import { type CommandLine, newestMinor, oldestMinor } from './model.js';
import { validate } from './validate.js';

const none: CommandLine = new Map();

describe('what stops a kubelet at start', () => {
  test.each(casesIn('src/config/forecast/forecast.cases.txt'))('%s', (_title, minor, set, host, expected) => {
    const config = defaulted(minor, set);
    const context = { minor, flags: none, host };
    expect(validate(config, context).stage).toBe('accepted');
    const paths = forecast(config, context).map(({ severity, path }) =>
      severity === 'warning' ? `warn ${path}` : path,
    );
    expect(paths).toEqual(expected);
  });
});

test('no minor dies of its own defaults', () => {
  for (let minor = oldestMinor; minor <= newestMinor; minor++)
    expect([minor, forecast(defaulted(minor, {}), { minor, flags: none })]).toEqual([minor, []]);
});

test('a finding names the place, the reason, the kubelet’s words and the remedy', () => {
  const config = defaulted(32, { evictionHard: { 'memory.available': '150%' } });
  expect(forecast(config, { minor: 32, flags: none })).toEqual([
    {
      severity: 'error',
      source: 'relet',
      path: 'evictionHard[memory.available]',
      message:
        "150% is more than all there is: validation accepts it, but the kubelet exits at startup with 'eviction percentage threshold memory.available must be <= 100%: 150%'; write 0% to 100%",
    },
  ]);
});

describe('flags change the forecast', () => {
  const paths = (minor: number, set: Record<string, unknown>, flags: [string, string[]][]) =>
    forecast(defaulted(minor, set), { minor, flags: new Map(flags) }).map((finding) => finding.path);

  test('docker rotates its own logs', () => {
    expect(paths(23, { containerLogMaxFiles: 1 }, [['container-runtime', ['docker']]])).toEqual([]);
    expect(paths(23, { containerLogMaxFiles: 1 }, [['container-runtime', ['remote']]])).toEqual([
      'containerLogMaxFiles',
    ]);
  });

  test('a burst of zero stops a kubelet that has an API to talk to', () => {
    const kubeconfig: [string, string[]] = ['kubeconfig', ['/etc/kubernetes/kubelet.conf']];
    expect(paths(32, { kubeAPIBurst: 0 }, [kubeconfig])).toEqual(['kubeAPIBurst']);
    expect(forecast(defaulted(32, { kubeAPIBurst: 0 }), { minor: 32, flags: none }).map((f) => f.severity)).toEqual([
      'warning',
    ]);
    expect(paths(32, { kubeAPIBurst: 0, kubeAPIQPS: 0 }, [kubeconfig])).toEqual([]);
    expect(paths(15, { kubeAPIBurst: 0 }, [kubeconfig])).toEqual([]);
  });

  test('a gate from the flags counts', () => {
    const set = {
      cpuManagerPolicy: 'static',
      kubeReserved: { cpu: '1' },
      cpuManagerPolicyOptions: { 'align-by-socket': 'true' },
    };
    expect(paths(32, set, [['feature-gates', ['CPUManagerPolicyAlphaOptions=true']]])).toEqual([]);
  });

  test('thresholds may be left out of what is held back', () => {
    const flags: [string, string[]][] = [['experimental-allocatable-ignore-eviction', ['true']]];
    const set = {
      memoryManagerPolicy: 'Static',
      kubeReserved: { memory: '1Gi' },
      reservedMemory: [{ numaNode: 0, limits: { memory: '1Gi' } }],
    };
    expect(paths(32, set, flags)).toEqual([]);
    expect(paths(32, set, [])).toEqual(['reservedMemory']);
  });
});

test('a list of reserved CPUs is cut into its ranges once, however many parts of the forecast ask for them', () => {
  const cut = vi.spyOn(String.prototype, 'matchAll');
  onTestFinished(() => cut.mockRestore());
  const config = defaulted(37, { reservedSystemCPUs: '0-3,8', cpuManagerPolicy: 'static' });
  expect(forecast(config, { minor: 37, flags: none, host: { cpus: 16, memoryBytes: 2 ** 34 } })).toEqual([]);
  expect(cut.mock.contexts.filter((one) => String(one) === '0-3,8')).toHaveLength(1);
});

test('of thousands of mistakes in a field the forecast keeps the first ones and the number of the others', () => {
  const found = (count: number) => {
    const kubeReserved = Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, '1Mi']));
    return forecast(defaulted(37, { kubeReserved }), { minor: 37, flags: none });
  };
  expect(found(100).map(({ more }) => more)).toEqual(Array(100).fill(undefined));
  expect(found(5000)).toHaveLength(101);
  expect(found(5000).at(-1)).toMatchObject({ path: 'kubeReserved', severity: 'error', more: 4900 });
  expect(found(10_000)).toHaveLength(101);
});
