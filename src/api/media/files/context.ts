import { transact } from '../../../access/transact.ts'
import { authorizeStorage, type WorkspaceRequest } from '../../../access/workspace-access.ts'
import type { Workspace } from '../../../identity/workspaces.ts'
import { gatewayError, invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { findFile, type StoredFile } from '../../../storage/stored-files.ts'
import { removeContent } from './content.ts'
import { describeFile, removeFile } from './store.ts'

/** The caller of a file operation, and the requested workspace and storage. */
export interface FileContext extends WorkspaceRequest {
  query: WorkspaceRequest['query'] & { provider?: string | undefined }
}

/** The workspace whose files on this server a request is about. */
export async function authorizeWorkspace(context: FileContext): Promise<Workspace> {
  // In the other formats such a request is about the vendor's storage.
  if (context.query.provider !== undefined)
    throw invalidFieldError('provider', 'is not supported in the Gemini format')
  const { workspace } = await authorizeStorage(context)
  return workspace
}

export async function requireFile(context: FileContext, id: string): Promise<StoredFile> {
  const workspace = await authorizeWorkspace(context)
  const file = await findFile(context.gateway.db, workspace.id, id)
  if (!file) throw fileNotFoundError()
  return file
}

export async function deleteStoredFile(context: FileContext, id: string): Promise<void> {
  const workspace = await authorizeWorkspace(context)
  const file = await transact(context, async (tx, record) => {
    const removed = await removeFile(tx, workspace.id, id)
    if (!removed) throw fileNotFoundError()
    record({ action: 'file.delete', ...describeFile(removed), before: removed })
    return removed
  })
  await removeContent(context.gateway, file)
}

export function fileNotFoundError() {
  return gatewayError('not_found', 'The file does not exist.')
}
