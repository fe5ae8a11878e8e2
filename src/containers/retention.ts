import { type ContainerHost, toSandboxLimits } from './run-command.ts'
import { isAwake } from './session.ts'
import { type Container, deleteContainer, filterUsedHomes, listByUse, listUnused } from './store.ts'
import { superviseCommand } from './supervise.ts'

const dayMs = 86_400_000
/** Containers that one run of the job deletes, and those that one request evicts. */
const maxDeletions = 100
/** Longer than it takes to store the record of a new home. */
const orphanedAfterMs = 3_600_000

/** Deletes the containers of this node that were not used for `retention_days`, and homes that belong to none. */
export async function deleteExpiredContainers(host: ContainerHost): Promise<void> {
  const { db, clock, homes, settings } = host
  const before = new Date(clock.now() - settings.retention_days * dayMs).toISOString()
  for (const container of await listUnused(db, await homes.id(), before, maxDeletions))
    await removeContainer(host, container)
  await removeOrphanedHomes(host)
}

/** A crash between the home and its record leaves one of them. */
async function removeOrphanedHomes(host: ContainerHost): Promise<void> {
  const { db, clock, homes } = host
  const names = await homes.list(clock.now() - orphanedAfterMs)
  for (let at = 0; at < names.length; at += maxDeletions) {
    const page = names.slice(at, at + maxDeletions)
    const used = await filterUsedHomes(db, await homes.id(), page)
    for (const home of page) if (!used.has(home)) await removeHome(host, home)
  }
}

/** Makes room for a new container of a workspace: those not used for the longest time are deleted. */
export async function evictContainers(
  host: ContainerHost,
  workspaceId: string,
  isBusy: (home: string) => boolean,
): Promise<void> {
  const { db, clock, homes, settings } = host
  const { per_workspace, workspace_bytes, idle } = settings
  let bytes = 0
  const rows = await listByUse(db, workspaceId, await homes.id(), per_workspace + maxDeletions)
  for (const [index, container] of rows.entries()) {
    bytes += container.size_bytes
    const isBeyond = index >= per_workspace || bytes > workspace_bytes
    if (isBeyond && !isAwake(container, clock, idle) && !isBusy(container.home))
      await removeContainer(host, container)
  }
}

async function removeContainer(host: ContainerHost, container: Container): Promise<void> {
  if (await deleteContainer(host.db, container)) await removeHome(host, container.home)
}

/** Emptied from inside of a sandbox: there, no tree of folders and links can lead anywhere else. */
async function removeHome({ engine, reader, homes, settings }: ContainerHost, home: string): Promise<void> {
  await superviseCommand(engine, reader, {
    home: homes.resolve(home),
    command: 'chmod -R u+rwX . 2>/dev/null; find . -mindepth 1 -delete',
    limits: toSandboxLimits(settings),
    proxySocket: null,
    maxHome: { bytes: Number.MAX_SAFE_INTEGER, entries: Number.MAX_SAFE_INTEGER },
    countedEntries: 1,
    outputBytes: 1024,
    maxOutputLength: 1024,
    signal: new AbortController().signal,
  })
  await homes.remove(home)
}
