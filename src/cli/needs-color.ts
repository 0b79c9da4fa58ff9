/** The class of a change, in a colour that tells how much care it asks for. */
import type { Needs } from '../config/catalogue.js';
import type { Paint } from './terminal.js';

export function paintNeeds(needs: Needs, paint: Paint): string {
  if (needs === 'none' || needs === 'restart') return paint.green(needs);
  return needs === 'never' || needs === 'reboot' ? paint.red(needs) : paint.yellow(needs);
}
