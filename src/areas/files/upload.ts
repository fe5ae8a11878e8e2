import { type FileHandle, open, rename, rm } from 'node:fs/promises'
import type { Workspace } from '../../account/workspaces.ts'
import { badField, fail } from '../../errors.ts'
import type { Gateway } from '../../gateway.ts'
import { formParts, type Part } from '../../lib/multipart.ts'
import { contentPath, newFileId, partialPath } from './disk.ts'
import { checkFilename } from './filename.ts'
import { type Purpose, uploadPurposes } from './shapes.ts'
import { headBytes, mayBeAccepted, sniff } from './sniff.ts'
import { addFile, bytesStored, type StoredFile, storageFull } from './store.ts'

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
  if ((await bytesStored(gateway.db, workspace.id)) >= limits.quotaBytes) throw storageFull(limits.quotaBytes)
  const id = newFileId()
  const partial = partialPath(gateway, id)
  try {
    const { content, purpose } = await readForm(request, partial, limits)
    const row = {
      id,
      organization_id: workspace.organization_id,
      workspace_id: workspace.id,
      filename: content.filename,
      mime_type: content.mimeType,
      size_bytes: content.size,
      purpose: purpose ?? 'user_data',
    }
    const place = () => rename(partial, contentPath(gateway, id))
    const file = await addFile(gateway.db, gateway.clock, row, limits.quotaBytes, place)
    return { file, purpose }
  } finally {
    await rm(partial, { force: true })
  }
}

async function readForm(request: Request, path: string, limits: Limits): Promise<Form> {
  let content: Content | undefined
  const fields = new Map<string, string>()
  for await (const part of formParts(request, limits.fileBytes + limits.formBytes)) {
    if (part.name !== 'file') {
      if (fields.has(part.name)) throw badField(part.name, 'must be sent once')
      fields.set(part.name, await readField(part))
    } else if (content) throw badField('file', 'must be sent once')
    else content = await saveContent(part, path, limits.fileBytes)
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
    const size = await writeContent(part, file, maxBytes)
    if (size === 0) throw badField('file', 'is empty')
    const mimeType = await sniff(file, size, filename)
    if (!mimeType) throw unknownType()
    // The row is durable when it is committed; the bytes it speaks of must be by then.
    await file.sync()
    return { filename, mimeType, size }
  } finally {
    await file.close()
  }
}

/** A file that cannot be accepted is refused from its beginning, not after all of it was sent. */
async function writeContent(part: Part, file: FileHandle, maxBytes: number): Promise<number> {
  let size = 0
  let head = Buffer.alloc(0)
  for await (const piece of part.body) {
    size += piece.length
    if (size > maxBytes) {
      throw fail('body_too_large', `file: is larger than ${maxBytes} bytes.`, { max_bytes: maxBytes })
    }
    if (head.length < headBytes) {
      head = Buffer.concat([head, piece.subarray(0, headBytes - head.length)])
      if (head.length === headBytes && !mayBeAccepted(head)) throw unknownType()
    }
    await writeAll(file, piece)
  }
  return size
}

async function writeAll(file: FileHandle, piece: Buffer): Promise<void> {
  for (let written = 0; written < piece.length; ) {
    const { bytesWritten } = await file.write(piece, written, piece.length - written)
    written += bytesWritten
  }
}

function unknownType() {
  return badField(
    'file',
    'must be PDF, PNG, JPEG, GIF, WebP, DOCX, XLSX, PPTX, MP3, WAV, FLAC, OGG or UTF-8 text',
  )
}
