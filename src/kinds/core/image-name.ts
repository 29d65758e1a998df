/** The names of container images: Docker's grammar of references, as far as the default pull policy depends on it. */

const part = "[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*";
const digest = "sha256:[0-9a-f]{64}|sha384:[0-9a-f]{96}|sha512:[0-9a-f]{128}";
const reference = new RegExp(
  `^(?<path>${part}(?:/${part})*)(?::(?<tag>\\w[\\w.-]{0,127}))?(?:@(?<digest>${digest}))?$`,
);
const identifier = /^[a-f0-9]{64}$/;
const pathMax = 255;
/** The maximum length of a path with the longest tag and the longest digest. */
const referenceMax = pathMax + 129 + 136;

/**
 * Returns the default pull policy of an image: `Always` if its content may change under the same name, which is so for
 * the tag `latest`, and for names with neither tag nor digest.
 */
export function pullPolicy(image: string): "Always" | "IfNotPresent" {
  if (identifier.test(image)) return "IfNotPresent";
  const local = withoutDomain(image);
  if (local.length > referenceMax) return "IfNotPresent";
  const { path, tag, digest } = reference.exec(local)?.groups ?? {};
  if (path === undefined || path.length > pathMax) return "IfNotPresent";
  return tag === "latest" || (tag === undefined && digest === undefined) ? "Always" : "IfNotPresent";
}

/** Returns the reference without the domain of its registry. The domain may have any length. */
function withoutDomain(image: string): string {
  const slash = image.indexOf("/");
  const first = image.slice(0, Math.max(slash, 0));
  const isNamed = slash >= 0 && (/[.:]/.test(first) || first === "localhost" || first !== first.toLowerCase());
  const rest = isNamed ? image.slice(slash + 1) : image;
  if (isNamed && !defaultDomains.includes(first)) return isDomain(first) ? rest : image;
  return rest.includes("/") ? rest : `library/${rest}`;
}

const defaultDomains = ["docker.io", "index.docker.io"];

/** Whether a text is a host with or without a port. Long texts are read once only. */
function isDomain(text: string): boolean {
  const { host, address } =
    /^(?:(?<host>[^:[\]]+)|(?<address>\[[a-fA-F0-9:]+\]))(?::[0-9]+)?$/.exec(text)?.groups ?? {};
  return address !== undefined || (host?.split(".").every(isLabel) ?? false);
}

const isLabel = (text: string): boolean =>
  text !== "" && !text.startsWith("-") && !text.endsWith("-") && !/[^a-zA-Z0-9-]/.test(text);
