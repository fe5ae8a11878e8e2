import { rm } from 'node:fs/promises'
import { z } from 'zod'
import { type StoredFile, toFileId, toGeminiFileName } from '../../account/stored-files.ts'
import type { Gateway } from '../../app/gateway.ts'
import { gemini } from '../../dialects/gemini/gemini.ts'
import { buildApiPaths } from '../../dialects/gemini/paths.ts'
import { invalidFieldError, toGatewayError } from '../../errors/gateway-error.ts'
import { defineOperation } from '../../http/operation.ts'
import { queryInteger } from '../../lib/query-params.ts'
import { publicOrigin } from '../../pipeline/request/origin.ts'
import { authorizeWorkspace, deleteStoredFile, type FileContext, requireFile } from './context.ts'
import { newFileId } from './disk.ts'
import { validateFilename } from './filename.ts'
import { decodeCursor, readPage } from './page.ts'
import {
  countReceivedBytes,
  finishUpload,
  openUploadSession,
  receiveChunk,
  sealSession,
  type UploadSession,
} from './resumable.ts'
import { createSessionFile, withSessionFile } from './session-file.ts'
import { assertStorageAvailable, defaultLimits } from './upload.ts'

const common = {
  tag: 'Gemini',
  root: true,
  encodeError: gemini.client.encodeError,
} as const

const geminiFile = z
  .strictObject({
    name: z.string().describe('`files/4f1c...`'),
    displayName: z.string(),
    mimeType: z.string().describe('Found from the content'),
    sizeBytes: z.string(),
    createTime: z.string(),
    updateTime: z.string(),
    uri: z.string().describe('For `fileData.fileUri` of a prompt'),
    state: z.literal('ACTIVE'),
    source: z.literal('UPLOADED'),
  })
  .meta({ id: 'GeminiFile' })

export const geminiPageQuery = z.object({
  pageSize: queryInteger({ min: 1, max: 100, fallback: 10 }),
  pageToken: z.string().min(1).max(1024).optional().describe('From the page before'),
})

const fileNameParams = z.object({
  file_id: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,256}$/, 'must be letters, digits, underscores and hyphens')
    .describe('The name without `files/`'),
})

const size = z.union([z.string().regex(/^\d{1,15}$/), z.int().min(0)]).optional()
const mimeType = z.string().optional().describe('Accepted; the type is found from the content')

/** The vendor takes each field in two spellings, and its clients use both. */
const declaredFile = z.strictObject({
  displayName: z.string().optional(),
  display_name: z.string().optional(),
  mimeType,
  mime_type: mimeType,
  sizeBytes: size,
  size_bytes: size,
  name: z.never('is made by this server; leave it out').optional(),
})

const noQuery = {}

const startUpload = defineOperation({
  ...common,
  ...buildApiPaths('/files', { prefix: '/upload' }),
  id: 'startGeminiUpload',
  method: 'POST',
  summary: 'Begin the upload of a file in the resumable protocol of the Gemini API',
  description:
    'The header `x-goog-upload-url` of the answer is where the bytes are sent. Types and sizes are those of `POST /files`, whose storage this is.',
  access: 'any',
  body: z.strictObject({ file: declaredFile.optional() }),
  errors: [403, 413],
  response: z.strictObject({}),
  handle: async (context) => {
    const { gateway, caller, httpRequest } = context
    const { file = {} } = context.body
    validateProtocol(httpRequest)
    const workspace = await authorizeWorkspace({ ...context, query: noQuery })
    await assertStorageAvailable(
      gateway,
      workspace,
      parseDeclaredSize(httpRequest, file.sizeBytes ?? file.size_bytes),
    )
    const id = newFileId()
    const filename = resolveFilename(httpRequest, file.displayName ?? file.display_name)
    await createSessionFile(gateway, workspace, id)
    const upload = sealSession(gateway, {
      id,
      keyHash: caller.key.hash,
      organizationId: workspace.organization_id,
      workspaceId: workspace.id,
      filename,
    })
    const url = `${publicOrigin(gateway, httpRequest)}/upload/sessions/${upload}`
    return Response.json({}, { headers: { 'x-goog-upload-url': url, 'x-goog-upload-status': 'active' } })
  },
})

const sendBytes = defineOperation({
  ...common,
  id: 'sendGeminiUpload',
  method: 'POST',
  path: '/upload/sessions/{upload}',
  summary: 'Send the bytes of a file, in one piece or several',
  description:
    'Needs no key, because the clients of this protocol send none here: the address was given to the key that began the upload, is good for an hour, and ends with that key. `x-goog-upload-command` is `upload`, `upload, finalize`, `finalize`, `query` or `cancel`. One request at a time: another one meanwhile is a 409, to be sent again. Once the file is there or the upload is cancelled, the address is a 404.',
  access: 'public',
  params: z.object({
    upload: z
      .string()
      .max(4096)
      .regex(/^[A-Za-z0-9_.-]+$/, 'is not the name of an upload'),
  }),
  rawBody: {
    contentType: 'application/octet-stream',
    schema: z.string().meta({ format: 'binary' }),
    maxBytes: defaultLimits.fileBytes,
  },
  errors: [401, 404, 409, 413],
  response: z.strictObject({ file: geminiFile.optional() }),
  handle: async ({ gateway, httpRequest, params, region }) => {
    try {
      const session = await openUploadSession(gateway, params.upload, region)
      return await runUploadCommand(gateway, httpRequest, session)
    } catch (error) {
      const failure = toGatewayError(error)
      // Without a status the clients send the same bytes again, which helps only while another request writes.
      if (failure.code !== 'concurrent_change') failure.headers['x-goog-upload-status'] = 'cancelled'
      throw failure
    }
  },
})

