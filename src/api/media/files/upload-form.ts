import { type FileHandle, open } from 'node:fs/promises'
import type { Gateway } from '../../../gateway/gateway.ts'
import type { Settings } from '../../../gateway/settings.ts'
import { gatewayError, invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { bodyPaceOf } from '../../../platform/http/body-reader.ts'
import { type FormPart, readFormParts } from '../../../platform/http/multipart.ts'
import { stripAbsolutePath, validateFilename } from './filename.ts'
import { detectShape, type Purpose, uploadPurposes } from './shapes.ts'
import { canBeAccepted, headBytes, sniffType } from './sniff.ts'

/** Maximum bytes of a form besides the file's own. */
const maxFormBytes = 1024 * 1024

/** Maximum bytes of the form of an upload. */
export function maxUploadBytes({ files }: Settings): number {
  return files.max_bytes + maxFormBytes
}

const maxFieldBytes = 1024

/** Rules of the storage that an upload goes to. */
export interface UploadRules {
  /** The fields besides the file. */
  fields: readonly string[]
  /** A file whose type is not known is accepted too. */
  acceptsAnyType: boolean
}

export interface UploadForm {
  content: FileContent
  purpose: Purpose | undefined
  /** All fields besides the file, by name. */
  fields: ReadonlyMap<string, string>
}

export interface FileContent {
  filename: string
  mimeType: string
  size: number
}

const unknownType = 'application/octet-stream'

/** Reads the form of an upload; the bytes of the file are written to `path`. */
export async function readUploadForm(
  gateway: Gateway,
  request: Request,
  path: string,
  rules: UploadRules,
): Promise<UploadForm> {
  let content: FileContent | undefined
  const fields = new Map<string, string>()
  const { settings } = gateway
  const body = { maxBytes: maxUploadBytes(settings), pace: bodyPaceOf(gateway) }
  for await (const part of readFormParts(request, body)) {
    if (part.name !== 'file') {
      if (fields.has(part.name)) throw invalidFieldError(part.name, 'must be sent once')
      fields.set(part.name, await readField(part, rules))
    } else if (content) throw invalidFieldError('file', 'must be sent once')
    else {
      const isVendorB = detectShape(request, fields.has('purpose')) === 'vendor_b'
      const filename = isVendorB ? stripAbsolutePath(part.filename) : part.filename
      content = await saveContent({ ...part, filename }, path, settings.files.max_bytes, rules)
    }
  }
  if (!content) throw invalidFieldError('file', 'is required')
  return { content, purpose: parsePurpose(fields.get('purpose')), fields }
}

async function readField(part: FormPart, rules: UploadRules): Promise<string> {
  if (!rules.fields.includes(part.name))
    throw invalidFieldError(part.name.slice(0, 100) || 'body', 'is not a known field')
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

async function saveContent(
  part: FormPart,
  path: string,
  maxBytes: number,
  { acceptsAnyType }: UploadRules,
): Promise<FileContent> {
  const filename = validateFilename(part.filename)
  const file = await open(path, 'wx+', 0o600)
  try {
    const size = await writeContent(part, file, { maxBytes, acceptsAnyType })
    return await describeContent(file, { size, filename, acceptsAnyType })
  } finally {
    await file.close()
  }
}

/** Bytes that have fully arrived. */
export async function openContent(
  { settings }: Gateway,
  path: string,
  filename: string,
  acceptsAnyType = false,
): Promise<FileContent> {
  const file = await open(path, 'r+')
  try {
    const { size } = await file.stat()
    const { max_bytes } = settings.files
    if (size > max_bytes) throw fileTooLargeError(max_bytes)
    return await describeContent(file, { size, filename, acceptsAnyType })
  } finally {
    await file.close()
  }
}

async function describeContent(
  file: FileHandle,
  { size, filename, acceptsAnyType }: { size: number; filename: string; acceptsAnyType: boolean },
): Promise<FileContent> {
  if (size === 0) throw invalidFieldError('file', 'is empty')
  const mimeType = (await sniffType(file, size, filename)) ?? (acceptsAnyType ? unknownType : undefined)
  if (!mimeType) throw unknownTypeError()
  // The commit makes the row durable, so its bytes must be durable before.
  await file.sync()
  return { filename, mimeType, size }
}

/** Rejects an unsupported file by its first bytes, not after all of it was sent. */
async function writeContent(
  part: FormPart,
  file: FileHandle,
  { maxBytes, acceptsAnyType }: { maxBytes: number; acceptsAnyType: boolean },
): Promise<number> {
  let size = 0
  let head = Buffer.alloc(0)
  for await (const chunk of part.body) {
    size += chunk.length
    if (size > maxBytes) throw fileTooLargeError(maxBytes)
    if (head.length < headBytes) {
      head = Buffer.concat([head, chunk.subarray(0, headBytes - head.length)])
      if (head.length === headBytes && !acceptsAnyType && !canBeAccepted(head)) throw unknownTypeError()
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

export function fileTooLargeError(maxBytes: number) {
  return gatewayError('body_too_large', `file: is larger than ${maxBytes} bytes.`, { max_bytes: maxBytes })
}

function unknownTypeError() {
  return invalidFieldError(
    'file',
    'must be PDF, PNG, JPEG, GIF, WebP, DOCX, XLSX, PPTX, MP3, WAV, FLAC, OGG or UTF-8 text',
  )
}
