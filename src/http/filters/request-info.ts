/** Parses path and method for later filters, and answers requests that the listener found invalid. */
import { parseRequestInfo } from "../request-info.ts";
import type { Filter } from "./filter.ts";

export const requestInfo: Filter = (request, next) => {
  if (request.refusal !== undefined) throw request.refusal;
  request.info = parseRequestInfo(request);
  return next(request);
};
