/**
 * The dashboard in a real browser: a lab of processes, `relet dashboard` in front of it, and pages of Debian's chromium that record
 * whatever must never happen in one: an error on the console, a request to anywhere but their own server.
 */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import axe from 'axe-core';
import { type Browser, chromium, type Page, type Route } from 'playwright-core';
import { type Lab, type LabOptions, startLab } from '../src/lab/index.js';
import { limitMs } from './eventually.js';
import { type Program, startRelet } from './program.js';

export interface Dashboard {
  /** Ends with a slash. */
  url: string;
  /** Logs in once. */
  link: string;
}

export class DashboardRig {
  readonly #programs: Program[] = [];
  /** Errors that must not happen in any page. */
  readonly problems: string[] = [];

  private constructor(
    readonly lab: Lab,
    readonly browser: Browser,
  ) {}

  static async start(options: LabOptions): Promise<DashboardRig> {
    const executablePath = execFileSync('sh', ['-c', 'command -v chromium'], { encoding: 'utf8' }).trim();
    const [lab, browser] = await Promise.all([
      // The same nodes are changed again and again.
      startLab({
        packageDir: join(import.meta.dirname, '..'),
        kubeletFlags: ['--restart-interval=0s'],
        ...options,
      }),
      // Tests may run as root, where chromium has no sandbox.
      chromium.launch({ executablePath, args: ['--no-sandbox'] }),
    ]);
    return new DashboardRig(lab, browser);
  }

  async stop(): Promise<void> {
    await this.browser.close();
    await Promise.all(this.#programs.map((program) => program.end()));
    await this.lab.stop();
  }

  async dashboard(...args: string[]): Promise<Dashboard> {
    const program = startRelet(['dashboard', `--kubeconfig=${this.lab.kubeconfig}`, '--port=0', ...args], {
      env: { PATH: process.env.PATH },
    });
    this.#programs.push(program);
    const [, link] = await program.printed(/(http:\/\/\S+#once=\S+)\s/);
    return { link: link!, url: link!.replace(/#.*/, '') };
  }

  /** A page with cookies of its own. `expected`: console errors that a scenario causes on purpose. */
  async page(
    { url }: Dashboard,
    options: { colorScheme?: 'light' | 'dark'; width?: number; expected?: RegExp } = {},
  ): Promise<Page> {
    const { colorScheme = 'light', width = 1280, expected } = options;
    const context = await this.browser.newContext({ colorScheme, viewport: { width, height: 800 } });
    context.setDefaultTimeout(limitMs);
    const page = await context.newPage();
    const origin = new URL(url).origin;
    page.on('console', (message) => {
      if (message.type() === 'error' && !expected?.test(message.text()))
        this.problems.push(`${message.text()}: ${message.location().url} on ${page.url()}`);
    });
    page.on('pageerror', (error) => this.problems.push(`uncaught: ${error.message}`));
    page.on('dialog', (dialog) => {
      this.problems.push(`a script opened a dialog: ${dialog.message()}`);
      dialog.dismiss().catch(() => {});
    });
    page.on('request', (request) => {
      if (!/^(data|blob):/.test(request.url()) && new URL(request.url()).origin !== origin)
        this.problems.push(`foreign request: ${request.url()}`);
    });
    return page;
  }

  /** The fleet, as a person who may only look sees it; with cookies of its own. */
  async viewerPage(dashboard: Dashboard, person: string, expected = /40[13]/): Promise<Page> {
    const page = await this.page(dashboard, { expected });
    await page.goto(dashboard.url);
    await page.getByLabel('Bearer token').fill(this.token(person, 'relet:viewer'));
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.getByRole('grid').waitFor();
    return page;
  }

  /** As the administrator; returns what it prints. */
  kubectl(args: string[], input = ''): string {
    // HOME: kubectl keeps a cache there.
    const env = { PATH: process.env.PATH, KUBECONFIG: this.lab.kubeconfig, HOME: this.lab.dataDir };
    return execFileSync('kubectl', args, { encoding: 'utf8', env, input, stdio: ['pipe', 'pipe', 'pipe'] });
  }

  apply(object: object): void {
    this.kubectl(['apply', '-f', '-'], JSON.stringify(object));
  }

  /** Returns a token of a new service account with this ClusterRole. */
  token(name: string, role: string): string {
    this.kubectl(['create', 'serviceaccount', name]);
    this.kubectl(['create', 'clusterrolebinding', name, `--clusterrole=${role}`, `--serviceaccount=default:${name}`]);
    return this.kubectl(['create', 'token', name]).trim();
  }
}

/** Answers the requests of a page to `url` during the scenario. One under way at its end, or whose page has gone, is left alone. */
export async function whileAnswered(
  page: Page,
  url: string,
  answer: (route: Route) => unknown,
  scenario: () => Promise<unknown>,
): Promise<void> {
  await page.route(url, answer);
  try {
    await scenario();
  } finally {
    await page.unrouteAll({ behavior: 'ignoreErrors' });
  }
}

/** The findings in both schemes. A dark page differs only in its colours. */
export async function axeInLightAndDark(page: Page): Promise<string[]> {
  // Without transitions from one to the other.
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
  try {
    const light = await axeFindings(page);
    await page.emulateMedia({ colorScheme: 'dark' });
    return [...light, ...(await axeFindings(page, ['color-contrast']))];
  } finally {
    await page.emulateMedia({ colorScheme: null, reducedMotion: null });
  }
}

/** Returns the findings of axe, one line each; by all rules unless some are named. */
export async function axeFindings(page: Page, rules?: string[]): Promise<string[]> {
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(axe.source);
  const options = rules === undefined ? {} : { runOnly: rules };
  const { violations } = (await page.evaluate(`axe.run(${JSON.stringify(options)})`)) as axe.AxeResults;
  return violations.map(({ id, impact, nodes }) => `${impact} ${id}: ${nodes[0]?.html}`);
}
