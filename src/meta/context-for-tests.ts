/** The context of a request, for tests below `http/`. */
import type { RequestContext } from "./request-context.ts";

/**
 * Returns the context of an administrator without a deadline, with the changes of `over`. Warnings and annotations are
 * dropped.
 */
export const testContext = (over: Partial<RequestContext> = {}): RequestContext => ({
  user: { name: "admin", groups: ["system:masters"] },
  userAgent: "test",
  signal: undefined,
  deadlineMs: Number.MAX_SAFE_INTEGER,
  warn() {},
  annotate() {},
  ...over,
});
