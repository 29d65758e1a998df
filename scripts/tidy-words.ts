/** A check of `tidy.ts`: comments are sentences, and do not begin with a word that makes them half of one. */
import type { Finding } from "./tidy.ts";

const halfSentence = /^\s*(?:\/\*\*?|\/\/)\s+(Of|What|Those) /;

/** Comments that begin as a part of the name below would: "Of the store", "What is left", "Those of others". */
export function firstWords(file: string, text: string): Finding[] {
  const findings: Finding[] = [];
  for (const [at, line] of text.split("\n").entries()) {
    const [, word] = halfSentence.exec(line) ?? [];
    if (word === undefined) continue;
    findings.push({
      file,
      line: at + 1,
      message: `a comment that begins with "${word}": write a sentence with a subject and a verb`,
    });
  }
  return findings;
}
