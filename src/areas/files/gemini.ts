import { rm } from 'node:fs/promises'
import { z } from 'zod'
import { idOfName, nameOfId, type StoredFile } from '../../account/stored-files.ts'
import { gemini } from '../../dialects/gemini/gemini.ts'
import { apiPaths } from '../../dialects/gemini/paths.ts'
import { asGatewayError, badField } from '../../errors.ts'
import type { Gateway } from '../../gateway.ts'
import { queryInteger } from '../../lib/page.ts'
import { operation } from '../../operation.ts'
import { publicOrigin } from '../../pipeline/origin.ts'
import { newFileId } from './disk.ts'
import { checkFilename } from './filename.ts'
import { placeOf, readPage } from './page.ts'
import {
  finishUpload,
  openSession,
  receiveChunk,
  receivedBytes,
  sealSession,
  type UploadSession,
} from './resumable.ts'
import { dropFile, enter, requireFile, type Scope } from './scope.ts'
import { createSessionFile, withSessionFile } from './session-file.ts'
import { refuseFull, standardLimits } from './upload.ts'

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

const fileName = z.object({
  file_id: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,256}$/, 'must be letters, digits, underscores and hyphens')
    .describe('The name without `files/`'),
})

const size = z.union([z.string().regex(/^\d{1,15}$/), z.int().min(0)]).optional()
const mimeType = z.string().optional().describe('Accepted; the type is found from the content')

/** The vendor takes each field in two spellings, and its clients use both. */
const announcedFile = z.strictObject({
  displayName: z.string().optional(),
  display_name: z.string().optional(),
  mimeType,
  mime_type: mimeType,
  sizeBytes: size,
  size_bytes: size,
  name: z.never('is made by this server; leave it out').optional(),
})

const noQuery = {}

const startUpload = operation({
  ...common,
  ...apiPaths('/files', { prefix: '/upload' }),
  id: 'startGeminiUpload',
  method: 'POST',
  summary: 'Begin the upload of a file in the resumable protocol of the Gemini API',
  description:
    'The header `x-goog-upload-url` of the answer is where the bytes are sent. Types and sizes are those of `POST /files`, whose storage this is.',
  access: 'any',
  body: z.strictObject({ file: announcedFile.optional() }),
  errors: [403, 413],
  response: z.strictObject({}),
  handle: async (ask) => {
    const { gateway, caller, request } = ask
    const { file = {} } = ask.body
    refuseProtocol(request)
    const workspace = await enter({ ...ask, query: noQuery })
    await refuseFull(gateway, workspace, declaredSize(request, file.sizeBytes ?? file.size_bytes))
    const id = newFileId()
    const filename = filenameOf(request, file.displayName ?? file.display_name)
    await createSessionFile(gateway, workspace, id)
    const upload = sealSession(gateway, {
      id,
      keyHash: caller.key.hash,
      organizationId: workspace.organization_id,
      workspaceId: workspace.id,
      filename,
    })
    const url = `${publicOrigin(gateway, request)}/upload/sessions/${upload}`
    return Response.json({}, { headers: { 'x-goog-upload-url': url, 'x-goog-upload-status': 'active' } })
  },
})

const sendBytes = operation({
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
    maxBytes: standardLimits.fileBytes,
  },
  errors: [401, 404, 409, 413],
  response: z.strictObject({ file: geminiFile.optional() }),
  handle: async ({ gateway, request, params, region }) => {
    try {
      const about = await openSession(gateway, params.upload, region)
      return await obey(gateway, request, about)
    } catch (error) {
      const failure = asGatewayError(error)
      // Without a status the clients send the same bytes again, which helps only while another request writes.
      if (failure.code !== 'concurrent_change') failure.headers['x-goog-upload-status'] = 'cancelled'
      throw failure
    }
  },
})

const listGeminiFiles = operation({
  ...common,
  ...apiPaths('/files', { except: 'v1' }),
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
  handle: (ask) => geminiFiles({ ...ask, query: noQuery }, ask.request, ask.query),
})

