import { open, rename, rm, stat } from 'node:fs/promises'
import { z } from 'zod'
import type { StoredFile } from '../../account/stored-files.ts'
import { enterWorkspace } from '../../account/workspaces.ts'
import type { DataRegion } from '../../catalog/vocabulary.ts'
import { badField } from '../../errors.ts'
import type { Gateway } from '../../gateway.ts'
import { arriving } from '../../lib/body.ts'
import { authenticateByHash } from '../../pipeline/authenticate.ts'
import { paceOf } from '../../pipeline/pace.ts'
import { leftoverMs, partialPath } from './disk.ts'
import { enter } from './scope.ts'
import { sessionMissing } from './session-file.ts'
import { keepContent, openContent, standardLimits, writeAll } from './upload.ts'

/** What an upload in several requests is about. It travels sealed in the address that the bytes are sent to. */
const session = z.strictObject({
  id: z.string(),
  /** The bytes may come without a key: the key that the session was begun with must still be valid. */
  keyHash: z.string(),
  organizationId: z.string(),
  workspaceId: z.string(),
  filename: z.string(),
  expiresAt: z.number(),
})

export type UploadSession = z.output<typeof session>

const sealContext = 'files/upload'

export function sealSession({ vault, clock }: Gateway, about: Omit<UploadSession, 'expiresAt'>): string {
  const whole: UploadSession = { ...about, expiresAt: clock.now() + leftoverMs }
  return vault.seal(JSON.stringify(whole), sealContext)
}

/** 404 for an address that was never given out, or not lately; else as if its key had been sent with the bytes. */
export async function openSession(
  gateway: Gateway,
  sealed: string,
  region: DataRegion,
): Promise<UploadSession> {
  const found = unseal(gateway, sealed)
  if (!found || found.expiresAt <= gateway.clock.now()) throw sessionMissing()
  const caller = await authenticateByHash(gateway, found.keyHash)
  await enter({ gateway, caller, region, query: { workspace_id: found.workspaceId } })
  return found
}

function unseal({ vault }: Gateway, sealed: string): UploadSession | undefined {
  try {
    return session.parse(JSON.parse(vault.open(sealed, sealContext)))
  } catch {
    return undefined
  }
}

/** Appends what the request carries, all of it or nothing; `offset` is where the client believes to be. */
export async function receiveChunk(
  gateway: Gateway,
  path: string,
  request: Request,
  offset: number,
): Promise<void> {
  const received = await receivedBytes(path)
  if (offset !== received) throw badField('x-goog-upload-offset', `must be ${received}`)
  const limits = { maxBytes: standardLimits.fileBytes - offset, pace: paceOf(gateway) }
  const file = await open(path, 'a')
  try {
    for await (const chunk of arriving(request, limits)) {
      await writeAll(file, Buffer.from(chunk))
    }
  } catch (error) {
    await file.truncate(offset)
    throw error
  } finally {
    await file.close()
  }
}

export async function receivedBytes(path: string): Promise<number> {
  return (await stat(path)).size
}

/** The bytes become a file. Whatever is wrong with them, the upload is over. */
export async function finishUpload(
  gateway: Gateway,
  path: string,
  { id, organizationId, workspaceId, filename }: UploadSession,
): Promise<StoredFile> {
  const partial = partialPath(gateway, id)
  await rename(path, partial)
  try {
    const workspace = await enterWorkspace(gateway.db, organizationId, workspaceId)
    const content = await openContent(partial, filename)
    return await keepContent(gateway, workspace, { id, content, purpose: 'user_data' })
  } finally {
    await rm(partial, { force: true })
  }
}
