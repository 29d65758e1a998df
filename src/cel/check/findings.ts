/** Collects errors of the checker. Texts are made only for the first ones, which are shown. */
import type { Issue } from "../ast.ts";

/** Findings beyond are only counted. */
const wordedMax = 100;

export class CheckFindings {
  readonly issues: Issue[] = [];

  /** Calls `message` only if it will be shown: the types in it can be long. */
  add(node: { readonly offset: number }, message: () => string): void {
    const isWorded = this.issues.length < wordedMax;
    this.issues.push({ offset: node.offset, message: isWorded ? message() : "" });
  }
}
