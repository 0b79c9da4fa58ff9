/** String formats that CRD schemas may name. Unknown formats are ignored, as in Kubernetes. */
import { isIP, isIPv4, isIPv6 } from 'node:net';

const checks: Record<string, (text: string) => boolean> = {
  'date-time': (text) =>
    /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$/.test(text) && isDate(text),
  date: (text) => /^\d{4}-\d{2}-\d{2}$/.test(text) && isDate(text),
  duration: (text) => /^([+-]?(\d+(\.\d*)?|\.\d+)\s*[a-zµ]+\s*)+$/i.test(text) || text === '0',
  ipv4: isIPv4,
  ipv6: isIPv6,
  cidr: (text) => {
    const [address = '', bits = '', ...rest] = text.split('/');
    return (
      rest.length === 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= (isIPv4(address) ? 32 : isIP(address) ? 128 : -1)
    );
  },
  byte: (text) => /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text),
  uuid: (text) => /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i.test(text),
  email: (text) => /^[^\s@]+@[^\s@]+$/.test(text),
  hostname: (text) => /^(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/i.test(text),
  uri: (text) => URL.canParse(text) || text.startsWith('/'),
  mac: (text) => /^([0-9a-f]{2}[:-]){5}[0-9a-f]{2}$/i.test(text),
  hexcolor: (text) => /^#?([0-9a-f]{3}|[0-9a-f]{6})$/i.test(text),
};

export function isOfFormat(text: string, format: string): boolean {
  return Object.hasOwn(checks, format) ? checks[format]!(text) : true;
}

function isDate(text: string): boolean {
  return !Number.isNaN(Date.parse(text));
}
