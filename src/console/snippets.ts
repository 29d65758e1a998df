/** A request as people write it elsewhere: for curl, kubectl, and the client library. Tokens are named, never shown. */
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
  const sent = hasBody ? ` \\\n  -H ${shell(`Content-Type: ${contentType}`)} --data-binary ${shell(body)}` : "";
  const curl = `curl -X ${method} -H "Authorization: Bearer $TOKEN" --cacert ca.crt ${shell(cluster + path)}${sent}`;
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

/** Quotes a text for a shell. */
const shell = (text: string): string => (/^[\w./:=,@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);

/** Returns the command that does the same, or the one that sends the path as it is. */
function kubectl({ method, path, body }: ExploredRequest, kinds: readonly ServedKind[]): string {
  const [route = "", query = ""] = path.split(/\?(.*)/s, 2);
  const [, group = "", namespace, resource, name] =
    /^\/(?:api\/v1|apis\/([^/]+)\/[^/]+)(?:\/namespaces\/([^/]+))?\/([^/]+)(?:\/([^/]+))?$/.exec(route) ?? [];
  const kind = kinds.find((one) => one.group === group && one.resource === resource);
  const input = body === "" ? "" : ` <<'EOF'\n${body}\nEOF`;
  if (kind === undefined || resource === undefined)
    return method === "GET" ? `kubectl get --raw ${shell(path)}` : "kubectl has no command for this path";
  const what = shell(group === "" ? resource : `${resource}.${group}`);
  const where =
    namespace === undefined ? (kind.namespaced ? " -A" : "") : ` -n ${shell(decodeURIComponent(namespace))}`;
  const named = name === undefined ? "" : ` ${shell(decodeURIComponent(name))}`;
  const labels = new URLSearchParams(query).get("labelSelector");
  const selected = labels === null ? "" : ` -l ${shell(labels)}`;
  switch (method) {
    case "GET":
      return `kubectl get ${what}${named}${where}${selected}`;
    case "DELETE":
      return `kubectl delete ${what}${name === undefined ? " --all" : named}${where}${selected}`;
    case "PATCH":
      return `kubectl patch ${what}${named}${where} --type=merge -p ${shell(body)}`;
    case "POST":
      return `kubectl create${where} -f -${input}`;
    case "PUT":
      return `kubectl replace${where} -f -${input}`;
  }
}
