/** Code for hosts with a trust file: a bundle of its own, with the YAML reader. Other hosts do not load it. */
export { decideSignature } from '../../config/signing/decide.js';
export { parseTrust } from '../../config/signing/trust.js';
