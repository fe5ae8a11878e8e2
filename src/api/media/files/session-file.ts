import { mkdir, readdir, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Gateway } from '../../../gateway/gateway.ts'
import { lockWorkspace, type Workspace } from '../../../identity/workspaces.ts'
import { newUuid } from '../../../platform/crypto/ids.ts'
import { gatewayError } from '../../../platform/errors/gateway-error.ts'
import { resolveSessionPath } from './disk.ts'

/** Maximum per workspace. Abandoned sessions stay on disk until they are swept. */
const maxUnfinishedUploads = 16

/** Margin longer than any pause of a client: a writer silent for longer has crashed. */
const staleMarginMs = 60_000

interface SessionRef {
  id: string
  workspaceId: string
}

/** Counts and creates under the workspace lock, so that parallel requests cannot exceed the limit. */
export async function createSessionFile(gateway: Gateway, workspace: Workspace, id: string): Promise<void> {
  const path = resolveSessionPath(gateway, workspace.id, id)
  await gateway.db.transaction().execute(async (tx) => {
    await lockWorkspace(tx, workspace.organization_id, workspace.id)
    await mkdir(dirname(path), { recursive: true })
    if ((await readdir(dirname(path))).length >= maxUnfinishedUploads) throw tooManyUnfinishedError()
    await writeFile(path, '', { flag: 'wx', mode: 0o600 })
  })
}

/**
 * Runs `work` as the only writer of a session, on every node that shares the folder: the file is renamed to a name
 * that only this request knows, and back afterwards. `work` may move the file away or remove it, which ends the
 * session. Other requests meanwhile get 409; a session that has ended is 404.
 */
export async function withSessionFile<T>(
  gateway: Gateway,
  session: SessionRef,
  work: (path: string) => Promise<T>,
): Promise<T> {
  const path = resolveSessionPath(gateway, session.workspaceId, session.id)
  const heldPath = `${path}.${newUuid()}`
  await acquireSessionFile(gateway, path, heldPath)
  try {
    return await work(heldPath)
  } finally {
    await renameIfPresent(heldPath, path)
  }
}

async function acquireSessionFile(gateway: Gateway, path: string, heldPath: string): Promise<void> {
  // A rename preserves the modification time, which identifies a crashed writer.
  const now = new Date(gateway.clock.now())
  const isTouched = await ignoreMissing(utimes(path, now, now))
  if (isTouched && (await renameIfPresent(path, heldPath))) return
  throw await acquireError(gateway, path)
}

/** Removes the file of a crashed writer: the end of its last chunk is unknown. */
async function acquireError(gateway: Gateway, path: string) {
  const folder = dirname(path)
  const names = await readdir(folder).catch(() => [])
  const existing = names.map((name) => join(folder, name)).find((name) => name.startsWith(path))
  if (existing === undefined) return uploadNotFoundError()
  if (!(await isStale(gateway, existing))) {
    return gatewayError('concurrent_change', 'Another request is writing to this upload. Try again.')
  }
  await rm(existing, { force: true })
  return uploadNotFoundError()
}

async function isStale({ clock, settings }: Gateway, path: string): Promise<boolean> {
  const stats = await stat(path).catch(() => null)
  return stats !== null && clock.now() - stats.mtimeMs > settings.limits.body_idle + staleMarginMs
}

async function renameIfPresent(from: string, to: string): Promise<boolean> {
  return ignoreMissing(rename(from, to))
}

/** Returns whether the file existed. */
async function ignoreMissing(done: Promise<void>): Promise<boolean> {
  try {
    await done
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return false
    throw error
  }
}

export function uploadNotFoundError() {
  return gatewayError('not_found', 'This upload does not exist, has ended or has expired. Start a new one.')
}

function tooManyUnfinishedError() {
  return gatewayError(
    'storage_full',
    `This workspace has ${maxUnfinishedUploads} unfinished uploads. Finish or cancel one, or try again in an hour.`,
  )
}
