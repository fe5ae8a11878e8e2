import { open, rm } from 'node:fs/promises'
import { basename } from 'node:path'
import type { AuditedRequest } from '../../../access/transact.ts'
import { authorizeStorage } from '../../../access/workspace-access.ts'
import {
  containerFileParams,
  containerQuery,
  type OpenedContainerFile,
  openContainerFile,
} from '../../../containers/container-files.ts'
import { streamFile } from '../../../containers/home-file.ts'
import { defineOperation } from '../../../http/operation.ts'
import type { Workspace } from '../../../identity/workspaces.ts'
import type { StoredFile } from '../../../storage/stored-files.ts'
import { newFileId, resolvePartialPath } from './disk.ts'
import { toValidFilename } from './filename.ts'
import { detectShape, fileResponse, toFileRecord, toFileResponse } from './shapes.ts'
import { assertStorageAvailable, storeContent } from './upload.ts'
import { openContent, writeAll } from './upload-form.ts'

/** An operation on files, although its path is that of a container: what it makes is a file of the workspace. */
export const promoteContainerFile = defineOperation({
  id: 'promoteContainerFile',
  method: 'POST',
  path: '/containers/{container_id}/files/{file_id}/promote',
  tag: 'Containers',
  summary: 'Copies a file of a container to the files of the workspace.',
  description:
    'The copy counts against the storage of the workspace, and remains when the container is deleted. A file of more than `files.max_bytes` (100 MiB by default) is 413.',
  permission: 'files:write',
  params: containerFileParams,
  query: containerQuery,
  errors: [403, 404, 409, 413, 429, 503],
  response: fileResponse,
  handle: async (context) => {
    const { gateway, params, httpRequest } = context
    const { workspace } = await authorizeStorage(context)
    const opened = await openContainerFile(gateway, workspace.id, params)
    const file = await promote(context, workspace, opened)
    return toFileResponse(detectShape(httpRequest), toFileRecord(file))
  },
})

/** A failure leaves nothing behind. */
async function promote(
  request: AuditedRequest,
  workspace: Workspace,
  { path, handle, size }: OpenedContainerFile,
): Promise<StoredFile> {
  const { gateway } = request
  const id = newFileId()
  const partial = resolvePartialPath(gateway, id)
  try {
    await assertStorageAvailable(gateway, workspace, size)
    const target = await open(partial, 'wx', 0o600)
    try {
      for await (const chunk of streamFile(handle, size)) await writeAll(target, Buffer.from(chunk))
    } finally {
      await target.close()
    }
    const content = await openContent(gateway, partial, toValidFilename(basename(path)), true)
    return await storeContent(request, workspace, { id, content, purpose: 'user_data' })
  } finally {
    await handle.close()
    await rm(partial, { force: true })
  }
}
