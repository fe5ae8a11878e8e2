import { type FileHandle, open, rm } from 'node:fs/promises'
import type { StoredFile } from '../../account/stored-files.ts'
import type { Workspace } from '../../account/workspaces.ts'
import { currentStore } from '../../app/file-storage.ts'
import type { Gateway } from '../../app/gateway.ts'
import type { Settings } from '../../app/settings.ts'
import { GatewayError, gatewayError, invalidFieldError } from '../../errors/gateway-error.ts'
import { type FormPart, readFormParts } from '../../lib/multipart.ts'
import { bodyPaceOf } from '../../pipeline/request/body-pace.ts'
import { removeContent } from './content.ts'
import { newFileId, resolvePartialPath } from './disk.ts'
import { stripAbsolutePath, validateFilename } from './filename.ts'
import { detectShape, type Purpose, uploadPurposes } from './shapes.ts'
import { canBeAccepted, headBytes, sniffType } from './sniff.ts'
import { addFile, storageFullError, sumStoredBytes } from './store.ts'

/** For everything in a form other than the file's bytes. */
const maxFormBytes = 1024 * 1024

/** Of the form of an upload. */
export function maxUploadBytes({ files }: Settings): number {
  return files.max_bytes + maxFormBytes
}

const maxFieldBytes = 1024

/** The fields OpenAI SDKs send with the file. Files do not expire here, so an expiry has no effect. */
const ignoredFields = new Set(['expires_after[anchor]', 'expires_after[seconds]'])

interface UploadForm {
  content: FileContent
  purpose: Purpose | undefined
}

interface FileContent {
  filename: string
  mimeType: string
  size: number
}

/** Stores the body as a file; a failure leaves nothing behind. */
export async function receiveFile(
  gateway: Gateway,
  workspace: Workspace,
  request: Request,
): Promise<{ file: StoredFile; purpose: Purpose | undefined }> {
  await assertStorageAvailable(gateway, workspace, 1)
  const id = newFileId()
  const partial = resolvePartialPath(gateway, id)
  try {
    const { content, purpose } = await readForm(gateway, request, partial)
    const upload = { id, content, purpose: purpose ?? 'user_data' }
    return { file: await storeContent(gateway, workspace, upload), purpose }
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
  gateway: Gateway,
  workspace: Workspace,
  { id, content, purpose }: { id: string; content: FileContent; purpose: Purpose },
): Promise<StoredFile> {
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
    return await addFile(gateway.db, gateway.clock, row, quota)
  } catch (error) {
    // After any other error the row may exist: a connection can fail after the commit.
    if (error instanceof GatewayError) await removeContent(gateway, row)
    throw error
  }
}

async function readForm(gateway: Gateway, request: Request, path: string): Promise<UploadForm> {
  let content: FileContent | undefined
  const fields = new Map<string, string>()
  const { settings } = gateway
  const body = { maxBytes: maxUploadBytes(settings), pace: bodyPaceOf(gateway) }
  for await (const part of readFormParts(request, body)) {
    if (part.name !== 'file') {
      if (fields.has(part.name)) throw invalidFieldError(part.name, 'must be sent once')
      fields.set(part.name, await readField(part))
    } else if (content) throw invalidFieldError('file', 'must be sent once')
    else {
      const isVendorB = detectShape(request, fields.has('purpose')) === 'vendor_b'
      const filename = isVendorB ? stripAbsolutePath(part.filename) : part.filename
      content = await saveContent({ ...part, filename }, path, settings.files.max_bytes)
    }
  }
  if (!content) throw invalidFieldError('file', 'is required')
  return { content, purpose: parsePurpose(fields.get('purpose')) }
}

async function readField(part: FormPart): Promise<string> {
  if (part.name !== 'purpose' && !ignoredFields.has(part.name)) {
    throw invalidFieldError(part.name.slice(0, 100) || 'body', 'is not a known field')
  }
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of part.body) {
    size += chunk.length
    if (size > maxFieldBytes) throw invalidFieldError(part.name, 'is too long')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function parsePurpose(value: string | undefined): Purpose | undefined {
  if (value === undefined) return undefined
  const purpose = uploadPurposes.find((known) => known === value)
  if (!purpose) throw invalidFieldError('purpose', `must be one of ${uploadPurposes.join(', ')}`)
  return purpose
}

async function saveContent(part: FormPart, path: string, maxBytes: number): Promise<FileContent> {
  const filename = validateFilename(part.filename)
  const file = await open(path, 'wx+', 0o600)
  try {
    return await describeContent(file, await writeContent(part, file, maxBytes), filename)
  } finally {
    await file.close()
  }
}

/** Bytes that have fully arrived. */
export async function openContent(
  { settings }: Gateway,
  path: string,
  filename: string,
): Promise<FileContent> {
  const file = await open(path, 'r+')
  try {
    const { size } = await file.stat()
    const { max_bytes } = settings.files
    if (size > max_bytes) throw fileTooLargeError(max_bytes)
    return await describeContent(file, size, filename)
  } finally {
    await file.close()
  }
}

async function describeContent(file: FileHandle, size: number, filename: string): Promise<FileContent> {
  if (size === 0) throw invalidFieldError('file', 'is empty')
  const mimeType = await sniffType(file, size, filename)
  if (!mimeType) throw unknownTypeError()
  // The commit makes the row durable, so its bytes must be durable before.
  await file.sync()
  return { filename, mimeType, size }
}

/** Rejects an unsupported file by its first bytes, not after all of it was sent. */
async function writeContent(part: FormPart, file: FileHandle, maxBytes: number): Promise<number> {
  let size = 0
  let head = Buffer.alloc(0)
  for await (const chunk of part.body) {
    size += chunk.length
    if (size > maxBytes) throw fileTooLargeError(maxBytes)
    if (head.length < headBytes) {
      head = Buffer.concat([head, chunk.subarray(0, headBytes - head.length)])
      if (head.length === headBytes && !canBeAccepted(head)) throw unknownTypeError()
    }
    await writeAll(file, chunk)
  }
  return size
}

export async function writeAll(file: FileHandle, chunk: Buffer): Promise<void> {
  for (let written = 0; written < chunk.length; ) {
    const { bytesWritten } = await file.write(chunk, written, chunk.length - written)
    written += bytesWritten
  }
}

function fileTooLargeError(maxBytes: number) {
  return gatewayError('body_too_large', `file: is larger than ${maxBytes} bytes.`, { max_bytes: maxBytes })
}

function unknownTypeError() {
  return invalidFieldError(
    'file',
    'must be PDF, PNG, JPEG, GIF, WebP, DOCX, XLSX, PPTX, MP3, WAV, FLAC, OGG or UTF-8 text',
  )
}
