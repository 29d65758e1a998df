/** The things that servers of earlier versions do not tell, so that explanations say what cannot be known there. */
import { ApiError } from "#client/api-error.ts";
import type { OpenCluster } from "../open-cluster.ts";

type Explainer = "why" | "who can" | "blame" | "tree" | "changes" | "doctor";

interface Untold {
  /** The first minor version that tells it. */
  readonly since: number;
  readonly text: string;
}

/** The minor version from which on servers tell everything that explanations use, or say by themselves what they lack. */
const knownSince = 25;

const untold: Readonly<Record<Explainer, readonly Untold[]>> = {
  why: [],
  "who can": [],
  blame: [{ since: 22, text: "whether a manager writes through a subresource, such as status" }],
  changes: [{ since: 18, text: "who changed an object, unless by server-side apply" }],
  tree: [{ since: 18, text: "who set a finalizer" }],
  doctor: [
    { since: 16, text: "requests that were refused because a webhook could not be called" },
    { since: 24, text: "requests that went on without a webhook" },
  ],
};

/** Returns a sentence about what an explanation lacks on a server of an early version; none for later ones. */
export async function untoldBy(cluster: OpenCluster, explainer: Explainer): Promise<readonly string[]> {
  const minor = await minorOf(cluster);
  if (minor === undefined || minor >= knownSince) return [];
  const texts = untold[explainer].filter(({ since }) => minor < since).map(({ text }) => text);
  const lack = texts.length === 0 ? "it may lack what later ones tell" : `it does not tell ${texts.join(", nor ")}`;
  return [`the server is Kubernetes 1.${minor}, and explanations are made for 1.${knownSince} and later: ${lack}`];
}

/** Returns the minor version of the server; `undefined` where it is hidden. */
async function minorOf({ rest }: OpenCluster): Promise<number | undefined> {
  try {
    const { major, minor } = await rest.call<{ readonly major?: string; readonly minor?: string }>({
      method: "GET",
      path: "/version",
    });
    // Some clouds write `22+`.
    const number = Number.parseInt(minor ?? "", 10);
    return major === "1" && number >= 0 ? number : undefined;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return undefined;
  }
}
