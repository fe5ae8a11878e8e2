import { z } from 'zod'
import type { StoredFile } from './store.ts'

/** Whose SDK the answer is for: each reads the same file in the fields it knows. */
export type Shape = 'service' | 'vendor_a' | 'vendor_b'

export const uploadPurposes = ['assistants', 'batch', 'fine-tune', 'vision', 'user_data', 'evals'] as const
export type Purpose = (typeof uploadPurposes)[number]
const purposes = [...uploadPurposes, 'assistants_output', 'batch_output', 'fine-tune-results'] as const

const plainFields = {
  id: z.string(),
  type: z.literal('file'),
  filename: z.string(),
  mime_type: z.string().describe('Found from the content'),
  size_bytes: z.int(),
  created_at: z.string(),
  downloadable: z.boolean(),
}
const serviceFile = z
  .strictObject({ _shape: z.literal('service'), ...plainFields })
  .meta({ id: 'ServiceFile' })
const vendorAFile = z
  .strictObject({ _shape: z.literal('vendor_a'), ...plainFields })
  .meta({ id: 'VendorAFile' })
const vendorBFile = z
  .strictObject({
    _shape: z.literal('vendor_b'),
    id: z.string(),
    object: z.literal('file'),
    filename: z.string(),
    bytes: z.int(),
    created_at: z.int().describe('Unix seconds'),
    purpose: z.enum(purposes),
    status: z.literal('processed'),
  })
  .meta({ id: 'VendorBFile' })

export const fileResponse = z
  .discriminatedUnion('_shape', [serviceFile, vendorAFile, vendorBFile])
  .meta({ id: 'FileResponse' })

const pageFields = {
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
        cursor: z.string().nullable().describe('Ask for the next page with it; null on the last one'),
      })
      .meta({ id: 'ServiceFileList' }),
    z
      .strictObject({ _shape: z.literal('vendor_a'), data: z.array(vendorAFile), ...pageFields })
      .meta({ id: 'VendorAFileList' }),
    z
      .strictObject({
        _shape: z.literal('vendor_b'),
        object: z.literal('list'),
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

/** `speaksVendorB`: something only that vendor's clients send was in the query or the form. */
export function shapeOf(request: Request, speaksVendorB = false): Shape {
  if (request.headers.has('anthropic-version')) return 'vendor_a'
  const sdk = /^(Async)?(Azure)?OpenAI\//.test(request.headers.get('user-agent') ?? '')
  return sdk || speaksVendorB ? 'vendor_b' : 'service'
}

export function presentFile(shape: Shape, file: StoredFile): z.input<typeof fileResponse> {
  return shape === 'vendor_b' ? inVendorB(file) : inPlain(shape, file)
}

export interface FilePage {
  files: StoredFile[]
  hasMore: boolean
  cursor: string | null
}

export function presentPage(shape: Shape, page: FilePage): z.input<typeof fileListResponse> {
  const { files, hasMore, cursor } = page
  const ends = { first_id: files[0]?.id ?? null, last_id: files.at(-1)?.id ?? null, has_more: hasMore }
  if (shape === 'vendor_b') return { _shape: shape, object: 'list', data: files.map(inVendorB), ...ends }
  if (shape === 'vendor_a') return { _shape: shape, data: files.map((file) => inPlain(shape, file)), ...ends }
  return { _shape: shape, data: files.map((file) => inPlain(shape, file)), ...ends, cursor }
}

export function presentDeleted(shape: Shape, id: string): z.input<typeof fileDeleteResponse> {
  if (shape === 'vendor_b') return { _shape: shape, id, object: 'file', deleted: true }
  return { _shape: shape, id, type: 'file_deleted' }
}

function inPlain<S extends 'service' | 'vendor_a'>(shape: S, file: StoredFile) {
  return {
    _shape: shape,
    id: file.id,
    type: 'file' as const,
    filename: file.filename,
    mime_type: file.mime_type,
    size_bytes: file.size_bytes,
    created_at: file.created_at,
    downloadable: true,
  }
}

function inVendorB(file: StoredFile): z.input<typeof vendorBFile> {
  return {
    _shape: 'vendor_b',
    id: file.id,
    object: 'file',
    filename: file.filename,
    bytes: file.size_bytes,
    created_at: Math.floor(Date.parse(file.created_at) / 1000),
    purpose: purposes.find((known) => known === file.purpose) ?? 'user_data',
    status: 'processed',
  }
}
