import { rm } from 'node:fs/promises'
import { type AuditedRequest, transact } from '../../../access/transact.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import type { Workspace } from '../../../identity/workspaces.ts'
import { GuardedFile } from '../../../inference/guard/file.ts'
import { GatewayError } from '../../../platform/errors/gateway-error.ts'
import { currentStore } from '../../../storage/file-storage.ts'
import type { StoredFile } from '../../../storage/stored-files.ts'
import { removeContent } from './content.ts'
import { newFileId, resolvePartialPath } from './disk.ts'
import type { FileRecord, Purpose } from './shapes.ts'
import { addFile, describeFile, storageFullError, sumStoredBytes } from './store.ts'
import {
  type FileContent,
  fileTooLargeError,
  readUploadForm,
  type UploadForm,
  type UploadRules,
} from './upload-form.ts'
import { uploadVendorFile } from './vendor-requests.ts'
import type { VendorStore } from './vendor-store.ts'

/** The fields OpenAI SDKs send with the file. Files do not expire here, so an expiry has no effect. */
const ownRules: UploadRules = {
  fields: ['purpose', 'expires_after[anchor]', 'expires_after[seconds]'],
  acceptsAnyType: false,
}

export interface ReceivedFile<T> {
  file: T
  /** Purpose that the client sent. */
  purpose: Purpose | undefined
}

/** Stores the body as a file; a failure leaves nothing behind. */
export async function receiveFile(
  request: AuditedRequest,
  workspace: Workspace,
): Promise<ReceivedFile<StoredFile>> {
  const { gateway, httpRequest } = request
  await assertStorageAvailable(gateway, workspace, 1)
  return withUpload(gateway, httpRequest, ownRules, (id, { content, purpose }) =>
    storeContent(request, workspace, { id, content, purpose: purpose ?? 'user_data' }),
  )
}

/** Stores the body as a file at a vendor. It is sent once all of it has arrived, is known to be valid and has passed the guardrails. */
export async function receiveVendorFile(
  store: VendorStore,
  request: Request,
): Promise<ReceivedFile<FileRecord>> {
  const { gateway, format, contentRules, hitOwner } = store
  const rules = { fields: format.uploadFields, acceptsAnyType: true }
  return withUpload(gateway, request, rules, async (id, { content: received, fields }) => {
    const content = Bun.file(resolvePartialPath(gateway, id))
    const values = { ...format.uploadDefaults, ...Object.fromEntries(fields) }
    const sent = Object.entries(values).map(([name, value]) => ({ name, value }))
    const file = { ...received, content, fields: sent }
    return uploadVendorFile(store, await GuardedFile.guard(gateway, contentRules, hitOwner, file))
  })
}

/** Receives the form; its file is on disk only while `work` runs. */
async function withUpload<T>(
  gateway: Gateway,
  request: Request,
  rules: UploadRules,
  work: (id: string, form: UploadForm) => Promise<T>,
): Promise<ReceivedFile<T>> {
  const id = newFileId()
  const partial = resolvePartialPath(gateway, id)
  try {
    const form = await readUploadForm(gateway, request, partial, rules)
    return { file: await work(id, form), purpose: form.purpose }
  } finally {
    await rm(partial, { force: true })
  }
}

/** Rejects what cannot be stored before any of it is sent. */
export async function assertStorageAvailable(
  { db, settings }: Gateway,
  workspace: Workspace,
  size: number,
): Promise<void> {
  const { max_bytes, workspace_bytes } = settings.files
  if (size > max_bytes) throw fileTooLargeError(max_bytes)
  if ((await sumStoredBytes(db, workspace.id)) + size > workspace_bytes)
    throw storageFullError(workspace_bytes)
}

/**
 * Turns the bytes at the partial path into a file. They are stored before the row, so that every row has its bytes;
 * bytes whose row was not stored are removed, at the latest by the sweep.
 */
export async function storeContent(
  request: AuditedRequest,
  workspace: Workspace,
  { id, content, purpose }: { id: string; content: FileContent; purpose: Purpose },
): Promise<StoredFile> {
  const { gateway } = request
  await assertStorageAvailable(gateway, workspace, content.size)
  const { files, ceilings } = gateway.settings
  const { storage, store } = currentStore(gateway)
  await store.put(id, resolvePartialPath(gateway, id))
  const row = {
    id,
    organization_id: workspace.organization_id,
    workspace_id: workspace.id,
    filename: content.filename,
    mime_type: content.mimeType,
    size_bytes: content.size,
    purpose,
    storage,
  }
  try {
    const quota = { quotaBytes: files.workspace_bytes, ceilings }
    return await transact(request, async (tx, record) => {
      const file = await addFile(tx, gateway.clock, row, quota)
      record({ action: 'file.create', ...describeFile(file), after: file })
      return file
    })
  } catch (error) {
    // After any other error the row may exist: a connection can fail after the commit.
    if (error instanceof GatewayError) await removeContent(gateway, row)
    throw error
  }
}
