/** Descriptions of the sources of volumes. `../descriptions.ts` explains the format. */
export const volumes = `
package io.k8s.api.core.v1
AWSElasticBlockStoreVolumeSource, AzureDiskVolumeSource, CinderPersistentVolumeSource, CinderVolumeSource, FCVolumeSource, GCEPersistentDiskVolumeSource, ISCSIPersistentVolumeSource, ISCSIVolumeSource, PortworxVolumeSource, RBDPersistentVolumeSource, RBDVolumeSource, StorageOSPersistentVolumeSource, StorageOSVolumeSource, AzureFilePersistentVolumeSource, AzureFileVolumeSource, CSIPersistentVolumeSource, CSIVolumeSource, CephFSPersistentVolumeSource, CephFSVolumeSource, FlexPersistentVolumeSource, FlexVolumeSource, GlusterfsPersistentVolumeSource, GlusterfsVolumeSource, NFSVolumeSource, QuobyteVolumeSource, ScaleIOPersistentVolumeSource, ScaleIOVolumeSource:
  readOnly: Whether the volume can only be read; it can be written by default.
AWSElasticBlockStoreVolumeSource, AzureDiskVolumeSource, CinderPersistentVolumeSource, CinderVolumeSource, FCVolumeSource, GCEPersistentDiskVolumeSource, ISCSIPersistentVolumeSource, ISCSIVolumeSource, PhotonPersistentDiskVolumeSource, PortworxVolumeSource, RBDPersistentVolumeSource, RBDVolumeSource, StorageOSPersistentVolumeSource, StorageOSVolumeSource, VsphereVirtualDiskVolumeSource:
  fsType: The file system with which the disk is mounted, such as xfs; it is ext4 when absent.
AWSElasticBlockStoreVolumeSource, GCEPersistentDiskVolumeSource:
  partition: The number of the partition that is mounted; the whole disk is mounted when it is 0 or absent.
AWSElasticBlockStoreVolumeSource: A disk of Amazon EBS. The node must be in the same zone.
  volumeID: The identity of the disk at AWS.
GCEPersistentDiskVolumeSource: A persistent disk of Google Compute Engine. The node must be in the same zone.
  pdName: The name of the disk at Google.
AzureDiskVolumeSource:
  diskName: The name of the disk at Azure.
  diskURI: The URI under which Azure knows the disk.
  cachingMode: The cache of the host that is used: None, ReadOnly or ReadWrite (the default).
  kind: The kind of disk: Shared (several to a storage account, the default), Dedicated (one to an account) or Managed.
AzureFilePersistentVolumeSource, AzureFileVolumeSource:
  secretName: The name of the secret that holds the account's name and key.
  shareName: The name of the share at Azure.
AzureFilePersistentVolumeSource:
  secretNamespace: The namespace of the secret; it is that of the pod when absent.
CinderPersistentVolumeSource, CinderVolumeSource: A disk of OpenStack Cinder. The node must be in the same region.
  volumeID: The identity of the disk in Cinder.
  secretRef: The secret with parameters for connecting to OpenStack.
CSIPersistentVolumeSource: A volume that a CSI driver manages.
  driver: The CSI driver that serves the volume, by its name.
  volumeHandle: The identity that the driver gave the volume; all calls to the driver carry it.
  fsType: The file system with which the volume is mounted; the driver decides when it is absent.
  volumeAttributes: The properties of the volume, which the driver set when it made it.
  controllerPublishSecretRef: The secret that the driver gets when it attaches the volume to a node or detaches it.
  nodeStageSecretRef: The secret that the driver gets when it prepares the volume on a node.
  nodePublishSecretRef: The secret that the driver gets when it mounts the volume for a pod.
  controllerExpandSecretRef: The secret that the driver's controller gets when the volume grows.
  nodeExpandSecretRef: The secret that the driver gets on the node when the volume grows.
CSIVolumeSource: A volume that a CSI driver sets up for one pod and removes with it.
  driver: The CSI driver that serves the volume, by its name.
  fsType: The file system with which the volume is mounted; the driver decides when it is absent.
  volumeAttributes: The settings for the driver, whose documentation lists them.
  nodePublishSecretRef: The secret, in the pod's namespace, that the driver gets when it mounts the volume.
CephFSPersistentVolumeSource, CephFSVolumeSource: A Ceph file system. Nodes no longer support this source; use a CSI driver.
  monitors: The addresses of the Ceph monitors.
  path: The folder that is mounted; it is the root when absent.
  user: The Ceph user; it is "admin" when absent.
  secretFile: The path of the user's key ring on the node; it is /etc/ceph/user.secret when absent.
  secretRef: The secret that holds the user's key; it wins over secretFile.
RBDPersistentVolumeSource, RBDVolumeSource: A block device of Ceph. Nodes no longer support this source; use a CSI driver.
  monitors: The addresses of the Ceph monitors.
  image: The name of the image that holds the disk.
  pool: The pool that contains the image; "rbd" by default.
  user: The Ceph user; "admin" by default.
  keyring: The path of the user's key ring on the node; /etc/ceph/keyring by default.
  secretRef: The secret that holds the user's key; it wins over keyring.
FCVolumeSource: A disk that nodes reach by Fibre Channel. It is found by target and LUN, or by world wide identifiers.
  targetWWNs: The world wide names of the targets; they need a lun.
  lun: The number of the logical unit at the targets.
  wwids: The world wide identifiers of the disk; they stand instead of targetWWNs and lun.
FlexPersistentVolumeSource, FlexVolumeSource: A volume that a program on the node mounts. CSI drivers have replaced this source.
  driver: The name of the program that mounts the volume.
  fsType: The file system with which the volume is mounted; the program decides when it is absent.
  secretRef: The secret that the program gets.
  options: The further options that the program gets.
FlockerVolumeSource:
  datasetName: The name of the data set. Either a name or a UUID must be given.
  datasetUUID: The UUID of the data set. Either a name or a UUID must be given.
GitRepoVolumeSource: The content of a git repository. It is deprecated; an init container that clones into an emptyDir does the same.
  repository: The URL from which the repository is cloned.
  revision: The hash of the commit that is checked out; it is the newest one when absent.
  directory: The folder of the volume that gets the content; "." stands for the volume itself, and ".." is not allowed.
GlusterfsPersistentVolumeSource, GlusterfsVolumeSource:
  endpoints: The name of the Endpoints object that lists the Gluster servers.
  path: The name of the Gluster volume.
GlusterfsPersistentVolumeSource:
  endpointsNamespace: The namespace of the Endpoints object; it is that of the claim when absent.
ISCSIPersistentVolumeSource, ISCSIVolumeSource: A disk of an iSCSI target, which one node at a time may mount for writing.
  targetPortal: The address of the target, with a port unless that is 3260.
  portals: The further addresses of the target, for several paths to it.
  iqn: The qualified name of the target.
  lun: The number of the logical unit at the target.
  iscsiInterface: The name of the interface through which the node connects; "default" by default.
  initiatorName: The name under which the node connects, instead of its own.
  chapAuthDiscovery: Whether CHAP authenticates the discovery of targets.
  chapAuthSession: Whether CHAP authenticates the session.
  secretRef: The secret that holds the names and passwords for CHAP.
LocalVolumeSource: A disk, partition or folder of one node. The volume must say which node by nodeAffinity.
  path: The path of the folder or block device on the node.
  fsType: The file system, for a block device only; the node chooses one when it is absent.
NFSVolumeSource:
  server: The host name or address of the server.
  path: The path that the server exports.
PhotonPersistentDiskVolumeSource:
  pdID: The identity of the disk.
PortworxVolumeSource:
  volumeID: The identity of the volume at Portworx.
QuobyteVolumeSource:
  registry: The addresses of the Quobyte registries as host:port, with commas between them.
  volume: The name of the volume at Quobyte.
  user: The user that all access is mapped to; it is the user of the service account when absent.
  group: The group that all access is mapped to; there is none when it is absent.
  tenant: The Quobyte tenant that owns the volume.
ScaleIOPersistentVolumeSource, ScaleIOVolumeSource:
  gateway: The address of the ScaleIO gateway.
  system: The name of the storage system.
  secretRef: The secret that holds the user's name and password.
  sslEnabled: Whether the gateway is reached by TLS; false by default.
  protectionDomain: The name of the protection domain of the storage.
  storagePool: The storage pool of the protection domain.
  storageMode: The way in which space is reserved: ThinProvisioned (the default) or ThickProvisioned.
  volumeName: The name of the volume in the storage system.
  fsType: The file system with which the volume is mounted; xfs by default.
StorageOSPersistentVolumeSource, StorageOSVolumeSource:
  volumeName: The name of the volume, unique in its StorageOS namespace.
  volumeNamespace: The StorageOS namespace of the volume; it is named as that of the pod when absent.
  secretRef: The secret that holds the credentials for the StorageOS API.
VsphereVirtualDiskVolumeSource:
  volumePath: The path of the disk in vSphere.
  storagePolicyName: The name of the storage policy of the disk.
  storagePolicyID: The identity of that storage policy.

Volume, PersistentVolumeSpec:
  awsElasticBlockStore: A disk of Amazon EBS. It is deprecated; the CSI driver ebs.csi.aws.com does the work.
  azureDisk: A data disk of Azure. It is deprecated; the CSI driver disk.csi.azure.com does the work.
  azureFile: A file share of Azure. It is deprecated; the CSI driver file.csi.azure.com does the work.
  cephfs: A Ceph file system. Nodes no longer support it.
  cinder: A disk of OpenStack Cinder. It is deprecated; the CSI driver cinder.csi.openstack.org does the work.
  flexVolume: A volume that a program on the node mounts. It is deprecated; use a CSI driver.
  flocker: A data set of Flocker. Nodes no longer support it.
  gcePersistentDisk: A disk of Google Compute Engine. It is deprecated; the CSI driver pd.csi.storage.gke.io does the work.
  glusterfs: A Gluster volume. Nodes no longer support it.
  photonPersistentDisk: A disk of Photon. Nodes no longer support it.
  portworxVolume: A Portworx volume. It is deprecated; the CSI driver pxd.portworx.com does the work.
  quobyte: A Quobyte volume. Nodes no longer support it.
  rbd: A block device of Ceph. Nodes no longer support it.
  scaleIO: A ScaleIO volume. Nodes no longer support it.
  storageos: A StorageOS volume. Nodes no longer support it.
  vsphereVolume: A virtual disk of vSphere. It is deprecated; the CSI driver csi.vsphere.vmware.com does the work.
  iscsi: A disk of an iSCSI target.
  fc: A disk that nodes reach by Fibre Channel.
Volume:
  gitRepo: The content of a git repository. It is deprecated; clone in an init container instead.
VolumeNodeAffinity:
  required: The requirements that a node must meet to use the volume.
EphemeralVolumeSource:
  volumeClaimTemplate: The template of the claim, which is named after the pod and the volume. It cannot be changed.
PersistentVolumeClaimTemplate:
  metadata: The labels and annotations of the claim; nothing else is allowed.
  spec: The storage that the claim asks for.
ImageVolumeSource: The files of a container image or of another OCI artifact.
  reference: The name of the image or artifact, as a container would name it.
  pullPolicy: The policy for pulling it: Always, IfNotPresent or Never. Always by default for the tag "latest", else IfNotPresent.
VolumeProjection: One source of a projected volume; exactly one of the forms is given.
  secret: The keys of a secret.
  configMap: The keys of a config map.
  downwardAPI: The fields of the pod that become files.
  serviceAccountToken: A token of the pod's service account, which the node renews.
  clusterTrustBundle: The certificates of one or several ClusterTrustBundles, in one file.
SecretProjection, ConfigMapProjection:
  items: The keys that become files, and the paths of these files; by default all keys.
SecretProjection: Keys of a secret as files.
  name: The name of the secret, in the pod's namespace.
  optional: Whether the secret or a key may be missing.
ConfigMapProjection: Keys of a config map as files.
  name: The name of the config map, in the pod's namespace.
  optional: Whether the config map or a key may be missing.
DownwardAPIProjection, DownwardAPIVolumeSource:
  items: The files, and the field that each of them holds.
DownwardAPIVolumeSource:
  defaultMode: The permissions of files that set none; 0644 by default.
DownwardAPIVolumeFile: A file that holds a field of the pod.
  path: The path of the file in the volume. It is relative and contains no "..".
  fieldRef: The field of the pod: its name, namespace, uid, labels or annotations.
  resourceFieldRef: The limit or request of a container that the file holds.
  mode: The permissions of the file; they are those of defaultMode when absent.
ServiceAccountTokenProjection:
  audience: The audience that accepts the token; it is the API server when absent.
  expirationSeconds: The seconds for which the token is valid, at least 600; 3600 by default. The node renews it in time.
  path: The path of the file with the token, inside the volume.
ClusterTrustBundleProjection: Certificates of authorities, as one file. It needs the gate ClusterTrustBundleProjection.
  name: The name of one bundle. It excludes signerName and labelSelector.
  signerName: The signer whose bundles are taken together. It excludes a name.
  labelSelector: The labels of the signer's bundles that are taken; an absent selector takes none, an empty one all.
  optional: Whether the pod starts when no bundle is found.
  path: The path of the file with the certificates, inside the volume.
VolumeMountStatus: A volume as it is mounted in a container.
  name: The name of the mount, as in the container's volumeMounts.
  mountPath: The path at which the volume is mounted.
  readOnly: Whether the volume is mounted for reading only.
  recursiveReadOnly: The state of mounts below a read-only volume: Disabled, Enabled, or absent if the volume can be written.
`;