const getGeminiFile = operation({
  ...common,
  ...apiPaths('/files/{file_id}', { except: 'v1' }),
  id: 'getGeminiFile',
  method: 'GET',
  summary: 'Read what is known of a file, in the Gemini format',
  access: 'any',
  params: fileName,
  errors: [403, 404],
  response: geminiFile,
  handle: (ask) => readGeminiFile({ ...ask, query: noQuery }, ask.request, ask.params.file_id),
})

const deleteGeminiFile = operation({
  ...common,
  ...apiPaths('/files/{file_id}', { except: 'v1' }),
  id: 'deleteGeminiFile',
  method: 'DELETE',
  summary: 'Delete a file for good, in the Gemini format',
  access: 'any',
  params: fileName,
  errors: [403, 404],
  response: z.strictObject({}),
  handle: async (ask) => {
    await dropFile({ ...ask, query: noQuery }, idOfName(ask.params.file_id))
    return {}
  },
})

export const geminiFileOperations = [startUpload, sendBytes, listGeminiFiles, getGeminiFile, deleteGeminiFile]

export async function geminiFiles(
  scope: Scope,
  request: Request,
  { pageSize, pageToken }: z.output<typeof geminiPageQuery>,
) {
  const workspace = await enter(scope)
  const token = pageToken && { field: 'pageToken', token: pageToken }
  const afterSeq = token ? placeOf(scope.gateway, workspace, token) : 0
  const { files, cursor } = await readPage(scope.gateway, workspace, { afterSeq, limit: pageSize })
  const origin = publicOrigin(scope.gateway, request)
  return {
    files: files.map((file) => toGeminiFile(file, origin)),
    ...(cursor !== null && { nextPageToken: cursor }),
  }
}

export async function readGeminiFile(scope: Scope, request: Request, name: string) {
  return toGeminiFile(await requireFile(scope, idOfName(name)), publicOrigin(scope.gateway, request))
}

function toGeminiFile(file: StoredFile, origin: string): z.input<typeof geminiFile> {
  const name = `files/${nameOfId(file.id)}`
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

function refuseProtocol({ headers }: Request): void {
  const protocol = headers.get('x-goog-upload-protocol') ?? 'resumable'
  if (protocol !== 'resumable') throw badField('x-goog-upload-protocol', 'must be resumable')
}

function declaredSize({ headers }: Request, told: string | number | undefined): number {
  const size = Number(headers.get('x-goog-upload-header-content-length') ?? told ?? 0)
  if (!Number.isSafeInteger(size) || size < 0) {
    throw badField('x-goog-upload-header-content-length', 'must be a number of bytes')
  }
  return size
}

function filenameOf({ headers }: Request, displayName: string | undefined): string {
  return checkFilename(displayName ?? headers.get('x-goog-upload-file-name') ?? 'upload')
}

const commands = ['upload', 'finalize', 'query', 'cancel']

async function obey(gateway: Gateway, request: Request, about: UploadSession): Promise<Response> {
  const told = request.headers.get('x-goog-upload-command') ?? 'query'
  const wanted = told.split(',').map((word) => word.trim())
  if (!wanted.every((word) => commands.includes(word))) {
    throw badField('x-goog-upload-command', `must be ${commands.join(', ')} or "upload, finalize"`)
  }
  return withSessionFile(gateway, about, async (path) => {
    if (wanted.includes('cancel')) {
      await rm(path)
      return Response.json({}, { headers: { 'x-goog-upload-status': 'cancelled' } })
    }
    if (wanted.includes('upload')) await receiveChunk(gateway, path, request, offsetOf(request))
    if (wanted.includes('finalize')) {
      const file = toGeminiFile(await finishUpload(gateway, path, about), publicOrigin(gateway, request))
      return Response.json({ file }, { headers: { 'x-goog-upload-status': 'final' } })
    }
    const received = String(await receivedBytes(path))
    const headers = { 'x-goog-upload-status': 'active', 'x-goog-upload-size-received': received }
    return Response.json({}, { headers })
  })
}

function offsetOf({ headers }: Request): number {
  const offset = headers.get('x-goog-upload-offset') ?? ''
  if (!/^\d{1,12}$/.test(offset)) throw badField('x-goog-upload-offset', 'must be a number of bytes')
  return Number(offset)
}
