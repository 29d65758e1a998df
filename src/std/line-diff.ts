/** Differences of two texts by lines, in the unified form. */

type Edit = readonly [mark: " " | "-" | "+", line: string];

/** The maximum number of pairs of lines that are compared; with more, a changed region is replaced as a whole. */
const pairsMax = 4_000_000;
const contextLines = 3;

/** Returns hunks without the lines of file names; empty if the texts are equal. */
export function lineDiff(before: string, after: string): string {
  if (before === after) return "";
  const edits = editsOf(linesOf(before), linesOf(after));
  const isNear = edits.map((_, i) =>
    edits.slice(Math.max(0, i - contextLines), i + contextLines + 1).some(([mark]) => mark !== " "),
  );
  let text = "";
  let [oldLine, newLine] = [1, 1];
  for (let i = 0; i < edits.length; ) {
    if (isNear[i] !== true) {
      oldLine++;
      newLine++;
      i++;
      continue;
    }
    let end = i;
    while (end < edits.length && isNear[end] === true) end++;
    const hunk = edits.slice(i, end);
    const oldCount = hunk.filter(([mark]) => mark !== "+").length;
    const newCount = hunk.filter(([mark]) => mark !== "-").length;
    text += `@@ -${rangeText(oldLine, oldCount)} +${rangeText(newLine, newCount)} @@\n`;
    text += hunk.map(([mark, line]) => `${mark}${line}\n`).join("");
    oldLine += oldCount;
    newLine += newCount;
    i = end;
  }
  return text;
}

const rangeText = (first: number, count: number): string => `${count === 0 ? first - 1 : first},${count}`;

const linesOf = (text: string): string[] => (text === "" ? [] : text.replace(/\n$/, "").split("\n"));

function editsOf(before: readonly string[], after: readonly string[]): Edit[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start++;
  let [oldEnd, newEnd] = [before.length, after.length];
  while (oldEnd > start && newEnd > start && before[oldEnd - 1] === after[newEnd - 1]) {
    oldEnd--;
    newEnd--;
  }
  const same = (line: string): Edit => [" ", line];
  return [
    ...before.slice(0, start).map(same),
    ...changedRegion(before.slice(start, oldEnd), after.slice(start, newEnd)),
    ...before.slice(oldEnd).map(same),
  ];
}

/** Returns the edits with the longest common sequence of lines kept. */
function changedRegion(before: readonly string[], after: readonly string[]): Edit[] {
  const removed = before.map((line): Edit => ["-", line]);
  const added = after.map((line): Edit => ["+", line]);
  if (before.length * after.length > pairsMax || before.length === 0 || after.length === 0) {
    return [...removed, ...added];
  }
  const width = after.length + 1;
  /** The length of the longest common sequence of the rests that begin at two lines. */
  const lengths = new Uint32Array((before.length + 1) * width);
  for (let i = before.length - 1; i >= 0; i--) {
    for (let j = after.length - 1; j >= 0; j--) {
      lengths[i * width + j] =
        before[i] === after[j]
          ? lengths[(i + 1) * width + j + 1]! + 1
          : Math.max(lengths[(i + 1) * width + j]!, lengths[i * width + j + 1]!);
    }
  }
  const edits: Edit[] = [];
  let [i, j] = [0, 0];
  while (i < before.length && j < after.length) {
    if (before[i] === after[j]) {
      edits.push([" ", before[i]!]);
      i++;
      j++;
    } else if (lengths[(i + 1) * width + j]! >= lengths[i * width + j + 1]!) edits.push(removed[i++]!);
    else edits.push(added[j++]!);
  }
  return [...edits, ...removed.slice(i), ...added.slice(j)];
}
