import { z } from 'zod'
import { enterWorkspace, type Workspace } from '../../account/workspaces.ts'
import type { DataRegion } from '../../catalog/vocabulary.ts'
import { badField, fail, GatewayError } from '../../errors.ts'
import type { Gateway } from '../../gateway.ts'
import { queryInteger } from '../../lib/page.ts'
import { operation } from '../../operation.ts'
import type { Caller } from '../../pipeline/authenticate.ts'
import { type EffectivePolicy, effectivePolicy } from '../../policy/effective.ts'
import { guardRegion } from '../../policy/guard.ts'
import { loadWorkspaceLayers } from '../../policy/store.ts'
import { providers } from '../../providers/all.ts'
import { contentPath, removeContent } from './disk.ts'
import { attachment } from './filename.ts'
import {
  fileDeleteResponse,
  fileListResponse,
  fileResponse,
  presentDeleted,
  presentFile,
  presentPage,
  shapeOf,
  uploadPurposes,
} from './shapes.ts'
import { findFile, listFiles, removeFile, type StoredFile } from './store.ts'
import { receiveFile, standardLimits } from './upload.ts'

const tag = 'Files'

/** Vendors with a storage of their own, by neutral name; a provider that is one of them, by its slug too. */
const storageVendors = ['vendor_a', 'vendor_b']
const storageProviders = providers.filter(({ vendor }) => vendor && storageVendors.includes(vendor))

