/** Which ConfigMap keys, uids and versions may become names of files. */

export function checkFileKey(key: string): void {
  if (key === '') throw new Error('invalid file key: must not be empty: ""');
  if (key.includes('/') || key.includes('\0'))
    throw new Error(`invalid file key ${JSON.stringify(key)}, only base names are allowed`);
  if (key === '.' || key === '..') throw new Error("invalid file key, may not be '.' or '..'");
  if (Buffer.byteLength(key) > 255)
    throw new Error(`invalid file key ${JSON.stringify(key)}, must be less than 255 characters`);
}
