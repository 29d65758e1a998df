/** Names of container images: Docker's grammar of references, as far as it decides when an image is pulled. */

const host = "[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?";
const domain = `(?:${host}(?:\\.${host})*|\\[[a-fA-F0-9:]+\\])(?::[0-9]+)?`;
const part = "[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*";
const digest = "sha256:[0-9a-f]{64}|sha384:[0-9a-f]{96}|sha512:[0-9a-f]{128}";
const reference = new RegExp(
  `^(?<name>(?:${domain}/)?${part}(?:/${part})*)(?::(?<tag>\\w[\\w.-]{0,127}))?(?:@(?<digest>${digest}))?$`,
);
const identifier = /^[a-f0-9]{64}$/;
const nameMax = 255;
/** A name, the longest tag and the longest digest. */
const referenceMax = nameMax + 129 + 136;

/** `Always` for images that may change under their name: tag `latest`, or neither tag nor digest. */
export function pullPolicy(image: string): "Always" | "IfNotPresent" {
  if (image.length > referenceMax || identifier.test(image)) return "IfNotPresent";
  const { name, tag, digest } = reference.exec(withDomain(image))?.groups ?? {};
  if (name === undefined || name.length > nameMax) return "IfNotPresent";
  return tag === "latest" || (tag === undefined && digest === undefined) ? "Always" : "IfNotPresent";
}

/** The reference with the domain of the registry that is meant where it names none. */
function withDomain(image: string): string {
  const slash = image.indexOf("/");
  const first = image.slice(0, Math.max(slash, 0));
  const isDomain = slash >= 0 && (/[.:]/.test(first) || first === "localhost" || first !== first.toLowerCase());
  if (isDomain) return image;
  return slash < 0 ? `docker.io/library/${image}` : `docker.io/${image}`;
}
