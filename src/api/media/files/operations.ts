import { z } from 'zod'
import { transact } from '../../../access/transact.ts'
import { isGeminiClient } from '../../../formats/gemini/paths.ts'
import { defineOperation } from '../../../http/operation.ts'
import { GatewayError } from '../../../platform/errors/gateway-error.ts'
import { parseRequestUrl } from '../../../platform/http/request-url.ts'
import { validateInput } from '../../../platform/validation/validate-input.ts'
import { toFileId } from '../../../storage/stored-files.ts'
import { sendContent } from './content.ts'
import { authorizeWorkspace, deleteStoredFile, type FileContext, requireFile } from './context.ts'
import { geminiFileOperations, geminiPageQuery, readGeminiFile, readGeminiFilePage } from './gemini.ts'
import {
  fileId,
  isVendorBQuery,
  type ListQuery,
  listQuery,
  rejectUnsupported,
  resolveStart,
  scopeQuery,
  toVendorOptions,
} from './list-query.ts'
import { readPage } from './page.ts'
import { promoteContainerFile } from './promote.ts'
import {
  detectShape,
  fileDeleteResponse,
  fileListResponse,
  fileResponse,
  type RecordPage,
  type Shape,
  toFileDeleteResponse,
  toFileListResponse,
  toFileRecord,
  toFileResponse,
  uploadPurposes,
} from './shapes.ts'
import { receiveFile, receiveVendorFile } from './upload.ts'
import { maxUploadBytes } from './upload-form.ts'
import { deleteVendorFile, downloadVendorFile, getVendorFile, listVendorFiles } from './vendor-requests.ts'
import { openVendorStore, type VendorStore } from './vendor-store.ts'

const tag = 'Files'

const fileParam = z.object({ file_id: fileId })

const uploadForm = z.strictObject({
  file: z.string().meta({ format: 'binary' }),
  purpose: z.enum(uploadPurposes).optional(),
  'expires_after[anchor]': z.string().optional().describe('Accepted and ignored: files do not expire.'),
  'expires_after[seconds]': z.string().optional(),
})

const rangeHeaders = z.object({
  range: z
    .string()
    .optional()
    .describe('One part of the file: `bytes=0-1023`, `bytes=1024-` or `bytes=-1024`. Several are ignored.'),
  'if-range': z
    .string()
    .optional()
    .describe('The `etag` of an earlier response: with any other value, the whole file is sent.'),
})

const listAllFiles = defineOperation({
  id: 'listFiles',
  method: 'GET',
  path: '/files',
  tag,
  summary: 'Lists the files of a workspace, by default in upload order.',
  permission: 'files:read',
  query: listQuery,
  errors: [403, 404, 429, 502, 503],
  response: fileListResponse,
  handle: async (context) => {
    const { query, httpRequest } = context
    if (isGeminiClient(httpRequest))
      return Response.json(await readGeminiFilePage(context, httpRequest, parseGeminiPage(httpRequest)))
    const store = await openVendorStore(context)
    const page = store
      ? await listVendorFiles(store, toVendorOptions(store, query))
      : await readOwnPage(context, query)
    return toFileListResponse(shapeFor(httpRequest, store, isVendorBQuery(query)), page)
  },
})

const uploadFile = defineOperation({
  id: 'uploadFile',
  method: 'POST',
  path: '/files',
  tag,
  summary: 'Uploads a file.',
  description:
    'The type is detected from the content: PDF, PNG, JPEG, GIF, WebP, DOCX, XLSX, PPTX, MP3, WAV, FLAC, OGG or UTF-8 text. By default a file may have 100 MiB and a workspace 10 GiB (`files` in headgate.yaml).',
  permission: 'files:write',
  query: scopeQuery,
  rawBody: {
    contentType: 'multipart/form-data',
    schema: uploadForm,
    maxBytes: maxUploadBytes,
  },
  errors: [403, 409, 429, 502, 503],
  response: fileResponse,
  handle: async (context) => {
    const { httpRequest } = context
    const store = await openVendorStore(context)
    const { file, purpose } = store
      ? await receiveVendorFile(store, httpRequest)
      : await receiveOwnFile(context)
    if (store) await recordVendorFile(context, store, 'create', file)
    return toFileResponse(shapeFor(httpRequest, store, purpose !== undefined), file)
  },
})

