import { open, rename, rm, stat } from 'node:fs/promises'
import { z } from 'zod'
import { authenticateByHash } from '../../../access/authenticate.ts'
import { authorize } from '../../../access/authorize.ts'
import type { Caller } from '../../../access/caller.ts'
import type { AuditedRequest } from '../../../access/transact.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { loadMemberGrant } from '../../../identity/member-grant.ts'
import { requireMember } from '../../../identity/members.ts'
import { resolveScope, type Scope } from '../../../identity/permissions/grant.ts'
import { resolveWorkspace } from '../../../identity/workspaces.ts'
import { invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { bodyPaceOf, readBodyChunks } from '../../../platform/http/body-reader.ts'
import type { StoredFile } from '../../../storage/stored-files.ts'
import { authorizeWorkspace, type FileContext } from './context.ts'
import { resolvePartialPath } from './disk.ts'
import { uploadNotFoundError } from './session-file.ts'
import { abandonedAfterMs } from './sweep.ts'
import { storeContent } from './upload.ts'
import { openContent, writeAll } from './upload-form.ts'

/** The state of an upload in several requests, encrypted into the upload URL. */
const sessionSchema = z.strictObject({
  id: z.string(),
  /** The bytes may be sent without a key: the key that started the session must still be valid. */
  keyHash: z.string(),
  organizationId: z.string(),
  workspaceId: z.string(),
  filename: z.string(),
  expiresAt: z.number(),
})

export type UploadSession = z.output<typeof sessionSchema>

const encryptionContext = 'files/upload'

export function encryptSession({ vault, clock }: Gateway, fields: Omit<UploadSession, 'expiresAt'>): string {
  const session: UploadSession = { ...fields, expiresAt: clock.now() + abandonedAfterMs }
  return vault.encrypt(JSON.stringify(session), encryptionContext)
}

/** 404 for an unknown or expired upload URL; otherwise as if the request carried the session's key. */
export async function openUploadSession(
  { gateway, httpRequest, region }: Pick<FileContext, 'gateway' | 'httpRequest' | 'region'>,
  encrypted: string,
): Promise<{ session: UploadSession; caller: Caller }> {
  const session = decryptSession(gateway, encrypted)
  if (!session || session.expiresAt <= gateway.clock.now()) throw uploadNotFoundError()
  const caller = await authenticateByHash(gateway, session.keyHash)
  const scope = await resolveUploadScope(gateway, caller)
  const query = { workspace_id: session.workspaceId }
  await authorizeWorkspace({ gateway, caller, scope, httpRequest, region, query })
  return { session, caller }
}

/** Resolves the scope again: a member's permissions can have changed since the session started the upload. */
async function resolveUploadScope(gateway: Gateway, caller: Caller): Promise<Scope> {
  if (caller.key.source !== 'session') return authorize(gateway, caller, 'files:write')
  const member = await requireMember(gateway.db, caller.organizationId, caller.userId ?? '')
  return resolveScope(await loadMemberGrant(gateway.db, member), 'files:write')
}

function decryptSession({ vault }: Gateway, encrypted: string): UploadSession | undefined {
  try {
    return sessionSchema.parse(JSON.parse(vault.decrypt(encrypted, encryptionContext)))
  } catch {
    return undefined
  }
}

/** Appends the whole body or nothing; `offset` is where the client expects to continue. */
export async function receiveChunk(
  gateway: Gateway,
  path: string,
  request: Request,
  offset: number,
): Promise<void> {
  const received = await countReceivedBytes(path)
  if (offset !== received) throw invalidFieldError('x-goog-upload-offset', `must be ${received}`)
  const limits = { maxBytes: gateway.settings.files.max_bytes - offset, pace: bodyPaceOf(gateway) }
  const file = await open(path, 'a')
  try {
    for await (const chunk of readBodyChunks(request, limits)) {
      await writeAll(file, Buffer.from(chunk))
    }
  } catch (error) {
    await file.truncate(offset)
    throw error
  } finally {
    await file.close()
  }
}

export async function countReceivedBytes(path: string): Promise<number> {
  return (await stat(path)).size
}

/** Turns the bytes into a file. The session ends even if they are rejected. */
export async function finishUpload(
  request: AuditedRequest,
  path: string,
  { id, organizationId, workspaceId, filename }: UploadSession,
): Promise<StoredFile> {
  const { gateway } = request
  const partial = resolvePartialPath(gateway, id)
  await rename(path, partial)
  try {
    const workspace = await resolveWorkspace(gateway.db, organizationId, workspaceId)
    const content = await openContent(gateway, partial, filename)
    return await storeContent(request, workspace, { id, content, purpose: 'user_data' })
  } finally {
    await rm(partial, { force: true })
  }
}
