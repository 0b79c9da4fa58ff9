/** The frame of every page: header, navigation, whether the data is live, and the page for the present path. */
import type { May } from '../wire.js';
import { loggedOut } from './api.js';
import { ConfigDiffPage } from './configs/config-diff-page.js';
import { ConfigPage } from './configs/config-page.js';
import { ConfigsPage } from './configs/configs-page.js';
import { UpgradePage } from './configs/upgrade-page.js';
import { FleetPage } from './fleet/fleet-page.js';
import { NeedsAttention } from './home/needs-attention.js';
import { Help, HelpButton } from './keys.js';
import { LoginPage } from './login.js';
import { AuditPage } from './look/audit-page.js';
import { InventoryPage } from './look/inventory-page.js';
import { NodePage } from './node/node-page.js';
import { ageText, now } from './now.js';
import { Button } from './parts/button.js';
import { Notices } from './parts/notices.js';
import { EmptyPanel, ErrorPanel, PageTitle } from './parts/panels.js';
import { link, place } from './router.js';
import { logout, me, retrySession, sessionFailure } from './session.js';
import { NewSetPage } from './sets/new-set-page.js';
import { SetPage } from './sets/set-page.js';
import { SetsPage } from './sets/sets-page.js';
import { connection, type Connection as State } from './stream.js';
import { chooseTheme, type Theme, theme, themes } from './theme.js';

interface Destination {
  title: string;
  path: string[];
  /** First segments of the pages that belong to it. */
  heads: (string | undefined)[];
  isAllowed(may: May): boolean;
}

const destinations: Destination[] = [
  { title: 'Fleet', path: [], heads: [undefined, 'nodes'], isAllowed: () => true },
  { title: 'Sets', path: ['sets'], heads: ['sets'], isAllowed: (may) => may.seeSets },
  { title: 'Configs', path: ['configs'], heads: ['configs'], isAllowed: (may) => may.seeConfigs },
  { title: 'Inventory', path: ['inventory'], heads: ['inventory'], isAllowed: (may) => may.seeFleet },
  { title: 'Audit', path: ['audit'], heads: ['audit'], isAllowed: (may) => may.seeFleet },
  { title: 'Upgrade', path: ['upgrade'], heads: ['upgrade'], isAllowed: (may) => may.seeFleet },
];

export function App() {
  if (loggedOut.value) return withNotices(<LoginPage />);
  if (me.value === undefined)
    return (
      <main>
        {sessionFailure.value ? (
          <ErrorPanel failure={sessionFailure.value} retry={retrySession} />
        ) : (
          <p class="loading" role="status">
            Connecting…
          </p>
        )}
      </main>
    );
  return withNotices(
    <>
      <button type="button" class="skip" onClick={() => document.getElementById('main')?.focus()}>
        Skip to content
      </button>
      <Header />
      <StaleBanner />
      <main id="main" tabIndex={-1} class={isOld(connection.value) ? 'is-old' : ''}>
        <Page />
      </main>
    </>,
  );
}

const withNotices = (page: preact.JSX.Element) => (
  <>
    {page}
    <Help />
    <Notices />
  </>
);

function Page() {
  const [first, second, third] = place.value.path;
  switch (first) {
    case undefined:
      return (
        <>
          <NeedsAttention />
          <FleetPage />
        </>
      );
    case 'nodes':
      return second === undefined ? <FleetPage /> : <NodePage key={second} name={second} />;
    case 'configs':
      if (second === undefined) return <ConfigsPage />;
      if (second === 'diff') return <ConfigDiffPage />;
      if (third !== undefined) return <ConfigPage namespace={second} name={third} />;
      return <NotFound />;
    case 'inventory':
      return <InventoryPage />;
    case 'audit':
      return <AuditPage />;
    case 'upgrade':
      return <UpgradePage />;
    case 'sets':
      if (second === undefined) return <SetsPage />;
      return second === 'new' ? <NewSetPage /> : <SetPage key={second} name={second} />;
    default:
      return <NotFound />;
  }
}

function NotFound() {
  return (
    <>
      <PageTitle>Not found</PageTitle>
      <EmptyPanel title="There is no page at this address.">
        <a href={link([])}>To the fleet</a>
      </EmptyPanel>
    </>
  );
}

function Header() {
  const { user, cluster, readOnly, may, login } = me.value!;
  const [first] = place.value.path;
  return (
    <header class="top">
      <a class="name" href={link([])}>
        relet
      </a>
      <nav aria-label="Pages">
        <ul>
          {destinations
            .filter(({ isAllowed }) => isAllowed(may))
            .map(({ title, path, heads }) => (
              <li key={title}>
                <a href={link(path)} aria-current={heads.includes(first) ? 'page' : undefined}>
                  {title}
                </a>
              </li>
            ))}
        </ul>
      </nav>
      <div class="who">
        <Connection />
        <strong class="cluster" title={`Cluster ${cluster.name}`}>
          {cluster.name}
        </strong>
        <span class="optional" title={`Logged in as ${user}`}>
          {user}
          {readOnly && ', read-only'}
        </span>
        <ThemeChoice />
        <HelpButton />
        {login !== 'proxy' && (
          <Button kind="quiet" onClick={logout}>
            Log out
          </Button>
        )}
      </div>
    </header>
  );
}

function ThemeChoice() {
  return (
    <label>
      <span class="visually-hidden">Theme</span>
      <select value={theme.value} onChange={(event) => chooseTheme(event.currentTarget.value as Theme)}>
        {themes.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

/** `live`, or how old the data is. */
function Connection() {
  const state = connection.value;
  const age =
    'sinceMs' in state && state.sinceMs !== undefined ? `${ageText(state.sinceMs, now.value)} old` : undefined;
  return <span class={`connection ${state.kind}`}>{age ?? state.kind}</span>;
}

type Old = Extract<State, { why: string }>;
const isOld = (state: State): state is Old => 'why' in state;

/** Shows whether the data is live, and if not, since when. */
function StaleBanner() {
  const state = connection.value;
  if (!isOld(state)) return null;
  const { sinceMs } = state;
  return (
    <div class="banner" role="alert">
      <strong>
        {sinceMs === undefined ? 'This tab gets no data.' : `This data is ${ageText(sinceMs, now.value)} old.`}
      </strong>{' '}
      {state.why} Nothing can be changed here meanwhile. The page continues automatically{' '}
      {state.kind === 'rejected' ? 'then' : 'as soon as it is reachable again'}.
    </div>
  );
}
