/**
 * Leads requests for the console to its code, which is loaded with the first of them, and protects those who sign in by
 * the certificate of their browser.
 */
import type { ApiRequest, Reply } from "#http/api-request.ts";
import { plainText } from "#http/plain-text.ts";
import { lazy } from "#std/lazy.ts";
import { andThen, type MaybePromise } from "#std/maybe-promise.ts";
import type { ConsoleParts } from "./console/answers.ts";
import { browserHead, isForeign } from "./foreign-request.ts";

type Handle = (request: ApiRequest) => MaybePromise<Reply>;

/** Returns the handler that answers requests for the console, and gives all others to `next`. */
export function withConsole(next: Handle, parts: ConsoleParts): Handle {
  const loaded = lazy(async () => (await import("./console/answers.ts")).consoleAnswers(parts));
  return (request) => {
    const { path, clientCertificate } = request;
    if (clientCertificate !== undefined && !parts.allowsOrigins && isForeign(browserHead(request))) return foreign;
    const isConsole = path.startsWith("/console") && (path === "/console" || path[8] === "/");
    if (isConsole || (path === "/" && isBrowser(request))) return andThen(loaded(), (answer) => answer(request));
    return next(request);
  };
}

/**
 * The console invites people to give their browser a certificate, which it then shows with every request, also with those
 * that pages of other sites make. Programs do not say on whose behalf they ask.
 */
const foreign = plainText(403, "pages of other sites may not use the certificate of this browser\n");

/** Whether somebody has typed the address of the server in a browser, without credentials: the API would only refuse. */
const isBrowser = ({ method, headers, clientCertificate }: ApiRequest): boolean =>
  method === "GET" &&
  headers["accept"]?.startsWith("text/html") === true &&
  headers["authorization"] === undefined &&
  clientCertificate === undefined;
