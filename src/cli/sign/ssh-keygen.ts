/**
 * Signs a text with ssh-keygen, so that agents, passphrases and hardware keys work as usual. relet never reads the private key: for a
 * key in an agent, the public key is enough.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { signatureNamespace } from '../../api/signing.js';
import { CannotRun } from '../../cannot-run.js';
import { oneLine } from '../../visible-text.js';
import { printError } from '../terminal/terminal.js';

/** The armoured signature. Ctrl-C reaches ssh-keygen too, which has the same terminal. */
export async function sshSignature(statement: string, key: string): Promise<string> {
  if (!existsSync(key))
    throw new CannotRun(
      `there is no file '${key}' to sign with: name a private SSH key, or a public one whose private key is in ssh-agent or on a security key; 'ssh-keygen -t ed25519' makes one`,
    );
  const { code, output, errors } = await run(['-q', '-Y', 'sign', '-n', signatureNamespace, '-f', key], statement);
  if (code === 0 && output.includes('-----BEGIN SSH SIGNATURE-----')) return output;
  const why = oneLine(errors.trim()) || `it ended with code ${code}`;
  throw new CannotRun(`ssh-keygen did not sign with ${key}: ${why}. ${remedyFor(errors, key)}`);
}

/** ssh-keygen asks for a passphrase, and for a touch, on the terminal itself. */
function run(args: string[], input: string): Promise<{ code: number | null; output: string; errors: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn('ssh-keygen', args, { stdio: 'pipe' });
    const text = { output: '', errors: '' };
    child.stdout.setEncoding('utf8').on('data', (part: string) => {
      text.output += part;
    });
    child.stderr.setEncoding('utf8').on('data', (part: string) => {
      text.errors += part;
      // A request for a touch has to be seen before it is over.
      if (/presence|touch/i.test(part)) printError(part.trimEnd());
    });
    child.on('error', (error: NodeJS.ErrnoException) =>
      reject(
        new CannotRun(
          error.code === 'ENOENT'
            ? 'ssh-keygen is not installed here, and relet signs with it: install OpenSSH (package openssh-client), or sign elsewhere (docs/signing.md)'
            : `cannot run ssh-keygen: ${error.message}`,
        ),
      ),
    );
    child.on('close', (code) => resolve({ code, ...text }));
    // ssh-keygen may exit before it has read its input.
    child.stdin.on('error', () => {});
    child.stdin.end(input);
  });
}

function remedyFor(errors: string, key: string): string {
  if (/agent refused operation/i.test(errors))
    return "The agent is locked, or refuses this key: unlock it ('ssh-add -X'), or touch the security key in time";
  if (/No private key found/i.test(errors))
    return `Its private key is neither beside it nor in an agent: 'ssh-add ${key.replace(/\.pub$/, '')}' loads it, 'ssh-add -L' shows what the agent has`;
  if (/incorrect passphrase/i.test(errors))
    return `Without a terminal, load the key into an agent first ('ssh-add ${key}') and name its public key`;
  if (/device not found|no device|FIDO/i.test(errors)) return 'Plug in the security key that this key belongs to';
  return `'ssh-keygen -l -f ${key}' shows whether it is a key`;
}
