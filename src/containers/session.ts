import type { Db } from '../platform/db/db.ts'
import { gatewayError } from '../platform/errors/gateway-error.ts'
import { type Clock, isoNow } from '../platform/time/clock.ts'
import { type ContainerEnvironment, formatPolicy } from './environment.ts'
import type { HomeFolder } from './homes.ts'
import { type ContainerOrigin, deriveContainerId, newRestartNonce } from './ids.ts'
import type { ContainerSettings } from './settings.ts'
import { type Container, findContainer, insertContainer, updateContainer } from './store.ts'

/** The owner of a container. */
export interface ContainerOwner {
  organizationId: string
  workspaceId: string
}

interface SessionParts {
  db: Db
  clock: Clock
  homes: HomeFolder
  settings: ContainerSettings
  /** Called before a new container is created. */
  makeRoom: () => Promise<void>
}

/** A container sleeps when it had no command for this time; none runs for longer. */
export function awakeMsOf({ idle, timeout }: ContainerSettings): number {
  return Math.max(idle, timeout)
}

/** The container of a request: an existing one, or a new one with an empty home. */
export async function openContainer(
  parts: SessionParts,
  owner: ContainerOwner,
  environment: ContainerEnvironment,
  origin: ContainerOrigin,
): Promise<Container> {
  const id = deriveContainerId(environment, origin)
  const existing = await findContainer(parts.db, owner.workspaceId, id)
  const container =
    existing ?? (await createContainer(parts, owner, { id, policy: environment.network_policy }))
  await assertHere(parts.homes, container)
  return startWithPolicy(parts, container, environment)
}

async function createContainer(
  { db, clock, homes, makeRoom }: SessionParts,
  { organizationId, workspaceId }: ContainerOwner,
  { id, policy }: { id: string; policy: ContainerEnvironment['network_policy'] },
): Promise<Container> {
  await makeRoom()
  const now = isoNow(clock)
  const home = await homes.create()
  const inserted = await insertContainer(db, {
    workspace_id: workspaceId,
    id,
    organization_id: organizationId,
    folder_id: await homes.id(),
    home,
    network_policy: formatPolicy(policy),
    nonce: null,
    size_bytes: 0,
    created_at: now,
    last_used_at: now,
  })
  // Another request was first.
  if (inserted.home !== home) await homes.remove(home)
  return inserted
}

/** Throws 409 if the container that a request would use is awake with another policy. */
export async function assertPolicy(
  parts: Pick<SessionParts, 'db' | 'clock' | 'settings'>,
  { workspaceId }: ContainerOwner,
  environment: ContainerEnvironment,
  origin: ContainerOrigin,
): Promise<void> {
  if (!environment.network_policy) return
  const container = await findContainer(parts.db, workspaceId, deriveContainerId(environment, origin))
  if (container) choosePolicy(parts, container, environment)
}

/** The policy is fixed while the container is awake. Without one, a request takes that of the container. */
function choosePolicy(
  { clock, settings }: Pick<SessionParts, 'clock' | 'settings'>,
  container: Container,
  { network_policy }: ContainerEnvironment,
): string {
  const policy = network_policy ? formatPolicy(network_policy) : container.network_policy
  const isAwake = clock.now() - Date.parse(container.last_used_at) < awakeMsOf(settings)
  if (policy !== container.network_policy && isAwake) throw policyConflictError(awakeMsOf(settings))
  return policy
}

async function startWithPolicy(
  parts: SessionParts,
  container: Container,
  environment: ContainerEnvironment,
): Promise<Container> {
  const { db, clock } = parts
  const policy = choosePolicy(parts, container, environment)
  const last_used_at = isoNow(clock)
  const isChanged = policy !== container.network_policy
  const changes = isChanged ? { network_policy: policy, nonce: newRestartNonce() } : {}
  const started = await updateContainer(db, container, { ...changes, last_used_at })
  if (!started) throw containerNotFoundError()
  return started
}

/** A home is on the disk of one node, unless nodes share the folder. */
export async function assertHere(homes: HomeFolder, { folder_id }: Container): Promise<void> {
  if (folder_id === (await homes.id())) return
  throw gatewayError(
    'unavailable',
    'This container is on another node. The operator can let nodes share their containers with containers.folder in headgate.yaml.',
  )
}

export function containerNotFoundError() {
  return gatewayError('not_found', 'The container does not exist.')
}

function policyConflictError(awakeMs: number) {
  return gatewayError(
    'conflict',
    `network_policy: the container runs with another policy, which is fixed until it sleeps. Send the same policy, use another container, or wait until it was unused for ${awakeMs / 1000} seconds.`,
  )
}
