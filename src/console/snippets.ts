/** A request as people write it elsewhere: for curl, kubectl, and the client library. Tokens are named, never shown. */
import { namespaceWords, objectWords, shellWord } from "#meta/printed-command.ts";
import type { ServedKind } from "./kinds.ts";

export interface ExploredRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  readonly contentType: string;
  readonly body: string;
}

interface Snippet {
  readonly title: string;
  readonly text: string;
}

/** Returns the path as it is sent. Throws for a text that would lead to another server. */
export function asRequest(path: string): { readonly path: string } {
  if (!path.startsWith("/") || path.startsWith("//")) throw new Error("a path begins with one slash");
  return { path };
}

/** Returns the request in each form. */
export function snippets(
  { method, path, contentType, body }: ExploredRequest,
  kinds: readonly ServedKind[],
  cluster: string,
): readonly Snippet[] {
  const hasBody = method !== "GET" && body !== "";
  const sent = hasBody ? ` \\\n  -H ${shellWord(`Content-Type: ${contentType}`)} --data-binary ${shellWord(body)}` : "";
  const curl = `curl -X ${method} -H "Authorization: Bearer $TOKEN" --cacert ca.crt ${shellWord(cluster + path)}${sent}`;
  const input = hasBody
    ? `, body: Buffer.from(${JSON.stringify(body)}), contentType: ${JSON.stringify(contentType)}`
    : "";
  const typescript = `import { connect } from "binnacle/client";

await using cluster = await connect();
const answer = await cluster.call({ method: ${JSON.stringify(method)}, path: ${JSON.stringify(path)}${input} });`;
  return [
    { title: "curl", text: curl },
    { title: "kubectl", text: kubectl({ method, path, contentType, body }, kinds) },
    { title: "TypeScript", text: typescript },
  ];
}

/** Returns the command that does the same, or the one that sends the path as it is. */
function kubectl({ method, path, body }: ExploredRequest, kinds: readonly ServedKind[]): string {
  const [route = "", query = ""] = path.split(/\?(.*)/s, 2);
  const [, group = "", namespace, resource, name] =
    /^\/(?:api\/v1|apis\/([^/]+)\/[^/]+)(?:\/namespaces\/([^/]+))?\/([^/]+)(?:\/([^/]+))?$/.exec(route) ?? [];
  const kind = kinds.find((one) => one.group === group && one.resource === resource);
  const input = body === "" ? "" : hereDocument(body);
  if (kind === undefined || resource === undefined)
    return method === "GET" ? `kubectl get --raw ${shellWord(path)}` : "kubectl has no command for this path";
  const what = group === "" ? resource : `${resource}.${group}`;
  const where =
    namespace === undefined ? (kind.namespaced ? " -A" : "") : namespaceWords(decodeURIComponent(namespace));
  const named = name === undefined ? shellWord(what) : objectWords(what, decodeURIComponent(name));
  const labels = new URLSearchParams(query).get("labelSelector");
  const selected = labels === null ? "" : ` -l ${shellWord(labels)}`;
  switch (method) {
    case "GET":
      return `kubectl get ${named}${where}${selected}`;
    case "DELETE":
      return `kubectl delete ${named}${name === undefined ? " --all" : ""}${where}${selected}`;
    case "PATCH":
      return `kubectl patch ${named}${where} --type=merge -p ${shellWord(body)}`;
    case "POST":
      return `kubectl create${where} -f -${input}`;
    case "PUT":
      return `kubectl replace${where} -f -${input}`;
  }
}

/** Returns a text as the input of a command. No line of the text may end it, since the lines after that one would be run. */
function hereDocument(text: string): string {
  const lines = new Set(text.split("\n"));
  let mark = "EOF";
  while (lines.has(mark)) mark += "_";
  return ` <<'${mark}'\n${text}\n${mark}`;
}
