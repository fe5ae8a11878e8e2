import { z } from 'zod'
import { findFile, toFileId } from '../../account/stored-files.ts'
import type { Workspace } from '../../account/workspaces.ts'
import type { Gateway } from '../../app/gateway.ts'
import { isGeminiClient } from '../../dialects/gemini/paths.ts'
import { GatewayError, gatewayError, invalidFieldError } from '../../errors/gateway-error.ts'
import { defineOperation } from '../../http/operation.ts'
import { queryInteger } from '../../lib/query-params.ts'
import { parseRequestUrl } from '../../lib/request-url.ts'
import { validateInput } from '../../lib/validate-input.ts'
import { providers } from '../../providers/all.ts'
import { sendContent } from './content.ts'
import { authorizeWorkspace, deleteStoredFile, requireFile } from './context.ts'
import { geminiFileOperations, geminiPageQuery, readGeminiFile, readGeminiFilePage } from './gemini.ts'
import { decodeCursor, readPage } from './page.ts'
import {
  detectShape,
  fileDeleteResponse,
  fileListResponse,
  fileResponse,
  purposes,
  toFileDeleteResponse,
  toFileListResponse,
  toFileResponse,
  uploadPurposes,
} from './shapes.ts'
import { maxUploadBytes, receiveFile } from './upload.ts'

const tag = 'Files'

/** Vendors with their own file storage, by neutral name and provider slug. */
const storageVendors = ['vendor_a', 'vendor_b']
const storageProviders = providers.filter(({ vendor }) => vendor && storageVendors.includes(vendor))

const scopeQuery = z.object({
  workspace_id: z
    .uuid()
    .optional()
    .describe('Defaults to the workspace of the key; for a management key, to the default workspace.'),
  provider: z
    .enum([...storageVendors, ...storageProviders.map(({ slug }) => slug)])
    .optional()
    .describe(
      'The vendor to store the file at, with your BYOK key. Omit it to store the file on this server.',
    ),
})

const fileId = z
  .string()
  .min(1)
  .max(256)
  .regex(/^[A-Za-z0-9_-]+$/, 'must be letters, digits, underscores and hyphens')

const fileParam = z.object({ file_id: fileId })

const listQuery = scopeQuery.extend({
  limit: queryInteger({ min: 1, max: 1000, fallback: 100 }),
  cursor: z.string().min(1).max(1024).optional().describe('The cursor from the previous page.'),
  after: fileId.optional().describe('The id of the last file on the previous page.'),
  after_id: fileId.optional().describe('An alias of `after`.'),
  before_id: fileId.optional().describe('Not supported by the storage of this server.'),
  order: z
    .enum(['asc', 'desc'])
    .optional()
    .describe('The storage of this server lists in upload order only: asc.'),
  purpose: z.enum(purposes).optional().describe('Lists only files uploaded for this purpose.'),
})

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
  summary: 'Lists the files of a workspace in upload order.',
  access: 'any',
  query: listQuery,
  errors: [403, 404],
  response: fileListResponse,
  handle: async (context) => {
    const { gateway, query, httpRequest } = context
    if (isGeminiClient(httpRequest))
      return Response.json(await readGeminiFilePage(context, httpRequest, parseGeminiPage(httpRequest)))
    rejectUnsupported(query)
    const workspace = await authorizeWorkspace(context)
    const afterSeq = await resolveStart(gateway, workspace, query)
    const page = await readPage(gateway, workspace, { afterSeq, limit: query.limit, purpose: query.purpose })
    return toFileListResponse(detectShape(httpRequest, isVendorBQuery(query)), page)
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
  access: 'any',
  query: scopeQuery,
  rawBody: {
    contentType: 'multipart/form-data',
    schema: uploadForm,
    maxBytes: maxUploadBytes,
  },
  errors: [403, 409],
  response: fileResponse,
  handle: async (context) => {
    const workspace = await authorizeWorkspace(context)
    const { file, purpose } = await receiveFile(context.gateway, workspace, context.httpRequest)
    return toFileResponse(detectShape(context.httpRequest, purpose !== undefined), file)
  },
})

const getFile = defineOperation({
  id: 'getFile',
  method: 'GET',
  path: '/files/{file_id}',
  tag,
  summary: 'Retrieves the metadata of a file.',
  access: 'any',
  params: fileParam,
  query: scopeQuery,
  errors: [403, 404],
  response: fileResponse,
  handle: async (context) => {
    const { httpRequest, params } = context
    if (isGeminiClient(httpRequest))
      return Response.json(await readGeminiFile(context, httpRequest, params.file_id))
    return toFileResponse(detectShape(httpRequest), await requireFile(context, params.file_id))
  },
})

const downloadFile = defineOperation({
  id: 'downloadFile',
  method: 'GET',
  path: '/files/{file_id}/content',
  tag,
  summary: 'Downloads a file, or a part of it.',
  description: 'With a header `Range: bytes=0-1023` the response is 206 with that part of the file.',
  access: 'any',
  params: fileParam,
  query: scopeQuery,
  headers: rangeHeaders,
  otherStatuses: [206],
  errors: [403, 404, 416],
  response: { contentType: 'application/octet-stream' },
  handle: async (context) => {
    const file = await requireFile(context, context.params.file_id)
    const response = await sendContent(context.gateway, file, context.httpRequest)
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
  access: 'any',
  params: fileParam,
  query: scopeQuery,
  errors: [403, 404],
  response: fileDeleteResponse,
  handle: async (context) => {
    const isGemini = isGeminiClient(context.httpRequest)
    const id = isGemini ? toFileId(context.params.file_id) : context.params.file_id
    await deleteStoredFile(context, id)
    return isGemini ? Response.json({}) : toFileDeleteResponse(detectShape(context.httpRequest), id)
  },
})

export const fileOperations = [
  listAllFiles,
  uploadFile,
  getFile,
  downloadFile,
  deleteFile,
  ...geminiFileOperations,
]

/** The parameter names of this vendor, which mean nothing to other clients of the same path. */
function parseGeminiPage(request: Request) {
  return validateInput(geminiPageQuery, Object.fromEntries(parseRequestUrl(request).searchParams), 'query')
}

type ListQuery = z.output<typeof listQuery>

/** Parameters that only one vendor's clients send. */
function isVendorBQuery({ after, purpose }: ListQuery): boolean {
  return after !== undefined || purpose !== undefined
}

function rejectUnsupported(query: ListQuery): void {
  const starts = (['cursor', 'after', 'after_id'] as const).filter((name) => query[name] !== undefined)
  const [first, second] = starts
  if (second) throw invalidFieldError(second, `must not be combined with ${first}`)
  if (query.before_id !== undefined) throw invalidFieldError('before_id', 'is not supported by this storage')
  if (query.order === 'desc')
    throw invalidFieldError('order', 'must be asc: this storage lists in upload order')
}

/** The page starts after this position in upload order. */
async function resolveStart(gateway: Gateway, workspace: Workspace, query: ListQuery): Promise<number> {
  if (query.cursor !== undefined)
    return decodeCursor(gateway, workspace, { field: 'cursor', token: query.cursor })
  const id = query.after ?? query.after_id
  if (id === undefined) return 0
  const file = await findFile(gateway.db, workspace.id, id)
  if (!file)
    throw gatewayError('not_found', `${query.after ? 'after' : 'after_id'}: the file does not exist.`)
  return file.seq
}
