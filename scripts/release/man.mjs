/** The man page, from what the program prints: `relet --help`, and the help of each verb. */
import { version } from './names.mjs';

/** As text in which troff finds nothing to interpret. */
const literal = (text) =>
  text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replace(/^(?=[.'])/gm, '\\&');

/** `help(...words)` prints the help of a verb, or of relet without words. */
export function manPage(help) {
  const main = help('--help');
  const verbs = [...main.matchAll(/^ {2}([a-z-]+) {2,}\S/gm)].map(([, verb]) => verb);
  const section = (verb) => `.SS "relet ${verb}"\n.nf\n${literal(help(verb, '--help').trimEnd())}\n.fi`;
  return `.TH RELET 1 "" "relet ${version}" "relet"
.SH NAME
relet \\- change kubelet configuration on live Kubernetes nodes
.SH SYNOPSIS
.B relet
.I VERB
[\\fIARGUMENTS\\fR]
.SH DESCRIPTION
.nf
${literal(main.trimEnd())}
.fi
.SH COMMANDS
${verbs.map(section).join('\n')}
.SH "SEE ALSO"
.BR kubectl (1)
`;
}
