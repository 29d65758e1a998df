/** Descriptions of devices and of the claims on them. `../descriptions.ts` explains the format. */
export const devices = `
package io.k8s.api.resource.v1alpha3, io.k8s.api.resource.v1beta1
ResourceClaimTemplate: A template for claims on devices. Each pod gets claims of its own.
  spec: The template. It cannot be changed.
ResourceClaimTemplateSpec: The template of the claims.
  metadata: The labels and annotations of the claims.
  spec: The devices that the claims ask for.
ResourceClaimSpec:
  devices: The requests for devices, and the settings for their drivers.
DeviceClaim:
  requests: The requests for devices; each can be referred to by its name.
  constraints: The attributes that devices of several requests must have in common.
  config: The settings for the drivers.
DeviceRequest: A request for devices of one class.
  name: The name of the request.
  deviceClassName: The name of the class of the devices.
  selectors: Conditions that a device must meet, beside those of the class.
  allocationMode: The way in which devices are counted: ExactCount (the default), or All for every device that fits.
  count: The number of devices, for ExactCount; 1 by default.
  adminAccess: Whether devices that are in use can be chosen too, for administration.
DeviceConstraint:
  requests: The names of the requests that the constraint covers; all of them by default.
  matchAttribute: The attribute that must have the same value on all devices.
DeviceClaimConfiguration: Settings for a driver.
  requests: The names of the requests that the settings are for; all of them by default.
  opaque: The settings, which only the driver understands.
OpaqueDeviceConfiguration:
  driver: The name of the driver.
  parameters: The settings, in a form that the driver defines; 10 KB at most.
DeviceSelector: A condition for devices.
  cel: The condition as an expression in CEL.
CELDeviceSelector:
  expression: The expression, which is true for devices that fit; "device" is the device in question.
ResourceClaim: A claim on devices, which is met before its pods start.
  spec: The devices that the claim asks for. It cannot be changed.
  status: The devices that were found, and the pods that use them.
ResourceClaimStatus:
  allocation: The devices that were found; absent while none are.
  reservedFor: The users of the claim, mostly pods, 256 at most. A pod can only run when it is among them.
  devices: The states of the devices that were found, as their drivers report them.
ResourceClaimConsumerReference: A reference to a user of a claim, in the same namespace.
  apiGroup: The group of the user; the core group when empty.
  resource: The resource of the user, such as pods.
  name: The name of the user.
  uid: The identity of the user, so that another object of its name is not taken for it.
AllocationResult:
  devices: The devices, and the settings for their drivers.
  nodeSelector: The nodes from which the devices can be used; every node when absent.
DeviceAllocationResult: The devices that were found, and the settings for their drivers.
  results: The devices that were found, 32 at most.
  config: The settings for the drivers, first those of the class and then those of the claim.
DeviceRequestAllocationResult: A device that was found for a request.
  request: The name of the request that the device is for.
  adminAccess: Whether the device was given for administration, so that others may use it too.
DeviceRequestAllocationResult, AllocatedDeviceStatus:
  driver: The name of the driver that makes the device usable.
  pool: The name of the pool that has the device.
  device: The name of the device in its pool.
AllocatedDeviceStatus: The state of a device, as its driver reports it.
  conditions: The conditions of the device, 8 at most.
  data: The facts that only the driver understands, 10 KB at most.
  networkData: The addresses of a network device.
NetworkDeviceData:
  interfaceName: The name of the network interface in the pod.
  ips: The addresses of the interface with the length of their prefix, such as 192.0.2.5/24.
  hardwareAddress: The hardware address of the interface, such as a MAC address.
DeviceAllocationConfiguration: Settings for a driver, and where they come from.
  source: The origin of the settings: FromClass or FromClaim.
  requests: The names of the requests that the settings are for; all of them when empty.
  opaque: The settings, which only the driver understands.
DeviceClass: A kind of device that claims can ask for.
  spec: The conditions for devices of the class, and the settings for their drivers.
DeviceClassSpec:
  selectors: The conditions that a device must meet; all must hold.
  config: The settings for the drivers, in each claim on a device of the class.
DeviceClassConfiguration: Settings for a driver.
  opaque: The settings, which only the driver understands.
ResourceSlice: Devices that a driver offers. Several slices can make up a pool.
  spec: The devices, and the nodes that can use them.
ResourceSliceSpec: The devices of a slice. Exactly one of nodeName, nodeSelector and allNodes is given.
  driver: The name of the driver that offers the devices. It cannot be changed.
  pool: The pool that the devices belong to.
  nodeName: The name of the node that has the devices. It cannot be changed.
  nodeSelector: The nodes from which the devices can be used.
  allNodes: Whether every node can use the devices.
  devices: The devices of the slice, 128 at most.
ResourcePool: A pool of devices, in one slice or several.
  name: The name of the pool, unique for its driver; often it is the name of a node.
  generation: The number of the pool's state. The driver raises it with each change; slices with a lower number are outdated.
  resourceSliceCount: The number of slices of the pool in this generation, so that a reader knows whether all are there.
Device: A device and its properties.
  name: The name of the device, unique in its pool.
  basic: The properties of the device.
BasicDevice: The properties of a device. Attributes and capacities are 32 at most together.
  attributes: The attributes of the device by name, which conditions can compare.
  capacity: The amounts that the device has, such as memory, by name.
DeviceAttribute: The value of an attribute; exactly one form is given.
  int: The value as a whole number.
  bool: The value as true or false.
  string: The value as a text of 64 characters at most.
  version: The value as a semantic version, such as 1.2.3.

package io.k8s.api.resource.v1beta1
DeviceCapacity: An amount that a device has.
  value: The amount that the device has.
`;
