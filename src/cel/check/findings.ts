/** Collects errors of the checker. Only the first errors get a text, since no others are shown. */
import type { Issue } from "../ast.ts";

/** The number of findings that get a text. Further findings are only counted. */
const wordedMax = 100;

export class CheckFindings {
  readonly issues: Issue[] = [];

  /** Adds a finding. Calls `message` only if it will be shown, since the types in it can be long. */
  add(node: { readonly offset: number }, message: () => string): void {
    const isWorded = this.issues.length < wordedMax;
    this.issues.push({ offset: node.offset, message: isWorded ? message() : "" });
  }
}
