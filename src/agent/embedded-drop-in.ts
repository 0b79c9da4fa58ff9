/**
 * The config drop-in for an embedded kubelet (k3s, RKE2) that uses an overlay. It is stored as a comment in the last line of the merged
 * document, so that the validated text and the installed text are one file with one digest.
 */

/** Its name in the directory of drop-ins: after every file that k3s writes there. */
export const embeddedDropIn = 'zz-relet.conf';

const mark = '# relet: drop-in ';

export const withDropIn = (document: string, dropIn: string): string => `${document}${mark}${JSON.stringify(dropIn)}\n`;

/** Throws for a document that was not made for an embedded kubelet. */
export function dropInOf(document: string): string {
  const line = document.trimEnd().split('\n').at(-1) ?? '';
  if (!line.startsWith(mark)) throw new Error('the document has no drop-in for the kubelet of k3s or RKE2');
  return String(JSON.parse(line.slice(mark.length)));
}