const scopeQuery = z.object({
  workspace_id: z
    .uuid()
    .optional()
    .describe('Default: the workspace of the key; for a management key, the default workspace'),
  provider: z
    .enum([...storageVendors, ...storageProviders.map(({ slug }) => slug)])
    .optional()
    .describe(
      'Keep the file with this vendor, through your own key for it; omit for the storage of this server',
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
  cursor: z.string().min(1).max(1024).optional().describe('From the page before'),
  after: fileId.optional().describe('The id of the last file of the page before'),
  after_id: fileId.optional().describe('As `after`'),
  before_id: fileId.optional().describe('Not supported by the storage of this server'),
  order: z
    .enum(['asc', 'desc'])
    .optional()
    .describe('The storage of this server lists in order of upload: asc'),
})

const uploadForm = z.strictObject({
  file: z.string().meta({ format: 'binary' }),
  purpose: z.enum(uploadPurposes).optional(),
  'expires_after[anchor]': z.string().optional().describe('Accepted and without effect: files do not expire'),
  'expires_after[seconds]': z.string().optional(),
})

const listAllFiles = operation({
  id: 'listFiles',
  method: 'GET',
  path: '/files',
  tag,
  summary: 'List the files of a workspace in the order of upload',
  access: 'any',
  query: listQuery,
  errors: [403, 404],
  response: fileListResponse,
  handle: async (ask) => {
    const { gateway, query } = ask
    refuseUnsupported(query)
    const workspace = await enter(ask)
    const afterSeq = await startOf(gateway, workspace, query)
    const found = await listFiles(gateway.db, { workspaceId: workspace.id, afterSeq, limit: query.limit + 1 })
    const files = found.slice(0, query.limit)
    const hasMore = found.length > files.length
    const last = files.at(-1)
    const cursor = hasMore && last ? gateway.vault.seal(String(last.seq), cursorContext(workspace)) : null
    return presentPage(shapeOf(ask.request, query.after !== undefined), { files, hasMore, cursor })
  },
})

const uploadFile = operation({
  id: 'uploadFile',
  method: 'POST',
  path: '/files',
  tag,
  summary: 'Upload a file of at most 100 MiB',
  description:
    'The type is found from the content: PDF, PNG, JPEG, GIF, WebP, DOCX, XLSX, PPTX, MP3, WAV, FLAC, OGG or UTF-8 text. A workspace holds at most 10 GiB.',
  access: 'any',
  query: scopeQuery,
  rawBody: {
    contentType: 'multipart/form-data',
    schema: uploadForm,
    maxBytes: standardLimits.fileBytes + standardLimits.formBytes,
  },
  errors: [403],
  response: fileResponse,
  handle: async (ask) => {
    const workspace = await enter(ask)
    const { file, purpose } = await receiveFile(ask.gateway, workspace, ask.request)
    return presentFile(shapeOf(ask.request, purpose !== undefined), file)
  },
})

const getFile = operation({
  id: 'getFile',
  method: 'GET',
  path: '/files/{file_id}',
  tag,
  summary: 'Read what is known of a file',
  access: 'any',
  params: fileParam,
  query: scopeQuery,
  errors: [403, 404],
  response: fileResponse,
  handle: async (ask) => presentFile(shapeOf(ask.request), await requireFile(ask)),
})

const downloadFile = operation({
  id: 'downloadFile',
  method: 'GET',
  path: '/files/{file_id}/content',
  tag,
  summary: 'Download a file',
  access: 'any',
  params: fileParam,
  query: scopeQuery,
  errors: [403, 404],
  response: { contentType: 'application/octet-stream' },
  handle: async (ask) => {
    const file = await requireFile(ask)
    const content = Bun.file(contentPath(ask.gateway, file.id))
    if (!(await content.exists())) {
      // Deleted since it was looked up: then this says so.
      await requireFile(ask)
      throw new GatewayError('internal', { cause: new Error(`the bytes of ${file.id} are missing`) })
    }
    return new Response(content, {
      headers: {
        'content-type': 'application/octet-stream',
        'content-disposition': attachment(file.filename),
        'x-content-type-options': 'nosniff',
      },
    })
  },
})

const deleteFile = operation({
  id: 'deleteFile',
  method: 'DELETE',
  path: '/files/{file_id}',
  tag,
  summary: 'Delete a file for good',
  access: 'any',
  params: fileParam,
  query: scopeQuery,
  errors: [403, 404],
  response: fileDeleteResponse,
  handle: async (ask) => {
    const workspace = await enter(ask)
    const id = ask.params.file_id
    if (!(await removeFile(ask.gateway.db, workspace.id, id))) throw fileMissing()
    await removeContent(ask.gateway, id)
    return presentDeleted(shapeOf(ask.request), id)
  },
})

export const fileOperations = [listAllFiles, uploadFile, getFile, downloadFile, deleteFile]

interface Scope {
  gateway: Gateway
  caller: Caller
  region: DataRegion
  query: z.output<typeof scopeQuery>
}

/** The workspace a request acts in: an inference key's own, for a management key any of its organization. */
async function enter({ gateway, caller, region, query }: Scope): Promise<Workspace> {
  if (region !== 'global') throw fail('region_refused')
  const { kind, workspace_id: home } = caller.key
  const wanted = query.workspace_id?.toLowerCase()
  if (kind === 'inference' && wanted !== undefined && wanted !== home) {
    throw fail('forbidden', 'workspace_id: this key may not enter that workspace.')
  }
  const id = kind === 'inference' ? home : wanted
  const workspace = await enterWorkspace(gateway.db, caller.organizationId, id)
  guardRegion(await policyOf(gateway, caller, workspace), region)
  // The place for a vendor's own storage: nobody can have given a key for it yet.
  if (query.provider) throw badField('provider', 'no key of your own is configured for this vendor')
  return workspace
}

/** A management key is bound by what holds for everybody in the workspace. */
async function policyOf(
  { db, memory }: Gateway,
  { key, organizationId }: Caller,
  workspace: Workspace,
): Promise<EffectivePolicy> {
  if (key.kind === 'inference') return (await memory.standingOf(key)).policy
  return effectivePolicy(await loadWorkspaceLayers(db, organizationId, workspace.id))
}

async function requireFile(ask: Scope & { params: z.output<typeof fileParam> }): Promise<StoredFile> {
  const workspace = await enter(ask)
  const file = await findFile(ask.gateway.db, workspace.id, ask.params.file_id)
  if (!file) throw fileMissing()
  return file
}

function fileMissing() {
  return fail('not_found', 'The file does not exist.')
}

type ListQuery = z.output<typeof listQuery>

function refuseUnsupported(query: ListQuery): void {
  const starts = (['cursor', 'after', 'after_id'] as const).filter((name) => query[name] !== undefined)
  const [first, second] = starts
  if (second) throw badField(second, `must not be combined with ${first}`)
  if (query.before_id !== undefined) throw badField('before_id', 'is not supported by this storage')
  if (query.order === 'desc') throw badField('order', 'must be asc: this storage lists in order of upload')
}

/** The page begins after this place in the order of upload. */
async function startOf(gateway: Gateway, workspace: Workspace, query: ListQuery): Promise<number> {
  if (query.cursor !== undefined) return seqOf(gateway, workspace, query.cursor)
  const id = query.after ?? query.after_id
  if (id === undefined) return 0
  const file = await findFile(gateway.db, workspace.id, id)
  if (!file) throw fail('not_found', `${query.after ? 'after' : 'after_id'}: the file does not exist.`)
  return file.seq
}

/** Sealed, because the number itself would tell how many files all tenants have. */
function seqOf(gateway: Gateway, workspace: Workspace, cursor: string): number {
  try {
    return Number(gateway.vault.open(cursor, cursorContext(workspace)))
  } catch {
    throw badField('cursor', 'is not a cursor of this list')
  }
}

function cursorContext(workspace: Workspace): string {
  return `files/cursor/${workspace.id}`
}
