/** Paths of a host, joined and cleaned as Go's path/filepath does on Linux. Without node:path: src/config also runs in a browser. */

/** `/etc/kubernetes` for `/etc/kubernetes/kubelet.yaml`. */
export const directoryOf = (file: string): string => clean(file.slice(0, file.lastIndexOf('/') + 1));

/** `/etc/pki/ca.crt` for `/etc/kubernetes` and `../pki/ca.crt`. */
export const joinPath = (directory: string, name: string): string => clean(`${directory}/${name}`);

function clean(path: string): string {
  const isAbsolute = path.startsWith('/');
  const kept: string[] = [];
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue;
    if (part !== '..') kept.push(part);
    else if (kept.length > 0 && kept.at(-1) !== '..') kept.pop();
    else if (!isAbsolute) kept.push(part);
  }
  const text = `${isAbsolute ? '/' : ''}${kept.join('/')}`;
  return text === '' ? '.' : text;
}
