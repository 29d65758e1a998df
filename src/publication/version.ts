/** Answers `GET /version` with the version of the API and of this program. Source: upstream's `version.Info`. */
import type { HandledRequest, Reply } from "#http/api-request.ts";
import { checkProducible } from "#http/negotiation.ts";

/** The release of Kubernetes whose API is served. */
export const release = "1.32.4";

/** Its minor version. */
export const minorVersion = Number(release.split(".")[1]);

/** Returns the document. `version` is that of this program. */
export function versionDocument(version: string): Record<string, string> {
  const [major, minor] = release.split(".");
  return {
    major: major!,
    minor: minor!,
    gitVersion: `v${release}+binnacle.${version}`,
    gitCommit: "",
    gitTreeState: "clean",
    buildDate: "1970-01-01T00:00:00Z",
    goVersion: "",
    compiler: `node ${process.version}`,
    platform: `${process.platform}/${process.arch === "x64" ? "amd64" : process.arch}`,
  };
}

/**
 * Returns the answer for `/version`, also with the trailing slash that some clients send; `undefined` for other paths.
 * Throws when the client accepts no JSON.
 */
export function versionReply(document: Record<string, string>, request: HandledRequest): Reply | undefined {
  if (request.path !== "/version" && request.path !== "/version/") return undefined;
  const contentType = "application/json";
  checkProducible(request, [contentType]);
  return { code: 200, bytes: Buffer.from(JSON.stringify(document, undefined, 2)), contentType };
}
