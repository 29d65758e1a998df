/**
 * Three checks of `tidy.ts`: a comment does not begin with a word that makes it a fragment and says nothing twice, and
 * retired names are not used again.
 */
import type { Finding } from "./tidy-finding.ts";

/** Words that began comments without a main verb, or whose subject was the name below. */
const refusedFirst: ReadonlySet<string> = new Set(
  "About As Between By How Of Over So That Their Those What Where Which Who Whose Why".split(" "),
);

const oneLine = /^\s*(?:\/\*\*?|\/\/)\s+(\w+) /;
const secondLine = /^\s*\*\s+(\w+) /;
const lineComment = /^\s*\/\//;

/**
 * Returns the first word of a comment that begins on `line`; `undefined` for other lines. `before` is the line before.
 */
function firstWord(line: string, before: string): string | undefined {
  if (/^\s*\/\*\*?\s*$/.test(before)) return secondLine.exec(line)?.[1];
  return lineComment.test(line) && lineComment.test(before) ? undefined : oneLine.exec(line)?.[1];
}

/**
 * Returns comments that begin as a part of the name below would: "Of the store", "How often it is tried", "By name".
 */
export function firstWords(file: string, text: string): Finding[] {
  const findings: Finding[] = [];
  const lines = text.split("\n");
  for (const [at, line] of lines.entries()) {
    const word = firstWord(line, lines[at - 1] ?? "");
    if (word === undefined || !refusedFirst.has(word)) continue;
    findings.push({
      file,
      line: at + 1,
      message: `a comment that begins with "${word}": write a sentence with a subject and a verb`,
    });
  }
  return findings;
}

const wholeComment = /\/\*\*[^]*?\*\//g;
/** The length from which an equal sentence is no coincidence. */
const sentenceLengthMin = 30;

/** Returns comments that say a sentence twice. */
export function repeatedSentences(file: string, text: string): Finding[] {
  return Array.from(text.matchAll(wholeComment)).flatMap(({ 0: comment, index }) => {
    const sentences = comment
      .replaceAll(/\n *\* {3}.*/g, "") // tables and code
      .replaceAll(/\n *\* ?/g, " ")
      .split(/(?<=[.:]) +/)
      .filter((sentence) => sentence.length >= sentenceLengthMin);
    const repeated = sentences.find((sentence, at) => sentences.indexOf(sentence) < at);
    if (repeated === undefined) return [];
    return [{ file, line: text.slice(0, index).split("\n").length, message: `a comment says twice: ${repeated}` }];
  });
}

/** Retired names of our own, and the standard names that replaced them. */
const retiredNames: ReadonlyMap<string, string> = new Map([
  ["Allowance", "ExpressionBudget"],
  ["Asking", "RpcClient"],
  ["EmbeddedLog", "CommitSequencer"],
  ["Entrance", "StartupGate"],
  ["EntryView", "DecodedEntry"],
  ["Extent", "SizeBounds"],
  ["HandedRequest", "workerRequest"],
  ["KeptVersion", "LogVersion"],
  ["KeyHistory", "VersionChain"],
  ["LargeExchange", "WorkerHost"],
  ["MemoryCache", "LogWatchCache"],
  ["Pace", "Yielder"],
  ["PastEvent", "HistoryEvent"],
  ["PastVersion", "KeyVersion"],
  ["Patience", "ResponseDeadline"],
  ["Recent", "BoundedFifo"],
  ["Place", "Location, or the type of key or position it is"],
  ["RemoteCache", "WorkerCache"],
  ["RemoteConversion", "WebhookConversion"],
  ["Room", "ByteBudget"],
  ["Sighting", "ObservedObject"],
  ["TooLargeHere", "MustRunInWorker"],
  ["inTurns", "runCooperatively"],
  ["place", "location, or the key or position it is"],
  ["places", "locations, or the keys or positions they are"],
  ["seldom", "rateLimited"],
  ["settleLists", "nullEmptyLists"],
]);

const declaredName = /(?:class|interface|type|function\*?|const|let) (\w+)/g;

/** Returns declarations with a retired name. `code` has neither comments nor texts. */
export function findRetiredWords(file: string, code: string): Finding[] {
  return [...code.matchAll(declaredName)].flatMap(({ 1: name = "", index }) => {
    const standard = retiredNames.get(name);
    if (standard === undefined) return [];
    return [{ file, line: code.slice(0, index).split("\n").length, message: `${name} is retired: say ${standard}` }];
  });
}
