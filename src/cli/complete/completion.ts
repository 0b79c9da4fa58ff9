/** `relet completion bash|zsh|fish`: prints completion scripts that call `relet __complete`, as kubectl does for its plugins. */
import { runVerb, verb, withExamples } from '../command-line.js';
import { writeOut } from '../terminal/terminal.js';

const shells = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof shells)[number];

export function run(args: string[]): Promise<void> {
  const command = verb(
    'relet completion',
    'Print a script that completes verbs, options, nodes, ConfigMaps and fields.',
  )
    .argument('<SHELL>', shells.join(', '))
    .action((shell: string) => {
      if (!(shells as readonly string[]).includes(shell))
        command.error(`there is no script for '${shell}'; choose one of ${shells.join(', ')}`);
      writeOut(scripts[shell as Shell]);
    });
  withExamples(command, [
    ['source <(relet completion bash)', 'in ~/.bashrc'],
    ['source <(relet completion zsh)', 'in ~/.zshrc, after compinit'],
    ['relet completion fish > ~/.config/fish/completions/relet.fish', 'once'],
  ]);
  command.addHelpText('after', "\nFor 'kubectl relet', kubectl_complete-relet must be on the PATH, as npm puts it.");
  return runVerb(command, args);
}

// The answer: a line for each word, `word<TAB>description`, then `:N` as cobra has it: 1 failed, 2 no space after it, 4 no files.
const scripts: Record<Shell, string> = {
  bash: `# relet completion for bash
_relet() {
  local line="\${COMP_LINE:0:COMP_POINT}" words cur answer directive word
  read -ra words <<<"$line"
  [[ "$line" == *[[:space:]] ]] && words+=("")
  cur="\${words[\${#words[@]} - 1]}"
  COMPREPLY=()
  answer="$("\${words[0]}" __complete "\${words[@]:1}" 2>/dev/null)" || return
  directive="\${answer##*:}"
  answer="\${answer%:*}"
  # Readline has cut the word at its last '=' or ':', and wants only what follows.
  local cut="\${cur%"\${cur##*[=:]}"}"
  while IFS=$'\\t' read -r word _; do
    [[ -n "$word" && "$word" == "$cur"* ]] && COMPREPLY+=("\${word#"$cut"}")
  done <<<"$answer"
  (( directive & 2 )) && compopt -o nospace 2>/dev/null
  (( directive & 4 )) || (( \${#COMPREPLY[@]} )) || compopt -o default 2>/dev/null
}
complete -F _relet relet
`,
  zsh: `#compdef relet
# relet completion for zsh
_relet() {
  local answer directive line word what
  local -a found
  answer="$("\${words[1]}" __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)" || return
  directive="\${answer##*:}"
  for line in "\${(@f)\${answer%:*}}"; do
    [[ -n "$line" ]] || continue
    word="\${line%%$'\\t'*}"
    what=""
    [[ "$line" == *$'\\t'* ]] && what="\${line#*$'\\t'}"
    found+=("\${word//:/\\\\:}\${what:+:$what}")
  done
  if (( \${#found} == 0 )); then
    (( directive & 4 )) || _files
    return
  fi
  if (( directive & 2 )); then _describe relet found -S ''; else _describe relet found; fi
}
if (( \${+functions[compdef]} )); then compdef _relet relet; fi
`,
  fish: `# relet completion for fish
function __relet_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l answer ($words[1] __complete $words[2..-1] 2>/dev/null)
    or return
    for line in $answer[1..-2]
        echo $line
    end
    if test (count $answer) -eq 1; and not contains -- $answer[1] :4 :6
        __fish_complete_path (commandline -ct)
    end
end
complete -c relet -f -a '(__relet_complete)'
`,
};
