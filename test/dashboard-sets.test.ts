/** Sets in the dashboard, in a real browser: written, previewed, started and steered, by mouse and by keyboard alone. */
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { axeFindings, axeInLightAndDark, type Dashboard, DashboardRig, whileAnswered } from './dashboard-rig.js';
import { eventually } from './eventually.js';
import { needs } from './programs.js';

const { isMissing, note } = needs('chromium', 'kubectl');

describe.skipIf(isMissing)(`sets in the dashboard${note}`, () => {
  let rig: DashboardRig;
  let dashboard: Dashboard;
  let page: Page;

  beforeAll(async () => {
    rig = await DashboardRig.start({ nodes: 3, trialDuration: '1s' });
    rig.kubectl(['label', 'node', '--all', 'pool=web']);
    dashboard = await rig.dashboard();
    // A conflict of an edit.
    page = await rig.page(dashboard, { expected: /409/ });
    await page.goto(dashboard.link);
    await page.getByRole('grid').waitFor();
  });
  afterAll(() => rig?.stop());

  const heading = (name: string) => page.getByRole('heading', { level: 1, name, exact: true });
  const button = (name: string | RegExp) => page.getByRole('button', { name });
  const editor = () => page.locator('.cm-content');
  const specOf = (name: string) => JSON.parse(rig.kubectl(['get', 'ncs', name, '-o', 'json'])).spec;
  const reasonOf = (name: string) =>
    rig.kubectl(['get', 'ncs', name, '-o', 'jsonpath={.status.conditions[?(@.type=="Ready")].reason}']);
  const state = (text: string) => page.locator('.standing .set-state').getByText(text, { exact: true });

  /** The first thing on the first screen. */
  const firstCard = () => page.locator('.attention article').first();

  test('by mouse: nodes by label, a field completed in the editor, an approval, the preview, the start', async () => {
    await page.getByRole('link', { name: 'Sets' }).click();
    await page.getByText('There is no set of nodes yet.').waitFor();
    await page.getByRole('link', { name: 'New set' }).click();
    await heading('New set').waitFor();
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('web');
    await page.getByText('Labels of the nodes').click();
    await button('Select pool=web, 3 nodes').click();
    await page.getByText('3 nodes', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'node-2' }).waitFor();
    await button('Next: Config').click();

    await editor().click();
    await page.keyboard.type('maxP');
    await page.getByRole('option', { name: /^maxPods/ }).click();
    await page.keyboard.type('150\nmaxPod: 1');
    await page.getByRole('list', { name: 'Findings' }).getByText('did you mean "maxPods"?').waitFor();
    for (let at = 0; at < '\nmaxPod: 1'.length; at++) await page.keyboard.press('Backspace');
    await page.getByText('No findings.').waitFor();
    await page.keyboard.type('\nfoo');
    await page.getByRole('list', { name: 'Findings' }).getByText("line 2: could not find expected ':'").waitFor();
    expect(await button('Next: Strategy').isDisabled()).toBe(true);
    for (let at = 0; at < '\nfoo'.length; at++) await page.keyboard.press('Backspace');
    await page.getByText('No findings.').waitFor();
    await button('Next: Strategy').click();

    expect(await page.getByLabel('Then soak').first().getAttribute('placeholder')).toBeNull();
    await page.getByRole('group', { name: 'Wave 1' }).getByLabel('Then wait for approval').check();
    await button('Remove wave 2').click();
    await page.getByLabel(/^Unavailable at once/).fill('100%');
    await page.getByLabel(/^In trial at once/).fill('100%');
    await button('Next: Preview').click();

    await page.getByText('would be rolled out').waitFor();
    const row = page.getByRole('row', { name: /^maxPods/ });
    expect(await row.innerText()).toMatch(/110\s+150\s+kubelet restart/);
    await page.getByText('Impact: kubelet restart. Running pods are not affected.').waitFor();
    expect(await page.getByRole('listitem').filter({ hasText: 'Wave 1' }).innerText()).toContain('then approval');
    const rehearsal = page.getByRole('region', { name: 'Rehearsal' });
    const never = () => {};
    await whileAnswered(page, '**/api/sets/rehearse', never, async () => {
      await button('Rehearse').click();
      await rehearsal.getByRole('button', { name: 'Cancel' }).click();
      await rehearsal.getByText('Cancelled.').waitFor();
    });
    await button('Rehearse').click();
    await rehearsal.getByText('3 of 3 nodes updated, 0 failed', { exact: false }).waitFor();
    await rehearsal.getByText('relet rollout rehearse').waitFor();
    await page.reload();
    await page.getByText('would be rolled out').waitFor();
    await button('Next: Start').click();
    await button('Start the rollout').click();

    await heading('web').waitFor();
    expect(specOf('web')).toMatchObject({
      selector: { matchLabels: { pool: 'web' } },
      config: { overlay: { maxPods: 150 } },
      strategy: { waves: [{ nodes: 1, approve: true }, { nodes: '100%' }], maxUnavailable: '100%' },
    });
  });

  test('the page follows the rollout: wave 1, the approval that it waits for, the end', async () => {
    await state('awaiting approval').waitFor();
    await page.getByRole('img', { name: 'Wave 1: 1 updated' }).waitFor();
    for (const [verb, after] of [
      ['Pause', 'paused'],
      ['Resume', 'awaiting approval'],
    ] as const) {
      await button(`${verb}…`).click();
      await page.getByRole('dialog').getByRole('button', { name: verb, exact: true }).click();
      await state(after).waitFor();
    }
    await page.goto(dashboard.url);
    await firstCard().getByRole('heading', { name: 'web waits for the approval of wave 1' }).waitFor();
    await firstCard().getByText('Wave 2: node-2, node-3').waitFor();
    await firstCard().getByRole('link', { name: 'Approve…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Approve wave 1 of web?' });
    await dialog.getByText('Impact: kubelet restart.').waitFor();
    expect(await dialog.innerText()).toMatch(
      /maxPods.*2 nodes will change in wave 2\. Then the rollout is complete\..*Wave 2: node-2, node-3.*Impact: kubelet restart\..*relet rollout approve web --revision \w+ --wave 1/s,
    );
    await dialog.getByRole('button', { name: 'Approve', exact: true }).click();
    await state('rollout complete').waitFor();
    await page.getByRole('img', { name: 'Wave 2: 2 updated' }).waitFor();
    expect(reasonOf('web')).toBe('RolloutComplete');
    expect(await page.getByRole('button', { name: /Approve|Abort/ }).count()).toBe(0);
  });

  test('by keyboard alone: a set is edited, previewed and started, approved, paused, resumed and undone', async () => {
    const keys = keyboard(page);
    await keys.goTo(page.getByRole('link', { name: 'Edit' }));
    await page.keyboard.press('Enter');
    await editor().waitFor();
    await keys.goTo(editor());
    await page.keyboard.press('Control+Home');
    await page.keyboard.type('evictionMax');
    await page.getByRole('option', { name: /^evictionMaxPodGracePeriod/ }).waitFor();
    await page.keyboard.press('Enter');
    await page.keyboard.type('30\n');
    await page.getByText('No findings.').waitFor();
    for (const next of ['Next: Strategy', 'Next: Preview', 'Next: Start', 'Start the rollout']) {
      await keys.goTo(button(next));
      await page.keyboard.press('Enter');
    }
    await heading('web').waitFor();
    await state('awaiting approval').waitFor();
    for (const [verb, after] of [
      ['Pause', () => state('paused').waitFor()],
      ['Resume', () => state('awaiting approval').waitFor()],
      ['Approve', () => state('rollout complete').waitFor()],
      ['Undo', () => state('undone').waitFor()],
    ] as const) {
      await keys.goTo(button(`${verb}…`));
      await page.keyboard.press('Enter');
      await keys.goTo(page.getByRole('dialog').getByRole('button', { name: verb, exact: true }));
      await page.keyboard.press('Enter');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      await after();
    }
    expect(specOf('web').config.overlay).toEqual({ maxPods: 150, evictionMaxPodGracePeriod: 30 });
    await page.getByRole('cell', { name: 'undone' }).waitFor();
    // Back to what it had before: the difference of the two revisions is the field that was undone.
    await page.getByRole('row', { name: /^evictionMaxPodGracePeriod/ }).waitFor();
  });

  test('an edit is neither previewed nor started when somebody changed the set meanwhile; the draft stays, and Edit opens the present', async () => {
    const change = async () => {
      await page.getByRole('link', { name: 'Edit' }).click();
      await editor().waitFor();
      await page.getByRole('link', { name: 'Strategy' }).click();
      await page.getByLabel(/^Unavailable at once/).fill('3');
    };
    await change();
    rig.kubectl(['patch', 'ncs', 'web', '--type=merge', '-p', '{"spec":{"strategy":{"progressDeadline":"20m"}}}']);
    const changed = page.getByRole('alert').getByText(/^The set web was changed after .*by kubectl-patch/);
    await page.getByRole('link', { name: 'Preview' }).click();
    await changed.waitFor();
    await page.getByRole('link', { name: 'Start' }).click();
    await button('Start the rollout').click();
    await changed.waitFor();
    await page.getByText('maxUnavailable: 3').waitFor();
    expect(specOf('web').strategy).toMatchObject({ maxUnavailable: '100%', progressDeadline: '20m' });

    await page.goto(`${dashboard.url}sets/web`);
    await change();
    await page.getByLabel(/^A node is silent after/).fill('15m');
    await page.getByRole('link', { name: 'Start' }).click();
    await button('Start the rollout').click();
    await heading('web').waitFor();
    expect(specOf('web').strategy).toMatchObject({ maxUnavailable: 3, progressDeadline: '15m' });
  });

  test('a config that crashes the kubelet: from the edit to the node that rolled back, the reason, and the undo', async () => {
    const hostile = '<img src=x onerror=alert(1)>';
    await page.getByRole('link', { name: 'Edit' }).click();
    await editor().click();
    await page.keyboard.press('Control+A');
    // The port is taken: no check can know, and the kubelet crashes.
    await page.keyboard.type(`port: 10269\nclusterDomain: "${hostile}"`);
    await page.getByRole('link', { name: 'Start' }).click();
    await button('Start the rollout').click();
    await heading('web').waitFor();
    await state('halted').waitFor();
    const failed = page.locator('.standing .failures');
    await failed.locator('pre').getByText('address already in use').waitFor();
    expect(await failed.innerText()).toMatch(/1 node failed; maxFailed allows 0\.\s+node-\d .*kept crashing/);
    const name = await failed.getByRole('link').innerText();
    await page.getByText(hostile).first().waitFor();
    expect(await page.locator('img').count()).toBe(0);
    await page.goto(dashboard.url);
    await firstCard().getByRole('heading', { name: 'web has halted, wave 1 of 2' }).waitFor();
    await firstCard().locator('pre').getByText('address already in use').waitFor();
    expect(await firstCard().locator('.actions a').allInnerTexts()).toEqual(['Correct', 'Retry…', 'Undo…']);
    expect(await axeFindings(page)).toEqual([]);
    await firstCard().getByRole('link', { name: 'Undo…' }).click();
    await page
      .getByRole('dialog')
      .getByLabel(/^Reason/)
      .fill("it's bad");
    expect(await page.getByRole('dialog').innerText()).toMatch(
      /Revision (\w+), .*relet rollout undo web --revision \1 --why 'it'\\''s bad'/s,
    );
    await page.getByRole('dialog').getByRole('button', { name: 'Undo', exact: true }).click();
    await state('undone').waitFor();
    // The node is well again, and the page still names it.
    await failed.waitFor({ state: 'detached' });
    await page.locator('.standing').getByRole('link', { name, exact: true }).waitFor();
    const revision = page.getByRole('row', { name: /port: 10269/ });
    await revision.getByRole('link', { name, exact: true }).waitFor();
  });

  test('who may only look, and everybody with --read-only, has no buttons', async () => {
    const other = await rig.viewerPage(dashboard, 'set-looker');
    const readOnly = await rig.dashboard('--read-only');
    const third = await rig.page(readOnly);
    await third.goto(readOnly.link);
    await third.getByRole('grid').waitFor();
    for (const [one, { url }] of [
      [other, dashboard],
      [third, readOnly],
    ] as const) {
      await one.goto(`${url}sets/web`);
      await one.getByText('undone', { exact: true }).first().waitFor();
      expect(await one.getByRole('button', { name: /…$/ }).count()).toBe(0);
      expect(await one.getByRole('link', { name: 'Edit' }).count()).toBe(0);
      await one.goto(`${url}sets/new`);
      await one.getByText('You may not write sets.').waitFor();
      await one.context().close();
    }
  });

  test('the analysis of a wave has a sentence, and a drawing with a line a node for each signal', async () => {
    const { updateRevision: revision } = JSON.parse(rig.kubectl(['get', 'ncs', 'web', '-o', 'json'])).status;
    const group = (points: [number, number][]) => ({ nodes: points.length, worse: 0, before: 2, after: 3, points });
    const signal = {
      ...{ name: 'podStartSeconds', kind: 'level', outcome: 'Worse', effect: 0.5, worseBy: 0.25 },
      ...{
        p: 0.01,
        alpha: 0.025,
        spread: 0.1,
        canaries: group([[2, 3]]),
        controls: group([
          [2, 2],
          [2, 2.1],
        ]),
      },
    };
    const message = 'worse: 1 of 1 canary starts pods slower than before';
    const analysis = { revision, attempt: 1, wave: 1, state: 'Done', outcome: 'Worse', message, signals: [signal] };
    const patch = JSON.stringify({ status: { analyses: [analysis] } });
    rig.kubectl(['patch', 'ncs', 'web', '--subresource=status', '--type=merge', '-p', patch]);
    await page.goto(`${dashboard.url}sets/web`);
    const figure = page.getByRole('figure').filter({ hasText: 'podStartSeconds worse' });
    await figure.waitFor();
    await page.getByText(message).first().waitFor();
    expect(await figure.locator('g.canaries path:not(.median)').count()).toBe(1);
    expect(await figure.locator('g.controls path:not(.median)').count()).toBe(2);
    expect(await figure.innerText()).toContain('2 s → 3 s, 0 of 2 worse');
  });

  const steps = ['nodes', 'config', 'strategy', 'preview', 'start'].map((step) => `sets/new?step=${step}`);

  test.each(['sets', 'sets/web', ...steps])(
    'on /%s axe finds nothing, and nothing is wider than a phone',
    async (path) => {
      await page.goto(dashboard.url + path);
      await page.getByRole('heading', { level: 1 }).waitFor();
      if (path.endsWith('config')) await editor().waitFor();
      expect(await axeInLightAndDark(page)).toEqual([]);
      await page.setViewportSize({ width: 360, height: 740 });
      const width = await page.evaluate('document.documentElement.scrollWidth');
      await page.setViewportSize({ width: 1280, height: 800 });
      expect(width).toBe(360);
    },
  );

  test('no page had an error on its console, a dialog of a script, or a request to another server', () => {
    expect(rig.problems).toEqual([]);
  });
});

/** Moves the focus with Tab only, as a person without a mouse does. */
function keyboard(page: Page) {
  const isFocused = (target: Locator) =>
    target.evaluate((node) => {
      const root = (node as unknown as { getRootNode(): { activeElement: unknown } }).getRootNode();
      return root.activeElement === node;
    });
  return {
    async goTo(target: Locator): Promise<void> {
      await target.waitFor();
      for (let presses = 0; presses < 120; presses++) {
        if (await isFocused(target)) return;
        await page.keyboard.press('Tab');
      }
      await eventually('Tab reaches the element', () => isFocused(target));
    },
  };
}
