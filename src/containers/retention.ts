import { gatewayError } from '../platform/errors/gateway-error.ts'
import { type ContainerHost, toSandboxLimits } from './run-command.ts'
import { awakeMsOf } from './session.ts'
import type { ContainerSettings } from './settings.ts'
import { type Container, deleteContainer, filterUsedHomes, listUnused, sumContainers } from './store.ts'
import { superviseCommand } from './supervise.ts'

const dayMs = 86_400_000
/** Containers that one run of the job deletes, and one request, which waits for it. */
const maxDeletions = 100
const maxEvictions = 20
/** Age of an orphaned home: longer than it takes to store the record of a new one. */
const orphanedAfterMs = 3_600_000

/** Deletes the containers of this node that were not used for `retention_days`, and homes that belong to none. */
export async function deleteExpiredContainers(host: ContainerHost): Promise<void> {
  const { db, clock, homes, settings } = host
  const before = new Date(clock.now() - settings.retention_days * dayMs).toISOString()
  const failures: unknown[] = []
  for (const container of await listUnused(db, { folderId: await homes.id(), before, limit: maxDeletions }))
    await removeContainer(host, container).catch((error: unknown) => failures.push(error))
  await removeOrphanedHomes(host, failures)
  if (failures.length > 0) throw failures[0]
}

/** A crash between the home and its record leaves one of them. One that cannot be removed keeps no other. */
async function removeOrphanedHomes(host: ContainerHost, failures: unknown[]): Promise<void> {
  const { db, clock, homes } = host
  const names = await homes.list()
  for (let at = 0; at < names.length; at += maxDeletions) {
    const page = names.slice(at, at + maxDeletions)
    const used = await filterUsedHomes(db, await homes.id(), page)
    for (const home of page) {
      if (!used.has(home) && (await homes.isOlder(home, clock.now() - orphanedAfterMs)))
        await removeHome(host, home).catch((error: unknown) => failures.push(error))
    }
  }
}

/**
 * Deletes the containers of a workspace that were not used for the longest time, while it has too many or too large
 * ones. Those that are awake stay; if these alone are too many, no other can be started.
 */
export async function makeRoom(
  host: ContainerHost,
  workspaceId: string,
  { isNew }: { isNew: boolean },
): Promise<void> {
  const { db, homes, settings } = host
  const folderId = await homes.id()
  if (await hasRoom(host, workspaceId, isNew)) return
  const before = new Date(host.clock.now() - awakeMsOf(settings)).toISOString()
  for (const container of await listUnused(db, { folderId, workspaceId, before, limit: maxEvictions })) {
    await removeContainer(host, container)
    if (await hasRoom(host, workspaceId, isNew)) return
  }
  if (isNew) throw workspaceFullError(settings)
}

async function hasRoom({ db, homes, settings }: ContainerHost, workspaceId: string, isNew: boolean) {
  const { count, bytes } = await sumContainers(db, workspaceId, await homes.id())
  return count + (isNew ? 1 : 0) <= settings.per_workspace && bytes <= settings.workspace_bytes
}

function workspaceFullError({ per_workspace, workspace_bytes }: ContainerSettings) {
  return gatewayError(
    'storage_full',
    `The containers of this workspace that are in use exceed ${per_workspace} (containers.per_workspace) or ${workspace_bytes} bytes (containers.workspace_bytes). Use an existing one, or retry when others sleep.`,
  )
}

async function removeContainer(host: ContainerHost, container: Container): Promise<void> {
  if (await deleteContainer(host.db, container)) await removeHome(host, container.home)
}

/** Emptied from inside of a sandbox: there, no tree of folders and links can lead anywhere else. */
async function removeHome(host: ContainerHost, home: string): Promise<void> {
  const { homes } = host
  if (await homes.open(home)) await emptyHome(host, home)
  await homes.remove(home)
}

async function emptyHome({ engine, reader, homes, settings }: ContainerHost, home: string): Promise<void> {
  await superviseCommand(engine, reader, {
    home: homes.resolve(home),
    command: 'chmod -R u+rwX . 2>/dev/null; find . -mindepth 1 -delete',
    limits: toSandboxLimits(settings),
    proxySocket: null,
    maxHome: { bytes: Number.MAX_SAFE_INTEGER, entries: Number.MAX_SAFE_INTEGER },
    countedEntries: 1,
    minFreeBytes: 0,
    outputBytes: 1024,
    maxOutputLength: 1024,
    signal: new AbortController().signal,
  })
}
