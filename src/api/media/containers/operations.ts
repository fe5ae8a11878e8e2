import { z } from 'zod'
import { authorizeStorage } from '../../../access/workspace-access.ts'
import {
  containerFileId,
  containerFileParams,
  containerParams,
  containerQuery,
  openContainerFile,
  toContainerFile,
} from '../../../containers/container-files.ts'
import { requireContainers } from '../../../containers/containers.ts'
import { streamFile } from '../../../containers/home-file.ts'
import { parseContainerFileId } from '../../../containers/ids.ts'
import { defineOperation } from '../../../http/operation.ts'
import { invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { attachmentHeaders } from '../../../platform/http/attachment-headers.ts'
import { queryInteger } from '../../../platform/validation/query-params.ts'

const tag = 'Containers'
const errors = [403, 404, 429, 503]

const containerFile = z
  .strictObject({
    id: z.string(),
    object: z.literal('container.file'),
    container_id: z.string(),
    bytes: z.int(),
    created_at: z.int().describe('A Unix timestamp in seconds: when the file was last changed.'),
    path: z.string().describe('The path below the home, `/workspace/home`.'),
    source: z.literal('assistant'),
  })
  .meta({ id: 'ContainerFile' })

const containerFileList = z
  .strictObject({
    object: z.literal('list'),
    data: z.array(containerFile),
    first_id: z.string().nullable(),
    last_id: z.string().nullable(),
    has_more: z.boolean(),
  })
  .meta({ id: 'ContainerFileListResponse' })

const listContainerFiles = defineOperation({
  id: 'listContainerFiles',
  method: 'GET',
  path: '/containers/{container_id}/files',
  tag,
  summary: 'Lists the files in the home of a container, in the order of their paths.',
  description:
    'Regular files only: links, and files whose name is not UTF-8, are left out. 404 with the reason `not_offered` while the operator has not enabled containers.',
  permission: 'files:read',
  params: containerParams,
  query: containerQuery.extend({
    limit: queryInteger({ min: 1, max: 1000, fallback: 100 }),
    after: containerFileId.optional().describe('`last_id` of the previous page.'),
  }),
  errors,
  response: containerFileList,
  handle: async (context) => {
    const { gateway, params, query } = context
    const { workspace } = await authorizeStorage(context)
    const containers = requireContainers(gateway)
    const container = await containers.find(workspace.id, params.container_id)
    const page = { after: parseAfter(query.after), limit: query.limit }
    const { files, hasMore } = await containers.listFiles(container, page)
    const data = files.map((file) => toContainerFile(container, file))
    return {
      object: 'list' as const,
      data,
      first_id: data[0]?.id ?? null,
      last_id: data.at(-1)?.id ?? null,
      has_more: hasMore,
    }
  },
})

const getContainerFile = defineOperation({
  id: 'getContainerFile',
  method: 'GET',
  path: '/containers/{container_id}/files/{file_id}',
  tag,
  summary: 'Retrieves the metadata of a file of a container.',
  permission: 'files:read',
  params: containerFileParams,
  query: containerQuery,
  errors,
  response: containerFile,
  handle: async (context) => {
    const { workspace } = await authorizeStorage(context)
    const { container, handle, size, ...file } = await openContainerFile(
      context.gateway,
      workspace.id,
      context.params,
    )
    await handle.close()
    return toContainerFile(container, { ...file, bytes: size })
  },
})

const downloadContainerFile = defineOperation({
  id: 'downloadContainerFile',
  method: 'GET',
  path: '/containers/{container_id}/files/{file_id}/content',
  tag,
  summary: 'Downloads a file of a container.',
  permission: 'files:read',
  params: containerFileParams,
  query: containerQuery,
  errors,
  response: { contentType: 'application/octet-stream' },
  handle: async (context) => {
    const { workspace } = await authorizeStorage(context)
    const { handle, size, path } = await openContainerFile(context.gateway, workspace.id, context.params)
    const headers = { ...attachmentHeaders(path), 'content-length': String(size) }
    return new Response(streamFile(handle, size), { headers })
  },
})

export const containerOperations = [listContainerFiles, getContainerFile, downloadContainerFile]

/** The id of a deleted file is valid too: it is only a position. */
function parseAfter(id: string | undefined): string | null {
  if (id === undefined) return null
  const path = parseContainerFileId(id)
  if (path === null) throw invalidFieldError('after', 'must be the last_id of a page')
  return path
}
