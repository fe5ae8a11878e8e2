import { z } from 'zod'
import { isVendorSdk } from '../../../inference/request/vendor-sdk.ts'
import { parseRequestUrl } from '../../../platform/http/request-url.ts'
import type { StoredFile } from '../../../storage/stored-files.ts'

/** A file on this server or at a vendor. */
export interface FileRecord {
  id: string
  filename: string
  mime_type: string
  size_bytes: number
  purpose: string
  /** ISO 8601. */
  created_at: string
  downloadable: boolean
}

export function toFileRecord(file: StoredFile): FileRecord {
  return { ...file, downloadable: true }
}

/** A page of files. `cursor` is only for the storage of this server. */
export interface RecordPage {
  files: FileRecord[]
  hasMore: boolean
  cursor: string | null
}

/** The client library a response is for. They differ in the type of `created_at` and in the response to a deletion. */
export type Shape = 'service' | 'vendor_a' | 'vendor_b'

export const uploadPurposes = ['assistants', 'batch', 'fine-tune', 'vision', 'user_data', 'evals'] as const
export type Purpose = (typeof uploadPurposes)[number]
export const purposes = [...uploadPurposes, 'assistants_output', 'batch_output', 'fine-tune-results'] as const

/** Fields of every shape, so that each library finds those it knows. */
const sharedFields = {
  id: z.string(),
  type: z.literal('file'),
  object: z.literal('file'),
  filename: z.string(),
  mime_type: z.string().describe('The media type, detected from the content.'),
  size_bytes: z.int(),
  bytes: z.int().describe('The same as `size_bytes`.'),
  purpose: z.enum(purposes),
  status: z.literal('processed'),
  downloadable: z.boolean(),
}
const isoTime = z.string().describe('An ISO 8601 timestamp.')
const serviceFile = z
  .strictObject({ _shape: z.literal('service'), ...sharedFields, created_at: isoTime })
  .meta({ id: 'ServiceFile' })
const vendorAFile = z
  .strictObject({ _shape: z.literal('vendor_a'), ...sharedFields, created_at: isoTime })
  .meta({ id: 'VendorAFile' })
const vendorBFile = z
  .strictObject({
    _shape: z.literal('vendor_b'),
    ...sharedFields,
    created_at: z.int().describe('A Unix timestamp in seconds.'),
  })
  .meta({ id: 'VendorBFile' })

export const fileResponse = z
  .discriminatedUnion('_shape', [serviceFile, vendorAFile, vendorBFile])
  .meta({ id: 'FileResponse' })

const pageFields = {
  object: z.literal('list'),
  first_id: z.string().nullable(),
  last_id: z.string().nullable(),
  has_more: z.boolean(),
}

export const fileListResponse = z
  .discriminatedUnion('_shape', [
    z
      .strictObject({
        _shape: z.literal('service'),
        data: z.array(serviceFile),
        ...pageFields,
        cursor: z.string().nullable().describe('The cursor of the next page; null on the last page.'),
      })
      .meta({ id: 'ServiceFileList' }),
    z
      .strictObject({ _shape: z.literal('vendor_a'), data: z.array(vendorAFile), ...pageFields })
      .meta({ id: 'VendorAFileList' }),
    z
      .strictObject({
        _shape: z.literal('vendor_b'),
        data: z.array(vendorBFile),
        ...pageFields,
      })
      .meta({ id: 'VendorBFileList' }),
  ])
  .meta({ id: 'FileListResponse' })

const deletedFields = { id: z.string(), type: z.literal('file_deleted') }

export const fileDeleteResponse = z
  .discriminatedUnion('_shape', [
    z.strictObject({ _shape: z.literal('service'), ...deletedFields }).meta({ id: 'ServiceFileDeleted' }),
    z.strictObject({ _shape: z.literal('vendor_a'), ...deletedFields }).meta({ id: 'VendorAFileDeleted' }),
    z
      .strictObject({
        _shape: z.literal('vendor_b'),
        id: z.string(),
        object: z.literal('file'),
        deleted: z.literal(true),
      })
      .meta({ id: 'VendorBFileDeleted' }),
  ])
  .meta({ id: 'FileDeleteResponse' })

/**
 * Detects the client's format by the header that one vendor's clients must send, by what only the other's send
 * (`speaksVendorB`: in the query or the form), and by the path: clients of other services append to `/v1`. Ignores the
 * user agent, which every language sets differently.
 */
export function detectShape(request: Request, speaksVendorB = false): Shape {
  if (request.headers.has('anthropic-version')) return 'vendor_a'
  const isVendorB =
    speaksVendorB || isVendorSdk(request) || /^\/(?:v1|openai)\//.test(parseRequestUrl(request).pathname)
  return isVendorB ? 'vendor_b' : 'service'
}

export function toFileResponse(shape: Shape, file: FileRecord): z.input<typeof fileResponse> {
  return shape === 'vendor_b' ? toVendorBFile(file) : toPlainFile(shape, file)
}

export function toFileListResponse(shape: Shape, page: RecordPage): z.input<typeof fileListResponse> {
  const { files, hasMore, cursor } = page
  const ends = {
    object: 'list' as const,
    first_id: files[0]?.id ?? null,
    last_id: files.at(-1)?.id ?? null,
    has_more: hasMore,
  }
  if (shape === 'vendor_b') return { _shape: shape, data: files.map(toVendorBFile), ...ends }
  if (shape === 'vendor_a')
    return { _shape: shape, data: files.map((file) => toPlainFile(shape, file)), ...ends }
  return { _shape: shape, data: files.map((file) => toPlainFile(shape, file)), ...ends, cursor }
}

export function toFileDeleteResponse(shape: Shape, id: string): z.input<typeof fileDeleteResponse> {
  if (shape === 'vendor_b') return { _shape: shape, id, object: 'file', deleted: true }
  return { _shape: shape, id, type: 'file_deleted' }
}

function toPlainFile<S extends 'service' | 'vendor_a'>(shape: S, file: FileRecord) {
  return { _shape: shape, ...toSharedFields(file), created_at: file.created_at }
}

function toVendorBFile(file: FileRecord): z.input<typeof vendorBFile> {
  const created_at = Math.floor(Date.parse(file.created_at) / 1000)
  return { _shape: 'vendor_b', ...toSharedFields(file), created_at }
}

function toSharedFields(file: FileRecord) {
  return {
    id: file.id,
    type: 'file' as const,
    object: 'file' as const,
    filename: file.filename,
    mime_type: file.mime_type,
    size_bytes: file.size_bytes,
    bytes: file.size_bytes,
    purpose: purposes.find((known) => known === file.purpose) ?? 'user_data',
    status: 'processed' as const,
    downloadable: file.downloadable,
  }
}
