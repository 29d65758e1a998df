/** The owners of an object, what it owns, and what keeps it from going when it is being deleted. */
import type { ObjectMeta, OwnerReference } from "#meta/object-meta.ts";
import { failureText } from "./api.ts";
import type { App } from "./app-state.ts";
import { collectionPath, type ServedKind, objectPath } from "./kinds.ts";
import { useLoaded } from "./load.ts";
import type { ObjectProps } from "./object-props.ts";
import { asPart, hrefOf } from "./routes.ts";
import { plainText, Text } from "./text.tsx";

interface Found {
  readonly kind: ServedKind;
  readonly metadata: ObjectMeta;
}

interface Family {
  readonly owners: readonly { readonly reference: OwnerReference; readonly found: Found | undefined }[];
  readonly owned: ReadonlyMap<string, readonly Found[]>;
  /** Kinds that could not be read. */
  readonly unread: readonly string[];
}

interface MetadataList {
  readonly metadata?: { readonly continue?: string };
  readonly items?: readonly { readonly metadata: ObjectMeta }[];
}

const asMetadata = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
const readersMax = 4;
const pagesMax = 20;
const depthMax = 20;
const shownMax = 100;

/** Kinds that own nothing and are owned by nothing. */
const looseKinds: ReadonlySet<string> = new Set(["events", "componentstatuses"]);

export function TreeTab({ app, namespace, object }: ObjectProps) {
  const metadata = object?.metadata;
  const [loaded] = useLoaded((abort) => readFamily(app, namespace, metadata ?? {}, abort), [metadata?.uid]);
  const { value, error } = loaded.value;
  if (error !== undefined) {
    return (
      <p role="alert" class="problem">
        <Text of={failureText(error)} />
      </p>
    );
  }
  if (value === undefined || metadata === undefined) return <p class="dim">Reading the metadata of all objects …</p>;
  const { owners, owned, unread } = value;
  return (
    <>
      <Deletion metadata={metadata} />
      <h2>Owned by</h2>
      {owners.length === 0 && <p class="dim">Nobody owns it.</p>}
      <ul>
        {owners.map(({ reference, found }) => (
          <li key={reference.uid}>
            {found === undefined ? (
              `${plainText(`${reference.kind} ${reference.name}`)}: `
            ) : (
              <ObjectLink found={found} />
            )}
            {found === undefined && <span class="problem">does not exist, or cannot be seen</span>}
            {reference.controller === true && <span class="dim"> its controller</span>}
          </li>
        ))}
      </ul>
      <h2>Owns</h2>
      {(owned.get(metadata.uid ?? "") ?? []).length === 0 && <p class="dim">It owns nothing that can be seen.</p>}
      <Owned uid={metadata.uid ?? ""} owned={owned} depth={0} />
      {unread.length > 0 && <p class="problem">Not read: {unread.map(plainText).join(", ")}</p>}
    </>
  );
}

function Deletion({ metadata: { deletionTimestamp, finalizers = [] } }: { readonly metadata: ObjectMeta }) {
  if (deletionTimestamp === undefined) return null;
  return (
    <p class="notice">
      It is being deleted since {plainText(deletionTimestamp)}
      {finalizers.length > 0 &&
        `, and waits for whoever removes these finalizers: ${finalizers.map(plainText).join(", ")}`}
      .
    </p>
  );
}

function Owned({
  uid,
  owned,
  depth,
}: {
  readonly uid: string;
  readonly owned: Family["owned"];
  readonly depth: number;
}) {
  const all = owned.get(uid) ?? [];
  if (all.length === 0 || depth > depthMax) return null;
  return (
    <ul>
      {all.slice(0, shownMax).map((found) => (
        <li key={found.metadata.uid}>
          <ObjectLink found={found} />
          {found.metadata.deletionTimestamp !== undefined && <span class="problem"> being deleted</span>}
          <Owned uid={found.metadata.uid ?? ""} owned={owned} depth={depth + 1} />
        </li>
      ))}
      {all.length > shownMax && <li class="dim">and {all.length - shownMax} more</li>}
    </ul>
  );
}

function ObjectLink({ found: { kind, metadata } }: { readonly found: Found }) {
  const { namespace = "", name = "" } = metadata;
  return (
    <a href={hrefOf("object", [asPart(kind.group), kind.version, kind.resource, asPart(namespace), name])}>
      {plainText(`${kind.kind} ${name}`)}
    </a>
  );
}

/** Reads the metadata of all objects that may own or be owned: of the namespace, or for others of the cluster. */
async function readFamily(app: App, namespace: string, metadata: ObjectMeta, abort: AbortSignal): Promise<Family> {
  const kinds = app.kinds.value.filter(
    ({ namespaced, resource }) => !looseKinds.has(resource) && (namespace === "" || namespaced),
  );
  const waiting = kinds.values();
  const owned = new Map<string, Found[]>();
  const unread: string[] = [];
  const reader = async (): Promise<void> => {
    for (const kind of waiting) {
      try {
        for await (const one of metadataOf(app, kind, namespace, abort)) {
          for (const { uid } of one.ownerReferences ?? []) {
            owned.set(uid, [...(owned.get(uid) ?? []), { kind, metadata: one }]);
          }
        }
      } catch (error) {
        if (abort.aborted) throw error;
        unread.push(kind.resource);
      }
    }
  };
  await Promise.all(Array.from({ length: readersMax }, reader));
  const owners = await Promise.all(
    (metadata.ownerReferences ?? []).map(async (reference) => ({
      reference,
      found: await findOwner(app, reference, namespace, abort),
    })),
  );
  return { owners, owned, unread };
}

async function* metadataOf(
  app: App,
  kind: ServedKind,
  namespace: string,
  abort: AbortSignal,
): AsyncGenerator<ObjectMeta> {
  let next = "";
  for (let page = 0; page < pagesMax; page++) {
    const query = new URLSearchParams({ limit: "500", ...(next === "" ? {} : { continue: next }) });
    const path = `${collectionPath(kind, namespace)}?${query}`;
    const list = await app.api.json<MetadataList>({ path, accept: asMetadata, signal: abort });
    for (const { metadata } of list.items ?? []) yield metadata;
    next = list.metadata?.continue ?? "";
    if (next === "") return;
  }
}

async function findOwner(
  app: App,
  { apiVersion, kind: name, name: object, uid }: OwnerReference,
  namespace: string,
  abort: AbortSignal,
): Promise<Found | undefined> {
  const kind = app.kindOf(apiVersion, name);
  if (kind === undefined) return undefined;
  try {
    const path = objectPath(kind, kind.namespaced ? namespace : "", object);
    const { metadata } = await app.api.json<{ readonly metadata: ObjectMeta }>({ path, signal: abort });
    return metadata.uid === uid ? { kind, metadata } : undefined;
  } catch {
    return undefined;
  }
}
