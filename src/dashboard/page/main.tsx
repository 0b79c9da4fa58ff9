/** Starts the page: the theme first, so that nothing is painted in the wrong one. */
import { render } from 'preact';
import { App } from './app.js';
import { listenToKeys } from './keys.js';
import { startClock } from './now.js';
import { followLinks } from './router.js';
import { openSession } from './session.js';
import 'uplot/dist/uPlot.min.css';
import './style/tokens.css';
import './style/base.css';
import './style/parts.css';
import './style/fleet.css';
import './style/node.css';
import './style/sets.css';
import { applyTheme } from './theme.js';

applyTheme();
startClock();
followLinks();
listenToKeys();
void openSession();
render(<App />, document.getElementById('page')!);
