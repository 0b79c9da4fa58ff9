/**
 * Words that relet no longer uses, each with the word to write: `npm run check` fails on them in files that git tracks.
 * Comments of code must not begin with What, Who, Whose, Of, Where or One that: they begin with the noun they are about, or with a verb.
 * Only uses that are clearly figurative, or identifiers that were renamed, are listed; a phrase that is sometimes right is not.
 * `node scripts/words.mjs src/kube` checks what is below a path, also where that is not required yet.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** Files that are checked neither now nor later. */
const never = [
  [/^test\/fixtures\/first-edition\//, 'records and texts of the first edition'],
  [/^test\/evidence\//, 'quotes what real kubelets and API servers answered'],
  [/\/facts\//, 'texts of Kubernetes'],
  [/^docs\/fields\.md$/, 'generated from src/config/catalogue, which is checked instead'],
  [/^(?:scripts\/words\.mjs|test\/words\.test\.ts|package-lock\.json|LICENSE)$/, 'names the words themselves'],
];

/** Texts that contain a retired word and stay, with the reason. */
export const exceptions = [
  { text: 'clear-verdict', why: 'old name of `relet node retry`, kept as an alias' },
  { text: 'meta/verdicts', why: 'record of an earlier relet, which is still read' },
  { text: 'meta/judged', why: 'record of an earlier relet, which is still read' },
  { text: 'meta/way-back', why: 'record of an earlier relet, which is still read' },
  { text: 'relet.dev/undecided', why: 'annotation of an earlier relet, which is still read' },
  {
    text: 'deaths',
    in: /^(?:src\/agent|src\/cli\/node|test)\//,
    why: 'field of the trial record, which an earlier relet reads too',
  },
  {
    text: 'verdicts',
    in: /^src\/agent\/(?:trial\/trial\.ts|state\/node-state\.test\.ts)$/,
    why: 'record of an earlier relet',
  },
  { text: "name: 'judged'", why: 'record of an earlier relet, which is still read' },
  { text: "'way-back'", why: 'record of an earlier relet, which is still read' },
  { text: "new Error('refused')", why: 'text of the operating system' },
  { text: 'trial: { deaths:', why: 'field of NodeConfig v1alpha1' },
  {
    text: 'verdict',
    in: /^(?:src|src\/cli|bench)\/config\/|^src\/lab\/hollow-kubelet\/load-config|^src\/fleet\/config-text\.test\.ts$|^docs\/config\.md$|^src\/agent\/(?:state\/checkpoint-decode\.test|validate\/validate)\.ts$|^test\/(?:rig\/node|cli-config\.test|oracle\.test)\.ts$/,
    why: 'key of `relet config validate -o json` and of the published `relet/config`',
  },
  { text: 'connection refused', why: 'text of the operating system' },
  { text: 'deaths: { type: integer', why: 'field of NodeConfig v1alpha1' },
  { text: 'deaths: number', in: /^src\/api\//, why: 'field of NodeConfig v1alpha1' },
  { text: 'rolled back a config under which the kubelet kept dying', why: 'status of an earlier relet, still read' },
];

/** Paths and names of tests, which docs quote. */
const quotedTests = /`(?:src|test)\/[\w/.-]+\.test\.ts[^`]*`/g;

const everywhere = ['docs', 'code', 'tests'];
/** A word in any of its forms, alone or inside an identifier such as `rememberedJudge`. */
const word = (stem, endings = '') => {
  const [first, rest] = [stem[0], stem.slice(1)];
  const tail = `${rest}(?:${endings})(?![a-z])`;
  return new RegExp(
    `(?<![A-Za-z])[${first}${first.toUpperCase()}]${tail}|(?<=[a-z0-9])${first.toUpperCase()}${tail}`,
    'g',
  );
};

/** find: what is retired; write: what to write; where: kinds of files in which it counts. */
export const retired = [
  { find: word('judg', 'e|es|ed|ing|ement|ements'), write: 'validate' },
  { find: word('verdict', '|s'), write: 'validation result, or failure' },
  { find: word('graduat', 'e|es|ed|ing|ion|ions'), write: 'trial passed' },
  { find: word('obey', '|s|ed'), write: 'follow, or handle' },
  { find: word('heed', '|s|ed'), write: 'handle' },
  { find: word('death', '|s'), write: 'crash, or exit' },
  { find: /\b(?:kubelet|it) (?:died|dies)\b|\bke(?:ep|eps|pt) dying\b/gi, write: 'crashed, or exits' },
  { find: word('tid', 'y|ied|ies|ying'), write: 'garbage-collect, or format' },
  { find: word('sweep', '|s|er|ing'), write: 'garbage-collect' },
  { find: word('anew'), write: 'again' },
  { find: word('mend', '|s|ed|ing'), write: 'fix, or repair' },
  { find: word('undecided'), write: 'unset' },
  { find: word('whoever'), write: 'name the subject' },
  { find: /\bwayBack\b|\bway back\b|\bway-back\b/g, write: 'previousConfig' },
  { find: /\blookBack\b|\blook-back\b/g, write: 'takeBaseline' },
  { find: /\bonDoubt\b/g, write: 'onWatchInterrupted' },
  {
    find: /\b(?:class|new|type) (?:Doubt|Memory|Mirror|Fault)\b/g,
    write: 'RollbackReview, NodeState, Informer, ConfigError',
  },
  { find: /\bFaultReason\b/g, write: 'ConfigError' },
  { find: /\bInPlaceSpread\b/g, write: 'EditJitter' },
  { find: /\btypedItems\b/g, write: 'isCustom' },
  { find: /\bisOnlyKept\b/g, write: 'noController' },
  { find: /\bunsayable\b/g, write: 'notExpressible' },
  {
    find: /\b(?:Standing|Wish|\w*Surroundings|NodeStory|saysNothing|isInTrouble|letItDrain|foresee\w*)\b/g,
    write: 'RolloutProgress, RequestedChange, what the input is, RecordedNode, hasNoFields; forecast',
    where: ['code', 'tests'],
  },
  {
    find: /\b(?:const|let|function|type) (?:said|Said|tell|deaf|story|wishes|instead|standings?)\b|^ *(?:said|tell|deaf|wishes)\??:/g,
    write: 'printed, shown, written; report; neverReported; scenes; requested; meanwhile; overall state',
    where: ['code', 'tests'],
  },
  { find: /\bAgentParts\b/g, write: 'the parts that are used' },
  { find: /['"`]refused['"`]|\bRefused\b/g, write: 'rejected' },
  {
    find: /\brefuse[sd]? (?:a|the|an|its|this|that|each) (?:\w+ )?(?:config|ConfigMap|candidate|gate)\b/g,
    write: 'rejected',
  },
  { find: /\brefused (?:config|candidate)s?\b|\bnodes? refused\b/g, write: 'rejected' },
  { find: /\b(?:the|a|this|each|every|other|another|own) room\b(?! (?:for|to|left))|\brooms\b/g, write: 'module' },
  { find: /\b(?:the|our|this|of) house\b/gi, write: 'repository' },
  { find: /\barrows between\b|\bthe arrows\b/g, write: 'imports' },
  { find: /\bclusters? of today\b/gi, write: 'Kubernetes 1.26 and later' },
  { find: /\bthe feature of Kubernetes\b|\bthe alpha(?:'s)?\b/g, write: 'Dynamic Kubelet Configuration, DKC alpha' },
  {
    find: /(?<!\b[Tt]here )\b(?:is|are) no (?!longer\b|more\b|less\b|later\b|earlier\b|better\b|worse\b|different\b|bigger\b)\w+/g,
    write: 'is not a',
  },
  { find: /\bsays? nothing\b/g, write: 'is unset, or has no effect' },
  { find: /\b(?:go|goes|went|going) on\b(?! (?:the|a|an|top|to|one|each|its|that)\b)/gi, write: 'continue' },
  { find: /\b(?:goes|go|went) back by itself\b|\b(?:retried|mends) (?:by )?itself\b/g, write: 'automatically' },
  { find: /\btells\b|\btold\b/gi, write: 'show, print, or report' },
  { find: /\bhears\b|\bheard\b/gi, write: 'receive' },
  { find: /\bis meant\b/g, write: 'must be, or is used' },
  { find: /\bfrom 1 on\b/g, write: 'of at least 1' },
  { find: /\b(?:stands|stood)\b(?! (?:for|alone|in for)\b|$)/gi, write: 'is' },
  { find: /\bIn all, on a live node\b|\bRunning pods stay\b/g, write: 'Impact: kubelet restart' },
  { find: /\b(?:fell|falls?) silent\b|\bspeaks? (?:again|to)\b/g, write: 'stop answering, talk to, connect' },
  { find: /\b(?:laid|lays?|lay) (?:it |its [\w ]+ )?over\b/gi, write: 'override' },
  { find: /\blast words?\b|\bown word\b|\bkeeps? (?:its|their) word\b/gi, write: 'last lines; name the thing' },
  { find: /\bends with [0-3]\b/gi, write: 'exits with' },
  {
    find: /\bunder which the kubelet\b|\bunder (?:a|an|the|that|this|its|another|each) (?:\w+ )?config\b/gi,
    write: 'with a config',
  },
  { find: /\bMean another version\b/g, write: 'Use --kubelet-version to check against another version' },
  { find: /\bafresh\b|\bin good order\b|\bat will\b/g, write: 'say it plainly' },
];

/** The same patterns, to find out whether any line of a text matches. */
const inText = retired.map(({ find }) => new RegExp(find, find.flags.replace('g', 'm')));

/** Code whose comments begin with the noun they are about, or with a verb. */
const commented = /^(?:src|test|scripts|bench)\/.*\.[cm]?[jt]sx?$/;
const strings = /'[^']*'|"[^"]*"|`[^`]*`/g;

const vagueWords = 'What|Whose|Who|Of|Where|One that';
const hasVagueWord = new RegExp(`\\b(?:${vagueWords})\\b`);

/** Returns the first word of a comment that begins on this line, if it does not name its subject. */
function vagueStart(line, before = '') {
  if (!hasVagueWord.test(line)) return undefined;
  const isLineComment = /^\s*\/\//;
  if (isLineComment.test(line) && isLineComment.test(before)) return undefined;
  // The text of a block may begin on its second line.
  const opening = /^\s*\/\*\*?\s*$/.test(before) ? '^\\s*\\*' : '(?:^|[\\s{(])(?://|/\\*\\*?)';
  return new RegExp(`${opening}\\s*(${vagueWords})\\b`).exec(line.replace(strings, ''))?.[1];
}

/** Whether a file is checked; `asked` are the beginnings of paths on the command line, none for all. */
export function isChecked(file, asked = []) {
  if (never.some(([pattern]) => pattern.test(file))) return false;
  return asked.length === 0 || starts(file, asked);
}

const starts = (file, beginnings) => beginnings.some((beginning) => file.startsWith(beginning));

/** Returns the findings in one file, as `file:line: "found": write "instead"`. */
export function check(file, text) {
  const kind = /\.test\.ts$|^test\//.test(file) ? 'tests' : /\.(?:[cm]?[jt]sx?|sh)$/.test(file) ? 'code' : 'docs';
  const lines = text.split('\n');
  // Few of the words are in a file: only those are searched for in each line.
  const present = retired.filter(({ where = everywhere }, index) => where.includes(kind) && inText[index].test(text));
  const kept = exceptions.filter((exception) => exception.in?.test(file) ?? true);
  // Entries of released versions are history; the others may name in code what was renamed.
  const isChangelog = file === 'CHANGELOG.md';
  const end = isChangelog ? lines.findIndex((line) => /^## \d/.test(line)) : -1;
  return lines.slice(0, end < 0 ? lines.length : end).flatMap((line, index) => {
    const rest = kept.reduce((left, { text }) => left.replaceAll(text, ''), line.replace(quotedTests, ''));
    const checked = isChangelog ? rest.replace(/`[^`]*`|"[^"]*"/g, '') : rest;
    const vague = commented.test(file) ? vagueStart(line, lines[index - 1]) : undefined;
    return present
      .flatMap(({ find, write }) => [...checked.matchAll(find)].map(([found]) => ({ found, write })))
      .concat(vague === undefined ? [] : { found: vague, write: 'the noun that the comment is about, or a verb' })
      .map(({ found, write }) => `${file}:${index + 1}: "${found}": write "${write}"`);
  });
}

function main() {
  const root = join(import.meta.dirname, '..');
  const files = execFileSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8' }).split('\0');
  const isText = (file) => /\.(?:md|[cm]?[jt]sx?|sh|ya?ml|conf|service)$/.test(file);
  const asked = process.argv.slice(2);
  const found = files
    .filter((file) => isText(file) && isChecked(file, asked))
    .flatMap((file) => {
      try {
        return check(file, readFileSync(join(root, file), 'utf8'));
      } catch (error) {
        // Deleted, and not staged yet.
        if (error.code === 'ENOENT') return [];
        throw error;
      }
    });
  for (const line of found) console.error(line);
  process.exitCode = found.length > 0 ? 1 : 0;
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) main();
