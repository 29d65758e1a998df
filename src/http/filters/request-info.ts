/** Says what the path and the method mean, for everything after it. */
import { parseRequestInfo } from "../request-info.ts";
import type { Filter } from "./filter.ts";

export const requestInfo: Filter = (request, next) => {
  request.info = parseRequestInfo(request);
  return next(request);
};
