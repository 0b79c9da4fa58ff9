/** The code that checks signatures, as a separate bundle with its YAML parser: only hosts with a trust file load it. */
export { decideSignature } from '../../config/signing/decide.js';
export { parseTrust } from '../../config/signing/trust.js';
