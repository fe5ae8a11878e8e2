import { type FileHandle, open, rename, rm } from 'node:fs/promises'
import { contentPath, type StoredFile } from '../../account/stored-files.ts'
import type { Workspace } from '../../account/workspaces.ts'
import { badField, fail } from '../../errors.ts'
import type { Gateway } from '../../gateway.ts'
import { formParts, type Part } from '../../lib/multipart.ts'
import { paceOf } from '../../pipeline/pace.ts'
import { newFileId, partialPath } from './disk.ts'
import { checkFilename, withoutRoot } from './filename.ts'
import { type Purpose, shapeOf, uploadPurposes } from './shapes.ts'
import { headBytes, mayBeAccepted, sniff } from './sniff.ts'
import { addFile, bytesStored, storageFull } from './store.ts'

const mebibyte = 1024 * 1024

export interface Limits {
  fileBytes: number
  /** For everything a form has beside the file's bytes. */
  formBytes: number
  /** For all files of a workspace together. */
  quotaBytes: number
}

export const standardLimits: Limits = {
  fileBytes: 100 * mebibyte,
  formBytes: mebibyte,
  quotaBytes: 10 * 1024 * mebibyte,
}

const maxFieldBytes = 1024

/** What the OpenAI SDKs send beside the file. Files do not expire here, so an expiry changes nothing. */
const otherFields = new Set(['expires_after[anchor]', 'expires_after[seconds]'])

interface Form {
  content: Content
  purpose: Purpose | undefined
}

interface Content {
  filename: string
  mimeType: string
  size: number
}

/** From the request's body to a file that is there: whatever fails on the way leaves nothing behind. */
export async function receiveFile(
  gateway: Gateway,
  workspace: Workspace,
  request: Request,
  limits: Limits = standardLimits,
): Promise<{ file: StoredFile; purpose: Purpose | undefined }> {
  await refuseFull(gateway, workspace, 1, limits)
  const id = newFileId()
  const partial = partialPath(gateway, id)
  try {
    const { content, purpose } = await readForm(gateway, request, partial, limits)
    const kept = { id, content, purpose: purpose ?? 'user_data' }
    return { file: await keepContent(gateway, workspace, kept, limits), purpose }
  } finally {
    await rm(partial, { force: true })
  }
}

/** What cannot be kept is refused before any of it is sent. */
export async function refuseFull(
  { db }: Gateway,
  workspace: Workspace,
  size: number,
  { fileBytes, quotaBytes }: Limits = standardLimits,
): Promise<void> {
  if (size > fileBytes) throw fileTooLarge(fileBytes)
  if ((await bytesStored(db, workspace.id)) + size > quotaBytes) throw storageFull(quotaBytes)
}

/** The bytes that lie at the partial path become a file. */
export async function keepContent(
  gateway: Gateway,
  workspace: Workspace,
  { id, content, purpose }: { id: string; content: Content; purpose: Purpose },
  { quotaBytes }: Limits = standardLimits,
): Promise<StoredFile> {
  const row = {
    id,
    organization_id: workspace.organization_id,
    workspace_id: workspace.id,
    filename: content.filename,
    mime_type: content.mimeType,
    size_bytes: content.size,
    purpose,
  }
  const place = () => rename(partialPath(gateway, id), contentPath(gateway.config, id))
  const room = { quotaBytes, ceilings: gateway.settings.ceilings }
  return addFile(gateway.db, gateway.clock, row, room, place)
}

async function readForm(gateway: Gateway, request: Request, path: string, limits: Limits): Promise<Form> {
  let content: Content | undefined
  const fields = new Map<string, string>()
  const body = { maxBytes: limits.fileBytes + limits.formBytes, pace: paceOf(gateway) }
  for await (const part of formParts(request, body)) {
    if (part.name !== 'file') {
      if (fields.has(part.name)) throw badField(part.name, 'must be sent once')
      fields.set(part.name, await readField(part))
    } else if (content) throw badField('file', 'must be sent once')
    else {
      const isVendorB = shapeOf(request, fields.has('purpose')) === 'vendor_b'
      const filename = isVendorB ? withoutRoot(part.filename) : part.filename
      content = await saveContent({ ...part, filename }, path, limits.fileBytes)
    }
  }
  if (!content) throw badField('file', 'is required')
  return { content, purpose: purposeOf(fields.get('purpose')) }
}

async function readField(part: Part): Promise<string> {
  if (part.name !== 'purpose' && !otherFields.has(part.name)) {
    throw badField(part.name.slice(0, 100) || 'body', 'is not a known field')
  }
  const pieces: Buffer[] = []
  let size = 0
  for await (const piece of part.body) {
    size += piece.length
    if (size > maxFieldBytes) throw badField(part.name, 'is too long')
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString('utf8')
}

function purposeOf(value: string | undefined): Purpose | undefined {
  if (value === undefined) return undefined
  const purpose = uploadPurposes.find((known) => known === value)
  if (!purpose) throw badField('purpose', `must be one of ${uploadPurposes.join(', ')}`)
  return purpose
}

async function saveContent(part: Part, path: string, maxBytes: number): Promise<Content> {
  const filename = checkFilename(part.filename)
  const file = await open(path, 'wx+', 0o600)
  try {
    return await describeContent(file, await writeContent(part, file, maxBytes), filename)
  } finally {
    await file.close()
  }
}

/** Bytes that have all arrived already. */
export async function openContent(path: string, filename: string): Promise<Content> {
  const file = await open(path, 'r+')
  try {
    const { size } = await file.stat()
    if (size > standardLimits.fileBytes) throw fileTooLarge(standardLimits.fileBytes)
    return await describeContent(file, size, filename)
  } finally {
    await file.close()
  }
}

async function describeContent(file: FileHandle, size: number, filename: string): Promise<Content> {
  if (size === 0) throw badField('file', 'is empty')
  const mimeType = await sniff(file, size, filename)
  if (!mimeType) throw unknownType()
  // The row is durable when it is committed; the bytes it speaks of must be by then.
  await file.sync()
  return { filename, mimeType, size }
}

/** A file that cannot be accepted is refused from its beginning, not after all of it was sent. */
async function writeContent(part: Part, file: FileHandle, maxBytes: number): Promise<number> {
  let size = 0
  let head = Buffer.alloc(0)
  for await (const piece of part.body) {
    size += piece.length
    if (size > maxBytes) throw fileTooLarge(maxBytes)
    if (head.length < headBytes) {
      head = Buffer.concat([head, piece.subarray(0, headBytes - head.length)])
      if (head.length === headBytes && !mayBeAccepted(head)) throw unknownType()
    }
    await writeAll(file, piece)
  }
  return size
}

export async function writeAll(file: FileHandle, piece: Buffer): Promise<void> {
  for (let written = 0; written < piece.length; ) {
    const { bytesWritten } = await file.write(piece, written, piece.length - written)
    written += bytesWritten
  }
}

function fileTooLarge(maxBytes: number) {
  return fail('body_too_large', `file: is larger than ${maxBytes} bytes.`, { max_bytes: maxBytes })
}

function unknownType() {
  return badField(
    'file',
    'must be PDF, PNG, JPEG, GIF, WebP, DOCX, XLSX, PPTX, MP3, WAV, FLAC, OGG or UTF-8 text',
  )
}
