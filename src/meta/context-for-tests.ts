/** The context of a request, for tests below `http/`. */
import type { RequestContext } from "./request-context.ts";

/** An administrator asks and has all the time there is, with the changes of `over`. Nobody gets warnings or annotations. */
export const testContext = (over: Partial<RequestContext> = {}): RequestContext => ({
  user: { name: "admin", groups: ["system:masters"] },
  userAgent: "test",
  signal: undefined,
  deadlineMs: Number.MAX_SAFE_INTEGER,
  warn() {},
  annotate() {},
  ...over,
});
