/** The scripts by which shells ask the program for the words that can follow: `binnacle complete-line SHELL -- WORD…`. */

/** The shells that have a script. */
export const shells = ["bash", "zsh", "fish"] as const;

export type Shell = (typeof shells)[number];

/** The answer that has the shell offer files. */
export const filesMark = ":files";

/** The scripts. Each line of an answer is a candidate, and after a tab its help. */
export const scripts: Readonly<Record<Shell, string>> = {
  bash: `# Completion of binnacle for bash. For every shell: binnacle completion bash > /etc/bash_completion.d/binnacle
_binnacle() {
  local IFS=$'\\n' line
  COMPREPLY=()
  for line in $(binnacle complete-line bash -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null); do
    if [[ $line == ${filesMark} ]]; then
      compopt -o default
      return
    fi
    [[ $line == *= ]] && compopt -o nospace
    COMPREPLY+=("\${line%%$'\\t'*}")
  done
}
complete -F _binnacle binnacle
`,
  zsh: `#compdef binnacle
# Completion of binnacle for zsh. For every shell: binnacle completion zsh > "\${fpath[1]}/_binnacle"
_binnacle() {
  local line
  local -a lines texts helps
  lines=("\${(@f)$(binnacle complete-line zsh -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ $lines[1] == ${filesMark} ]]; then
    _files
    return
  fi
  for line in $lines; do
    texts+=("\${line%%$'\\t'*}")
    helps+=("\${line/$'\\t'/  }")
  done
  compadd -l -d helps -a texts
}
if [[ $funcstack[1] == _binnacle ]]; then
  _binnacle
else
  compdef _binnacle binnacle
fi
`,
  fish: `# Completion of binnacle for fish. For every shell: binnacle completion fish > ~/.config/fish/completions/binnacle.fish
function __binnacle_complete
  set -l words (commandline -opc)[2..-1]
  set -l lines (binnacle complete-line fish -- $words (commandline -ct) 2>/dev/null)
  if test "$lines[1]" = ${filesMark}
    __fish_complete_path (commandline -ct)
  else
    printf '%s\\n' $lines
  end
end
complete -c binnacle -f -a '(__binnacle_complete)'
`,
};

/**
 * Returns the words of a line as the program gets them. Bash divides words at `=` and `:`, and the candidates are for
 * the part behind the last of them.
 */
export function wordsOf(shell: Shell, words: readonly string[]): readonly string[] {
  if (shell !== "bash") return words;
  const joined: string[] = [];
  let isOpen = false;
  for (const word of words) {
    const isMark = /^[=:]+$/.test(word);
    if ((isMark || isOpen) && joined.length > 0) joined.push(joined.pop()! + word);
    else joined.push(word);
    isOpen = isMark;
  }
  return joined;
}

/** Returns the text that the shell replaces its last word by. */
export function replacementOf(shell: Shell, last: string, text: string): string {
  const flag = last.startsWith("-") && last.includes("=") ? last.slice(0, last.indexOf("=") + 1) : "";
  if (shell !== "bash") return flag + text;
  // The part before the last division stays on the line.
  return text.slice(flag === "" ? last.lastIndexOf(":") + 1 : 0);
}
