/** The dashboard in a real browser, against a lab of processes: what a person sees, and what must never happen in a page. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, get as httpGet, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Page, Route } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { nodeConfigs } from '../src/api/node-config.js';
import type { KubeClient } from '../src/kube/client.js';
import { nodes } from '../src/kube/resource-type.js';
import { clientFor } from './cluster-rig.js';
import { axeFindings, axeInLightAndDark, type Dashboard, DashboardRig, whileAnswered } from './dashboard-rig.js';
import { eventually } from './eventually.js';
import { sendSignal } from './program.js';
import { needs } from './programs.js';

const { isMissing, note } = needs('chromium', 'kubectl');

describe.skipIf(isMissing)(`the dashboard in a browser${note}`, () => {
  let rig: DashboardRig;
  let dashboard: Dashboard;
  /** Logged in as the administrator. */
  let page: Page;

  beforeAll(async () => {
    rig = await DashboardRig.start({ nodes: 3, trialDuration: '2s' });
    dashboard = await rig.dashboard();
    page = await rig.page(dashboard);
    await page.goto(dashboard.link);
    await page.getByRole('grid').waitFor();
  });
  afterAll(() => rig?.stop());

  const open = async (path: string) => {
    await page.goto(dashboard.url + path);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.locator('.loading').waitFor({ state: 'detached' });
  };
  /** The number on a toggle such as `active 3`. */
  const count = async (on: Page, state: string) =>
    Number((await on.getByRole('button', { name: new RegExp(`^${state} [\\d,]+$`) }).innerText()).replace(/\D/g, ''));
  const listed = (): { status?: { config?: Record<string, { configMap?: object } | null> } }[] =>
    JSON.parse(rig.kubectl(['get', 'nodeconfigs', '-o', 'json'])).items;

  test('the link of the start logs in once; the code leaves the address, and does not work again', async () => {
    expect(page.url()).toBe(dashboard.url);
    const other = await rig.page(dashboard, { expected: /40[013]/ });
    await other.goto(dashboard.link);
    await other.getByRole('heading', { name: 'Log in to relet' }).waitFor();
    await other.getByRole('alert').getByText('This link has been used').waitFor();
    expect(other.url()).not.toContain('once');
    await other.context().close();
  });

  test('a login by a link, and a logout, that fail show why', async () => {
    const own = await rig.dashboard();
    const other = await rig.page(own, { expected: /40[13]|503|ERR_FAILED/ });
    const json = { reason: 'APIServerUnreachable', message: 'nothing listens there' };
    const unreachable = (route: Route) => route.fulfill({ status: 503, json });
    await whileAnswered(other, '**/api/login', unreachable, async () => {
      await other.goto(own.link);
      const alert = other.locator('.login').getByRole('alert');
      await alert.getByText('nothing listens there').waitFor();
      await alert.getByText('Open the link again').waitFor();
    });
    await other.goto('about:blank');
    await other.goto(own.link);
    await other.getByRole('grid').waitFor();
    const abort = (route: Route) => route.abort();
    await whileAnswered(other, '**/api/logout', abort, async () => {
      await other.getByRole('button', { name: 'Log out' }).click();
      await other.getByText('You are still logged in: The dashboard’s server does not answer.').first().waitFor();
      await other.getByRole('grid').waitFor();
    });
    await other.getByRole('button', { name: 'Log out' }).click();
    await other.getByRole('heading', { name: 'Log in to relet' }).waitFor();
    await other.context().close();
  });

  test('a rollout is seen while it happens, and afterwards the counts are those of kubectl', async () => {
    await open('');
    await eventually('all nodes are local', async () => (await count(page, 'local')) === 3);
    rig.kubectl(['label', 'node', '--all', 'pool=web']);
    rig.apply(set('web', { maxPods: 150 }));
    await eventually('all nodes are active', async () => (await count(page, 'active')) === 3);
    const active = listed().filter(({ status }) => status?.config?.active?.configMap !== undefined);
    expect(active).toHaveLength(3);
    expect(await page.getByRole('grid').getAttribute('aria-rowcount')).toBe('4');
    expect(await page.getByRole('row', { name: /^node-1 active/ }).innerText()).toContain('web');
  });

  test('every filter is in the address, and a link with it shows the same', async () => {
    await open('?q=node-2&group=zone');
    await page.getByRole('heading', { name: '1 of 3 nodes', exact: true }).waitFor();
    await page.getByRole('button', { name: /^active/ }).click();
    expect(new URL(page.url()).searchParams.get('state')).toBe('active');
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await page.getByRole('heading', { name: '3 nodes', exact: true }).waitFor();
  });

  test('by keyboard alone: from the table to a node, into a dialog and out of it with the focus where it was', async () => {
    await open('');
    await page.getByRole('grid').focus();
    for (const key of ['ArrowDown', 'ArrowDown', 'ArrowUp']) await page.keyboard.press(key);
    const active = await page.getByRole('grid').getAttribute('aria-activedescendant');
    expect(await page.locator(`#${active}`).innerText()).toBe('node-2');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: /^node-2/ }).waitFor();
    await page.getByRole('button', { name: 'Reset to local' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    expect(await page.getByRole('dialog').innerText()).toContain('relet reset node-2');
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Reset to local');
  });

  test('/ finds nodes, g and a letter go to a page, ? explains the signs, and none of them where one types', async () => {
    await open('sets');
    await page.keyboard.press('/');
    await page.getByRole('searchbox').and(page.locator(':focus')).waitFor();
    await page.keyboard.type('gs/?');
    await page.getByText('No node matches these filters.').waitFor();
    expect(new URL(page.url()).searchParams.get('q')).toBe('gs/?');
    await page.getByRole('searchbox').fill('');
    await page.getByRole('grid').focus();
    for (const [letter, name] of [
      ['s', 'Sets'],
      ['c', 'Configs'],
      ['f', '3 nodes'],
    ] as const) {
      await page.keyboard.type(`g${letter}`);
      await page.getByRole('heading', { level: 1, name, exact: true }).waitFor();
    }
    await page.keyboard.press('?');
    const legend = page.getByRole('dialog', { name: 'Keys and signs' });
    await legend.getByText('its agent has stopped reporting').waitFor();
    expect(await axeFindings(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await legend.waitFor({ state: 'detached' });
  });

  test('a node shows its configs, and the difference of any two by meaning with its impact', async () => {
    await open('nodes/node-1?from=local&to=assigned');
    await page.getByRole('article', { name: 'Assigned' }).getByText('maxPods: 150').waitFor();
    const row = page.getByRole('row', { name: /^maxPods/ });
    await row.waitFor();
    expect(await row.innerText()).toContain('kubelet restart');
  });

  test('a field is set from the page: previewed, run as the command that is shown, and in the history with its reason', async () => {
    await open('nodes/node-3');
    await page.getByRole('button', { name: 'Set fields' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel(/FIELD=VALUE/).fill('maxPods=99');
    await dialog.getByLabel(/Take it from the set/).check();
    await dialog.getByLabel(/Reason/).fill("it's a test");
    expect(await dialog.innerText()).toContain("relet set node-3 maxPods=99 --take-from-set --why 'it'\\''s a test'");
    await dialog.getByRole('button', { name: 'Preview' }).click();
    await dialog
      .getByText(/maxPods/)
      .last()
      .waitFor();
    await dialog.getByRole('button', { name: 'Set fields' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('cell', { name: "it's a test" }).waitFor();
    await page.getByText('taken from its set').first().waitFor();
  });

  test('undo names the config that the page showed, also when the node is changed meanwhile', async () => {
    await open('nodes/node-3');
    await page.getByRole('button', { name: 'Undo' }).click();
    const dialog = page.getByRole('dialog');
    const text = await dialog.innerText();
    const revision = /relet undo node-3 --to (\d+)/.exec(text)?.[1];
    expect(text).toMatch(new RegExp(`assigned \\S+/web-\\S+, revision ${revision} of its history`));
    let sent: unknown;
    const done = (route: Route) => {
      sent = route.request().postDataJSON();
      return route.fulfill({ json: { command: '', code: 0, output: 'done' } });
    };
    await whileAnswered(page, '**/api/nodes/node-3/undo', done, async () => {
      await dialog.getByRole('button', { name: 'Undo', exact: true }).click();
      await dialog.waitFor({ state: 'detached' });
    });
    expect(sent).toEqual({ to: Number(revision) });
  });

  test('a node is held by mouse and released by keyboard; meanwhile nothing else can be done with it', async () => {
    await open('nodes/node-2');
    await page.getByRole('button', { name: 'Hold', exact: true }).click();
    await page
      .getByRole('dialog')
      .getByLabel(/Reason/)
      .fill('broken fan');
    await page.getByRole('dialog').getByRole('button', { name: 'Hold', exact: true }).click();
    await page.getByText('held through the API: broken fan').waitFor();
    expect(rig.kubectl(['get', 'nodeconfig', 'node-2', '-o', 'jsonpath={.metadata.annotations}'])).toContain(
      'broken fan',
    );
    expect(await page.getByRole('button', { name: /Undo|Reset|Set fields/ }).count()).toBe(0);
    await open('');
    expect(await count(page, 'held')).toBe(1);
    await open('nodes/node-2');
    await page.getByRole('button', { name: 'Release', exact: true }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    for (let presses = 0; presses < 10; presses++) {
      if ((await page.evaluate('document.activeElement.textContent')) === 'Release') break;
      await page.keyboard.press('Tab');
    }
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Hold', exact: true }).waitFor();
    await page.getByRole('button', { name: 'Set fields' }).waitFor();
  });

  test('texts from the cluster are text: markup and control characters do nothing', async () => {
    const hostile = '<img src=x onerror=alert(1)><script>alert(2)</script>\u202egnp.exe';
    const history = JSON.stringify([
      { revision: 1, at: '2026-01-01T00:00:00Z', by: hostile, verb: 'set', why: hostile, from: 'local', to: hostile },
    ]);
    rig.kubectl(['annotate', 'nodeconfig', 'node-2', '--overwrite', `relet.dev/history=${history}`]);
    rig.apply({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'hostile', namespace: 'relet-system', labels: { 'relet.dev/kubelet-config': 'true' } },
      data: { kubelet: `# </pre><script>alert(3)</script>\n${hostile}` },
    });
    for (const path of ['nodes/node-2', 'configs/relet-system/hostile', 'configs', '']) {
      await open(path);
      await page
        .getByText('<script>alert')
        .first()
        .or(page.getByRole('heading', { level: 1 }))
        .first()
        .waitFor();
      expect(await page.locator('img, main script').count()).toBe(0);
    }
    await open('nodes/node-2');
    await page
      .getByRole('cell', { name: /<img src=x onerror/ })
      .first()
      .waitFor();
  });

  test('an event without a time is shown, with its time as unknown', async () => {
    const withoutTime = async (route: Route) => {
      const answer = await route.fetch();
      const events = [{ at: null, reason: 'KubeletConfigChanged', message: 'nobody knows when' }];
      await route.fulfill({ response: answer, json: { ...(await answer.json()), events } });
    };
    await whileAnswered(page, '**/api/nodes/node-1', withoutTime, async () => {
      await open('nodes/node-1');
      const event = page.getByRole('row', { name: /nobody knows when/ });
      expect(await event.innerText()).toContain('<unknown>');
    });
  });

  test('configs: who uses which, and the upgrade of the fleet', async () => {
    await open('configs');
    await page.getByRole('link', { name: /^web-/ }).first().click();
    await page.getByText('maxPods: 150').waitFor();
    await open('upgrade?to=1.37');
    await page.getByText('relet config upgrade-check').first().waitFor();
  });

  test('inventory and audit: values lead to their nodes, outliers and findings are by pool; unknown nodes never pass', async () => {
    await open('inventory');
    const outlier = page
      .getByRole('region', { name: /^Outliers/ })
      .getByRole('row', { name: /^node-3 web 1.32 maxPods 99 150/ });
    await outlier.waitFor();
    const value = page.getByRole('region', { name: 'Values by field' }).getByRole('row', { name: /^maxPods 150/ });
    await value.getByText('2 nodes').click();
    await value.getByRole('link', { name: 'node-2' }).waitFor();
    await page.getByPlaceholder('Find fields').fill('imageGC');
    await page.getByRole('row', { name: /^imageGCHighThresholdPercent 85 default/ }).waitFor();
    expect(new URL(page.url()).searchParams.get('field')).toBe('imageGC');
    await open('audit');
    const pool = page.getByRole('region', { name: 'web 1.32, 3 nodes' });
    await pool.getByRole('row', { name: /^medium The client certificate must be renewed/ }).waitFor();
    await pool.getByText(/^\d+ passing or not applicable/).click();
    await pool.getByRole('row', { name: /^pass The read-only port must be closed/ }).waitFor();
    // This role reads reports of agents, and neither ConfigMaps nor kubelets.
    const other = await rig.viewerPage(dashboard, 'auditor');
    await other.goto(`${dashboard.url}audit`);
    await other.getByText('3 nodes could not be read.').first().waitFor();
    await other.getByText("'get' on ConfigMaps in relet-system, where its config is, is forbidden").waitFor();
    await other.getByText('--user=system:serviceaccount:default:auditor').first().waitFor();
    expect(await other.getByRole('row', { name: /^pass/ }).count()).toBe(0);
    await other.context().close();
  });

  test('a token logs in as its owner; a wrong one is refused with a remedy; a person who may not see nodes reads why', async () => {
    const other = await rig.page(dashboard, { expected: /40[013]/ });
    await other.goto(dashboard.url);
    const login = async (token: string) => {
      await other.getByLabel('Bearer token').fill(token);
      await other.getByRole('button', { name: 'Log in' }).click();
    };
    await login('wrong');
    await other.getByRole('alert').waitFor();
    expect(await other.getByRole('alert').innerText()).toMatch(/token/i);
    await login(rig.token('looker', 'relet:viewer'));
    await other.getByRole('grid').waitFor();
    expect(await other.getByText('system:serviceaccount:default:looker').count()).toBeGreaterThan(0);
    await other.goto(`${dashboard.url}nodes/node-1`);
    await other.getByText('relet describe node-1').waitFor();
    expect(await other.getByRole('button', { name: /Undo|Reset|Set fields/ }).count()).toBe(0);
    await other.getByRole('button', { name: 'Log out' }).click();
    await other.goto(dashboard.url);
    await login(rig.token('nobody', 'system:discovery'));
    await other.getByText('may not list nodes').waitFor();
    await other.context().close();
  });

  test('with --read-only there are no buttons, also for an administrator; below a base path everything works', async () => {
    const readOnly = await rig.dashboard('--read-only', '--base-path=/ops/relet');
    const other = await rig.page(readOnly);
    await other.goto(readOnly.link);
    await other.getByRole('grid').waitFor();
    expect(new URL(other.url()).pathname).toBe('/ops/relet/');
    await other.getByRole('link', { name: 'node-1' }).click();
    await other.getByText('relet describe node-1').waitFor();
    expect(new URL(other.url()).pathname).toBe('/ops/relet/nodes/node-1');
    expect(await other.getByRole('button', { name: /Undo|Reset|Set fields/ }).count()).toBe(0);
    await other.context().close();
  });

  test.each([
    ['redirects to its login', 302, 'operator-a'],
    ['answers 401, as oauth2-proxy does where JSON is asked for', 401, 'operator-b'],
  ])(
    'a proxy logs people in, renews tokens under an open page, and when it %s the page asks to log in again',
    async (_name, status, person) => {
      const behind = await rig.dashboard('--trust-proxy-header=Authorization');
      const proxy = await startProxy(behind.url, status);
      onTestFinished(() => proxy.close());
      proxy.login.token = rig.token(person, 'relet:viewer');
      const other = await rig.page({ ...behind, url: proxy.url }, { expected: /40[13]|ERR_/ });
      await other.goto(`${proxy.url}nodes/node-1`);
      await other.getByText('relet describe node-1').waitFor();
      await other.getByText(`system:serviceaccount:default:${person}`).first().waitFor();
      expect(await other.getByRole('button', { name: 'Log out' }).count()).toBe(0);
      proxy.login.token = rig.kubectl(['create', 'token', person, '--duration=30m']).trim();
      proxy.endConnections();
      await other.getByText('live', { exact: true }).waitFor();
      proxy.login.token = undefined;
      proxy.endConnections();
      await other.getByRole('heading', { name: 'Log in again' }).waitFor();
      expect(await other.getByText('node-1').count()).toBe(0);
      proxy.login.token = rig.kubectl(['create', 'token', person]).trim();
      await other.getByRole('button', { name: 'Log in' }).click();
      await other.getByText('relet describe node-1').waitFor();
      proxy.login.token = 'of-an-issuer-that-the-api-server-does-not-know';
      await other.reload();
      await other.getByText('The API server does not accept the token that the proxy').waitFor();
      expect(await axeFindings(other)).toEqual([]);
      await other.context().close();
    },
  );

  test('while the API server hangs or is away the data is shown as old and nothing can be changed, and continues when it is back; who is gone has to log in', async () => {
    // A browser logs each answer of 400 and more on its console: no page whose console is read asks the server meanwhile.
    const other = await rig.viewerPage(dashboard, 'leaver', /40[13]|50[0234]/);
    rig.kubectl(['delete', 'serviceaccount', 'leaver']);
    await page.goto('about:blank');
    const shown = await page.context().newPage();
    await shown.goto(`${dashboard.url}nodes/node-1`);
    const hold = shown.getByRole('button', { name: 'Hold' });
    await hold.waitFor();
    expect(await hold.isDisabled()).toBe(false);
    const server = Number(readFileSync(join(rig.lab.dataDir, 'apiserver.pid'), 'utf8').trim().split(/\s/)[0]);
    sendSignal(server, 'SIGSTOP');
    await shown.getByText(/This data is .* old/).waitFor();
    expect(await shown.getByText('live', { exact: true }).count()).toBe(0);
    expect([await hold.isDisabled(), await hold.getAttribute('title')]).toEqual([
      true,
      'Not while the data on this page is old. The API server does not answer.',
    ]);
    sendSignal(server, 'SIGKILL');
    await shown.getByText('live', { exact: true }).waitFor();
    rig.kubectl(['label', 'nodeconfig', 'node-1', 'seen=again']);
    expect(await shown.getByText(/This data is .* old/).count()).toBe(0);
    await other.getByRole('heading', { name: 'Log in to relet' }).waitFor();
    expect(await other.getByText('node-1').count()).toBe(0);
    await Promise.all([other.context().close(), shown.close()]);
  });

  const hide = (hidden: boolean) => {
    const { document } = globalThis as unknown as { document: EventTarget };
    Object.defineProperty(document, 'hidden', { configurable: true, get: () => hidden });
    document.dispatchEvent(new Event('visibilitychange'));
  };

  test('a tab in the background gives its connection back, and shows the present when it is visible again', async () => {
    const other = await page.context().newPage();
    await other.clock.install();
    let streams = 0;
    other.on('request', (request) => {
      if (request.url().endsWith('/api/stream')) streams++;
    });
    const isPaused = async () => {
      await other.clock.runFor(61_000);
      await other.getByText(/This data is .* old/).waitFor();
      const before = streams;
      await other.clock.runFor(120_000);
      expect(streams).toBe(before);
    };
    // Opened in the background.
    await other.addInitScript(hide, true);
    await other.goto(dashboard.url);
    await other.getByText('live', { exact: true }).waitFor();
    await isPaused();
    await other.evaluate(hide, false);
    await other.getByText('live', { exact: true }).waitFor();
    await other.evaluate(hide, true);
    await isPaused();
    await other.close();
  });

  test('when somebody else logs in with another tab, the first tab shows nothing of theirs under the first name', async () => {
    const first = await rig.viewerPage(dashboard, 'tab-one');
    const second = await first.context().newPage();
    const logInAs = async (token: string) => {
      await second.getByRole('button', { name: 'Log out' }).click();
      await second.getByLabel('Bearer token').fill(token);
      await second.getByRole('button', { name: 'Log in' }).click();
      await second.getByRole('grid').waitFor();
    };
    const named = (name: string) => first.getByText(`system:serviceaccount:default:${name}`);
    // In the background for a minute: its stream is closed.
    await first.clock.install();
    await first.reload();
    await first.getByText('live', { exact: true }).waitFor();
    await first.evaluate(hide, true);
    await first.clock.runFor(61_000);
    await second.goto(dashboard.url);
    await logInAs(rig.token('tab-two', 'relet:viewer'));
    const streams: string[] = [];
    first.on('request', (request) => {
      if (request.url().endsWith('/api/stream')) streams.push(request.url());
    });
    const reload = first.waitForEvent('framenavigated');
    await first.evaluate(hide, false);
    await reload;
    expect(streams).toEqual([]);
    await named('tab-two').waitFor();
    expect(await named('tab-one').count()).toBe(0);
    await first.context().close();
  });

  test('a tab that is one too many says so, and gets its data once others are closed', async () => {
    const first = await rig.viewerPage(dashboard, 'many-tabs');
    const cookie = (await first.context().cookies()).map(({ name, value }) => `${name}=${value}`).join('; ');
    // Not in the browser, which has six connections for a server.
    const tabs = await Promise.all(
      Array.from({ length: 10 }, async () => {
        const request = httpGet(new URL('api/stream', dashboard.url), { headers: { cookie } });
        const [answer] = await once(request, 'response');
        answer.resume();
        return request;
      }),
    );
    const other = await first.context().newPage();
    await other.goto(dashboard.url);
    await other.getByText('Ten tabs of this session are open already. Close some of them.').waitFor();
    for (const tab of tabs) tab.destroy();
    await other.getByText('live', { exact: true }).waitFor();
    await first.context().close();
  });

  const hidden = "(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector('header nav'))";
  const paths = [
    '',
    'nodes/node-1',
    'sets',
    'sets/web',
    'sets/new',
    'configs',
    'upgrade?to=1.37',
    'inventory',
    'audit',
    'nowhere',
  ];

  test.each(paths)(
    'on /%s axe finds nothing, and from a phone to a wall nothing is wider than the screen, and the navigation shows all pages',
    async (path) => {
      await open(path);
      expect(await axeInLightAndDark(page)).toEqual([]);
      try {
        for (const width of [360, 390, 768, 1280, 1440, 2560]) {
          await page.setViewportSize({ width, height: 740 });
          expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
          expect(await page.evaluate(hidden)).toBe(0);
        }
      } finally {
        // The tests after this one read what a phone does not show.
        await page.setViewportSize({ width: 1280, height: 800 });
      }
    },
  );

  test('the error is on the screen beside the state from 1280 pixels on', async () => {
    const name = 'ip-10-0-0-1.eu-central-1.compute.internal';
    rig.apply({ apiVersion: 'v1', kind: 'Node', metadata: { name } });
    const admin = clientFor(rig.lab.kubeconfig);
    const status = { config: { error: 'the kubelet kept crashing with the assigned config' } };
    await eventually('the controller has made its NodeConfig', () =>
      admin.patch(nodeConfigs, { name, subresource: 'status' }, { status }, { as: 'merge' }),
    );
    admin.close();
    await open('');
    await page.getByRole('row', { name: /^ip-10-.*the kubelet kept crashing/ }).waitFor();
    const [grid, error] = await Promise.all(
      [page.getByRole('grid'), page.getByRole('columnheader', { name: 'Error' })].map((one) => one.boundingBox()),
    );
    expect(error!.x + error!.width).toBeLessThanOrEqual(grid!.x + grid!.width);
    rig.kubectl(['delete', 'node', name]);
    await page.getByRole('heading', { name: '3 nodes', exact: true, level: 1 }).waitFor();
  });

  test('after hundreds of nodes changed at once, the counts are those of kubectl', async () => {
    await open('');
    const admin = clientFor(rig.lab.kubeconfig);
    await forEachNode((name) => addNode(admin, name));
    for (let round = 1; round <= 3; round++) await forEachNode((name, at) => report(admin, name, (at + round) % 3 > 0));
    admin.close();
    const refersTo = (which: string) => (node: ReturnType<typeof listed>[number]) =>
      node.status?.config?.[which]?.configMap !== undefined;
    await page.getByRole('heading', { name: '203 nodes', exact: true, level: 1 }).waitFor();
    await eventually('the page shows what kubectl shows', async () => {
      const all = listed();
      const changed = all.filter(refersTo('active'));
      const active = changed.filter(refersTo('lastKnownGood'));
      expect(all).toHaveLength(203);
      expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe('203 nodes');
      expect(await count(page, 'active')).toBe(active.length);
      expect(await count(page, 'trial')).toBe(changed.length - active.length);
    });
  });

  test('rows that newer ones have replaced do not stay in the memory of the page', async () => {
    await open('');
    expect(await rowsInMemory(page)).toBe(203);
    const admin = clientFor(rig.lab.kubeconfig);
    await forEachNode((name) => report(admin, name, false));
    admin.close();
    await eventually('the page shows all of them in trial', async () => (await count(page, 'trial')) === names.length);
    await eventually('one row for each node', async () => expect(await rowsInMemory(page)).toBe(203));
  });

  test('no page had an error on its console, a dialog of a script, or a request to another server', () => {
    expect(rig.problems).toEqual([]);
  });
});

/** Stand-in for an OIDC proxy: it adds the token of the person who is logged in; without one it answers with this status. */
async function startProxy(upstream: string, status: number) {
  const login: { token: string | undefined } = { token: undefined };
  const server = createServer((request, response) => {
    if (login.token === undefined) {
      response.writeHead(status, { location: '/oauth2/start', 'content-type': 'application/json' }).end('{}');
      return;
    }
    const headers = { ...request.headers, authorization: `Bearer ${login.token}` };
    const passed = httpRequest(new URL(request.url ?? '/', upstream), { method: request.method ?? 'GET', headers });
    passed.on('response', (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      response.flushHeaders();
      answer.pipe(response);
    });
    passed.on('error', () => response.destroy());
    response.on('close', () => passed.destroy());
    request.pipe(passed);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    login,
    endConnections: () => server.closeAllConnections(),
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

const names = Array.from({ length: 200 }, (_, at) => `many-${at}`);

/**
 * Concurrent for 20 nodes at a time: on a busy machine 200 new connections do not finish their TLS handshakes within the 10 s that the
 * server allows each.
 */
async function forEachNode(work: (name: string, at: number) => Promise<void>): Promise<void> {
  for (let from = 0; from < names.length; from += 20)
    await Promise.all(names.slice(from, from + 20).map((name, at) => work(name, from + at)));
}

async function addNode(admin: KubeClient, name: string): Promise<void> {
  await admin.create(nodes, {}, { apiVersion: 'v1', kind: 'Node', metadata: { name } });
  const object = { apiVersion: 'relet.dev/v1alpha1', kind: 'NodeConfig', metadata: { name } };
  // The controller may have made it already.
  const options = { as: 'apply', fieldManager: 'test', force: true } as const;
  await admin.patch(nodeConfigs, { name }, { ...object, spec: { configSource: { configMap } } }, options);
}

const configMap = { namespace: 'relet-system', name: 'many', kubeletConfigKey: 'kubelet' };

/** As its agent would: with its trial over, or in trial. */
async function report(admin: KubeClient, name: string, isGood: boolean): Promise<void> {
  const ref = { configMap: { ...configMap, uid: 'u', resourceVersion: '1' } };
  const status = { observedGeneration: 1, config: { assigned: ref, active: ref, lastKnownGood: isGood ? ref : null } };
  await admin.patch(nodeConfigs, { name, subresource: 'status' }, { status }, { as: 'merge' });
}

/** Objects of the page that are rows of nodes, after a collection of garbage. */
async function rowsInMemory(page: Page): Promise<number> {
  const cdp = await page.context().newCDPSession(page);
  const { result } = await cdp.send('Runtime.evaluate', { expression: 'Object.prototype' });
  const { objects } = await cdp.send('Runtime.queryObjects', { prototypeObjectId: result.objectId! });
  const counted = await cdp.send('Runtime.callFunctionOn', {
    objectId: objects.objectId!,
    functionDeclaration: `function () { return this.filter((one) => 'name' in one && 'lastKnownGood' in one).length; }`,
    returnByValue: true,
  });
  await cdp.detach();
  return counted.result.value;
}

const set = (name: string, overlay: object) => ({
  apiVersion: 'relet.dev/v1alpha1',
  kind: 'NodeConfigSet',
  metadata: { name },
  spec: {
    selector: { matchLabels: { pool: name } },
    config: { overlay },
    strategy: { waves: [{ nodes: '100%' }], maxUnavailable: '100%', maxInTrial: '100%' },
  },
});
