/** Says what the path and the method mean, for everything after it; ends what the listener found wrong. */
import { parseRequestInfo } from "../request-info.ts";
import type { Filter } from "./filter.ts";

export const requestInfo: Filter = (request, next) => {
  if (request.refusal !== undefined) throw request.refusal;
  request.info = parseRequestInfo(request);
  return next(request);
};