const getFile = defineOperation({
  id: 'getFile',
  method: 'GET',
  path: '/files/{file_id}',
  tag,
  summary: 'Retrieves the metadata of a file.',
  permission: 'files:read',
  params: fileParam,
  query: scopeQuery,
  errors: [403, 404, 429, 502, 503],
  response: fileResponse,
  handle: async (context) => {
    const { httpRequest, params } = context
    if (isGeminiClient(httpRequest))
      return Response.json(await readGeminiFile(context, httpRequest, params.file_id))
    const store = await openVendorStore(context)
    const file = store
      ? await getVendorFile(store, params.file_id)
      : toFileRecord(await requireFile(context, params.file_id))
    return toFileResponse(shapeFor(httpRequest, store), file)
  },
})

const downloadFile = defineOperation({
  id: 'downloadFile',
  method: 'GET',
  path: '/files/{file_id}/content',
  tag,
  summary: 'Downloads a file, or a part of it.',
  description: 'With a header `Range: bytes=0-1023` the response is 206 with that part of the file.',
  permission: 'files:read',
  params: fileParam,
  query: scopeQuery,
  headers: rangeHeaders,
  otherStatuses: [206],
  errors: [403, 404, 416, 429, 502, 503],
  response: { contentType: 'application/octet-stream' },
  handle: async (context) => {
    const { params, httpRequest } = context
    const store = await openVendorStore(context)
    if (store) return downloadVendorFile(store, params.file_id, httpRequest.headers.get('range'))
    const file = await requireFile(context, params.file_id)
    const response = await sendContent(context.gateway, file, httpRequest)
    if (response) return response
    // Throws not_found if the file was deleted since the lookup.
    await requireFile(context, file.id)
    throw new GatewayError('internal', { cause: new Error(`the bytes of ${file.id} are missing`) })
  },
})

const deleteFile = defineOperation({
  id: 'deleteFile',
  method: 'DELETE',
  path: '/files/{file_id}',
  tag,
  summary: 'Deletes a file permanently.',
  permission: 'files:write',
  params: fileParam,
  query: scopeQuery,
  errors: [403, 404, 429, 502, 503],
  response: fileDeleteResponse,
  handle: async (context) => {
    const { httpRequest, params } = context
    if (isGeminiClient(httpRequest)) {
      await deleteStoredFile(context, toFileId(params.file_id))
      return Response.json({})
    }
    const store = await openVendorStore(context)
    await (store ? deleteVendorFile(store, params.file_id) : deleteStoredFile(context, params.file_id))
    if (store) await recordVendorFile(context, store, 'delete', { id: params.file_id })
    return toFileDeleteResponse(shapeFor(httpRequest, store), params.file_id)
  },
})

export const fileOperations = [
  listAllFiles,
  uploadFile,
  getFile,
  downloadFile,
  deleteFile,
  promoteContainerFile,
  ...geminiFileOperations,
]

/** A file at a vendor has the shape of that vendor, unless the client is a library of the other one. */
function shapeFor(request: Request, store: VendorStore | null, speaksVendorB = false): Shape {
  const shape = detectShape(request, speaksVendorB)
  return shape === 'service' && store ? store.format.name : shape
}

async function readOwnPage(context: FileContext, query: ListQuery): Promise<RecordPage> {
  rejectUnsupported(query)
  const { gateway } = context
  const workspace = await authorizeWorkspace(context)
  const afterSeq = await resolveStart(gateway, workspace, query)
  const { limit, order = 'asc', purpose } = query
  const page = await readPage(gateway, workspace, { afterSeq, limit, order, purpose })
  return { ...page, files: page.files.map(toFileRecord) }
}

async function receiveOwnFile(context: FileContext) {
  const { file, purpose } = await receiveFile(context, await authorizeWorkspace(context))
  return { file: toFileRecord(file), purpose }
}

/** Records a change at the vendor, which leaves no other record here. */
async function recordVendorFile(
  context: FileContext,
  { hitOwner, access }: VendorStore,
  verb: 'create' | 'delete',
  { id, filename = null }: { id: string; filename?: string | null },
): Promise<void> {
  await transact(context, async (_tx, record) =>
    record({
      action: `vendor_file.${verb}`,
      target: { type: 'vendor_file', id, name: filename },
      workspaceId: hitOwner.workspaceId,
      details: { provider: access.provider.slug },
    }),
  )
}

/** The parameter names of this vendor, which mean nothing to other clients of the same path. */
function parseGeminiPage(request: Request) {
  return validateInput(geminiPageQuery, Object.fromEntries(parseRequestUrl(request).searchParams), 'query')
}
