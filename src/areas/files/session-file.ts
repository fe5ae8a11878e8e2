import { mkdir, readdir, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { lockWorkspace, type Workspace } from '../../account/workspaces.ts'
import { fail } from '../../errors.ts'
import type { Gateway } from '../../gateway.ts'
import { newUuid } from '../../lib/ids.ts'
import { sessionPath } from './disk.ts'

/** Of one workspace. What is abandoned stays on disk until it is swept. */
const mostUnfinished = 16

/** Beyond the longest pause of a sender: a writer that is silent for longer has crashed. */
const staleMarginMs = 60_000

interface SessionRef {
  id: string
  workspaceId: string
}

/** Counts and creates under the lock of the workspace, so that parallel requests cannot pass the limit. */
export async function createSessionFile(gateway: Gateway, workspace: Workspace, id: string): Promise<void> {
  const path = sessionPath(gateway, workspace.id, id)
  await gateway.db.transaction().execute(async (tx) => {
    await lockWorkspace(tx, workspace.organization_id, workspace.id)
    await mkdir(dirname(path), { recursive: true })
    if ((await readdir(dirname(path))).length >= mostUnfinished) throw tooManyUnfinished()
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
  const path = sessionPath(gateway, session.workspaceId, session.id)
  const heldPath = `${path}.${newUuid()}`
  await hold(gateway, path, heldPath)
  try {
    return await work(heldPath)
  } finally {
    await renameIfPresent(heldPath, path)
  }
}

async function hold(gateway: Gateway, path: string, heldPath: string): Promise<void> {
  // A rename keeps the time of the last write, from which a crashed writer is recognized.
  const now = new Date(gateway.clock.now())
  const isTouched = await ignoreMissing(utimes(path, now, now))
  if (isTouched && (await renameIfPresent(path, heldPath))) return
  throw await holdError(gateway, path)
}

/** What a crashed writer left is removed: where its last chunk ended is not known. */
async function holdError(gateway: Gateway, path: string) {
  const folder = dirname(path)
  const names = await readdir(folder).catch(() => [])
  const found = names.map((name) => join(folder, name)).find((name) => name.startsWith(path))
  if (found === undefined) return sessionMissing()
  if (!(await isStale(gateway, found))) {
    return fail('concurrent_change', 'Another request is writing to this upload. Try again.')
  }
  await rm(found, { force: true })
  return sessionMissing()
}

async function isStale({ clock, settings }: Gateway, path: string): Promise<boolean> {
  const found = await stat(path).catch(() => null)
  return found !== null && clock.now() - found.mtimeMs > settings.limits.body_idle + staleMarginMs
}

async function renameIfPresent(from: string, to: string): Promise<boolean> {
  return ignoreMissing(rename(from, to))
}

/** Whether the file was there. */
async function ignoreMissing(done: Promise<void>): Promise<boolean> {
  try {
    await done
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return false
    throw error
  }
}

export function sessionMissing() {
  return fail('not_found', 'This upload does not exist, has ended or has expired. Begin a new one.')
}

function tooManyUnfinished() {
  return fail(
    'storage_full',
    `This workspace has ${mostUnfinished} unfinished uploads. Finish or cancel one, or try again in an hour.`,
  )
}
