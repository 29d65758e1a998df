/** VolumeAttachment: a volume that a driver attaches to a node. */
import type {
  VolumeAttachment,
  VolumeAttachmentSource,
  VolumeAttachmentSpec,
  VolumeAttachmentStatus,
  VolumeError,
} from "#api/storage/v1.ts";
import { type FieldError, forbidden, required, tooLong } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { dns1123Subdomain } from "#meta/names.ts";
import { ageColumn, flag, nameColumn, text } from "../cells.ts";
import { checkName, checkRequired, type Errors } from "../checks.ts";
import { checkVolumeSpec } from "../core/persistent-volume-validation.ts";
import { checkDriverName } from "../core/pod-validation/volume-sources.ts";
import { defaultVolumeSources } from "../core/pod-spec.ts";
import { editField } from "../edit.ts";
import { type KindBehaviour, keptByStatus } from "../generic.ts";
import { validateImmutable } from "../immutable.ts";

export function volumeAttachments(): KindBehaviour<VolumeAttachment> {
  return {
    statusKeeps: keptByStatus,
    statusResetsMetadata: true,
    returnsDeleted: true,
    columns: [
      nameColumn,
      { ...text("Attacher", "Driver that attaches the volume.", ({ spec }) => spec.attacher), format: "name" },
      text("PV", "Volume that is attached.", ({ spec }) => spec.source.persistentVolumeName ?? ""),
      text("Node", "Node that it is attached to.", ({ spec }) => spec.nodeName),
      flag("Attached", "Whether it is attached.", ({ status }) => status.attached),
      ageColumn,
    ],
    strategy: {
      defaults: (object) => editField(object, "spec", defaultSpec),
      validate: ({ spec }) => [...validateSpec(spec), ...validateNames(spec)],
      validateUpdate,
      subresources: { status: { validateUpdate, checksGenerateName: true } },
    },
  };
}

const defaultSpec = (spec: VolumeAttachmentSpec): VolumeAttachmentSpec =>
  editField(spec, "source", (source) => editField(source, "inlineVolumeSpec", defaultVolumeSources));

function validateUpdate(object: VolumeAttachment, old: VolumeAttachment): FieldError[] {
  return [...validateSpec(object.spec), ...validateStatus(object.status), ...validateImmutable(object, old, ["spec"])];
}

const specPath = FieldPath.of("spec");
const statusPath = FieldPath.of("status");
const sourcePath = specPath.child("source");

function validateSpec({ attacher, source, nodeName }: VolumeAttachmentSpec): FieldError[] {
  const errors: FieldError[] = [];
  checkRequired(attacher, specPath.child("attacher"), errors);
  checkSource(source, errors);
  checkName(nodeName, dns1123Subdomain, specPath.child("nodeName"), errors);
  return errors;
}

/** Checks that a source has either the name of a volume or an inline spec. */
function checkSource({ persistentVolumeName: name, inlineVolumeSpec: inline }: VolumeAttachmentSource, errors: Errors) {
  const one = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
  if (name === undefined && inline === undefined) errors.push(required(sourcePath, one));
  else if (name !== undefined && inline !== undefined) errors.push(forbidden(sourcePath, one));
  else if (inline !== undefined)
    checkVolumeSpec(inline, "", "attachment", sourcePath.child("inlineVolumeSpec"), errors);
  else if (name === "") {
    errors.push(required(sourcePath.child("persistentVolumeName"), "must specify non empty persistentVolumeName"));
  }
}

/** Returns findings by rules that are newer than v1beta1. Updates do not check them, so that old objects can change. */
function validateNames({ attacher, source }: VolumeAttachmentSpec): FieldError[] {
  const errors: FieldError[] = [];
  checkDriverName(attacher, specPath.child("attacher"), errors);
  const { persistentVolumeName: name } = source;
  if (name !== undefined) checkName(name, dns1123Subdomain, sourcePath.child("persistentVolumeName"), errors);
  return errors;
}

const messageBytesMax = 1024;
const metadataBytesMax = 256 * 1024;

function validateStatus({ attachmentMetadata = {}, attachError, detachError }: VolumeAttachmentStatus): FieldError[] {
  const errors: FieldError[] = [];
  let bytes = 0;
  for (const [key, value] of Object.entries(attachmentMetadata)) {
    bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
  }
  if (bytes > metadataBytesMax) errors.push(tooLong(statusPath.child("attachmentMetadata"), metadataBytesMax));
  checkError(attachError, statusPath.child("attachError"), errors);
  checkError(detachError, statusPath.child("detachError"), errors);
  return errors;
}

function checkError({ message = "" }: VolumeError = { time: null }, path: FieldPath, errors: Errors): void {
  // Upstream: the message names another limit.
  if (Buffer.byteLength(message) > messageBytesMax) errors.push(tooLong(path.child("message"), metadataBytesMax));
}