const listGeminiFiles = defineOperation({
  ...common,
  ...buildApiPaths('/files', { except: 'v1' }),
  id: 'listGeminiFiles',
  method: 'GET',
  summary: 'List the files of a workspace, in the Gemini format',
  description: '`GET /v1/files` gives the same to clients that send their key as `x-goog-api-key`.',
  access: 'any',
  query: geminiPageQuery,
  errors: [403],
  response: z
    .strictObject({
      files: z.array(geminiFile),
      nextPageToken: z.string().optional().describe('Absent on the last page'),
    })
    .meta({ id: 'GeminiFileList' }),
  handle: (context) => readGeminiFilePage({ ...context, query: noQuery }, context.httpRequest, context.query),
})

const getGeminiFile = defineOperation({
  ...common,
  ...buildApiPaths('/files/{file_id}', { except: 'v1' }),
  id: 'getGeminiFile',
  method: 'GET',
  summary: 'Read what is known of a file, in the Gemini format',
  access: 'any',
  params: fileNameParams,
  errors: [403, 404],
  response: geminiFile,
  handle: (context) =>
    readGeminiFile({ ...context, query: noQuery }, context.httpRequest, context.params.file_id),
})

const deleteGeminiFile = defineOperation({
  ...common,
  ...buildApiPaths('/files/{file_id}', { except: 'v1' }),
  id: 'deleteGeminiFile',
  method: 'DELETE',
  summary: 'Delete a file for good, in the Gemini format',
  access: 'any',
  params: fileNameParams,
  errors: [403, 404],
  response: z.strictObject({}),
  handle: async (context) => {
    await deleteStoredFile({ ...context, query: noQuery }, toFileId(context.params.file_id))
    return {}
  },
})

export const geminiFileOperations = [startUpload, sendBytes, listGeminiFiles, getGeminiFile, deleteGeminiFile]

export async function readGeminiFilePage(
  context: FileContext,
  request: Request,
  { pageSize, pageToken }: z.output<typeof geminiPageQuery>,
) {
  const workspace = await authorizeWorkspace(context)
  const token = pageToken && { field: 'pageToken', token: pageToken }
  const afterSeq = token ? decodeCursor(context.gateway, workspace, token) : 0
  const { files, cursor } = await readPage(context.gateway, workspace, { afterSeq, limit: pageSize })
  const origin = publicOrigin(context.gateway, request)
  return {
    files: files.map((file) => toGeminiFile(file, origin)),
    ...(cursor !== null && { nextPageToken: cursor }),
  }
}

export async function readGeminiFile(context: FileContext, request: Request, name: string) {
  return toGeminiFile(await requireFile(context, toFileId(name)), publicOrigin(context.gateway, request))
}

function toGeminiFile(file: StoredFile, origin: string): z.input<typeof geminiFile> {
  const name = `files/${toGeminiFileName(file.id)}`
  return {
    name,
    displayName: file.filename,
    mimeType: file.mime_type,
    sizeBytes: String(file.size_bytes),
    createTime: file.created_at,
    updateTime: file.created_at,
    uri: `${origin}/v1beta/${name}`,
    state: 'ACTIVE',
    source: 'UPLOADED',
  }
}

function validateProtocol({ headers }: Request): void {
  const protocol = headers.get('x-goog-upload-protocol') ?? 'resumable'
  if (protocol !== 'resumable') throw invalidFieldError('x-goog-upload-protocol', 'must be resumable')
}

function parseDeclaredSize({ headers }: Request, bodySize: string | number | undefined): number {
  const size = Number(headers.get('x-goog-upload-header-content-length') ?? bodySize ?? 0)
  if (!Number.isSafeInteger(size) || size < 0) {
    throw invalidFieldError('x-goog-upload-header-content-length', 'must be a number of bytes')
  }
  return size
}

function resolveFilename({ headers }: Request, displayName: string | undefined): string {
  return validateFilename(displayName ?? headers.get('x-goog-upload-file-name') ?? 'upload')
}

const commands = ['upload', 'finalize', 'query', 'cancel']

async function runUploadCommand(
  gateway: Gateway,
  request: Request,
  session: UploadSession,
): Promise<Response> {
  const header = request.headers.get('x-goog-upload-command') ?? 'query'
  const requested = header.split(',').map((word) => word.trim())
  if (!requested.every((word) => commands.includes(word))) {
    throw invalidFieldError('x-goog-upload-command', `must be ${commands.join(', ')} or "upload, finalize"`)
  }
  return withSessionFile(gateway, session, async (path) => {
    if (requested.includes('cancel')) {
      await rm(path)
      return Response.json({}, { headers: { 'x-goog-upload-status': 'cancelled' } })
    }
    if (requested.includes('upload')) await receiveChunk(gateway, path, request, parseOffset(request))
    if (requested.includes('finalize')) {
      const file = toGeminiFile(await finishUpload(gateway, path, session), publicOrigin(gateway, request))
      return Response.json({ file }, { headers: { 'x-goog-upload-status': 'final' } })
    }
    const received = String(await countReceivedBytes(path))
    const headers = { 'x-goog-upload-status': 'active', 'x-goog-upload-size-received': received }
    return Response.json({}, { headers })
  })
}

function parseOffset({ headers }: Request): number {
  const offset = headers.get('x-goog-upload-offset') ?? ''
  if (!/^\d{1,12}$/.test(offset)) throw invalidFieldError('x-goog-upload-offset', 'must be a number of bytes')
  return Number(offset)
}
