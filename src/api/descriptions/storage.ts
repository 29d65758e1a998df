/** Descriptions of storage drivers and what they report. `../descriptions.ts` explains the format. */
export const storage = `
package io.k8s.api.storage.v1
CSIDriver: A CSI driver that the cluster has, and its abilities. Its name is that of the driver.
  spec: The abilities of the driver.
CSIDriverSpec:
  attachRequired: Whether volumes of the driver must be attached to a node before use; true by default. It cannot be changed.
  podInfoOnMount: Whether the driver is told the pod's name, namespace, uid and service account when it mounts; false by default.
  volumeLifecycleModes: The kinds of volumes that the driver supports: Persistent (the default), Ephemeral or both. It cannot be changed.
  storageCapacity: Whether the scheduler heeds the free space that the driver reports in CSIStorageCapacity objects; false by default.
  fsGroupPolicy: The way in which fsGroup of pods is applied: ReadWriteOnceWithFSType (the default), File or None.
  tokenRequests: The audiences of service account tokens that the driver is given when it mounts.
  requiresRepublish: Whether mounting is repeated at times, so that the driver can renew tokens and content; false by default.
  seLinuxMount: Whether the driver can mount with an SELinux label; false by default.
TokenRequest: A service account token that a driver is given.
  audience: The audience of the token; the API server when it is empty.
  expirationSeconds: The seconds for which the token is valid; an hour when absent.
CSINode: The CSI drivers on a node. Its name is that of the node; the kubelet writes it.
  spec: The drivers on the node.
CSINodeSpec:
  drivers: The drivers that have registered at the kubelet.
CSINodeDriver: A driver on a node.
  name: The name of the driver.
  nodeID: The name that the driver has for the node.
  topologyKeys: The labels of nodes by which the driver knows where a volume can be used.
  allocatable: The number of volumes that the node can hold.
VolumeNodeResources: The room for volumes on a node.
  count: The greatest number of the driver's volumes on the node; there is no limit when absent.
CSIStorageCapacity: The free space of one storage class in one part of the cluster. Drivers write it for the scheduler.
  nodeTopology: The labels of the nodes that can reach the space; no node can when absent, every node when empty. It cannot be changed.
  storageClassName: The name of the storage class. It cannot be changed.
  capacity: The free space as the driver reports it; it is not known when absent.
  maximumVolumeSize: The size of the largest volume that can be made; it is not known when absent.
VolumeAttachment: A request to attach a volume to a node. A controller writes it; the driver's side fulfils it.
  spec: The volume and the node. They cannot be changed.
  status: The progress of the attachment.
VolumeAttachmentSpec:
  attacher: The name of the driver that attaches the volume.
  source: The volume that is to be attached.
  nodeName: The name of the node to which the volume is attached.
VolumeAttachmentSource: The volume to attach; exactly one is given.
  persistentVolumeName: The name of a persistent volume.
  inlineVolumeSpec: A volume that a pod names itself and that was translated for a CSI driver.
VolumeAttachmentStatus:
  attached: Whether the volume is attached.
  attachmentMetadata: The properties of the attachment, which the driver needs when it mounts.
  attachError: The last failure to attach; it goes when attaching succeeds.
  detachError: The last failure to detach.
VolumeError: A failure to attach or to detach.
  time: The time of the failure.
  message: The failure, described in a sentence. It must not contain secrets.

package io.k8s.api.storage.v1alpha1
VolumeAttributesClass: Settings of volumes that a claim can change while it is in use.
  driverName: The name of the driver that the settings are for. It cannot be changed.
  parameters: The settings. They cannot be changed; make another class instead.
`;
